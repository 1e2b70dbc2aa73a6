"""What tests of engines, trackers and hosts share; nothing else in the package imports it."""
