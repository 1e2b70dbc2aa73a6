"""The view is a tracked file where the policy says so, and a local one everywhere else."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from passdown.core.formats.view_location import ViewLocation, ViewPolicy, locate_view

BRANCHES = st.sampled_from([None, "main", "topic", "unknown"])


def place(policy: ViewPolicy, branch: str | None, integration: str | None = "main") -> ViewLocation:
    """Place the view of a project."""
    return locate_view(
        policy, tracked="docs/view.md", local=".x/view.md", branch=branch, integration=integration
    )


@pytest.mark.requirement("C43")
@pytest.mark.parametrize(
    ("policy", "branch", "integration", "tracked"),
    [
        (ViewPolicy.ALWAYS, "main", "main", True),
        (ViewPolicy.ALWAYS, "topic", "main", True),
        (ViewPolicy.ALWAYS, None, None, True),
        (ViewPolicy.INTEGRATION, "main", "main", True),
        (ViewPolicy.INTEGRATION, None, None, True),
        (ViewPolicy.INTEGRATION, None, "main", True),
        (ViewPolicy.INTEGRATION, "topic", "main", False),
        (ViewPolicy.INTEGRATION, "unknown", "main", False),
        (ViewPolicy.INTEGRATION, "topic", None, False),
        (ViewPolicy.NEVER, "main", "main", False),
        (ViewPolicy.NEVER, None, None, False),
    ],
)
def test_policy_and_branch_decide_where_the_view_lies(
    policy: ViewPolicy, branch: str | None, integration: str | None, *, tracked: bool
) -> None:
    found = place(policy, branch, integration)

    assert (found.is_tracked, found.path) == (tracked, "docs/view.md" if tracked else ".x/view.md")


def test_the_note_says_why_the_view_is_not_committed() -> None:
    notes = [
        place(ViewPolicy.NEVER, "main").note,
        place(ViewPolicy.INTEGRATION, "topic").note,
        place(ViewPolicy.INTEGRATION, "topic", None).note,
    ]

    assert notes == [
        'the view is not committed: [view] commit = "never"',
        "the view is not committed on branch topic, only on main",
        "the view is not committed: the integration branch is unknown; name it in [view] branch",
    ]


@given(st.sampled_from(ViewPolicy), BRANCHES, st.sampled_from([None, "main"]))
def test_a_view_is_tracked_or_has_a_note_that_says_why_not(
    policy: ViewPolicy, branch: str | None, integration: str | None
) -> None:
    found = place(policy, branch, integration)

    assert found.is_tracked is not bool(found.note)


@given(st.sampled_from([None, "main"]), st.sampled_from(["topic", "unknown"]))
def test_on_no_other_branch_is_the_tracked_file_touched(integration: str | None, branch: str) -> None:
    assert place(ViewPolicy.INTEGRATION, branch, integration).path != "docs/view.md"
