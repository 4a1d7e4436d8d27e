"""Outputs of models by picture, so that a picture that comes again, as sources do, is looked at once."""

from collections.abc import Callable
from typing import Generic, TypeVar

from facevalue.inspection.views import PictureView
from facevalue.stimuli.images import Kept

V = TypeVar("V")
_MOST = 4096  # pictures


class PerPicture(Generic[V]):
    """Outputs of a model for pictures, each computed once as long as it is remembered."""

    def __init__(self, ask: Callable[[PictureView], V]) -> None:
        self._ask = ask
        self._outputs: Kept[str, tuple[V]] = Kept(_MOST)

    def __call__(self, view: PictureView) -> V:
        """Return the model's output for a picture."""
        output = self._outputs.get(view.digest)
        if output is None:
            output = (self._ask(view),)
            self._outputs.put(view.digest, output, 1)
        return output[0]
