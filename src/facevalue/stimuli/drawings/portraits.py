"""Portraits as a source of stimuli: drawn on demand from the factors in a manifest."""

import os
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

import polars as pl

from facevalue.errors import DataError
from facevalue.places import cache_folder
from facevalue.stimuli.base import Kind, factors_of
from facevalue.stimuli.portraits import ATTRIBUTES, Identity, key, sample_identities
from facevalue.types import Image, Stimulus

if TYPE_CHECKING:
    from facevalue.stimuli.portraits import PortraitCache

SIZE = 512
_PART = 16  # portraits a process draws at a time
CONTROL = ("framing", "full-body")
"""Attribute and variation of the person in full body and plain clothes: the base of what is shown full-body."""
FULL_BODY = tuple(a.name for a in ATTRIBUTES.values() if a.framing == "full-body")
"""Attributes that are shown full-body: `fashion_style`."""
COLUMNS = ("image", "identity", "set", "attribute", "variation", "gender", "age", "skin_tone", "build", "seed")


def portrait_manifest(
    identities: Sequence[Identity], variations: Mapping[str, Sequence[tuple[str, str]]], *, control: bool = False
) -> pl.DataFrame:
    """Describe a counterfactual set for each identity: the base face, and one image per variation of its gender.

    One row per image with the columns `COLUMNS`; base faces have null `attribute` and `variation`. Base faces come
    first, then attribute by attribute, so that the rows of a design's block are neighbours. With `control`, those with
    a change that is shown full-body come last, full-body in plain clothes (`CONTROL`).
    """
    rows: list[tuple[Identity, str | None, str | None]] = [(identity, None, None) for identity in identities]
    for change in dict.fromkeys(change for changes in variations.values() for change in changes):
        rows += [(identity, *change) for identity in identities if change in variations[identity.gender]]
    if control:
        genders = {gender for gender, changes in variations.items() if any(name in FULL_BODY for name, _ in changes)}
        rows += [(identity, *CONTROL) for identity in identities if identity.gender in genders]
    data = [
        (
            identity.id if attribute is None else f"{identity.id}/{attribute}={variation}",
            identity.id, identity.id, attribute, variation, identity.gender, identity.age, identity.skin_tone,
            identity.build, str(identity.seed),
        )
        for identity, attribute, variation in rows
    ]  # fmt: skip
    return pl.DataFrame(data, schema=dict.fromkeys(COLUMNS, pl.String()), orient="row")


def draw_identities(counts: Mapping[str, int], seed: int) -> list[Identity]:
    """Sample identities balanced over age, skin tone and build within each gender."""
    return sample_identities(counts, seed)


class PortraitSource:
    """Draws the portraits of a `portrait_manifest`; keeps PNGs in a folder, without one the last few in memory."""

    kind = Kind.ILLUSTRATED

    def __init__(self, manifest: pl.DataFrame, folder: Path | None = None) -> None:
        missing = [name for name in COLUMNS if name not in manifest.columns]
        if missing:
            raise DataError(f"A manifest of portraits lacks {', '.join(missing)}.")
        self._manifest = manifest
        self._folder = folder
        self._cache: PortraitCache | None = None
        self._seeds = dict(zip(manifest["identity"], manifest["seed"], strict=True))

    def stimulus(self, number: int, levels: Mapping[str, str | None]) -> Stimulus:
        """Return the portrait with these levels; nothing is drawn before it is looked at."""
        identity = self.identity(levels)
        change, framing = change_and_framing(levels["attribute"], levels["variation"])
        digest = key(identity, change, framing, SIZE)
        return Stimulus(str(number), digest, factors_of(levels), lambda: (self._image(identity, change, framing),), 1)

    def identity(self, levels: Mapping[str, str | None]) -> Identity:
        """Return who is shown."""
        name = levels["identity"]
        facts = [levels[column] for column in ("gender", "age", "skin_tone", "build")]
        if name is None or None in facts:
            raise DataError(f"The portrait {levels.get('image')!r} lacks a gender, age, skin tone or build.")
        return Identity(name, int(self._seeds[name]), *(str(f) for f in facts))

    def check(self, levels: Mapping[str, list[str | None]]) -> None:
        """Portraits cannot be missing; only the levels are looked at."""
        names = ("identity", "gender", "age", "skin_tone", "build")
        for row in set(zip(*(levels[name] for name in names), strict=True)):
            self.identity(dict(zip(names, row, strict=True)))

    def _image(self, identity: Identity, change: tuple[str, str] | None, framing: str | None) -> Image:
        if self._cache is None:
            self._cache = _cache(self._folder)
        return Image(self._cache.get(identity, change, framing), "image/png")


def change_and_framing(attribute: str | None, variation: str | None) -> tuple[tuple[str, str] | None, str | None]:
    """Change made in a picture, and its framing where that is not the change's own."""
    if attribute is None or variation is None:
        return None, None
    return (None, variation) if (attribute, variation) == CONTROL else ((attribute, variation), None)


def draw_all(manifest: pl.DataFrame, folder: Path) -> Iterator[int]:
    """Draw every portrait of a manifest into a folder, one process per core; those already there are left alone.

    Yields 1 for each, as it is drawn.
    """
    from concurrent.futures import ProcessPoolExecutor  # noqa: PLC0415 - a study that is read draws nothing
    from multiprocessing import get_context  # noqa: PLC0415

    source = PortraitSource(manifest)
    rows = manifest.iter_rows(named=True)
    jobs = [(source.identity(row), *change_and_framing(row["attribute"], row["variation"])) for row in rows]
    batches = [(folder, jobs[start : start + _PART]) for start in range(0, len(jobs), _PART)]
    # A fresh interpreter: forking a process with Polars' threads in it can hang.
    with ProcessPoolExecutor(min(os.cpu_count() or 1, len(batches)), get_context("spawn")) as pool:
        for count in pool.map(_draw, batches):
            yield from [1] * count


def _cache(folder: Path | None) -> "PortraitCache":
    from facevalue.stimuli.portraits import PortraitCache  # noqa: PLC0415 - a study that is read draws nothing

    return PortraitCache(folder, SIZE)


def _draw(batch: tuple[Path, list[tuple[Identity, tuple[str, str] | None, str | None]]]) -> int:
    folder, jobs = batch
    cache = _cache(folder)
    for identity, change, framing in jobs:
        cache.get(identity, change, framing)
    return len(jobs)


def default_cache() -> Path:
    """Folder where drawn portraits are kept between runs."""
    return cache_folder() / "portraits"
