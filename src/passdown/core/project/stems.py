"""English stems: the part of a word that its forms share, by the rules of Snowball's English stemmer.

The rules are those of Snowball 3.1 (Porter2). Their numbers are those of the published description, and a
test compares the results with the library. Words in other scripts, and words with digits, have no stem.
"""

from functools import lru_cache
from types import MappingProxyType
from typing import Final

from passdown.core.lazy_regex import pattern

REMEMBERED: Final = 65_536
"""How many stems are kept, so that a word that occurs often is stemmed once."""

_STOP_WORDS: Final = (
    "a about after again all also am an and any are aren as at be because been before being both but by"
    " can could couldn did didn do does doesn doing don done each either else ever every few for from get"
    " gets getting give given go goes going got had hadn has hasn have haven having he her here hers"
    " herself him himself his how however i if in into is isn it its itself just let like ll may me might"
    " mine more most much must my myself no nor not now of off on once one only onto or other our ours"
    " ourselves out over own re s same shall she should shouldn so some somebody someone something such t"
    " than that the their theirs them themselves then there these they thing things this those though"
    " through to too unto up upon us ve very was wasn we were weren what whatever when where whether which"
    " while who whom whose why will with without won would wouldn yes yet you your yours yourself m d"
)
STOP_WORDS: Final = frozenset(_STOP_WORDS.split())
"""Words that say how something is asked, not what about."""

_VOWELS: Final = frozenset("aeiouy")
_SHORTEST: Final = 3
_EXCEPTIONS: Final = MappingProxyType(
    {
        "skis": "ski",
        "skies": "sky",
        "idly": "idl",
        "gently": "gentl",
        "ugly": "ugli",
        "early": "earli",
        "only": "onli",
        "singly": "singl",
    }
    | {word: word for word in ("sky", "news", "howe", "atlas", "cosmos", "bias", "andes")}
)
_ENGLISH: Final = pattern(r"[a-z]+")
# A `Y` is a consonant: at the beginning, or after a vowel.
_CONSONANT_Y: Final = pattern(r"(^|[aeiouy])y")
_REGION: Final = pattern(r"[aeiouy][^aeiouy]")
_FIRST_REGION: Final = pattern("arsen|commun|emerg|gener|inter|later|organ|past|univers")
_SHORT: Final = pattern("(?:[^aeiouy][aeiouy][^aeiouywxY]|^[aeiouy][^aeiouy]|past)$")
_DOUBLE: Final = ("bb", "dd", "ff", "gg", "mm", "nn", "pp", "rr", "tt")
_KEPT_EEDS: Final = frozenset({"succ", "proc", "exc"})
_KEPT_INGS: Final = frozenset({"even", "cann", "inn", "earr", "herr", "out"})
_LI: Final = frozenset("cdeghkmnrt")

# Longer endings stand before shorter ones that they end with.
_STEP_2: Final = (
    *(("ization", "ize"), ("ational", "ate"), ("fulness", "ful"), ("ousness", "ous"), ("iveness", "ive")),
    *(("tional", "tion"), ("biliti", "ble"), ("lessli", "less"), ("entli", "ent"), ("ation", "ate")),
    *(("alism", "al"), ("aliti", "al"), ("ousli", "ous"), ("iviti", "ive"), ("fulli", "ful")),
    *(("ogist", "og"), ("enci", "ence"), ("anci", "ance"), ("abli", "able"), ("izer", "ize")),
    *(("ator", "ate"), ("alli", "al"), ("bli", "ble"), ("ogi", "og"), ("li", "")),
)
_STEP_3: Final = (
    *(("ational", "ate"), ("tional", "tion"), ("alize", "al"), ("icate", "ic"), ("iciti", "ic")),
    *(("ative", ""), ("ical", "ic"), ("ness", ""), ("ful", "")),
)
_STEP_4: Final = (
    *("ement", "ance", "ence", "able", "ible", "ment", "ant", "ent", "ism", "ate", "iti", "ous", "ive"),
    *("ize", "ion", "al", "er", "ic"),
)


def is_english(word: str) -> bool:
    """Return whether a word may have a stem: it has only the letters a to z."""
    return _ENGLISH.fullmatch(word) is not None


