-- What was folded from the events of one checkout. All of it can be rebuilt from the files.

CREATE TABLE folders (
    path TEXT PRIMARY KEY,
    mark INTEGER NOT NULL
) WITHOUT ROWID;

CREATE TABLE files (
    id INTEGER PRIMARY KEY,
    folder TEXT NOT NULL,
    name TEXT NOT NULL,
    size INTEGER NOT NULL,
    changed INTEGER NOT NULL,
    number INTEGER NOT NULL,
    skipped INTEGER NOT NULL
);

-- One row for each event, wherever it lies. `void` is 1 when another event retracts it.
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
    void INTEGER NOT NULL
);

-- Which file holds which event: a rollup holds many, and an event may lie in several files.
CREATE TABLE holds (
    file INTEGER NOT NULL,
    source INTEGER NOT NULL,
    PRIMARY KEY (file, source)
) WITHOUT ROWID;

-- What an event states (`value`) or takes back (no value). `bucket` is a short hash of section, key and which
-- of the two it is. `state` is 0: does not count, 1: holds, 2: its event is retracted.
CREATE TABLE facts (
    id INTEGER PRIMARY KEY,
    source INTEGER NOT NULL,
    section INTEGER NOT NULL,
    bucket INTEGER NOT NULL,
    key TEXT NOT NULL,
    value TEXT,
    ts INTEGER NOT NULL,
    state INTEGER NOT NULL
);

CREATE TABLE retractions (
    name TEXT NOT NULL,
    source INTEGER NOT NULL,
    PRIMARY KEY (name, source)
) WITHOUT ROWID;

-- How many facts of a section hold, so that nobody has to count them.
CREATE TABLE counts (
    section INTEGER PRIMARY KEY,
    held INTEGER NOT NULL
);

CREATE TABLE days (
    day INTEGER PRIMARY KEY,
    hash TEXT NOT NULL,
    events INTEGER NOT NULL
);

-- What was made of the events as they are now; emptied by every change.
CREATE TABLE notes (
    name TEXT PRIMARY KEY,
    text TEXT NOT NULL
) WITHOUT ROWID;
