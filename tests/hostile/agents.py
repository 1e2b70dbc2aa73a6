"""Documents as careless agents write them, and twelve ways in which they go further wrong.

The documents are read by nobody's rules but ours: odd headings, missing and extra sections, other
languages, tables with bars, nested lists, code fences, HTML. Each mutation says which report it must lead
to, if it breaks something.
"""

import re
from collections.abc import Callable
from typing import NamedTuple


class Written(NamedTuple):
    """A document with the format its author meant."""

    name: str
    format: str
    text: str


class Mutation(NamedTuple):
    """A change to a document; `report` is what its reader must then say, by format, as a pattern."""

    name: str
    apply: Callable[[str], str]
    report: Callable[[str], str] = lambda _: ""


LEDGERS = (
    Written(
        "short-ledger",
        "ledger",
        """---
updated: 2026-02-03T08:15:00Z
session_id: T-77aa
platform: amp
---

# Session Ledger

## Goal
Ship the CSV importer: rows over 10 MB included.

## State
### Done
- parser written
### Now
- streaming the reader
### Next
- tests
""",
    ),
    Written(
        "long-ledger",
        "ledger",
        """---
updated: 2026-02-04T10:00:00Z
session_id: 0f3c-99
platform: claude
bound_track: importer_20260204
bound_bead: bd-17
mode: SA
tdd_phase: RED
heartbeat: 2026-02-04T10:04:00Z
validation:
  gates_passed: [design, spec]
  current_gate: plan-execution
  retries: 1
  last_failure: coverage 60 %, wanted 80 %
---

# Session Ledger

## Active Task

bead: bd-17
track: importer_20260204

## Goal

Replace the importer. Done when the nightly job takes < 5 min
and no row is lost.

## State

### Done
- Measured the old importer: 42 min for 3 GB
- Wrote a failing test (`test_row_count`)
- Agreed with Ana on the file layout:
  1. one folder per day
  2. one file per shard
  3. manifest last

### Now
- Reading shards in parallel

### Next
- Backpressure
- [ ] Retry of broken shards
- [x] ask for a bigger test file

## Key Decisions

| Decision | Reasoning | When |
|----------|-----------|------|
| Threads, not processes | the parser releases the GIL \\| measured | 09:40 |
| Keep the old table | rollback within a day | 09:55 |
| No ORM | - | |

## Working Set

**Branch:** feature/importer

**Modified:**
- `src/importer/reader.py`
- `src/importer/shards.py`
- tests/test_reader.py

**Read:**
- `docs/layout.md` - the agreed layout
- `src/old/importer.py`

## Open Questions

- Who owns the manifest?
- What happens to shards that arrive late (> 24 h)?

## Validation History

| Gate | Status | Time | Notes |
|------|--------|------|-------|
| design | ✅ PASS | 08:30 | - |
| spec | ✅ PASS | 08:50 | edge cases listed |
| plan-execution | ❌ FAIL | 09:58 | coverage 60 %, wanted 80 % |
""",
    ),
    Written(
        "german-ledger",
        "ledger",
        """---
updated: 2026-02-05T07:00:00Z
session_id: übergabe-3
platform: codex
sprache: deutsch
---

# Session Ledger

## Goal

Die Anmeldung läuft über Schlüssel, nicht über Passwörter.

## State

### Done
- Schlüssel registriert (größer als 2048 Bit)
- Prüfung der Signatur, erster Entwurf

### Now
- Fehlerfälle prüfen

### Next
- Übersetzungen: „Straße“, „Ärger“

## Notizen

Bitte nichts an der Tabelle ändern, Rüdiger testet dort.

## Open Questions

- Was passiert bei Ablauf?
""",
    ),
    Written(
        "shouting-ledger",
        "ledger",
        """---
updated: 2026-02-06T12:00:00Z
session_id: S1
platform: gemini
---

# SESSION LEDGER

## ACTIVE TASK

bead: bd-3

## GOAL

GET THE BUILD GREEN

## STATE

### DONE
* found the flaky test
* pinned the clock

### NOW
* running it 500 times

### NEXT
+ unpin nothing

## Risks

- the runner has 2 cores only
""",
    ),
    Written(
        "chatty-ledger",
        "ledger",
        """---
updated: 2026-02-07T09:30:00Z
session_id: chat-1
platform: claude
---

Hi! I kept this ledger up to date as asked.

# Session Ledger

Everything below is current as of this morning.

## Goal

Move the docs to the new site.

## State

I am roughly half way.

### Done
Two things, both small:
- moved the images
- fixed links like [this one](https://example.org/docs#top)

### Now
Rewriting the front page.

### Next
- <b>redirects</b> from the old site
- <!-- ask Sam first --> delete the old bucket

## Key Decisions

We talked about it and kept MkDocs.

## Open Questions

Which domain do we use?
""",
    ),
    Written(
        "code-ledger",
        "ledger",
        """---
updated: 2026-02-08T16:45:00Z
session_id: code-9
platform: cursor
bound_track: null
bound_bead: null
---

# Session Ledger

## Goal

Make `passdown check` fast on big folders.

```sh
# how I measure
time passdown check .
---
## Goal of the script: none
```

## State

### Done
- Wrote the benchmark:
  ```python
  # Next
  for path in paths:
      check(path)  # - [ ] not an item
  ```
  and ran it twice

### Now
- Reading files with `os.scandir`

### Next
- Compare `~~~` and backticks

## Working Set

**Branch:** perf/scan

**Modified:**
- `src/scan.py`
- `bench/scan results.md`

**Read:**
- `docs/a - b.md` - a name with a dash
""",
    ),
    Written(
        "empty-sections-ledger",
        "ledger",
        """---
updated: 2026-02-09T06:00:00Z
session_id: fresh
platform: opencode
tdd_phase: null
---

# Session Ledger

## Active Task

## Goal

(none yet)

## State

### Done
- (none)

### Now
- looking around

### Next
-

## Key Decisions

| Decision | Reasoning | When |
|---|---|---|

## Working Set

**Branch:** main

**Modified:**

**Read:**

## Open Questions

- N/A

## Validation History

None
""",
    ),
    Written(
        "duplicate-ledger",
        "ledger",
        """---
updated: 2026-02-10T11:11:11Z
session_id: twice
session_id: again
platform: copilot
---

# Session Ledger

## Goal

First goal.

## State

### Done
- one

### Now
- two
- and three at once

### Next
- four

## Goal

Second goal, added later.

# Another title

## Working Set

**Branch:** main
**Branch:** other
""",
    ),
    Written(
        "malformed-ledger",
        "ledger",
        """---
updated: yesterday
session_id: 42
platform: claude | amp
mode: both
validation: {gates_passed: design}
a line that is no key
---

# Session Ledger

## State

### Done
- tried things

### Now
- trying more things

## Key Decisions

| Decision | Reasoning | When |
|----------|-----------|------|
| Stay | it works | 25:99 |
| Too | many | 10:00 | cells |

## Validation History

| Gate | Status | Time | Notes |
|------|--------|------|-------|
| design | maybe | 10:00 | unclear |
""",
    ),
)

