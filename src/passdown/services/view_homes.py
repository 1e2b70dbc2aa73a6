"""Where the view lies on the branch we stand on; it imports little, for every check begins here."""

from typing import Final

from passdown.core.view_places import ViewPlace, ViewPolicy, place_view
from passdown.ports.repository import Repository
from passdown.settings import Settings

LOCAL_VIEW: Final = "current.md"


def view_place(repository: Repository, settings: Settings) -> ViewPlace:
    """Say where the view lies on the branch we stand on, and why it is not committed if it is not (C43).

    Git is looked at only where the policy depends on the branch.
    """
    policy = settings.view.commit
    branch = integration = None
    if policy is ViewPolicy.INTEGRATION and repository.is_there():
        branch, integration = repository.branch(), repository.integration_branch(settings.view.branch)
    local = f"{settings.paths.runtime}/{LOCAL_VIEW}"
    return place_view(
        policy, tracked=settings.paths.view, local=local, branch=branch, integration=integration
    )
