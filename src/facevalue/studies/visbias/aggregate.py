"""Aggregation of answers into the tables that measures need, and counts of words, in one pass."""

from collections.abc import Collection, Sequence
from dataclasses import dataclass, field
from itertools import combinations

import numpy as np
import numpy.typing as npt
import polars as pl

from facevalue.annotations import group_lists
from facevalue.annotations.counts import Tokeniser, WordCounter
from facevalue.annotations.text_statistics import statistics
from facevalue.answers.form_fields import decode_forms
from facevalue.errors import DataError
from facevalue.measures.estimators import level_ranks
from facevalue.measures.group_shares import GROUP, PERSON, UNIT, Dimension
from facevalue.studies.visbias.parsing import CHOICES, FormField
from facevalue.studies.visbias.pictures import SPECIES
from facevalue.studies.visbias.text_estimates import WordTables

SEED = 0
TEXT = "description"
MOST_TEXT = 500 * 2**20
"""Bytes of descriptions that are kept for what needs all of a group's texts at once."""
STRATUM = "occupation"
_NEEDED = ("task", "weight", "mass", "na")


@dataclass(frozen=True, slots=True)
class Asked:
    """Settings of the study that its analysis needs.

    Factors that are compared, all images, the form's fields, the file of the user's word lists if any, who is on each
    image (`group_shares.people_on_images`), somebody else on each by default, and the most words that a description can
    have: none has more than tokens were allowed.
    """

    groups: tuple[str, ...]
    images: tuple[str, ...]
    attributes: tuple[FormField, ...]
    words: str
    people: tuple[str, ...] = ()
    longest: int = 1024


@dataclass
class TaskAnswers:
    """Collects one model's answers. `why_no_scores` says why sentiment is not measured, if it is not."""

    setting: Asked
    why_no_scores: str | None = None
    _parts: dict[str, list[pl.DataFrame]] = field(default_factory=dict)
    _bytes: int = 0

    def __post_init__(self) -> None:
        self.ours = group_lists.ours()
        self.theirs = group_lists.theirs(self.setting.words) if self.setting.words else None
        self.lists = (self.ours,) if self.theirs is None else (self.ours, self.theirs)
        self._words = {way: WordCounter(len(self.setting.images), way) for way in (Tokeniser.MARKED, Tokeniser.WORDS)}
        self._codes = pl.DataFrame({"image": self.setting.images, "code": np.arange(len(self.setting.images))})
        self._people = dict(zip(self.setting.images, self.setting.people or self.setting.images, strict=True))

    def add(self, chunk: pl.DataFrame) -> None:
        """Take what is needed of a chunk of answers."""
        for name in _NEEDED:
            if name not in chunk.columns:
                raise DataError(f"The answers lack the column {name!r}.")
        sides = [side for side in ("", "_1", "_2") if f"image{side}" in chunk.columns]
        chunk = chunk.with_columns(
            pl.col(f"image{side}").cast(pl.String).replace(self._people).alias(f"{PERSON}{side}") for side in sides
        )
        tasks = chunk["task"].cast(pl.String)
        self._keep("missing", self._missing(chunk))
        for task, keep in (("mcq", self._choices), ("yesno", self._pairs), (TEXT, self._texts)):
            rows = chunk.filter(tasks == task)
            if rows.height:
                keep(rows)
        forms = chunk.filter(tasks.is_in(["form", "text-form"]))
        if forms.height:
            self._keep("forms", decode_forms(forms))

    def part(self, name: str) -> pl.DataFrame:
        """Rows kept under a name; an empty frame if nothing was."""
        frames = self._parts.get(name)
        return pl.concat(frames, how="diagonal") if frames else pl.DataFrame()

    def words(self) -> WordTables:
        """Words of the descriptions so far, of which there are some."""
        pictures = self.part("images").unique("image", maintain_order=True)
        lost = self.part("texts").group_by("image").agg(missing=pl.col("characters").is_null().sum())
        images = self._codes.select("image")
        for table in (pictures, lost):
            images = images.join(table, on="image", how="left", maintain_order="left")
        images = images.with_columns(pl.col("missing").fill_null(0))
        return WordTables(self._words[Tokeniser.MARKED].counts(), self._words[Tokeniser.WORDS].counts(), images)

    @property
    def has_all_texts(self) -> bool:
        """True if all descriptions were kept."""
        return self._bytes <= MOST_TEXT

    def _keep(self, name: str, frame: pl.DataFrame) -> None:
        enums = [pl.col(c).cast(pl.String) for c, dtype in frame.schema.items() if isinstance(dtype, pl.Enum)]
        self._parts.setdefault(name, []).append(frame.with_columns(enums))

    def _about(self, frame: pl.DataFrame, *more: str, suffixes: Sequence[str] = ("",)) -> list[str]:
        """Columns that say who is shown, those that there are."""
        names = [f"{c}{s}" for c in ("image", PERSON, "occupation", *self.setting.groups) for s in suffixes]
        return [c for c in dict.fromkeys((*names, *more)) if c in frame.columns]

    def _missing(self, chunk: pl.DataFrame) -> pl.DataFrame:
        lost = (1 - pl.col("mass").fill_null(0.0)).alias("lost")
        shown_unit = _first(chunk, PERSON, "pair", "form").alias("shown")
        being = _first(chunk, SPECIES, f"{SPECIES}_1").alias("being")
        return chunk.select(*self._about(chunk, "task", "question"), lost, "na", shown_unit, being)

    def _choices(self, frame: pl.DataFrame) -> None:
        valid = pl.when(pl.col("na").is_null())
        selected = [valid.then(pl.col(c) * pl.col("mass")).alias(c) for c in CHOICES]
        mass = valid.then(pl.sum_horizontal(pl.col(CHOICES) * pl.col("mass"))).alias("valid")
        self._keep("choices", frame.select(*self._about(frame, "question"), *selected, mass))

    def _pairs(self, frame: pl.DataFrame) -> None:
        about = self._about(frame, "pair", "within", "order", "question", suffixes=("_1", "_2"))
        self._keep("pairs", frame.select(*about, pl.when(pl.col("na").is_null()).then("weight").alias("yes")))

    def _texts(self, frame: pl.DataFrame) -> None:
        about = self._about(frame)
        texts = frame.select(pl.col(c).cast(pl.String) for c in (*about, TEXT))
        measured, reasons = statistics(texts, TEXT, self.lists, scored=self.why_no_scores is None)
        self.why_no_scores = self.why_no_scores or reasons
        self._keep("texts", pl.concat([texts.select(about), measured], how="horizontal"))
        self._keep("images", texts.select(about).unique(maintain_order=True))
        code = texts.select("image").join(self._codes, on="image", how="left", maintain_order="left")["code"]
        for counter in self._words.values():
            counter.add(texts, TEXT, code.fill_null(-1).to_numpy())
        self._bytes += int(texts[TEXT].str.len_bytes().sum())
        if self.has_all_texts:
            self._keep("said", texts)


