"""What sessions share: tasks, files, messages, offers, and results of subagents."""
