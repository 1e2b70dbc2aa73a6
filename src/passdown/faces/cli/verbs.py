"""The table of commands: the parser, help, completion and the reference page are built from its rows.

A new verb that states a fact is one row; a kind of fact that names a verb needs no row. Plain calls of a verb
are parsed here as well, because loading the command-line parser takes longer than writing a fact.
"""

from collections.abc import Callable, Iterator, Mapping, Sequence
from enum import StrEnum
from functools import partial
from types import MappingProxyType
from typing import Final, NamedTuple

from passdown.core.kinds import FactKind

Values = Mapping[str, object]


class Group(StrEnum):
    """The groups of commands, in the order in which help shows them; the daily ones first."""

    EVERYDAY = "Everyday"
    RECORD = "Record"
    SESSIONS = "Sessions"
    SET_UP = "Set up"
    TOGETHER = "Work together"
    WORKFLOW = "Workflow"
    DOCUMENTS = "Documents"
    FURTHER = "Further"
    """Commands that `passdown help --all` alone lists."""


class Argument(NamedTuple):
    """A positional argument."""

    name: str
    is_required: bool = True
    is_many: bool = False
    metavar: str = ""
    """How help calls it, if not by its name."""


class Option(NamedTuple):
    """An option that starts with two dashes; one without a metavar or choices is a flag."""

    flag: str
    help: str
    metavar: str = ""
    name: str = ""
    default: str = ""
    choices: Callable[[], Sequence[str]] | None = None

    @property
    def parameter(self) -> str:
        """The name of the parameter that receives its value."""
        return self.name or self.flag.removeprefix("--")

    @property
    def is_flag(self) -> bool:
        """Whether it takes no value."""
        return not self.metavar and self.choices is None


class Verb(NamedTuple):
    """A command: its name, group, help, arguments, options, and the function that runs it."""

    name: str
    group: Group
    help: str
    arguments: tuple[Argument, ...] = ()
    options: tuple[Option, ...] = ()
    does: str = ""
    """The function that runs it, in the module `runs_in`; empty if it has a module in `commands`."""
    kind: str = ""
    """The kind of fact that it states, if any."""
    module: str = ""
    """The module in `commands`, if its name is not that of the command; behind a colon, what it calls it."""
    runs_in: str = "lifecycle"
    """The module of the function in `does`: `fact_verbs`, `task_verbs` or `lifecycle`."""
    details: str = ""
    """What its help says after the first sentence."""


_JSON: Final = Option("--json", "Print one JSON object.", name="as_json")
_SESSION: Final = Option("--session", "The session to use.", "ID")
_SPEAKER: Final = Option("--session", "The session that records it.", "ID")
_BECAUSE: Final = Option("--because", "The reason.", "REASON")
_KEEP: Final = Option("--keep", "Leave the ledger where it is.")
_TEXT: Final = Argument("text")


def _retractable() -> Sequence[str]:
    return [kind.value for kind in FactKind if kind.row.can_retract]


def _fact(
    name: str,
    kind: str,
    help_: str,
    *parts: Argument | Option,
    does: str = "state_fact",
    group: Group = Group.RECORD,
) -> Verb:
    """Make the row of a verb that states a fact; add the options that all of them have."""
    arguments = tuple(part for part in parts if isinstance(part, Argument))
    options = tuple(part for part in parts if isinstance(part, Option))
    return Verb(name, group, help_, arguments, (*options, _SPEAKER, _JSON), does, kind, runs_in="fact_verbs")


def _command(group: Group, name: str, help_: str, module: str = "") -> Verb:
    """Make the row of a command that has a module in `commands`."""
    return Verb(name, group, help_, module=module)


def _life(group: Group, name: str, does: str, help_: str, *options: Option) -> Verb:
    return Verb(name, group, help_, (), (*options, _JSON), does)


_everyday = partial(_command, Group.EVERYDAY)
_set_up = partial(_command, Group.SET_UP)
_together = partial(_command, Group.TOGETHER)
_workflow = partial(_command, Group.WORKFLOW)
_documents = partial(_command, Group.DOCUMENTS)
_further = partial(_command, Group.FURTHER)

