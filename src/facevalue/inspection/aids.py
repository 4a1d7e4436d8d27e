"""Aids of an inspector: models that it takes to what a picture alone does not tell, each named by what it is for."""

from collections.abc import Mapping
from pathlib import Path
from typing import Protocol

from facevalue.errors import ModelSpecError, UnknownNameError
from facevalue.inspection.expectation import Expectation
from facevalue.inspection.quantities import Need
from facevalue.inspection.views import PictureView

NONE = "default"
"""What follows "inspect/" where no model is taken."""
PEERS = "peers"
"""A table of sources by whom an identity is ranked; no model, and stands beside one for identity."""
_KINDS = (*(need.value for need in Need if need), PEERS)


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


def places_of(name: str) -> dict[str, str]:
    """Read the name of an inspector: "default", or aids such as "identity=dlib,objects=models/detr".

    Raises
    ------
    ModelSpecError, UnknownNameError
        It is neither, or names an aid twice.

    Examples
    --------
    >>> places_of("identity=dlib")
    {'identity': 'dlib'}
    """
    if name == NONE:
        return {}
    places: dict[str, str] = {}
    for piece in name.split(","):
        kind, sign, place = (text.strip() for text in piece.partition("="))
        if kind not in _KINDS and not sign:
            raise UnknownNameError("inspector", kind, [NONE, *(f"{aid}=..." for aid in _KINDS)])
        if kind not in _KINDS:
            raise UnknownNameError("aid of an inspector", kind, _KINDS)
        if not place:
            example = {Need.IDENTITY.value: "dlib", PEERS: "FILE.parquet"}.get(kind, "FOLDER")
            raise ModelSpecError(f"{piece.strip()!r} names no model: write {kind}={example}.")
        if kind in places:
            raise ModelSpecError(f"An inspector has one model for {kind}, not both {places[kind]} and {place}.")
        places[kind] = place
    if PEERS in places and Need.IDENTITY.value not in places:
        raise ModelSpecError(f"{PEERS} are for ranks of identity: name a model for it too, such as identity=dlib.")
    return places


def name_of(places: Mapping[str, str]) -> str:
    """The name of an inspector with these aids, in their order.

    Examples
    --------
    >>> name_of({"objects": "models/detr", "identity": "dlib"}), name_of({})
    ('inspect/identity=dlib,objects=models/detr', 'inspect/default')
    """
    pieces = [f"{kind}={places[kind]}" for kind in _KINDS if kind in places]
    return f"inspect/{','.join(pieces) or NONE}"


def load_aids(places: Mapping[str, str], device: str | None = None) -> list[Aid]:
    """Load each of the models.

    Raises
    ------
    ModelError, DependencyError
        One is not there, cannot be read, or needs a package that is missing.
    """
    aids: list[Aid] = []
    for kind, place in places.items():
        if kind == Need.IDENTITY:
            from facevalue.inspection.identity import IdentityAid, Peers  # noqa: PLC0415 - imported when asked for

            aids.append(IdentityAid(place, Peers.read(Path(places[PEERS])) if PEERS in places else None))
        elif kind == Need.EXPRESSION:
            from facevalue.inspection import expression  # noqa: PLC0415

            aids.append(expression.of_folder(Path(place), device))
        elif kind != PEERS:
            from facevalue.inspection.model_aids import of_folder  # noqa: PLC0415

            aids.append(of_folder(Need(kind), place, device))
    return aids
