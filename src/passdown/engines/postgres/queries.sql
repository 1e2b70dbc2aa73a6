-- What only PostgreSQL does; `?` stands for a value.

-- name: add_queue
INSERT INTO queues (project) VALUES (?) ON CONFLICT (project) DO NOTHING;

-- name: take_position
UPDATE projects SET pos = pos + 1 WHERE project = ? RETURNING pos;

-- name: read_time
SELECT extract(epoch FROM clock_timestamp())::float8;

-- name: beat_all
UPDATE sessions SET seen = ?, boot = 0
FROM (
    SELECT session FROM sessions WHERE project = ? AND session = ANY(?) AND ended IS NULL
    FOR NO KEY UPDATE SKIP LOCKED
) AS free
WHERE sessions.project = ? AND sessions.session = free.session AND sessions.ended IS NULL;
