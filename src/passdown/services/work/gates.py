"""Run the gates of a track: check what can be counted, and record an agent's judgement (C101)."""

from collections.abc import Sequence
from typing import Annotated, Final, NamedTuple

from passdown import layout
from passdown.core.facts import DUE, GATES, Fact, GateStatus, Provenance, is_result
from passdown.core.kinds import FactKind
from passdown.core.sessions.secrets import redact
from passdown.core.sessions.session_facts import Account, NewFact
from passdown.core.sessions.track_gates import (
    MOST_ATTEMPTS,
    count_attempts,
    find_due,
    last_results,
    list_results,
    make_result,
)
from passdown.core.work.gates import (
    COUNTED,
    NEEDED,
    QUESTIONS,
    GateChoice,
    GateVerdict,
    blocked_by,
    decide,
    escalate,
)
from passdown.core.work.plan_commands import CommandLine, find_command_lines
from passdown.core.work.plans import Plan, find_open_tasks, judge_execution, judge_structure, read_plan
from passdown.errors import UsageError
from passdown.records import record
from passdown.services.handover.track_documents import find_track_document, list_track_documents
from passdown.services.handover.tracks import find_results
from passdown.services.log.events import update_index
from passdown.services.sessions.journals import read_open
from passdown.services.sessions.ledgers import update_ledger
from passdown.services.work.plan_commands import CommandRun
from passdown.services.workspace.workspaces import Workspace
from passdown.settings import GateMode

_MOST_QUESTIONS: Final = 10_000
_COMPLETION: Final = "completion"
_OF_PROJECT: Final = (layout.PRODUCT, layout.TECH_STACK, layout.CODEMAPS)


@record
class JudgedGate:
    """The outcome of judging a gate."""

    account: Annotated[Account, "The session."]
    verdict: Annotated[GateVerdict, "How the gate ended."]
    attempts: Annotated[int, "How often it failed in this session since it last passed."] = 0
    question: Annotated[str, "The question that a person must decide; empty if nothing is escalated."] = ""


@record
class GateState:
    """A gate of a track: its last result, and whether it is due."""

    gate: str
    result: Annotated[Fact | None, "Its last result."] = None
    due: Annotated[str, "Why it is due; empty if it is not."] = ""
    history: Annotated[Sequence[Fact], "All results that the session knows, oldest first."] = ()


def need_gate(gate: str) -> str:
    """Return the name of a gate; raise a UsageError if there is no such gate."""
    if gate not in GATES:
        raise UsageError(f"there is no gate `{gate}`", hint=f"the gates are {', '.join(GATES)}")
    return gate


def learn_results(workspace: Workspace, account: Account) -> Account:
    """Import the results of other sessions at the gates of the track; raise a UsageError without a track."""
    if not account.track:
        raise UsageError("this session has no track", hint="run `passdown track bind TRACK` first")
    new_facts = find_results(workspace, account, account.track)
    return update_ledger(workspace, account, new_facts).account if new_facts else account


def list_gates(workspace: Workspace, account: Account) -> Sequence[GateState]:
    """List the five gates, and any others with results, as the session knows them."""
    facts = list_results(account, account.track)
    last = last_results(facts)
    due = find_due(account, last, list_track_documents(workspace, account.track))
    names = dict.fromkeys((*GATES, *last))
    return [
        GateState(
            gate=name,
            result=last.get(name),
            due=due.get(name, ""),
            history=[fact for fact in facts if fact.key == name and is_result(fact.text)],
        )
        for name in names
    ]


def choose_mode(workspace: Workspace, *, only_warn: bool = False) -> GateChoice:
    """Return how strictly gates are judged here."""
    return GateChoice(workspace.settings.gates.mode is GateMode.FULL, only_warn)


# --- judging ------------------------------------------------------------------------------------------


def find_commands(workspace: Workspace, account: Account, gate: str) -> Sequence[CommandLine]:
    """Return the commands that a gate runs: plan-execution runs those that verify the plan, others none."""
    if gate != "plan-execution":
        return ()
    path = find_track_document(workspace, account.track, layout.PLAN)
    return find_command_lines(_read(workspace, path)) if path else ()


