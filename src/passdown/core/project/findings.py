"""The problems that `passdown doctor` can find in a project, each with a code, a path and a hint."""

import re
from collections.abc import Iterator, Sequence
from datetime import datetime, timedelta
from enum import StrEnum
from typing import Annotated, Final

from passdown import layout
from passdown.core.lazy_regex import pattern
from passdown.core.problems import Severity
from passdown.core.safe_text import one_line
from passdown.core.times import age_words, is_older, render_seconds
from passdown.records import record

SKEW: Final = timedelta(minutes=5)
"""How far clocks may differ before it is reported (C10)."""

MANY_FILES: Final = 5_000
"""The number of live events above which one folder per day is suggested (C48)."""

SLOW_TRIP: Final = 0.02
"""The seconds of a round trip to the coordination server from which on it is reported.

A server in the same region answers in 1 to 5 ms. From here on a claim waits longer for messages than for
everything else.
"""
CLAIM_TRIPS: Final = 40
"""How many messages a claim sends to a server one after the other; a session's first sends 17 more."""
CONNECT_TRIPS: Final = 9
"""How many of them connect, where the server asks for TLS and a password; PgBouncer answers these itself."""

_NAMED: Final = 3
_LISTED: Final = 10
_LONGEST: Final = 200
_PLAIN: Final = pattern(r"[\w@%+=:,./-]+", re.ASCII)
_FIX: Final = "`passdown doctor --fix`"


class FindingKind(StrEnum):
    """The code of a finding, for programs and people."""

    NOT_SET_UP = "not-set-up"
    SETTINGS = "settings"
    SERVER = "server"
    COORDINATION = "coordination"
    NOT_IGNORED = "not-ignored"
    TRACKED = "tracked"
    IGNORED = "ignored"
    LINE_ENDS = "line-ends"
    VIEW_MERGE = "view-merge"
    GENERATED = "generated"
    LEFTOVERS = "leftovers"
    VIEW = "view"
    KEPT_VIEW = "kept-view"
    EVENTS = "events"
    SESSION = "session"
    JOURNAL = "journal"
    ARCHIVE = "archive"
    CONFLICTS = "conflicts"
    CLOCK = "clock"
    CACHE = "cache"
    LAYOUT = "layout"
    DOCUMENTS = "documents"
    PAUSED = "paused"
    HOOKS = "hooks"
    PLUGIN = "plugin"
    SANDBOX = "sandbox"
    TRANSCRIPTS = "transcripts"


class CacheHealth(StrEnum):
    """Whether the cache can be used, and where it is."""

    GOOD = "good"
    UNUSABLE = "unusable"
    REMOTE = "remote"


@record
class Finding:
    """One thing that is wrong, and what to do next."""

    code: Annotated[FindingKind, "The kind of finding."]
    what: Annotated[str, "What is wrong."]
    hint: Annotated[str, "What to do next."]
    where: Annotated[str, "The path it is about; empty if it is about none."] = ""
    severity: Annotated[Severity, "A warning does not make the command fail."] = Severity.ERROR
    is_fixable: Annotated[bool, "Whether `--fix` can fix it."] = False


# --- set-up ---------------------------------------------------------------------------------------


def not_set_up() -> Finding:
    """Passdown is not set up here."""
    return Finding(
        code=FindingKind.NOT_SET_UP,
        what="there is no passdown.toml, so nothing runs automatically",
        hint="run `passdown init`; it shows the changes and asks",
        where=layout.SETTINGS,
        severity=Severity.WARNING,
    )


def odd_settings(warning: str, severity: Severity = Severity.WARNING) -> Finding:
    """A setting is unknown or cannot be read."""
    return Finding(code=FindingKind.SETTINGS, what=warning, hint="fix it there", severity=severity)


def no_server(trouble: str, hint: str, file: str) -> Finding:
    """Sessions cannot coordinate, because no server is named; the user names it in `file`."""
    return Finding(code=FindingKind.SERVER, what=trouble, hint=hint, where=file)


def judge_round_trip(seconds: float) -> Finding | None:
    """Return a finding if the messages of a command to the server take longer than its work."""
    if seconds < SLOW_TRIP:
        return None
    what = (
        f"the coordination server takes {seconds * 1000:.0f} ms to answer a message, so a claim, which sends "
        f"about {CLAIM_TRIPS}, waits {seconds * CLAIM_TRIPS:.1f} s"
    )
    hint = (
        "use a server nearer to the agents; PgBouncer on their machine saves the messages that connect, "
        f"up to {CONNECT_TRIPS} for each command"
    )
    return Finding(code=FindingKind.SERVER, what=what, hint=hint, severity=Severity.WARNING)


