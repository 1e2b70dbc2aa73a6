"""A repository that carries what looks like state of this machine: none of it is believed (C119)."""

import io
import json
import subprocess
import sys
from collections.abc import Callable, Iterator
from datetime import datetime, timedelta
from pathlib import Path
from types import SimpleNamespace
from typing import Any, Final

import pytest

from passdown.core.facts import Fact
from passdown.core.formats.journal import JournalLine, render_line
from passdown.core.kinds import FactKind
from passdown.core.project.tracked_paths import NOTHING_TRACKED
from passdown.core.sessions.session_facts import SessionStart, make_start
from passdown.engines.files.documents import UntrackedDocuments
from passdown.engines.git.repository import GitRepository
from passdown.engines.process import SystemProcesses
from passdown.engines.sqlite.event_index import open_index
from passdown.engines.system import SystemClock
from passdown.faces.cli.main import HookWork
from passdown.faces.hooks import quick
from passdown.services.log.events import update_index
from passdown.services.sessions import publications
from passdown.services.workspace import account_cache
from passdown.settings import Settings
from passdown.wiring import caches
from passdown.wiring.caches import cache_name
from passdown.wiring.machine_state import RuntimeFolders
from tests.faults.hooked import give_up_rights
from tests.looks import hands_on
from tests.support.commands import Caller, Done, environment, take_answer
from tests.support.gits import Project, make_started
from tests.support.projects import EVENTS, open_checkout, put, put_event

pytestmark = pytest.mark.requirement("C119")

HOST: Final = "c56f02b3-c3e9-44ef-b8fc-b9f23ec3e30c"
EVIL: Final = "EVIL"
"""Stands in everything that the hostile repository says."""
LEDGERS: Final = {
    "s-evil0": ".git/hooks/post-commit",
    "s-evil1": "../outside.md",
    "s-evil2": "README.md",
    "s-evil3": "conductor/sessions/active/../../../.git/config",
    "s-evil4": "conductor/sessions/active/LEDGER.md",
}
"""The ledgers that the hostile journals name."""
AGES: Final = {"s-evil0": 0, "s-evil1": 0, "s-evil2": 1_600, "s-evil3": 1_600, "s-evil4": 1_600}
"""How many minutes ago each of these sessions was last seen: after a day, one is recovered."""
SEEDS: Final = {
    ".conductor/handoff_2026.json": '{"goal": "EVIL goal", "path": "../outside"}\n',
    ".conductor/session-context.md": "# EVIL context\n",
    ".conductor/pending_1.json": '{"op": "EVIL close", "path": ".git/hooks/post-commit"}\n',
    ".conductor/unsynced_1.json": '{"op": "EVIL sync"}\n',
}
"""Documents of other tools, which a team may track on purpose."""


def hostile_journal(session: str, root: Path, now: datetime) -> str:
    """Write the journal of a session that never was, in the place where the clone will be."""
    at = now - timedelta(minutes=AGES[session])
    start = SessionStart(checkout=str(root), branch="main", ledger=LEDGERS[session], host_session=HOST)
    said = [
        make_start(start, at, f"agent-{session}"),
        Fact(kind=FactKind.GOAL.value, text=f"{EVIL} goal", at=at, agent=f"agent-{session}"),
        Fact(
            kind=FactKind.DECISION.value, text=f"{EVIL} decision", at=at, agent=f"agent-{session}", key="db"
        ),
    ]
    lines = [JournalLine(seq=seq, fact=fact) for seq, fact in enumerate(said, 1)]
    return "".join(map(render_line, lines))


def hostile_cache(folder: Path, root: Path) -> Iterator[tuple[str, bytes]]:
    """Yield a cache that says what no event says."""
    source = folder / "cache"
    make_started(source)
    put_event(source, "2026-01-10T13:03:52Z", now=f"{EVIL} now")
    workspace = open_checkout(source, Settings())
    path = folder / cache_name(root, "events")
    update_index(workspace.log, open_index(str(path), shared_memory=False))
    for file in folder.glob(f"{path.name}*"):
        yield f".conductor/{file.name}", file.read_bytes()


