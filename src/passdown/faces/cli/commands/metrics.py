"""`passdown metrics`: sum up what hooks and commands recorded here."""

import click

from passdown.actions.project import project
from passdown.core.project.metrics import MetricsSummary
from passdown.faces.cli import options, output
from passdown.faces.cli.calls import call, show


@click.command()
@click.option(
    "--days",
    type=click.IntRange(min=1, max=36_500),
    default=project.USUAL_DAYS,
    metavar="N",
    help="Summarize the last N days (default: 7).",
)
@options.json
def command(*, days: int, as_json: bool) -> int:
    """Summarize what was recorded here: recoveries, conflicts, old handoffs.

    A start records the sessions it recovered (`pending_recovery`), ledgers that nobody updated for a day
    (`handoff_expired`) and other sessions on the same track (`session_conflict`). Commands record how many
    queued changes reached the tracker (`pending_recovery`). The end of a turn records `bd` commands that an
    agent ran by itself (`manual_bd`) and finished phases of the test-first cycle with their seconds
    (`tdd_cycle`). They are in .git/passdown/metrics.jsonl, one file for all worktrees, or in
    .conductor/metrics.jsonl if git's folder cannot be written; what other tools record in the latter counts
    too. All of it stays on this machine. `passdown doctor --cost` shows what hooks cost.
    """
    answer = call(project.sum_up_events, days)
    show(answer, lambda found: _say(found.summary, days), as_json=as_json)
    return 0


def _say(summary: MetricsSummary, days: int) -> None:
    since = "1 day" if days == 1 else f"{days} days"
    if not summary.counts:
        output.note(f"nothing was recorded in the last {since}")
    for name, count in summary.counts.items():
        output.say(f"{count:>7}  {name}")
    several = summary.multi_agent
    if several.succeeded or several.fell_back:
        output.say(f"several agents: {several.succeeded} times, fell back {several.fell_back} times")
    for phase, mean in summary.tdd_mean_durations.items():
        output.say(output.wrapped(f"mean duration of {phase}: {mean:.1f}", "", "  "))
    for one in summary.manual_commands:
        output.say(output.wrapped(f"by hand, {one.count} times: {one.command}", "", "  "))
    for path in summary.expired_handoffs:
        output.say(output.wrapped(f"expired: {path}", "", "  "))
    if summary.skipped:
        output.note(f"lines that could not be read: {summary.skipped}")
