"""Measure how much of generated histories reaches a brief, through the real code path (C132)."""

from collections.abc import Sequence
from datetime import datetime
from itertools import groupby
from typing import cast

from passdown.core.briefs.budgets import Budget
from passdown.core.evidence.histories import SessionHistory
from passdown.core.evidence.recall import RecallRow, add_crowd, measure_brief
from passdown.core.formats.events import render_event
from passdown.core.ids import event_file_name
from passdown.core.merge.event_facts import EventFacts, parse_event_facts
from passdown.core.merge.rollups import RollupMember, name_rollup, render_rollup
from passdown.services.handover.briefs import read_brief_input
from passdown.services.log.events import name_event
from passdown.services.workspace.workspaces import Workspace


def evaluate(
    workspace: Workspace, history: SessionHistory, budgets: Sequence[Budget], *, is_plain: bool
) -> Sequence[RecallRow]:
    """Write a history into an empty project, and make the brief of a new session for each budget."""
    write_history(workspace, history)
    brief_input = read_brief_input(workspace, None)
    full = brief_input if is_plain else add_crowd(brief_input)
    return [measure_brief(history, full, budget, is_plain=is_plain) for budget in budgets]


def write_history(workspace: Workspace, history: SessionHistory) -> None:
    """Write the events of a history, one rollup for each day."""
    members: list[tuple[RollupMember, EventFacts]] = []
    for event in map(name_event, history.events):
        name = event_file_name(cast("datetime", event.ts), cast("str", event.agent))
        data = render_event(event).encode()
        members.append((RollupMember(name, data), cast("EventFacts", parse_event_facts(data, name))))
    for day, some in groupby(members, key=lambda pair: pair[1].rank.at.date()):
        text = render_rollup(day, some)
        workspace.log.create(day.isoformat(), name_rollup(text), text.encode())
