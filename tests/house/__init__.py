"""The rules that keep the house in order, as pure functions over a folder of source files.

A rule is a function `rule_<name>` that takes one module and yields its findings. `violations` runs
all of them over a package folder; `tests/unit/test_house.py` runs it on the real package and
`tests/unit/test_house_rules.py` on planted ones.
"""

from pathlib import Path

from tests.house import effects, imports, promises, shape
from tests.house.tree import Rule, parse_module

RULES: tuple[Rule, ...] = (
    imports.rule_import_direction,
    imports.rule_service_order,
    imports.rule_engine_folders,
    promises.rule_core_purity,
    promises.rule_ports,
    promises.rule_no_any,
    shape.rule_module_size,
    shape.rule_function_size,
    shape.rule_names,
    shape.rule_docstrings,
    effects.rule_broad_except,
    effects.rule_silent_except,
    effects.rule_clock_and_entropy,
    effects.rule_disk_writes,
    effects.rule_no_shell,
    shape.rule_mutable_globals,
    shape.rule_import_work,
)


def violations(root: Path) -> list[str]:
    """All rules over all Python files below `root`, as `path:line: rule: what`, in order."""
    found: list[str] = []
    for file in sorted(root.rglob("*.py")):
        path = file.relative_to(root).as_posix()
        text = file.read_text(encoding="utf-8")
        try:
            module = parse_module(path, text)
        except SyntaxError as error:
            found.append(f"{path}:{error.lineno or 1}: syntax: {error.msg}")
            continue
        for rule in RULES:
            for line, what in sorted(rule(module)):
                found.append(f"{path}:{line}: {rule_name(rule)}: {what}")
    return found


def rule_name(rule: Rule) -> str:
    """`rule_import_direction` is called `import-direction`."""
    return rule.__name__.removeprefix("rule_").replace("_", "-")
