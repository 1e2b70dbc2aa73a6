-- The words of the documents of one checkout, and where each document is stored. All of it can be rebuilt
-- from the files, which hold the texts; only their words are stored here.

CREATE TABLE folders (
    id INTEGER PRIMARY KEY,
    kind TEXT NOT NULL,
    path TEXT NOT NULL,
    mark INTEGER,
    UNIQUE (kind, path)
);

CREATE TABLE files (
    id INTEGER NOT NULL,
    folder INTEGER NOT NULL,
    name TEXT NOT NULL,
    size INTEGER NOT NULL,
    changed INTEGER NOT NULL,
    number INTEGER NOT NULL,
    PRIMARY KEY (folder, name)
) WITHOUT ROWID;

CREATE UNIQUE INDEX files_by_id ON files (id);

CREATE TABLE agents (
    id INTEGER PRIMARY KEY,
    name TEXT NOT NULL UNIQUE
);

-- One row per document, with the same id as its words. `key` is the start of its hash.
CREATE TABLE documents (
    id INTEGER PRIMARY KEY,
    kind INTEGER NOT NULL,
    key BLOB NOT NULL,
    name TEXT NOT NULL,
    at INTEGER NOT NULL,
    agent INTEGER NOT NULL,
    length INTEGER NOT NULL,
    UNIQUE (kind, key)
);

-- The words that are not their own stems.
CREATE TABLE forms (
    stem TEXT NOT NULL,
    word TEXT NOT NULL,
    PRIMARY KEY (stem, word)
) WITHOUT ROWID;

-- Which file holds which document: a rollup holds many, and an event may be in several files.
CREATE TABLE holds (
    file INTEGER NOT NULL,
    document INTEGER NOT NULL,
    PRIMARY KEY (file, document)
) WITHOUT ROWID;

CREATE INDEX holds_by_document ON holds (document);

CREATE TABLE retractions (
    name TEXT NOT NULL,
    document INTEGER NOT NULL,
    PRIMARY KEY (name, document)
) WITHOUT ROWID;

CREATE INDEX retractions_by_document ON retractions (document);

-- How many documents were ever added, and how many were deleted: their words stay until a rebuild.
-- `waiting` documents were added in bulk, and their words are not merged with the others yet. `length` is the
-- number of words of all documents that are there.
CREATE TABLE counters (
    added INTEGER NOT NULL,
    dropped INTEGER NOT NULL,
    waiting INTEGER NOT NULL,
    length INTEGER NOT NULL
);

INSERT INTO counters (added, dropped, waiting, length) VALUES (0, 0, 0, 0)
