"""Reads shell commands that agents ran: which ones are tests, and whether the exit code is the test's.

Only those words of a test's command may leave the machine that are known to describe the test.

A command is split into simple commands at shell operators, outside of quotes and here-documents. Nothing is
run or expanded; a command that cannot be split counts as one simple command.
"""

import re
from collections.abc import Iterator, Sequence
from itertools import groupby, pairwise
from types import MappingProxyType
from typing import Final, NamedTuple

from passdown.core.lazy_regex import pattern

MAX_CHARS: Final = 20_000
"""How many characters of a command are examined."""

_TOKEN: Final = pattern(
    r"""(?P<plain>'[^']*'|"(?:\\.|[^"\\])*"|\\.|\d*>&\d*-?|&>>?|<<<)"""
    r"""|<<-?[ \t]*(?P<quote>['"\\]?)(?P<word>[A-Za-z0-9_]+)['"]?"""
    r"""|(?P<operator>&&|\|\||\|&|[;\n|&])"""
    r"""|[^'"\\;\n|&<>0-9]+|.""",
    re.DOTALL,
)
_WORD: Final = pattern(r"""(?:'[^']*'|"(?:\\.|[^"\\])*"|\\.|[^\s'"\\])+""", re.DOTALL)
_REDACTED: Final = pattern(r"\[redacted: [\w-]+\]")
_ASSIGNMENT: Final = pattern(r"[A-Za-z_][A-Za-z0-9_]*=")
_PYTHON: Final = pattern(r"(?:python|pypy)[0-9.]*(?:\.exe)?")
_SCRIPT: Final = pattern(r"run[-_]?(?:all[-_]?)?tests?(?:\.[a-z]+)?|tests?\.(?:sh|py|js|mjs|ts|rb|pl)")
_HEADING: Final = pattern(r"^\[[^\]\n]{1,200} ([0-9a-f]{7,64})\] ", re.MULTILINE)

LEFT_OUT: Final = "…"
"""Marks the place of words that were left out of a shared command."""

_WRAPPERS: Final = frozenset(
    {"sudo", "env", "time", "command", "exec", "nohup", "npx", "bunx", "uvx", "xvfb-run", "!", LEFT_OUT}
)
_VALUED: Final = frozenset({"timeout", "nice", "stdbuf", "ionice"})
_OPTION: Final = pattern(r"-.*", re.DOTALL)
_VALUE: Final = pattern(r"-.*|[0-9.]+[smhd]?|[A-Z]+")
_REDIRECTION: Final = pattern(r"(?:\s*\d*>&\d*-?)+\Z")
_RUNNERS: Final = frozenset(
    {"uv", "poetry", "pipenv", "hatch", "pdm", "rye", "conda", "coverage", "bundle", "pnpm"}
)
_HARMLESS: Final = frozenset(
    {"cd", "pushd", "export", "set", "source", ".", "echo", "true", ":", "mkdir", "umask"}
)
_SHELLS: Final = frozenset({"sh", "bash", "zsh", "dash"})
_GIVEN: Final = pattern(r"-[a-z]*c")
_KEYWORDS: Final = frozenset({"if", "then", "elif", "else", "while", "until", "do"})

TESTS: Final = frozenset(
    [
        *("pytest", "py.test", "tox", "nox", "nosetests", "nose2", "stestr", "behave", "trial"),
        *("vitest", "jest", "mocha", "ava", "jasmine", "karma", "phpunit", "pest", "rspec", "cucumber"),
        *("ctest", "bats", "ginkgo", "gotestsum", "busted"),
    ]
)
"""Programs that only run tests."""

MODULES: Final = TESTS | {"unittest", "doctest"}
"""Modules that run tests with `python -m`."""

_WITH_TEST: Final = (
    *("go", "playwright", "dotnet", "swift", "flutter", "dart", "bazel", "bazelisk", "zig", "stack", "cabal"),
    *("dune", "lein", "composer", "hatch", "rails", "xcodebuild", "meson", "nimble", "manage.py", "artisan"),
    "crystal",
)
VERBS: Final = MappingProxyType(
    {
        **dict.fromkeys(("npm", "yarn", "pnpm", "bun", "deno"), frozenset({"test", "t"})),
        **dict.fromkeys(_WITH_TEST, frozenset({"test"})),
        "node": frozenset({"--test"}),
        "cargo": frozenset({"test", "t", "nextest"}),
        "cypress": frozenset({"run"}),
        "rebar3": frozenset({"eunit", "ct"}),
    }
)
"""Programs that run tests if their first word says so."""