def lost_coordination(lost: str) -> Finding:
    """The coordination database is not the one that was there before."""
    what = f"the coordination database {lost}"
    hint = "run `passdown status`, or any other command that coordinates, to restore what is known"
    return Finding(code=FindingKind.COORDINATION, what=what, hint=hint)


def restored_coordination(told: str) -> Finding:
    """The coordination database was restored recently."""
    hint = "check `passdown status` for anything missing; this notice goes away after three days of work"
    return Finding(code=FindingKind.COORDINATION, what=told, hint=hint, severity=Severity.WARNING)


def not_ignored(paths: Sequence[str], *, is_set_up: bool, has_rules: bool) -> Finding:
    """Git would commit files that belong only to this machine."""
    if not is_set_up:
        hint = "run `passdown init` to write the missing rules"
    elif has_rules:
        hint = "the rules exist: look for a later ! rule that undoes them, and check that `git status` works"
    else:
        hint = f"run {_FIX} to write the missing rules"
    what = f"git does not ignore {', '.join(paths)}"
    is_fixable = is_set_up and not has_rules
    return Finding(code=FindingKind.NOT_IGNORED, what=what, hint=hint, where=paths[0], is_fixable=is_fixable)


def tracked(folder: str, paths: Sequence[str]) -> Finding:
    """Git tracks files that belong only to one machine."""
    what = f"git tracks {_few(paths)}"
    hint = f"keep it local: run `git rm -r --cached -- {_quoted(folder)}`, then commit; the file stays"
    return Finding(code=FindingKind.TRACKED, what=what, hint=hint, where=paths[0])


def tracked_state(paths: Sequence[str], folder: str) -> Iterator[Finding]:
    """Git tracks files that look like state of this machine; anyone can have committed them (C119)."""
    for path in paths[:_LISTED]:
        what = f"git tracks {path}, so Passdown ignores it: anyone can have committed it"
        quoted = _quoted(path)
        hint = f"run `git rm -- {quoted}`, or `git rm --cached -- {quoted}` if this machine wrote it"
        yield Finding(code=FindingKind.TRACKED, what=what, hint=hint, where=path)
    more = len(paths) - _LISTED
    if more > 0:
        what = f"git tracks {_count(more, 'more file')} of local state, which Passdown ignores"
        hint = f"`git ls-files -- {_quoted(folder)}` lists them; remove them with `git rm`, then commit"
        yield Finding(code=FindingKind.TRACKED, what=what, hint=hint, where=paths[_LISTED])


def unknown_tracked(folder: str) -> Finding:
    """Git does not list what it tracks, so Passdown trusts no state file in the checkout."""
    what = f"git does not list the files it tracks, so Passdown ignores everything in {folder}"
    hint = "check that `git ls-files` works here and that you can read git's index"
    return Finding(code=FindingKind.TRACKED, what=what, hint=hint, where=folder)


def ignored(paths: Sequence[str], probe: str) -> Finding:
    """Git ignores files that others need; `probe` is the name of such a file."""
    what = f"git ignores {_few(paths)}"
    hint = f"others need it; `git check-ignore --verbose {_quoted(probe)}` shows which rule ignores it"
    return Finding(code=FindingKind.IGNORED, what=what, hint=hint, where=paths[0])


def line_ends(path: str) -> Finding:
    """Git may change the line endings of events, and so their hashes."""
    hint = f"run {_FIX} to write the rules"
    what = f"{path} lets git change the line endings of events"
    return Finding(code=FindingKind.LINE_ENDS, what=what, hint=hint, where=path, is_fixable=True)


def no_view_merge(path: str, view: str) -> Finding:
    """Git may report conflicts in the view when two clones are merged."""
    hint = f"run {_FIX} to write the rule, and commit {path}"
    what = f"{path} does not set merge=union for {view}, so a merge can conflict in it"
    return Finding(code=FindingKind.VIEW_MERGE, what=what, hint=hint, where=path, is_fixable=True)


def not_generated(path: str) -> Finding:
    """Forges show events, rollups and records in full in pull requests."""
    return Finding(
        code=FindingKind.GENERATED,
        what=f"{path} does not mark events and records as generated, so pull requests show them in full",
        hint=f"run {_FIX} to write the rules, and commit {path}",
        where=path,
        severity=Severity.WARNING,
        is_fixable=True,
    )


def leftovers(paths: Sequence[str]) -> Finding:
    """Killed processes left unfinished writes."""
    what = f"{_count(len(paths), 'unfinished write')} left by killed processes"
    hint = f"run {_FIX} to remove {_few(paths)}"
    return Finding(code=FindingKind.LEFTOVERS, what=what, hint=hint, where=paths[0], is_fixable=True)


# --- events and view --------------------------------------------------------------------------------


