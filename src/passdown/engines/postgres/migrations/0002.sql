-- Where changes of a project wait for their turn; a row is locked and never changed.
CREATE TABLE queues (project TEXT COLLATE "C" PRIMARY KEY);
GRANT SELECT, INSERT, UPDATE ON queues TO passdown_app;
ALTER TABLE queues ENABLE ROW LEVEL SECURITY;
ALTER TABLE queues FORCE ROW LEVEL SECURITY;
CREATE POLICY one_project ON queues USING (project = nullif(current_setting('passdown.project', true), ''));
