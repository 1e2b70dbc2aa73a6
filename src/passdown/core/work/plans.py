"""What can be counted in a plan: its tasks, how complete they are, which are done, and what they deliver.

A task is an item with a box: `- [ ]`, `- [~]` or `- [x]`; indented lines below it belong to it. Items in a
section of acceptance criteria are criteria. A section with tasks is an epic.
"""

from collections.abc import Iterator, Sequence
from typing import Annotated, Final, NamedTuple

from passdown.core.documents.markdown import LineState, mark_lines, read_heading
from passdown.core.lazy_regex import pattern
from passdown.core.work.plan_commands import find_command_lines

TASK_SCORE: Final = 0.8
EPIC_SCORE: Final = 0.75
CRITERIA_SHARE: Final = 0.9

_BOX: Final = pattern(r"[-*+][ \t]+\[([ xX~>-])\][ \t]+(.*)")
_HEADING: Final = pattern(r"#{1,6}[ \t]+\S")
_CRITERIA: Final = pattern(r"\b(?:criteria|criterion|acceptance|done when)\b")
_COMPLEXITY: Final = pattern(
    r"\[[SMLsml]\]|\([SML]\)|\b(?:complexity|size|effort|estimate)\b\W{0,4}(?:[SMLsml1-5]\b)"
)
_DELIVERABLE: Final = pattern(r"\b(?:deliverables?|delivers|output|creates?|files?)\b|`[^`\n]*[./][^`\n]*`")
_PATH: Final = pattern(r"`([A-Za-z0-9_][A-Za-z0-9_./-]*\.[A-Za-z0-9]{1,8})`")
_ID: Final = pattern(r"(?:\*\*)?(?:task[ \t]+)?([0-9]+(?:\.[0-9]+)*|[A-Za-z]+-[0-9]+)\b")
_NEEDS: Final = pattern(r"\b(?:depends(?: on)?|after|needs|blocked by)\b\W{0,3}([^\n]*)")
_NAME: Final = pattern(r"[0-9]+(?:\.[0-9]+)*|[A-Za-z]+-[0-9]+")
_MOST_TASKS: Final = 10


class PlanTask(NamedTuple):
    """One task of a plan."""

    text: Annotated[str, "Its lines."]
    is_done: bool
    epic: str = ""

    @property
    def title(self) -> str:
        """Its first line."""
        return self.text.partition("\n")[0]

    @property
    def id(self) -> str:
        """The number or name that it begins with; empty without one."""
        found = _ID.match(self.title.casefold())
        return found[1] if found else ""

    @property
    def needs(self) -> tuple[str, ...]:
        """The tasks that it depends on, by its own text."""
        found = _NEEDS.search(self.text.casefold())
        return tuple(_NAME.findall(found[1])) if found else ()

    @property
    def missing(self) -> tuple[str, ...]:
        """The details that every task needs and this one lacks."""
        text = self.text.casefold()
        checks = {
            "criteria": _CRITERIA.search(text),
            "complexity": _COMPLEXITY.search(self.text) or _COMPLEXITY.search(text),
            "deliverable": _DELIVERABLE.search(text),
        }
        return tuple(name for name, found in checks.items() if not found)


class Plan(NamedTuple):
    """The contents of a plan."""

    tasks: tuple[PlanTask, ...]
    criteria: Annotated[tuple[bool, ...], "Whether each acceptance criterion is ticked."]
    commands: Annotated[int, "How many lines verify it."]

    @property
    def open_tasks(self) -> tuple[PlanTask, ...]:
        """The tasks that are not done."""
        return tuple(task for task in self.tasks if not task.is_done)

    @property
    def deliverables(self) -> tuple[str, ...]:
        """The files that finished tasks name, which must exist."""
        found = (path for task in self.tasks if task.is_done for path in _PATH.findall(task.text))
        return tuple(dict.fromkeys(path for path in found if ".." not in path.split("/")))


def read_plan(text: str) -> Plan:
    """Read the tasks, criteria and commands of a plan."""
    lines = text.replace("\r\n", "\n").split("\n")
    states, _ = mark_lines(lines)
    tasks: list[PlanTask] = []
    criteria: list[bool] = []
    epic, is_criteria, is_below = "", False, False
    for line, state in zip(lines, states, strict=True):
        if state is not LineState.TEXT:
            continue
        box = _BOX.match(line)
        if _HEADING.match(line):
            epic, is_below = read_heading(line)[1], False
            is_criteria = bool(_CRITERIA.search(epic.casefold()))
        elif box and is_criteria:
            criteria.append(box[1] in "xX")
        elif box:
            tasks.append(PlanTask(box[2], box[1] in "xX", epic))
            is_below = True
        elif is_below and line[:1] in {" ", "\t"}:
            tasks[-1] = tasks[-1]._replace(text=f"{tasks[-1].text}\n{line.strip()}")
        elif line.strip():
            is_below = False
    return Plan(tuple(tasks), tuple(criteria), len(find_command_lines(text)))


def judge_structure(plan: Plan) -> Iterator[str]:
    """Yield what a plan lacks before it is executed; nothing if it passes."""
    if not plan.tasks:
        yield "it has no tasks (`- [ ] …`)"
        return
    score = sum(1 - len(task.missing) / 3 for task in plan.tasks) / len(plan.tasks)
    if score < TASK_SCORE:
        worst = max(plan.tasks, key=lambda task: len(task.missing))
        missing = ", ".join(worst.missing)
        yield f"tasks score {score:.2f}, below {TASK_SCORE}: `{worst.title[:60]}` has no {missing}"
    epics = list(dict.fromkeys(task.epic for task in plan.tasks))
    scores = [_score_epic(epic, plan.tasks) for epic in epics]
    whole = sum(scores) / len(scores)
    if whole < EPIC_SCORE:
        worst_epic = min(zip(scores, epics, strict=True))[1]
        yield f"epics score {whole:.2f}, below {EPIC_SCORE}; the weakest is `{worst_epic[:60]}`"
    if not plan.commands:
        yield "no commands in a code block under a heading with the word Verification"


def _score_epic(epic: str, tasks: Sequence[PlanTask]) -> float:
    """Score an epic: its tasks are distinct, not too many, and depend only on earlier tasks of the plan."""
    own = [task for task in tasks if task.epic == epic]
    place = {task.id: number for number, task in enumerate(tasks) if task.id}
    needs = [(tasks.index(task), name) for task in own for name in task.needs]
    checks = (
        len({task.title for task in own}) == len(own),
        all(name in place for _, name in needs),
        all(place.get(name, -1) < number for number, name in needs),
        len(own) <= _MOST_TASKS,
    )
    return sum(checks) / len(checks)


def judge_execution(plan: Plan, is_there: Sequence[str]) -> Iterator[str]:
    """Yield what a plan promises but lacks; `is_there` lists the deliverables that exist."""
    missing = [path for path in plan.deliverables if path not in is_there]
    if missing:
        yield f"deliverables are missing: {', '.join(missing[:5])}"
    ticked = sum(plan.criteria)
    if plan.criteria and ticked < CRITERIA_SHARE * len(plan.criteria):
        yield f"{ticked} of {len(plan.criteria)} acceptance criteria are met; 90% are needed"


def find_open_tasks(plan: Plan) -> Iterator[str]:
    """Yield what is still open in a plan."""
    left = plan.open_tasks
    if left:
        yield f"{len(left)} of {len(plan.tasks)} plan items are open, starting with `{left[0].title[:60]}`"
