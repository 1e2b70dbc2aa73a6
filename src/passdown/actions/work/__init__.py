"""How a session works: preflight, gates, loops, phases, the tracker."""
