"""Hooks after work: record it, and tell the user what matters."""

from collections.abc import Iterator
from types import MappingProxyType
from typing import Final

from passdown import layout
from passdown.actions.callers import ask
from passdown.actions.sessions import turns
from passdown.core.hosts.context_usage import ContextLevel
from passdown.core.hosts.hook_calls import HookReply
from passdown.faces.hooks import quick
from passdown.faces.hooks.main import HookContext

_NOTICES: Final = MappingProxyType(
    {
        ContextLevel.SUGGEST: "Plan a handoff soon",
        ContextLevel.SAVE: "Everything is saved: hand off now",
        ContextLevel.FORCE: "Everything is saved: clear or compact now",
    }
)


def answer_turn_end(context: HookContext) -> HookReply:
    """Record what the turn did, and tell the user what matters."""
    found = ask(turns.end_turn, context.caller, _make_request(context)).result
    said = [*_list_notices(found)]
    return HookReply(notice=f"Passdown: {'. '.join(said)}") if said else HookReply()


def _make_request(context: HookContext) -> turns.HostTurnRequest:
    call = context.call
    return turns.HostTurnRequest(
        host=context.host,
        transcript=call.transcript,
        message=call.message,
        subagent=call.subagent,
        has_signs=quick.has_file(str(context.root), layout.SIGNALS, call.session),
    )


def _list_notices(found: turns.HostTurnResult) -> Iterator[str]:
    """Yield what the user is told, each a sentence without its full stop."""
    if found.context:
        yield f"the context is {found.context.percent} % full. {_NOTICES[found.context.level]}"
    if found.signals:
        first = {one.kind: one.text for one in reversed(found.signals)}
        why = "; ".join(first[kind] for kind in dict.fromkeys(one.kind for one in found.signals))
        yield f"this session seems to be getting worse: {why}. Save, then clear or compact"
    if found.work:
        for gate in found.work.due:
            yield f"the gate {gate.key} is due ({gate.because}): run `passdown gate run {gate.key}`"
        if warnings := [change.warning for change in found.work.changes if change.warning]:
            yield f"test-first order: {warnings[-1]}"
    if found.has_results:
        yield "subagents returned results: run `passdown result apply`"


def answer_compaction(context: HookContext) -> HookReply:
    """Record and publish everything: the host is about to compact the context."""
    ask(turns.save, context.caller, _make_request(context))
    return HookReply()


def answer_subagent_end(context: HookContext) -> HookReply:
    """Record what a subagent did, and tell the user about the result that it returned."""
    kept = ask(turns.end_subagent, context.caller, _make_request(context)).result
    if kept is None or not kept.is_open:
        return HookReply()
    from passdown.core.hosts.kept_results import ResultState  # few subagents return one

    if kept.state is ResultState.MALFORMED:
        why = "; ".join(kept.problems)
        return HookReply(notice=f"Passdown: a subagent returned a result that cannot be read: {why}")
    return HookReply(
        notice="Passdown: saved a subagent's result; the agent applies it with `passdown result apply`"
    )


def follow_turn(context: HookContext) -> str:
    """Update the view with what was published, and commit it if due; return what prevented it."""
    return turns.follow_turn(context.caller, may_commit=True)


def follow_compaction(context: HookContext) -> str:
    """Update the view with what was published; the end of the turn commits it."""
    return turns.follow_turn(context.caller, may_commit=False)
