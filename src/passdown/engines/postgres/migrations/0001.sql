-- What only PostgreSQL has. It runs as the owner, after the tables of the same number were created.

-- Room for new versions of a row beside it: a sign of life then touches no index.
ALTER TABLE projects SET (fillfactor = 50);
ALTER TABLE sessions SET (fillfactor = 50);
ALTER TABLE leases SET (fillfactor = 60);
ALTER TABLE tasks SET (fillfactor = 70);
ALTER TABLE inbox SET (fillfactor = 70);

-- The role of verbs and servers owns nothing, and changes the rows of one project at a time.
GRANT USAGE ON SCHEMA passdown TO passdown_app;
GRANT SELECT ON meta TO passdown_app;
GRANT SELECT, INSERT, UPDATE ON projects TO passdown_app;
GRANT SELECT, INSERT, DELETE ON log, waits TO passdown_app;
GRANT SELECT, INSERT, UPDATE, DELETE ON sessions, tasks, leases, messages, inbox, offers TO passdown_app;

-- Nobody sees or changes rows of a project that the transaction did not name, not even the owner. Once a
-- transaction has set it, the setting is empty in later ones that do not.

ALTER TABLE projects ENABLE ROW LEVEL SECURITY;
ALTER TABLE projects FORCE ROW LEVEL SECURITY;
CREATE POLICY one_project ON projects USING (project = nullif(current_setting('passdown.project', true), ''));

ALTER TABLE sessions ENABLE ROW LEVEL SECURITY;
ALTER TABLE sessions FORCE ROW LEVEL SECURITY;
CREATE POLICY one_project ON sessions USING (project = nullif(current_setting('passdown.project', true), ''));

ALTER TABLE tasks ENABLE ROW LEVEL SECURITY;
ALTER TABLE tasks FORCE ROW LEVEL SECURITY;
CREATE POLICY one_project ON tasks USING (project = nullif(current_setting('passdown.project', true), ''));

ALTER TABLE waits ENABLE ROW LEVEL SECURITY;
ALTER TABLE waits FORCE ROW LEVEL SECURITY;
CREATE POLICY one_project ON waits USING (project = nullif(current_setting('passdown.project', true), ''));

ALTER TABLE leases ENABLE ROW LEVEL SECURITY;
ALTER TABLE leases FORCE ROW LEVEL SECURITY;
CREATE POLICY one_project ON leases USING (project = nullif(current_setting('passdown.project', true), ''));

ALTER TABLE messages ENABLE ROW LEVEL SECURITY;
ALTER TABLE messages FORCE ROW LEVEL SECURITY;
CREATE POLICY one_project ON messages USING (project = nullif(current_setting('passdown.project', true), ''));

ALTER TABLE inbox ENABLE ROW LEVEL SECURITY;
ALTER TABLE inbox FORCE ROW LEVEL SECURITY;
CREATE POLICY one_project ON inbox USING (project = nullif(current_setting('passdown.project', true), ''));

ALTER TABLE offers ENABLE ROW LEVEL SECURITY;
ALTER TABLE offers FORCE ROW LEVEL SECURITY;
CREATE POLICY one_project ON offers USING (project = nullif(current_setting('passdown.project', true), ''));

ALTER TABLE log ENABLE ROW LEVEL SECURITY;
ALTER TABLE log FORCE ROW LEVEL SECURITY;
CREATE POLICY one_project ON log USING (project = nullif(current_setting('passdown.project', true), ''));
