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

-- name: list_uncommitted
SELECT folder, name FROM files WHERE committed = 0;

-- name: set_mark
UPDATE files SET size = ?, changed = ?, number = ? WHERE folder = ? AND name = ?;

-- name: is_held_in
SELECT 1 FROM files CROSS JOIN holds ON holds.file = files.id CROSS JOIN sources ON sources.id = holds.source
WHERE files.folder = ?1 AND files.name = ?2 AND files.skipped = 0 AND ?3 IN ('', sources.hash) LIMIT 1;

-- name: list_live
SELECT 1 FROM files INDEXED BY files_live WHERE name >= '0' AND name < ':' LIMIT ?;

-- name: newest_live
SELECT folder FROM files INDEXED BY files_live WHERE name >= '0' AND name < ':'
ORDER BY name DESC, folder DESC LIMIT 1;

-- name: list_uncommitted_of
SELECT min(files.folder || '/' || files.name)
FROM sources JOIN holds ON holds.source = sources.id JOIN files ON files.id = holds.file
WHERE sources.session = ? GROUP BY sources.id HAVING max(files.committed) = 0;

-- name: count_single
SELECT count(*), coalesce(min(name), '') FROM files
WHERE name >= '0' AND name < ':' AND name GLOB '[0-9][0-9][0-9][0-9]-*';

-- name: oldest_single
SELECT folder, name FROM files
WHERE name >= '0' AND name < ':' AND name GLOB '[0-9][0-9][0-9][0-9]-*'
ORDER BY name, folder LIMIT ?;

-- name: sessions_of_single
SELECT DISTINCT sources.session
FROM files JOIN holds ON holds.file = files.id JOIN sources ON sources.id = holds.source
WHERE files.name GLOB '[0-9][0-9][0-9][0-9]-*';

-- name: set_committed
UPDATE files SET committed = 1 WHERE folder = ? AND name = ?;

-- name: count_unread
SELECT unread FROM progress WHERE id = 0;

-- name: save_unread
INSERT INTO progress (id, unread) VALUES (0, ?)
ON CONFLICT (id) DO UPDATE SET unread = excluded.unread;

-- name: count_skipped
SELECT coalesce(sum(skipped), 0) FROM files WHERE skipped > 0;

-- name: next_ids
SELECT
    (SELECT coalesce(max(id), 0) FROM files),
    (SELECT coalesce(max(id), 0) FROM sources),
    (SELECT coalesce(max(id), 0) FROM facts);

-- name: find_source
SELECT id FROM sources WHERE hash = ?;

-- name: find_writer
SELECT agent, session, type FROM sources WHERE hash = ?;

-- name: last_of_session
SELECT type FROM sources INDEXED BY sources_by_session WHERE session = ? AND void = 0 AND rank <= ?
ORDER BY rank DESC, cause DESC, ts DESC, agent DESC, name DESC, hash DESC LIMIT 1;

-- name: add_source
INSERT INTO sources
    (id, hash, ts, agent, name, branch, type, session, covered, after, ahead, rank, cause, odd, followed, void,
    track)
VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?);

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
INSERT INTO facts (id, source, section, bucket, key, value, more, ts, state)
VALUES (?1, ?2, ?3, ?4, ?5, CASE ?6 WHEN ?5 THEN x'' ELSE ?6 END, ?7, ?8, ?9);

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
SELECT facts.ts, sources.rank, sources.cause, sources.ts, sources.agent, sources.name, sources.hash, facts.id,
    CASE facts.value WHEN x'' THEN facts.key ELSE facts.value END, facts.key, facts.more, sources.session
FROM facts INDEXED BY facts_by_bucket JOIN sources ON sources.id = facts.source
WHERE facts.bucket = :bucket AND facts.section = :section AND facts.key = :key AND facts.state < 2
    AND facts.ts = (
        SELECT ts FROM facts INDEXED BY facts_by_bucket
        WHERE bucket = :bucket AND section = :section AND key = :key AND state < 2
        ORDER BY ts DESC LIMIT 1
    );

-- name: said_of_key
SELECT facts.ts, sources.rank, sources.cause, sources.ts, sources.agent, sources.name, sources.hash, facts.id,
    CASE facts.value WHEN x'' THEN facts.key ELSE facts.value END, facts.key, facts.more, sources.session
