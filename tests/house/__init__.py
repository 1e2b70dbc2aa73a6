"""The rules that keep the code base in order, as pure functions over a folder of source files.

A rule is a function `rule_<name>` that takes one module, or all of them, and yields its findings.
`violations` runs all of them over a package folder: `tests/unit/suite/test_house.py` on the real package,
`tests/unit/suite/test_house_rules.py` on planted ones.
"""

from collections.abc import Callable
from pathlib import Path

from tests.house import callers, effects, imports, knowledge, promises, shape, values, whole
from tests.house.tree import Module, Rule, WholeRule, parse_module

RULES: tuple[Rule, ...] = (
    imports.rule_import_direction,
    imports.rule_room_order,
    imports.rule_engine_folders,
    promises.rule_core_purity,
    promises.rule_ports,
    promises.rule_no_second_port,
    promises.rule_no_any,
    shape.rule_module_size,
    shape.rule_function_size,
    shape.rule_names,
    shape.rule_docstrings,
    effects.rule_broad_except,
    effects.rule_silent_except,
    effects.rule_clock_and_entropy,
    effects.rule_disk_writes,
    effects.rule_disk_reads,
    effects.rule_environment,
    effects.rule_no_shell,
    shape.rule_mutable_globals,
    shape.rule_import_work,
    knowledge.rule_hosts,
    knowledge.rule_paths,
)


WHOLE_RULES: tuple[WholeRule, ...] = (
    whole.rule_folder_size,
    whole.rule_names_once,
    whole.rule_no_circles,
    callers.rule_called,
    callers.rule_settings_read,
    values.rule_members_made,
    values.rule_fields_used,
)


def violations(root: Path) -> list[str]:
    """Return all findings for the Python files below `root`, sorted, as `path:line: rule: what`."""
    modules, found = read_modules(root)
    for module in modules:
        for rule in RULES:
            found += [
                f"{module.path}:{line}: {rule_name(rule)}: {what}" for line, what in sorted(rule(module))
            ]
    for whole_rule in WHOLE_RULES:
        name = rule_name(whole_rule)
        found += [f"{path}:{line}: {name}: {what}" for path, (line, what) in sorted(whole_rule(modules))]
    return found


def read_modules(root: Path) -> tuple[list[Module], list[str]]:
    """Read all Python files below `root`; also return those that cannot be parsed."""
    modules: list[Module] = []
    wrong: list[str] = []
    for file in sorted(root.rglob("*.py")):
        path = file.relative_to(root).as_posix()
        try:
            modules.append(parse_module(path, file.read_text(encoding="utf-8")))
        except SyntaxError as error:
            wrong.append(f"{path}:{error.lineno or 1}: syntax: {error.msg}")
    return modules, wrong


def rule_name(rule: Callable[..., object]) -> str:
    """Return the name of a rule: `import-direction` for `rule_import_direction`."""
    return rule.__name__.removeprefix("rule_").replace("_", "-")
