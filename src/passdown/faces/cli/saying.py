"""What the everyday verbs do: each writes one fact down for good, then brings the ledger up to date."""

from collections.abc import Sequence
from types import MappingProxyType
from typing import Final, NamedTuple

from passdown.core.accounts import ADD, Account
from passdown.core.bookkeeping import RULED_OUT, Said, make_rule
from passdown.core.facts import FactKind
from passdown.errors import UsageError
from passdown.faces.cli import output
from passdown.faces.cli.sessions import need_session, note_kept, open_sessions
from passdown.services.journals import Project
from passdown.services.ledgers import keep_ledger

RETRACTABLE: Final = (
    FactKind.DONE,
    FactKind.DECISION,
    FactKind.CONSTRAINT,
    FactKind.QUESTION,
    FactKind.NEXT,
    FactKind.NOTE,
    FactKind.FEEDBACK,
    FactKind.RECEIPT,
)

_BECAUSE: Final = "--because"


class Way(NamedTuple):
    """How a verb is to be carried out."""

    session: str = ""
    as_json: bool = False


USUAL: Final = Way()


def say(said: Said, way: Way = USUAL) -> int:
    """Write down one fact of the session that is meant."""
    said = _clean(said)
    project = open_sessions()
    return _report(project, need_session(project, way.session), said, way)


def say_done(text: str, way: Way = USUAL) -> int:
    """Write down what is finished; without a text, what was being done is."""
    project = open_sessions()
    account = need_session(project, way.session)
    if not text and account.now is None:
        raise UsageError("nothing is being done that could be finished", hint='say what: done "TEXT"')
    text = text.strip() or (account.now.text if account.now else "")
    over = [Said(FactKind.RETRACTION, text, FactKind.NOW.value)] if _is_now(account, text) else []
    return _report(project, account, Said(FactKind.DONE, text), way, over)


def _is_now(account: Account, text: str) -> bool:
    return account.now is not None and account.now.text == text


def say_next(texts: Sequence[str], way: Way = USUAL, *, add: bool = False) -> int:
    """Write down what comes after, one line for each step."""
    lines = "\n".join(" ".join(text.split()) for text in texts if text.strip())
    return say(Said(FactKind.NEXT, lines, ADD if add else ""), way)


def say_rule(text: str, because: str = "", way: Way = USUAL) -> int:
    """Write down what must not be done."""
    return say(
        Said(FactKind.CONSTRAINT, make_rule(text.strip(), because.strip()) if text.strip() else ""), way
    )


def say_answer(question: str, text: str, way: Way = USUAL) -> int:
    """Answer a question that begins so: one of this session, or one that is open in the project."""
    project = open_sessions()
    account = need_session(project, way.session)
    answered = [(one.key, one.key) for one in account.of(FactKind.ANSWER)]  # another answer takes its place
    found = (
        _find(account, FactKind.QUESTION, question)
        or _choose(question, answered)
        or _find_open(project, account, question)
    )
    if found is None:
        hint = "`passdown brief` shows the questions that are open"
        raise UsageError(f"no open question begins with {question[:60]!r}", hint=hint)
    return _report(project, account, Said(FactKind.ANSWER, text, found), way)


def _find_open(project: Project, account: Account, text: str) -> str | None:
    """Find a question that another session asked, or an earlier one."""
    from passdown.services.briefs import read_standing  # noqa: PLC0415 - most answer what they asked themselves

    asked = [known.text for known in read_standing(project, account).of(FactKind.QUESTION)]
    return _choose(text, [(one, one) for one in asked])


def say_retraction(text: str, way: Way = USUAL, kind: str | None = None) -> int:
    """Take back what begins so."""
    project = open_sessions()
    account = need_session(project, way.session)
    kinds = [FactKind(kind)] if kind else list(RETRACTABLE)
    for one in kinds:
        found = _find(account, one, text)
        if found is not None:
            return _report(project, account, Said(FactKind.RETRACTION, found, one.value), way)
    if kind:  # said by somebody else, or before this session
        return _report(project, account, Said(FactKind.RETRACTION, text, kind), way)
    hint = "give the whole text and its --kind for a fact of another session"
    raise UsageError(f"this session has said nothing that begins with {text[:60]!r}", hint=hint)


