-- What only a database with Citus is asked.

-- name: find_citus
SELECT EXISTS (SELECT 1 FROM pg_extension WHERE extname = 'citus');

-- name: find_mark
SELECT 1 FROM meta WHERE name = 'distributed';

-- name: keep_local
SELECT set_config('citus.enable_ddl_propagation', 'off', true);

-- name: find_worker_count
SELECT count(*) FROM pg_dist_node WHERE isactive AND shouldhaveshards;

-- name: find_local_tables
SELECT c.relname FROM pg_class AS c
WHERE c.relnamespace = 'passdown'::regnamespace AND c.relkind = 'r'
AND NOT EXISTS (SELECT 1 FROM pg_dist_partition AS p WHERE p.logicalrelid = c.oid)
ORDER BY c.relname <> 'projects', c.relname;

-- name: find_bypass
SELECT rolsuper OR rolbypassrls FROM pg_roles WHERE rolname = current_user;

-- name: distribute_projects
SELECT create_distributed_table('projects', 'project', colocate_with => 'none');

-- name: distribute_table
SELECT create_distributed_table(?::regclass, 'project', colocate_with => 'projects');

-- name: copy_meta
SELECT create_reference_table('meta');

-- name: drop_local_rows
SELECT truncate_local_data_after_distributing_table(?::regclass);

-- name: put_mark
INSERT INTO meta (name, value) VALUES ('distributed', 1) ON CONFLICT (name) DO NOTHING;
