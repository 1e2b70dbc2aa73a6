"""Clusters of real servers, and what is proven on them: Citus, and PostgreSQL kept up by Patroni and etcd.

No run of pytest starts them, because they take minutes; `.ci/nightly` has a part for each, and each can be
run by itself, such as `python -m tests.clusters.prove_failover`.
"""
