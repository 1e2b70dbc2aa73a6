-- name: list_folders
SELECT path, mark FROM folders;

-- name: save_folder
INSERT INTO folders (path, mark) VALUES (?, ?)
ON CONFLICT (path) DO UPDATE SET mark = excluded.mark;

-- name: drop_folder
DELETE FROM folders WHERE path = ?;

-- name: list_files
SELECT name, size, changed, number FROM files WHERE folder = ?;

-- name: find_file
SELECT id FROM files WHERE folder = ? AND name = ?;

-- name: add_file
INSERT INTO files (id, folder, name, size, changed, number, skipped) VALUES (?, ?, ?, ?, ?, ?, ?);

-- name: drop_file
DELETE FROM files WHERE id = ?;

-- name: count_skipped
SELECT coalesce(sum(skipped), 0) FROM files WHERE skipped > 0;

-- name: next_ids
SELECT
    (SELECT coalesce(max(id), 0) FROM files),
    (SELECT coalesce(max(id), 0) FROM sources),
    (SELECT coalesce(max(id), 0) FROM facts);

-- name: find_source
SELECT id FROM sources WHERE hash = ?;

-- name: add_source
INSERT INTO sources (id, hash, ts, agent, name, branch, type, session, covered, void)
VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?);

-- name: drop_source
DELETE FROM sources WHERE id = ?;

-- name: add_hold
INSERT OR IGNORE INTO holds (file, source) VALUES (?, ?);

-- name: sources_of_file
SELECT source FROM holds WHERE file = ?;

-- name: drop_holds
DELETE FROM holds WHERE file = ?;

-- name: is_held
SELECT 1 FROM holds WHERE source = ? LIMIT 1;

-- name: add_fact
INSERT INTO facts (id, source, section, bucket, key, value, ts, state) VALUES (?, ?, ?, ?, ?, ?, ?, ?);

-- name: facts_of_source
SELECT section, bucket, key FROM facts WHERE source = ?;

-- name: drop_facts
DELETE FROM facts WHERE source = ?;

-- name: holding_fact
SELECT id FROM facts INDEXED BY facts_holding WHERE bucket = ? AND section = ? AND key = ? AND state = 1;

-- name: set_state
UPDATE facts SET state = ? WHERE id = ?;

-- name: set_states_of_source
UPDATE facts SET state = ? WHERE source = ?;

-- name: newest_of_key
SELECT facts.ts, sources.ts, sources.agent, sources.name, sources.hash, facts.id
FROM facts INDEXED BY facts_by_bucket JOIN sources ON sources.id = facts.source
WHERE facts.bucket = :bucket AND facts.section = :section AND facts.key = :key AND facts.state < 2
    AND facts.ts = (
        SELECT ts FROM facts INDEXED BY facts_by_bucket
        WHERE bucket = :bucket AND section = :section AND key = :key AND state < 2
        ORDER BY ts DESC LIMIT 1
    );

-- name: count_of_section
SELECT held FROM counts WHERE section = ?;

-- name: change_count
INSERT INTO counts (section, held) VALUES (?, ?)
ON CONFLICT (section) DO UPDATE SET held = held + excluded.held;

-- name: newest_facts
SELECT facts.ts, sources.ts, sources.agent, sources.name, sources.hash, facts.id, facts.value
FROM facts INDEXED BY facts_that_hold JOIN sources ON sources.id = facts.source
WHERE facts.section = :section AND facts.state = 1
    AND facts.ts >= coalesce(
        (
            SELECT ts FROM facts INDEXED BY facts_that_hold WHERE section = :section AND state = 1
            ORDER BY ts DESC LIMIT 1 OFFSET :limit - 1
        ),
        -9223372036854775808
    );

-- name: add_retraction
INSERT OR IGNORE INTO retractions (name, source) VALUES (?, ?);

-- name: retractions_of_source
SELECT name FROM retractions WHERE source = ?;

-- name: drop_retractions
DELETE FROM retractions WHERE source = ?;

-- name: is_retracted
SELECT 1 FROM retractions WHERE name = ? OR name = ? LIMIT 1;

-- name: named_sources
SELECT id, name, hash, void FROM sources WHERE name = :name
UNION
SELECT id, name, hash, void FROM sources WHERE hash >= :name AND hash < :name || 'g';

-- name: set_void
UPDATE sources SET void = ? WHERE id = ?;

-- name: hashes_of_day
SELECT hash FROM sources WHERE ts >= ? AND ts < ?;

-- name: save_day
INSERT INTO days (day, hash, events) VALUES (?, ?, ?)
ON CONFLICT (day) DO UPDATE SET hash = excluded.hash, events = excluded.events;

-- name: drop_day
DELETE FROM days WHERE day = ?;

-- name: list_days
SELECT day, hash, events FROM days;

-- name: latest
SELECT ts FROM sources WHERE void = 0 ORDER BY ts DESC LIMIT 1;

-- name: newest_until
SELECT ts FROM sources WHERE ts <= ? ORDER BY ts DESC LIMIT 1;

-- name: published
SELECT coalesce(max(covered), 0), max(ts) FROM sources WHERE session = ?;

-- name: places
SELECT sources.ts, sources.agent, sources.name, sources.hash, sources.branch, sources.type, sources.void,
    min(files.folder || '/' || files.name)
FROM sources JOIN holds ON holds.source = sources.id JOIN files ON files.id = holds.file
WHERE sources.id IN (
    SELECT id FROM sources WHERE name >= :first AND name < :last
    UNION SELECT id FROM sources WHERE hash >= :first AND hash < :last
)
GROUP BY sources.id;

-- name: newest_places
SELECT sources.ts, sources.agent, sources.name, sources.hash, sources.branch, sources.type, sources.void,
    min(files.folder || '/' || files.name)
FROM sources JOIN holds ON holds.source = sources.id JOIN files ON files.id = holds.file
WHERE sources.id IN (
    SELECT id FROM sources ORDER BY ts DESC, agent DESC, name DESC, hash DESC LIMIT :limit
)
GROUP BY sources.id;

-- name: recall
SELECT text FROM notes WHERE name = ?;

-- name: remember
INSERT INTO notes (name, text) VALUES (?, ?)
ON CONFLICT (name) DO UPDATE SET text = excluded.text;

-- name: forget
DELETE FROM notes;
