-- Created after the first load, which is faster than updating them during it.

CREATE UNIQUE INDEX files_by_name ON files (folder, name);
CREATE INDEX files_with_skipped ON files (skipped) WHERE skipped > 0;
CREATE INDEX files_uncommitted ON files (id) WHERE committed = 0;
CREATE INDEX files_live ON files (name) WHERE name >= '0' AND name < ':';
CREATE UNIQUE INDEX sources_by_hash ON sources (hash);
CREATE INDEX sources_by_time ON sources (ts);
CREATE INDEX sources_by_rank ON sources (rank);
CREATE INDEX sources_unfollowed ON sources (rank) WHERE followed = 0;
CREATE INDEX sources_odd ON sources (id) WHERE odd = 1;
CREATE INDEX sources_by_session ON sources (session, covered);
CREATE INDEX sources_by_name ON sources (name);
CREATE INDEX sources_by_track ON sources (track, rank) WHERE track <> '';
CREATE INDEX sources_by_branch ON sources (branch, rank);
CREATE INDEX holds_by_source ON holds (source);
CREATE INDEX facts_by_source ON facts (source);
CREATE INDEX facts_by_bucket ON facts (bucket, ts);
CREATE INDEX facts_holding ON facts (bucket) WHERE state = 1;
CREATE INDEX facts_that_hold ON facts (section, ts) WHERE state = 1;
CREATE INDEX retractions_by_source ON retractions (source);
