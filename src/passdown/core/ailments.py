"""What can be wrong with a project as a whole: each ailment has a name, a place and what to do next."""

import re
from collections.abc import Sequence
from datetime import datetime, timedelta
from enum import StrEnum
from typing import Annotated, Final

from passdown.core.patterns import pattern
from passdown.core.problems import Severity
from passdown.core.times import age_words, is_older, render_seconds
from passdown.records import record

SKEW: Final = timedelta(minutes=5)
"""How far clocks may disagree before it is said (C10)."""

MANY_FILES: Final = 5_000
"""Above so many live events a folder for each day is proposed (C48)."""

_NAMED: Final = 3
_PLAIN: Final = pattern(r"[\w@%+=:,./-]+", re.ASCII)
_FIX: Final = "`passdown doctor --fix`"


class Ailment(StrEnum):
    """The name of what is wrong, for programs and people."""

    NOT_SET_UP = "not-set-up"
    SETTINGS = "settings"
    NOT_IGNORED = "not-ignored"
    TRACKED = "tracked"
    IGNORED = "ignored"
    LINE_ENDS = "line-ends"
    LEFTOVERS = "leftovers"
    VIEW = "view"
    EVENTS = "events"
    SESSION = "session"
    JOURNAL = "journal"
    CLOCK = "clock"
    CACHE = "cache"
    LAYOUT = "layout"
    DOCUMENTS = "documents"
    PAUSED = "paused"
    HOOKS = "hooks"


class Cache(StrEnum):
    """Whether what was read before is remembered."""

    GOOD = "good"
    UNUSABLE = "unusable"
    REMOTE = "remote"


@record
class Finding:
    """One thing that is wrong, and what to do next."""

    code: Annotated[Ailment, "What kind of thing it is."]
    what: Annotated[str, "What is wrong."]
    hint: Annotated[str, "What to do next."]
    where: Annotated[str, "The path it is about; empty if it is about none."] = ""
    severity: Annotated[Severity, "A warning is no reason to fail."] = Severity.ERROR
    is_fixable: Annotated[bool, "Whether `--fix` mends it."] = False


# --- set-up ---------------------------------------------------------------------------------------


def not_set_up() -> Finding:
    """Nobody agreed that Passdown works here by itself."""
    return Finding(
        code=Ailment.NOT_SET_UP,
        what="there is no passdown.toml, so nothing runs by itself",
        hint="`passdown init` shows what it needs, and asks",
        where="passdown.toml",
    )


def odd_settings(warning: str, severity: Severity = Severity.WARNING) -> Finding:
    """A setting is not what somebody meant."""
    return Finding(code=Ailment.SETTINGS, what=warning, hint="mend the file it names", severity=severity)


def not_ignored(paths: Sequence[str], *, is_set_up: bool, has_rules: bool) -> Finding:
    """Git would commit files that are for this machine alone."""
    if not is_set_up:
        hint = "`passdown init` writes the rules that are missing"
    elif has_rules:
        hint = "ours is there: look for a later rule with ! that undoes it; does `git status` work?"
    else:
        hint = f"{_FIX} writes the rules that are missing"
    what = f"git does not ignore {', '.join(paths)}"
    is_fixable = is_set_up and not has_rules
    return Finding(code=Ailment.NOT_IGNORED, what=what, hint=hint, where=paths[0], is_fixable=is_fixable)


def tracked(folder: str, paths: Sequence[str]) -> Finding:
    """Git has files that are for one machine alone."""
    what = f"git tracks {_few(paths)}"
    hint = f"it is local: `git rm -r --cached -- {_quoted(folder)}` keeps the file; then commit"
    return Finding(code=Ailment.TRACKED, what=what, hint=hint, where=paths[0])


def ignored(paths: Sequence[str], probe: str) -> Finding:
    """Git keeps out what others need; a file of that name would be one."""
    what = f"git ignores {_few(paths)}"
    hint = f"it is for all to have; `git check-ignore --verbose {_quoted(probe)}` names the rule"
    return Finding(code=Ailment.IGNORED, what=what, hint=hint, where=paths[0])


def line_ends(path: str) -> Finding:
    """Git may change the line ends of events, and then their hashes."""
    hint = f"{_FIX} writes the rules"
    what = f"{path} lets git change line ends of events"
    return Finding(code=Ailment.LINE_ENDS, what=what, hint=hint, where=path, is_fixable=True)


def leftovers(paths: Sequence[str]) -> Finding:
    """Killed processes left unfinished writes behind."""
    what = f"{_count(len(paths), 'unfinished write')} of killed processes"
    hint = f"{_FIX} removes {_few(paths)}"
    return Finding(code=Ailment.LEFTOVERS, what=what, hint=hint, where=paths[0], is_fixable=True)


# --- events and view --------------------------------------------------------------------------------


def outdated_view(path: str, state: str) -> Finding:
    """The view does not show what the events say."""
    said = {
        "missing": "is missing",
        "edited": "was edited by hand",
        "other-renderer": "was made by another version of Passdown",
    }.get(state, "is older than its events")
    hint = f"{_FIX} makes it anew, as `passdown synthesize` does"
    if state == "edited":
        hint += "; it keeps a copy of what was edited"
    return Finding(code=Ailment.VIEW, what=f"{path} {said}", hint=hint, where=path, is_fixable=True)


