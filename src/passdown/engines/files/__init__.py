"""The engine that stores everything in plain files in the checkout."""
