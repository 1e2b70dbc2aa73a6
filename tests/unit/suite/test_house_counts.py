"""What is counted of the house: what counts and what does not."""

from pathlib import Path

import pytest

from tests.house import read_modules
from tests.house.counts import (
    count_inner_imports,
    count_noqa,
    find_folds,
    find_largest_folder,
    find_tables,
)
from tests.house.tree import Module

NAMES = ("goal", "now", "next", "done")
KINDS = "class FactKind(StrEnum):\n" + "".join(f'    {one.upper()} = "{one}"\n' for one in NAMES)
ROWS = "class FactKind(StrEnum):\n" + "".join(f'    {one.upper()} = ("{one}", 1)\n' for one in NAMES)


def planted(root: Path, **sources: str) -> list[Module]:
    """Give modules of core, and one of a face."""
    for name, source in sources.items():
        path = root / name.replace("__", "/")
        path.parent.mkdir(parents=True, exist_ok=True)
        path.with_suffix(".py").write_text(source, encoding="utf-8")
    modules, wrong = read_modules(root)
    assert wrong == []
    return modules


def test_what_takes_facts_out_of_a_table_folds(tmp_path: Path) -> None:
    uses = "from passdown.core.facts import Fact\n"
    modules = planted(
        tmp_path,
        core__a=f"{uses}def f(table, key): table.pop(key, None)",
        core__inner__b="class Source: ...\nclass F:\n    def f(self, key): self.held.pop(key, 1)",
        core__c=f"{uses}def f(table): table.pop(); table.pop(0); table.get(1, None)",
        core__d="def f(table, key): table.pop(key, None)",
        core__transcripts=f"{uses}def f(table, key): table.pop(key, None)",
        faces__e=f"{uses}def f(table, key): table.pop(key, None)",
    )

    assert find_folds(modules) == ["core/a.py", "core/inner/b.py"]


@pytest.mark.parametrize("kinds", [KINDS, ROWS])
def test_a_constant_that_lists_kinds_is_a_table_and_one_that_is_derived_is_none(
    tmp_path: Path, kinds: str
) -> None:
    modules = planted(
        tmp_path,
        core__kinds=kinds,
        core__a="A = (FactKind.GOAL, FactKind.NOW, FactKind.NEXT)\nB: Final = {FactKind.GOAL, FactKind.NOW}",
        core__b=f"A: Final = {NAMES!r}\nB = {NAMES[:3]!r}",
        core__c="A = tuple(kind for kind in FactKind)\nB = (FactKind.GOAL, FactKind.GOAL, FactKind.value)",
        core__d="def f(): return (FactKind.GOAL, FactKind.NOW, FactKind.NEXT)\nB: int",
        faces__verbs="A = (FactKind.GOAL, FactKind.NOW, FactKind.NEXT)",
    )

    assert find_tables(modules) == ["core/a.py:1 A", "core/b.py:1 A", "core/kinds.py:1 FactKind"]


def test_silenced_linters_and_inner_imports_are_counted(tmp_path: Path) -> None:
    word = "no" + "qa"
    modules = planted(
        tmp_path,
        core__a=f"import x  # {word}: F401\n# ruff: {word}: E501\ndef f():\n    import a, b\n    import c",
        core__b="x = 'no qa'\nif x:\n    import y",
    )

    assert count_noqa(tmp_path) == 2
    assert count_inner_imports(modules) == 2


def test_the_folder_with_the_most_files_is_found(tmp_path: Path) -> None:
    planted(tmp_path, a="", inner__b="", inner__c="", inner__more__d="")
    (tmp_path / "inner" / "data.txt").write_text("no module")

    assert find_largest_folder(tmp_path) == ("inner", 2)
