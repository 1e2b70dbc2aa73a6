"""A script: what a scripted model says and does, turn by turn, and what that leaves behind.

Kept as JSON beside the transcript that a real host wrote while it was played, so that what is read from the
transcript can be counted against it. `{root}` in a value is the project's folder.
"""

import json
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Final, cast

from passdown.records import field, record

RECORDINGS: Final = Path(__file__).resolve().parent / "recordings"
ROOT: Final = "/project"
"""Where a recorded project lies: the recorder puts it in the place of the real folder."""


@record
class Leaves:
    """What one call leaves behind; paths are written from the project's root."""

    edited: tuple[str, ...] = ()
    read: tuple[str, ...] = ()
    ran: str = ""
    exit: int | None = None
    test: str = ""
    test_exit: int | None = None
    commits: int = 0
    plan: tuple[str, ...] = ()


@record
class Call:
    """One use of a tool; a text instead of an object is the input of a tool without a schema."""

    tool: str
    input: Mapping[str, object] | str
    leaves: Leaves = Leaves()
    namespace: str = ""


@record
class Step:
    """One answer of the model: a text, calls, or both; calls of one step run at the same time.

    `tokens` is how full it says the context is. `agent` names whose request it answers: a subagent's is the
    first word of its prompt.
    """

    text: str = ""
    calls: tuple[Call, ...] = ()
    tokens: int = 1000
    agent: str = ""


@record
class Turn:
    """A prompt, and the steps that answer it; every turn but the first resumes the session."""

    prompt: str
    steps: tuple[Step, ...] = ()
    options: tuple[str, ...] = ()
    is_said: bool = True


@record
class Script:
    """All turns of one session of one host."""

    host: str
    name: str
    turns: tuple[Turn, ...]
    files: Mapping[str, str] = field(default_factory=dict)
    variables: Mapping[str, str] = field(default_factory=dict)

    def calls(self) -> Iterator[Call]:
        """Give every call, in order."""
        for turn in self.turns:
            for step in turn.steps:
                yield from step.calls

    def leaves(self) -> Sequence[Leaves]:
        """Give what every call leaves behind."""
        return [call.leaves for call in self.calls()]

    def prompts(self) -> Sequence[str]:
        """Give what a person said; a command of the host is not that."""
        return [turn.prompt for turn in self.turns if turn.is_said]


@record
class Recording:
    """A script that was played, the transcripts that came of it, and what git knows of it."""

    script: Script
    transcript: Path
    others: tuple[Path, ...]
    commits: tuple[str, ...]
    version: str


def parse_script(data: Mapping[str, object]) -> Script:
    """Read a script from its JSON data."""
    return Script(
        host=str(data["host"]),
        name=str(data["name"]),
        turns=tuple(_turn(one) for one in _objects(data["turns"])),
        files=cast("Mapping[str, str]", data.get("files", {})),
        variables=cast("Mapping[str, str]", data.get("variables", {})),
    )


def _turn(data: Mapping[str, object]) -> Turn:
    return Turn(
        prompt=str(data["prompt"]),
        steps=tuple(_step(one) for one in _objects(data.get("steps", []))),
        options=tuple(map(str, cast("list[object]", data.get("options", [])))),
        is_said=bool(data.get("is_said", True)),
    )


def _step(data: Mapping[str, object]) -> Step:
    return Step(
        text=str(data.get("text", "")),
        calls=tuple(_call(one) for one in _objects(data.get("calls", []))),
        tokens=int(str(data.get("tokens", 1000))),
        agent=str(data.get("agent", "")),
    )


def _call(data: Mapping[str, object]) -> Call:
    leaves = cast("dict[str, object]", data.get("leaves", {}))
    lists = {
        name: tuple(cast("list[str]", value)) for name, value in leaves.items() if isinstance(value, list)
    }
    return Call(
        tool=str(data["tool"]),
        input=cast("Mapping[str, object] | str", data["input"]),
        leaves=Leaves(**{**leaves, **lists}),  # type: ignore[arg-type]  # a wrong name fails at once
        namespace=str(data.get("namespace", "")),
    )


def _objects(value: object) -> list[Mapping[str, object]]:
    return cast("list[Mapping[str, object]]", value)


def read_script(path: Path) -> Script:
    """Read a script from its file."""
    return parse_script(json.loads(path.read_text(encoding="utf-8")))


def list_scripts() -> Sequence[Path]:
    """List the scripts of all recordings."""
    return sorted(RECORDINGS.glob("*.script.json"))


def read_recording(path: Path) -> Recording:
    """Read what was recorded when a script was played."""
    stem = path.name.removesuffix(".script.json")
    record = json.loads((RECORDINGS / f"{stem}.record.json").read_text(encoding="utf-8"))
    return Recording(
        script=read_script(path),
        transcript=RECORDINGS / stem / record["transcript"],
        others=tuple(RECORDINGS / stem / name for name in record["others"]),
        commits=tuple(record["commits"]),
        version=record["version"],
    )
