"""What sessions share: tasks, leases, messages and offers, and the rules for them."""
