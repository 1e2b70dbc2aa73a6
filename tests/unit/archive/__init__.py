"""Tests of the archive: what runs put away, and how clones that archive at once get on."""
