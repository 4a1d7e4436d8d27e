"""Counts of verdicts: how many comparisons of a kind ended in which way."""

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class VerdictCounts:
    """Verdicts of one kind of comparison of one model, counted."""

    model: str
    compared: str
    """What is compared, in words."""
    comparisons: int
    """Those that could be judged."""
    differ: int
    """Of these: "difference found"."""
    caveats: str
    """How many of those have which caveat (", each unless the missing answers say otherwise"); empty where none has."""
    equivalent: int
    """Of these: "equivalent within the margin"."""
    undecided: int
    """Of these: neither."""
    found_from: str
    """The size that is typically found with 80% power where nothing was, with its unit; empty if that is not known."""
