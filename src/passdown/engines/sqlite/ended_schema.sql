-- Which journals were put away, and by what they are found. All of it can be rebuilt from the journals.

-- A folder of which every journal is known, as long as its mark is this one.
CREATE TABLE folders (
    name TEXT PRIMARY KEY,
    mark INTEGER NOT NULL
) WITHOUT ROWID;

CREATE TABLE journals (
    id INTEGER PRIMARY KEY,
    folder TEXT NOT NULL,
    name TEXT NOT NULL UNIQUE,
    size INTEGER NOT NULL
);

CREATE INDEX journals_by_folder ON journals (folder);

CREATE TABLE keys (
    key TEXT NOT NULL,
    journal INTEGER NOT NULL,
    PRIMARY KEY (key, journal)
) WITHOUT ROWID;

CREATE INDEX keys_by_journal ON keys (journal)
