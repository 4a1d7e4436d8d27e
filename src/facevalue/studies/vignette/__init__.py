"""VIGNETTE (Raj et al.): two people in one picture, four questions about them."""

from facevalue.studies.vignette.study import ENTRY

__all__ = ["ENTRY"]