FROM facts INDEXED BY facts_by_bucket JOIN sources ON sources.id = facts.source
WHERE facts.bucket = :bucket AND facts.section = :section AND facts.key = :key AND facts.state < 2;

-- name: said_of_key_until
SELECT facts.ts, sources.rank, sources.cause, sources.ts, sources.agent, sources.name, sources.hash, facts.id,
    CASE facts.value WHEN x'' THEN facts.key ELSE facts.value END, facts.key, facts.more, sources.session
FROM facts INDEXED BY facts_by_bucket JOIN sources ON sources.id = facts.source
WHERE facts.bucket = :bucket AND facts.section = :section AND facts.key = :key AND facts.state < 2
    AND sources.rank <= :until
ORDER BY facts.ts DESC;

-- name: contested
SELECT facts.ts, sources.rank, sources.cause, sources.ts, sources.agent, sources.name, sources.hash, facts.id,
    CASE facts.value WHEN x'' THEN facts.key ELSE facts.value END, facts.key, facts.more, sources.session
FROM contested JOIN facts ON facts.id = contested.fact JOIN sources ON sources.id = facts.source;

-- name: add_contested
INSERT INTO contested (fact, section, key) VALUES (?, ?, ?);

-- name: drop_contested
DELETE FROM contested WHERE section = ? AND key = ?;

-- name: newest_of_key_until
SELECT facts.ts, sources.rank, sources.cause, sources.ts, sources.agent, sources.name, sources.hash, facts.id,
    CASE facts.value WHEN x'' THEN facts.key ELSE facts.value END, facts.key, facts.more, sources.session
FROM facts INDEXED BY facts_by_bucket JOIN sources ON sources.id = facts.source
WHERE facts.bucket = :bucket AND facts.section = :section AND facts.key = :key AND facts.state < 2
    AND sources.rank <= :until
    AND facts.ts = (
        SELECT known.ts FROM facts AS known INDEXED BY facts_by_bucket
        JOIN sources AS origin ON origin.id = known.source
        WHERE known.bucket = :bucket AND known.section = :section AND known.key = :key AND known.state < 2
            AND origin.rank <= :until
        ORDER BY known.ts DESC LIMIT 1
    );

-- name: newest_register_until
SELECT facts.ts, sources.rank, sources.cause, sources.ts, sources.agent, sources.name, sources.hash, facts.id,
    CASE facts.value WHEN x'' THEN facts.key ELSE facts.value END, facts.key, facts.more, sources.session
FROM facts INDEXED BY facts_that_hold JOIN sources ON sources.id = facts.source
WHERE facts.section = :section AND facts.state = 1 AND sources.rank <= :until
    AND facts.ts >= (
        SELECT known.ts FROM facts AS known INDEXED BY facts_that_hold
        JOIN sources AS origin ON origin.id = known.source
        WHERE known.section = :section AND known.state = 1 AND origin.rank <= :until
        ORDER BY known.ts DESC LIMIT 1
    );

-- name: count_of_section
SELECT held FROM counts WHERE section = ?;

-- name: change_count
INSERT INTO counts (section, held) VALUES (?, ?)
ON CONFLICT (section) DO UPDATE SET held = held + excluded.held;

-- name: newest_facts
SELECT facts.ts, sources.rank, sources.cause, sources.ts, sources.agent, sources.name, sources.hash, facts.id,
    CASE facts.value WHEN x'' THEN facts.key ELSE facts.value END, facts.key, facts.more, sources.session
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
SELECT rank FROM sources WHERE void = 0 AND rank <= ? ORDER BY rank DESC LIMIT 1;

-- name: newest_ranks
SELECT CASE session WHEN '' THEN agent ELSE session END, min(ts, rank), rank FROM sources WHERE void = 0
ORDER BY rank DESC, cause DESC, ts DESC, agent DESC, name DESC, hash DESC LIMIT ?;

-- name: newest_until
SELECT max(
    coalesce((SELECT ts FROM sources WHERE ts <= :until ORDER BY ts DESC LIMIT 1), :none),
    coalesce((SELECT rank FROM sources WHERE rank <= :until ORDER BY rank DESC LIMIT 1), :none)
);

-- name: unfollowed
SELECT hash, session, rank FROM sources WHERE followed = 0 AND void = 0
ORDER BY rank DESC, cause DESC, ts DESC, agent DESC, name DESC, hash DESC LIMIT ?;

-- name: dated_beyond
SELECT ts, agent, name, hash, after, ahead FROM sources WHERE ts > ? AND void = 0;

