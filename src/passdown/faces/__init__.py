"""Faces: each parses its input, calls one service, and renders the answer."""