_ROWS: Final = (
    # --- Everyday
    _life(
        Group.EVERYDAY,
        "status",
        "show_sessions",
        "Show the sessions, what each is doing, and what needs attention.",
        Option("--all", "Also show sessions that ended.", name="show_all"),
    ),
    _everyday("brief", "Print what a new session needs to know, within a budget."),
    _everyday("search", "Search ledgers, journals, archives, events, streams, loops and history."),
    _everyday("log", "List published events, newest first; show one, or retract one."),
    _everyday("handoff", "Hand off work: write a handoff, list handoffs, or resume one."),
    _fact(
        "tell",
        "feedback",
        "Leave feedback; every brief shows it until somebody answers.",
        Argument("text", is_required=False),
        Option("--to", "Only for this agent and those that continue its session.", "AGENT"),
        Option("--list", "List the feedback that nobody has answered.", name="lists"),
        does="tell_feedback",
        group=Group.EVERYDAY,
    ),
    # --- Record
    _fact("goal", "goal", "Set the session's goal, in one or two sentences.", _TEXT),
    _fact(
        "now",
        "now",
        "Record what you are doing now, one thing at a time.",
        Argument("text", is_required=False),
        Option("--clear", "Clear your current work without marking it done."),
        does="state_now",
    ),
    _fact(
        "done",
        "done",
        "Record what is done; without TEXT, your current work.",
        Argument("text", is_required=False),
        Option("--once", "Mark it as never to be repeated: a deploy, a migration, a message."),
        does="state_done",
    ),
    _fact(
        "next",
        "next",
        "Set the next steps in order, one argument per step.",
        Argument("texts", is_many=True),
        Option("--add", "Add to the list instead of replacing it."),
        does="state_next",
    ),
    _fact(
        "decide",
        "decision",
        "Record a decision; your next one under the same key replaces it.",
        Argument("key", is_required=False),
        _TEXT,
        _BECAUSE,
        Option("--replace", "Replace another session's decision."),
        does="state_decision",
    ),
    _fact(
        "rule-out",
        "constraint",
        "Rule out an option and say why, so that nobody tries it again.",
        _TEXT,
        _BECAUSE,
        does="rule_out",
    ),
    _fact(
        "ask",
        "question",
        "Record a question that needs an answer.",
        _TEXT,
        Option("--unconfirmed", "Mark it as an assumption to verify."),
        does="ask_question",
    ),
    _fact(
        "answer",
        "answer",
        "Answer a question or feedback; QUESTION is the start of its text.",
        Argument("question"),
        Argument("text", is_required=False),
        Option(
            "--dismiss", "Dismiss feedback without an answer; QUESTION is its id or the start of its text."
        ),
        does="answer_question",
    ),
    _fact("note", "note", "Write a private note; it stays on this machine.", _TEXT),
    _fact(
        "retract",
        "retraction",
        "Take back a fact; TEXT is the start of its text, a decision's key, or a failed test.",
        _TEXT,
        Option("--kind", "The kind of fact.", name="of_kind", choices=_retractable),
        does="retract_fact",
    ),
    *(_fact(kind.row.verb, kind.value, kind.row.help, _TEXT) for kind in FactKind if kind.row.verb),
    # --- Sessions
    _life(
        Group.SESSIONS,
        "start",
        "start_session",
        "Start a session or show the running one; recover crashed sessions.",
        Option("--host", "The program the agent runs in.", "NAME", default="generic"),
        Option("--session", "The session to start or show: its id, or any name.", "ID", name="host_session"),
        Option("--nickname", "A name for the agent.", "NAME"),
        Option("--track", "The track to work on.", "TRACK"),
        Option("--team", "The session's team.", "NAME"),
        Option("--role", "The session's role: it claims tasks for this role or for anyone.", "ROLE"),
        Option("--multi", "Work together with other agents."),
        Option("--new", "Start another session even if one is running.", name="is_new"),
        Option("--fresh", "Do not continue the last session's goal.", name="is_fresh"),
    ),
    _life(
        Group.SESSIONS,
        "end",
        "end_session",
        "End a session: publish its facts, archive its ledger, and commit if enabled.",
        _SESSION,
        Option("--reason", "Why it ends: clear, logout, done, …", "WORD", default="session-end"),
        _KEEP,
    ),
    # --- Set up
    _set_up("init", "Set up Passdown in this project: settings and git rules."),
    _set_up("import", "Import the transcripts of old sessions, for search.", "set_up.imports:command"),
    _set_up("install", "Install the plugin into a host, after showing you the changes.", "install"),
    _set_up("uninstall", "Remove the plugin from a host; your own changes stay.", "install"),
    _set_up("try", "Show what Passdown does, in a temporary repository.", "set_up.trial:command"),
    _set_up("completion", "Print the script that completes commands in a shell.", "set_up.completion"),
    _set_up("doctor", "Find problems in this project, and fix what is safe to fix."),
    _set_up("pause", "Pause Passdown in this project; nothing runs automatically until `unpause`.", "pause"),
    _set_up("unpause", "Resume Passdown in this project after a pause.", "pause"),
    # --- Work together
    _together("task", "Add, list and change tasks.", "coordination.tasks"),
    Verb(
        "claim",
        Group.TOGETHER,
        "Claim the named tasks, or the first that is ready.",
        (Argument("tasks", is_required=False, is_many=True, metavar="[ID]..."),),
        (
            Option("--role", "Only tasks for this role or for anyone.", "ROLE"),
            Option("--another", "Claim one more task, even if the session has one."),
            Option("--tdd", "Follow the test-first cycle."),
            Option("--no-tdd", "Do not follow the test-first cycle.", name="no_tdd"),
            Option(
                "--skip-preflight",
                "Skip the checks of `passdown preflight`.",
                name="skip_preflight",
            ),
            Option("--again", "Run it as a new command, even if the same one was just interrupted."),
            _SESSION,
            _JSON,
        ),
        does="claim_tasks",
        runs_in="task_verbs",
        details=(
            "You get all of the named tasks or none; the first becomes your current task. No other session "
            "can hold a task that yours holds. Without an ID, a session that holds a task gets it again. "
            "Up to five unread messages are printed first and marked as read. Exits with 3 if another "
            "session holds a named task, and with 0 if there is nothing to claim. Your session follows the "
            "test-first cycle unless --no-tdd or the settings say otherwise. If the coordination engine "
            "cannot be reached, Beads alone decides and the claim is marked unfenced; the session's next "
            "command asks for the lease."
        ),
    ),
    _together("close", "Close your task and release its files.", "coordination.claims"),
    _together("reserve", "Reserve files before you edit them.", "coordination.reservations"),
    _together("release", "Release reserved files and claimed tasks.", "coordination.reservations"),
    _together(
        "takeover",
        "Take over a task, or everything an agent holds, from a crashed session.",
        "coordination.reservations",
    ),
    _together("msg", "Send a message to other sessions.", "coordination.mail"),
    _together("inbox", "Read messages and handoffs from other sessions.", "coordination.mail"),
    _together("guard", "Block commits of files that another session holds.", "coordination.guard"),
    _together("team", "Set up this project for a team.", "coordination.team"),
    # --- Workflow
    _workflow("track", "Bind a session to a track, unbind it, or finish the track."),
    _workflow("gate", "Run or record quality gates.", "work.gate"),
    _workflow("tdd", "Show the phases of the test-first cycle, or record that one begins.", "work.tdd"),
    _workflow("loop", "Work in turns, with a person's feedback between them.", "work.loops"),
    _workflow("checkpoint", "Save phases of work, and resume from them.", "work.checkpoints"),
    _workflow("preflight", "Check that nothing blocks you.", "work.preflight"),
    # --- Documents
    _documents("synthesize", "Merge all events into the view; optionally archive and commit."),
    _documents("view", "Show the view, list what it leaves out, or verify it."),
    _documents("check", "Check ledgers, events and other documents for problems."),
    _documents("format", "List the document formats; show a schema or an example."),
    _documents("certify", "Prove that no fact was lost."),
    _documents("migrate", "Import a `current.md` that Passdown did not write."),
    # --- Further
    _further("help", "Show help for a command, or list every command."),
    _life(
        Group.FURTHER,
        "heartbeat",
        "send_heartbeat",
        "Show that the session is alive, and update its ledger.",
        _SESSION,
    ),
    _further("observe", "Record what a host's transcript and git show about a session."),
    _life(
        Group.FURTHER,
        "publish",
        "publish_open",
        "Publish new facts as an event that every checkout can merge.",
        _SESSION,
        Option("--checkpoint", "Save a checkpoint of this phase, as `passdown checkpoint` does.", "PHASE"),
        Option(
            "--state",
            "The phase's state: pending, in_progress, validated, failed or skipped.",
            "STATE",
            default="validated",
        ),
        Option("--name", "The name of the phase.", "NAME"),
    ),
    _further("renew", "Keep reserved files for longer.", "coordination.reservations"),
    _further("result", "Apply task changes proposed by subagents.", "coordination.results"),
    _further("sync", "Sync the tracker with its remote.", "work.tracker"),
    _further("context", "Save and recall a session's context.", "work.contexts"),
    _further("metrics", "Summarize what was recorded here: recoveries, conflicts, old handoffs."),
    _further("archive", "Verify the archive, archive what is due, and settle conflicts."),
    _further(
        "history", "List imported sessions, or show one; see `passdown import`.", "set_up.history:command"
    ),
    _further("event", "Show an event, or retract one; same as `log`.", "log"),
    _further("ready", "List the tasks you can claim now; same as `task ready`.", "work.tracker"),
    _further(
        "blocked",
        "List the tasks that wait, and for what; same as `task blocked`.",
        "work.tracker",
    ),
    _further(
        "feedback",
        "List feedback that nobody has answered; same as `tell --list`.",
        "work.feedback",
    ),
)
VERBS: Final = MappingProxyType({verb.name: verb for verb in _ROWS})


