"""VIGNETTE (Raj et al.): two people in one picture, four questions about them."""

from facevalue.studies.vignette.protocol import PROTOCOL

__all__ = ["PROTOCOL"]
