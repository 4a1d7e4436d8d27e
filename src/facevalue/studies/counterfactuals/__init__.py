"""Counterfactuals at scale: open text, toxicity, stereotypes, competence and ratings over sets of pictures."""

from facevalue.studies.counterfactuals.protocol import PROTOCOL

__all__ = ["PROTOCOL"]