STREAMS = (
    Written(
        "plain-stream",
        "stream",
        """---
date: 2026-01-20T10:00:00Z
session_name: importer
branch: feature/importer
status: active
---

# Work Stream: importer

## Ledger
**Updated:** 2026-01-20T11:30:00Z
**Goal:** The nightly job takes under five minutes
**Branch:** feature/importer
**Test:** uv run pytest -k importer

### Now
[->] Parallel reading

### This Session
- [x] Benchmark written

### Next
- [ ] Backpressure

### Decisions
- Threads: the parser releases the GIL

### Open Questions
- UNCONFIRMED: does staging have the big file?

### Workflow State
pattern: tdd
phase: 2
total_phases: 4
retries: 0
max_retries: 3

#### Resolved
- goal: "fast importer"
- resource_allocation: balanced

#### Unknowns
- file_size: UNKNOWN

#### Last Failure
(none)

---

## Context

All measurements are in bench/importer.md.
""",
    ),
    Written(
        "checkpoint-stream",
        "stream",
        """---
date: 2026-01-21T09:00:00Z
session_name: login
branch: main
status: active
---

# Work Stream: login

## Ledger
<!-- extracted by a hook -->
**Updated:** 2026-01-21T09:45:00Z
**Goal:** Passkey login
**Branch:** main
**Test:** npm test

### Now
[->] Verification

### This Session
- [x] Registration endpoint

### Next
- [ ] Cookie

### Decisions
- Protocol: WebAuthn (no passwords)

### Workflow State
pattern: hierarchical
phase: 2

#### Resolved
- goal: "Passkey login"

#### Unknowns
- attestation: UNKNOWN

#### Last Failure
TypeError in verify():
  expected bytes, got str

### Checkpoints
**Agent:** implementer
**Task:** Passkey login
**Started:** 2026-01-21T09:00:00Z
**Last Updated:** 2026-01-21T09:45:00Z

#### Phase Status
- Phase 1 (Tests): ✓ VALIDATED (8 tests)
- Phase 2 (Verification): -> in_progress (since nine)
- Phase 3: PENDING

#### Validation State
```json
{
  "test_count": 8,
  "tests_passing": 5,
  "files_modified": ["src/a.py"],
  "last_test_command": "npm test",
  "last_test_exit_code": 1,
  "flaky": ["t1"]
}
```

#### Resume Context
- Current focus: signature check
- Blockers: none known

---

## Context

See the threat model.

---

## Appendix

More.
""",
    ),
    Written(
        "bare-stream",
        "stream",
        """---
date: 2026-01-22T09:00:00Z
session_name: bare
branch: main
status: paused
owner: mina
---

# Work Stream: bare

## Ledger

**Goal:** keep the lights on

### Now
- fix the cron job

### Next
- [ ] rotate the keys
- write it down

## Context

No rule ends the ledger here.
""",
    ),
    Written(
        "japanese-stream",
        "stream",
        """---
date: 2026-01-23T09:00:00Z
session_name: honyaku
branch: i18n
status: active
---

# Work Stream: honyaku

## ledger
**Updated:** 2026-01-23T09:10:00Z
**Goal:** 全ての画面を翻訳する
**Branch:** i18n
**Test:** make i18n

### now
[->] 設定画面

### this session
- [x] ログイン画面 🎌
- [x] エラー文

### next
- [ ] ヘルプ

### decisions
- 文体: です・ます調

### Glossary
- 引き継ぎ = handoff

---

## Context

用語集は docs/glossary.md にある。
""",
    ),
    Written(
        "table-stream",
        "stream",
        """---
date: 2026-01-24T09:00:00Z
session_name: tables
branch: main
status: active
---

# Work Stream: tables

## Ledger
**Updated:** 2026-01-24T09:10:00Z
**Goal:** compare engines
**Branch:** main
**Test:** make bench

### Now
[->] Writing the report

### This Session
- [x] measured all three

| engine | ms |
|--------|----|
| a | 12 |
| b | 7 |

### Next
- [ ] decide

### Decisions
- Engine: b, unless memory matters

### Open Questions
- [ ] ask ops about memory
- UNKNOWN: cost

---

## Context

| raw | data |
|-----|------|
| 1 | 2 |
""",
    ),
    Written(
        "broken-stream",
        "stream",
        """---
date: soon
session_name: Broken Stream
branch: main
---

# Work Stream: Broken Stream

## Ledger
**Updated:** just now
**Goal:** recover

### Now
[->] read the logs
[->] and fix them

### Workflow State
pattern: none at all
phase: three

#### Resolved
- resource_allocation: plenty

#### Unknowns
- nobody knows

### Checkpoints

#### Phase Status
- Phase 1 (Logs): ✓ VALIDATED
- Step two: half done

#### Validation State
no JSON here, sorry

---

## Context

Gone.
""",
    ),
)

