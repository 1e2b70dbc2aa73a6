"""What the documents show is what the commands print."""

from pathlib import Path

from tests import transcripts


def test_the_tutorial_shows_what_its_commands_print(tmp_path: Path) -> None:
    page = transcripts.TUTORIAL.read_text(encoding="utf-8")

    assert page.count("$ passdown ") > 3
    assert transcripts.corrected(page, tmp_path) == page


def test_the_readme_shows_the_first_check_of_the_tutorial() -> None:
    readme = transcripts.README.read_text(encoding="utf-8")
    tutorial = transcripts.TUTORIAL.read_text(encoding="utf-8")

    assert "<!-- output: check -->" in readme
    assert transcripts.corrected_readme(readme, tutorial) == readme
