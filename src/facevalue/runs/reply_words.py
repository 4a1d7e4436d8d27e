"""Replies to a trial in words."""

from collections.abc import Sequence

from facevalue.types import Option


def said(text: str | None, probs: Sequence[float] | None, options: Sequence[Option]) -> str:
    """A reply verbatim, or the probabilities of its options in words."""
    if probs is None:
        return text or ""
    labels = [option.wording for option in options]
    return ", ".join(f"{label}: {p:.0%}" for label, p in zip(labels, probs, strict=True))
