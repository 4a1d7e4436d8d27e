"""Pictures as they are inspected: each behind its source, if it has one, with what it shall show; broken ones, too."""

from collections.abc import Mapping
from dataclasses import dataclass
from functools import partial
from pathlib import Path

import polars as pl

from facevalue.errors import DataError, UnknownNameError
from facevalue.parquet import read_table
from facevalue.protocol.making import IMAGE, PROMPT, SOURCE
from facevalue.protocol.settings import Options, Setting
from facevalue.protocol.sources import kind_of, own_manifest, root_of, source_paths
from facevalue.protocol.stimuli import Listed
from facevalue.statistics.sets import OTHER_PATH, Sets
from facevalue.stimuli.base import Kind, Source
from facevalue.stimuli.images import ImageFiles, content_hash, image_files
from facevalue.stimuli.manifest_rows import Column, Faults
from facevalue.types import Image, Stimulus

LOOKED_FOR, MADE_FROM = "looked_for", "made_from"
"""Columns with what an edit shall have added, and with the text that a picture was made from; empty if not known."""
CUES = ("cue", "edit", "variation", "accessory")
"""Columns that say what was edited, where the user names none: the first of them that is there."""
_ABSENT = "absent"  # stands for the digest of a file that is not there
_LONGEST = 1000  # characters of a text


@dataclass(frozen=True)
class InspectedPictures(Listed):
    """All pictures of a list, sources and edits, readable or not.

    Examples
    --------
    >>> [setting.name for setting in InspectedPictures().settings]
    ['manifest', 'root', 'kind', 'cue']
    """

    @property
    def settings(self) -> tuple[Setting, ...]:
        """Settings of the files' place, and of the column that says what was edited."""
        return *super().settings, Setting("cue", f"The column that says what was edited; {', '.join(CUES)} if any.", "")

    @property
    def columns(self) -> tuple[Column, ...]:
        """Columns that the list of pictures may have."""
        source = Column(SOURCE, "the picture that it was edited from, by its id; empty if none")
        return *super().columns, source

    def table(self, options: Options) -> pl.DataFrame:
        """A row per picture, with the path of its source."""
        if not options["manifest"]:
            return super().table(options)
        place = Path(str(options["manifest"]))
        listed = own_manifest(options, self.columns)
        if SOURCE not in listed.columns:
            listed = listed.with_columns(pl.lit(None, pl.String).alias(SOURCE))
        faults = Faults()
        paths = source_paths(listed, faults)
        faults.check(place.name)
        cue = _cue(str(options["cue"]), listed, place.name)
        looked_for = (listed[cue] if cue else pl.Series([""]).new_from_index(0, listed.height)).fill_null("")
        return listed.with_columns(paths, looked_for.alias(LOOKED_FOR), _texts(place, listed).alias(MADE_FROM)).drop(
            SOURCE
        )

    def sets(self, table: pl.DataFrame) -> Sets:
        """People are units, and nothing is a base: pictures are described."""
        return Sets(table, self.unit)

    def source(self, table: pl.DataFrame, options: Options) -> Source:
        """Shows a picture behind its source."""
        return InspectedSource(table, root_of(options), kind_of(options, Kind.UNSTATED))


def _cue(name: str, listed: pl.DataFrame, place: str) -> str:
    """The column that says what was edited; empty if there is none."""
    if name and name not in listed.columns:
        raise UnknownNameError(f"column of {place}", name, listed.columns)
    return name or next((column for column in CUES if column in listed.columns), "")


def _texts(place: Path, listed: pl.DataFrame) -> pl.Series:
    """The text that each picture was made from, as a manifest of made pictures has it; empty where none is known."""
    none = pl.Series(MADE_FROM, [""]).new_from_index(0, listed.height)
    if place.suffix.lower() != ".parquet":
        return none
    try:
        texts = read_table(place, (IMAGE, PROMPT))
    except (OSError, pl.exceptions.PolarsError):  # such a manifest has no texts
        return none
    texts = texts.select(pl.col(IMAGE, PROMPT).cast(pl.String)).unique(IMAGE)
    joined = listed.select(IMAGE).join(texts, on=IMAGE, how="left", maintain_order="left")[PROMPT]
    return joined.fill_null("").str.replace_all(r"\s+", " ").str.slice(0, _LONGEST)


class InspectedSource:
    """Shows the file `other_path` of a table, if there is one, then `path`; nothing is refused beforehand."""

    def __init__(self, table: pl.DataFrame, root: Path, kind: Kind) -> None:
        self.kind = kind
        self._pictures = image_files(table, root)
        self._origins = dict(table.select(IMAGE, OTHER_PATH).iter_rows())

    def stimulus(self, number: int, levels: Mapping[str, str | None]) -> Stimulus:
        """Return a picture behind its source; one that is not there is an error of its request alone."""
        image = str(levels[IMAGE])
        names = [name for name in (self._origins.get(image), self._pictures.name(image)) if name is not None]
        digests = [_digest(self._pictures, name) for name in names]
        digest = digests[0] if len(digests) == 1 else content_hash(" ".join(digests).encode())
        return Stimulus(str(number), digest, levels, partial(self._load, names, digests), len(names))

    def check(self, levels: Mapping[str, list[str | None]]) -> None:
        """Nothing: what is wrong with a picture is what is to be found."""

    def _load(self, names: list[str], digests: list[str]) -> tuple[Image, ...]:
        return tuple(
            Image(self._pictures.read_unchanged(name, digest) if digest != _ABSENT else self._pictures.read(name), "")
            for name, digest in zip(names, digests, strict=True)
        )


def _digest(files: ImageFiles, name: str) -> str:
    try:
        return files.digest(name)
    except DataError:
        return _ABSENT
