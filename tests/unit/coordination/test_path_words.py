"""What `reserve` understands: however two sessions name one file, only one of them gets it (C145)."""

import json
from collections.abc import Sequence
from pathlib import Path

import pytest

from passdown.core.coordination.leases import PATH, Fenced, Granted, Held, Resource
from passdown.core.coordination.path_words import MOST_NAMES, count_covered, expand_braces, find_common_start
from passdown.errors import UsageError
from passdown.services.coordination.membership import join_project
from passdown.services.coordination.path_words import PathWords, keep_held, understand_words
from passdown.services.coordination.reservations import ReservationRequest, release_files, reserve_files
from passdown.services.operations.operations import make_id
from passdown.services.workspace.workspaces import Workspace
from tests.stores.path_ways import CASES, WAYS, Way, make_ways_project
from tests.support.projects import put
from tests.unit.hooks.test_hook_edits import Editors

EVERY = [(file, at) for file, ways in WAYS.items() for at in range(len(ways))]


@pytest.fixture
def team(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> Editors:
    """Give a project with odd names, links and worktrees, and two sessions."""
    made = Editors(tmp_path / "project", monkeypatch, capsys)
    make_ways_project(made.project)
    return made


def read(workspace: Workspace, way: Way) -> Sequence[str]:
    given = PathWords([way.word], way.folder, "--literal" in way.options)
    return keep_held((), understand_words(workspace, given))


def find_two_holders(team: Editors, ways: Sequence[Way]) -> list[tuple[str, str]]:
    """Let each way be held, and each other one be tried by another session."""
    workspace = team.host.project()
    join_project(workspace, team.account("birch"))
    engine = workspace.open_engine()
    amber, birch = team.account("amber"), team.account("birch")
    patterns = [read(workspace, way.place(team.project.folder)) for way in ways]
    found: list[tuple[str, str]] = []
    for first, one in zip(ways, patterns, strict=True):
        assert not isinstance(reserve_files(workspace, amber, ReservationRequest(one, 600.0)), Held)
        for second, other in zip(ways, patterns, strict=True):
            wanted = [Resource(PATH, name) for name in other]
            granted = engine.leases.acquire(make_id(workspace), birch.session, wanted, 600.0)
            if isinstance(granted, Granted):
                found.append((first.word, second.word))
                held = [Fenced(Resource(PATH, one.name), one.fence) for one in granted.grants]
                engine.leases.release(make_id(workspace), birch.session, held)
        release_files(workspace, team.account("amber"), ())
    return found


@pytest.mark.requirement("C145")
@pytest.mark.timeout(120)
@pytest.mark.parametrize("file", WAYS)
def test_no_two_ways_to_name_a_file_have_two_holders(team: Editors, file: str) -> None:
    assert find_two_holders(team, WAYS[file]) == []


@pytest.mark.requirement("C145")
def test_where_the_checkout_ignores_case_a_file_has_one_holder(team: Editors) -> None:
    assert find_two_holders(team, CASES) != []

    team.project.git("config", "core.ignorecase", "true")

    assert find_two_holders(team, CASES) == []


def call(team: Editors, session: str, verb: str, way: Way) -> int:
    team.monkeypatch.chdir(way.folder)
    code = team.run(session, verb, way.word, *way.options).code
    team.monkeypatch.chdir(team.project.folder)
    return code


def find_refused(team: Editors, session: str) -> list[str]:
    """Name what the guard would not let a session commit."""
    team.monkeypatch.setenv("PASSDOWN_SESSION", session)
    answer = json.loads(team.command("guard", "--json").out)
    team.monkeypatch.delenv("PASSDOWN_SESSION")
    return [one["path"] for one in answer["conflicts"]]


@pytest.mark.requirement("C145", "C88", "C89")
@pytest.mark.parametrize(("file", "at"), EVERY)
def test_reserve_edit_hook_guard_renew_and_release_understand_the_same(
    team: Editors, file: str, at: int
) -> None:
    ways = [way.place(team.project.folder) for way in WAYS[file]]
    way, other = ways[at], ways[(at * 5 + 3) % len(ways)]
    blob = team.project.git("hash-object", "-w", "--stdin", data="staged\n").strip()
    team.project.git("update-index", "--add", "--cacheinfo", f"100644,{blob},{file}")

    assert call(team, "amber", "reserve", way) == 0

    assert call(team, "birch", "reserve", other) == 3
    assert team.edit("birch", file)
    assert team.edit("amber", file) == ""
    assert file in find_refused(team, "birch")
    assert find_refused(team, "amber") == []
    assert call(team, "amber", "renew", way) == 0
    assert call(team, "amber", "release", way) == 0
    assert team.edit("birch", file) == ""
    assert call(team, "birch", "reserve", other) == 0


@pytest.mark.requirement("C145", "C88")
@pytest.mark.parametrize(
    "path", ["{tree}/src/pkg/app.py", ".trees/inner/src/pkg/app.py", "again/pkg/app.py", "app-link.py"]
)
def test_an_edit_through_a_link_or_in_another_worktree_is_judged(team: Editors, path: str) -> None:
    team.run("amber", "reserve", "src/pkg")
    way = Way(path).place(team.project.folder)

    held = f"src/pkg/app.py is held by {team.agent('amber')} (reserved as src/pkg/, "
    assert held in team.edit("birch", way.word)
    below = str(team.project.folder.parent / "tree")
    assert held in team.edit("birch", way.word, cwd=below)
    assert team.edit("birch", way.word.replace("pkg/", "other/").replace("-link", "")) == ""


@pytest.mark.requirement("C145")
def test_the_answer_says_what_was_understood_and_how_much_it_covers(team: Editors) -> None:
    team.monkeypatch.chdir(team.project.folder / "src")

    done = team.run("amber", "reserve", "pkg", "../linked/x.py", "../docs/*.md", "{a,b}.py")

    assert [line.partition(" (")[0] for line in done.out.splitlines()] == [
        "Reserved src/pkg/",
        "Reserved linked/x.py",
        "Reserved src/x.py",
        "Reserved docs/*.md",
        "Reserved src/a.py",
        "Reserved src/b.py",
    ]
    assert [line.partition(" (")[2].partition("; ")[0] for line in done.out.splitlines()] == [
        "1 tracked file",
        *["no tracked files yet"] * 5,
    ]
    told = team.ask("amber", "reserve", "../src", "new.py")["understood"]
    assert told == [
        {"word": "../src", "patterns": [{"pattern": "src/", "files": 1, "is_bounded": False}]},
        {"word": "new.py", "patterns": [{"pattern": "src/new.py", "files": 0, "is_bounded": False}]},
    ]


@pytest.mark.requirement("C145")
@pytest.mark.parametrize(
    ("word", "message", "hint"),
    [
        ("!src", "!src starts with `!`", "--literal"),
        (" src", "` src` starts or ends", "--literal"),
        ("src\t", "has a control character", "`?`"),
        ("src ", "`src ` starts or ends", "--literal"),
        ("src\\a", "src\\a contains a backslash", "--literal"),
        ("", "the path is empty", "`**`"),
        ("{,src}", "{,src} also expands to an empty path", "remove"),
        ("{a,b}{a,b}{a,b}{a,b}{a,b}{a,b}{a,b}", "expands to more than 64 paths", "folder"),
        ("../elsewhere/a.py", "../elsewhere/a.py is outside the project", "current folder"),
        ("/etc/passwd", "/etc/passwd is outside the project", "current folder"),
        ("src/*/../a.py", "contains `..`", "root"),
        (".", "this reserves every file of the project", "--all"),
        ("a" * 1025, "longer than 1,024 characters", "folder"),
        ("a\x07", "a control character or an invalid character", "`?`"),
    ],
)
def test_what_is_not_understood_is_refused_with_what_to_do(
    team: Editors, word: str, message: str, hint: str
) -> None:
    done = team.run("amber", "reserve", word)

    told = " ".join(done.err.split())
    assert (done.code, message in told, hint in told) == (2, True, True), done.err
    assert team.account("amber").reservations == {}


def test_a_literal_word_may_be_anything_but_broken(team: Editors) -> None:
    assert team.run("amber", "reserve", "--literal", "!a", " ", "{x,y}", "~", "c:", "*").code == 0
    assert sorted(team.account("amber").reservations) == ["!a", "[ ]", "[*]", "[~]", "c[:]", "{x,y}"]
    assert team.run("amber", "release", "--literal", " ", "*").code == 0
    for word in ("", "a\x07"):
        assert team.run("amber", "reserve", "--literal", word).code == 2


@pytest.mark.requirement("C145")
def test_release_finds_what_was_reserved_before_files_were_made_or_removed(team: Editors) -> None:
    team.run("amber", "reserve", "later", "web/[id]", "web/[slug]", "src/pkg")
    put(team.project.folder, "later/a.py", "x")
    put(team.project.folder, "web/[id]/a.py", "x")
    (team.project.folder / "web/[slug]").rename(team.project.folder / "web/other")

    assert team.run("amber", "reserve", "later").out.startswith("Reserved later (")
    assert team.run("amber", "release", "later").code == 0
    assert team.run("amber", "renew", "web/[id]").code == 0
    assert team.run("amber", "release", "web/[id]").code == 0
    team.monkeypatch.chdir(team.project.folder / "web")
    assert team.run("amber", "release", "src/pkg").code == 0  # as `passdown status` names it
    assert team.run("amber", "release", "none.py").code == 3
    assert list(team.account("amber").reservations) == ["web/[[]slug]/"]


def test_a_name_that_exists_is_no_pattern(team: Editors) -> None:
    put(team.project.folder, "web/{a,b}/x.py", "x")

    team.run("amber", "reserve", "web/[slug]/page.tsx", "web/{a,b}")

    assert team.run("birch", "reserve", "web/s/page.tsx", "web/a").code == 0
    assert team.run("birch", "reserve", "web/{a,b}/x.py", "--literal").code == 3
    assert list(team.account("amber").reservations) == ["web/[[]slug]/page.tsx", "web/{a,b}/"]


def test_links_that_lead_out_or_in_circles_are_names(team: Editors) -> None:
    root = team.project.folder
    (root / "out").symlink_to("/etc")
    (root / "round").symlink_to("round")
    (root / "home").symlink_to(root)

    assert list(read(team.host.project(), Way("out/passwd", str(root)))) == ["out/passwd"]
    assert "round/x" in read(team.host.project(), Way("round/x", str(root)))
    assert list(read(team.host.project(), Way("home/src", str(root)))) == ["home/src/", "src/"]
    assert team.run("amber", "reserve", "home").code == 2
    assert team.run("amber", "reserve", "home", "--all").code == 0


def test_braces_are_expanded_as_a_shell_does() -> None:
    texts = {
        "a": ["a"],
        "{a,b}{c,d}": ["ac", "ad", "bc", "bd"],
        "x{a,{b,c}d,}y": ["xay", "xbdy", "xcdy", "xy"],
        "{a}{1..3}": ["{a}{1..3}"],
        "{a{b,c}": ["{ab", "{ac"],
        "{{a,b}}": ["{a}", "{b}"],
        "{a,b": ["{a,b"],
        "}{a,a}": ["}a"],
    }
    for text, wanted in texts.items():
        assert expand_braces(text) == wanted
    with pytest.raises(UsageError):
        expand_braces("{a,b}" * 500)


def test_files_are_counted_up_to_a_bound() -> None:
    names = [f"src/{number}.py" for number in range(MOST_NAMES + 10)]

    assert count_covered("src/", [*names, "docs/a.md"]) == (MOST_NAMES, True)
    assert count_covered("docs/", [*names, "docs/a.md"]) == (1, False)
    assert count_covered("src/*.md", names[:5]) == (0, False)
    assert count_covered("\u00e9/*", ["e\u0301/a", "e/a"]) == (1, False)


def test_the_common_start_of_patterns_ends_where_they_differ() -> None:
    assert find_common_start(["src/Parser/", "src/page.py"]) == "src/pa"
    assert find_common_start(["src/a.py"]) == "src/a.py"
    assert find_common_start(["src/*.py", "docs/"]) == find_common_start(["**/a"]) == ""
    assert find_common_start(["s\u00e9/a", "s/a"]) == "s"
    assert find_common_start([]) == ""


def test_only_files_that_may_be_covered_are_listed(team: Editors) -> None:
    for name in ("src/new.py", "SRC/OTHER.py", "docs/a.md", "\u017frc/new.py"):
        put(team.project.folder, name, "x")
    team.project.git("add", "--all")

    names = team.project.repository().names("src/new.py")

    assert names is not None
    assert {"src/new.py", "\u017frc/new.py"} <= {*names}
    assert "docs/a.md" not in names
    assert "docs/a.md" in (team.project.repository().names() or ())


def test_a_bounded_count_is_told(team: Editors, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("passdown.core.coordination.path_words.MOST_NAMES", 3)
    for name in "bcd":
        put(team.project.folder, f"src/pkg/{name}.py", "x")
    team.project.git("add", "--all")

    assert team.run("amber", "reserve", "src").out.startswith("Reserved src/ (at least 3 tracked files; ")
    assert team.run("amber", "reserve", "**", "--all").out.startswith(
        "Reserved ** (at least 3 tracked files; "
    )
    assert team.run("amber", "reserve", "**/none.py").out.startswith("Reserved **/none.py (expires ")
