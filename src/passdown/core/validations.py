"""The `validation` block of a ledger's front matter: where the gates of the bound track stand (R16, R17)."""

from collections.abc import Mapping
from typing import Annotated, Final, NamedTuple

from passdown.core.fields import read_count, texts_key
from passdown.core.frontmatter import Entry, raw_entry, read_text, split_entries, write_text
from passdown.core.keys import PLACE
from passdown.core.problems import Malformed
from passdown.records import record

IN_VALIDATION: Final = f"{PLACE} / validation"
"""The place of what no key of the validation block holds; no path of titles has blanks around its `/`."""

_KEYS: Final = ("gates_passed", "current_gate", "retries", "last_failure")
_GATES_PASSED: Final = texts_key("gates_passed")


@record
class Validation:
    """Where the validation gates of the bound track stand."""

    gates_passed: Annotated[tuple[str, ...], "Gates passed for this track; a warning does not count."] = ()
    current_gate: Annotated[str | None, "The gate being validated."] = None
    retries: Annotated[int, "Retries of the current gate; back to 0 when it passes."] = 0
    last_failure: Annotated[str | None, "Why a gate failed last."] = None


class Block(NamedTuple):
    """The nested block: what its keys say, None without any, and what no key holds."""

    validation: Validation | None = None
    others: tuple[str, ...] = ()


def read_block(entry: Entry) -> Block:
    """Read the block; raise `Malformed` for what is none."""
    inner = "\n".join(line[2:] if line.startswith("  ") else line.lstrip() for line in entry.rest.split("\n"))
    if read_text(entry._replace(rest=inner)) is None:
        return Block()
    if entry.head:
        raise Malformed("is not a block", "put its keys on lines of their own, indented")
    entries, strays = split_entries(inner)
    known = {one.key: one for one in reversed(entries) if one.key in _KEYS}
    others = [(one.start, raw_entry(inner, one).rstrip()) for one in entries if one not in known.values()]
    others += [(stray.start, stray.text) for stray in strays]
    return Block(_read_validation(known) if known else None, tuple(text for _, text in sorted(others)))


def _read_validation(known: Mapping[str, Entry]) -> Validation:
    gates, current, retries, failure = map(known.get, _KEYS)
    return Validation(
        gates_passed=_GATES_PASSED.read(gates) if gates else (),
        current_gate=read_text(current) if current else None,
        retries=read_count(read_text(retries) or "0") if retries else 0,
        last_failure=read_text(failure) if failure else None,
    )


def write_block(name: str, block: Block) -> str:
    """Write the block; a key that is there twice comes last, for the first one counts.

    What else no key holds comes first: below a key it could be read as part of it.
    """
    twice = [text for text in block.others if any(one.key in _KEYS for one in split_entries(text)[0])]
    parts = [f"{text}\n" for text in block.others if text not in twice]
    if block.validation is not None:
        parts += [
            _GATES_PASSED.writer("gates_passed", block.validation.gates_passed),
            write_text("current_gate", block.validation.current_gate),
            f"retries: {block.validation.retries}\n",
            write_text("last_failure", block.validation.last_failure),
            *(f"{text}\n" for text in twice),
        ]
    lines = "".join(parts).rstrip("\n").split("\n")
    return f"{name}:\n" + "".join(f"  {line}\n" if line else "\n" for line in lines) if parts else ""
