"""VisBias: explicit and implicit bias in choices, comparisons, descriptions and forms."""

from facevalue.studies.visbias.protocol import PROTOCOL

__all__ = ["PROTOCOL"]
