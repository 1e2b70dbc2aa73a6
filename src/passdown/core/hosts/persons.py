"""Whether a person runs a command, or an agent (C122, C154).

It is an agent's if one of these holds, tried in this order; the first one is the reason that is shown.

1. `--session` names the session that speaks.
2. `PASSDOWN_SESSION` does.
3. A variable of a host is set.
4. A process that started the command, directly or not, is a host, or was started with such a variable.
5. There is no terminal at which a person could sit.

Otherwise it is a person's. An agent that hides the processes it runs in is not recognized.
"""

from collections.abc import Iterable, Iterator, Sequence
from typing import Annotated, Final, NamedTuple

_INTERPRETERS: Final = frozenset({"node", "nodejs", "bun", "deno"})
_ENDINGS: Final = (".exe", ".js", ".mjs", ".cjs")


class Ancestor(NamedTuple):
    """A process that started this one, directly or not, as far as the system tells about it."""

    name: str
    words: Annotated[tuple[str, ...], "Its command line."] = ()
    variables: Annotated[frozenset[str], "The names of variables it was started with, but empty ones."] = (
        frozenset()
    )


class AgentSigns(NamedTuple):
    """How agents are recognized."""

    variables: Annotated[Sequence[str], "What is set for commands of agents, Passdown's own first."]
    programs: Annotated[frozenset[str], "The names of the programs that agents run in."]


class CallerSigns(NamedTuple):
    """What is known about whoever runs a command."""

    session: Annotated[str, "What `--session` names; empty without it."]
    variables: Annotated[frozenset[str], "The names of all variables that are set and not empty."]
    ancestors: Annotated[Iterable[Ancestor], "The nearest first; read only if nothing else decides."]
    has_terminal: Annotated[bool, "Whether input, output and errors are those of a terminal."]


class CommandCaller(NamedTuple):
    """Who runs a command."""

    is_person: bool
    because: Annotated[str, "Why it is no person, as a clause; empty for a person."] = ""


def decide_caller(signs: CallerSigns, known: AgentSigns) -> CommandCaller:
    """Return who runs a command: a person, or not, and why not."""
    because = next(_find_reasons(signs, known), "")
    return CommandCaller(not because, because)


def _find_reasons(signs: CallerSigns, known: AgentSigns) -> Iterator[str]:
    """Yield why a command is not a person's, in the order of the rule."""
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
    """Yield what a process may be called: by the system, by itself, or as the script that it runs."""
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
