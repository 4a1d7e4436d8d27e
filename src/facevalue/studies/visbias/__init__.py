"""VisBias: explicit and implicit bias in choices, comparisons, descriptions and forms."""

from facevalue.studies.visbias.study import PROTOCOL

__all__ = ["PROTOCOL"]