-- name: named_ahead
SELECT ahead FROM sources WHERE session = ? AND ahead <> '';

-- name: has_odd
SELECT 1 FROM sources WHERE odd = 1 LIMIT 1;

-- name: find_links
SELECT ts, after, ahead, void FROM sources WHERE id = ?;

-- name: links_of_source
SELECT id, hash, name, ts, agent, after, ahead, odd, followed FROM sources WHERE id = ?;

-- name: all_links
SELECT ts, agent, name, hash, after, ahead, id, odd, followed FROM sources WHERE void = 0;

-- name: add_link
INSERT OR IGNORE INTO links (name, source) VALUES (?, ?);

-- name: drop_link
DELETE FROM links WHERE name = ? AND source = ?;

-- name: named_links
SELECT id, hash, name, ts, rank, cause FROM sources WHERE name = :name AND void = 0
UNION
SELECT id, hash, name, ts, rank, cause FROM sources WHERE hash >= :name AND hash < :name || 'g' AND void = 0;

-- name: followers
SELECT sources.id, sources.ts, links.name = :hash, sources.ahead <> '' FROM links JOIN sources ON sources.id = links.source
WHERE links.name IN (:name, :hash) AND links.source <> :source AND sources.void = 0;

-- name: set_place
UPDATE sources SET rank = ?, cause = ?, odd = ? WHERE id = ?;

-- name: set_followed
UPDATE sources SET followed = ? WHERE id = ?;

-- name: said_of_source
SELECT facts.id, coalesce(said.ts, facts.ts), facts.ts, facts.more
FROM facts LEFT JOIN said ON said.fact = facts.id WHERE facts.source = ?;

-- name: set_said
UPDATE facts SET ts = ? WHERE id = ?;

-- name: save_said
INSERT INTO said (fact, ts) VALUES (?, ?) ON CONFLICT (fact) DO UPDATE SET ts = excluded.ts;

-- name: drop_said_of_source
DELETE FROM said WHERE fact IN (SELECT id FROM facts WHERE source = ?);

-- name: drop_said
DELETE FROM said WHERE fact = ?;

-- name: keys_beyond
SELECT DISTINCT facts.key
FROM sources INDEXED BY sources_by_rank CROSS JOIN facts INDEXED BY facts_by_source ON facts.source = sources.id
WHERE sources.rank > ? AND sources.void = 0 AND facts.section = ?;

-- name: is_any_beyond
SELECT 1 FROM sources WHERE rank > ? AND void = 0 LIMIT 1;

-- name: published
SELECT coalesce(max(covered), 0), max(ts) FROM sources WHERE session = ?;

-- name: places
SELECT sources.ts, sources.agent, sources.name, sources.hash, sources.branch, sources.type, sources.void,
    sources.rank, sources.cause, min(files.folder || '/' || files.name)
FROM sources JOIN holds ON holds.source = sources.id JOIN files ON files.id = holds.file
WHERE sources.id IN (
    SELECT id FROM sources WHERE name >= :first AND name < :last
    UNION SELECT id FROM sources WHERE hash >= :first AND hash < :last
)
GROUP BY sources.id;

-- name: newest_places
SELECT sources.ts, sources.agent, sources.name, sources.hash, sources.branch, sources.type, sources.void,
    sources.rank, sources.cause, min(files.folder || '/' || files.name)
FROM sources JOIN holds ON holds.source = sources.id JOIN files ON files.id = holds.file
WHERE sources.id IN (
    SELECT id FROM sources ORDER BY rank DESC, cause DESC, ts DESC, agent DESC, name DESC, hash DESC LIMIT :limit
)
GROUP BY sources.id;

-- name: matching_places
SELECT sources.ts, sources.agent, sources.name, sources.hash, sources.branch, sources.type, sources.void,
    sources.rank, sources.cause, min(files.folder || '/' || files.name)
FROM sources JOIN holds ON holds.source = sources.id JOIN files ON files.id = holds.file
WHERE sources.id IN (
    SELECT id FROM sources
    WHERE (:agent = '' OR agent = :agent OR (agent >= :agent || '-' AND agent < :agent || '.'))
        AND :branch IN ('', branch) AND :type IN ('', type) AND ts >= :since AND ts < :until
    ORDER BY rank DESC, cause DESC, ts DESC, agent DESC, name DESC, hash DESC LIMIT :limit
)
GROUP BY sources.id;