def _report(project: Project, account: Account, said: Said, way: Way, following: Sequence[Said] = ()) -> int:
    said = _clean(said)
    kept = keep_ledger(project, account, [said, *following])
    note_kept(kept)
    if way.as_json:
        output.say_json(
            {
                "session": kept.account.session,
                "agent": kept.account.agent,
                "line": kept.account.last_seq,
                "kind": said.kind.value,
                "text": said.text,
                "ledger": kept.account.start.ledger,
                "is_ledger_written": not kept.problems and not kept.is_elsewhere,
            }
        )
    else:
        output.say(_echo(said))
    return 0


def _echo(said: Said) -> str:
    """Say what was written down, in one line."""
    if said.kind is FactKind.CONSTRAINT:
        return said.text
    reason = f" ({said.because})" if said.because else ""
    key = f" {said.key}" if said.kind is FactKind.DECISION else ""
    return f"{said.kind.value}{key}: {said.text.replace(chr(10), '; ')}{reason}"


def _clean(said: Said) -> Said:
    """Refuse a fact that says nothing."""
    text = said.text.strip()
    if not text:
        raise UsageError(f"{said.kind.value} needs a text", hint="say it in a few words, in quotes")
    return said._replace(text=text, because=said.because.strip())


def _find(account: Account, kind: FactKind, text: str) -> str | None:
    """Find a fact by its text, the start of it, or a decision's key; None when there is none, or several."""
    entries = account.of(kind)
    names = [(entry.key if kind is FactKind.DECISION else entry.text, entry.text) for entry in entries]
    if kind is FactKind.CONSTRAINT:  # the words that we put before it need not be given
        names += [(name, shown.removeprefix(RULED_OUT)) for name, shown in names]
    return _choose(text, names)


def _choose(text: str, names: Sequence[tuple[str, str]]) -> str | None:
    """Choose the name that a text stands for, by all of it or its start; refuse when there are several."""
    exact = [name for name, shown in names if text in {name, shown}]
    begun = [name for name, shown in names if shown.startswith(text) or name.startswith(text)]
    found = list(dict.fromkeys(exact or begun))
    if len(found) > 1:
        raise UsageError(f"several facts begin with {text[:60]!r}", hint="give more of the text")
    return found[0] if found else None


class _Shape(NamedTuple):
    """How many texts a verb takes when it is called without options, but for a reason where one may stand."""

    least: int = 1
    most: int = 1
    has_reason: bool = False


_KINDS: Final = MappingProxyType(
    {"goal": FactKind.GOAL, "now": FactKind.NOW, "ask": FactKind.QUESTION, "note": FactKind.NOTE}
)
_SHAPES: Final = MappingProxyType(
    {
        **dict.fromkeys((*_KINDS, "retract"), _Shape()),
        "done": _Shape(least=0),
        "next": _Shape(most=100),
        "decide": _Shape(least=2, most=2, has_reason=True),
        "rule-out": _Shape(has_reason=True),
        "answer": _Shape(least=2, most=2),
    }
)


def _carry_out(verb: str, texts: Sequence[str], why: str) -> int:
    if verb == "done":
        return say_done("".join(texts))
    if verb == "next":
        return say_next(texts)
    if verb == "decide":
        return say(Said(FactKind.DECISION, texts[1], texts[0], why))
    if verb == "rule-out":
        return say_rule(texts[0], why)
    if verb == "answer":
        return say_answer(texts[0], texts[1])
    return say_retraction(texts[0]) if verb == "retract" else say(Said(_KINDS[verb], texts[0]))


def say_plainly(arguments: Sequence[str]) -> int | None:
    """Carry out a verb that is called as verbs nearly always are; None where the parser must look.

    The parser of the command line takes longer to load than a verb to be written down.
    """
    verb, *texts = arguments
    shape, why = _SHAPES[verb], ""
    if shape.has_reason and texts[-2:-1] == [_BECAUSE]:
        *texts, _, why = texts
    is_plain = shape.least <= len(texts) <= shape.most
    if not is_plain or any(text.startswith("-") for text in (*texts, why)):
        return None
    return _carry_out(verb, texts, why)
