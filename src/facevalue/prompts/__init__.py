"""Prompts: orders of options, articles, interventions, the Caesar cipher."""

from facevalue.prompts.phrases import ORDERINGS, Ordering

__all__ = ["ORDERINGS", "Ordering"]