def check_gate(
    workspace: Workspace, account: Account, gate: str, choice: GateChoice, runs: Sequence[CommandRun] = ()
) -> GateVerdict | None:
    """Check what can be counted; return None if that is fine and an agent has to judge the rest."""
    if gate == _COMPLETION:
        return _check_completion(workspace, account, choice)
    missing = _find_missing(workspace, account, gate)
    if missing:
        return decide(gate, choice, (), missing)
    if gate in QUESTIONS:
        return None
    plan = read_plan(_read(workspace, find_track_document(workspace, account.track, layout.PLAN)))
    if gate == "plan-structure":
        findings = [*judge_structure(plan)]
        return decide(gate, choice, findings, passed=f"tasks: {len(plan.tasks)}; commands: {plan.commands}")
    return _judge_runs(workspace, choice, plan, runs)


def _find_missing(workspace: Workspace, account: Account, gate: str) -> Sequence[str]:
    return [name for name in NEEDED[gate] if not find_track_document(workspace, account.track, name)]


def _check_completion(workspace: Workspace, account: Account, choice: GateChoice) -> GateVerdict:
    missing = _find_missing(workspace, account, _COMPLETION)
    if missing:
        return decide(_COMPLETION, choice, (), missing)
    plan = read_plan(_read(workspace, find_track_document(workspace, account.track, layout.PLAN)))
    findings = [*find_open_tasks(plan), *_find_open(workspace, account)]
    return decide(_COMPLETION, choice, findings, passed=f"plan items done: {len(plan.tasks)}")


def _judge_runs(
    workspace: Workspace, choice: GateChoice, plan: Plan, runs: Sequence[CommandRun]
) -> GateVerdict:
    failed = [f"`{one.line.text[:60]}`: {_ended(one)}" for one in runs if not one.has_passed]
    there = [path for path in plan.deliverables if workspace.documents.exists(path)]
    findings = [*failed, *judge_execution(plan, there)]
    if not runs:
        findings.append("the plan has no commands under a heading with the word Verification")
    passed = ", ".join(f"`{one.line.text[:60]}`: exit 0" for one in runs)
    return decide("plan-execution", choice, findings, passed=passed)


def _ended(run: CommandRun) -> str:
    if run.line.refused:
        return "not run"
    return f"exit {run.code}" if run.code >= 0 else run.output[:80] or f"signal {-run.code}"


def _find_open(workspace: Workspace, account: Account) -> Sequence[str]:
    """Return what is unfinished besides the plan: claimed tasks, and work that is not committed or pushed."""
    found = [f"the session still holds {task}" for task in account.claims or filter(None, [account.task])]
    left = workspace.history.find_unfinished()
    paths = workspace.settings.paths
    own = (paths.events, paths.runtime, paths.ledgers, paths.archive, paths.handoffs, paths.event_archive)
    changed = [path for path in left.changed if not path.startswith(tuple(f"{one}/" for one in own))]
    if changed:
        files = "1 uncommitted file" if len(changed) == 1 else f"{len(changed)} uncommitted files"
        found.append(f"{files} ({changed[0]}{', …' * (len(changed) > 1)})")
    if left.unpushed:
        found.append("1 unpushed commit" if left.unpushed == 1 else f"{left.unpushed} unpushed commits")
    return found


def _read(workspace: Workspace, path: str) -> str:
    return workspace.documents.read(path, settled=True).decode("utf-8", "replace")


def find_left_out(workspace: Workspace, gate: str) -> Sequence[str]:
    """Return the checks that a gate skips because a file about the whole project is missing."""
    if gate != "design":
        return ()
    return [f"{path} is missing" for path in _OF_PROJECT if not workspace.documents.exists(path)]


# --- recording ----------------------------------------------------------------------------------------


def state_word(gate: str, choice: GateChoice, note: str, *, passed: bool) -> GateVerdict:
    """Return the verdict that an agent states; raise a UsageError if the gate is checked automatically."""
    if passed and gate in COUNTED:
        raise UsageError(f"{gate} is checked automatically", hint=f"run `passdown gate run {gate}`")
    if not note.strip():
        raise UsageError("a note is required", hint="say what was checked: `--note TEXT`")
    return decide(gate, choice, () if passed else [note], passed=note)