TARGETS: Final = MappingProxyType(
    {
        **dict.fromkeys(("make", "gmake", "ninja", "just", "task"), frozenset({"test", "tests", "check"})),
        **dict.fromkeys(("gradle", "gradlew"), frozenset({"test", "check"})),
        **dict.fromkeys(("mvn", "mvnw"), frozenset({"test", "verify"})),
        **dict.fromkeys(("rake", "sbt", "mix"), frozenset({"test", "spec"})),
    }
)
"""Programs that run tests if one of their words names such a target."""

_FLAGS: Final = frozenset(
    [
        *("--", "-q", "-qq", "-v", "-vv", "-vvv", "-x", "-s", "-l", "-ra", "-rA", "-race", "-short"),
        *("--quiet", "--verbose", "--exitfirst", "--lf", "--last-failed", "--ff", "--failed-first", "--nf"),
        *("--sw", "--no-header", "--no-cov", "--cov", "--all", "--all-features", "--all-targets"),
        *("--workspace", "--release", "--no-fail-fast", "--locked", "--ci", "--silent", "--bail", "--run"),
        *("--coverage", "--no-coverage", "--runInBand", "--watch=false", "--watchAll=false"),
    ]
)
"""Options of these programs that take no value, or whose value reveals nothing."""

_VALUED_FLAGS: Final = frozenset(
    ["-n", "-j", "-p", "--tb", "--maxfail", "--durations", "--timeout", "--color", "--cov-report"]
)
_FLAG_VALUE: Final = pattern(
    r"[0-9]{1,4}|auto|logical|short|long|line|native|no|yes|term|term-missing|xml|html"
    r"|no:(?:cacheprovider|randomly|xdist|warnings|cov|sugar)"
)
"""Options that only control how tests are run or shown, and values that reveal nothing else."""

_KNOWN: Final = (
    frozenset[str]().union(*VERBS.values(), *TARGETS.values())
    | MODULES
    | _FLAGS
    | {"run", "run-script", "exec", "-m", "manage.py", "artisan"}
)
"""The words that may be shared anywhere in a command."""

_LONGEST_WORD: Final = 200
_TEST_PATH: Final = pattern(r"(?:\./)?[\w.-]+(?:/[\w.-]+)*+/?(?:::\w+)*+")
_TEST_NAME: Final = pattern(
    r"(?i:(?<![a-z0-9])(?:tests?|specs?|e2e)(?![a-z0-9]))|[a-z]Tests?\b|\bTest[A-Z]", re.ASCII
)
_SOURCE: Final = pattern(
    r"/|::|\.(?:[cm]?[jt]sx?|py|go|rb|rs|java|kt|php|cs|exs|swift|cc?|cpp|sh|bats|feature)\Z"
)
_PLAIN_PATH: Final = pattern(
    r"(?:\./|//)?(?:(?:[a-z_.-]++[0-9]{0,2}+)++/)*+(?:[a-z_.-]++[0-9]{0,2}+)*+(?::[a-z_-]+)?"
)
_TEST_SCRIPTS: Final = ("test:", "test-")
_TEST_SCRIPT: Final = pattern(r"tests?(?:[.:_-][a-z]++[0-9]{0,2})++")
_UPWARD: Final = pattern(r"(?:^|/)\.\.(?:/|$)")

_HINT: Final = pattern(r"test|spec|check|verify|eunit|run|ct| t\b|" + "|".join(sorted(TESTS)))
"""Matches some part of every command that runs tests; most other commands do not match and are not split."""

_COMMITTING: Final = frozenset({"commit", "merge", "cherry-pick", "revert"})


class SimpleCommand(NamedTuple):
    """One simple command: the operator before it, and its text."""

    operator: str
    text: str


class ObservedTest(NamedTuple):
    """A test that was run; `exit` is None if the exit code of the whole command does not show its result."""

    command: str
    exit: int | None


def split_command(command: str) -> Sequence[SimpleCommand]:
    """Split a command into its simple commands, in order."""
    found: list[SimpleCommand] = []
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
        found.append(SimpleCommand(operator, "".join(parts).strip()))
        operator, parts = token[0], []
        if operator == "\n" and ends:
            at, ends = _after_documents(command, at, ends), []
    found.append(SimpleCommand(operator, "".join(parts).strip()))
    return [one for one in found if one.text and not one.text.startswith("#")]


def find_programs(command: str) -> Iterator[list[str]]:
    """Yield each program that a command runs, by its name without the folder, with its words.

    Scripts given to a shell with `-c` count, and modules that Python runs. Command substitutions do not.
    """
    for one in split_command(command):
        name, *rest = _program_of(one.text)
        if script := _script_of(name, rest):
            yield from find_programs(script)
        else:
            yield [name, *rest]