def outdated_view(path: str, state: str) -> Finding:
    """The view does not match the events.

    This is only a warning if the next commit of a session rebuilds the view.
    """
    said = {
        "missing": "is missing",
        "edited": "was edited by hand",
        "merged": "was merged by git and not rebuilt",
        "other-renderer": "was made by another version of Passdown",
    }.get(state, "is older than its events")
    hint = f"run {_FIX} or `passdown synthesize` to rebuild it"
    if state in {"edited", "merged"}:
        hint += "; it keeps a copy of the edited file"
    severity = Severity.ERROR if state == "edited" else Severity.WARNING
    what = f"{path} {said}"
    return Finding(
        code=FindingKind.VIEW, what=what, hint=hint, where=path, severity=severity, is_fixable=True
    )


def foreign_view(path: str) -> Finding:
    """The view's path holds a document that Passdown did not write."""
    hint = "run `passdown migrate` to import it as an event; nothing in it is lost"
    return Finding(code=FindingKind.VIEW, what=f"{path} was not made by Passdown", hint=hint, where=path)


def kept_view(path: str, count: int) -> Finding:
    """A copy of a view holds lines that someone wrote by hand and that are in no event."""
    what = f"{path} has {_count(count, 'line')} that no event has"
    hint = f"run `passdown migrate {_quoted(path)}` to publish what fits in an event, then remove the file"
    return Finding(code=FindingKind.KEPT_VIEW, what=what, hint=hint, where=path, severity=Severity.WARNING)


def altered_events(paths: Sequence[str]) -> Finding:
    """Events are missing or were altered."""
    what = f"{_count(len(paths), 'event')} missing or altered"
    hint = "`passdown view verify` lists them; git may have the originals"
    return Finding(code=FindingKind.EVENTS, what=what, hint=hint, where=paths[0])


def unread_events(paths: Sequence[str]) -> Finding:
    """Some event files cannot be read, so they are not merged."""
    what = f"{_count(len(paths), 'event file')} skipped, and left out of the view: {_few(paths)}"
    hint = "`passdown view verify` lists them with their problems"
    return Finding(code=FindingKind.EVENTS, what=what, hint=hint, where=paths[0])


def judge_layout(folder: str, count: int) -> Finding | None:
    """Return a finding if a folder has so many files that listing it is slow (C48)."""
    if count <= MANY_FILES:
        return None
    what = f"{folder} has {count} files"
    hint = 'remove layout = "flat" under [events] to store new events in one folder per day'
    return Finding(code=FindingKind.LAYOUT, what=what, hint=hint, where=folder, severity=Severity.WARNING)


# --- sessions and clocks --------------------------------------------------------------------------


def stale_session(agent: str, silent: timedelta, *, has_ended: bool) -> Finding:
    """A session ended or crashed, and its record is not published yet; normally the next start does it."""
    if has_ended:
        what = f"{agent} ended {age_words(silent)} ago; its record is published at the next start"
    else:
        what = f"{agent} was last seen {age_words(silent)} ago and did not end"
    hint = f"the next session start publishes its record; to do it now, run {_FIX}"
    return Finding(code=FindingKind.SESSION, what=what, hint=hint, severity=Severity.WARNING, is_fixable=True)


def strange_ledger(session: str, told: str, used: str) -> Finding:
    """A journal names a ledger outside the ledger folder."""
    what = f"the journal of {session} names {one_line(told)[:_LONGEST]} as its ledger; Passdown ignores that"
    hint = (
        f"Passdown uses {used}; if you did not change `ledgers` under [paths], find out who wrote the journal"
    )
    return Finding(code=FindingKind.JOURNAL, what=what, hint=hint, severity=Severity.WARNING)


def damaged_journal(path: str, count: int, problem: str, *, is_known: bool) -> Finding:
    """A journal that is still needed has unreadable lines."""
    what = f"{_count(count, 'line')} of {path} cannot be read"
    hint = f"it {problem}; the other lines are safe, and `passdown end` publishes them"
    if not is_known:
        hint = f"it {problem} and names no session: look at the file, then move it away"
    return Finding(code=FindingKind.JOURNAL, what=what, hint=hint, where=path)


def conflicts(what: str, hint: str) -> Finding:
    """A merge stopped because several clones archived the same events."""
    return Finding(code=FindingKind.CONFLICTS, what=what, hint=hint)


def due_archive(what: str, who: str, hint: str) -> Finding:
    """Events wait to be archived, and no session does it."""
    return Finding(code=FindingKind.ARCHIVE, what=f"{what} wait: {who}", hint=hint, severity=Severity.WARNING)


