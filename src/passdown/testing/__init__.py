"""What tests of engines, trackers and hosts share; nothing in the package imports it."""
