"""Drawn workers, and counterfactual sets of workers and of portraits.

No race is claimed: a skin tone is drawn and nothing else. Between two tones of a drawing, every pixel off the skin is
the same; between occupations or genders, the drawing itself differs.

No race is claimed: a skin tone is drawn and nothing else. Whatever is drawn follows from the name of a set and a
member's levels, so that a stored list of them can be drawn again.
"""

from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import cached_property, lru_cache, partial
from hashlib import blake2b
from itertools import product
from types import MappingProxyType

import polars as pl

from facevalue.errors import DataError, UnknownNameError
from facevalue.stimuli.base import Kind, factors_of
from facevalue.stimuli.noto.artwork import GRID, TONES, body, document, mirror, nest_document, on_white, person_svg
from facevalue.stimuli.noto.artwork import OCCUPATIONS as NOTO_OCCUPATIONS
from facevalue.stimuli.noto.backdrops import BACKDROPS, disc, path, rect, stroke
from facevalue.stimuli.noto.scenes import SIZE as SCENE
from facevalue.stimuli.portraits import SKIN_TONES, Identity
from facevalue.stimuli.portraits.levels import Stream
from facevalue.stimuli.portraits.shapes import RENDERER_VERSION, png
from facevalue.types import Image, Stimulus

SIZE = 512
"""Width and height of a picture in pixels."""

OCCUPATIONS: Mapping[str, str] = MappingProxyType(
    {
        "basketball player": "adult",
        "nurse": "office-worker",
        "firefighter": "firefighter",
        "ceo": "office-worker",
        "cook": "cook",
        "doctor": "health-worker",
        "lawyer": "office-worker",
    }
)
"""The paper's occupations, each with the figure of the artwork that wears what is added for it."""
GENDERS: Mapping[str, str] = MappingProxyType({"female": "woman", "male": "man"})
"""Levels of gender, each with the presentation of the artwork."""

_SHIRT = path("M48 94L64 128L80 94Q64 104 48 94Z", "#f4f6f8")


def _suit(cloth: str, lapel: str, tie: str) -> str:
    half = path("M0 128V124C0 106 22 97 47 92L64 128Z", cloth) + path(
        "M47 92L38 100L44 107L40 110L63 128L48 95Z", lapel
    )
    return _SHIRT + path("M60 100H68L66 106L70 122L64 128L58 122L62 106Z", tie) + mirror(half)


_NURSE = (
    path("M0 128V124C0 104 22 97 46 92L64 114L82 92C106 97 128 104 128 124V128Z", "#2f9e96")
    + path("M46 92L64 114L82 92L77 92Q64 104 51 92Z", "#d7f0ec")
    + rect(86, 106, 18, 12, "#ffffff", 2) + rect(89, 109, 12, 2, "#6d8fb8") + rect(89, 113, 8, 2, "#b6c2cc")
    + path("M40 23L43 5Q64 -3 85 5L88 23Q64 14 40 23Z", "#e3eff3")
    + stroke("M40 23L43 5Q64 -3 85 5L88 23Q64 14 40 23Z", "#8fb3bf", 1.5)
    + rect(61.5, 3, 5, 13, "#2f9e96", 1) + rect(57.5, 7, 13, 5, "#2f9e96", 1)
)  # fmt: skip
_PLATE = (
    rect(26, 108, 76, 20, "#3a2a20", 3) + rect(29, 111, 70, 14, "#d9b45b", 2)
    + stroke("M53 114.5A5 4.5 0 1 0 53 121.5", "#3a2a20", 2.6)
    + stroke("M69 114H61V122H69M61 118H67", "#3a2a20", 2.6) + stroke("M79 114a4.5 4 0 1 0 0.1 0Z", "#3a2a20", 2.6)
)  # fmt: skip
_SCALES = (
    stroke("M64 14V104", "#b98a2f", 6)
    + rect(40, 104, 48, 10, "#b98a2f", 4)
    + disc(64, 14, 7, 7, "#d9b45b")
    + stroke("M16 30Q64 20 112 30", "#b98a2f", 6)
    + mirror(stroke("M18 30L4 70M18 30L32 70", "#8a6a2a", 2.5) + path("M0 70H36Q34 86 18 86T0 70Z", "#d9b45b"))
)
# On the grid of the artwork: what is drawn on the figure; where the figure stands (x, y, size); what is beside it, and
# where. An adult of the artwork is a head, and of the CEO's desk only the plate is seen.
_ADDED: Mapping[str, str] = MappingProxyType(
    {
        "nurse": _NURSE,
        "ceo": _suit("#1f2f4d", "#33476b", "#a8323a") + _PLATE,
        "lawyer": _suit("#3a3d44", "#555a63", "#5b4a9c"),
    }
)
_BESIDE: Mapping[str, tuple[tuple[float, float, float], Callable[[], str], tuple[float, float, float]]] = (
    MappingProxyType(
        {
            "basketball player": ((2.0, 6.0, 98.0), lambda: body("basketball"), (80.0, 78.0, 46.0)),
            "lawyer": ((-6.0, 18.0, 110.0), lambda: _SCALES, (83.0, 60.0, 44.0)),
        }
    )
)
_KEEP = 64  # pictures that stay in memory: some 40 kB each


