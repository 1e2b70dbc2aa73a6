"""A session: its start, what it states and observes, its turns and its end."""
