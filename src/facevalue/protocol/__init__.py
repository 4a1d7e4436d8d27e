"""Protocols: what a study declares."""
