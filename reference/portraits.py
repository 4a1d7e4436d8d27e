"""Portraits to train on: drawn once, kept as arrays, in shards of a few hundred people each.

A shard depends on its number alone. Training people are drawn from seeds that no study uses; people to validate on and
to test on are those of `--set faces_seed=2` and `1` of StylisticBias, drawn at the size a study shows them.
"""

import io
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import numpy.typing as npt
import polars as pl
from PIL import Image

from facevalue.stimuli.drawings.portraits import SIZE as SHOWN
from facevalue.stimuli.portraits import ATTRIBUTES, Identity, png, sample_identities, svg
from facevalue.studies.stylisticbias.tables import whitelist

SIDE = 112
"""Width and height of what the model sees, in pixels."""
DRAWN = 224
"""Width and height at which most training portraits are drawn, then reduced as the model's processor reduces pictures.

Those that are drawn at a study's size, which takes three times as long, are not quite the same when reduced.
"""
PEOPLE = 400
"""People of a shard."""
CHANGES = 15
"""Changed pictures of each of them, beside the base."""
TRAINING_SEEDS = 880_000
"""Shard number n has the people of seed 880,000 + n."""
VALIDATION_SEED, TEST_SEED = 2, 1

Pixels = npt.NDArray[np.uint8]
Job = tuple[Identity, tuple[str, str] | None]


@dataclass(frozen=True)
class Portraits:
    """Pictures and what they show.

    Attributes
    ----------
    pixels:
        Shape (pictures, SIDE, SIDE, 3), RGB.
    facts:
        One row each: identity, seed, gender, age, skin_tone, build, attribute, variation; the last two null for a base.
    """

    pixels: Pixels
    facts: pl.DataFrame


def changes(gender: str) -> list[tuple[str, str]]:
    """All changes of the portraits of a gender."""
    return [(a.name, value) for a in ATTRIBUTES.values() if gender in a.genders for value in a.values]


def kept(gender: str) -> set[tuple[str, str]]:
    """Those of them that the paper keeps."""
    return {(v.attribute, v.name) for v in whitelist(gender)}


def training_jobs(shard: int) -> list[Job]:
    """What is drawn for a shard: each person's base, and some changes; those that the paper keeps twice as often."""
    rng = np.random.default_rng([TRAINING_SEEDS, shard])
    often = {gender: kept(gender) for gender in ("male", "female")}
    jobs: list[Job] = []
    half = PEOPLE // 2
    for who in sample_identities({"male": half, "female": half}, TRAINING_SEEDS + shard):
        known = changes(who.gender)
        weights = np.array([2.0 if change in often[who.gender] else 1.0 for change in known])
        picked = rng.choice(len(known), CHANGES, replace=False, p=weights / weights.sum())
        jobs += [(who, None), *((who, known[i]) for i in sorted(picked))]
    return jobs


def held_out_jobs(seed: int, people: int) -> list[Job]:
    """Every change that the paper keeps, for the first people of a seed of the study."""
    jobs: list[Job] = []
    for who in sample_identities({"male": people // 2, "female": people // 2}, seed):
        jobs += [(who, None), *((who, (v.attribute, v.name)) for v in whitelist(who.gender))]
    return jobs


def reduced(data: bytes) -> Pixels:
    """What the model's processor makes of an encoded picture; shape (SIDE, SIDE, 3)."""
    with Image.open(io.BytesIO(data)) as image:
        return np.asarray(image.convert("RGB").resize((SIDE, SIDE), Image.Resampling.BICUBIC))


def drawn(jobs: Sequence[Job], size: int) -> Iterator[Pixels]:
    """Draw pictures at a size, and reduce them."""
    for who, change in jobs:
        yield reduced(png(svg(who, change), size))


def facts(jobs: Sequence[Job]) -> pl.DataFrame:
    """One row per picture."""
    rows = [(w.id, str(w.seed), w.gender, w.age, w.skin_tone, w.build, *(change or (None, None))) for w, change in jobs]
    names = ("identity", "seed", "gender", "age", "skin_tone", "build", "attribute", "variation")
    return pl.DataFrame(rows, schema=dict.fromkeys(names, pl.String()), orient="row")


def write(folder: Path, name: str, jobs: Sequence[Job], size: int) -> None:
    """Draw pictures into NAME.npy and NAME.parquet, unless they are there."""
    target = folder / f"{name}.npy"
    if target.exists():
        return
    folder.mkdir(parents=True, exist_ok=True)
    pixels = np.empty((len(jobs), SIDE, SIDE, 3), np.uint8)
    for row, picture in enumerate(drawn(jobs, size)):
        pixels[row] = picture
    facts(jobs).write_parquet(folder / f"{name}.parquet")
    part = target.with_suffix(".part")
    with part.open("wb") as file:
        np.save(file, pixels)
    part.replace(target)


def read(folder: Path, names: Sequence[str]) -> Portraits:
    """Read written pictures."""
    pixels = np.concatenate([np.load(folder / f"{name}.npy") for name in names])
    return Portraits(pixels, pl.concat([pl.read_parquet(folder / f"{name}.parquet") for name in names]))


def draw(folder: Path, shards: Sequence[int], held_out: int) -> None:
    """Draw all portraits that are not there yet: to train on, and people to validate on and to test on.

    Parameters
    ----------
    folder:
        Where they go.
    shards:
        How many are drawn small, and how many more at the size a study shows them.
    held_out:
        How many people to validate on, and to test on.
    """
    for shard in range(sum(shards)):
        write(folder, f"portraits-{shard}", training_jobs(shard), DRAWN if shard < shards[0] else SHOWN)
    for name, seed in (("validation", VALIDATION_SEED), ("test", TEST_SEED)):
        write(folder, name, held_out_jobs(seed, held_out), SHOWN)
