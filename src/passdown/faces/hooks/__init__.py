"""The hooks that hosts call during a session."""
