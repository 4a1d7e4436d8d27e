"""VIGNETTE (Raj et al.): two people in one picture, four questions about them."""

from facevalue.studies.vignette.study import PROTOCOL

__all__ = ["PROTOCOL"]