EVENTS = (
    Written(
        "plain-event",
        "event",
        """---
ts: 2026-01-10T13:03:52Z
agent: toast
branch: feat/paths
type: session_end
reason: clear
---

now: Create PR from fork:fix/paths to upstream:main

this_session:
- Forked the repository
- Wrapped 25 hooks

decisions:
  wrapper: "Use bash -c"

checkpoints:
- phase: 5
  status: validated
  updated: 2026-01-10T13:00:00Z

open_questions:
- Does it work on Windows?
""",
    ),
    Written(
        "list-event",
        "event",
        """---
ts: 2026-01-11T14:15:00Z
agent: waffle
branch: main
type: checkpoint
reason: milestone
---

this_session:
- fix: the thing that broke
- 'quoted: "inside" out'
- issue #12 closed
- [WIP] half a sentence
next:
- one
- two

decisions:
- keep: the old name
- drop: nothing

files_modified: [src/a.py, "src/b c.py"]
""",
    ),
    Written(
        "block-event",
        "event",
        """---
ts: 2026-01-12T08:00:00Z
agent: crisp
branch: fix/bug-b
type: session_end
reason: other
---

goal: |
  Make the importer fast.
  Lose no row.

now: >
  Reading shards
  in parallel

this_session:
- |
  Wrote the reader:
  - one thread per shard
- Ran it
""",
    ),
    Written(
        "prose-event",
        "event",
        """---
ts: 2026-01-13T08:00:00Z
agent: mina
branch: main
type: session_end
reason: prompt_input_exit
---

# What I did

I changed a few things and wrote them down:

- moved the files
- told nobody

## What comes next

Nothing, I hope. See `notes.md`.
""",
    ),
    Written(
        "greek-event",
        "event",
        """---
ts: 2026-01-14T08:00:00Z
agent: ωμέγα
branch: κλάδος/ένα
type: handoff
reason: tired
mood: 🙂
---

now: Γράφω τεστ

this_session:
- Διόρθωσα το σφάλμα 🎉
- Έγραψα οδηγίες

open_questions:
- Πότε βγαίνει;
""",
    ),
    Written(
        "broken-event",
        "event",
        """---
ts: around noon
agent: toast
type: session_end
---

now:
- two things
- at once

this_session: &anchor [a, b]

decisions: no map at all

checkpoints:
- phase: five
  status: nearly
""",
    ),
)

