"""The work of a session: preflight, gates, loops, phases, the tracker."""
