"""Prompts: templates, option orderings, paraphrases, interventions."""

from facevalue.prompts.forced_choice import ORDERINGS, Ordering, phrase

__all__ = ["ORDERINGS", "Ordering", "phrase"]
