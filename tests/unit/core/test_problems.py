"""Problems: what is wrong, how bad it is, and whether it can be repaired."""

from passdown.core.problems import Malformed, Severity, error, warning


def test_an_error_makes_a_check_fail_and_a_warning_does_not() -> None:
    assert error(3, "goal", "is missing", "add it", fixable=True).severity is Severity.ERROR
    assert warning(3, "goal", "is long").severity is Severity.WARNING


def test_a_malformed_value_says_what_is_wrong_and_what_would_be_right() -> None:
    refused = Malformed("is no number", "write digits")

    assert (refused.problem, refused.hint, str(refused)) == ("is no number", "write digits", "is no number")
