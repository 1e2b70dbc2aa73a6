"""Real hosts, driven without a network: an emptied environment, a home of their own, a scripted model."""

import json
import os
import re
import subprocess
from collections.abc import Mapping, Sequence
from pathlib import Path
from types import MappingProxyType
from typing import Final, NamedTuple

from passdown.records import record
from tests.looks import answer, hands_on

SECONDS: Final = 120
_LATE: Final = re.compile(r": not finished after [0-9.]+ seconds$")
_PATH: Final = "/usr/local/bin:/usr/bin:/bin"
QUIET: Final = MappingProxyType(
    {
        "CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC": "1",
        "DISABLE_TELEMETRY": "1",
        "DISABLE_AUTOUPDATER": "1",
        "DISABLE_ERROR_REPORTING": "1",
    }
)
COPILOT: Final = MappingProxyType(
    {
        "COPILOT_OFFLINE": "true",
        "COPILOT_AUTO_UPDATE": "false",
        "COPILOT_PROVIDER_API_KEY": "test",
        "COPILOT_PROVIDER_WIRE_API": "responses",
        "COPILOT_PROVIDER_MAX_PROMPT_TOKENS": "100000",
        "COPILOT_MODEL": "gpt-5.4",
        "COPILOT_ALLOW_ALL": "true",
    }
)
_CODEX_SETTINGS: Final = """
model = "gpt-5.5"
model_provider = "scripted"
model_context_window = 100000
model_auto_compact_token_limit = 50000
approval_policy = "never"
sandbox_mode = "danger-full-access"

[model_providers.scripted]
name = "scripted"
base_url = "{address}/v1"
wire_api = "responses"
requires_openai_auth = false
supports_websockets = false
request_max_retries = 0
stream_max_retries = 0

[tools.update_plan]
enabled = true

[analytics]
enabled = false

[projects."{root}"]
trust_level = "trusted"
"""


@answer
class Ended(NamedTuple):
    """How a host ended, and what it said."""

    code: int
    out: str
    err: str


@record
class Ground:
    """Where a host runs: a home and a project below one folder."""

    folder: Path
    address: str
    variables: Mapping[str, str]

    @property
    def home(self) -> Path:
        """The home of whoever runs the host."""
        return self.folder / "home"

    @property
    def root(self) -> Path:
        """The project."""
        return self.folder / "project"

    def hook_errors(self) -> Sequence[str]:
        """Return what hooks logged, except that one ran out of time, as on a busy machine."""
        log = self.root / ".git" / "passdown" / "hooks.log"
        said = log.read_text(encoding="utf-8").splitlines() if log.exists() else []
        return [line for line in said if not _LATE.search(line)]

    @hands_on
    def run(self, command: Sequence[str], **more: str) -> Ended:
        """Run a program in the project with nothing of our environment."""
        environment = {"HOME": str(self.home), "PATH": _PATH, "LANG": "C.UTF-8", "TERM": "xterm-256color"}
        done = subprocess.run(
            command,
            cwd=self.root,
            env={**environment, **self.variables, **more},
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            timeout=SECONDS,
            check=False,
        )
        return Ended(done.returncode, done.stdout, done.stderr)


