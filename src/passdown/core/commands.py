"""Shell commands as agents write them: which is a test, and whether its exit code is that of the test.

A command is cut into simple commands at the operators of the shell, outside of quotes and here-documents.
Nothing is run or expanded; what cannot be cut is taken as one simple command.
"""

import re
from collections.abc import Iterator, Sequence
from types import MappingProxyType
from typing import Final, NamedTuple

from passdown.core.patterns import pattern

MAX_CHARS: Final = 20_000
"""How much of a command is looked at."""

_TOKEN: Final = pattern(
    r"""(?P<plain>'[^']*'|"(?:\\.|[^"\\])*"|\\.|\d*>&\d*-?|&>>?|<<<)"""
    r"""|<<-?[ \t]*(?P<quote>['"\\]?)(?P<word>[A-Za-z0-9_]+)['"]?"""
    r"""|(?P<operator>&&|\|\||\|&|[;\n|&])"""
    r"""|[^'"\\;\n|&<>0-9]+|.""",
    re.DOTALL,
)
_WORD: Final = pattern(r"""(?:'[^']*'|"(?:\\.|[^"\\])*"|\\.|[^\s'"\\])+""", re.DOTALL)
_ASSIGNMENT: Final = pattern(r"[A-Za-z_][A-Za-z0-9_]*=")
_PYTHON: Final = pattern(r"(?:python|pypy)[0-9.]*(?:\.exe)?")
_SCRIPT: Final = pattern(r"run[-_]?(?:all[-_]?)?tests?(?:\.[a-z]+)?|tests?\.(?:sh|py|js|mjs|ts|rb|pl)")
_HEADING: Final = pattern(r"^\[[^\]\n]{1,200} ([0-9a-f]{7,64})\] ", re.MULTILINE)

_WRAPPERS: Final = frozenset(
    {"sudo", "env", "time", "command", "exec", "nohup", "npx", "bunx", "xvfb-run", "!"}
)
_VALUED: Final = frozenset({"timeout", "nice", "stdbuf", "ionice"})
_VALUE: Final = pattern(r"-.*|[0-9.]+[smhd]?|[A-Z]+")
_REDIRECTION: Final = pattern(r"(?:\s*\d*>&\d*-?)+\Z")
_RUNNERS: Final = frozenset(
    {"uv", "poetry", "pipenv", "hatch", "pdm", "rye", "conda", "coverage", "bundle", "pnpm"}
)
_HARMLESS: Final = frozenset(
    {"cd", "pushd", "export", "set", "source", ".", "echo", "true", ":", "mkdir", "umask"}
)
_SHELLS: Final = frozenset({"sh", "bash", "zsh", "dash"})

TESTS: Final = frozenset(
    [
        "pytest",
        "py.test",
        "tox",
        "nox",
        "nosetests",
        "nose2",
        "stestr",
        "behave",
        "trial",
        "vitest",
        "jest",
        "mocha",
        "ava",
        "jasmine",
        "karma",
        "phpunit",
        "pest",
        "rspec",
        "cucumber",
        "ctest",
        "bats",
        "ginkgo",
        "gotestsum",
        "busted",
    ]
)
"""Programs that do nothing but test."""

MODULES: Final = TESTS | {"unittest", "doctest"}
"""What `python -m` runs tests with."""

VERBS: Final = MappingProxyType(
    {
        **dict.fromkeys(("npm", "yarn", "pnpm", "bun", "deno"), frozenset({"test", "t"})),
        "node": frozenset({"--test"}),
        "go": frozenset({"test"}),
        "cargo": frozenset({"test", "t", "nextest"}),
        "playwright": frozenset({"test"}),
        "cypress": frozenset({"run"}),
        **dict.fromkeys(
            (
                "dotnet",
                "swift",
                "flutter",
                "dart",
                "bazel",
                "bazelisk",
                "zig",
                "stack",
                "cabal",
                "dune",
                "lein",
            ),
            frozenset({"test"}),
        ),
        **dict.fromkeys(
            (
                "composer",
                "hatch",
                "rails",
                "xcodebuild",
                "meson",
                "nimble",
                "manage.py",
                "artisan",
                "crystal",
            ),
            frozenset({"test"}),
        ),
        "rebar3": frozenset({"eunit", "ct"}),
    }
)
"""Programs that test when their first word says so."""

TARGETS: Final = MappingProxyType(
    {
        **dict.fromkeys(("make", "gmake", "ninja", "just", "task"), frozenset({"test", "tests", "check"})),
        **dict.fromkeys(("gradle", "gradlew"), frozenset({"test", "check"})),
        **dict.fromkeys(("mvn", "mvnw"), frozenset({"test", "verify"})),
        **dict.fromkeys(("rake", "sbt", "mix"), frozenset({"test", "spec"})),
    }
)
"""Programs that test when one of their words names such a target."""

_HINT: Final = pattern(r"test|spec|check|verify|eunit|run|ct| t\b|" + "|".join(sorted(TESTS)))
"""What stands in every command that tests; most have nothing of it and need not be cut."""

_COMMITTING: Final = frozenset({"commit", "merge", "cherry-pick", "revert"})


class Simple(NamedTuple):
    """One simple command: the operator before it, and its text."""

    operator: str
    text: str


class Ran(NamedTuple):
    """A test that was run; `exit` is None where the exit code of the whole command does not tell."""

    command: str
    exit: int | None


def split_command(command: str) -> Sequence[Simple]:
    """Cut a command into its simple commands, in order."""
    found: list[Simple] = []
    parts: list[str] = []
    operator, at, ends = "", 0, list[str]()
    command = command[:MAX_CHARS]
    while token := _TOKEN.match(command, at):
        at = token.end()
        if token["word"]:
            ends.append(token["word"])
        if not token["operator"]:
            parts.append(token[0])
            continue
        found.append(Simple(operator, "".join(parts).strip()))
        operator, parts = token[0], []
        if operator == "\n" and ends:
            at, ends = _after_documents(command, at, ends), []
    found.append(Simple(operator, "".join(parts).strip()))
    return [one for one in found if one.text and not one.text.startswith("#")]


