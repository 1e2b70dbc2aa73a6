-- What was merged from the events of one checkout. All of it can be rebuilt from the files.

CREATE TABLE folders (
    path TEXT PRIMARY KEY,
    mark INTEGER NOT NULL
) WITHOUT ROWID;

-- `committed` is 1 if the file was found in a commit since it was read.
CREATE TABLE files (
    id INTEGER PRIMARY KEY,
    folder TEXT NOT NULL,
    name TEXT NOT NULL,
    size INTEGER NOT NULL,
    changed INTEGER NOT NULL,
    number INTEGER NOT NULL,
    skipped INTEGER NOT NULL,
    committed INTEGER NOT NULL DEFAULT 0
);

-- How many files of the log were left unread by the last change: with any, the index is incomplete.
CREATE TABLE progress (
    id INTEGER PRIMARY KEY CHECK (id = 0),
    unread INTEGER NOT NULL
);

-- One row per event, wherever it is stored. `void` is 1 if another event retracts it. `rank` and `cause` are
-- its place, `ts` its stamp; `odd` is 1 if that is not all, or if what it states is not as old as it says.
-- `followed` is 1 if another event comes after it. `track` is empty for an event of none.
CREATE TABLE sources (
    id INTEGER PRIMARY KEY,
    hash TEXT NOT NULL,
    ts INTEGER NOT NULL,
    agent TEXT NOT NULL,
    name TEXT NOT NULL,
    branch TEXT NOT NULL,
    type TEXT NOT NULL,
    session TEXT NOT NULL,
    covered INTEGER NOT NULL,
    after TEXT NOT NULL,
    ahead TEXT NOT NULL,
    rank INTEGER NOT NULL,
    cause INTEGER NOT NULL,
    odd INTEGER NOT NULL,
    followed INTEGER NOT NULL,
    void INTEGER NOT NULL,
    track TEXT NOT NULL
);

-- Which file holds which event: a rollup holds many, and an event may be in several files.
CREATE TABLE holds (
    file INTEGER NOT NULL,
    source INTEGER NOT NULL,
    PRIMARY KEY (file, source)
) WITHOUT ROWID;

-- What an event states (`value`; empty bytes if it is the same as `key`) or takes back (no value), and when
-- that was said. `more` is what a fact says besides its text, such as its origin. `bucket` is a short hash of
-- section, key, and whether the row takes the fact back. `state` is 0: does not count, 1: holds, 2: its event
-- is retracted.
CREATE TABLE facts (
    id INTEGER PRIMARY KEY,
    source INTEGER NOT NULL,
    section INTEGER NOT NULL,
    bucket INTEGER NOT NULL,
    key TEXT NOT NULL,
    value TEXT,
    more TEXT,
    ts INTEGER NOT NULL,
    state INTEGER NOT NULL
);

-- When a fact was said according to its event, where `facts.ts` is not that.
CREATE TABLE said (
    fact INTEGER PRIMARY KEY,
    ts INTEGER NOT NULL
);

-- The decisions of keys under which several are in force, each wording once; one of each key holds.
CREATE TABLE contested (
    section INTEGER NOT NULL,
    key TEXT NOT NULL,
    fact INTEGER NOT NULL,
    PRIMARY KEY (section, key, fact)
) WITHOUT ROWID;

-- Which buckets of decisions, rules and questions name a file, by a short hash of the last two parts of its
-- path; and which buckets of files have a name, by a hash of that. What does not hold any more stays here.
CREATE TABLE named (
    name INTEGER NOT NULL,
    bucket INTEGER NOT NULL,
    PRIMARY KEY (name, bucket)
) WITHOUT ROWID;

-- What each event names as read: an id, or the start of a hash.
CREATE TABLE links (
    name TEXT NOT NULL,
    source INTEGER NOT NULL,
    PRIMARY KEY (name, source)
) WITHOUT ROWID;

CREATE TABLE retractions (
    name TEXT NOT NULL,
    source INTEGER NOT NULL,
    PRIMARY KEY (name, source)
) WITHOUT ROWID;

-- How many facts of a section hold, so that they need not be counted.
CREATE TABLE counts (
    section INTEGER PRIMARY KEY,
    held INTEGER NOT NULL
);

CREATE TABLE days (
    day INTEGER PRIMARY KEY,
    hash TEXT NOT NULL,
    events INTEGER NOT NULL
);

-- Texts made from the current events; emptied by every change.
CREATE TABLE notes (
    name TEXT PRIMARY KEY,
    text TEXT NOT NULL
) WITHOUT ROWID;