def find_succeeded(command: str, code: int | None) -> Iterator[list[str]]:
    """Yield each program that succeeded according to the exit code of the whole command."""
    parts = split_command(command) if code == 0 else ()
    pipefail = "pipefail" in command
    for at, one in enumerate(parts):
        after = [part.operator for part in parts[at + 1 :]]
        if not _tells(parts[:at], one, after, code=code, pipefail=pipefail):
            continue
        name, *rest = _program_of(one.text)
        if script := _script_of(name, rest):
            yield from find_succeeded(script, code)
        else:
            yield [name, *rest]


def _program_of(text: str) -> list[str]:
    """Return the program of a simple command, by its name without the folder, with its words."""
    words = words_of(text)
    while words and words[0] in _KEYWORDS:
        words = words[1:]
    path, *rest = _unwrap(words) or [""]
    name = _name_of(path)
    return (rest[1:] or [""]) if _PYTHON.fullmatch(name) and rest[:1] == ["-m"] else [name, *rest]


def _script_of(name: str, rest: Sequence[str]) -> str:
    """Return the script that a shell gets with `-c`, if there is one."""
    given = next((at for at, word in enumerate(rest, 1) if _GIVEN.fullmatch(word)), len(rest))
    return rest[given] if name in _SHELLS and rest[given:] else ""


def _after_documents(command: str, at: int, ends: Sequence[str]) -> int:
    """Return the offset at which the command continues after its here-documents."""
    for end in ends:
        while at < len(command):
            stop = command.find("\n", at)
            stop = len(command) if stop < 0 else stop
            line, at = command[at:stop].strip(), stop + 1
            if line == end:
                break
    return min(at, len(command))


def find_tests(command: str, code: int | None) -> Iterator[ObservedTest]:
    """Find the tests in a command that ended with an exit code.

    1. The whole command's exit code is that of the last simple command, unless an earlier one had to succeed.
    2. A command joined to it by `&&` succeeded if the whole command did.
    3. The result of a test before a pipe is unknown, unless the shell has `pipefail` set.
    """
    if not _HINT.search(command):
        return
    parts = split_command(command)
    pipefail = "pipefail" in command
    for at, one in enumerate(parts):
        if not is_test(one.text):
            continue
        after = [part.operator for part in parts[at + 1 :]]
        bare = _REDIRECTION.sub("", one.text).strip("(){} \t")
        tells = _tells(parts[:at], one, after, code=code, pipefail=pipefail)
        yield ObservedTest(bare, code if tells else None)


def _tells(
    before: Sequence[SimpleCommand],
    one: SimpleCommand,
    after: Sequence[str],
    *,
    code: int | None,
    pipefail: bool,
) -> bool:
    """Return whether the exit code of the whole command is that of one part."""
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
    """Return the words of a simple command, without the quotes around them.

    The mark of a redacted secret is part of its word, although it contains a space.
    """
    return [word.strip("'\"") for word in _WORD.findall(_REDACTED.sub("[redacted]", text).strip("(){} \t"))]


def is_test(text: str) -> bool:
    """Return whether a simple command runs tests."""
    words = [word for word in _unwrap(words_of(text)) if word != LEFT_OUT]
    if not words:
        return False
    path, *rest = words
    name = _name_of(path)
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
        return script in VERBS[name] or script.startswith(_TEST_SCRIPTS)
    return rest[0] in VERBS[name] or (name == "zig" and "test" in rest)


def _is_script_test(name: str, rest: Sequence[str]) -> bool:
    """Return whether an interpreter runs tests: `python -m pytest`, `manage.py test`, `bash run_tests.sh`."""
    if name not in _SHELLS and "-m" in rest:
        at = rest.index("-m") + 1
        return at < len(rest) and rest[at] in MODULES
    words = [word for word in rest if not word.startswith("-")]
    if not words:
        return False
    script = words[0].rpartition("/")[2]
    return bool(_SCRIPT.fullmatch(script)) or (script in VERBS and _has_verb(script, words[1:]))


def _unwrap(words: Sequence[str]) -> Sequence[str]:
    """Remove what precedes the program: assignments, `sudo`, `timeout 60`, `uv run`."""
    at = 0
    while at < len(words):
        word = words[at].rpartition("/")[2]
        if _ASSIGNMENT.match(words[at]) or word in _WRAPPERS:
            at += 1
        elif word in _VALUED:
            at = _skip(words, at + 1, _VALUE)
        elif word in _RUNNERS and at + 1 < len(words) and words[at + 1] in {"run", "exec"}:
            at = _skip(words, at + 2, _OPTION)
            # `coverage run -m pytest` names only the module.
            if word == "coverage" and words[at - 1 : at] == ["-m"]:
                return words[at:]
        else:
            break
    return words[at:]


