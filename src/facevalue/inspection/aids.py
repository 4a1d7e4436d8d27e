"""Aids of an inspector: models that it takes to what a picture alone does not tell, each named by what it is for."""

from collections.abc import Callable, Iterator, Mapping
from typing import Protocol

from facevalue.errors import ModelSpecError, UnknownNameError
from facevalue.inspection.quantities import Need
from facevalue.inspection.views import PictureView
from facevalue.inspection.expectation import Expectation

NONE = "default"
"""What follows "inspect/" where no model is taken."""


class Aid(Protocol):
    """A model that gives some of the quantities."""

    def settings(self) -> Mapping[str, str | int | float | bool]:
        """Facts that change its numbers."""
        ...

    def quantities(
        self, picture: PictureView, source: PictureView | None, expectation: Expectation
    ) -> Mapping[str, float | None]:
        """Quantities by name; None, or none at all, where it can tell none."""
        ...


def aids_of(name: str) -> dict[Need, str]:
    """Read the name of an inspector: "default", or aids such as "identity=dlib,objects=models/detr".

    Raises
    ------
    ModelSpecError
        It is neither, or names an aid twice.

    Examples
    --------
    >>> aids_of("identity=dlib")
    {<Need.IDENTITY: 'identity'>: 'dlib'}
    """
    if name == NONE:
        return {}
    names = [need.value for need in Need if need]
    aids: dict[Need, str] = {}
    for piece in name.split(","):
        kind, sign, place = (text.strip() for text in piece.partition("="))
        if kind not in names:
            if not sign:
                raise UnknownNameError("inspector", kind, [NONE, *(f"{aid}=..." for aid in names)])
            raise UnknownNameError("aid of an inspector", kind, names)
        if not place:
            raise ModelSpecError(
                f"{piece.strip()!r} names no model: write {kind}={_EXAMPLES.get(Need(kind), 'FOLDER')}."
            )
        if Need(kind) in aids:
            raise ModelSpecError(f"An inspector has one model for {kind}, not both {aids[Need(kind)]} and {place}.")
        aids[Need(kind)] = place
    return aids


def load_aids(aids: Mapping[Need, str], device: str | None = None) -> Iterator[Aid]:
    """Load each of the models."""
    for need, place in aids.items():
        yield _LOADERS[need](need, place, device)


_EXAMPLES = {Need.IDENTITY: "dlib"}
_LOADERS: dict[Need, Callable[[Need, str, str | None], Aid]] = {}