def foreign_view(path: str) -> Finding:
    """A document of somebody else lies in the view's place."""
    hint = "`passdown migrate` takes it over as an event; nothing in it is lost"
    return Finding(code=Ailment.VIEW, what=f"{path} was not made by Passdown", hint=hint, where=path)


def altered_events(paths: Sequence[str]) -> Finding:
    """Events are not what they were."""
    what = f"{_count(len(paths), 'event')} missing or altered"
    hint = "`passdown view verify` names each; git may have it as it was"
    return Finding(code=Ailment.EVENTS, what=what, hint=hint, where=paths[0])


def unread_events(paths: Sequence[str]) -> Finding:
    """Events cannot be merged."""
    what = f"{_count(len(paths), 'event file')} cannot be read, and left out of the view"
    hint = "`passdown view verify` names each, and its problem"
    return Finding(code=Ailment.EVENTS, what=what, hint=hint, where=paths[0])


def judge_layout(folder: str, count: int) -> Finding | None:
    """Say whether so many files lie in one folder that listing it is felt (C48)."""
    if count <= MANY_FILES:
        return None
    what = f"{count} files lie in {folder}"
    hint = 'below [events], write layout = "day": new events get a folder for each day'
    return Finding(code=Ailment.LAYOUT, what=what, hint=hint, where=folder, severity=Severity.WARNING)


# --- sessions and clocks --------------------------------------------------------------------------


def stale_session(agent: str, silent: timedelta, *, has_ended: bool) -> Finding:
    """A session is over, and what it knew is not published."""
    if has_ended:
        what = f"{agent} ended {age_words(silent)} ago, and is not published"
    else:
        what = f"{agent} was last seen {age_words(silent)} ago, and never ended"
    hint = f"{_FIX} publishes what it knew, and ends it; so does `passdown start`"
    return Finding(code=Ailment.SESSION, what=what, hint=hint, is_fixable=True)


def damaged_journal(path: str, count: int, problem: str, *, is_known: bool) -> Finding:
    """Lines of a journal that is still needed cannot be read."""
    what = f"{_count(count, 'line')} of {path} cannot be read"
    hint = f"it {problem}; whole lines are safe, and `passdown end` publishes them"
    if not is_known:
        hint = f"it {problem}, and tells of no session: look at it, and move it away"
    return Finding(code=Ailment.JOURNAL, what=what, hint=hint, where=path)


def future_event(event: str, at: datetime) -> Finding:
    """An event is dated so far ahead that no writer follows it (C26)."""
    what = f"event {event} is dated {render_seconds(at)}"
    hint = f"that is far ahead, and wins over all; if it is wrong: `passdown event retract {_quoted(event)}`"
    return Finding(code=Ailment.CLOCK, what=what, hint=hint)


def judge_clock(now: datetime, newest: datetime | None) -> Finding | None:
    """Say whether this machine's clock is behind the newest event by more than clocks disagree."""
    if newest is None or not is_older(now, newest, SKEW):
        return None
    what = f"this machine's clock is {age_words(newest - now)} behind the newest event"
    hint = f"it says {render_seconds(now)}: set it, if that is wrong; else another machine's is ahead"
    return Finding(code=Ailment.CLOCK, what=what, hint=hint)


# --- the rest ---------------------------------------------------------------------------------------


def judge_cache(cache: Cache, folder: str) -> Finding | None:
    """Say what is wrong with the cache, which costs time and nothing else."""
    if cache is Cache.GOOD:
        return None
    if cache is Cache.UNUSABLE:
        what = f"the cache in {folder} cannot be used"
        hint = "all works, but slower: see that it is a folder that you may write in, with space"
    else:
        what = f"the cache in {folder} is on no local disk"
        hint = "all works, but slower; a checkout on a disk of this machine is faster"
    return Finding(code=Ailment.CACHE, what=what, hint=hint, where=folder, severity=Severity.WARNING)


def broken_documents(paths: Sequence[str], errors: int) -> Finding:
    """Documents have errors."""
    what = f"{_count(errors, 'error')} in {_few(paths)}"
    hint = "`passdown check` names each; with --fix it repairs what is safe to repair"
    return Finding(code=Ailment.DOCUMENTS, what=what, hint=hint, where=paths[0])


def silent_hooks(title: str, host: str, line: str, reason: str) -> Finding:
    """What a host calls at the moments of a session does not answer."""
    what = f"the hooks of {title} do not answer: {line}: {reason}"
    hint = f"is it still installed there? `passdown install {host}` writes the line anew"
    return Finding(code=Ailment.HOOKS, what=what, hint=hint)


def paused(by: str, since: datetime | None, *, is_variable: bool) -> Finding:
    """What runs by itself does nothing."""
    what = f"held off by {by}" + (f" since {render_seconds(since)}" if since else "")
    hint = f"take {by} out of the environment" if is_variable else "`passdown unpause` lets it work again"
    return Finding(code=Ailment.PAUSED, what=what, hint=hint, severity=Severity.WARNING)


def _quoted(path: str) -> str:
    """Write a path as a shell takes it for one word."""
    return path if _PLAIN.fullmatch(path) else "'" + path.replace("'", "'\\''") + "'"


def _few(paths: Sequence[str]) -> str:
    more = len(paths) - _NAMED
    return ", ".join(paths[:_NAMED]) + (f" and {more} more" if more > 0 else "")


def _count(number: int, noun: str) -> str:
    return f"{number} {noun}" if number == 1 else f"{number} {noun}s"
