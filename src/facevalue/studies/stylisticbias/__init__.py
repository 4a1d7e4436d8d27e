"""StylisticBias: one face, one attribute changed; which cue moves the judgment, and how far."""

from facevalue.studies.stylisticbias.protocol import PROTOCOL

__all__ = ["PROTOCOL"]
