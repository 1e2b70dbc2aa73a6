"""Sort receipts for the next session: what must not be repeated, test results, and commits (C121).

1. Only what somebody stated must not be repeated. A test run is a result, and so is a commit.
2. A test that could not be run, or that has no known result, is not a result.
3. A failed test counts until a later run of the same tests, or of all tests, passes.
4. A result is outdated if a file was edited since.
"""

from collections.abc import Iterable, Sequence
from typing import Final, NamedTuple

from passdown.core.facts import NO_RESULT, Fact, Provenance, code_of, command_of, has_failed, is_commit
from passdown.core.lazy_regex import pattern

COMMIT_SIZE: Final = 12
"""How many characters of a commit's id are shown."""

_SHORT_COMMIT: Final = pattern(r"[0-9a-f]{7,64}")


class SortedReceipts(NamedTuple):
    """Receipts by their meaning for the next session, each kind in the given order."""

    once: tuple[Fact, ...]
    passed: tuple[Fact, ...]
    failed: tuple[Fact, ...]
    commits: tuple[Fact, ...]


def sort_receipts(receipts: Sequence[Fact]) -> SortedReceipts:
    """Separate what must not be repeated, test results, and commits (1 to 3)."""
    commits = [fact for fact in receipts if _is_commit(fact)]
    results = [fact for fact in receipts if fact not in commits and _is_result(fact)]
    known = [fact for fact in results if code_of(fact.text) and code_of(fact.text) not in NO_RESULT]  # 2
    failed = [fact for fact in known if has_failed(fact.text)]
    passed = [fact for fact in known if fact not in failed]
    return SortedReceipts(
        tuple(fact for fact in receipts if fact not in commits and fact not in results),
        tuple(passed),
        tuple(fact for fact in failed if not _is_cleared(fact, passed)),
        tuple(commits),
    )


def _is_commit(fact: Fact) -> bool:
    is_seen = fact.provenance is not Provenance.STATED and _SHORT_COMMIT.fullmatch(fact.text) is not None
    return is_seen or is_commit(fact.text)


def _is_result(fact: Fact) -> bool:
    """Return whether a receipt is a test result: it has an exit code, or it is an observed test run."""
    if code_of(fact.text) or fact.provenance is Provenance.STATED:
        return bool(code_of(fact.text))
    from passdown.core.test_names import name_test  # needed for older events only: a test has an exit code

    return name_test(fact.text) is not None


def _is_cleared(failed: Fact, passed: Iterable[Fact]) -> bool:
    """Return whether a later run that passed included these tests (3)."""
    from passdown.core.test_names import name_test  # few briefs have a failed test

    name = name_test(command_of(failed.text))
    if name is None:
        return False
    later = (name_test(command_of(one.text)) for one in passed if is_later(one, failed))
    return any(one is not None and one.covers(name) for one in later)


def is_later(one: Fact, other: Fact) -> bool:
    """Return whether a fact came after another; within a session, its own order decides."""
    if one.session and one.session == other.session and one.seq and other.seq:
        return one.seq > other.seq
    return one.at > other.at


def describe_result(fact: Fact, files: Iterable[Fact]) -> str:
    """Describe at which commit a test was run, and how many files were edited since (4)."""
    where = f" at commit {fact.commit[:COMMIT_SIZE]}" if fact.commit else ""
    count = sum(is_later(one, fact) for one in files)
    since = f", {count} {'file' if count == 1 else 'files'} edited since" if count else ""
    return f"{where}{since}"
