"""Acme, a host that does not exist: one folder, outside the package, and its row."""

from collections.abc import Mapping
from types import MappingProxyType
from typing import TYPE_CHECKING, Final

from passdown.core.briefs.budgets import Budget
from passdown.core.hosts.hook_calls import HookCall, HookPoint, HookReply
from passdown.hosts import HostRow
from passdown.ports.host import Host, Signs

if TYPE_CHECKING:
    from passdown.core.hosts.transcripts import TranscriptReader
    from passdown.ports.host import Install

ROW: Final = HostRow(("acme", "acme-agent"), __name__, ("ACME_RUN",))

_MOMENTS: Final = MappingProxyType(
    {
        "begin": HookPoint.START,
        "ask": HookPoint.PROMPT,
        "use": HookPoint.BEFORE_TOOL,
        "rest": HookPoint.TURN_END,
        "finish": HookPoint.END,
    }
)


def read_call(payload: Mapping[str, object]) -> HookCall | None:
    """Read what Acme tells; its words are not those of other hosts."""
    event, run = payload.get("event"), payload.get("run")
    if not isinstance(event, str) or event not in _MOMENTS or not isinstance(run, str) or not run:
        return None
    cause = "startup" if event == "begin" else ""
    call = HookCall(_MOMENTS[event], event, run, "", cause, transcript=str(payload.get("log") or ""))
    return _add_tool(call, payload) if event == "use" else call


def _add_tool(call: HookCall, payload: Mapping[str, object]) -> HookCall:
    tool, files, runs, by = (payload.get(name) for name in ("uses", "files", "runs", "by"))
    return call._replace(
        subagent=by if isinstance(by, str) else "",
        paths=tuple(files) if tool == "pen" and isinstance(files, list) else (),
        command=runs if tool == "shell" and isinstance(runs, str) else "",
    )


def write_reply(call: HookCall, reply: HookReply) -> dict[str, object]:
    """Answer with lines for the model, or with a reason to stop."""
    if reply.refusal and call.point is HookPoint.BEFORE_TOOL:
        return {"to": call.event, "stop": reply.refusal}
    return {"to": call.event, "tell": [reply.context]} if reply.context else {}


def _load_transcripts() -> "TranscriptReader":
    from tests.hosts.acme.transcripts import READER

    return READER


def _load_install() -> "Install":
    from tests.hosts.acme.install import INSTALL

    return INSTALL


HOST: Final = Host(
    name="acme",
    title="Acme Agent",
    budget=Budget(tokens=1_000, characters=4_000),
    read_call=read_call,
    write_reply=write_reply,
    signs=Signs(variables=("ACME",), members=("run",), transcript="acme-"),
    load_transcripts=_load_transcripts,
    load_install=_load_install,
    calls_after_compaction=False,
)
