"""Commands found in documents, as words that need no shell (C102).

Somebody else wrote the text. It is split into words and nothing in it is expanded: a line that needs more of
a shell than quotes, `&&` and `;` is refused with the reason, and can be run by hand.

1. `&&` and `;` separate commands; after `&&` a command runs only if the one before exited with 0.
2. Quotes and backslashes work as in a shell. `$` and backquotes are refused, even in double quotes.
3. Pipes, redirections, patterns, braces, `~`, comments after a command, subshells, variables and shell
   builtins (`cd`, `export`, `if`, …) are refused, and so is a command passed to a shell (`bash -c …`).
4. A refused line that may change the meaning of the lines below it (a here-document, an open quote, a
   backslash at its end, `cd`) refuses the rest of its block too.
"""

from collections.abc import Iterator, Sequence
from types import MappingProxyType
from typing import Annotated, Final, NamedTuple

from passdown.core.documents.markdown import LineState, mark_lines, split_sections
from passdown.core.lazy_regex import pattern

VERIFICATION: Final = "verification"
"""The word in the heading of the commands that verify a plan."""

MOST_CHARS: Final = 8_000
"""The longest line: what Windows can start, and more than anybody reads."""

MOST_LINES: Final = 100
"""The most command lines that are read from a document."""

_LANGUAGES: Final = frozenset({"", "sh", "bash", "zsh", "shell", "console", "shell-session", "terminal"})
_PROMPT: Final = "$ "
_FENCE: Final = pattern(r"[ \t]*(?:[-*+][ \t]+|[0-9]{1,9}[.)][ \t]+)*(?:`{3,}|~{3,})[ \t]*([^\s`{]*)")
_WORDS: Final = pattern(r"[^\W_]+")
_TOKEN: Final = pattern(
    r"""(?P<space>[ \t]+)|(?P<single>'[^']*')|"(?P<double>(?:\\[^\n]|[^"\\])*)"|\\(?P<escaped>[^\n])"""
    r"""|(?P<operator>&&|;(?!;))|(?P<special>\|\||<<|>>|[|&<>;()`$*?\[\]{}'"\\])|(?P<plain>[^\s|&<>;()`$*?\[\]{}'"\\]+)"""
    r"""|(?P<other>.)"""
)
_IN_DOUBLE: Final = pattern(r'\\([\\"])')
_ASSIGNMENT: Final = pattern(r"[A-Za-z_][A-Za-z0-9_]*\+?=")
_UNPRINTABLE: Final = pattern(r"[\x00-\x08\x0a-\x1f\x7f-\x9f\u2028\u2029\ud800-\udfff]")
_BATCH_SAFE: Final = pattern(r"[A-Za-z0-9_./:\\=@,+-]*")
_BUILTINS: Final = frozenset(
    [
        *("!", ".", ":", "[", "[[", "alias", "bg", "break", "builtin", "case", "cd", "command"),
        *("continue", "declare", "do", "done", "elif", "else", "esac", "eval", "exec", "exit"),
        *("export", "fc", "fg", "fi", "for", "function", "getopts", "hash", "if", "jobs", "let"),
        *("local", "popd", "pushd", "read", "readonly", "return", "select", "set", "shift"),
        *("shopt", "source", "then", "time", "trap", "type", "typeset", "ulimit", "umask"),
        *("unalias", "unset", "until", "wait", "while"),
    ]
)
_SPECIAL: Final = MappingProxyType(
    {
        "|": "a pipe",
        "||": "`||`",
        "&": "`&`",
        ";": "`;;`",
        "<": "a redirection",
        ">": "a redirection",
        ">>": "a redirection",
        "<<": "a here-document",
        "(": "a subshell",
        ")": "a subshell",
        "`": "a command substitution",
        "$": "`$`",
        "*": "a pattern",
        "?": "a pattern",
        "[": "a pattern",
        "]": "a pattern",
        "{": "braces",
        "}": "braces",
        "'": "an unclosed quote",
        '"': "an unclosed quote",
        "\\": "a backslash at the end of the line",
    }
)
_ONE_LINE: Final = frozenset({"|", "&", ">", ">>", "<", "$", "*", "?", "[", "]", "||"})
"""Special characters that do not affect the lines below."""
_GOES_ON: Final = frozenset({"|", "||", "&&"})
"""Operators after which a command continues on the next line."""
_SHELLS: Final = frozenset(
    [
        *("sh", "bash", "zsh", "dash", "ksh", "fish", "csh", "tcsh", "cmd", "cmd.exe"),
        *("powershell", "pwsh", "busybox"),
    ]
)
_GIVEN: Final = pattern(r"-[A-Za-z]*c|/[cCkK]|-(?:[Cc]ommand|[Ee]ncoded[Cc]ommand)")


class PlanCommand(NamedTuple):
    """A program and its arguments."""

    words: tuple[str, ...]
    needs_previous: bool = False
    """Whether it runs only if the command before it on the line exited with 0."""


class CommandLine(NamedTuple):
    """A command line of a document: its commands, or the reason why it is refused."""

    text: Annotated[str, "The line as written in the document."]
    commands: tuple[PlanCommand, ...] = ()
    refused: Annotated[str, "Why it is not run; empty if it can be."] = ""
    reaches_on: Annotated[bool, "Whether the lines below cannot be understood without it."] = False


def find_command_lines(text: str) -> tuple[CommandLine, ...]:
    """Return the command lines of all code blocks in a document's verification sections."""
    found: list[CommandLine] = []
    for body in _sections(text):
        for block in _blocks(body):
            found += _read_block(block)
    return tuple(found[:MOST_LINES])


