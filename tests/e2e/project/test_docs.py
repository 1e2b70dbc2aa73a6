"""What the documents show is what the commands print."""

import sys
from pathlib import Path

import pytest

from passdown.services.sessions.sessions import StartRequest, start_session
from passdown.settings import FILE_NAME, Settings
from tests import stories, transcripts
from tests.support.gits import make_started
from tests.support.projects import open_checkout

PAGE = """
```markdown title="notes.md"
one
two
```

```diff title="notes.md"
 one
-two
+three
```

```console
$ cat notes.md
one
three
$ passdown check "no such file.md"
passdown: no such file or folder: no such file.md
  hint: check the spelling; links are not followed
```

```console
$ rm notes.md
```
"""


def test_the_first_tutorial_shows_what_its_commands_print(tmp_path: Path) -> None:
    page = transcripts.FIRST_CHECK.read_text(encoding="utf-8")

    assert page.count("$ passdown ") > 3
    assert transcripts.correct_page(transcripts.FIRST_CHECK, tmp_path) == page


@pytest.mark.skipif(sys.platform == "win32", reason="the page says to use WSL there")
def test_the_tutorial_of_sessions_shows_what_its_commands_print(tmp_path: Path) -> None:
    page = transcripts.FIRST_SESSION.read_text(encoding="utf-8")

    assert page.count("$ passdown ") > 20
    assert transcripts.correct_page(transcripts.FIRST_SESSION, tmp_path) == page
    assert sorted(one.name for one in tmp_path.iterdir()) == [".gitconfig", "shop"]  # as its end says


@pytest.mark.timeout(180)
@pytest.mark.skipif(sys.platform == "win32", reason="the page says to use WSL there")
def test_the_tutorial_of_two_agents_shows_what_its_commands_print(tmp_path: Path) -> None:
    page = transcripts.TWO_AGENTS.read_text(encoding="utf-8")

    assert page.count("$ passdown ") > 20
    assert transcripts.correct_page(transcripts.TWO_AGENTS, tmp_path) == page
    assert sorted(one.name for one in tmp_path.iterdir()) == [".gitconfig", "shop", "shop-two"]


@pytest.mark.timeout(180)
@pytest.mark.skipif(
    sys.platform == "win32", reason="the small `bd` is a script, which Windows does not start"
)
def test_the_page_about_beads_shows_what_its_commands_print(tmp_path: Path) -> None:
    page = transcripts.WITH_BEADS.read_text(encoding="utf-8")

    assert page.count("$ passdown ") > 8
    assert transcripts.correct_beads_page(tmp_path) == page


@pytest.mark.timeout(180)
def test_the_page_about_work_without_a_tracker_shows_what_its_commands_print(tmp_path: Path) -> None:
    page = transcripts.WITHOUT_TRACKER.read_text(encoding="utf-8")

    assert page.count("$ passdown ") > 10
    assert transcripts.correct_page(transcripts.WITHOUT_TRACKER, tmp_path) == page


@pytest.mark.timeout(180)
@pytest.mark.skipif(sys.platform == "win32", reason="the page is shown as a terminal shows it")
def test_the_page_about_loops_shows_what_its_commands_print(tmp_path: Path) -> None:
    page = transcripts.IN_LOOPS.read_text(encoding="utf-8")

    assert page.count("$ passdown ") > 8
    assert transcripts.correct_page(transcripts.IN_LOOPS, tmp_path) == page


@pytest.mark.skipif(sys.platform == "win32", reason="the page is shown as a terminal shows it")
def test_the_how_to_about_subagents_shows_what_its_commands_print(tmp_path: Path) -> None:
    page = transcripts.SUBAGENTS.read_text(encoding="utf-8")
    folder = make_started(tmp_path / "shop").folder
    (folder / FILE_NAME).touch()
    (folder / "test_login.py").touch()
    start_session(open_checkout(folder, Settings()), StartRequest(nickname="amber"))

    assert page.count("$ passdown ") > 8
    assert transcripts.corrected(page, folder, has_made_up_values=True) == page


def test_a_page_is_done_in_order_and_only_what_is_harmless_is_run(tmp_path: Path) -> None:
    assert transcripts.corrected(PAGE, tmp_path) == PAGE
    assert (tmp_path / "notes.md").read_text(encoding="utf-8") == "one\nthree\n"


@pytest.mark.parametrize(
    ("real", "shown"),
    [("one\nthree\n$", "one\ntwo\n$"), ("folder: no such file.md", "folder: no, such, file.md")],
)
def test_an_output_that_is_not_the_real_one_is_noticed(tmp_path: Path, real: str, shown: str) -> None:
    assert real in PAGE
    assert transcripts.corrected(PAGE.replace(real, shown), tmp_path) == PAGE


def test_an_edit_that_does_not_fit_its_file_is_noticed(tmp_path: Path) -> None:
    with pytest.raises(AssertionError, match=r"notes\.md does not hold this once"):
        transcripts.corrected(PAGE.replace(" one\n-two", " one\n-four"), tmp_path)


@pytest.mark.skipif(sys.platform == "win32", reason="nobody knows there whether a process lives")
def test_a_session_dies_with_its_window(tmp_path: Path) -> None:
    with transcripts.Desk(tmp_path) as desk:
        desk.type("script -q /dev/null")
        desk.type('passdown now "Two words"')
        before = desk.type("passdown status")
        desk.type("exit")
        after = desk.type("passdown status")

    assert " live, " in before
    assert " stale, " in after


@pytest.mark.parametrize("path", [transcripts.README, transcripts.HOME_PAGE], ids=lambda path: path.stem)
def test_the_first_page_shows_what_the_tutorials_show(path: Path) -> None:
    readme = path.read_text(encoding="utf-8")
    pages = [
        path.read_text(encoding="utf-8") for path in (transcripts.FIRST_CHECK, transcripts.FIRST_SESSION)
    ]

    assert readme.count("<!-- output: session -->") == 1
    assert transcripts.corrected_readme(readme, pages) == readme


def test_a_readme_that_shows_something_else_is_corrected() -> None:
    readme = "<!-- output: session -->\n```console\n$ passdown a 'b c'\nold\n```\n"
    first = "```console\n$ passdown a 'b c'\nfirst\n```\n"
    last = "```console\n$ passdown a 'b c'\nlast\n$ passdown d\n```\n"

    assert transcripts.corrected_readme(readme, [first + last]) == readme.replace("old", "last")


@pytest.mark.parametrize(
    "path", [transcripts.TEST_FIRST, transcripts.GATES, transcripts.PREFLIGHT], ids=lambda path: path.stem
)
def test_the_pages_about_the_work_show_what_commands_print(path: Path, tmp_path: Path) -> None:
    assert transcripts.correct_page(path, tmp_path) == path.read_text(encoding="utf-8")


def test_a_story_that_is_not_told_as_its_page_says_is_noticed(tmp_path: Path) -> None:
    page = tmp_path / "tea.md"
    page.write_text("# Tea\n\none cup\n", encoding="utf-8")

    stories.compare(page, "# Tea\n\none cup\n")
    with pytest.raises(AssertionError, match=r"(?s)python -m tests\.stories.*-one cup.*\+two cups"):
        stories.compare(page, "# Tea\n\ntwo cups\n")