def _after_documents(command: str, at: int, ends: Sequence[str]) -> int:
    """Give where the command goes on after its here-documents."""
    for end in ends:
        while at < len(command):
            stop = command.find("\n", at)
            stop = len(command) if stop < 0 else stop
            line, at = command[at:stop].strip(), stop + 1
            if line == end:
                break
    return min(at, len(command))


def find_tests(command: str, code: int | None) -> Iterator[Ran]:
    """Find the tests in a command that ended with an exit code.

    1. The last simple command's exit code is the whole command's, unless something before it had to succeed.
    2. What was joined to it by `&&` has succeeded when the whole has.
    3. A test before a pipe tells nothing, unless the shell was told to fail with it.
    """
    if not _HINT.search(command):
        return
    parts = split_command(command)
    pipefail = "pipefail" in command
    for at, one in enumerate(parts):
        if not is_test(one.text):
            continue
        after = [part.operator for part in parts[at + 1 :]]
        yield Ran(
            _bare(one.text), code if _tells(parts[:at], one, after, code=code, pipefail=pipefail) else None
        )


def _bare(text: str) -> str:
    """Take off what only says where the output goes, and what is left of a group."""
    return _REDIRECTION.sub("", text).strip("(){} \t")


def _tells(
    before: Sequence[Simple], one: Simple, after: Sequence[str], *, code: int | None, pipefail: bool
) -> bool:
    """Say whether the exit code of a command is that of one part."""
    if all(operator == "&&" for operator in after) and code == 0 and one.operator != "||":  # 2
        return True
    if any(operator not in {"|", "|&"} or not pipefail for operator in after):  # 3
        return False
    chain = one.operator == "&&"
    for part in reversed(before):  # 1
        if not chain:
            break
        if words_of(part.text)[:1] and words_of(part.text)[0] not in _HARMLESS:
            return False
        chain = part.operator == "&&"
    return one.operator in {"", "&&", ";", "\n", "&"}


def words_of(text: str) -> list[str]:
    """Give the words of a simple command, without quotes around them."""
    return [word.strip("'\"") for word in _WORD.findall(text.strip("(){} \t"))]


def is_test(text: str) -> bool:
    """Say whether a simple command runs tests."""
    words = _unwrap(words_of(text))
    if not words:
        return False
    path, *rest = words
    name = path.replace("\\", "/").rpartition("/")[2].removesuffix(".exe").removesuffix(".cmd")
    if _PYTHON.fullmatch(name) or name in _SHELLS:
        return _is_script_test(name, rest)
    if name in TESTS or _SCRIPT.fullmatch(name) or (name in {"test", "tests"} and "/" in path):
        return True
    if name in TARGETS:
        return any(word in TARGETS[name] or word.startswith("test-") for word in rest)
    return _has_verb(name, [word for word in rest if name == "node" or not word.startswith("-")])


def _has_verb(name: str, rest: Sequence[str]) -> bool:
    if name not in VERBS or not rest:
        return False
    if name in {"npm", "yarn", "pnpm", "bun"}:
        script = rest[1] if rest[0] in {"run", "run-script"} and len(rest) > 1 else rest[0]
        return script in VERBS[name] or script.startswith(("test:", "test-"))
    return rest[0] in VERBS[name] or (name == "zig" and "test" in rest)


def _is_script_test(name: str, rest: Sequence[str]) -> bool:
    """Say whether an interpreter runs tests: `python -m pytest`, `manage.py test`, `bash run_tests.sh`."""
    if name not in _SHELLS and "-m" in rest:
        at = rest.index("-m") + 1
        return at < len(rest) and rest[at] in MODULES
    words = [word for word in rest if not word.startswith("-")]
    if not words:
        return False
    script = words[0].rpartition("/")[2]
    return bool(_SCRIPT.fullmatch(script)) or (script in VERBS and _has_verb(script, words[1:]))


def _unwrap(words: Sequence[str]) -> Sequence[str]:
    """Take off what stands before the program: assignments, `sudo`, `timeout 60`, `uv run`."""
    at = 0
    while at < len(words):
        word = words[at].rpartition("/")[2]
        if _ASSIGNMENT.match(words[at]) or word in _WRAPPERS:
            at += 1
        elif word in _VALUED:
            at = _after_values(words, at + 1)
        elif word in _RUNNERS and at + 1 < len(words) and words[at + 1] in {"run", "exec"}:
            at = _after_options(words, at + 2)
            # `coverage run -m pytest` says the module alone.
            if word == "coverage" and words[at - 1 : at] == ["-m"]:
                return words[at:]
        else:
            break
    return words[at:]


def _after_options(words: Sequence[str], at: int) -> int:
    while at < len(words) and words[at].startswith("-"):
        at += 1
    return at


def _after_values(words: Sequence[str], at: int) -> int:
    while at < len(words) and _VALUE.fullmatch(words[at]):
        at += 1
    return at


def find_commits(command: str, output: str) -> Iterator[str]:
    """Find the ids of commits that a command printed: git says `[main 1a2b3c4] subject` for each."""
    if "git" not in command or not any(map(_is_committing, split_command(command))):
        return
    yield from dict.fromkeys(match[1] for match in _HEADING.finditer(output[:MAX_CHARS]))


def _is_committing(one: Simple) -> bool:
    words = _unwrap(words_of(one.text))
    return words[:1] == ["git"] and any(word in _COMMITTING for word in words[1:6])
