-- The role of verbs and servers writes signs of life and silences of one project at a time.
ALTER TABLE signs SET (fillfactor = 50);
GRANT SELECT, INSERT, UPDATE ON signs TO passdown_app;
GRANT SELECT, INSERT, DELETE ON silences TO passdown_app;

ALTER TABLE signs ENABLE ROW LEVEL SECURITY;
ALTER TABLE signs FORCE ROW LEVEL SECURITY;
CREATE POLICY one_project ON signs USING (project = nullif(current_setting('passdown.project', true), ''));

ALTER TABLE silences ENABLE ROW LEVEL SECURITY;
ALTER TABLE silences FORCE ROW LEVEL SECURITY;
CREATE POLICY one_project ON silences USING (project = nullif(current_setting('passdown.project', true), ''));
