"""What examples of every study need of a stored run: the picture that was shown, and what was said."""

from collections.abc import Sequence

from facevalue.errors import FaceValueError
from facevalue.studies import Study
from facevalue.types import Image, Option


def said(text: str | None, probs: Sequence[float] | None, options: Sequence[Option]) -> str:
    """A reply verbatim, or the probabilities of its options in words."""
    if probs is None:
        return text or ""
    labels = [f"{option.label} {option.text}".strip() for option in options]
    return ", ".join(f"{label}: {p:.0%}" for label, p in zip(labels, probs, strict=True))


def picture(study: Study, number: int) -> Image | None:
    """The first picture that a trial showed; None if there is none any more."""
    row = study.design.trials([number]).row(0, named=True)
    try:
        shown = study.source.stimulus(int(study.design.stimulus_numbers([number])[0]), row).load()
    except FaceValueError:
        return None  # the pictures may have moved since the run; the report says what it can without them
    return shown[0] if shown else None