-- name: count_matching
SELECT count(*) FROM sources
    WHERE (:agent = '' OR agent = :agent OR (agent >= :agent || '-' AND agent < :agent || '.'))
        AND :branch IN ('', branch) AND :type IN ('', type) AND ts >= :since AND ts < :until;

-- name: places_of_track
SELECT sources.ts, sources.agent, sources.name, sources.hash, sources.branch, sources.type, sources.void,
    sources.rank, sources.cause, min(files.folder || '/' || files.name)
FROM sources JOIN holds ON holds.source = sources.id JOIN files ON files.id = holds.file
WHERE sources.id IN (
    SELECT id FROM sources WHERE track = :track AND track <> ''
    ORDER BY rank DESC, cause DESC, ts DESC, agent DESC, name DESC, hash DESC LIMIT :limit
)
GROUP BY sources.id;

-- name: is_other_track
SELECT 1 WHERE EXISTS (SELECT 1 FROM sources WHERE track <> '' AND track < :track)
    OR EXISTS (SELECT 1 FROM sources WHERE track <> '' AND track > :track);

-- name: is_stated
SELECT 1 FROM facts INDEXED BY facts_by_bucket
WHERE bucket = :bucket AND section = :section AND key = :key
    AND (value = :value OR (value = x'' AND key = :value)) LIMIT 1;

-- name: is_shared
SELECT 1 FROM facts INDEXED BY facts_by_bucket CROSS JOIN sources ON sources.id = facts.source
WHERE facts.bucket = :bucket AND facts.section = :section AND facts.key = :key
    AND facts.value IS NOT NULL AND facts.state < 2 AND sources.track IN ('', :track) LIMIT 1;

-- name: add_named
INSERT OR IGNORE INTO named (name, bucket) VALUES (?, ?);

-- name: facts_named
SELECT facts.ts, sources.rank, sources.cause, sources.ts, sources.agent, sources.name, sources.hash, facts.id,
    CASE facts.value WHEN x'' THEN facts.key ELSE facts.value END, facts.key, facts.more, sources.session, facts.section
FROM named CROSS JOIN facts INDEXED BY facts_holding ON facts.bucket = named.bucket AND facts.state = 1
    CROSS JOIN sources ON sources.id = facts.source
WHERE named.name = :name AND sources.rank <= :until
ORDER BY facts.ts DESC LIMIT :limit;

-- name: files_with_name
SELECT DISTINCT facts.key
FROM named CROSS JOIN facts INDEXED BY facts_holding ON facts.bucket = named.bucket AND facts.state = 1
WHERE named.name = ? AND facts.section = ? LIMIT ?;

-- name: newest_of_track
SELECT id, hash, CASE session WHEN '' THEN agent ELSE session END
FROM sources INDEXED BY sources_by_track
WHERE track = :value AND track <> '' AND void = 0 AND rank <= :until
ORDER BY rank DESC, cause DESC, ts DESC, agent DESC, name DESC, hash DESC LIMIT :limit;

-- name: newest_of_branch
SELECT id, hash, CASE session WHEN '' THEN agent ELSE session END
FROM sources INDEXED BY sources_by_branch
WHERE branch = :value AND void = 0 AND rank <= :until
ORDER BY rank DESC, cause DESC, ts DESC, agent DESC, name DESC, hash DESC LIMIT :limit;

-- name: held_of_source
SELECT facts.ts, sources.rank, sources.cause, sources.ts, sources.agent, sources.name, sources.hash, facts.id,
    CASE facts.value WHEN x'' THEN facts.key ELSE facts.value END, facts.key, facts.more, sources.session, facts.section
FROM facts INDEXED BY facts_by_source CROSS JOIN sources ON sources.id = facts.source
WHERE facts.source = ? AND facts.state = 1;

-- name: files_of_source
SELECT CASE facts.value WHEN x'' THEN facts.key ELSE facts.value END
FROM facts INDEXED BY facts_by_source
WHERE source = ? AND section = ? AND value IS NOT NULL AND state < 2;

-- name: list_skipped
SELECT folder, name FROM files WHERE skipped > 0;

-- name: recall
SELECT text FROM notes WHERE name = ?;

-- name: remember
INSERT INTO notes (name, text) VALUES (?, ?)
ON CONFLICT (name) DO UPDATE SET text = excluded.text;

-- name: forget
DELETE FROM notes;
