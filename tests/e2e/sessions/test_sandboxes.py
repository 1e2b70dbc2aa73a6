"""Verbs in a sandbox: where something can be written they work, and where nothing can they say so, with 5."""

import os
import shutil
import sqlite3
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Final

import pytest

from passdown.records import record
from tests.faults.hooked import give_up_rights
from tests.support.commands import Done, environment
from tests.support.gits import make_started

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="takes rights away as Linux lets it")

HOST: Final = "host-session"
STRANGER: Final = 4242
REFUSING: Final = "#!/bin/sh\necho 'fatal: detected dubious ownership in repository' >&2\nexit 128\n"
VERBS: Final = (
    ("start", "--host", "claude", "--session", "another"),
    ("goal", "Fix the parser"),
    ("now", "reading"),
    ("done", "read the code"),
    ("next", "fix it"),
    ("decide", "parser", "our own"),
    ("rule-out", "a library"),
    ("ask", "why?"),
    ("note", "a note"),
    ("heartbeat",),
    ("publish",),
    ("handoff", "create"),
    ("end",),
)
FEW: Final = (("now", "reading"), ("publish",), ("end",))


@record
class Sandbox:
    """A checkout, and what the environment of a verb lacks."""

    root: Path
    variables: dict[str, str]

    def run(self, *arguments: str) -> Done:
        """Run a verb as somebody who may write only where the rights of files say so."""
        done = subprocess.run(
            [sys.executable, "-m", "passdown", *arguments],
            cwd=self.root,
            env=self.variables,
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            check=False,
            preexec_fn=give_up_rights,
        )
        return Done(done.returncode, done.stdout, done.stderr)

    def close(self) -> None:
        """Let nobody write anywhere."""
        subprocess.run(["chmod", "-R", "a-w", str(self.root)], check=True)


def leave_as_it_is(sandbox: Sandbox) -> Sandbox:
    return sandbox


def take_home(sandbox: Sandbox) -> Sandbox:
    """As in a container that nobody gave a home."""
    homes = ("HOME", "USERPROFILE", "XDG_")
    kept = {name: text for name, text in sandbox.variables.items() if not name.startswith(homes)}
    return Sandbox(root=sandbox.root, variables=kept)


def take_git(sandbox: Sandbox) -> Sandbox:
    return Sandbox(root=sandbox.root, variables={**sandbox.variables, "PATH": os.devnull})


def let_git_refuse(sandbox: Sandbox) -> Sandbox:
    """Give the checkout to somebody else, or where that is not ours to do, answer as git does then."""
    if os.getuid() == 0:
        subprocess.run(["chown", "-R", str(STRANGER), str(sandbox.root)], check=True)
        subprocess.run(["chmod", "-R", "a+rwX", str(sandbox.root)], check=True)
        refused = subprocess.run(["git", "status"], cwd=sandbox.root, capture_output=True, check=False)
        assert b"dubious ownership" in refused.stderr
        return sandbox
    program = sandbox.root.parent / "bin" / "git"
    program.parent.mkdir()
    program.write_text(REFUSING, encoding="utf-8")
    program.chmod(0o755)
    path = f"{program.parent}{os.pathsep}{sandbox.variables['PATH']}"
    return Sandbox(root=sandbox.root, variables={**sandbox.variables, "PATH": path})


CASES: Final = {
    "usual": leave_as_it_is,
    "no home": take_home,
    "git refuses": let_git_refuse,
    "no git": take_git,
}


@pytest.fixture
def sandbox(tmp_path: Path) -> Iterator[Sandbox]:
    """Give a checkout with a session that has said something."""
    for folder in (tmp_path, *tmp_path.parents[:2]):
        folder.chmod(0o755)
    root = make_started(tmp_path / "project").folder
    made = Sandbox(root=root, variables=environment())
    assert made.run("start", "--host", "claude", "--session", HOST).code == 0
    assert made.run("done", "--session", HOST, "began").code == 0
    yield Sandbox(root=root, variables=environment(PASSDOWN_SESSION=HOST))
    subprocess.run(["chmod", "-R", "u+w", str(root)], check=True)
    shutil.rmtree(root)


def listing(root: Path) -> dict[str, bytes]:
    return {str(path): path.read_bytes() for path in root.rglob("*") if path.is_file()}


def check_refusals(sandbox: Sandbox, verbs: tuple[tuple[str, ...], ...]) -> None:
    """Every verb ends with 5, one line that says what could not be written, and a hint; nothing changed."""
    sandbox.close()
    before = listing(sandbox.root)
    for verb in verbs:
        done = sandbox.run(*verb)

        assert (done.code, done.out) == (5, ""), (verb, done)
        assert done.err.count("\n") == 2, (verb, done)
        line, hint = done.err.splitlines()
        assert line.startswith(f"passdown: could not write {sandbox.root}/"), done.err
        assert line.endswith(": Permission denied"), done.err
        assert hint.startswith("  hint: "), done.err
    assert listing(sandbox.root) == before


