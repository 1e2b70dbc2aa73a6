-- `newest` is the project's newest sign of life, written at most once a minute and after everything else.
CREATE TABLE signs (
    project TEXT NOT NULL PRIMARY KEY,
    newest DOUBLE PRECISION NOT NULL
);

-- Stretches in which no session of the project gave a sign of life: they count against nobody.
CREATE TABLE silences (
    project TEXT NOT NULL,
    began DOUBLE PRECISION NOT NULL,
    ended DOUBLE PRECISION NOT NULL,
    PRIMARY KEY (project, began)
);

UPDATE meta SET value = 3 WHERE name = 'version';