class ClaudeCode:
    """Claude Code: a turn is one `claude -p`, and the next one resumes it."""

    name = "claude-code"
    program = "claude"

    def __init__(self, program: str, ground: Ground) -> None:
        """Keep which program runs where."""
        self._program = program
        self._ground = ground
        self.session = ""

    def version(self) -> str:
        """Ask the program for its version."""
        return self._ground.run([self._program, "--version"]).out.split()[0]

    def turn(self, prompt: str, options: Sequence[str]) -> Ended:
        """Let the person say something, and wait until the host is done."""
        resume = ["--resume", self.session] if self.session else []
        ended = self._ground.run(
            [
                self._program,
                *("-p", prompt, "--output-format", "json", "--permission-mode", "acceptEdits"),
                *("--allowedTools", "Bash,Edit,Write,Read,NotebookEdit,TodoWrite,Task,Agent"),
                *resume,
                *options,
            ],
            ANTHROPIC_BASE_URL=self._ground.address,
            ANTHROPIC_API_KEY="test",
            **QUIET,
        )
        if not ended.code:
            said = json.loads(ended.out)
            self.session = (said[-1] if isinstance(said, list) else said)["session_id"]
        return ended

    def transcripts(self) -> Sequence[Path]:
        """List what it wrote, the session's own transcript first."""
        found = sorted((self._ground.home / ".claude" / "projects").rglob("*.jsonl"))
        return sorted(found, key=lambda path: path.stem != self.session)


class Codex:
    """Codex: a turn is one `codex exec`, and the next one resumes it."""

    name = "codex"
    program = "codex"

    def __init__(self, program: str, ground: Ground) -> None:
        """Keep which program runs where, and write its settings."""
        self._program = program
        self._ground = ground
        self._home = ground.home / ".codex"
        self._home.mkdir(parents=True, exist_ok=True)
        settings = _CODEX_SETTINGS.replace("{address}", ground.address).replace("{root}", str(ground.root))
        (self._home / "config.toml").write_text(settings, encoding="utf-8")
        self.session = ""

    def version(self) -> str:
        """Ask the program for its version."""
        return self._ground.run([self._program, "--version"]).out.split()[-1]

    def turn(self, prompt: str, options: Sequence[str]) -> Ended:
        """Let the person say something, and wait until the host is done."""
        resume = ["resume", self.session] if self.session else []
        command = [self._program, "exec", *resume, "--json", *options, prompt]
        ended = self._ground.run(command, CODEX_HOME=str(self._home))
        for line in ended.out.splitlines():
            said = json.loads(line) if line.startswith("{") else {}
            self.session = said.get("thread_id") or self.session
        return ended

    def transcripts(self) -> Sequence[Path]:
        """List what it wrote, the session's own transcript first."""
        found = sorted((self._home / "sessions").rglob("*.jsonl"))
        return sorted(found, key=lambda path: not path.stem.endswith(self.session))


class Copilot:
    """Copilot: a turn is one `copilot -p`, and the next one resumes it."""

    name = "copilot"
    program = "copilot"

    def __init__(self, program: str, ground: Ground) -> None:
        """Keep which program runs where."""
        self._program = program
        self._ground = ground
        self.session = ""

    def version(self) -> str:
        """Ask the program for its version."""
        return self._ground.run([self._program, "--version"], **COPILOT).out.split()[3].rstrip(".")

    def turn(self, prompt: str, options: Sequence[str]) -> Ended:
        """Let the person say something, and wait until the host is done."""
        resume = [f"--resume={self.session}"] if self.session else []
        ended = self._ground.run(
            [self._program, "-p", prompt, "--allow-all-paths", *resume, *options],
            COPILOT_PROVIDER_BASE_URL=f"{self._ground.address}/v1",
            **COPILOT,
        )
        written = self.transcripts()
        self.session = written[0].parent.name if written else ""
        return ended

    def transcripts(self) -> Sequence[Path]:
        """List what it wrote, the session's own transcript first."""
        found = (self._ground.home / ".copilot" / "session-state").glob("*/events.jsonl")
        return sorted(found, key=lambda path: (path.parent.name != self.session, -path.stat().st_mtime))


Driver = ClaudeCode | Codex | Copilot
DRIVERS: Final = MappingProxyType({one.name: one for one in (ClaudeCode, Codex, Copilot)})


def find_program(name: str, variables: Mapping[str, str] = os.environ) -> str:
    """Say where a host's program is: `PASSDOWN_HOSTS` names the folder that holds them."""
    folder = variables.get("PASSDOWN_HOSTS", "")
    return str(Path(folder) / name) if folder else name