@lru_cache(REMEMBERED)
def stem(word: str) -> str:
    """Return the stem of a folded word; a stop word, or a word of other letters, is its own stem."""
    if len(word) < _SHORTEST or word in STOP_WORDS or not is_english(word):
        return word
    return find_stem(word)


def find_stem(word: str) -> str:
    """Return the stem of a word of at least three letters from a to z."""
    if word in _EXCEPTIONS:
        return _EXCEPTIONS[word]
    word = _CONSONANT_Y.sub(r"\1Y", word) if "y" in word else word
    first = _find_first_region(word)
    second = _end_of(word, first)
    word = _drop_ed(_drop_s(word), first)
    if len(word) > 2 and word[-1] in "yY" and word[-2] not in _VOWELS:  # noqa: PLR2004 - step 1c
        word = f"{word[:-1]}i"
    word = _step_3(_step_2(word, first), first, second)
    return _step_5(_step_4(word, second), first, second).lower()


def _find_first_region(word: str) -> int:
    """Return where the region behind the first consonant after a vowel begins."""
    begun = _FIRST_REGION.match(word)
    return begun.end() if begun else _end_of(word, 0)


def _end_of(word: str, start: int) -> int:
    found = _REGION.search(word, start)
    return found.end() if found else len(word)


def _drop_s(word: str) -> str:
    """Step 1a: plurals."""
    if word.endswith("sses"):
        return word[:-2]
    if word.endswith(("ied", "ies")):
        return word[:-2] if len(word) > 4 else word[:-1]  # noqa: PLR2004 - more than one letter before it
    has_vowel = not _VOWELS.isdisjoint(word[:-2])
    return word[:-1] if word[-1] == "s" and word[-2] not in "su" and has_vowel else word


def _drop_ed(word: str, first: int) -> str:
    """Step 1b: past tenses and participles."""
    if word.endswith(("eedly", "eed")):
        before = word.removesuffix("ly").removesuffix("eed")
        is_changed = len(before) >= first and before not in _KEPT_EEDS
        return f"{before}ee" if is_changed else word
    ending = next((one for one in ("ingly", "edly", "ing", "ed") if word.endswith(one)), "")
    before = word[: len(word) - len(ending)]
    if ending == "ing" and before in _KEPT_INGS:
        return word
    if ending == "ing" and len(before) == 2 and before[1] in "yY" and before[0] not in _VOWELS:  # noqa: PLR2004
        return f"{before[0]}ie"
    return _mend(before, first) if ending and not _VOWELS.isdisjoint(before) else word


def _mend(word: str, first: int) -> str:
    """Restore what a word lost before an ending that was dropped."""
    if word.endswith(("at", "bl", "iz")):
        return f"{word}e"
    if word.endswith(_DOUBLE):
        return word if len(word) == 3 and word[0] in "aeo" else word[:-1]  # noqa: PLR2004 - add, egg, off
    return f"{word}e" if len(word) == first and _SHORT.search(word) else word


def _step_2(word: str, first: int) -> str:
    for ending, other in _STEP_2:
        if word.endswith(ending):
            before = word[: -len(ending)]
            is_wrong = (ending == "li" and before[-1:] not in _LI) or (ending == "ogi" and before[-1:] != "l")
            return word if len(before) < first or is_wrong else before + other
    return word


def _step_3(word: str, first: int, second: int) -> str:
    for ending, other in _STEP_3:
        if word.endswith(ending):
            before = word[: -len(ending)]
            region = second if ending == "ative" else first
            return before + other if len(before) >= region else word
    return word


def _step_4(word: str, second: int) -> str:
    for ending in _STEP_4:
        if word.endswith(ending):
            before = word[: -len(ending)]
            is_wrong = ending == "ion" and before[-1:] not in {"s", "t"}
            return word if len(before) < second or is_wrong else before
    return word


def _step_5(word: str, first: int, second: int) -> str:
    before = word[:-1]
    if word.endswith("e"):
        is_dropped = len(before) >= second or (len(before) >= first and not _SHORT.search(before))
        return before if is_dropped else word
    return before if word.endswith("ll") and len(before) >= second else word
