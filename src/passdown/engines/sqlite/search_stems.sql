-- What an index of version 1 lacks.
ALTER TABLE documents ADD COLUMN length INTEGER NOT NULL DEFAULT 0;

ALTER TABLE counters ADD COLUMN length INTEGER NOT NULL DEFAULT 0;

CREATE TABLE forms (
    stem TEXT NOT NULL,
    word TEXT NOT NULL,
    PRIMARY KEY (stem, word)
) WITHOUT ROWID;
