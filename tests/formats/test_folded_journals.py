"""Journals that older versions wrote fold to what they folded to then.

Those `before-operations` are of a version that wrote down only what it asked of the tracker; a claim or a
reservation said in its text whether it is held. `tests/formats/folded/` has what each of them folded to
before the fold was changed; `journal-operations-away` has lines that are rare or of newer versions.
"""

import json
from collections.abc import Mapping
from datetime import datetime
from enum import StrEnum
from pathlib import Path
from typing import cast

import pytest

from passdown.core.briefs.brief_input import holdings_of
from passdown.core.facts import Fact
from passdown.core.formats.journal import JournalLine, parse_journal
from passdown.core.sessions.session_facts import fold_journal, fold_without_end
from passdown.core.work.operations import list_unsynced, plan_replay, read_operations
from passdown.records import is_record, names_of, replace

HERE = Path(__file__).parent
JOURNALS = sorted(path.stem for path in (HERE / "golden").glob("journal-*.jsonl"))
SESSION = "s-0123456789ab"


def show(value: object) -> object:
    """Return a value as data for JSON, with everything it holds; what is empty is left out."""
    if isinstance(value, datetime):
        return value.isoformat()
    if isinstance(value, StrEnum):
        return value.value
    if isinstance(value, Fact):
        return show(value._asdict())
    if isinstance(value, Mapping):
        members = cast("Mapping[str, object]", value)
        return {name: show(one) for name, one in members.items() if one not in ("", (), None)}
    if isinstance(value, tuple | list):
        return [show(one) for one in cast("tuple[object, ...]", value)]
    return show({name: getattr(value, name) for name in names_of(value)}) if is_record(value) else value


def fold_all(lines: tuple[JournalLine, ...]) -> object:
    """Return what a journal folds to: the session, what it holds, and its operations."""
    account = fold_journal(SESSION, lines)
    operations = read_operations(SESSION, lines)
    return {
        "account": show(account),
        "claims before its end": show(fold_without_end(SESSION, lines).claims),
        "unfenced": show(account.unfenced),
        "holdings": show(holdings_of(account)),
        "operations": show(operations),
        "open": [one.id for one in operations if one.is_open],
        "to be tried again": [one.id for one in plan_replay(operations)],
        "unsynced": list_unsynced(operations),
    }


@pytest.mark.parametrize("name", JOURNALS)
def test_a_journal_of_an_older_version_folds_to_what_it_did(name: str) -> None:
    journal = parse_journal((HERE / "golden" / f"{name}.jsonl").read_text(encoding="utf-8"))
    expected = (HERE / "folded" / f"{name}.json").read_text(encoding="utf-8")

    found = json.dumps(fold_all(journal.lines), indent=1, ensure_ascii=False)

    assert f"{found}\n" == expected


def test_what_a_line_about_an_operation_says_is_in_its_members() -> None:
    path = HERE / "golden" / "journal-operations-takeover.jsonl"
    lines = parse_journal(path.read_text(encoding="utf-8")).lines
    renamed = tuple(
        replace(line, fact=line.fact._replace(text="in other words"))
        if {"action", "outcome"} & {name for name, _ in line.fact.others}
        else line
        for line in lines
    )

    assert read_operations(SESSION, renamed) == read_operations(SESSION, lines)
    assert fold_journal(SESSION, renamed).unfinished == fold_journal(SESSION, lines).unfinished
