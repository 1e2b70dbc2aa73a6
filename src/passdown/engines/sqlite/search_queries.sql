-- name: list_folders
SELECT path, mark FROM folders WHERE kind = ? AND mark IS NOT NULL;

-- name: save_folder
INSERT INTO folders (kind, path, mark) VALUES (?, ?, ?)
ON CONFLICT (kind, path) DO UPDATE SET mark = coalesce(excluded.mark, mark);

-- name: find_folder
SELECT id FROM folders WHERE kind = ? AND path = ?;

-- name: drop_folder
DELETE FROM folders WHERE kind = ? AND path = ?;

-- name: list_files
SELECT files.name, files.size, files.changed, files.number
FROM files JOIN folders ON folders.id = files.folder WHERE folders.kind = ? AND folders.path = ?;

-- name: save_file
INSERT INTO files (id, folder, name, size, changed, number)
VALUES ((SELECT coalesce(max(id), 0) + 1 FROM files), ?, ?, ?, ?, ?)
ON CONFLICT (folder, name) DO UPDATE
SET size = excluded.size, changed = excluded.changed, number = excluded.number;

-- name: find_file
SELECT id FROM files WHERE folder = ? AND name = ?;

-- name: drop_file
DELETE FROM files WHERE id = ?;

-- name: add_agent
INSERT OR IGNORE INTO agents (name) VALUES (?);

-- name: find_agent
SELECT id FROM agents WHERE name = ?;

-- name: find_document
SELECT id FROM documents WHERE kind = ? AND key = ?;

-- name: save_counters
UPDATE counters SET added = ?, dropped = ?, waiting = ?, length = ?;

-- name: read_counters
SELECT added, dropped, waiting, length FROM counters;

-- name: read_size
SELECT added, dropped, length FROM counters;

-- name: add_document
INSERT INTO documents (id, kind, key, name, at, agent, length) VALUES (?, ?, ?, ?, ?, ?, ?);

-- name: length_of
SELECT length FROM documents WHERE id = ?;

-- name: add_form
INSERT OR IGNORE INTO forms (stem, word) VALUES (?, ?);

-- name: forms_of_stem
SELECT word FROM forms WHERE stem = :stem ORDER BY word;

-- name: add_words
INSERT INTO words (rowid, text) VALUES (?, ?);

-- name: configure
INSERT INTO words (words, rank) VALUES (?, ?);

-- name: merge_all
INSERT INTO words (words) VALUES ('optimize');

-- name: drop_document
DELETE FROM documents WHERE id = ?;

-- name: add_retraction
INSERT OR IGNORE INTO retractions (name, document) VALUES (?, ?);

-- name: drop_retractions
DELETE FROM retractions WHERE document = ?;

-- name: add_hold
INSERT OR IGNORE INTO holds (file, document) VALUES (?, ?);

-- name: drop_hold
DELETE FROM holds WHERE file = ? AND document = ?;

-- name: documents_of_file
SELECT document FROM holds WHERE file = ?;

-- name: is_held
SELECT 1 FROM holds WHERE document = ? LIMIT 1;

-- name: find
SELECT documents.id, bm25(words)
FROM words CROSS JOIN documents ON documents.id = words.rowid
WHERE words MATCH :match
    AND (:kinds = '' OR instr(:kinds, ' ' || documents.kind || ' '))
    AND documents.at >= :since
    AND (:agent = '' OR documents.agent IN (
        SELECT id FROM agents WHERE name = :agent OR substr(name, 1, length(:agent) + 1) = :agent || '-'
    ))
ORDER BY words.rowid DESC LIMIT :most;

-- name: find_groups
SELECT documents.id
FROM words CROSS JOIN documents ON documents.id = words.rowid
WHERE words MATCH :match ORDER BY words.rowid DESC LIMIT :most;

-- name: count_groups
SELECT count(*) FROM (
    SELECT 1 FROM words CROSS JOIN documents ON documents.id = words.rowid
    WHERE words MATCH :match LIMIT :most
);

-- name: occurrences
SELECT held.document, held.number
FROM (
    SELECT doc AS document, count(*) AS number FROM occurrences WHERE term = :word GROUP BY doc
) AS held
JOIN documents ON documents.id = held.document;

-- name: candidates
SELECT documents.id, documents.length, documents.at
FROM json_each(:ids) AS wanted CROSS JOIN documents ON documents.id = wanted.value
WHERE (:kinds = '' OR instr(:kinds, ' ' || documents.kind || ' '))
    AND documents.at >= :since
    AND (:agent = '' OR documents.agent IN (
        SELECT id FROM agents WHERE name = :agent OR substr(name, 1, length(:agent) + 1) = :agent || '-'
    ));

-- name: list_sizes
SELECT documents.id, words_docsize.sz FROM documents JOIN words_docsize ON words_docsize.id = documents.id;

-- name: save_length
UPDATE documents SET length = ? WHERE id = ?;

-- name: sum_lengths
UPDATE counters SET length = (SELECT coalesce(sum(length), 0) FROM documents);

-- name: show
SELECT documents.kind, documents.key, documents.name, documents.at, agents.name,
    EXISTS (
        SELECT 1 FROM retractions
        WHERE retractions.name IN (documents.name, lower(hex(substr(documents.key, 1, 8))))
    ),
    folders.path, files.name
FROM documents
JOIN agents ON agents.id = documents.agent
JOIN holds ON holds.document = documents.id
JOIN files ON files.id = holds.file
JOIN folders ON folders.id = files.folder
WHERE documents.id = ?
ORDER BY folders.path || '/' || files.name LIMIT 1;
