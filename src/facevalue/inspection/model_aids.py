"""Aids that are models: people, attributes, structure, perceived groups and expressions of faces."""

import re
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
import numpy.typing as npt

from facevalue.errors import ModelError
from facevalue.inspection.quantities import Expectation, Need
from facevalue.inspection.views import PerPicture, PictureView
from facevalue.models.classifiers import load_detector

if TYPE_CHECKING:
    from facevalue.models.hf.picture_models import HFPictureClassifier, HFPictureEncoder, HFPictureText

Vector = npt.NDArray[np.float64]
Settings = Mapping[str, str | int | float | bool]
Numbers = Mapping[str, float | None]
SURE = 0.5
"""Score from which a person counts."""
WITH, WITHOUT = "a picture of {}", "a picture without {}"
"""Texts whose agreement with a picture gives the probability of an attribute."""
SAFE = frozenset({"normal", "safe", "sfw", "neutral", "drawings", "none"})
"""Labels of classifiers of unsafe pictures that mean that one is safe."""
_MOST_TEXTS = 4096
_NUMBER = re.compile(r"\d{1,3}")
_OLDEST = 10.0  # years that an open range of ages goes on for


class ObjectsAid:
    """Counts people."""

    def __init__(self, folder: Path) -> None:
        self._detector = load_detector(folder)

    def settings(self) -> Settings:
        """The detector's name."""
        return {"objects": self._detector.name}

    def quantities(self, picture: PictureView, source: PictureView | None, expectation: Expectation) -> Numbers:
        """Number of boxes that surely show people."""
        (scores,) = self._detector.persons([picture.picture])
        return {"persons": float(sum(score >= SURE for score in scores))}


class AgreementAid:
    """Agreement of a picture with texts, by CLIP or SigLIP."""

    def __init__(self, model: "HFPictureText") -> None:
        self._model = model
        self._vector = PerPicture(lambda view: model.vector(view.picture))
        self._texts: dict[str, Vector | None] = {}

    def settings(self) -> Settings:
        """The model, and the texts of an attribute."""
        return {"agreement": self._model.name, "agreement_weights": self._model.digest, "attribute": WITH}

    def quantities(self, picture: PictureView, source: PictureView | None, expectation: Expectation) -> Numbers:
        """Agreement with the text, and the probability of the attribute before and after."""
        numbers: dict[str, float | None] = {}
        if expectation.text and (text := self._text(expectation.text)) is not None:
            numbers["text_agreement"] = float(self._vector(picture) @ text)
        if expectation.attribute:
            chance = self._chance(picture, expectation.attribute)
            numbers["shows_attribute"] = chance
            if source is not None and chance is not None:
                of_source = self._chance(source, expectation.attribute)
                numbers["realised"] = None if of_source is None else chance - of_source
        return numbers

    def _chance(self, view: PictureView, attribute: str) -> float | None:
        texts = [self._text(form.format(attribute)) for form in (WITH, WITHOUT)]
        agreements = [float(self._vector(view) @ text) for text in texts if text is not None]
        if len(agreements) < 2:
            return None
        return float(1 / (1 + np.exp(self._model.scale * (agreements[1] - agreements[0]))))

    def _text(self, text: str) -> Vector | None:
        """A text's vector; None where the model would read only a part of it."""
        if text not in self._texts:
            if len(self._texts) >= _MOST_TEXTS:
                self._texts.clear()
            (vector,), excess = self._model.texts([text])
            self._texts[text] = None if excess else vector
        return self._texts[text]


class StructureAid:
    """Similarity of a picture and its source, by a model of pictures."""

    def __init__(self, model: "HFPictureEncoder") -> None:
        self._model = model
        self._vector = PerPicture(lambda view: model.vector(view.picture))

    def settings(self) -> Settings:
        """The model."""
        return {"structure": self._model.name, "structure_weights": self._model.digest}

    def quantities(self, picture: PictureView, source: PictureView | None, expectation: Expectation) -> Numbers:
        """Cosine of both."""
        return {} if source is None else {"deep_structure": float(self._vector(picture) @ self._vector(source))}


class ClassifierAid:
    """Output of a classifier: an age, a gender or group, or something unsafe."""

    def __init__(self, need: Need, model: "HFPictureClassifier") -> None:
        self._need, self._model = need, model
        self._chances = PerPicture(lambda view: model.probabilities(view.picture))
        self._weights = _weights(need, model.labels, model.name)

    def settings(self) -> Settings:
        """The model."""
        return {self._need.value: self._model.name, f"{self._need.value}_weights": self._model.digest}

    def quantities(self, picture: PictureView, source: PictureView | None, expectation: Expectation) -> Numbers:
        """Output of the classifier, and its distance from that for the source."""
        chances = self._chances(picture)
        if self._need is Need.UNSAFE:
            return {"unsafe": float(chances @ self._weights)}
        of_source = None if source is None else self._chances(source)
        if self._need is Need.AGE:
            age = float(chances @ self._weights)
            change = {} if of_source is None else {"perceived_age_change": age - float(of_source @ self._weights)}
            return {"perceived_age": age, **change}
        apart = None if of_source is None else float(np.abs(chances - of_source).sum() / 2)
        return {f"perceived_{self._need.value}_change": apart}


def _weights(need: Need, labels: tuple[str, ...], name: str) -> Vector:
    """Weight of each label: years of an age, 1 for something unsafe."""
    if need is Need.AGE:
        ages = [age_of(label) for label in labels]
        if stray := next((label for label, age in zip(labels, ages, strict=True) if age is None), None):
            raise ModelError(f"{name} classifies no ages: its label {stray!r} has no number of years.")
        return np.array([age or 0.0 for age in ages])
    if need is Need.UNSAFE:
        unsafe = [label.strip().lower() not in SAFE for label in labels]
        if all(unsafe) or not any(unsafe):
            raise ModelError(
                f"{name} has no label of a safe picture and one of an unsafe one: {', '.join(labels[:10])}; safe are "
                f"{', '.join(sorted(SAFE))}."
            )
        return np.array(unsafe, dtype=float)
    return np.zeros(len(labels))


def age_of(label: str) -> float | None:
    """Years that a label of an age means: the middle of a range; None where it has no number.

    Examples
    --------
    >>> [age_of(label) for label in ("20-29", "0-2", "more than 70", "70+", "34", "young")]
    [25.0, 1.5, 75.0, 75.0, 34.0, None]
    """
    years = [int(number) for number in _NUMBER.findall(label)]
    if not years:
        return None
    if len(years) > 1:
        return (years[0] + years[1] + 1) / 2  # ages are whole years that have passed
    is_open = any(word in label.lower() for word in ("more", "over", "+", "above"))
    return years[0] + _OLDEST / 2 if is_open else float(years[0])


def of_folder(need: Need, place: str, device: str | None) -> "ObjectsAid | AgreementAid | StructureAid | ClassifierAid":
    """Load the model that an aid is."""
    from facevalue.models.hf import picture_models  # noqa: PLC0415 - torch takes seconds to import

    folder = Path(place)
    if need is Need.OBJECTS:
        return ObjectsAid(folder)
    if need is Need.AGREEMENT:
        return AgreementAid(picture_models.HFPictureText(folder, device))
    if need is Need.STRUCTURE:
        return StructureAid(picture_models.HFPictureEncoder(folder, device))
    return ClassifierAid(need, picture_models.HFPictureClassifier(folder, device))


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


def load_expression_aid(folder: Path, device: str | None) -> ExpressionAid:
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