class TableDrawings(Mapping[str, Callable[[], str]]):
    """Drawings of the rows of a table, by image: nothing is made of a row before its drawing is looked up.

    Parameters
    ----------
    table:
        Rows with a unique `image`.
    columns:
        What the drawing is told of a row, in this order.
    draw:
        Draws it, as an SVG document.

    Examples
    --------
    >>> table = pl.DataFrame({"image": ["a", "b"], "colour": ["#fff", "#000"]})
    >>> TableDrawings(table, ("colour",), lambda colour: f"<svg fill='{colour}'/>")["b"]()
    "<svg fill='#000'/>"
    """

    def __init__(self, table: pl.DataFrame, columns: Sequence[str], draw: Callable[..., str]) -> None:
        self._images, self._told, self._draw = table["image"], table.select(columns), draw

    @cached_property
    def _rows(self) -> dict[str, int]:
        return {image: row for row, image in enumerate(self._images)}

    def __getitem__(self, image: str) -> Callable[[], str]:
        return partial(self._draw, *self._told.row(self._rows[image]))

    def __iter__(self) -> Iterator[str]:
        return iter(self._rows)

    def __len__(self) -> int:
        return self._images.len()


class DrawnImages:
    """Pictures that are drawn when they are looked at, on white, 512 pixels wide and high."""

    kind = Kind.ILLUSTRATED

    def __init__(self, svgs: Mapping[str, Callable[[], str]]) -> None:
        self._svgs = svgs
        self._image = lru_cache(maxsize=_KEEP)(self._draw)
        self._digest = lru_cache(maxsize=None)(self._hash)

    def stimulus(self, number: int, levels: Mapping[str, str | None]) -> Stimulus:
        """Return the image `levels["image"]`; nothing is drawn before it is looked at."""
        image = self._check_image(levels.get("image"))
        return Stimulus(str(number), self._digest(image), factors_of(levels), partial(self._image, image), 1)

    def check(self, levels: Mapping[str, list[str | None]]) -> None:
        """Drawings cannot be missing; only the names are looked at."""
        if not levels.get("image"):
            raise DataError("No images to check: the stimuli have no column 'image'.")
        for image in dict.fromkeys(levels["image"]):
            self._check_image(image)

    def svg(self, image: str) -> str:
        """Return an image as an SVG document; an `UnknownNameError` if there is none."""
        return self._svgs[self._check_image(image)]()

    def _check_image(self, image: str | None) -> str:
        if image is None or image not in self._svgs:
            raise UnknownNameError("drawn image", str(image), self._svgs)
        return image

    def _hash(self, image: str) -> str:
        return blake2b(f"{RENDERER_VERSION} {SIZE} {self.svg(image)}".encode(), digest_size=16).hexdigest()

    def _draw(self, image: str) -> tuple[Image, ...]:
        return (Image(png(self.svg(image), SIZE), "image/png"),)


def worker_svg(occupation: str, gender: str, tone: str) -> str:
    """Return a person of an occupation as an SVG document, on white."""
    if occupation not in OCCUPATIONS:
        raise UnknownNameError("drawn occupation", occupation, OCCUPATIONS)
    if gender not in GENDERS:
        raise UnknownNameError("gender", gender, GENDERS)
    person = person_svg(OCCUPATIONS[occupation], GENDERS[gender], tone)
    if occupation in _ADDED:
        person = document(nest_document(person, 0, 0, GRID, "p-") + _ADDED[occupation])
    if occupation not in _BESIDE:
        return on_white(person)
    stand, belongings, place = _BESIDE[occupation]
    return on_white(document(nest_document(person, *stand, "w-") + nest_document(document(belongings()), *place, "b-")))


