"""The table of kinds: what each kind of fact is, and where it is shown. A new kind is one row.

A row says how facts of the kind merge, which event keys state and retract them, and how the brief, the view
and the commands call them. Every other list of kinds in the package is derived from these rows.
"""

from enum import StrEnum
from typing import Final, NamedTuple, Self


class Merging(StrEnum):
    """How several facts of one kind are reduced to those that hold; see the rules in `core.fold`."""

    REGISTER = "register"
    STEPS = "steps"
    SET = "set"
    MAP = "map"
    PHASES = "phases"
    HELD = "held"
    NONE = "none"


class KindRow(NamedTuple):
    """The properties of a kind."""

    merging: Merging = Merging.NONE
    event_key: str = ""
    """The event key that holds it; a kind without one stays on this machine."""
    retraction_key: str = ""
    """The event key that retracts it."""
    told_as: str = ""
    """The kind it becomes when published, if that is a different one."""
    plural: str = ""
    """Its name in `passdown view list` and in counts; a kind without one is not merged into the view."""
    brief_class: int = 0
    """Its class in a brief: 1 is always included, 0 has no section."""
    title: str = ""
    """Its heading in a brief."""
    heading: str = ""
    """Its section in views and ledgers, for a kind without a field in these formats."""
    verb: str = ""
    """The command that states it, for a kind whose command is not in the table of verbs."""
    help: str = ""
    """What that command does."""
    observed_as: tuple[str, str] = ("", "")
    """Its singular and plural in `passdown observe`; without a singular, only the JSON output counts it."""
    repeated_as: tuple[str, int] = ("", 0)
    """The verb and the count that make repetition in a turn a bad sign; see `core.hosts.signals`."""
    is_inherited: bool = False
    """Whether a handoff passes on such facts from earlier sessions."""
    can_retract: bool = False
    """Whether `passdown retract` can find it."""
    is_sign: bool = False
    """Whether it only shows that a session is alive, without content."""
    brief_share: int = 0
    """The percentage of a brief's space that is reserved for it."""
    brief_count: int = 0
    """How many a brief shows before the kinds without a share."""


_NO_ROW: Final = KindRow()


