"""What a subagent returns is read leniently, typed all the same, and what is wrong with it is said."""

import json
from datetime import UTC, datetime

import pytest
from hypothesis import given
from hypothesis import strategies as st

from passdown.core.facts import Fact
from passdown.core.hosts import results
from passdown.core.hosts.kept_results import ResultState, fold_results, members_of_try
from passdown.core.hosts.results import (
    ResultAction,
    ResultStatus,
    SubagentResult,
    TaskUpdate,
    as_data,
    read_result,
)
from passdown.core.hosts.subagents import find_coordination, render_rules
from passdown.core.problems import Malformed

SEED = """{
  "status": "success",
  "summary": "Implemented authentication flow",
  "beadUpdates": [
    {
      "id": "bd-42",
      "action": "close",
      "reason": "completed",
      "notes": "COMPLETED: JWT auth with RS256 signing"
    }
  ],
  "filesModified": [
    "src/auth/jwt.ts",
    "src/auth/middleware.ts"
  ]
}"""
READ = SubagentResult(
    status=ResultStatus.SUCCESS,
    summary="Implemented authentication flow",
    updates=(
        TaskUpdate(
            task="bd-42",
            action=ResultAction.CLOSE,
            reason="completed",
            notes="COMPLETED: JWT auth with RS256 signing",
        ),
    ),
    files=("src/auth/jwt.ts", "src/auth/middleware.ts"),
)


def result(**values: object) -> str:
    return json.dumps({"status": "success", "summary": "x", **values})


@pytest.mark.requirement("R208", "R209")
@pytest.mark.parametrize(
    "text",
    [
        SEED,
        f"All done.\n\n```json\n{SEED}\n```\nBye {{ or }} so.",
        f'Such as {{"status": "failed", "summary": "an example"}} is wrong; mine is {SEED}',
        SEED.replace("beadUpdates", "bead_updates").replace("filesModified", "files_modified"),
        SEED.replace('"success"', '" Success "').replace('"close"', '"CLOSE"'),
        SEED.replace('"reason": "completed",', ""),
    ],
)
def test_a_result_is_found_wherever_it_stands(text: str) -> None:
    found = read_result(text)

    assert found == READ
    assert found.id == READ.id
    assert read_result(json.dumps(as_data(found))) == READ


@pytest.mark.parametrize(
    "text", ["", "I am done.", '{"a": 1}', 'its "status" is fine', "{" * 1000 + '"status"', "[1, 2]"]
)
def test_a_message_without_a_result_has_none(text: str) -> None:
    assert read_result(text) is None


@pytest.mark.requirement("R208")
@pytest.mark.parametrize(
    "text", [SEED[:-3], SEED.replace(",\n", "\n"), "{" * 5000 + '"beadUpdates"', '{"beadUpdates": [' * 2000]
)
def test_what_was_meant_as_a_result_and_is_none_is_malformed(text: str) -> None:
    with pytest.raises(Malformed, match="is not valid JSON"):
        read_result(text)


def test_a_result_that_no_line_of_the_journal_could_hold_is_malformed() -> None:
    with pytest.raises(Malformed, match="is over 120000 characters"):
        read_result(result(beadUpdates=[{"id": "bd-1", "action": "update", "notes": "x" * 120_000}]))
    long = read_result(result(beadUpdates=[{"id": "bd-1", "action": "update", "notes": "x" * 60_000}]))
    assert long is not None
    assert len(long.updates[0].notes) == 60_000


@pytest.mark.requirement("R209")
@pytest.mark.parametrize(
    ("update", "problem"),
    [
        ("bd-1", "update 1: is not an object; left out"),
        ({"action": "close"}, "update 1: `id` is missing; left out"),
        ({"id": 7, "action": "close"}, "update 1: `id` is missing; left out"),
        ({"id": "a\nb", "action": "close"}, "contains control characters"),
        ({"id": "bd-1"}, "update 1: `action` is missing; left out"),
        (
            {"id": "bd-1", "action": "create"},
            "update 1: `action` 'create' is neither close nor update; left out",
        ),
        ({"id": "bd-1", "action": "update"}, "update 1: there are no `notes` to add to bd-1; left out"),
    ],
)
def test_an_update_that_cannot_be_understood_is_said_and_stops_no_other(update: object, problem: str) -> None:
    other = {"id": "bd-2", "action": "update", "notes": ["one", "two"]}

    found = read_result(result(beadUpdates=[update, other]))

    assert found is not None
    assert [(one.task, one.notes) for one in found.updates] == [("bd-2", "one\ntwo")]
    assert len(found.problems) == 1
    assert problem in found.problems[0]


@pytest.mark.parametrize(
    ("values", "problem"),
    [
        (
            {"status": "success|failed"},
            "`status` 'success|failed' is neither success nor failed; treated as failed",
        ),
        ({"status": None}, "`status` is missing"),
        ({"beadUpdates": "bd-1"}, "`beadUpdates` is not a list; left out"),
    ],
)
def test_what_else_does_not_fit_is_said(values: dict[str, object], problem: str) -> None:
    found = read_result(result(**values))

    assert found is not None
    assert found.problems == (problem,)


