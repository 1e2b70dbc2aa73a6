"""What sessions share: tasks, files, mail, offers, results of subagents."""
