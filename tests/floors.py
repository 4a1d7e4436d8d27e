"""Noise floors of estimates that have one."""

from facevalue.measures.uncertainty import Estimates, Floor


def floor_of(estimates: Estimates) -> Floor:
    """Return the floor of estimates that must have one."""
    assert estimates.floor is not None
    return estimates.floor
