"""Selections of estimates that VisBias's page shows in several places."""

from facevalue.protocol.look import Of

SPECIES = {"dimension": "species"}
GROUP = ("task", "dimension", "group")
CELL = (*GROUP, "question")
SIDES = (*GROUP, "other_group")
MARKED = Of("marked_word", (*SIDES, "word"), order="surest")
AGREED = Of("implicit_explicit_divergence", ("task", "dimension", "question", "group?"))


def divergences(species: bool, **more: object) -> Of:
    """Divergences of a group's choices from the mean of all groups, of people or of species."""
    where, without = (SPECIES, {}) if species else ({}, SPECIES)
    return Of("choice_divergence", CELL, where, without, **{"order": "clearest", **more})  # type: ignore[arg-type]
