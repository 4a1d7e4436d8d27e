"""Prompts: orders of options, articles, interventions, the Caesar cipher."""

from facevalue.prompts.forced_choice import ORDERINGS, Ordering

__all__ = ["ORDERINGS", "Ordering"]
