"""What the measures are taken on, collected while answers pass by: small tables, and counts of words."""

from collections.abc import Sequence
from dataclasses import dataclass, field

import numpy as np
import polars as pl

from facevalue.annotate import lexicon, sentiment
from facevalue.annotate.counts import WordCounter, WordCounts
from facevalue.annotate.tokens import Tokeniser, lengths
from facevalue.errors import DataError, DependencyError
from facevalue.studies.visbias import word_lists
from facevalue.studies.visbias.design import SPECIES
from facevalue.studies.visbias.dimensions import PERSON
from facevalue.studies.visbias.parsing import CHOICES, decoded
from facevalue.studies.visbias.tables import Attribute

TEXT = "description"
SCORES = ("pos", "neg")
COUNTED = {"our count: ": Tokeniser.WORDS, "published count: ": Tokeniser.STEREOTYPE}
"""How words of lists are counted, by the prefix of the columns that hold the counts."""
ALL_WORDS = {"our count: ": "all words, our count", "published count: ": "all words, published count"}
"""Columns of how many words each text has, by the same."""
MOST_TEXT = 500 * 2**20
"""Bytes of descriptions that are kept for what needs all of a group's texts at once."""
_NEEDED = ("task", "weight", "mass", "na")


@dataclass(frozen=True, slots=True)
class Asked:
    """What of the study its analysis needs.

    Attributes
    ----------
    groups:
        Factors that are compared.
    images:
        Names of all images.
    attributes:
        The form's fields.
    words:
        File of the user's word lists; empty for none.
    people:
        Who is on each image (`dimensions.people`); by default every image shows somebody else.
    """

    groups: tuple[str, ...]
    images: tuple[str, ...]
    attributes: tuple[Attribute, ...]
    words: str
    people: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class WordTables:
    """Words of the descriptions.

    Attributes
    ----------
    published, strict:
        Counts by image, cut as in the released code and in our way.
    images:
        One row per image in the order of the counts: `image`, `person`, the groups, `occupation`; null for images
        without descriptions.
    """

    published: WordCounts
    strict: WordCounts
    images: pl.DataFrame


@dataclass
class Aggregate:
    """Collects one model's answers.

    Attributes
    ----------
    asked:
        What was asked.
    why_no_scores:
        Why sentiment is not measured; None if it is.
    """

    asked: Asked
    why_no_scores: str | None = None
    _parts: dict[str, list[pl.DataFrame]] = field(default_factory=dict)
    _bytes: int = 0

    def __post_init__(self) -> None:
        self.ours = word_lists.ours()
        self.theirs = word_lists.theirs(self.asked.words) if self.asked.words else None
        self.lists = (self.ours,) if self.theirs is None else (self.ours, self.theirs)
        self._words = {way: WordCounter(len(self.asked.images), way) for way in (Tokeniser.MARKED, Tokeniser.WORDS)}
        self._codes = pl.DataFrame({"image": self.asked.images, "code": np.arange(len(self.asked.images))})
        self._people = dict(zip(self.asked.images, self.asked.people or self.asked.images, strict=True))

    def add(self, chunk: pl.DataFrame) -> None:
        """Take what is needed of a chunk of answers.

        Raises
        ------
        DataError
            It lacks a column.
        """
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
            part = chunk.filter(tasks == task)
            if part.height:
                keep(part)
        forms = chunk.filter(tasks.is_in(["form", "text-form"]))
        if forms.height:
            self._keep("forms", decoded(forms))

    def part(self, name: str) -> pl.DataFrame:
        """What was kept under a name; an empty frame if nothing was."""
        parts = self._parts.get(name)
        return pl.concat(parts, how="diagonal") if parts else pl.DataFrame()

    def words(self) -> WordTables:
        """Words of the descriptions so far."""
        known = self.part("images").unique("image", maintain_order=True) if "images" in self._parts else None
        images = self._codes.select("image")
        if known is not None:
            images = images.join(known, on="image", how="left", maintain_order="left")
        return WordTables(self._words[Tokeniser.MARKED].counts(), self._words[Tokeniser.WORDS].counts(), images)

    @property
    def has_all_texts(self) -> bool:
        """Whether all descriptions were kept."""
        return self._bytes <= MOST_TEXT

    def _keep(self, name: str, part: pl.DataFrame) -> None:
        enums = [pl.col(c).cast(pl.String) for c, dtype in part.schema.items() if isinstance(dtype, pl.Enum)]
        self._parts.setdefault(name, []).append(part.with_columns(enums))

    def _about(self, part: pl.DataFrame, *more: str, suffixes: Sequence[str] = ("",)) -> list[str]:
        """Columns that say who is shown, those that there are."""
        names = [f"{c}{s}" for c in ("image", PERSON, "occupation", *self.asked.groups) for s in suffixes]
        return [c for c in dict.fromkeys((*names, *more)) if c in part.columns]

    def _missing(self, chunk: pl.DataFrame) -> pl.DataFrame:
        lost = (1 - pl.col("mass").fill_null(0.0)).alias("lost")
        shown = _first(chunk, PERSON, "pair", "form").alias("shown")
        being = _first(chunk, SPECIES, f"{SPECIES}_1").alias("being")
        return chunk.select(*self._about(chunk, "task", "question"), lost, "na", shown, being)

    def _choices(self, part: pl.DataFrame) -> None:
        selected = pl.concat_list([pl.col(c) * pl.col("mass") for c in CHOICES])
        valid = pl.when(pl.col("na").is_null()).then(selected).alias("selected")
        self._keep("choices", part.select(*self._about(part, "question"), valid))

    def _pairs(self, part: pl.DataFrame) -> None:
        about = self._about(part, "pair", "within", "order", "question", suffixes=("_1", "_2"))
        self._keep("pairs", part.select(*about, pl.when(pl.col("na").is_null()).then("weight").alias("yes")))

    def _texts(self, part: pl.DataFrame) -> None:
        about = self._about(part)
        texts = part.select(pl.col(c).cast(pl.String) for c in (*about, TEXT))
        measured = [texts.select(about), lengths(texts, TEXT)]
        if self.why_no_scores is None:
            try:
                measured.append(sentiment.score(texts, TEXT).select(pl.col(SCORES) * 100))
            except DependencyError as error:
                self.why_no_scores = str(error)
        for prefix, way in COUNTED.items():
            counts = [lexicon.count(texts, TEXT, word_lists.prefixed(listed, prefix), way) for listed in self.lists]
            measured.append(counts[0].select(pl.col("tokens").alias(ALL_WORDS[prefix])))
            measured += [counted.drop("tokens") for counted in counts]
        self._keep("texts", pl.concat(measured, how="horizontal"))
        self._keep("images", texts.select(about).unique(maintain_order=True))
        code = texts.select("image").join(self._codes, on="image", how="left", maintain_order="left")["code"]
        for counter in self._words.values():
            counter.add(texts, TEXT, code.fill_null(-1).to_numpy())
        self._bytes += int(texts[TEXT].str.len_bytes().sum())
        if self.has_all_texts:
            self._keep("said", texts)


def _first(frame: pl.DataFrame, *names: str) -> pl.Expr:
    """The first of some columns that is not null, those that there are."""
    there = [pl.col(name).cast(pl.String) for name in names if name in frame.columns]
    return pl.coalesce(there) if there else pl.lit(None, pl.String)