class FactKind(StrEnum):
    """The kind of a fact; facts of an unknown kind, from a newer version, are kept unchanged."""

    row: KindRow

    def __new__(cls, name: str, row: KindRow = _NO_ROW) -> Self:
        """Create a member from its name and its row."""
        member = str.__new__(cls, name)
        member._value_ = name
        member.row = row
        return member

    # --- the aims of a session --------------------------------------------------------------------

    GOAL = (
        "goal",
        KindRow(Merging.REGISTER, event_key="goal", plural="goal", brief_class=1, title="Goal"),
    )
    NOW = (
        "now",
        KindRow(
            Merging.REGISTER,
            event_key="now",
            retraction_key="retracted_now",
            plural="now",
            brief_class=1,
            title="Now",
        ),
    )
    NEXT = (
        "next",
        KindRow(
            Merging.STEPS,
            event_key="next",
            plural="next",
            brief_class=2,
            title="Next",
            can_retract=True,
        ),
    )

    # --- what it states ---------------------------------------------------------------------------

    DONE = (
        "done",
        KindRow(
            Merging.SET,
            event_key="this_session",
            retraction_key="retracted_done",
            plural="done",
            brief_class=3,
            title="Recently done",
            can_retract=True,
        ),
    )
    DECISION = (
        "decision",
        KindRow(
            Merging.MAP,
            event_key="decisions",
            retraction_key="retracted_decisions",
            plural="decisions",
            is_inherited=True,
            brief_class=2,
            title="Decisions",
            can_retract=True,
            brief_share=25,
            brief_count=8,
        ),
    )
    CHECKPOINT = (
        "checkpoint",
        KindRow(Merging.PHASES, event_key="checkpoints", plural="checkpoints"),
    )
    QUESTION = (
        "question",
        KindRow(
            Merging.SET,
            event_key="open_questions",
            retraction_key="resolved_questions",
            plural="questions",
            is_inherited=True,
            brief_class=2,
            title="Open questions",
            can_retract=True,
            brief_share=15,
            brief_count=6,
        ),
    )
    CONSTRAINT = (
        "constraint",
        KindRow(
            Merging.SET,
            event_key="constraints",
            retraction_key="retracted_constraints",
            plural="constraints",
            is_inherited=True,
            brief_class=1,
            title="Ruled out",
            can_retract=True,
            brief_share=22,
            brief_count=8,
        ),
    )
    RECEIPT = (
        "receipt",
        KindRow(
            Merging.SET,
            event_key="receipts",
            retraction_key="retracted_receipts",
            plural="receipts",
            brief_class=1,
            title="Already done; do not repeat",
            can_retract=True,
        ),
    )
    FEEDBACK = (
        "feedback",
        KindRow(
            Merging.SET,
            event_key="feedback",
            retraction_key="answered_feedback",
            plural="feedback",
            brief_class=1,
            title="Unanswered feedback",
            can_retract=True,
        ),
    )
    ANSWER = (
        "answer",
        KindRow(Merging.MAP, event_key="answers", plural="answers", brief_class=3, title="Answers"),
    )
    COMMENT = (  # an agent's answer to a question that only a person may answer (C154)
        "comment",
        KindRow(
            Merging.SET,
            event_key="comments",
            retraction_key="retracted_comments",
            plural="comments",
            brief_class=2,
            title="Comments on what waits for a person",
            heading="Comments",
            can_retract=True,
        ),
    )
    GATE = (
        "gate",
        KindRow(Merging.PHASES, event_key="gates", plural="gates", brief_class=2, title="Gates"),
    )
    TURN = (
        "turn",
        KindRow(
            Merging.SET,
            event_key="turns",
            retraction_key="retracted_turns",
            plural="turns",
            brief_class=3,
            title="Turns of loops",
            heading="Turns",
        ),
    )
    RETRACTION = ("retraction", KindRow())
    MALFORMED = (  # an unreadable value of an event; nobody states it
        "malformed",
        KindRow(Merging.SET, plural="malformed", brief_class=2, title="Malformed; ignored"),
    )

    # --- what is observed -------------------------------------------------------------------------

    FILE = (
        "file",
        KindRow(
            Merging.SET,
            event_key="files_modified",
            plural="files",
            brief_class=3,
            title="Files changed, most edited first",
            observed_as=("edit", "edits"),
            repeated_as=("edited", 3),
        ),
    )
    TEST = (
        "test",
        KindRow(Merging.SET, event_key="receipts", told_as="receipt", observed_as=("test", "tests")),
    )
    COMMIT = (
        "commit",
        KindRow(Merging.SET, event_key="receipts", told_as="receipt", observed_as=("commit", "commits")),
    )

    # --- what stays on the machine ----------------------------------------------------------------

    NOTE = ("note", KindRow(Merging.SET, can_retract=True))
    PROMPT = ("prompt", KindRow(Merging.SET, observed_as=("", "prompts")))
    READ = ("read", KindRow(Merging.SET, observed_as=("", "reads"), repeated_as=("read", 10)))
    COMMAND = ("command", KindRow(Merging.SET, observed_as=("", "commands"), repeated_as=("ran", 3)))
    PLAN = ("plan", KindRow(Merging.SET, observed_as=("", "plan_items")))
    WORDS = ("words", KindRow(Merging.SET, observed_as=("", "words")))  # the agent's last message (C135)
    TDD = ("tdd", KindRow(Merging.PHASES))

    # --- the session itself -----------------------------------------------------------------------

    START = ("start", KindRow())
    BINDING = ("binding", KindRow())
    CLAIM = ("claim", KindRow(Merging.HELD))
    RESERVATION = ("reservation", KindRow(Merging.HELD))
    RESULT = ("result", KindRow(Merging.HELD, is_sign=True))  # of a subagent; see `core.hosts.kept_results`
    OPERATION = ("operation", KindRow(Merging.HELD, is_sign=True))  # see `core.work.operations`
    HOST = ("host", KindRow(is_sign=True))
    BRANCH = ("branch", KindRow(is_sign=True))
    HEARTBEAT = ("heartbeat", KindRow(is_sign=True))
    BOOKMARK = ("bookmark", KindRow(is_sign=True))
    DELIVERY = ("delivery", KindRow(is_sign=True))
    END = ("end", KindRow(is_sign=True))

    @property
    def told(self) -> "FactKind":
        """The kind it is published as."""
        return FactKind(self.row.told_as) if self.row.told_as else self


def kind_of(name: str) -> FactKind | None:
    """Return the kind with a name, or None if this version does not know it."""
    try:
        return FactKind(name)
    except ValueError:
        return None


STATING: Final = frozenset(kind for kind in FactKind if kind.row.merging not in {Merging.HELD, Merging.NONE})
"""The kinds about the work; the others are about the session itself."""

MERGED: Final[tuple[FactKind, ...]] = tuple(kind for kind in FactKind if kind.row.plural)
"""The kinds that events merge into a view, in the order in which lists name them."""

INHERITED: Final[tuple[FactKind, ...]] = tuple(kind for kind in FactKind if kind.row.is_inherited)
"""The kinds whose facts stay in force until they are retracted: decisions, questions and rules."""

AIMS: Final = tuple(kind for kind in FactKind if kind.row.merging in {Merging.REGISTER, Merging.STEPS})
"""The aims of a session, which the next one carries on: goal, now and next."""

FURTHER: Final[tuple[FactKind, ...]] = tuple(kind for kind in FactKind if kind.row.heading)
"""The kinds for which ledger, event and view have no field of their own."""

CARRIED: Final[tuple[FactKind, ...]] = tuple(kind for kind in FURTHER if kind.row.is_inherited)
"""Those of them that a handoff passes on, under their headings."""

HEADINGS: Final = tuple(kind.row.heading for kind in FURTHER)
"""The headings of these kinds."""