def list_groups() -> Iterator[tuple[Group, Sequence[Verb]]]:
    """Yield each group with its commands, in the order of the table."""
    for group in Group:
        yield group, [one for one in VERBS.values() if one.group is group]


def run_plainly(arguments: Sequence[str]) -> int | None:
    """Run a verb that can be parsed without click; return None if click must parse it."""
    verb = VERBS.get(arguments[0]) if arguments else None
    values = parse_plainly(verb, arguments[1:]) if verb and verb.does else None
    return None if verb is None or values is None else carry_out(verb, values, arguments)


def parse_plainly(verb: Verb, words: Sequence[str]) -> Values | None:
    """Parse texts, flags and options with a value; return None for anything else that starts with a dash."""
    known = {option.flag: option for option in verb.options if option.choices is None}
    values: dict[str, object] = {
        option.parameter: False if option.is_flag else option.default for option in verb.options
    }
    texts: list[str] = []
    rest = iter(words)
    for word in rest:
        option = known.get(word)
        value = word if option is None else next(rest, "-") if not option.is_flag else ""
        if value.startswith("-"):
            return None
        if option is None:
            texts.append(value)
        else:
            values[option.parameter] = option.is_flag or value
    named = name_texts(verb.arguments, texts)
    return None if named is None else {**values, **named}