def make_hostile(folder: Path, root: Path) -> Project:
    """Make the repository that is cloned: it tracks everything that we keep in a runtime folder."""
    now = SystemClock().now()
    origin = make_started(folder / "origin")
    origin.write("passdown.toml", "")
    origin.write("README.md", "# Innocent\n")
    for session in LEDGERS:
        origin.write(f".conductor/journal/{session}.jsonl", hostile_journal(session, root, now))
    origin.write(".conductor/paused", "2026-01-01T00:00:00Z\n")
    origin.write(f".conductor/waiting/{HOST}", "")
    origin.write(f".conductor/levels/{HOST}", "99 force 2026-01-01T00:00:00Z\n")
    origin.write(".conductor/preferences.json", '{"preferredMode": "MA"}\n')
    origin.write(".conductor/session-state_evil.json", '{"agentId": "evil", "trackId": "EVIL-track"}\n')
    origin.write(".conductor/metrics.jsonl", "EVIL\n")
    origin.write(".conductor/hooks.log", "EVIL\n")
    origin.write(".conductor/last-checkpoint-commit.txt", f"{now:%Y-%m-%dT%H:%M:%SZ}\n")
    for path, data in hostile_cache(folder, root):
        put(origin.folder, path, "").write_bytes(data)
    for path, text in SEEDS.items():
        origin.write(path, text)
    origin.git("add", "--force", "--all")
    origin.git("commit", "--quiet", "--message=hostile")
    return origin


class Victim:
    """A clone of the hostile repository, and somebody who works in it."""

    def __init__(
        self, root: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
    ) -> None:
        """Remember what the clone tracks."""
        self.root = root
        self._monkeypatch = monkeypatch
        self._capsys = capsys
        self.command = Caller(monkeypatch, capsys, root)
        self.tracked = self.read_tracked()

    @property
    def project(self) -> Project:
        """The clone, for git."""
        return Project(folder=self.root)

    def read_tracked(self) -> dict[str, bytes]:
        """Read every tracked file, with git's own hooks and settings."""
        if not (self.root / ".git").exists() and not (self.root.parent.parent / ".git").exists():
            return {}
        names = self.project.git("ls-files", "-z").split("\0")[:-1]
        found = {name: (self.root / name).read_bytes() for name in names if (self.root / name).is_file()}
        common = Path(self.project.git("rev-parse", "--path-format=absolute", "--git-common-dir").strip())
        return found | {f".git/{one}": (common / one).read_bytes() for one in ("config",)}

    @hands_on
    def hook(self, event: str, **told: object) -> dict[str, Any]:
        """Call a hook as a host does, and give its answer."""
        payload = {"hook_event_name": event, "session_id": HOST, "cwd": str(self.root), **told}
        data = io.BytesIO(json.dumps(payload).encode())
        self._monkeypatch.setattr(sys, "stdin", SimpleNamespace(buffer=data))
        self._capsys.readouterr()
        assert quick.main(["--host", "claude"], HookWork()) == 0
        return take_answer(self._capsys)

    def json(self, *arguments: str) -> Any:
        """Call a command and give what it says to programs."""
        return json.loads(self.command(*arguments, "--json").out)

    def published(self) -> str:
        """Give the text of all events."""
        return "".join(path.read_text(encoding="utf-8") for path in self.root.glob(f"{EVENTS}/**/*.md"))


def block_git(root: Path) -> None:
    """Put a file in the way of what Passdown keeps in git's folder."""
    project = Project(folder=root)
    common = project.git("rev-parse", "--path-format=absolute", "--git-common-dir").strip()
    (Path(common) / "passdown").write_text("in the way", encoding="utf-8")


def clone(folder: Path, root: Path) -> Path:
    """Clone the hostile repository."""
    Project(folder=folder).git("clone", "--quiet", str(make_hostile(folder, root).folder), str(root))
    return root


def clone_blocked(folder: Path, root: Path) -> Path:
    """Clone it where git's folder cannot be written."""
    block_git(clone(folder, root))
    return root


def add_worktree(folder: Path, root: Path) -> Path:
    """Look at the hostile branch in a worktree of an innocent repository."""
    origin = make_hostile(folder, root)
    own = make_started(folder / "own")
    own.git("fetch", "--quiet", str(origin.folder), "main:hostile")
    own.git("worktree", "add", "--quiet", str(root), "hostile")
    return root


def add_blocked_worktree(folder: Path, root: Path) -> Path:
    """Look at it there, where git's folder cannot be written."""
    block_git(add_worktree(folder, root))
    return root


