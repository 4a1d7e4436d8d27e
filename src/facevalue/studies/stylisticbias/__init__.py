"""StylisticBias: one face, one attribute changed; which cue moves the judgment, and how far."""

from facevalue.studies.stylisticbias.study import ENTRY

__all__ = ["ENTRY"]