ARCHIVES = (
    Written(
        "plain-archive",
        "archive",
        """---
date: 2026-01-05T18:00:00Z
session_id: T-1
trigger: session-end
status: complete
---

# Session Handoff

## Summary

The importer is fast now.

## Completed

- parallel reader
- benchmark

## In Progress

- documentation

## Blocked

None

## Next Steps

1. publish
2. rest

## Key Decisions

| Decision | Reasoning |
|----------|-----------|
| Threads | GIL released |

## Artifacts

### Modified

| File | Change |
|------|--------|
| `src/reader.py` | parallel |

### Created

| File | Purpose |
|------|---------|
| `bench/reader.py` | measures |

## Context for Next Session

The big file is on staging.

## Open Questions

- Who publishes?
""",
    ),
    Written(
        "loose-archive",
        "archive",
        """---
date: 2026-01-06T18:00:00Z
session_id: T-2
trigger: coffee-break
status: handoff
mood: fine
---

# Session Handoff

## Summary

We stopped for coffee.

## Completed
* tried the new machine
* cleaned it

## Next Steps
- [ ] refill
- buy beans
  - dark ones
  - decaf for Jo

## Thanks

To everybody who waited.
""",
    ),
    Written(
        "spanish-archive",
        "archive",
        """---
date: 2026-01-07T18:00:00Z
session_id: sesión-3
trigger: stale
status: complete
---

# Traspaso de sesión

## Summary

El índice está a medias; mañana sigue Íñigo.

## Completed

- Índice de archivos (¿basta?)

## In Progress

- Búsqueda por año

## Context for Next Session

Los datos están en «data/año».
""",
    ),
    Written(
        "track-archive",
        "archive",
        """---
trigger: track-complete
track: importer_20260204
timestamp: 2026-01-08T18:00:00Z
thread: T-88
---

# Track complete: importer

## Summary

Done, merged, deployed.

## Key Decisions

| Decision | Reasoning | Owner |
|----------|-----------|-------|
| Threads | fast | Ana |

## Artifacts

Everything is in the merge commit:
- abc1234 the importer
- def5678 its tests
""",
    ),
)

