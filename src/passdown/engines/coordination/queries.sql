-- Every statement of coordination, the same for SQLite and PostgreSQL: `?` stands for a value.
-- The columns come in the order of the fields of their record. Texts are sorted by `rows.py`: databases
-- differ in how they compare them.

-- name: meta
SELECT name, value FROM meta;

-- name: put_identity
INSERT INTO meta (name, value) VALUES ('identity', ?)
ON CONFLICT (name) DO UPDATE SET value = excluded.value;

-- name: positions
SELECT project, pos FROM projects;

-- name: add_project
INSERT INTO projects (project, pos, newest, boot, boot_number, boot_offset) VALUES (?, 0, 0, '', 0, 0)
ON CONFLICT (project) DO NOTHING;

-- name: position
SELECT pos FROM projects WHERE project = ?;

-- name: clock
SELECT boot, boot_number, boot_offset, newest, pos FROM projects WHERE project = ?;

-- name: set_clock
UPDATE projects SET boot = ?, boot_number = ?, boot_offset = ?, newest = ?, pos = ? WHERE project = ?;

-- name: find_log
SELECT pos, op, made_at, session, verb, subject, data FROM log WHERE project = ? AND op = ?;

-- name: log_since
SELECT pos, op, made_at, session, verb, subject, data FROM log WHERE project = ? AND pos > ?
ORDER BY pos LIMIT ?;

-- name: add_log
INSERT INTO log (project, pos, op, made_at, session, verb, subject, data) VALUES (?, ?, ?, ?, ?, ?, ?, ?);

-- name: drop_log
DELETE FROM log WHERE project = ? AND made_at < ?;

-- name: find_member
SELECT session, agent, name, team, role, process, boot, seen, ended, continues FROM sessions
WHERE project = ? AND session = ?;

-- name: members
SELECT session, agent, name, team, role, process, boot, seen, ended, continues FROM sessions
WHERE project = ? AND ended IS NULL;

-- name: members_named
SELECT session, agent, name, team, role, process, boot, seen, ended, continues FROM sessions
WHERE project = ? AND ended IS NULL AND (agent = ? OR name = ?);

-- name: put_member
INSERT INTO sessions (project, session, agent, name, team, role, process, boot, seen, ended, continues)
VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)
ON CONFLICT (project, session) DO UPDATE SET
    agent = excluded.agent, name = excluded.name, team = excluded.team, role = excluded.role,
    process = excluded.process, boot = excluded.boot, seen = excluded.seen, ended = excluded.ended,
    continues = excluded.continues;

-- name: beat
UPDATE sessions SET seen = ?, boot = ? WHERE project = ? AND session = ? AND ended IS NULL;

-- name: heard
SELECT began, ended FROM silences WHERE project = ?
UNION ALL SELECT newest, NULL FROM signs WHERE project = ?;

-- name: add_silence
INSERT INTO silences (project, began, ended) VALUES (?, ?, ?) ON CONFLICT (project, began) DO NOTHING;

-- name: put_sign
INSERT INTO signs (project, newest) VALUES (?, ?) ON CONFLICT (project) DO UPDATE SET newest = excluded.newest
WHERE signs.newest <= ? OR signs.newest > ?;

-- name: drop_silences
DELETE FROM silences WHERE project = ? AND ended < ?;

-- name: leases
SELECT kind, name, session, fence, ttl, used, held_until, offer, ended, is_taken FROM leases
WHERE project = ? AND kind = ? AND ended IS NULL ORDER BY fence;

-- name: leases_stored
SELECT kind, name, session, fence, ttl, used, held_until, offer, ended, is_taken FROM leases
WHERE project = ? AND kind = ? ORDER BY fence;

-- name: silent_leases
SELECT l.kind, l.name, l.session, l.fence, l.ttl, l.used, l.held_until, l.offer, l.ended, l.is_taken
FROM leases AS l LEFT JOIN sessions AS s ON s.project = l.project AND s.session = l.session
WHERE l.project = ? AND l.kind = ? AND l.ended IS NULL
AND (s.session IS NULL OR s.ended IS NOT NULL OR s.boot <> ? OR s.seen <= ?) ORDER BY l.fence;

-- name: leases_on
SELECT kind, name, session, fence, ttl, used, held_until, offer, ended, is_taken FROM leases
WHERE project = ? AND kind = ? AND name = ? ORDER BY fence;

