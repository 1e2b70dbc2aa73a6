"""What is counted of the house: what counts and what does not."""

from pathlib import Path

import pytest

import passdown
from tests.house import read_modules
from tests.house.counts import (
    count_inner_imports,
    count_noqa,
    find_largest_folder,
)
from tests.house.kinds import compare_kept, find_folds, find_tables, read_kept
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


TAKES = """
def popped(facts: list[Fact], table):
    for one in facts: table.pop(one.key, None)
def deleted(lines: Iterable[JournalLine], table):
    for line in lines: del table[line.key]
def replaced(account):
    for fact in account.of(1): table[fact.key] = fact
def filtered(held, fact: Fact):
    return {name: one for name, one in held.items() if name != fact.key}
def last_wins(facts: Iterable["Fact"]):
    return {identify(fact): fact for fact in facts}
class Held:
    def cleared(self, line): self.table.clear() if line.fact else None
"""
LEAVES = """
def no_facts(table, key: str): table.pop(key, None)
def fixed(facts: list[Fact], table): table.pop(); table.pop(0); table["a"] = facts; table[1:] = facts
def read(facts: list[Fact], table): return [table.get(fact.key, None) for fact in facts]
def counted(facts: list[Fact]): return {fact.text: fact.edits for fact in facts}
"""


def test_what_takes_facts_and_changes_a_table_by_key_folds_anywhere(tmp_path: Path) -> None:
    modules = planted(tmp_path, core__a=TAKES, faces__inner__transcripts=TAKES, core__b=LEAVES)

    names = ("popped", "deleted", "replaced", "filtered", "last_wins", "Held.cleared")
    paths = ("core/a.py", "faces/inner/transcripts.py")
    assert find_folds(modules) == [f"{path} {name}" for path in paths for name in names]


@pytest.mark.parametrize("kinds", [KINDS, ROWS])
def test_what_names_four_kinds_counts_and_what_is_derived_does_not(tmp_path: Path, kinds: str) -> None:
    members = [f"FactKind.{one.upper()}" for one in NAMES]
    four, three = ", ".join(members), ", ".join(members[:3])
    stand_in = f"_DONE: Final = {members[3]}.value\n"
    modules = planted(
        tmp_path,
        core__kinds=kinds,
        core__a=f"A = ({four})\nB: Final = {{{three}}}\nC: int",
        core__b=f"A: Final = {NAMES!r}\nB = {NAMES[:3]!r}",
        core__c="A = tuple(kind for kind in FactKind)\nB = (FactKind.GOAL, FactKind.GOAL, FactKind.value)",
        core__d=f"{stand_in}def f():\n    def g(): return {three}\n    return _DONE\ndef h(): return {three}",
        faces__verbs=f"class A:\n    B = ({four})\n    def c(self): return {four}",
    )

    assert find_tables(modules) == [
        *("core/a.py A", "core/b.py A", "core/d.py f", "core/kinds.py FactKind"),
        *("faces/verbs.py A.B", "faces/verbs.py A.c"),
    ]


def test_what_stays_has_a_reason_and_nothing_has_one_for_nothing() -> None:
    modules, _ = read_modules(Path(passdown.__file__).parent)

    assert compare_kept(find_folds(modules), read_kept("folds")) == []
    assert compare_kept(find_tables(modules), read_kept("tables")) == []
    assert compare_kept(["a f", "b g"], {"b g": "", "c h": "It is gone."}) == [
        "a f has no reason in kept.toml",
        "b g has no reason in kept.toml",
        "c h is in kept.toml and does not count",
    ]


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