def _skip(words: Sequence[str], at: int, skipped: re.Pattern[str]) -> int:
    """Return the first position from `at` on whose word does not match."""
    while at < len(words) and skipped.fullmatch(words[at]):
        at += 1
    return at


def find_commits(command: str, output: str) -> Iterator[str]:
    """Find the ids of commits that a command printed: git prints `[main 1a2b3c4] subject` for each."""
    parts = split_command(command) if "git" in command else ()
    programs = [_unwrap(words_of(one.text)) for one in parts]
    if any(words[:1] == ["git"] and not _COMMITTING.isdisjoint(words[1:6]) for words in programs):
        yield from dict.fromkeys(match[1] for match in _HEADING.finditer(output[:MAX_CHARS]))


def share_test(command: str) -> str:
    """Return the words of a test's command that may leave the machine; `LEFT_OUT` replaces all others.

    1. Known programs, runners and sub-commands, by their names without the folder.
    2. Options without a value, or whose value only says how tests are run: `--tb=short`. Variables, other
       options and their values are left out.
    3. Paths in the project that name tests.
    4. Other paths of plain lower-case words, unless they may be the value of an option.

    Sharing a shared command again changes nothing.
    """
    if not _HINT.search(command) or not is_test(command):
        return LEFT_OUT
    words = words_of(command)
    rest = _unwrap(words)
    wrappers = _WRAPPERS | _VALUED | _RUNNERS | {"run", "-m"}
    names = map(_name_of, words[: len(words) - len(rest)])
    shown = [name if name in wrappers else LEFT_OUT for name in names]  # 1
    shown.append(_share_program(rest[0]))
    shown += [_share_word(word, before) for before, word in pairwise(rest)]
    shared = " ".join(word for word, same in groupby(shown) for _ in (range(1) if word == LEFT_OUT else same))
    return shared if is_test(shared) else LEFT_OUT


def find_runner(command: str) -> list[str]:
    """Return the test runner of a command, without its wrappers, and the words after it."""
    path, *rest = _unwrap(words_of(command))
    name = _name_of(path)
    if _PYTHON.fullmatch(name) and "-m" in rest:
        return rest[rest.index("-m") + 1 :]
    if _PYTHON.fullmatch(name) or name in _SHELLS:
        at = next(at for at, word in enumerate(rest) if not word.startswith(("-", LEFT_OUT)))
        return [rest[at].removeprefix("./"), *rest[at + 1 :]]
    return [path.removeprefix("./") if _SCRIPT.fullmatch(name) else name, *rest]


def is_manner(word: str, before: str) -> bool:
    """Return whether a word controls how tests are run or shown, and not which ones."""
    flag, sign, value = word.partition("=")
    if sign:
        return word in _FLAGS or (flag in _VALUED_FLAGS and _FLAG_VALUE.fullmatch(value) is not None)
    is_value = before in _VALUED_FLAGS and _FLAG_VALUE.fullmatch(word) is not None
    return is_value or word in _FLAGS or word in _VALUED_FLAGS


def is_whole(command: str) -> bool:
    """Return whether nothing was left out of a shared command, and no secret was redacted in it."""
    return LEFT_OUT not in command and not _REDACTED.search(command)


def _name_of(path: str) -> str:
    """Return the name of a program without its folder."""
    return path.replace("\\", "/").rpartition("/")[2].removesuffix(".exe").removesuffix(".cmd")


def _share_program(path: str) -> str:
    """Return a program's name, or the path of a test script in the project (1, 3)."""
    name = _name_of(path)
    if name in TESTS or not (_SCRIPT.fullmatch(name) or name in {"test", "tests"}) or path == name:
        return name
    return path if _is_shared_path(path, may_be_value=False) else f"{LEFT_OUT}/{name}"


def _share_word(word: str, before: str) -> str:
    if word in _KNOWN or is_manner(word, before):  # 1, 2
        return word
    may_be_value = before.startswith("-") and before not in _FLAGS
    if _is_shared_path(word, may_be_value=may_be_value):
        return word
    is_test_script = word.startswith(_TEST_SCRIPTS) and not may_be_value
    return f"{word[:5]}{LEFT_OUT}" if is_test_script else LEFT_OUT


def _is_shared_path(word: str, *, may_be_value: bool) -> bool:
    if len(word) > _LONGEST_WORD or word.startswith("-") or _UPWARD.search(word):
        return False
    if _TEST_PATH.fullmatch(word) and _TEST_NAME.search(word) and _SOURCE.search(word):  # 3
        return True
    is_plain = "/" in word and _PLAIN_PATH.fullmatch(word)
    return not may_be_value and bool(is_plain or _TEST_SCRIPT.fullmatch(word))  # 4