def test_one_update_needs_no_list_and_too_many_are_cut(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(results, "_MAX_UPDATES", 1)
    one = {"id": "bd-1", "action": "close"}

    alone = read_result(result(beadUpdates=one))
    both = read_result(result(beadUpdates=[one, one]))

    assert alone is not None
    assert both is not None
    assert alone.updates == both.updates != ()
    assert both.problems == ("`beadUpdates` has 2 entries; only the first 1 are read",)


def test_a_long_summary_is_cut_where_one_line_is_shown() -> None:
    found = read_result(result(summary="a\nb " + "x" * 300))

    assert found is not None
    assert found.title.startswith("a b xxx")
    assert len(found.title) == 200
    assert SubagentResult(status=ResultStatus.FAILED).title == "(no summary)"


JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False) | st.text(max_size=5),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=5), inner, max_size=3),
    max_leaves=6,
)


@given(
    st.dictionaries(st.sampled_from(["status", "summary", "beadUpdates", "filesModified", "x"]), JSON),
    st.text(),
)
def test_whatever_is_returned_is_a_result_none_or_malformed(value: dict[str, object], around: str) -> None:
    try:
        found = read_result(f"{around}{json.dumps(value)}{around}")
    except Malformed:
        return
    if found is not None:
        json.dumps(as_data(found)).encode()
        again = read_result(json.dumps(as_data(found)))
        assert again is not None
        assert again.id == found.id


# --- the rules --------------------------------------------------------------------------------------

BLOCK = """\
## Beads Rules (Subagent)

You are a subagent. Beads access is READ-ONLY.

### Allowed Commands
- `bd show <id> --json` - View task details
- `bd ready --json` - See ready tasks
- `bd list --json` - List tasks
- `bd blocked --json` - Check blockers

### Blocked Commands
- `bd update` - Return request to main agent
- `bd close` - Return request to main agent
- `bd create` - Return request to main agent
- `bd sync` - Return request to main agent
- `passdown claim`, `close`, `handoff`, `result apply`, `takeover`, `task` - Return request to main agent

### Return Format
When done, return structured result:
```json
{
  "status": "success|failed",
  "summary": "Brief description of work done",
  "beadUpdates": [
    {"id": "...", "action": "close|update", "reason": "...", "notes": "..."}
  ],
  "filesModified": ["..."]
}
```
"""


@pytest.mark.requirement("R211", "C84")
def test_the_rules_are_the_seeds_words_with_the_lines_that_it_forgot() -> None:
    assert render_rules(is_beads=True) == BLOCK


@pytest.mark.requirement("R211", "R206", "R207", "C84")
def test_the_rules_say_what_the_hook_does() -> None:
    allowed, blocked = BLOCK.split("### Blocked Commands")
    lines = [line.split("` - ")[0].removeprefix("- `") for line in allowed.splitlines() if "bd " in line]
    assert [find_coordination(line.replace("<id>", "bd-1")) for line in lines] == [""] * 4
    for line in blocked.splitlines():
        if "Return request" in line:
            program, *verbs = line.partition(" - ")[0].removeprefix("- ").replace("`", "").split(", ")
            name = program.split()[0]
            for command in (program, *(f"{name} {verb}" for verb in verbs)):
                assert find_coordination(f"{command} x") == command


def test_without_beads_the_rules_are_about_tasks() -> None:
    rules = render_rules(is_beads=False)

    assert rules.startswith("## Task Rules (Subagent)\n\nYou are a subagent. Task access is READ-ONLY.\n\n")
    assert "bd" not in rules
    assert rules.endswith(BLOCK[BLOCK.index("### Return Format") :])


# --- in a journal -----------------------------------------------------------------------------------

AT = datetime(2026, 1, 11, 12, tzinfo=UTC)


def fact(text: str, *others: tuple[str, str], key: str = "r1") -> Fact:
    return Fact(kind="result", text=text, key=key, at=AT, agent="amber", others=others)


def test_lines_of_another_version_do_no_harm() -> None:
    taken = ("result", json.dumps(as_data(READ)))

    found = fold_results(
        [
            fact("begun", key="without a beginning"),
            fact("of tomorrow"),
            fact("taken", taken, ("problems", "1"), ("subagent", "[1]")),
            fact("taken", taken),
            fact("begun", ("operations", "[]")),
            fact("begun", ("operations", '{"x": "a", "0": "op-1"}')),
            fact("begun", ("operations", '{"0": "op-2"}')),
            fact("tried", ("update", '"x"'), ("outcome", '"done"')),
            fact("tried", *members_of_try(0, "no answer", is_unsure=True)),
            fact("taken", ("result", '{"beadUpdates": "'), key="r2"),
            fact("taken", key="r3"),
        ]
    )

    assert {name: one.state for name, one in found.items()} == {
        "r1": ResultState.WAITING,
        "r2": ResultState.MALFORMED,
        "r3": ResultState.MALFORMED,
    }
    assert (found["r1"].operations, found["r1"].outcomes) == ({0: "op-1"}, {0: "no answer"})