DOCUMENTS = (*LEDGERS, *STREAMS, *EVENTS, *ARCHIVES)


def _after_first_item(text: str, added: str) -> str:
    return re.sub(r"(?m)^([-*] [^\n]*)\n", lambda match: f"{match[1]}\n{added}", text, count=1)


def _in_first_item(text: str, added: str) -> str:
    return re.sub(r"(?m)^([-*] [^\n]*)\n", lambda match: f"{match[1]}{added}\n", text, count=1)


def _in_front_matter(text: str, added: str) -> str:
    return text.replace("\n---\n", f"\n{added}---\n", 1)


def _without_section(text: str) -> str:
    """Drop the first of the parts that must be there: a section, or an event's agent."""
    parts = (
        r"(?ms)^## Summary\n.*?(?=^## )",
        r"(?ms)^### Next\n.*?(?=^#|^---|\Z)",
        r"(?ms)^#### Unknowns\n.*?(?=^#|^---|\Z)",
        r"(?ms)^### Now\n.*?(?=^#|^---|\Z)",
        r"(?m)^agent:[^\n]*\n",
    )
    changed = (re.sub(part, "", text, count=1, flags=re.IGNORECASE) for part in parts)
    return next(one for one in changed if one != text)


def _tabbed(text: str) -> str:
    return re.sub(r"(?m)^([-*]) ", "\\1\t", text).replace("\n## ", "\t\n## ").replace("\n- ", " \t\n- ")


MUTATIONS = (
    Mutation("colon-space", lambda text: _in_first_item(text, " note: see: below: ok")),
    Mutation("hash", lambda text: _in_first_item(text, " #12 and # more ## here")),
    Mutation("backticks", lambda text: _in_first_item(text, " with `one`, ``two`` and a lone ` tick")),
    Mutation("crlf", lambda text: text.replace("\n", "\r\n")),
    Mutation("tabs", _tabbed),
    Mutation(
        "nested-lists",
        lambda text: _after_first_item(text, "  - inner apple\n    - inner pear\n  1. inner fig\n"),
    ),
    Mutation(
        "fences",
        lambda text: _after_first_item(
            text, "  ```sh\n  ## Goal inside\n  --- inside\n  now: inside\n  ```\n"
        ),
    ),
    Mutation("emoji", lambda text: _in_first_item(text, " 🚀 done 👩‍💻 مرحبا")),
    Mutation("missing-part", _without_section, lambda _: "is missing"),
    Mutation("blank-lines", lambda text: text.replace("\n\n", "\n\n\n \n") + "\n\n\n"),
    Mutation(
        "unknown-keys", lambda text: _in_front_matter(text, "x-team: blue\nx-deep:\n  one: 1\n  two: [2]\n")
    ),
    Mutation(
        "unclosed-fence",
        lambda text: _after_first_item(text, "`````python\nleft = 'open'\n"),
        lambda kind: r"not `key: value`" if kind == "event" else "never closed",
    ),
)
