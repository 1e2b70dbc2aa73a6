"""Texts to test readers with: any at all, ones made of what readers trip over, and normal ones."""

from hypothesis import strategies as st

any_text = st.text(st.characters(exclude_categories=["Cs"]))

PIECES = (
    *(
        "a",
        "now",
        "b1",
        "x y",
        "(none)",
        "none",
        "-",
        "--",
        "---",
        "***",
        "- ",
        "* ",
        "+ ",
        "• ",
        "1. ",
        "→ ",
    ),
    *("[ ] ", "[x] ", "[->] ", "[~] ", "[", "]", "{", "}", ",", ": ", ":", " #", "# ", "## ", "### Now", "#"),
    *("**Goal:** ", "**Branch:**", "**", "`", "```", "```py", "~~~", "````", "<!--", "-->", "<!-- c -->"),
    *(
        "|",
        "\\",
        "\\|",
        "<br>",
        "'",
        '"',
        "''",
        '\\"',
        "&a",
        "*b",
        "!c",
        "%",
        "@",
        ">",
        "|-",
        "?",
        "? ",
        "<<",
    ),
    *("\n", "\n", "\n", "\n\n", " ", "  ", "\t", "\r", "\r\n", "\xa0", "\x0b", "\x85", "\u2028", "\ufeff"),
    *("no", "yes", "null", "~", "1:30", "2026-13-45", "0x1f", "1e5", ".inf", "=", "é", "🙂", "\x00", "\x7f"),
    *("key: ", "goal: x", "Phase 1 (a): ", "| a | b |", "|---|---|", "State/Done"),
)
nasty_text = st.lists(st.sampled_from(PIECES), max_size=12).map("".join)
texts = any_text | nasty_text


def normal(text: str) -> str:
    """The text as a person would leave it: line ends LF, no blanks at either end or at the end of a line."""
    lines = text.replace("\r\n", "\n").replace("\r", "\n").split("\n")
    return "\n".join(line.rstrip() for line in lines).strip()


normal_text = texts.map(normal)
said_text = normal_text.filter(bool)
one_line = texts.map(lambda text: " ".join(text.split()))
said_line = one_line.filter(bool)
