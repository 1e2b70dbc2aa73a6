"""Turn events into the facts that hold: ranking, merging, rollups and the content of the view."""
