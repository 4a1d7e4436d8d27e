"""ModSCAN: stereotypes that a model shows when it points at faces, and when it names who belongs to a scene."""

from facevalue.studies.modscan.protocol import PROTOCOL

__all__ = ["PROTOCOL"]
