"""Moments at which something was done: it is taken in, and published when it is time."""

from datetime import timedelta
from pathlib import Path
from types import MappingProxyType
from typing import Final

from passdown import wiring
from passdown.core.accounts import Account
from passdown.core.levels import Level, Reading
from passdown.core.moments import Moment, Reply
from passdown.faces.hooks.scenes import Scene
from passdown.services.deliveries import CUT, await_turn_end, confirm, leave_word
from passdown.services.levels import find_told, ladder_of, note_level, read_level
from passdown.services.observations import Source, observe
from passdown.services.unpublished import is_due

_NEARLY_FULL: Final = frozenset({Level.SAVE, Level.FORCE})
_NOTICES: Final = MappingProxyType(
    {
        Level.SUGGEST: "A handoff soon is wise",
        Level.SAVE: "All is saved: hand over now",
        Level.FORCE: "All is saved: clear or compact now",
    }
)
_WRITERS: Final = MappingProxyType({"claude": "claude-code", "codex": "codex", "copilot": "copilot"})
"""The hosts whose transcripts can be read."""
_FORGETFUL: Final = frozenset({"copilot"})
"""The hosts that do not call when a compaction is over: the next prompt briefs the session anew."""


def end_turn(scene: Scene) -> Reply:
    """Take in what the turn did, see whether the brief arrived, and publish when it is time.

    A context that is nearly full is a reason to publish, and one that is full to tell the person (C38). That
    it fills up is said by the status line; where there is none, here, once.
    """
    source = _open_source(scene)
    account = _look(scene, scene.find() or _start(scene), source)
    reading, is_news = _read_level(scene, source)
    if reading is not None and reading.level in _NEARLY_FULL:
        _publish(scene, account, "token-budget")
    elif is_due(scene.project, account.session, _interval(scene)):
        _publish(scene, account, "turn-end")
    if reading is None or not (is_news or reading.level is Level.FORCE):
        return Reply()
    full = f"the context is {reading.percent} % full"
    return Reply(notice=f"Passdown: {full}. {_NOTICES[reading.level]}")


def _read_level(scene: Scene, source: Source | None) -> tuple[Reading | None, bool]:
    """Give how full the context is, by the transcript or else the status line, and whether to say so."""
    site = scene.open_site()
    known = read_level(site, scene.name)
    ladder = ladder_of(scene.project.checkout.settings.context)
    told = find_told(source, ladder, scene.project.now()) if source else None
    if told is None:
        return known, False
    if known is not None and known.level is told.level:
        return told, False
    note_level(site, scene.name, told)
    return told, told.level is not Level.LOW


def _start(scene: Scene) -> Account:
    """Start a session that nobody told us of."""
    from passdown.services.sessions import Wish, start_session  # noqa: PLC0415 - nearly always it runs

    wish = Wish(host=scene.platform, host_session=scene.call.session)
    return start_session(scene.project, wish).account


def save(scene: Scene) -> Reply:
    """Take in what was done and publish all of it: the history is about to be cut."""
    account = scene.find()
    if account is not None:
        _look(scene, account, _open_source(scene))
        _publish(scene, account, "pre-compact")
        if scene.platform in _FORGETFUL:
            leave_word(scene.open_site(), scene.name)
    return Reply()


def end_subagent(scene: Scene) -> Reply:
    """Take in what a subagent did, which its session's transcript leads to."""
    account = scene.find()
    if account is not None:
        _look(scene, account, _open_source(scene))
    return Reply()


def _interval(scene: Scene) -> timedelta:
    """Say how old the last event must be before the end of a turn publishes another (C57)."""
    return timedelta(minutes=scene.project.checkout.settings.events.publish_minutes)


def _publish(scene: Scene, account: Account, reason: str) -> None:
    from passdown.services.publications import publish  # noqa: PLC0415 - most turns publish nothing

    publish(scene.project, account.session, kind="checkpoint", reason=reason)


def _open_source(scene: Scene) -> Source | None:
    host = _WRITERS.get(scene.platform, "")
    if not scene.call.transcript or not host:
        return None
    return wiring.open_source(scene.root, Path(scene.call.transcript), host, may_come=True)


def _look(scene: Scene, account: Account, source: Source | None) -> Account:
    """Read what is new in the transcript; without one that can be read, nothing is."""
    if source is None:
        return account
    if scene.call.moment is Moment.TURN_END:
        await_turn_end(account, source)
    if not source.transcripts.size(source.path):  # it is not there yet
        return account
    if any(one.state == CUT for one in confirm(scene.project, account, source)):
        leave_word(scene.open_site(), scene.name)
    return observe(scene.project, account, source, with_files=False).kept.account