-- name: leases_of
SELECT kind, name, session, fence, ttl, used, held_until, offer, ended, is_taken FROM leases
WHERE project = ? AND session = ? AND ended IS NULL ORDER BY fence;

-- name: leases_of_stored
SELECT kind, name, session, fence, ttl, used, held_until, offer, ended, is_taken FROM leases
WHERE project = ? AND session = ? ORDER BY fence;

-- name: put_lease
INSERT INTO leases (project, kind, name, session, fence, ttl, used, held_until, offer, ended, is_taken)
VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)
ON CONFLICT (project, kind, name, session) DO UPDATE SET
    fence = excluded.fence, ttl = excluded.ttl, used = excluded.used, held_until = excluded.held_until,
    offer = excluded.offer, ended = excluded.ended, is_taken = excluded.is_taken;

-- name: drop_ended_leases
DELETE FROM leases WHERE project = ? AND ended < ?;

-- name: drop_settled_offers
DELETE FROM offers WHERE project = ? AND offer IN (
    SELECT o.offer FROM offers AS o WHERE o.project = ? AND o.state <> 'offered' AND o.expires < ?
    ORDER BY o.expires, o.offer LIMIT ?
);

-- name: drop_ended_sessions
DELETE FROM sessions WHERE project = ? AND session IN (
    SELECT s.session FROM sessions AS s WHERE s.project = ? AND s.ended < ?
    AND NOT EXISTS (SELECT 1 FROM leases AS l WHERE l.project = s.project AND l.session = s.session)
    AND NOT EXISTS (SELECT 1 FROM offers AS o WHERE o.project = s.project AND o.giver = s.session)
    AND NOT EXISTS (
        SELECT 1 FROM inbox AS i WHERE i.project = s.project AND i.recipient = s.session AND i.read_at IS NULL
    ) AND NOT EXISTS (
        SELECT 1 FROM messages AS m JOIN inbox AS i ON i.project = m.project AND i.message = m.message
        WHERE m.project = s.project AND m.sender = s.session AND i.read_at IS NULL
    )
    ORDER BY s.ended, s.session LIMIT ?
);

-- name: find_task
SELECT task, title, body, priority, role, state, reason, note, waits, is_held, added FROM tasks
WHERE project = ? AND task = ?;

-- name: first_ready
SELECT task, title, body, priority, role, state, reason, note, waits, is_held, added FROM tasks
WHERE project = ? AND state = 'open' AND waits = 0 AND is_held = 0
ORDER BY priority, added LIMIT 1;

-- name: first_ready_for
SELECT task, title, body, priority, role, state, reason, note, waits, is_held, added FROM tasks
WHERE project = ? AND state = 'open' AND waits = 0 AND is_held = 0 AND role IN ('', ?)
ORDER BY priority, added LIMIT 1;

-- name: ready_tasks
SELECT task, title, body, priority, role, state, reason, note, waits, is_held, added FROM tasks
WHERE project = ? AND state = 'open' AND waits = 0 AND is_held = 0
ORDER BY priority, added LIMIT ?;

-- name: count_tasks
SELECT
    (SELECT COUNT(*) FROM tasks WHERE project = ? AND state <> 'closed'),
    (SELECT COUNT(*) FROM tasks WHERE project = ? AND state = 'open' AND waits = 0 AND is_held = 0);

-- name: held_tasks
SELECT t.task, t.title, t.body, t.priority, t.role, t.state, t.reason, t.note, t.waits, t.is_held, t.added
FROM leases AS l JOIN tasks AS t ON t.project = l.project AND t.task = l.name
WHERE l.project = ? AND l.kind = 'task' AND l.ended IS NULL;

-- name: tasks
SELECT task, title, body, priority, role, state, reason, note, waits, is_held, added FROM tasks
WHERE project = ? AND state <> 'closed' ORDER BY priority, added;

-- name: tasks_stored
SELECT task, title, body, priority, role, state, reason, note, waits, is_held, added FROM tasks
WHERE project = ? ORDER BY priority, added;

-- name: put_task
INSERT INTO tasks (project, task, title, body, priority, role, state, reason, note, waits, is_held, added)
VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)
ON CONFLICT (project, task) DO UPDATE SET
    title = excluded.title, body = excluded.body, priority = excluded.priority, role = excluded.role,
    state = excluded.state, reason = excluded.reason, note = excluded.note, waits = excluded.waits,
    is_held = excluded.is_held, added = excluded.added;

