-- The leases of a session that run are found without those that ended.
DROP INDEX leases_of_session;
CREATE INDEX leases_of_session ON leases (project, session, ended);
UPDATE meta SET value = 2 WHERE name = 'version';