def future_event(event: str, at: datetime) -> Finding:
    """An event is dated so far ahead that new events do not follow its time (C115)."""
    what = f"event {event} is dated {render_seconds(at)}"
    hint = (
        "it is far ahead and overrides other events until one names it; "
        f"if the date is wrong, run `passdown log retract {_quoted(event)}`"
    )
    return Finding(code=FindingKind.CLOCK, what=what, hint=hint)


def judge_clock(now: datetime, newest: datetime | None) -> Finding | None:
    """Return a finding if this machine's clock is further behind the newest event than clocks may differ."""
    if newest is None or not is_older(now, newest, SKEW):
        return None
    what = f"this machine's clock is {age_words(newest - now)} behind the newest event"
    hint = (
        f"it says {render_seconds(now)}: set it if that is wrong; otherwise another machine's clock is ahead"
    )
    return Finding(code=FindingKind.CLOCK, what=what, hint=hint)


# --- the rest ---------------------------------------------------------------------------------------


def judge_cache_place(*, is_usable: bool, is_remote: bool) -> CacheHealth:
    """Return the health of a cache."""
    if not is_usable:
        return CacheHealth.UNUSABLE
    return CacheHealth.REMOTE if is_remote else CacheHealth.GOOD


def judge_cache(cache: CacheHealth, folder: str) -> Finding | None:
    """Return a finding if the cache cannot be used or is not on a local disk; that only costs time."""
    if cache is CacheHealth.GOOD:
        return None
    if cache is CacheHealth.UNUSABLE:
        what = f"the cache in {folder} cannot be used"
        hint = "everything works, only slower: check that the folder is writable and has free space"
    else:
        what = f"the cache in {folder} is not on a local disk"
        hint = "everything works, only slower; a checkout on a local disk is faster"
    return Finding(code=FindingKind.CACHE, what=what, hint=hint, where=folder, severity=Severity.WARNING)


def broken_documents(paths: Sequence[str], errors: int) -> Finding:
    """Documents have errors."""
    what = f"{_count(errors, 'error')} in {_few(paths)}"
    hint = "`passdown check` lists them; with --fix it repairs what is safe to repair"
    return Finding(code=FindingKind.DOCUMENTS, what=what, hint=hint, where=paths[0])


def silent_hooks(title: str, host: str, line: str, reason: str) -> Finding:
    """The hooks of a host do not answer."""
    what = f"the hooks of {title} do not answer: {line}: {reason}"
    hint = f"check that passdown is still installed there, or run `passdown install {host}` again"
    return Finding(code=FindingKind.HOOKS, what=what, hint=hint)


def outdated_plugin(title: str, host: str, paths: Sequence[str]) -> Finding:
    """The plugin in a host is not the one that this version of Passdown would install."""
    what = f"the plugin of {title} is from another version of Passdown: {_few(paths)}"
    what += " differs" if len(paths) == 1 else " differ"
    hint = f"its hooks and skills still work; run `passdown install {host}` to update it"
    return Finding(code=FindingKind.PLUGIN, what=what, hint=hint, severity=Severity.WARNING)


def closed_sandbox(title: str, host: str, root: str) -> Finding:
    """A host has the plugin, but its sandbox may not write to the folder in which sessions record."""
    what = f"the workspace sandbox of {title} may not write to {root}"
    hint = (
        f"sessions in it cannot record, claim or reserve; run `passdown install {host}` here to let it write"
    )
    return Finding(code=FindingKind.SANDBOX, what=what, hint=hint, severity=Severity.WARNING)


def due_transcripts(title: str, host: str, count: int, days: int) -> Finding:
    """A host will delete transcripts of this project that were not imported."""
    when = f"in {_count(days, 'day')}" if days else "at its next start"
    what = f"{title} will delete {_count(count, 'transcript')} of this project, the first {when}"
    hint = f"run `passdown import --host {host}` to keep what they say, for search"
    return Finding(code=FindingKind.TRANSCRIPTS, what=what, hint=hint, severity=Severity.WARNING)


def paused(by: str, since: datetime | None, *, is_variable: bool) -> Finding:
    """Passdown is paused."""
    what = f"Passdown is paused by {by}" + (f" since {render_seconds(since)}" if since else "")
    hint = f"unset {by} in the environment" if is_variable else "run `passdown unpause` to end the pause"
    return Finding(code=FindingKind.PAUSED, what=what, hint=hint, severity=Severity.WARNING)


def _quoted(path: str) -> str:
    """Quote a path for a shell, if needed."""
    return path if _PLAIN.fullmatch(path) else "'" + path.replace("'", "'\\''") + "'"


def _few(paths: Sequence[str]) -> str:
    more = len(paths) - _NAMED
    return ", ".join(paths[:_NAMED]) + (f" and {more} more" if more > 0 else "")


def _count(number: int, noun: str) -> str:
    return f"{number} {noun}" if number == 1 else f"{number} {noun}s"
