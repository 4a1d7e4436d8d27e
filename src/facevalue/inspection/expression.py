"""Expression of a face: as a classifier perceives it, or as a model of pictures and texts chooses among texts."""

from collections.abc import Callable, Mapping
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
import numpy.typing as npt

from facevalue.errors import ModelError
from facevalue.inspection.expectation import Expectation
from facevalue.inspection.per_picture import PerPicture
from facevalue.inspection.views import PictureView

if TYPE_CHECKING:
    from facevalue.models.hf.picture_models import HFPictureText

Vector = npt.NDArray[np.float64]
EXPRESSIONS = ("neutral", "happy", "sad", "angry", "surprised", "afraid", "disgusted")
"""Expressions that a model of pictures and texts chooses from: the six of Ekman (1992), and none of them."""
TEXT = "a picture of a person with a {} expression"
_HAPPY = ("happ", "smil", "joy")
"""How labels of classifiers begin that mean a happy expression."""


class ExpressionAid:
    """Distance of the perceived expression from the source's, and whether it moved towards a happy one.

    Parameters
    ----------
    name, digest, texts:
        The model, and what it was told.
    labels:
        Expressions that it tells apart.
    chances:
        Probability of each label in a picture.
    """

    def __init__(
        self, name: str, digest: str, labels: tuple[str, ...], chances: Callable[[PictureView], Vector], texts: str = ""
    ) -> None:
        self._name, self._digest, self._texts = name, digest, texts
        self._chances = PerPicture(chances)
        happy = np.array([label.strip().lower().startswith(_HAPPY) for label in labels])
        self._happy = happy if happy.any() and not happy.all() else None

    def settings(self) -> Mapping[str, str | int | float | bool]:
        """The model, and the texts that it was asked with."""
        facts: dict[str, str | int | float | bool] = {"expression": self._name, "expression_weights": self._digest}
        return facts | ({"expression_texts": self._texts} if self._texts else {})

    def quantities(
        self, picture: PictureView, source: PictureView | None, expectation: Expectation
    ) -> Mapping[str, float | None]:
        """Change of the expression; nothing of a picture without a source."""
        if source is None:
            return {}
        change = self._chances(picture) - self._chances(source)
        happier = None if self._happy is None else float(change @ self._happy)
        return {"expression_change": float(np.abs(change).sum() / 2), "happiness_change": happier}


def of_folder(folder: Path, device: str | None) -> ExpressionAid:
    """Load a classifier of expressions, or a model of pictures and texts that chooses from `EXPRESSIONS`.

    Raises
    ------
    ModelError
        It is neither, or a text is longer than what it reads.
    """
    from facevalue.models.hf import loading, picture_models  # noqa: PLC0415 - torch takes seconds to import

    if folder.is_dir() and not hasattr(loading.configuration(folder), "text_config"):
        classifier = picture_models.HFPictureClassifier(folder, device)
        return ExpressionAid(
            classifier.name, classifier.digest, classifier.labels, lambda view: classifier.probabilities(view.picture)
        )
    return _zero_shot(picture_models.HFPictureText(folder, device))


def _zero_shot(model: "HFPictureText") -> ExpressionAid:
    texts, excess = model.texts([TEXT.format(expression) for expression in EXPRESSIONS])
    if excess:
        raise ModelError(f"{model.name} reads {model.tokens} tokens, and {TEXT.format(EXPRESSIONS[-1])!r} has more.")

    def chances(view: PictureView) -> Vector:
        agreements = model.scale * (texts @ model.vector(view.picture))
        weights = np.exp(agreements - agreements.max())
        return np.asarray(weights / weights.sum())

    return ExpressionAid(model.name, model.digest, EXPRESSIONS, chances, f"{TEXT}: {', '.join(EXPRESSIONS)}")
