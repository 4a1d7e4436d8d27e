"""Ratings of what forms associate, and which of them count (section 3.4)."""

from facevalue.annotate.ratings import counted, read_ratings

__all__ = ["counted", "read_ratings"]
