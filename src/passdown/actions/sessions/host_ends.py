"""The end of a host's session: record it in one line; the next start does the rest."""

from typing import TYPE_CHECKING, Annotated

from passdown import layout
from passdown.actions.callers import Caller, ask_engine, find_hosted
from passdown.core.facts import Provenance
from passdown.core.hosts.hook_calls import GOES_ON, KEPT_BY
from passdown.core.kinds import FactKind
from passdown.core.sessions.ledger_sync import NewFact
from passdown.core.sessions.session_facts import CLEARED
from passdown.records import record
from passdown.services.sessions.journals import append_fact, write_heartbeat

if TYPE_CHECKING:
    from passdown.ports.coordination import Coordination


@record
class HostEndRequest:
    """How a host's session ends, and which local files it left."""

    cause: Annotated[str, "Why it ends, in the host's word."] = ""
    has_level: Annotated[bool, "Whether its context level is stored."] = False
    has_signs: Annotated[bool, "Whether signs that it got worse are stored."] = False
    has_notice: Annotated[bool, "Whether a message waits for its next prompt."] = False


def end_hosted(caller: Caller, request: HostEndRequest) -> None:
    """Record the end of the session, or only a heartbeat if the host continues it under a new id.

    What is stored about its context is deleted: the host will not use this id again.
    """
    workspace, name = caller.workspace, layout.session_file(caller.session)
    account = find_hosted(caller)
    if account is None:
        return
    if request.cause in KEPT_BY:
        write_heartbeat(workspace, account, CLEARED if request.cause in GOES_ON else "")
    else:
        said = NewFact(FactKind.END, request.cause or "end")
        append_fact(workspace, account, said, Provenance.OBSERVED)
        ask_engine(caller, lambda coordination: _leave(caller, account.session, coordination))
    if request.has_level:
        from passdown.services.handover.context_usage import forget_level  # not every host reports it

        forget_level(workspace, name)
    if request.has_signs:
        from passdown.services.handover.degradation import forget_degradation  # few sessions show signs

        forget_degradation(workspace, name)
    if request.has_notice:
        from passdown.services.handover.deliveries import drop_mail_notice  # few sessions have mail

        drop_mail_notice(workspace, name)


def _leave(caller: Caller, session: str, coordination: "Coordination") -> None:
    """Release what the session holds; if that fails, the next start does it."""
    from passdown.services.coordination.membership import leave_project  # few sessions coordinate

    leave_project(caller.workspace, session, coordination)
