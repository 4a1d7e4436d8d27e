"""Models: one file per way to reach one. `load` turns what the user typed into an adapter."""

from typing import TYPE_CHECKING

from facevalue.lazy_names import lazy_names

if TYPE_CHECKING:
    from facevalue.models.base import Capabilities, Model
    from facevalue.models.registry import load

__all__ = ["Capabilities", "Model", "load"]

__getattr__, __dir__ = lazy_names(
    __name__, {"facevalue.models.base": ("Capabilities", "Model"), "facevalue.models.registry": ("load",)}
)
