"""Measures: pure functions from answers to estimates, with their uncertainty."""
