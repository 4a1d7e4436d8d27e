"""Models: one file per way to reach one. `load` turns what the user typed into an adapter."""

from facevalue.models.base import Capabilities, Model
from facevalue.models.registry import load

__all__ = ["Capabilities", "Model", "load"]