-- name: drop_task
DELETE FROM tasks WHERE project = ? AND task = ?;

-- name: waits_of
SELECT by_task FROM waits WHERE project = ? AND task = ?;

-- name: waiting_for
SELECT task FROM waits WHERE project = ? AND by_task = ?;

-- name: add_wait
INSERT INTO waits (project, task, by_task) VALUES (?, ?, ?) ON CONFLICT (project, task, by_task) DO NOTHING;

-- name: inbox
SELECT i.pos,
    m.message, m.sender, m.agent, m.address, m.content, m.context, m.priority, m.kind, m.sent, m.expires
FROM inbox AS i JOIN messages AS m ON m.project = i.project AND m.message = i.message
WHERE i.project = ? AND i.recipient = ? AND i.read_at IS NULL ORDER BY i.pos;

-- name: expired
SELECT message, sender, agent, address, content, context, priority, kind, sent, expires FROM messages AS m
WHERE project = ? AND expires < ? AND EXISTS (
    SELECT 1 FROM inbox AS i WHERE i.project = m.project AND i.message = m.message AND i.read_at IS NULL
);

-- name: has_old_messages
SELECT 1 WHERE EXISTS (SELECT 1 FROM messages WHERE project = ? AND expires < ?) OR EXISTS (
    SELECT 1 FROM inbox AS i WHERE i.project = ? AND i.read_at < ? AND NOT EXISTS (
        SELECT 1 FROM inbox AS other WHERE other.project = i.project AND other.message = i.message
        AND (other.read_at IS NULL OR other.read_at >= ?)
    )
);

-- name: add_message
INSERT INTO messages
    (project, message, sender, agent, address, content, context, priority, kind, sent, expires)
VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?);

-- name: add_to_inbox
INSERT INTO inbox (project, recipient, pos, message) VALUES (?, ?, ?, ?)
ON CONFLICT (project, recipient, pos, message) DO NOTHING;

-- name: drop_from_inbox
DELETE FROM inbox WHERE project = ? AND recipient = ? AND read_at IS NULL AND EXISTS (
    SELECT 1 FROM inbox AS i WHERE i.project = inbox.project AND i.recipient = ? AND i.pos = inbox.pos
    AND i.message = inbox.message
);

-- name: move_inbox
UPDATE inbox SET recipient = ? WHERE project = ? AND recipient = ? AND read_at IS NULL;

-- name: mark_read
UPDATE inbox SET read_at = ? WHERE project = ? AND recipient = ? AND pos = ? AND read_at IS NULL;

-- name: drop_expired_inbox
DELETE FROM inbox WHERE project = ? AND message IN (
    SELECT m.message FROM messages AS m WHERE m.project = ? AND m.expires < ?
);

-- name: drop_expired_messages
DELETE FROM messages WHERE project = ? AND expires < ?;

-- name: drop_read_messages
DELETE FROM messages WHERE project = ?
AND message IN (SELECT i.message FROM inbox AS i WHERE i.project = ? AND i.read_at < ?)
AND NOT EXISTS (
    SELECT 1 FROM inbox AS i WHERE i.project = messages.project AND i.message = messages.message
    AND (i.read_at IS NULL OR i.read_at >= ?)
);

-- name: drop_read_inbox
DELETE FROM inbox WHERE project = ? AND read_at < ? AND NOT EXISTS (
    SELECT 1 FROM messages AS m WHERE m.project = inbox.project AND m.message = inbox.message
);

-- name: find_offer
SELECT offer, giver, agent, taker, task, facts, state, expires FROM offers WHERE project = ? AND offer = ?;

-- name: open_offers
SELECT offer, giver, agent, taker, task, facts, state, expires FROM offers
WHERE project = ? AND state = 'offered';

-- name: put_offer
INSERT INTO offers (project, offer, giver, agent, taker, task, facts, state, expires)
VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?)
ON CONFLICT (project, offer) DO UPDATE SET
    giver = excluded.giver, agent = excluded.agent, taker = excluded.taker, task = excluded.task,
    facts = excluded.facts, state = excluded.state, expires = excluded.expires;
