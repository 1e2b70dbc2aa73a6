-- Sessions that ended and offers that were settled are found by when that was, so that old ones are deleted
-- without reading all; and whether an offer or a message names a session is found without reading all of them.
CREATE INDEX sessions_ended ON sessions (project, ended) WHERE ended IS NOT NULL;
CREATE INDEX offers_settled ON offers (project, expires) WHERE state <> 'offered';
CREATE INDEX offers_of_giver ON offers (project, giver);
CREATE INDEX messages_of_sender ON messages (project, sender);
UPDATE meta SET value = 4 WHERE name = 'version';
