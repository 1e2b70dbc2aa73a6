"""The rules for what sessions share: tasks, leases, messages and offers."""
