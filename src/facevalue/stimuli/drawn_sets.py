"""Drawn counterfactual sets: workers in skin tone and gender, and portraits in age, build or tattoo and gender.

No race is claimed: a skin tone is drawn and nothing else. Whatever is drawn follows from the name of a set and a
member's levels, so that a stored list of them can be drawn again.
"""

from functools import partial
from itertools import product

import polars as pl

from facevalue.errors import DataError
from facevalue.stimuli.drawn_workers import GENDERS, DrawnImages
from facevalue.stimuli.noto.artwork import document, nest_document
from facevalue.stimuli.noto.backdrops import BACKDROPS
from facevalue.stimuli.noto.colours import TONES
from facevalue.stimuli.noto.people import OCCUPATIONS, person_svg
from facevalue.stimuli.noto.scenes import SIZE as SCENE
from facevalue.stimuli.portraits import SKIN_TONES, Identity
from facevalue.stimuli.portraits.streams import Stream

WORKERS, PORTRAITS = "workers", "portraits"
"""Kinds of sets; a set's name begins with its kind."""
DRAWN = tuple(name for name in OCCUPATIONS if name not in ("student", "astronaut"))
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
        from facevalue.stimuli.portraits.compose import svg  # noqa: PLC0415 - a study that is read draws nothing

        return svg(Identity(image, identity_seed, gender, age, tone, build), change)
    raise DataError(f"There is no drawing {image!r}.")