def clone_short_index(folder: Path, root: Path) -> Path:
    """Clone it with an index that shortens paths."""
    clone_blocked(folder, root)
    Project(folder=root).git("update-index", "--index-version=4")
    return root


def clone_split_index(folder: Path, root: Path) -> Path:
    """Clone it with an index that only git reads."""
    clone_blocked(folder, root)
    Project(folder=root).git("update-index", "--split-index")
    return root


PLACES: Final = {
    "a clone": clone,
    "a clone whose git folder cannot be written": clone_blocked,
    "a linked worktree": add_worktree,
    "a linked worktree whose git folder cannot be written": add_blocked_worktree,
    "an index with short paths": clone_short_index,
    "a split index": clone_split_index,
}
Place = Callable[[Path, Path], Path]


@pytest.fixture(autouse=True)
def _no_processes(monkeypatch: pytest.MonkeyPatch) -> None:
    """Let nobody know processes, so that the last sign of life decides who is alive."""
    monkeypatch.setattr(SystemProcesses, "is_alive", lambda *_: None)


@pytest.fixture(params=PLACES)
def victim(
    request: pytest.FixtureRequest,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> Victim:
    """Give somebody who works where the hostile repository was checked out."""
    place: Place = PLACES[request.param]
    return Victim(place(tmp_path, tmp_path / "clone"), monkeypatch, capsys)


def work(victim: Victim) -> list[str]:
    """Do everything that a session does; give all that was said on the way."""
    return [
        str(victim.hook("SessionStart", source="startup")),
        str(victim.hook("UserPromptSubmit", prompt="go on")),
        *(str(victim.command(*words)) for words in COMMANDS),
        str(victim.hook("Stop")),
        str(victim.hook("SessionEnd", reason="logout")),
        str(victim.hook("SessionStart", source="startup")),
        str(victim.command("end", "--session", HOST)),
    ]


COMMANDS: Final = (
    ("start", "--session", "another"),
    ("decide", "--session", HOST, "cache", "ours"),
    ("publish", "--session", HOST),
    ("brief", "--session", HOST),
    ("status",),
    ("search", "goal"),
    ("synthesize",),
    ("certify",),
)


def escapes(victim: Victim) -> list[str]:
    """Name everything that the hostile repository achieved."""
    said = work(victim)
    found = [f"was said: {text}" for text in said if EVIL in text]
    found += ["was published"] if EVIL in victim.published() else []
    now = victim.read_tracked()
    found += [f"was written: {path}" for path, data in victim.tracked.items() if now.get(path) != data]
    outside = [victim.root / ".git/hooks/post-commit", victim.root.parent / "outside.md"]
    found += [f"was written: {path}" for path in outside if path.exists()]
    return found


# --- nothing of it is believed ----------------------------------------------------------------------


def test_nothing_of_it_is_told_published_or_obeyed(victim: Victim) -> None:
    assert escapes(victim) == []
    assert "ours" in victim.published()


def test_the_mark_of_a_pause_silences_nobody(victim: Victim) -> None:
    assert "Passdown" in victim.hook("SessionStart", source="startup")["systemMessage"]
    assert "paused" not in victim.command("status").out
    assert victim.command("unpause").out == "Passdown was not paused\n"


def test_no_session_of_it_is_alive_or_joined(victim: Victim) -> None:
    victim.hook("SessionStart", source="startup")

    (session,) = victim.json("status")["sessions"]
    assert session["session"] not in LEDGERS
    assert session["continues"] is None


def test_a_message_that_waits_in_it_is_not_taken(victim: Victim) -> None:
    victim.hook("SessionStart", source="startup")

    assert victim.hook("UserPromptSubmit", prompt="go on") == {}
    assert victim.hook("Stop") == {}


def test_its_state_file_and_preferences_bind_nothing(victim: Victim) -> None:
    victim.hook("SessionStart", source="startup")

    (path,) = (one for one in victim.root.glob(".conductor/session-state_*.json") if "evil" not in one.name)
    state = json.loads(path.read_text(encoding="utf-8"))
    assert (state["mode"], state.get("trackId")) == ("SA", None)


def test_the_doctor_names_each_file_and_what_to_do(victim: Victim) -> None:
    state = sorted(path for path in victim.tracked if path.startswith(".conductor/") and path not in SEEDS)

    found = [one for one in victim.json("doctor")["findings"] if one["code"] == "tracked"]

    assert [one["where"] for one in found[:10]] == state[:10]
    for one in found[:10]:
        assert f"`git rm -- {one['where']}`" in one["hint"]
    more = len(state) - 10
    assert found[10]["what"] == f"git tracks {more} more files of local state, which Passdown ignores"
    assert len(found) == 11


def test_documents_of_other_tools_stay_where_they_are(victim: Victim) -> None:
    work(victim)
    victim.command("doctor", "--fix", "--yes")

    assert {path: (victim.root / path).read_text(encoding="utf-8") for path in SEEDS} == SEEDS


def test_sessions_of_this_machine_work_beside_it(victim: Victim) -> None:
    victim.hook("SessionStart", source="startup")
    assert victim.command("decide", "--session", HOST, "cache", "ours").code == 0

    (session,) = victim.json("status")["sessions"]
    assert session["host"] == "claude"
    assert "ours" in victim.command("brief", "--session", HOST).out


def test_where_only_the_tracked_mark_could_be_written_a_pause_is_refused(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    victim = Victim(clone_blocked(tmp_path, tmp_path / "clone"), monkeypatch, capsys)

    done = victim.command("pause")
    assert done.code == 5
    assert "git tracks it" in done.err
    victim.project.git("rm", "--quiet", ".conductor/paused")
    assert victim.command("pause").code == 0
    assert victim.hook("SessionStart", source="startup") == {}


# --- other ways into the folder -----------------------------------------------------------------------


def plant(project: Project, path: str) -> None:
    """Let git track a mark that pauses Passdown, under any name."""
    project.write("passdown.toml", "")
    project.write(path, "2026-01-01T00:00:00Z\n")
    project.git("add", "--force", "--all")


def starts(root: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> bool:
    """Return whether a session that starts is greeted: nothing pauses Passdown."""
    return bool(Victim(root, monkeypatch, capsys).hook("SessionStart", source="startup"))


def test_what_is_only_staged_is_tracked(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    project = make_started(tmp_path / "project")
    plant(project, ".conductor/paused")

    assert starts(project.folder, monkeypatch, capsys)
    project.git("rm", "--cached", "--quiet", ".conductor/paused")
    assert not starts(project.folder, monkeypatch, capsys)


def test_the_files_of_a_submodule_are_tracked(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    inner = make_started(tmp_path / "inner")
    plant(inner, "paused")
    inner.git("commit", "--quiet", "--message=hostile")
    project = make_started(tmp_path / "project")
    project.write("passdown.toml", "")
    project.git(
        *("-c", "protocol.file.allow=always"),
        *("submodule", "--quiet", "add", "--force", str(inner.folder), ".conductor"),
    )
    assert (project.folder / ".conductor/paused").exists()

    assert starts(project.folder, monkeypatch, capsys)


def test_a_link_to_tracked_files_is_tracked(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    project = make_started(tmp_path / "project")
    (project.folder / ".conductor").symlink_to("docs")
    plant(project, "docs/paused")

    assert starts(project.folder, monkeypatch, capsys)


def test_a_folder_that_the_settings_name_is_no_different(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    project = make_started(tmp_path / "project")
    plant(project, "docs/paused")
    project.write("passdown.toml", '[paths]\nruntime = "docs"\n')

    assert starts(project.folder, monkeypatch, capsys)


def test_a_project_below_the_top_is_no_different(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    project = make_started(tmp_path / "project")
    plant(project, "apps/web/.conductor/paused")
    project.write("apps/web/passdown.toml", "")

    assert starts(project.folder / "apps/web", monkeypatch, capsys)
    project.git("rm", "--cached", "--quiet", "apps/web/.conductor/paused")
    assert not starts(project.folder / "apps/web", monkeypatch, capsys)


def test_a_file_system_that_ignores_case_finds_the_tracked_file(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    project = make_started(tmp_path / "project")
    plant(project, ".Conductor/Pau\N{LATIN SMALL LETTER LONG S}ed")
    project.write(".conductor/paused", "2026-01-01T00:00:00Z\n")  # as if it were the same file

    assert starts(project.folder, monkeypatch, capsys)


def test_a_session_is_not_taken_from_a_worktree_beside_this_checkout(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    add_worktree(tmp_path, tmp_path / "clone")
    (tmp_path / "own" / "passdown.toml").touch()
    victim = Victim(tmp_path / "own", monkeypatch, capsys)

    assert escapes(victim) == []
    assert "ours" in victim.published()


# --- where git does not answer, and where it is not ---------------------------------------------------


def test_without_git_the_folder_is_believed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    put(tmp_path, "plain/passdown.toml", "")
    victim = Victim(tmp_path / "plain", monkeypatch, capsys)
    victim.hook("SessionStart", source="startup")
    assert victim.command("decide", "--session", HOST, "cache", "ours").code == 0
    assert "ours" in victim.command("brief", "--session", HOST).out
    assert victim.command("pause").code == 0

    assert victim.hook("SessionStart", source="startup") == {}


def test_if_nobody_can_tell_what_is_tracked_nothing_in_the_checkout_is_believed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    root = clone_blocked(tmp_path, tmp_path / "clone")
    victim = Victim(root, monkeypatch, capsys)
    (root / ".git/index").write_bytes(b"DIRC damaged")

    said = json.dumps(victim.hook("SessionStart", source="startup"))
    assert ("passdown brief" in said, EVIL in said) == (True, False)
    done = victim.command("decide", "cache", "ours")
    assert (done.code, EVIL in done.err) == (5, False)
    found = [one["what"] for one in victim.json("doctor")["findings"] if one["code"] == "tracked"]
    assert found[0] == "git does not list the files it tracks, so Passdown ignores everything in .conductor"


@pytest.mark.skipif(sys.platform != "linux", reason="takes rights away as Linux lets it")
def test_a_git_folder_that_is_read_only(tmp_path: Path) -> None:
    for folder in (tmp_path, *tmp_path.parents[:2]):
        folder.chmod(0o755)
    root = clone(tmp_path, tmp_path / "clone")
    tracked = {path: (root / path).read_bytes() for path in listed(root)}
    subprocess.run(["chmod", "-R", "a-w", str(root / ".git")], check=True)
    try:
        told = [
            run(root, "start", "--host", "claude", "--session", HOST),
            *(run(root, *words) for words in COMMANDS),
            run(root, "doctor"),
        ]
    finally:
        subprocess.run(["chmod", "-R", "u+w", str(root)], check=True)

    assert [done.out for done in told[:-1] if EVIL in done.out + done.err] == []
    assert f"git tracks .conductor/journal/{next(iter(LEDGERS))}.jsonl" in told[-1].out
    assert list((root / ".conductor/journal").glob("s-[!e]*.jsonl"))
    events = [path.read_text(encoding="utf-8") for path in root.glob(f"{EVENTS}/**/*.md")]
    assert "ours" in "".join(events)
    assert EVIL not in "".join(events)
    assert {path: (root / path).read_bytes() for path in tracked} == tracked
    assert not (root / ".git/hooks/post-commit").exists()
    assert not (tmp_path / "outside.md").exists()


def listed(root: Path) -> list[str]:
    return Project(folder=root).git("ls-files", "-z").split("\0")[:-1]


def run(root: Path, *arguments: str) -> Done:
    """Run a verb as somebody who may write only where the rights of files say so."""
    done = subprocess.run(
        [sys.executable, "-m", "passdown", *arguments],
        cwd=root,
        env=environment(),
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        check=False,
        preexec_fn=give_up_rights,
    )
    return Done(done.returncode, done.stdout, done.stderr)


# --- a ledger's path ----------------------------------------------------------------------------------


@pytest.mark.parametrize("session", list(LEDGERS)[:-1])
def test_a_ledger_path_of_a_journal_that_nobody_tracks_stays_in_its_folder(
    tmp_path: Path, session: str, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    project = make_started(tmp_path / "project")
    (project.folder / "passdown.toml").touch()
    text = hostile_journal(session, project.folder, SystemClock().now() + timedelta(minutes=AGES[session]))
    put(project.folder, f".conductor/journal/{session}.jsonl", text)
    put(project.folder, ".git/hooks/post-commit", "#!/bin/sh\n")
    before = (project.folder / ".git/config").read_bytes()
    victim = Victim(project.folder, monkeypatch, capsys)

    found = victim.json("doctor")["findings"]
    assert victim.command("done", "--session", session, "wrote it").code == 0
    assert victim.command("end", "--session", session).code == 0

    assert [one["what"] for one in found if one["code"] == "journal"] == [
        f"the journal of {session} names {LEDGERS[session]} as its ledger; Passdown ignores that"
    ]
    assert (project.folder / ".git/hooks/post-commit").read_text(encoding="utf-8") == "#!/bin/sh\n"
    assert not (tmp_path / "outside.md").exists()
    assert not (project.folder / "README.md").exists()
    assert (project.folder / ".git/config").read_bytes() == before


# --- the usual case costs nothing ---------------------------------------------------------------------


def test_nobody_asks_what_is_tracked_where_state_is_in_the_folder_of_git(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    project = make_started(tmp_path / "project")
    project.write("passdown.toml", "")
    victim = Victim(project.folder, monkeypatch, capsys)
    monkeypatch.setattr(GitRepository, "tracked", lambda *_: pytest.fail("git was asked"))
    # The mark of an outdated view is in the checkout: who publishes an event asks about it.
    monkeypatch.setattr(publications, "mark_outdated", lambda _: None)

    work(victim)

    assert "ours" in victim.published()


# --- planted: the checks switched off, one by one -------------------------------------------------------


def believe_everything(monkeypatch: pytest.MonkeyPatch) -> None:
    """Switch off the question what git tracks."""
    monkeypatch.setattr(GitRepository, "tracked", lambda *_: NOTHING_TRACKED)


def is_silent(victim: Victim) -> bool:
    """Return whether the mark in the repository pauses hooks."""
    return victim.hook("SessionStart", source="startup") == {}


def is_paused(victim: Victim) -> bool:
    """Return whether the mark in the repository pauses commands."""
    return "paused by .conductor/paused" in victim.command("status").out


def is_published(victim: Victim) -> bool:
    """Return whether a journal in the repository is told and published again."""
    found = escapes(victim)
    return "was published" in found and any(one.startswith("was said") for one in found)


def is_cached(victim: Victim) -> bool:
    """Return whether a cache in the repository is used."""
    return f"was written: .conductor/{cache_name(victim.root, 'events')}" in escapes(victim)


def is_obeyed(victim: Victim) -> bool:
    """Return whether a ledger is written where a journal says that it is."""
    for session in LEDGERS:
        victim.command("done", "--session", session, "wrote it")
    return (victim.root / ".git/hooks/post-commit").exists()


CHECKS: Final = {
    "the mark, in hooks": (quick, "is_tracked", lambda *_: False, is_silent),
    "the mark, in commands": (UntrackedDocuments, "_is_hidden", lambda *_: False, is_paused),
    "journals": (RuntimeFolders, "is_tracked", lambda *_: False, is_published),
    "caches": (caches, "_refuse_tracked", lambda *_: None, is_cached),
}
"""Each check, how it is switched off, and what the repository achieves then."""


@pytest.mark.parametrize("name", CHECKS)
def test_each_check_is_needed(
    tmp_path: Path, name: str, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    where, check, off, is_caught = CHECKS[name]
    victim = Victim(clone_blocked(tmp_path, tmp_path / "clone"), monkeypatch, capsys)

    monkeypatch.setattr(where, check, off)

    assert is_caught(victim)


@pytest.mark.parametrize("place", PLACES)
@pytest.mark.parametrize("is_caught", [is_silent, is_paused, is_published])
def test_the_repository_wins_everywhere_without_the_question(
    tmp_path: Path,
    place: str,
    is_caught: Callable[[Victim], bool],
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    victim = Victim(PLACES[place](tmp_path, tmp_path / "clone"), monkeypatch, capsys)

    believe_everything(monkeypatch)

    assert is_caught(victim)


@pytest.mark.parametrize("is_checked", [True, False])
def test_a_ledger_is_written_anywhere_without_the_rule_for_paths(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], *, is_checked: bool
) -> None:
    victim = Victim(clone(tmp_path, tmp_path / "clone"), monkeypatch, capsys)
    believe_everything(monkeypatch)

    if not is_checked:
        monkeypatch.setattr(account_cache, "with_safe_ledger", lambda account, _: account)

    assert is_obeyed(victim) is not is_checked
