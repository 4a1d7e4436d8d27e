"""Protocols: what a study is, as data, and the engine that all studies share."""

from facevalue.protocol.protocol import Protocol
from facevalue.protocol.settings import Setting
from facevalue.protocol.study import LeftOut, Precision, Spread, Study

__all__ = ["LeftOut", "Precision", "Protocol", "Setting", "Spread", "Study"]
