"""Variants of word lists, to choose from before any list is read."""

VARIANTS = ("released", "clean")
"""All words that a file has, or only those that say something by themselves."""