def record_verdict(
    workspace: Workspace, account: Account, verdict: GateVerdict, runs: Sequence[CommandRun] = ()
) -> JudgedGate:
    """Record how a gate ended and what its commands printed; the third failure asks a person."""
    notes = redact(verdict.notes).text
    new_facts = [
        NewFact(FactKind.COMMAND, redact(one.line.text).text, str(one.code), redact(one.output).text)
        for one in runs
    ]
    new_facts.append(make_result(verdict.gate, verdict.status, notes, account.track))
    provenance = Provenance.VERIFIED if runs else Provenance.STATED
    account = update_ledger(workspace, account, new_facts, provenance=provenance).account
    attempts = count_attempts(account, verdict.gate, account.track)
    if not verdict.stops or attempts < MOST_ATTEMPTS:
        return JudgedGate(account=account, verdict=verdict, attempts=attempts)
    results = [fact for fact in list_results(account, account.track) if fact.key == verdict.gate]
    failures = [fact for fact in results if fact.text == GateStatus.FAIL]
    asked = escalate(verdict.gate, account.track, failures, _count_answers(workspace, account, verdict.gate))
    account = update_ledger(workspace, account, [asked]).account
    return JudgedGate(account=account, verdict=verdict, attempts=attempts, question=asked.text)


def find_blocking(workspace: Workspace, account: Account, gate: str) -> str:
    """Return the question of an escalated gate that no person has answered or taken back; empty without."""
    start = blocked_by(gate, account.track)
    asked = _read_asked(workspace, account)
    answered = {fact.key for fact in asked.answers}
    asks = [fact.text for fact in asked.questions if fact.text.startswith(start)]
    waiting = [text for text in asks if text not in answered]
    gone = workspace.index.retracted(FactKind.QUESTION.value, waiting) if waiting else frozenset[str]()
    return next((text for text in waiting if text not in gone), "")


def _count_answers(workspace: Workspace, account: Account, gate: str) -> int:
    """Count how often people decided about a gate."""
    start = blocked_by(gate, account.track)
    return len({fact.key for fact in _read_asked(workspace, account).answers if fact.key.startswith(start)})


class _Asked(NamedTuple):
    """Questions and answers, those of this session first."""

    questions: Sequence[Fact]
    answers: Sequence[Fact]


def _read_asked(workspace: Workspace, account: Account) -> _Asked:
    """Read questions and answers of sessions, from events and from unpublished journals of this machine."""
    update_index(workspace.log, workspace.index)
    told = workspace.index.digest(_MOST_QUESTIONS).kinds
    others = (one for one in read_open(workspace) if one.session != account.session)
    known = (account, *others)
    return _Asked(
        [*(fact for one in known for fact in one.of(FactKind.QUESTION)), *told[FactKind.QUESTION].facts],
        [*(fact for one in known for fact in one.of(FactKind.ANSWER)), *told[FactKind.ANSWER].facts],
    )


def needs_completion(workspace: Workspace, account: Account) -> bool:
    """Return whether finishing a track runs the gate `completion`: it has documents or gate results."""
    known = any(fact.text != DUE for fact in list_results(account, account.track))
    return known or bool(list_track_documents(workspace, account.track))


def judge_completion(workspace: Workspace, account: Account, *, only_warn: bool) -> JudgedGate | None:
    """Judge the last gate before a track is finished; None if it waits for a person.

    Only the full mode stops a track, even if documents are missing (R21).
    """
    account = learn_results(workspace, account)
    choice = choose_mode(workspace, only_warn=only_warn)
    if choice.is_full and not only_warn and find_blocking(workspace, account, _COMPLETION):
        return None
    verdict = _check_completion(workspace, account, choice)
    if not choice.is_full and verdict.stops:
        verdict = verdict._replace(status=GateStatus.WARN)
    return record_verdict(workspace, account, verdict)
