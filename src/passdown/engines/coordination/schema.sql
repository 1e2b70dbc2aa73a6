-- What the sessions of projects share, the same text for SQLite and PostgreSQL. It is stored nowhere else.
-- Times are the engine's, in seconds; 1 means yes and 0 no. No index has a column that signs of life change.
-- Migrations together give exactly these tables.

CREATE TABLE meta (
    name TEXT NOT NULL PRIMARY KEY,
    value BIGINT NOT NULL
);

-- The version of these tables, and the least versions that may read and write them.
INSERT INTO meta (name, value) VALUES ('version', 4), ('least_reader', 1), ('least_writer', 1);

-- `pos` is the position of the last change, `newest` the newest instant that was stored. The rest is for an
-- engine that has no clock of its own: the id and the number of the boot in which it was last written, and
-- what to add to its seconds.
CREATE TABLE projects (
    project TEXT NOT NULL PRIMARY KEY,
    pos BIGINT NOT NULL,
    newest DOUBLE PRECISION NOT NULL,
    boot TEXT NOT NULL,
    boot_number BIGINT NOT NULL,
    boot_offset DOUBLE PRECISION NOT NULL
);

CREATE TABLE sessions (
    project TEXT NOT NULL,
    session TEXT NOT NULL,
    agent TEXT NOT NULL,
    name TEXT NOT NULL,
    team TEXT NOT NULL,
    role TEXT NOT NULL,
    process TEXT NOT NULL,
    boot BIGINT NOT NULL,
    seen DOUBLE PRECISION NOT NULL,
    ended DOUBLE PRECISION,
    continues TEXT NOT NULL,
    PRIMARY KEY (project, session)
);

CREATE INDEX sessions_running ON sessions (project, session) WHERE ended IS NULL;
CREATE INDEX sessions_ended ON sessions (project, ended) WHERE ended IS NOT NULL;

-- `waits` counts the open tasks that a task waits for, `added` is the position at which it was added.
CREATE TABLE tasks (
    project TEXT NOT NULL,
    task TEXT NOT NULL,
    title TEXT NOT NULL,
    body TEXT NOT NULL,
    priority BIGINT NOT NULL,
    role TEXT NOT NULL,
    state TEXT NOT NULL,
    reason TEXT NOT NULL,
    note TEXT NOT NULL,
    waits BIGINT NOT NULL,
    is_held SMALLINT NOT NULL,
    added BIGINT NOT NULL,
    PRIMARY KEY (project, task)
);

CREATE INDEX tasks_ready ON tasks (project, priority, added) WHERE state = 'open' AND waits = 0 AND is_held = 0;
CREATE INDEX tasks_unfinished ON tasks (project, priority, added) WHERE state <> 'closed';

CREATE TABLE waits (
    project TEXT NOT NULL,
    task TEXT NOT NULL,
    by_task TEXT NOT NULL,
    PRIMARY KEY (project, task, by_task)
);

CREATE INDEX waits_by_task ON waits (project, by_task);

CREATE TABLE leases (
    project TEXT NOT NULL,
    kind TEXT NOT NULL,
    name TEXT NOT NULL,
    session TEXT NOT NULL,
    fence BIGINT NOT NULL,
    ttl DOUBLE PRECISION NOT NULL,
    used DOUBLE PRECISION NOT NULL,
    held_until DOUBLE PRECISION NOT NULL,
    offer TEXT NOT NULL,
    ended DOUBLE PRECISION,
    is_taken SMALLINT NOT NULL,
    PRIMARY KEY (project, kind, name, session)
);

CREATE INDEX leases_of_session ON leases (project, session, ended);
CREATE INDEX leases_running ON leases (project, kind, fence) WHERE ended IS NULL;
CREATE INDEX leases_ended ON leases (project, ended) WHERE ended IS NOT NULL;

CREATE TABLE messages (
    project TEXT NOT NULL,
    message TEXT NOT NULL,
    sender TEXT NOT NULL,
    agent TEXT NOT NULL,
    address TEXT NOT NULL,
    content TEXT NOT NULL,
    context TEXT NOT NULL,
    priority TEXT NOT NULL,
    kind TEXT NOT NULL,
    sent DOUBLE PRECISION NOT NULL,
    expires DOUBLE PRECISION NOT NULL,
    PRIMARY KEY (project, message)
);

CREATE INDEX messages_expires ON messages (project, expires);
CREATE INDEX messages_of_sender ON messages (project, sender);

-- `pos` is the position at which the message was sent.
CREATE TABLE inbox (
    project TEXT NOT NULL,
    recipient TEXT NOT NULL,
    pos BIGINT NOT NULL,
    message TEXT NOT NULL,
    read_at DOUBLE PRECISION,
    PRIMARY KEY (project, recipient, pos, message)
);

CREATE INDEX inbox_unread ON inbox (project, recipient, pos) WHERE read_at IS NULL;
CREATE INDEX inbox_read ON inbox (project, read_at) WHERE read_at IS NOT NULL;
CREATE INDEX inbox_of_message ON inbox (project, message);

CREATE TABLE offers (
    project TEXT NOT NULL,
    offer TEXT NOT NULL,
    giver TEXT NOT NULL,
    agent TEXT NOT NULL,
    taker TEXT NOT NULL,
    task TEXT NOT NULL,
    facts TEXT NOT NULL,
    state TEXT NOT NULL,
    expires DOUBLE PRECISION NOT NULL,
    PRIMARY KEY (project, offer)
);

CREATE INDEX offers_open ON offers (project, offer) WHERE state = 'offered';
CREATE INDEX offers_settled ON offers (project, expires) WHERE state <> 'offered';
CREATE INDEX offers_of_giver ON offers (project, giver);

CREATE TABLE log (
    project TEXT NOT NULL,
    pos BIGINT NOT NULL,
    op TEXT NOT NULL,
    made_at DOUBLE PRECISION NOT NULL,
    session TEXT NOT NULL,
    verb TEXT NOT NULL,
    subject TEXT NOT NULL,
    data TEXT NOT NULL,
    PRIMARY KEY (project, pos),
    UNIQUE (project, op)
);

CREATE INDEX log_made_at ON log (project, made_at);

-- `newest` is the project's newest sign of life, written at most once a minute and after everything else.
CREATE TABLE signs (
    project TEXT NOT NULL PRIMARY KEY,
    newest DOUBLE PRECISION NOT NULL
);

-- Spans in which no session of the project gave a sign of life: they do not count as silence of a session.
CREATE TABLE silences (
    project TEXT NOT NULL,
    began DOUBLE PRECISION NOT NULL,
    ended DOUBLE PRECISION NOT NULL,
    PRIMARY KEY (project, began)
);
