"""Who may import whom."""

from collections.abc import Iterator
from types import MappingProxyType

from tests.house.tree import Finding, Module, imports, inside

# A service may import the services before it in this list.
SERVICE_ORDER = (
    "checkouts",
    "local_files",
    "documents",
    "events",
    "view_homes",
    "commits",
    "view_notes",
    "views",
    "rollups",
    "synthesis",
    "history",
    "migrations",
    "verification",
    "journals",
    "unpublished",
    "presence",
    "ledgers",
    "publications",
    "archives",
    "observations",
    "sessions",
    "closings",
    "briefs",
    "handoffs",
    "tracks",
    "deliveries",
    "certificates",
    "search",
    "pauses",
    "setups",
    "levels",
    "installs",
    "purges",
    "doctor",
)

_LOWEST = frozenset({"core", "errors", "records"})
_STORE = _LOWEST | {"ports"}

# From each part of the house, the parts it may import.
MAY_IMPORT = MappingProxyType(
    {
        "__init__": frozenset({"errors"}),
        "__main__": frozenset({"faces"}),
        "errors": frozenset[str](),
        "records": frozenset[str](),
        "core": _LOWEST,
        "settings": _LOWEST | {"settings"},
        "ports": _STORE,
        "engines": _STORE | {"engines"},
        "trackers": _STORE | {"trackers"},
        "hosts": _STORE | {"hosts"},
        "services": _STORE | {"services", "settings"},
        "wiring": _STORE | {"services", "engines", "trackers", "hosts", "settings", "wiring"},
        "faces": _STORE | {"services", "settings", "wiring", "faces"},
        "testing": _STORE
        | {"services", "engines", "trackers", "hosts", "settings", "wiring", "faces", "testing"},
    }
)

# The quick hook path skips services and wiring, so it may name the engine that appends.
# What a hook notes must be written where wiring fails.
EXTRA_IMPORTS = MappingProxyType(
    {f"faces/hooks/{name}.py": frozenset({"engines"}) for name in ("quick", "notes", "rests")}
)
SHARED_ENGINES = frozenset({"files", "system"})


def rule_import_direction(module: Module) -> Iterator[Finding]:
    """Imports go one way: faces, wiring, {services, engines, trackers, hosts}, ports, core, the lowest."""
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


def rule_service_order(module: Module) -> Iterator[Finding]:
    """A service imports only services that stand before it in SERVICE_ORDER."""
    if module.parts[0] != "services":
        return
    own = _second(module)
    earlier = SERVICE_ORDER[: SERVICE_ORDER.index(own)] if own in SERVICE_ORDER else ()
    for imported in imports(module):
        target = inside(imported)
        if target[:1] == ("services",) and len(target) > 1 and target[1] not in (own, *earlier):
            yield Finding(imported.line, f"{own} may not import {target[1]}; see SERVICE_ORDER")


def rule_engine_folders(module: Module) -> Iterator[Finding]:
    """An engine imports its own folder, engines/files and engines/system, no other engine."""
    if module.parts[0] != "engines":
        return
    own = _second(module)
    allowed = SHARED_ENGINES | {own}
    for imported in imports(module):
        target = inside(imported)
        if target[:1] == ("engines",) and len(target) > 1 and target[1] not in allowed:
            yield Finding(imported.line, f"engine {own} may not import engine {target[1]}")


def _second(module: Module) -> str:
    """`write` and `files` for `engines/write.py` and `engines/files/write.py`."""
    return (*module.parts, "__init__")[1]