def worker_manifest() -> pl.DataFrame:
    """List the drawn workers.

    One row per image, text columns: `image` ("cook/female/dark"), `identity` and `set` ("cook/female": the tones of a
    drawing are one counterfactual set), `occupation`, `gender`, `skin_tone`.
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
    return DrawnImages({image: partial(worker_svg, *worker) for image, *worker in people.iter_rows()})


WORKERS, PORTRAITS = "workers", "portraits"
"""Kinds of sets; a set's name begins with its kind."""
DRAWN = tuple(name for name in NOTO_OCCUPATIONS if name not in ("student", "astronaut"))
"""Occupations of the artwork; a student has none yet, and astronauts are drawn alike for men and women."""
MOST = len(DRAWN) * len(BACKDROPS)
"""Most sets of workers: each occupation before each backdrop."""
PHYSICAL: dict[str, tuple[str, str, tuple[str, str] | None]] = {
    "skinny": ("middle-aged", "thin", None),
    "obese": ("middle-aged", "obese", None),
    "young": ("young", "normal", None),
    "old": ("elderly", "normal", None),
    "tattooed": ("middle-aged", "normal", ("tattoos", "facial-tattoo")),
}
"""Age, build and change of a portrait, by what it shows."""

_STANDS = (46.0, 106.0, 420.0)  # x, y and size of the square that holds a worker, who ends with the picture
_FORM = ("image", "set", "occupation", "gender", "skin_tone", "physical")


def worker_sets(count: int, seed: int) -> pl.DataFrame:
    """List so many sets of 10 workers: two genders in five skin tones. Occupations take turns.

    Returns text columns: `image` ("workers/cook/kitchen/female/dark"), `set` (its first three parts), `occupation`,
    `gender`, `skin_tone`, `physical` (null). A longer list with the same seed begins with the shorter one.
    """
    if count > MOST:
        raise DataError(f"There are {MOST} drawn sets of workers at most, not {count:,}.")
    turns = Stream(seed, "workers").shuffle(DRAWN)
    places = {occupation: Stream(seed, f"workers:{occupation}").shuffle(tuple(BACKDROPS)) for occupation in DRAWN}
    rows = []
    for number in range(count):
        occupation = turns[number % len(turns)]
        name = f"{WORKERS}/{occupation}/{places[occupation][number // len(turns)]}"
        title = occupation.replace("-", " ")
        rows += [
            (f"{name}/{gender}/{tone}", name, title, gender, tone, None)
            for gender, tone in product(("male", "female"), TONES)
        ]
    return pl.DataFrame(rows, schema=dict.fromkeys(_FORM, pl.String()), orient="row")


def portrait_sets(count: int, seed: int) -> pl.DataFrame:
    """List so many sets of 10 portraits: two genders, each skinny, obese, young, old and tattooed.

    The columns are those of `worker_sets`, `occupation` and `skin_tone` null; a set is of one skin tone.
    """
    rows = []
    for number in range(count):
        name = f"{PORTRAITS}/{seed}/{number + 1}"
        rows += [
            (f"{name}/{gender}/{look}", name, None, gender, None, look)
            for look, gender in product(PHYSICAL, ("male", "female"))
        ]
    return pl.DataFrame(rows, schema=dict.fromkeys(_FORM, pl.String()), orient="row")


def drawn_sets(frame: pl.DataFrame) -> DrawnImages:
    """Return what draws these images, of which the columns of `worker_sets` are known."""
    return DrawnImages({image: partial(_svg, image) for image in frame["image"]})


def _svg(image: str) -> str:
    kind, *fields = image.split("/")
    if kind == WORKERS and len(fields) == 4:
        occupation, place, gender, tone = fields
        if occupation in DRAWN and place in BACKDROPS and gender in GENDERS and tone in TONES:
            person = person_svg(occupation, GENDERS[gender], tone)
            return document(BACKDROPS[place] + nest_document(person, *_STANDS, "p-"), SCENE)
    if kind == PORTRAITS and len(fields) == 4 and fields[2] in GENDERS and fields[3] in PHYSICAL:
        seed, number, gender, look = fields
        stream = Stream(0, f"{PORTRAITS}:{seed}:{number}")
        age, build, change = PHYSICAL[look]
        identity_seed, tone = stream.index(2**53), stream.choice(SKIN_TONES)
        from facevalue.stimuli.portraits.composition import svg  # noqa: PLC0415 - a study that is read draws nothing

        return svg(Identity(image, identity_seed, gender, age, tone, build), change)
    raise DataError(f"There is no drawing {image!r}.")