def _first(frame: pl.DataFrame, *names: str) -> pl.Expr:
    """The first of some columns that is not null, those that there are."""
    columns = [pl.col(name).cast(pl.String) for name in names if name in frame.columns]
    return pl.coalesce(columns) if columns else pl.lit(None, pl.String)


def dimensions(groups: Sequence[str], alone: Collection[str] = ()) -> tuple[Dimension, ...]:
    """Each factor by itself, and each two of them crossed but those that stand `alone`.

    Examples
    --------
    >>> [one.name for one in dimensions(("race", "gender", "species"), alone=("species",))]
    ['race', 'gender', 'species', 'race x gender']
    """
    crossed = combinations((name for name in groups if name not in alone), 2)
    return (*(Dimension((name,)) for name in groups), *(Dimension(pair) for pair in crossed))


def sampled_units(rows: pl.DataFrame) -> tuple[npt.NDArray[np.int64], npt.NDArray[np.int64] | None]:
    """Person of each unit, in the order of units' names, and its occupation as stratum where groups have equal shares.

    Then strata make no difference between groups, and what they do to answers is no noise of these either.

    Examples
    --------
    >>> rows = {"unit": ["a", "b", "c", "d"], "group": ["f", "m", "f", "m"], "occupation": ["cook"] * 2 + ["nurse"] * 2}
    >>> [found.tolist() for found in sampled_units(pl.DataFrame(rows))]
    [[1, 2, 3, 4], [0, 0, 1, 1]]
    """
    columns = [c for c in (UNIT, PERSON, GROUP, STRATUM) if c in rows.columns]
    units = rows.select(columns).unique(UNIT, keep="first").sort(UNIT)
    person = level_ranks(units[PERSON].fill_null("") if PERSON in columns else units[UNIT]) + 1
    if STRATUM not in columns or units[STRATUM].null_count():
        return person, None
    stratum, group = (level_ranks(units[c]) for c in (STRATUM, GROUP))
    counts = np.zeros((stratum.max() + 1, group.max() + 1))
    np.add.at(counts, (stratum, group), 1)
    shares = counts / counts.sum(axis=1, keepdims=True)
    return person, stratum if np.allclose(shares, shares[0]) else None


EXPLICIT = "explicit answers"
"""Families that lead: of choices, and of comparisons."""


def family_of(tested: str, dimension: Dimension) -> str:
    """Name the family of tests: of all groups that are not crossed, those of which the answer is about first of all."""
    if dimension.factors == (SPECIES,):
        return f"{tested} about species"
    return f"{tested} by {dimension.name}" if len(dimension.factors) > 1 else f"{EXPLICIT} ({tested})"
