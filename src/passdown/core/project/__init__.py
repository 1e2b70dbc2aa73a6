"""Rules about a project as a whole: findings, pauses, costs, git rules and search."""
