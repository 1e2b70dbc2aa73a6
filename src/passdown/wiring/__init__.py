"""Connects engines and hosts to what faces need; no other package knows them."""
