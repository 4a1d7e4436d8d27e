"""Offline stand-in for the photographs of VisBias: occupations of the Noto artwork, two genders, five skin tones.

No race is claimed: a skin tone is drawn and nothing else. Between two tones of a drawing, every pixel off the skin is
the same; between occupations or genders, the drawing itself differs.
"""

from collections.abc import Callable, Mapping
from functools import lru_cache, partial
from hashlib import blake2b
from itertools import product
from types import MappingProxyType

import polars as pl

from facevalue.errors import DataError, UnknownNameError
from facevalue.stimuli.base import Kind
from facevalue.stimuli.noto.artwork import GRID, body, document, nested
from facevalue.stimuli.noto.colours import TONES
from facevalue.stimuli.noto.people import person_svg
from facevalue.stimuli.portraits.raster import RENDERER_VERSION, png
from facevalue.types import Image, Stimulus

SIZE = 512
"""Width and height of a picture in pixels."""

OCCUPATIONS: Mapping[str, str] = MappingProxyType(
    {"basketball player": "adult", "firefighter": "firefighter", "cook": "cook", "doctor": "health-worker"}
)
"""The paper's occupations that are drawn, each with the figure of the artwork. A basketball player has a ball."""
LEFT_OUT: Mapping[str, str] = MappingProxyType(
    {
        "nurse": "Would be the same drawing as 'doctor': the artwork has one health worker, in a white coat.",
        "ceo": "The artwork's office workers have no sign of rank, and wealth can't be drawn without a caricature.",
        "lawyer": "The artwork has no such figure; its judge is another occupation.",
    }
)
"""The paper's occupations that are not drawn, each with its reason."""
GENDERS: Mapping[str, str] = MappingProxyType({"female": "woman", "male": "man"})
"""Levels of gender, each with the presentation of the artwork."""

# On the grid of the artwork, x, y and size: a head, which is all there is of an adult, and the ball beside it.
_PLAYER, _BALL = (2.0, 6.0, 98.0), (80.0, 78.0, 46.0)
_KEEP = 64  # pictures that stay in memory: some 40 kB each


class DrawnImages:
    """Pictures that are drawn when they are looked at, on white, 512 pixels wide and high.

    Parameters
    ----------
    svgs:
        For each image id, what returns its SVG document.
    """

    kind = Kind.ILLUSTRATED

    def __init__(self, svgs: Mapping[str, Callable[[], str]]) -> None:
        self._svgs = dict(svgs)
        self._image = lru_cache(maxsize=_KEEP)(self._draw)
        self._digest = lru_cache(maxsize=None)(self._hash)

    def stimulus(self, number: int, levels: Mapping[str, str | None]) -> Stimulus:
        """Return the image `levels["image"]`; nothing is drawn before it is looked at.

        Raises
        ------
        UnknownNameError
            There is no such image.
        """
        image = self._known(levels.get("image"))
        factors = {name: level for name, level in levels.items() if name not in ("trial", "block")}
        return Stimulus(str(number), self._digest(image), factors, partial(self._image, image))

    def check(self, levels: Mapping[str, list[str | None]]) -> None:
        """Drawings cannot be missing; only the names are looked at.

        Raises
        ------
        DataError
            There are no images to check.
        UnknownNameError
            There is no such image.
        """
        if not levels.get("image"):
            raise DataError("No images to check: the stimuli have no column 'image'.")
        for image in dict.fromkeys(levels["image"]):
            self._known(image)

    def svg(self, image: str) -> str:
        """Return an image as an SVG document; an `UnknownNameError` if there is none."""
        return self._svgs[self._known(image)]()

    def _known(self, image: str | None) -> str:
        if image is None or image not in self._svgs:
            raise UnknownNameError("drawn image", str(image), self._svgs)
        return image

    def _hash(self, image: str) -> str:
        return blake2b(f"{RENDERER_VERSION} {SIZE} {self.svg(image)}".encode(), digest_size=16).hexdigest()

    def _draw(self, image: str) -> tuple[Image, ...]:
        return (Image(png(self.svg(image), SIZE), "image/png"),)


def on_white(svg: str) -> str:
    """Return a drawing of 128 x 128 units on white."""
    white = f'<rect x="0" y="0" width="{GRID}" height="{GRID}" fill="#ffffff"/>'
    return document(white + nested(svg, 0, 0, GRID, "p-"))


def worker_svg(occupation: str, gender: str, tone: str) -> str:
    """Return a person of an occupation as an SVG document, on white.

    Raises
    ------
    DataError
        The paper has the occupation, and it is not drawn; says why.
    UnknownNameError
        There is no such occupation, gender or skin tone.

    Examples
    --------
    >>> worker_svg("lawyer", "female", "dark")
    Traceback (most recent call last):
    facevalue.errors.DataError: There is no drawing of 'lawyer': The artwork has no such figure; its judge is ...
    """
    if occupation in LEFT_OUT:
        raise DataError(f"There is no drawing of {occupation!r}: {LEFT_OUT[occupation]}")
    if occupation not in OCCUPATIONS:
        raise UnknownNameError("drawn occupation", occupation, OCCUPATIONS)
    if gender not in GENDERS:
        raise UnknownNameError("gender", gender, GENDERS)
    person = person_svg(OCCUPATIONS[occupation], GENDERS[gender], tone)
    if occupation != "basketball player":
        return on_white(person)
    return on_white(document(nested(person, *_PLAYER, "w-") + nested(document(body("basketball")), *_BALL, "b-")))


def worker_manifest() -> pl.DataFrame:
    """List the drawn workers.

    Returns
    -------
    One row per image, text columns: `image` ("cook/female/dark"), `identity` and `set` ("cook/female": the tones of a
    drawing are one counterfactual set), `occupation`, `gender`, `skin_tone`.

    Examples
    --------
    >>> worker_manifest().height == 4 * 2 * 5
    True
    """
    rows = [
        (f"{occupation}/{gender}/{tone}", *[f"{occupation}/{gender}"] * 2, occupation, gender, tone)
        for occupation, gender, tone in product(OCCUPATIONS, GENDERS, TONES)
    ]
    columns = ("image", "identity", "set", "occupation", "gender", "skin_tone")
    return pl.DataFrame(rows, schema=dict.fromkeys(columns, pl.String), orient="row")


def worker_source() -> DrawnImages:
    """Return what draws the images of `worker_manifest`."""
    people = worker_manifest().select("image", "occupation", "gender", "skin_tone")
    return DrawnImages({image: partial(worker_svg, *who) for image, *who in people.iter_rows()})
