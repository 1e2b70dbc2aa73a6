"""The end of a session: hosts wait at most a second, so it writes one line; the next start does the rest."""

from typing import TYPE_CHECKING

from passdown import layout
from passdown.core.facts import Provenance
from passdown.core.hosts.hook_calls import GOES_ON, KEPT_BY, HookReply
from passdown.core.kinds import FactKind
from passdown.core.sessions.ledger_sync import NewFact
from passdown.core.sessions.session_facts import CLEARED, Account
from passdown.faces.hooks import quick
from passdown.faces.hooks.hook_context import HookContext
from passdown.services.handover.context_usage import forget_level
from passdown.services.sessions.journals import append_fact, write_heartbeat

if TYPE_CHECKING:
    from passdown.ports.coordination import Coordination


def end(context: HookContext) -> HookReply:
    """Write the end of the session, or only a heartbeat if the host continues it under a new id."""
    account = context.find()
    if account is None:
        return HookReply()
    if context.call.cause in KEPT_BY:
        write_heartbeat(context.workspace, account, CLEARED if context.call.cause in GOES_ON else "")
    else:
        append_fact(
            context.workspace,
            account,
            NewFact(FactKind.END, context.call.cause or "end"),
            Provenance.OBSERVED,
        )
        _leave(context, account)
    _forget_level(context)
    if quick.is_waiting(str(context.root), context.call.session):
        from passdown.services.handover.deliveries import drop_mail_notice  # few sessions have mail

        drop_mail_notice(context.workspace, context.name)
    return HookReply()


def _leave(context: HookContext, account: Account) -> None:
    """Release what the session holds; if that fails, the next start does it."""

    def act(coordination: "Coordination") -> None:
        from passdown.services.coordination.membership import leave_project  # few sessions coordinate

        leave_project(context.workspace, account.session, coordination)

    context.ask_engine(act)


def _forget_level(context: HookContext) -> None:
    """Forget how full the context was, and how it was used: the host will not use this id again."""
    if quick.has_file(str(context.root), layout.CONTEXT_LEVELS, context.call.session):
        forget_level(context.workspace, context.name)
    if quick.has_file(str(context.root), layout.SIGNALS, context.call.session):
        from passdown.services.handover.degradation import forget_degradation  # few sessions show signs

        forget_degradation(context.workspace, context.name)
