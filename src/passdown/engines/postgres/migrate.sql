-- What a migration asks and does beside its scripts.

-- name: find_role
SELECT rolsuper, rolbypassrls, rolcreaterole FROM pg_roles WHERE rolname = ?;

-- name: make_owner
CREATE ROLE passdown_owner LOGIN;

-- name: make_app
CREATE ROLE passdown_app LOGIN;

-- name: find_rights
SELECT pg_has_role('passdown_owner', 'MEMBER'),
    EXISTS (SELECT 1 FROM pg_namespace WHERE nspname = 'passdown');

-- name: join_owner
GRANT passdown_owner TO CURRENT_USER;

-- name: make_schema
CREATE SCHEMA passdown AUTHORIZATION passdown_owner;

-- name: become_owner
SET LOCAL ROLE passdown_owner;

-- name: find_meta
SELECT to_regclass('passdown.meta') IS NOT NULL;

-- name: find_version
SELECT value FROM meta WHERE name = 'version';
