"""A hook call, with what every hook needs to answer it."""

from pathlib import Path

from passdown.actions.callers import Caller
from passdown.core.hosts.hook_calls import HookCall
from passdown.ports.host import Host
from passdown.records import record


@record
class HookContext:
    """A hook call, with everything needed to answer it."""

    call: HookCall
    host: Host
    root: Path
    caller: Caller
