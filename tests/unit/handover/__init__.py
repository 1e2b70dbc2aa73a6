"""Tests of handoffs, tracks and contexts."""
