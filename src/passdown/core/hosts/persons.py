"""Whether a person or an agent runs a command (C122, C154).

The caller is an agent if one of these holds, checked in this order; the first is the reason that is shown.

1. `--session` names a session.
2. `PASSDOWN_SESSION` names a session.
3. A variable of a host is set.
4. A parent process, direct or not, is a host, or was started with such a variable.
5. There is no terminal.

Otherwise the caller is a person. An agent that hides its parent processes is not recognised.
"""

from collections.abc import Iterable, Iterator, Sequence
from typing import Annotated, Final, NamedTuple

_INTERPRETERS: Final = frozenset({"node", "nodejs", "bun", "deno"})
_ENDINGS: Final = (".exe", ".js", ".mjs", ".cjs")


class Ancestor(NamedTuple):
    """A parent process, direct or not, as far as the system describes it."""

    name: str
    words: Annotated[tuple[str, ...], "Its command line."] = ()
    variables: Annotated[frozenset[str], "The names of the non-empty variables it was started with."] = (
        frozenset()
    )
    pid: Annotated[int, "Its number; 0 if unknown."] = 0


class AgentSigns(NamedTuple):
    """How agents are recognised."""

    variables: Annotated[
        Sequence[str], "The variables that are set when an agent runs a command, Passdown's own first."
    ]
    programs: Annotated[frozenset[str], "The names of the programs that agents run in."]


class CallerSigns(NamedTuple):
    """What is known about the caller of a command."""

    session: Annotated[str, "The value of `--session`; empty without it."]
    variables: Annotated[frozenset[str], "The names of all variables that are set and not empty."]
    ancestors: Annotated[
        Iterable[Ancestor], "The parent processes, nearest first; read only if nothing else decides."
    ]
    has_terminal: Annotated[bool, "Whether stdin, stdout and stderr are a terminal."]


class CommandCaller(NamedTuple):
    """Whether a person runs a command, and if not, why."""

    is_person: bool
    because: Annotated[str, "Why the caller is not a person, as a clause; empty for a person."] = ""


def decide_caller(signs: CallerSigns, known: AgentSigns) -> CommandCaller:
    """Return whether a person runs a command, and if not, why."""
    because = next(_find_reasons(signs, known), "")
    return CommandCaller(not because, because)


def _find_reasons(signs: CallerSigns, known: AgentSigns) -> Iterator[str]:
    """Yield the reasons why the caller is not a person, in the order of the rule."""
    if signs.session:  # 1
        yield f"--session names {signs.session}"
    for name in known.variables:  # 2, 3
        if name in signs.variables:
            yield f"{name} is set"
    for one in signs.ancestors:  # 4
        for program in _name_programs(one):
            if program in known.programs:
                yield f"{program} started it"
        for name in known.variables:
            if name in one.variables:
                yield f"{name} was set for {one.name}, which started it"
    if not signs.has_terminal:  # 5
        yield "there is no terminal"


def _name_programs(process: Ancestor) -> Iterator[str]:
    """Yield the names of a process: by the system, by its command line, and by the script that it runs."""
    yield _plain_name(process.name)
    if not process.words:
        return
    program = _plain_name(process.words[0])
    yield program
    if program not in _INTERPRETERS:
        return
    script = next((word for word in process.words[1:] if not word.startswith("-")), "")
    folders, _, name = script.replace("\\", "/").rpartition("/")
    yield _plain_name(name)
    yield folders.rpartition("/")[2]  # a package may call its script `cli.js`


def _plain_name(path: str) -> str:
    """Return the last part of a path, without the ending of a program or script."""
    name = path.replace("\\", "/").rpartition("/")[2]
    return next((name.removesuffix(end) for end in _ENDINGS if name.endswith(end)), name)