@pytest.mark.requirement("R1")
def test_every_verb_says_that_nothing_can_be_written(sandbox: Sandbox) -> None:
    check_refusals(sandbox, VERBS)


@pytest.mark.requirement("C18")
@pytest.mark.parametrize("case", [case for case in CASES if case != "usual"])
def test_a_verb_says_so_in_every_kind_of_sandbox(sandbox: Sandbox, case: str) -> None:
    check_refusals(CASES[case](sandbox), FEW)


def test_what_only_reads_works_where_nothing_can_be_written(sandbox: Sandbox) -> None:
    sandbox.close()

    assert "began" in sandbox.run("brief").out
    assert "live" in sandbox.run("status").out
    assert sandbox.run("log").code == 0


@pytest.mark.parametrize("case", CASES)
def test_a_verb_works_where_something_can_be_written(sandbox: Sandbox, case: str) -> None:
    changed = CASES[case](sandbox)

    for verb in FEW:
        done = changed.run(*verb)
        assert done.code == 0, (verb, done)

    assert list((sandbox.root / "thoughts").rglob("*.md"))


def test_a_verb_works_where_only_the_checkout_can_be_written(sandbox: Sandbox) -> None:
    subprocess.run(["chmod", "-R", "a-w", str(sandbox.root / ".git")], check=True)

    for verb in FEW:
        assert sandbox.run(*verb).code == 0, verb

    assert list((sandbox.root / ".conductor/journal").iterdir())


READING: Final[tuple[tuple[tuple[str, ...], str], ...]] = (
    (("status",), "file src/, "),
    (("task", "list"), "t-form  P2  held by "),
    (("task", "ready"), "t-free  P2  ready  Sign out"),
    (("task", "show", "t-form"), "t-form Sign in form"),
    (("handoff", "offers"), "t-form from "),
    (("inbox",), "> soon?"),
    (("inbox", "--keep"), "> soon?"),
)
WRITING: Final[tuple[tuple[str, ...], ...]] = (
    ("claim",),
    ("close", "t-form"),
    ("reserve", "docs/"),
    ("renew",),
    ("release",),
    ("takeover", "t-form"),
    ("msg", "hello"),
    ("task", "add", "another"),
    ("task", "change", "t-free", "--title", "x"),
    ("task", "block", "t-free", "t-form"),
    ("task", "give-back", "t-form"),
    ("handoff", "offer"),
    ("handoff", "withdraw"),
)


@pytest.mark.requirement("C87", "R213")
@pytest.mark.parametrize("is_at_rest", [False, True], ids=["in use", "at rest"])
def test_what_sessions_share_is_read_where_nothing_can_be_written(
    sandbox: Sandbox, *, is_at_rest: bool
) -> None:
    for verb in (
        ("start", "--new", "--session", "other"),
        ("task", "add", "Sign in form", "--id", "t-form"),
        ("task", "add", "Sign out", "--id", "t-free"),
        ("claim", "t-form"),
        ("reserve", "src/"),
        ("inbox", "--session", "other"),
        ("msg", "soon?", "--session", "other"),
        ("handoff", "offer"),
    ):
        assert sandbox.run(*verb).code == 0, verb
    file = sandbox.root / ".git/passdown/coordination.sqlite"
    if is_at_rest:
        with sqlite3.connect(file) as connection:
            connection.execute("PRAGMA wal_checkpoint(TRUNCATE)")
        connection.close()
        for path in file.parent.glob(f"{file.name}-*"):
            path.unlink()
    sandbox.close()
    before = listing(sandbox.root)

    for words, wanted in READING:
        done = sandbox.run(*words)
        assert done.code == 0, (words, done)
        assert wanted in done.out, (words, done)
        told = "passdown: the messages stay unread: the coordination database cannot be written: "
        assert done.err.startswith(told if words == ("inbox",) else "")
        assert done.err == "" or words == ("inbox",), (words, done)
    for words in WRITING:
        done = sandbox.run(*words)
        assert (done.code, done.out) == (5, ""), (words, done)
        line, *hint = done.err.splitlines()
        assert line.startswith("passdown: the coordination database cannot be written: "), done.err
        assert f"Let the sandbox of this session write to {file.parent}" in " ".join(map(str.strip, hint))
    assert listing(sandbox.root) == before


@pytest.mark.requirement("C87")
def test_nobody_shares_anything_where_the_file_cannot_be_made(sandbox: Sandbox) -> None:
    sandbox.close()

    assert sandbox.run("task", "list").out.startswith("No tasks.")
    assert sandbox.run("handoff", "offers").out == "No open offers.\n"
    assert sandbox.run("inbox").out == "No unread messages.\n"
    assert sandbox.run("reserve", "src/").code == 5
