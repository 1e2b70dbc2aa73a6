"""What changed since a session handed something over."""

from collections.abc import Iterator

from passdown.core.sessions.handoffs import HandoffDrift
from passdown.core.shell_commands import is_whole
from passdown.core.times import age_words


def drift_lines(drift: HandoffDrift, *, is_run: bool) -> Iterator[str]:
    """Describe the differences from the state that a handoff recorded."""
    if drift.age is not None:
        old = "; older than 24 h: check before you rely on it" if drift.is_old else ""
        yield f"age: {age_words(drift.age)}{old}"
    if drift.branch:
        yield f"branch: was {drift.branch[0]}, now {drift.branch[1]}"
    if drift.commits:
        yield f"commits since: {drift.commits}"
    yield from (f"changed since: {path}" for path in drift.changed)
    yield from (f"deleted since: {path}" for path in drift.missing)
    if drift.test:
        yield f"test: {drift.test} ({_test_words(drift, is_run=is_run)})"
    if drift.is_clean:
        yield ("no other changes found" if drift.age is not None else "no changes found")


def _test_words(drift: HandoffDrift, *, is_run: bool) -> str:
    then = "not run then" if drift.test_then is None else f"exit code {drift.test_then} then"
    if not is_whole(drift.test):
        return f"{then}; parts of it were left out when it was shared"
    if not is_run:
        return f"{then}; run it with --run-test"
    if drift.test_now is None:
        return f"{then}; could not be run now"
    return f"{then}, {drift.test_now} now"