def name_texts(arguments: Sequence[Argument], texts: Sequence[str]) -> Values | None:
    """Assign texts to arguments by position; return None if there are too few or too many.

    If there are fewer texts than arguments, those that may be left out get none, the last of them first.
    """
    if arguments and arguments[0].is_many:
        return {arguments[0].name: tuple(texts)} if texts or not arguments[0].is_required else None
    spare = len(texts) - sum(one.is_required for one in arguments)
    if spare < 0 or len(texts) > len(arguments):
        return None
    rest, values = iter(texts), dict[str, str]()
    for one in arguments:
        is_given = one.is_required or spare > 0
        spare -= not one.is_required
        values[one.name] = next(rest) if is_given else ""
    return values


def carry_out(verb: Verb, values: Values, words: Sequence[str]) -> int:
    """Run a verb with parsed values, and return the exit code; `words` is the call as it was typed."""
    if verb.runs_in == "fact_verbs":
        from passdown.faces.cli import fact_verbs  # only one of the three modules is needed

        state: Callable[..., int] = getattr(fact_verbs, verb.does)
        return state(FactKind(verb.kind), **values)
    if verb.runs_in == "task_verbs":
        from passdown.faces.cli import task_verbs

        share: Callable[..., int] = getattr(task_verbs, verb.does)
        return share(words, **values)
    from passdown.faces.cli import lifecycle

    live: Callable[..., int] = getattr(lifecycle, verb.does)
    return live(**values)
