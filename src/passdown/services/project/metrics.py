"""Read what Passdown recorded about itself: what happened, and what it cost."""

from collections.abc import Iterable, Sequence
from datetime import datetime
from typing import Final

from passdown import layout
from passdown.core.hosts.tracker_commands import find_verbs
from passdown.core.project.metrics import Metric, MetricKind, MetricsSummary, parse_metrics, sum_up_metrics
from passdown.core.work.tdd import EndedPhase
from passdown.errors import StorageError
from passdown.services.sessions.archives import STALE
from passdown.services.sessions.liveness import list_live
from passdown.services.sessions.sessions import StartedSession
from passdown.services.workspace.local_files import list_places
from passdown.services.workspace.workspaces import Workspace

_MOST_BYTES: Final = 67_108_864


def read_own_lines(workspace: Workspace) -> str:
    """Return the lines that hooks and commands recorded; raise a StorageError if the file is too large."""
    texts: list[str] = []
    for documents, path, _ in list_places(workspace, layout.COSTS):
        if documents.exists(path):
            if documents.size(path) > _MOST_BYTES:
                hint = "move it away; Passdown starts a new one"
                raise StorageError(f"{path} is over {_MOST_BYTES} bytes, so it is not read", hint=hint)
            texts.append(documents.read(path).decode("utf-8", "replace"))
    return "\n".join(texts)


def read_metrics(workspace: Workspace, since: datetime) -> MetricsSummary:
    """Summarize what happened since a time."""
    metrics, skipped = parse_metrics(read_own_lines(workspace))
    return sum_up_metrics(metrics, since, skipped)


def find_start_metrics(workspace: Workspace, started: StartedSession) -> Sequence[Metric]:
    """Return the metrics of a start.

    1. Recovered sessions, which had not ended or had not published their end.
    2. Ledgers that were archived because nobody updated them for a day, except those of recovered sessions.
    3. Other sessions on the track of a new session.
    """
    at = workspace.now()
    found: list[Metric] = []
    if started.recovered:  # 1
        updates = sum(one.written is not None for one in started.recovered)
        values: dict[str, object] = {"updates": updates, "closes": len(started.recovered)}
        found.append(Metric(MetricKind.PENDING_RECOVERY, at, values))
    recovered = {one.account.session for one in started.recovered}
    stale = [one for one in started.archived if one.path and one.trigger == STALE]  # 2
    expired = [one.path for one in stale if one.session not in recovered]
    found += [Metric(MetricKind.HANDOFF_EXPIRED, at, {"file": path}) for path in expired]
    if started.is_new:  # 3
        found += find_conflicts(workspace, started.account.session, started.account.track)
    return found


def find_manual_metrics(workspace: Workspace, commands: Sequence[str]) -> Sequence[Metric]:
    """Return metrics for tracker commands that an agent ran by itself, without their arguments."""
    named = [name for command in commands for name in find_verbs(command)]
    return [Metric(MetricKind.MANUAL_BD, workspace.now(), {"command": name}) for name in named]


def make_phase_metrics(ended: Iterable[EndedPhase]) -> Sequence[Metric]:
    """Return metrics for the duration of phases of the test-first cycle."""
    return [
        Metric(
            MetricKind.TDD_CYCLE,
            one.at,
            {"taskId": one.task, "phase": one.phase, "duration": round(one.seconds, 3)},
        )
        for one in ended
    ]


def find_conflicts(workspace: Workspace, session: str, track: str) -> Sequence[Metric]:
    """Return metrics for other live sessions on the same track."""
    others = [one for one in list_live(workspace) if track and one.track == track and one.session != session]
    return [
        Metric(MetricKind.SESSION_CONFLICT, workspace.now(), {"track_id": track, "other_agent": one.agent})
        for one in others
    ]
