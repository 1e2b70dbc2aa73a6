-- name: list_folders
SELECT name, mark FROM folders;

-- name: save_folder
INSERT INTO folders (name, mark) VALUES (?, ?) ON CONFLICT (name) DO UPDATE SET mark = excluded.mark;

-- name: list_journals
SELECT name, size FROM journals WHERE folder = ?;

-- name: list_names
SELECT name FROM journals;

-- name: find_journal
SELECT id FROM journals WHERE name = ?;

-- name: find_by_key
SELECT journals.name FROM keys JOIN journals ON journals.id = keys.journal WHERE keys.key = ?;

-- name: add_journal
INSERT INTO journals (folder, name, size) VALUES (?, ?, ?);

-- name: add_key
INSERT INTO keys (key, journal) VALUES (?, ?);

-- name: drop_keys
DELETE FROM keys WHERE journal = ?;

-- name: drop_journal
DELETE FROM journals WHERE id = ?;
