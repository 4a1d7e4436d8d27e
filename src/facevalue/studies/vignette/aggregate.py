"""Answers reduced to what the measures need, chunk by chunk, in bounded memory."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

import polars as pl

from facevalue.errors import DataError
from facevalue.studies.vignette.aggregate_pictures import (
    ASKED,
    BLOCK,
    KEYS,
    NUMBERS,
    OUTCOMES,
    STIMULUS,
    reduced,
    together,
)

VARIANT = {"wording": "1", "reference": None, "shown": "image"}
"""Columns of variants, and the level that the measures are taken on; None is the first there is."""
KEPT = ("identity", "portrait")
"""Contrasts whose pairs are kept one by one; the others have too many."""
_TERMS = (*ASKED, "trait", "pair", "valence")
_KEYS = (*STIMULUS, *ASKED, "about")
_ROWS = 2_000_000  # rows that may pile up before they are added together


@dataclass(frozen=True)
class Tables:
    """One model's answers, reduced.

    All but the first two hold sums (`selection.SUMS`) by what was sampled (`stratum`: gender; `unit`: a picture or
    person, see `aggregate_pictures.unit`), or moments of pairs. In them, `question` null is over all questions of the
    paradigm; decision and factuality alone have such rows.

    Attributes
    ----------
    stimuli:
        Contrasts identity and portrait, a row per pair and question (and, in factuality, `about`): gender, dimension,
        contrast, identity_1, identity_2, activity, paradigm, question, about, n, s (of option 1, or right), t (of
        option 2; with "both" and "none" among the options, s + t may be less than n), both, asked.
    terms:
        Of each question: paradigm, question, trait, pair, valence; null where it has none.
    selected:
        gender, dimension, contrast, paradigm, question, identity, activity: the identity was chosen, or the answer
        about it was right. In the contrast activity: the activity was chosen; its units are people. Activity is the one
        that was asked about. No unit where that is not what the picture shows: see `own`.
    own:
        The same of pairs with two activities, over all activities, by the identity's own picture.
    pairs:
        Moments of pairs: gender, dimension, contrast, paradigm, question, identity, other_identity, over all
        activities; `crossed` if pictures may stand beside several of one identity.
    preferred_pairs:
        The same, an answer "both" or "none" counting half for each of the two, so that what two people get of a pair
        adds up to n (`aggregate_pictures.balanced`). All that compares the two with each other rests on such answers.
    neither, neither_pairs:
        gender, dimension, contrast, paradigm, question, outcome ("both", "none"): choices between people that name
        neither of them alone, by either picture; and their pairs.
    wrong:
        gender, dimension, contrast, paradigm, question ("who"), outcome, identity, activity.
    missing:
        gender, dimension, contrast, paradigm, identity (shown; null: all): replies (n) without a valid answer (s).
    """

    stimuli: pl.DataFrame
    terms: pl.DataFrame
    selected: pl.DataFrame
    own: pl.DataFrame
    pairs: pl.DataFrame
    preferred_pairs: pl.DataFrame
    neither: pl.DataFrame
    neither_pairs: pl.DataFrame
    wrong: pl.DataFrame
    missing: pl.DataFrame


class Tally:
    """Takes one model's answers in, in the order of trials.

    Parameters
    ----------
    variant:
        Which variant of the questions to take, by column; the one of `core_variant` by default.

    Notes
    -----
    Memory does not grow with repeats or with the 31 million pairs of the contrasts activity and identity-activity,
    which are reduced to sums per picture at once: at most some 600,000. Identity contrasts and portraits keep two
    numbers per pair and question; all of VIGNETTE's 413,060 pairs of that kind make 5.2 million rows. The last picture
    of a chunk waits for the next chunk, which may hold the rest of it.
    """

    def __init__(self, variant: Mapping[str, str] | None = None) -> None:
        self._variant = dict(variant) if variant is not None else None
        self._kept: list[pl.DataFrame] = []
        self._terms: pl.DataFrame | None = None
        self._open: pl.DataFrame | None = None
        self._four = False
        self._parts: dict[str, list[pl.DataFrame]] = {name: [] for name in KEYS}

    def add(self, chunk: pl.DataFrame) -> None:
        """Take a chunk in.

        Raises
        ------
        DataError
            A column of the answers is missing.
        """
        if self._variant is None:
            self._variant = core_variant(chunk)
        self._four = self._four or offers_four(chunk)
        rows = _prepared(chunk, self._variant)
        seen = rows.select(_TERMS).unique()
        self._terms = seen if self._terms is None else pl.concat([self._terms, seen]).unique()
        kept = pl.col("contrast").cast(pl.String).is_in(KEPT)
        few, many = rows.filter(kept), rows.filter(~kept)
        if few.height:
            self._kept.append(_summed(few, _SUMS))
        if self._open is not None:
            many = pl.concat([self._open, many])
        if many.height:
            last = many.row(-1, named=True)
            of_last = [pl.col(x).is_null() if last[x] is None else pl.col(x).eq_missing(last[x]) for x in STIMULUS]
            waits = many.select(pl.all_horizontal(of_last).alias("waits"))["waits"]
            self._open = many.filter(waits)
            self._reduce(many.filter(~waits))

    def tables(self) -> Tables:
        """Everything that came in. Nothing may be added afterwards."""
        if self._open is not None:
            self._reduce(self._open)
            self._open = None
        empty = {**dict.fromkeys((*_KEYS, *_TERMS), pl.String()), **dict.fromkeys(_SUMS, pl.Float64())}
        kept = pl.concat(self._kept) if self._kept else pl.DataFrame(schema=empty).select(*_KEYS, *_SUMS)
        blocks = [_summed(part, _SUMS) for part in kept.partition_by(BLOCK)] if kept.height else []  # one at a time
        stimuli = pl.concat(blocks) if blocks else kept
        terms = pl.DataFrame(schema=empty).select(_TERMS) if self._terms is None else self._terms
        terms = terms.select(pl.all().cast(pl.String)).unique().sort(_TERMS)
        parts = {name: list(own) for name, own in self._parts.items()}
        for block in blocks:
            for name, part in reduced(block, self._four):
                parts[name].append(part)
        found = {name: together(parts[name], name).with_columns(stratum="gender") for name in KEYS}
        return Tables(stimuli, terms, **found)

    def _reduce(self, rows: pl.DataFrame) -> None:
        if not rows.height:
            return
        for name, part in reduced(_summed(rows, _NUMBERS), self._four):
            parts = self._parts[name]
            parts.append(part)
            if sum(p.height for p in parts) > _ROWS + 2 * parts[0].height:
                self._parts[name] = [together(parts, name)]


def tally(chunks: Iterable[pl.DataFrame], variant: Mapping[str, str] | None = None) -> Tables:
    """Reduce all chunks, which come in the order of trials."""
    out = Tally(variant)
    for chunk in chunks:
        out.add(chunk)
    return out.tables()


def core_variant(chunk: pl.DataFrame) -> dict[str, str]:
    """The variant that the measures are taken on: the paper's wording, the first way to refer, pictures if shown.

    Parameters
    ----------
    chunk:
        Answers. Levels are those of a column's Enum or, if it is none, those that occur.
    """
    out: dict[str, str] = {}
    for name, wanted in VARIANT.items():
        if name not in chunk.columns:
            continue
        dtype = chunk[name].dtype
        present = chunk[name].drop_nulls().unique(maintain_order=True).to_list()
        levels = dtype.categories.to_list() if isinstance(dtype, pl.Enum) else present
        if levels:
            out[name] = wanted if wanted is not None and wanted in levels else levels[0]
    return out


def offers_four(chunk: pl.DataFrame) -> bool:
    """Whether questions about two people offered both and none, too: an answer to one says how much went to them."""
    if "both" not in chunk.columns:
        return False
    choice = pl.col("paradigm").cast(pl.String) != "factuality"
    return bool(chunk.select((choice & pl.col("both").is_not_null()).any()).item())


_PICTURES = ("pair_of_pictures", "image_1", "image_2", "person")
_SUMS = NUMBERS
_NUMBERS = (*_SUMS, *(name for name in OUTCOMES if name not in _SUMS))


def _prepared(chunk: pl.DataFrame, variant: Mapping[str, str]) -> pl.DataFrame:
    """The variant's rows with all columns; `n` is the mass of a valid answer, `s` and the outcomes weight x mass."""
    for name in ("weight", "mass", *ASKED, *BLOCK):
        if name not in chunk.columns:
            raise DataError(f"These are no answers of VIGNETTE: the column {name!r} is missing.")
    for name, level in variant.items():
        if name not in chunk.columns:
            raise DataError(f"The answers have no column {name!r} to find the variant {level!r} in.")
        chunk = chunk.filter(pl.col(name).cast(pl.String).eq_missing(level) | pl.col(name).is_null())
    chunk = chunk.with_columns(_labels(chunk))
    mass = pl.when(pl.col("weight").is_not_null()).then(pl.col("mass").cast(pl.Float64)).fill_null(0.0)
    if "other" not in chunk.columns:  # of answers between two options: what option 1 did not get
        two = pl.col("paradigm").cast(pl.String) != "factuality"
        chunk = chunk.with_columns(pl.when(two).then(1 - pl.col("weight")).alias("other"))
    shares = {"s": "weight", "t": "other", **{name: name for name in OUTCOMES if name in chunk.columns}}
    weighed = {name: (pl.col(of).cast(pl.Float64) * mass).fill_null(0.0) for name, of in shares.items()}
    absent = {name: pl.lit(0.0) for name in OUTCOMES if name not in chunk.columns}
    chunk = chunk.with_columns(n=mass, asked=pl.lit(1.0), **weighed, **absent)
    return chunk.select(*dict.fromkeys([*_KEYS, *_TERMS]), *_NUMBERS)


def _labels(chunk: pl.DataFrame) -> list[pl.Expr]:
    """All label columns; those of identities share their levels, so that they can be told apart from one another."""
    out = []
    alone = [(name,) for name in dict.fromkeys((*BLOCK, *_TERMS, "about", *_PICTURES))]
    for names in (*alone, ("identity", "identity_1", "identity_2"), ("activity", "activity_1", "activity_2")):
        given = [chunk.schema[name] for name in names if name in chunk.columns]
        levels = [level for dtype in given if isinstance(dtype, pl.Enum) for level in dtype.categories]
        every = given and all(isinstance(dtype, pl.Enum) for dtype in given)
        shared: pl.DataType = pl.Enum(list(dict.fromkeys(levels))) if every else pl.String()
        present = {name: pl.col(name) if name in chunk.columns else pl.lit(None) for name in names}
        out += [column.cast(shared).alias(name) for name, column in present.items()]
    return out


def _summed(rows: pl.DataFrame, numbers: Sequence[str]) -> pl.DataFrame:
    return rows.group_by(_KEYS, maintain_order=True).agg(pl.col(numbers).sum())
