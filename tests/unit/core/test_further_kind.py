"""A new kind of fact is one row, from its verb to ledger, event, view, brief, certificate, log and search."""

import json
import os
import re
import shutil
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

import passdown
from tests.support.gits import make_started

ROW = """
    RISK = (
        "risk",
        KindRow(
            Merging.SET,
            event_key="risks",
            retraction_key="retracted_risks",
            plural="risks",
            brief_class=2,
            title="Risks",
            heading="Risks",
            verb="risk",
            help="Name a risk.",
            is_inherited=True,
            can_retract=True,
        ),
    )
"""

Run = Callable[..., str]
RISKS = re.compile(r"^##+ Risks\n+- The cache may be poisoned\n", re.MULTILINE)


@pytest.fixture
def run(tmp_path: Path) -> Run:
    """Give a Passdown whose table of kinds has one more row, in a project of its own."""
    package = Path(passdown.__file__).parent
    copy = tmp_path / "further-kind" / "passdown"
    shutil.copytree(package, copy, ignore=shutil.ignore_patterns("__pycache__"))
    table = copy / "core" / "kinds.py"
    before, mark, after = table.read_text(encoding="utf-8").partition("    ANSWER = ")
    table.write_text(f"{before}{ROW.lstrip(chr(10))}{mark}{after}", encoding="utf-8")
    folder = make_started(tmp_path / "project").folder
    (folder / "passdown.toml").write_text("", encoding="utf-8")
    environment = {**os.environ, "PYTHONPATH": str(copy.parent)}

    def call(*arguments: str) -> str:
        command = [sys.executable, "-m", "passdown", *arguments]
        done = subprocess.run(
            command, cwd=folder, env=environment, capture_output=True, text=True, check=False
        )
        assert done.returncode == 0, done.stderr
        return done.stdout

    return call


def test_a_kind_of_fact_is_one_row(run: Run) -> None:
    run("start", "--nickname", "amber")
    run("now", "Look around")
    run("publish")
    assert "### Risks" not in run("view")
    run("risk", "The cache may be poisoned")
    run("risk", "Disks fill up")
    run("retract", "Disks fill up")

    ledger = Path(json.loads(run("status", "--json"))["sessions"][0]["ledger"])
    assert "Name a risk." in run("help", "--all")
    assert "Risks:\n> The cache may be poisoned\n" in run("brief")
    run("publish")
    event = json.loads(run("log", "--json"))["events"][0]["data"]
    assert event["more"] == [["risks", ["The cache may be poisoned"]], ["retracted_risks", ["Disks fill up"]]]
    assert any(pair["key"] == "risks" for pair in event["origins"])
    assert "### Risks\n- The cache may be poisoned\n" in run("view")
    assert run("view", "list", "risks").startswith("The cache may be poisoned\n")
    assert "The cache may be poisoned" in run("search", "poisoned")
    assert " facts found: " in run("certify")
    assert not ledger.is_absolute()


def test_its_place_in_the_ledger_can_be_edited_by_hand(run: Run, tmp_path: Path) -> None:
    run("start", "--nickname", "amber")
    run("risk", "The cache may be poisoned")
    ledger = tmp_path / "project" / json.loads(run("status", "--json"))["sessions"][0]["ledger"]
    text = ledger.read_text(encoding="utf-8")
    assert "## Risks\n\n- The cache may be poisoned\n" in text

    ledger.write_text(text.replace("- The cache may be poisoned", "- Clocks drift"), encoding="utf-8")
    run("heartbeat")

    brief = run("brief")
    assert "> Clocks drift\n" in brief
    assert "poisoned" not in brief


def test_a_session_that_resumes_a_handoff_carries_it_on(run: Run, tmp_path: Path) -> None:
    run("start", "--nickname", "amber")
    run("goal", "Ship it")
    run("risk", "The cache may be poisoned")
    run("handoff", "create", "--stream", "caches")
    run("handoff", "create")
    listed = json.loads(run("handoff", "list", "--json"))["handoffs"]
    assert {one["kind"] for one in listed} == {"stream", "archive"}

    session = {}
    for number, one in enumerate(listed):
        assert RISKS.search(run("handoff", "show", one["name"]))
        session = json.loads(run("start", "--new", "--fresh", "--nickname", f"birch-{number}", "--json"))
        resumed = json.loads(
            run("handoff", "resume", one["name"], "--yes", "--json", "--session", session["session"])
        )
        assert resumed["snapshot"]["risk"] == ["The cache may be poisoned"]

        ledger = tmp_path / "project" / session["ledger"]
        assert RISKS.search(ledger.read_text(encoding="utf-8"))
    run("risk", "Clocks drift", "--session", session["session"])
    run("handoff", "create", "--stream", "caches", "--session", session["session"])
    assert "### Risks\n- The cache may be poisoned\n- Clocks drift\n" in run("handoff", "show", "caches")


def test_documents_of_others_that_have_it_are_migrated(run: Run, tmp_path: Path) -> None:
    ledger = "## Ledger\n**Updated:**\n**Goal:** Ship it\n\n### Next\n- [ ] Look around\n\n### Risks\n"
    view = f"# Project Ledger\n\n{ledger}- Clocks drift\n"
    stream = f"# Work Stream: caches\n\n{ledger}- Disks fill up\n\n---\n\n## Context\n\nAll of it.\n"
    for name, text in (("old.md", view), ("stream.md", stream)):
        (tmp_path / "project" / name).write_text(text, encoding="utf-8")
        run("migrate", name, "--yes")

    listed = run("view", "list", "risks")
    assert "Clocks drift\n" in listed
    assert "Disks fill up\n" in listed