def _sections(text: str) -> Iterator[str]:
    """Yield the verification sections, including their subsections."""
    level = 0
    for section in split_sections(text.replace("\r\n", "\n")):
        if level and section.level > level:
            yield section.body
            continue
        level = section.level if VERIFICATION in _WORDS.findall(section.title.casefold()) else 0
        if level:
            yield section.body


def _blocks(text: str) -> Iterator[list[str]]:
    """Yield the lines of each code block that may hold commands."""
    lines = text.split("\n")
    states, _ = mark_lines(lines)
    block: list[str] | None = None
    for line, state in zip([*lines, ""], [*states, LineState.TEXT], strict=True):
        if block is not None and state is not LineState.CODE:
            yield block[:-1]  # the last one closes the block
            block = None
        if state is LineState.OPENING:
            fence = _FENCE.match(line)
            block = [] if fence and fence[1].casefold() in _LANGUAGES else None
        elif block is not None:
            block.append(line)


def _read_block(block: Sequence[str]) -> Iterator[CommandLine]:
    """Read the lines of a block; with prompts, only lines with a prompt are commands, and the rest output."""
    lines = [line.strip() for line in block]
    if any(line.startswith(_PROMPT) for line in lines):
        lines = [line.removeprefix(_PROMPT).strip() for line in lines if line.startswith(_PROMPT)]
    above = ""
    for line in lines:
        if not line or line.startswith("#"):
            continue
        if above:
            yield CommandLine(line, refused=f"it follows a line that needs a shell: {above[:60]}")
            continue
        read = read_command_line(line)
        above = line if read.reaches_on else ""
        yield read


def read_command_line(text: str) -> CommandLine:
    """Split a line into commands without expanding anything; refuse a line that needs a shell."""
    line = text.strip()
    if len(line) > MOST_CHARS:
        return CommandLine(line, refused=f"it is longer than {MOST_CHARS} characters", reaches_on=True)
    if _UNPRINTABLE.search(line):
        return CommandLine(line, refused="it has invisible characters", reaches_on=True)
    return _Splitter(line).split()


class _Splitter:
    """Splits one line into commands."""

    def __init__(self, line: str) -> None:
        self.line = line
        self.commands: list[PlanCommand] = []
        self.words: list[str] = []
        self.word: str | None = None
        self.is_plain = False  # whether the word began without quotes
        self.needs_previous = False

    def split(self) -> CommandLine:
        """Return the commands of the line, or why it is refused."""
        for token in _TOKEN.finditer(self.line):
            refused = self._take(token.lastgroup or "", token[0], token[token.lastgroup or 0] or "")
            if refused:
                return self._refuse(refused)
        refused = self._end_word() or self._end_command("")
        if refused:
            return self._refuse(refused)
        return CommandLine(self.line, tuple(self.commands))

    def _refuse(self, reason: str) -> CommandLine:
        reaches_on = not _is_closed(self.line)
        return CommandLine(self.line, refused=f"it needs a shell: {reason}", reaches_on=reaches_on)

    def _take(self, group: str, token: str, value: str) -> str:
        """Take one token; return why the line is refused, if it is."""
        match group:
            case "space":
                return self._end_word()
            case "operator":
                return self._end_word() or self._end_command(token)
            case "single":
                self._add(token[1:-1])
            case "double":
                if "$" in value or "`" in value:
                    return "`$` or a backquote in quotes"
                self._add(_IN_DOUBLE.sub(r"\1", value))
            case "escaped":
                self._add(value)
            case "plain":
                return self._take_plain(token)
            case _:
                return _SPECIAL.get(token, "a character that ends words")
        return ""

    def _take_plain(self, token: str) -> str:
        if self.word is None and token[0] in "~#":
            return "`~`" if token[0] == "~" else "a comment after the command"
        self.is_plain = self.is_plain or self.word is None
        self._add(token)
        return ""

    def _add(self, text: str) -> None:
        self.word = (self.word or "") + text

    def _end_word(self) -> str:
        word, self.word = self.word, None
        is_plain, self.is_plain = self.is_plain, False
        if word is None:
            return ""
        if not self.words and is_plain:
            if _ASSIGNMENT.match(word):
                return "a variable before the command"
            if word in _BUILTINS:
                return f"`{word}`"
        if not self.words and not word:
            return "a command without a name"
        self.words.append(word)
        return ""

    def _end_command(self, operator: str) -> str:
        if not self.words:
            is_trailing = not operator and not self.needs_previous and bool(self.commands)
            return "" if is_trailing else "a command is missing"
        if _gives_a_shell(self.words):
            return "it passes a command to a shell"
        self.commands.append(PlanCommand(tuple(self.words), self.needs_previous))
        self.words = []
        self.needs_previous = operator == "&&"
        return ""


def _gives_a_shell(words: Sequence[str]) -> bool:
    """Return whether the words name a shell and pass a command to it."""
    names = [word.replace("\\", "/").rpartition("/")[2].casefold() for word in words]
    first = next((number for number, name in enumerate(names) if name in _SHELLS), len(words))
    return any(_GIVEN.fullmatch(word) for word in words[first + 1 :])


def _is_closed(line: str) -> bool:
    """Return whether a line that needs a shell does not affect the lines below (4)."""
    tokens = [(token.lastgroup, token[0]) for token in _TOKEN.finditer(line)]
    special = [text for group, text in tokens if group in {"special", "other"}]
    is_open = tokens[-1][1] in _GOES_ON if tokens else False
    return bool(special) and not is_open and all(text in _ONE_LINE for text in special)


def is_safe_for_batch(words: Sequence[str]) -> bool:
    """Return whether the Windows shell would expand nothing in the arguments of a batch file."""
    return all(_BATCH_SAFE.fullmatch(word) for word in words)
