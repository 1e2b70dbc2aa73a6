"""Counts what a reader kept of a text, without using the reader: every line's words must be in the model.

A line is taken as written, its decoration is cut off by simple patterns, and the words that remain must
stand in the model, in order and side by side. Words that were found are used up, so that a line which
stands twice in the text must stand twice in the model. The longest lines are looked for first.
"""

import json
import re

STRUCTURE = re.compile(
    r"""(?ix)
    \s* (?:
      \#{1,3} \s* (?: active\ task | goal | state | done | now | next | key\ decisions | working\ set
        | open\ questions | validation\ history | ledger | this\ session | decisions | workflow\ state
        | checkpoints | summary | completed | in\ progress | blocked | next\ steps | artifacts
        | modified | created | context\ for\ next\ session | constraints | answers
        | phase | lane | run\ mode | current\ task | proposal | reconcile | pointers | notes
        | taxonomy\ decisions | architecture\ decisions | finish\ status
        | user\ feedback | turn\ [0-9]+ | track\ id | files\ modified | current\ state | decisions\ made
        | intent (?:\ \[PRESERVE\])? | constraints\ &\ ruled-out (?:\ \[PRESERVE\])?
        | open\ questions\ /\ todos ) \s*
      | \(leave\ blank\ (?: to\ continue | if\ approved ) [^\n]*
      | <!--\ session-context\ v1\ --> | <!--\ turn\ [^\n]* --> | <!--\ feedback\ -->
      | <!--\ nobody [^\n]* -->
      | \#{4} \s* (?: resolved | unknowns | last\ failure | phase\ status | validation\ state
        | resume\ context ) \s*
      | \| (?: \s* (?: decision | reasoning | why | date | when | gate | status | time | notes | file | change
        | purpose ) \s* \| )+
      | \|? [\s:|-]*
      | (?: `{3,} | ~{3,} ) \w*
      | (?: [-*+] | 1\. )? \s* (?: \( none (?: \ yet )? \) | none | n/a | \[\ \] | -)
      | [{}\[\],]+
      | _synthesized:
    ) \s*"""
)
KEYS = re.compile(
    r"""(?ix)
    (?: updated | session_id | platform | bound_track | bound_bead | mode | mode_locked_at
      | current_tasks | tdd_phase | heartbeat | validation | gates_passed | current_gate | retries
      | last_failure | bead | track | date | session_name | branch | status | pattern | phase
      | total_phases | max_retries | ts | agent | type | reason | goal | now | next | this_session
      | resolved_questions | answered_feedback | answers | origins | after | id | session | covers
      | decisions | checkpoints | open_questions | files_modified | trigger | event_count | latest_ts
      | generated_at | gates | gate | at | notes
      | "(?: test_count | tests_passing | files_modified | last_test_command | last_test_exit_code
        | agentId | mode | modeLockedAt | trackId | currentTask | currentTasks | tddPhase | lastUpdated
        | from | to | createdAt | expiresAt | content | context | taskId | files | priority )"
    ) : (?= \s | $)"""
)
LABELS = re.compile(
    r"(?i)^\s*\*\*(?:updated|goal|branch|test|agent|task|started|last updated|modified|read):\*\*"
    r"|^[-*•]\s*phase (?=\d)"
)
MARKERS = re.compile(
    r"^[\s>]*(?:(?:[-*+•→]|\d{1,9}[.)])\s+|\[(?:[ xX~-]|->|→)\]\s*|(?:UNCONFIRMED|UNKNOWN): )*"
)
NOTHING = re.compile(r"null,?|~|\[\]|\|-?|>|[{}\[\],]*")
BORDER = "¦"
USED = "§"
WORDS = re.compile(r"[^\W_]+|[\U0001f300-\U0001faff]")


def words_of(text: str) -> list[str]:
    """The words of a text, and its emoji, without case."""
    return WORDS.findall(text.casefold())


def strings_of(data: object) -> list[str]:
    """All texts and numbers of a model, in order; names of fields are not among them."""
    if isinstance(data, dict):
        return [text for value in data.values() for text in strings_of(value)]
    if isinstance(data, list):
        return [text for value in data for text in strings_of(value)]
    return [] if data is None else [data if isinstance(data, str) else json.dumps(data)]


def bare_words(line: str) -> list[str]:
    """The words of a line that a reader must keep; none when it is structure only."""
    if STRUCTURE.fullmatch(line):
        return []
    bare = MARKERS.sub("", LABELS.sub("", line, count=1))
    key = KEYS.match(bare)
    said = bare[key.end() :].strip() if key else bare
    return [] if NOTHING.fullmatch(said) else words_of(said)


def lost_lines(text: str, data: object) -> list[str]:
    """The lines of a text whose words are not in the model, or not as often."""
    said = [" ".join(words_of(one)) for one in strings_of(data)]
    kept = f" {f' {BORDER} '.join(filter(None, said))} "
    lost = []
    for line in sorted(text.splitlines(), key=lambda one: -len(bare_words(one))):
        words = bare_words(line)
        found = _find(words, kept) if words else None
        if found:
            kept = f"{kept[: found.start()]} {USED} {kept[found.end() :]}"
        elif words:
            lost.append(line)
    return lost


def _find(words: list[str], kept: str) -> re.Match[str] | None:
    """The words in one text of the model, or else, as the cells of a row are, in texts side by side."""
    together = re.search(f" {' '.join(words)} ", kept)
    return together or re.search(f" {f' (?:{BORDER} )*'.join(words)} ", kept)
