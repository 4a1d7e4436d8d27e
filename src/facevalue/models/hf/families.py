"""What each family of models adds to the common way of sharing a prefix."""

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Family:
    """How a family's prefix is shared.

    Attributes
    ----------
    name:
        What people call it: "LLaVA-1.5".
    shares:
        Whether questions about one picture may share the keys and values of their common prefix. False sends every
        question through a forward pass of its own.
    """

    name: str
    shares: bool = True


UNKNOWN = Family("unknown", shares=False)
"""A family of which nothing is known: every question takes a plain forward pass, which is right for all of them."""

FAMILIES: dict[str, Family] = {"llava": Family("LLaVA-1.5")}
"""By `model_type` of the configuration."""


def family_of(model_type: str) -> Family:
    """Return the family of a configuration's `model_type`, `UNKNOWN` if it isn't known.

    Examples
    --------
    >>> family_of("llava").name
    'LLaVA-1.5'
    >>> family_of("something_new").shares
    False
    """
    return FAMILIES.get(model_type, UNKNOWN)
