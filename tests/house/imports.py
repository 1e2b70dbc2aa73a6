"""Which modules may import which."""

from collections.abc import Iterator
from types import MappingProxyType

from tests.house.tree import Finding, Module, imports, inside

# The rooms of core and of services, and the modules next to them: each may import those before it.
ROOM_ORDER = MappingProxyType(
    {
        "core": (
            *(
                "digests",
                "lazy_regex",
                "paths",
                "problems",
                "safe_text",
                "times",
                "ids",
                "git_hash",
                "json_text",
            ),
            *(
                "kinds",
                "shell_commands",
                "test_names",
                "test_counts",
                "documents",
                "phases",
                "facts",
                "schemas",
                "statements",
                "holds",
                "fold",
                "formats",
            ),
            *("merge", "sessions", "briefs"),
            *("evidence", "hosts", "project", "coordination", "work"),
        ),
        "services": (
            "workspace",
            "log",
            "sessions",
            "handover",
            "project",
            "operations",
            "coordination",
            "work",
        ),
    }
)

_LOWEST = frozenset({"core", "errors", "records", "layout"})
_STORE = _LOWEST | {"ports"}

# For each part of the package, the parts it may import.
MAY_IMPORT = MappingProxyType(
    {
        "__init__": frozenset({"errors"}),
        "__main__": frozenset({"faces"}),
        "errors": frozenset[str](),
        "records": frozenset[str](),
        "layout": frozenset[str](),
        "core": _LOWEST,
        "settings": _LOWEST | {"settings"},
        "ports": _STORE,
        "engines": _STORE | {"engines"},
        "trackers": _STORE | {"trackers"},
        "hosts": _STORE | {"hosts"},
        "services": _STORE | {"services", "settings"},
        "wiring": _STORE | {"services", "engines", "trackers", "hosts", "settings", "wiring"},
        "actions": _STORE | {"services", "settings", "wiring", "actions"},
        "faces": _STORE | {"services", "settings", "wiring", "actions", "faces"},
        "testing": _STORE
        | {"services", "engines", "trackers", "hosts", "settings", "wiring", "actions", "faces", "testing"},
    }
)

# The quick hook path skips services and wiring, so it may import the engine that appends. The log of a hook
# must be written even if wiring fails.
EXTRA_IMPORTS = MappingProxyType(
    {f"faces/hooks/{name}.py": frozenset({"engines"}) for name in ("quick", "hook_log", "opt_in_notice")}
)
SHARED_ENGINES = frozenset({"coordination", "files", "patience", "scratch", "system"})


def rule_import_direction(module: Module) -> Iterator[Finding]:
    """Imports go one way: faces, actions, wiring, {services, engines, trackers, hosts}, ports, core, rest."""
    zone = module.parts[0]
    if zone == "plugin":
        yield Finding(1, "plugin is text and holds no Python")
        return
    if zone not in MAY_IMPORT:
        yield Finding(1, f"{zone} has no place in the house; see MAY_IMPORT")
        return
    allowed = MAY_IMPORT[zone] | EXTRA_IMPORTS.get(module.path, frozenset())
    for imported in imports(module):
        target = inside(imported)
        if target and target[0] in MAY_IMPORT and target[0] not in allowed | {"__init__"}:
            yield Finding(imported.line, f"{zone} may not import {imported.name}")
        elif target and target[0] == "plugin":
            yield Finding(imported.line, f"plugin is text: {imported.name}")


def rule_room_order(module: Module) -> Iterator[Finding]:
    """A room of core or services imports only rooms that come before it in ROOM_ORDER."""
    zone, own = module.parts[0], _second(module)
    order = ROOM_ORDER.get(zone, ())
    if not order or own == "__init__":
        return
    allowed = order[: order.index(own) + 1] if own in order else (own,)
    for imported in imports(module):
        target = inside(imported)
        if target[:1] == (zone,) and len(target) > 1 and target[1] not in allowed:
            yield Finding(imported.line, f"{zone}/{own} may not import {zone}/{target[1]}; see ROOM_ORDER")


def rule_engine_folders(module: Module) -> Iterator[Finding]:
    """An engine imports its own folder, and of the others only SHARED_ENGINES."""
    if module.parts[0] != "engines":
        return
    own = _second(module)
    allowed = SHARED_ENGINES | {own}
    for imported in imports(module):
        target = inside(imported)
        if target[:1] == ("engines",) and len(target) > 1 and target[1] not in allowed:
            yield Finding(imported.line, f"engine {own} may not import engine {target[1]}")


def _second(module: Module) -> str:
    """Return `write` and `files` for `engines/write.py` and `engines/files/write.py`."""
    return (*module.parts, "__init__")[1]
