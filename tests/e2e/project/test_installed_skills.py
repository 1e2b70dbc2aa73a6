"""What an agent reads after `passdown install`: the skills that lie where its host looks for them."""

import re
from pathlib import Path

import pytest

from tests.hosts.fake_hosts import FakeHosts
from tests.support.commands import Caller
from tests.support.gits import make_started


@pytest.fixture(params=["claude", "codex", "copilot"])
def skills(
    request: pytest.FixtureRequest,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> "Skills":
    """Give the skills of a host, before they are installed."""
    hosts = FakeHosts(tmp_path, monkeypatch)
    command = Caller(monkeypatch, capsys, make_started(tmp_path / "project").folder)
    return Skills(str(request.param), hosts.home, command)


class Skills:
    """A host into which the plugin is installed."""

    def __init__(self, host: str, home: Path, command: Caller) -> None:
        """Begin without the plugin."""
        self._host = host
        self._home = home
        self._command = command

    def install(self) -> None:
        """Install the plugin as a user does."""
        assert self._command("install", self._host, "--yes").code == 0

    def read(self, name: str) -> str:
        """Give the text of a skill on one line."""
        (path,) = self._home.rglob(f"skills/{name}/SKILL.md")
        return " ".join(path.read_text(encoding="utf-8").split())


@pytest.mark.requirement("R56", "R78", "R79")
def test_the_skill_says_when_a_handoff_is_worth_it_and_when_not(skills: Skills) -> None:
    skills.install()

    text = skills.read("handoff")
    for said in (
        "before a clear",
        "70 %",
        "will probably reach 85 %",
        "several days",
        "refactoring",
        "Prefer clearing and continuing from the ledger over compacting",
        "less than half an hour",
        "simple fix",
        "one file",
    ):
        assert said in text


@pytest.mark.requirement("R81")
def test_the_skill_has_one_to_three_questions_asked_after_a_clear(skills: Skills) -> None:
    skills.install()

    for name in ("ledger", "resume"):
        assert re.search(
            "one to three short questions about what is open or unconfirmed", skills.read(name), re.IGNORECASE
        )


@pytest.mark.requirement("R122", "R123")
def test_the_skill_is_found_by_its_phrases_and_names_its_steps_in_order(skills: Skills) -> None:
    skills.install()

    text = skills.read("synthesize-ledgers")
    for phrase in ("/synthesize-ledgers", "synthesize ledgers", "merge ledgers"):
        assert phrase in text.split("---")[1]
    steps = re.findall(r"\d\. \*\*(\w+)\.\*\*", text)
    assert steps == ["Discover", "Preview", "Confirm", "Run", "Archive", "Commit"]
