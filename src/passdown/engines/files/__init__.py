"""The engine that keeps everything in plain files of the checkout."""
