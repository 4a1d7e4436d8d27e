"""Profiles of identities across the four paradigms, and how alike they are (VIGNETTE, 7.1 and 7.2, Figures 3 to 5)."""

from collections.abc import Iterable, Iterator, Sequence
from itertools import combinations

import numpy as np
import polars as pl

from facevalue.measures import selection
from facevalue.measures.base import Measure
from facevalue.measures.cluster_bootstrap import Array, Estimates
from facevalue.measures.estimates import EstimateTable
from facevalue.measures.profiles import NEUTRAL, correlations, pattern
from facevalue.studies.vignette.aggregate_pictures import STIMULUS, unit
from facevalue.studies.vignette.measures_compared import (
    MODEL_PEARSON,
    MODEL_SPEARMAN,
    NORMALISED,
    PARADIGM_PEARSON,
    PARADIGM_SPEARMAN,
)
from facevalue.studies.vignette.tables import PARADIGMS, term_pairs

SEED = 1
UNFAVOURABLE = ("struggle", "dislike")
"""Questions of perception by which an identity loses if it is named."""
BY_CONSTRUCTION = "no interval: 50 by construction, as a pair gives one identity what it takes from the other"
VARIANTS = ("shown", "reference", "wording")

_MOST_PARTS = 64  # sums of chunks that wait to be added up
_SCORE = ("paradigm", "dimension", "identity")


def pair_columns(frame: pl.DataFrame) -> list[str]:
    """Columns that tell picture pairs apart, whether the picture is shown or not."""
    return [name for name in STIMULUS if name in frame.columns]


def whole_pairs(chunks: Iterable[pl.DataFrame]) -> Iterator[pl.DataFrame]:
    """Cut a stream of answers between picture pairs, so that all answers about one pair are in one chunk.

    Parameters
    ----------
    chunks:
        Answers in trial order, in which all answers about a pair are neighbours.

    Yields
    ------
    The same rows in the same order, with `cluster`: the number of the pair within its chunk.
    """
    kept: pl.DataFrame | None = None
    for chunk in chunks:
        frame = chunk if kept is None else pl.concat([kept, chunk])
        if not frame.height:
            continue
        marks = [*pair_columns(frame), *(["shown"] if "shown" in frame.columns else [])]
        frame = frame.with_columns(pl.struct(marks).rle_id().alias("cluster"))
        last = frame["cluster"][-1]
        kept = frame.filter(pl.col("cluster") == last).drop("cluster")
        if last > 0:
            yield frame.filter(pl.col("cluster") < last)
    if kept is not None:
        yield kept.with_columns(pl.lit(0, pl.UInt32).alias("cluster"))


def with_units(frame: pl.DataFrame) -> pl.DataFrame:
    """The rows with what was sampled on either side of the pair: `stratum`, `unit_1`, `unit_2`.

    See `aggregate_pictures.unit`.
    """
    absent = [pl.lit(None, pl.String).alias(name) for name in STIMULUS if name not in frame.columns]
    full = frame.with_columns(absent)
    sides = (unit(k).alias(f"unit_{k}") for k in (1, 2))
    return full.with_columns(*sides, stratum="gender").drop([name for name in STIMULUS if name not in frame.columns])


def by_identity(frame: pl.DataFrame) -> pl.DataFrame:
    """One row per answer and identity that it is about, with `n` and `s` of that identity, and its `unit`.

    Parameters
    ----------
    frame:
        Answers with `n` (mass), `s` (of it, what chose option 1 or was right) and `t` (what chose option 2), without
        the activity contrast; as `with_units` gives them.

    Returns
    -------
    Two rows for a choice between two identities, `s` being what chose each; one row for factuality, of the identity
    that was asked about.
    """
    two = frame.filter(pl.col("paradigm") != "factuality")
    facts = frame.filter(pl.col("paradigm") == "factuality")
    second = pl.col("about") == "2"
    asked = [pl.when(second).then(f"{name}_2").otherwise(f"{name}_1").alias(name) for name in ("identity", "unit")]
    return pl.concat(
        [
            two.with_columns(identity="identity_1", unit="unit_1"),
            two.with_columns(identity="identity_2", unit="unit_2", s="t"),
            facts.with_columns(asked),
        ]
    )


def other_weight(frame: pl.DataFrame) -> pl.Expr:
    """Weight of option 2; that of both and none belongs to nobody."""
    return pl.col("other") if "other" in frame.columns else 1 - pl.col("weight")


def favourable_weight(frame: pl.DataFrame) -> pl.Expr:
    """Weight of option 1 had the question asked for what is favourable: 1 - w where it asked for the contrary.

    An answer "both" or "none" counts half for each of the two, whatever was asked for; factuality is taken as it is.
    """
    even = (1 + pl.col("weight") - other_weight(frame)) / 2
    weight = pl.when(pl.col("paradigm").cast(pl.String) == "factuality").then("weight").otherwise(even)
    against = pl.col("question").is_in(UNFAVOURABLE) | (pl.col("valence") == "low").fill_null(value=False)
    return pl.when(against).then(1 - weight).otherwise(weight)


def comparing() -> pl.Expr:
    """Answers that say something of an identity: not the activity contrast, not the politics terms."""
    left_out = sorted({pair.trait for pair in term_pairs() if not pair.valenced})
    politics = (pl.col("paradigm") == "stereotype") & pl.col("trait").is_in(left_out).fill_null(value=False)
    return (pl.col("contrast") != "activity") & ~politics & ~pl.col("question").str.starts_with("irrelevant")


class Main:
    """Keeps of each variant (without picture, positional, paraphrased) the first level that comes by."""

    def __init__(self) -> None:
        self._level: dict[str, str] = {}

    def __call__(self, chunk: pl.DataFrame, columns: Sequence[str] = VARIANTS) -> pl.DataFrame:
        """The rows of the first levels; rows of blocks that don't have the variant stay."""
        for name in columns:
            if name not in chunk.columns:
                continue
            if name not in self._level:
                known = chunk[name].drop_nulls()
                if not known.len():
                    continue
                self._level[name] = str(known[0])
            chunk = chunk.filter(pl.col(name).is_null() | (pl.col(name).cast(pl.String) == self._level[name]))
        return chunk


class Profiles:
    """Collects normalised scores from a stream of answers.

    Give it the chunks of `whole_pairs`, then `write`.
    """

    def __init__(self) -> None:
        self._main = Main()
        self._parts: list[pl.DataFrame] = []
        self._overall: list[pl.DataFrame] = []

    def add(self, chunk: pl.DataFrame) -> None:
        """Take in a chunk of whole pairs."""
        asked = chunk.select(
            *("paradigm", "question", "about", "trait", "valence"),
            *(name for name in ("weight", "other", "mass", *STIMULUS, *VARIANTS) if name in chunk.columns),
        )
        asked = self._main(asked).with_columns(pl.col(pl.Enum, pl.Categorical).cast(pl.String)).filter(comparing())
        valid = pl.col("weight").is_not_null()
        asked = asked.with_columns(
            pl.when(valid).then("mass").otherwise(0.0).alias("n"),
            pl.when(valid).then(favourable_weight(asked) * pl.col("mass")).otherwise(0.0).alias("s"),
        ).with_columns(t=pl.col("n") - pl.col("s"))
        if not asked.height:
            return
        rows = by_identity(with_units(asked))
        self._reduce(self._parts, rows, _SCORE)
        self._reduce(self._overall, rows.filter(pl.col("paradigm") == "factuality"), ("paradigm", "dimension"))

    @staticmethod
    def _reduce(into: list[pl.DataFrame], rows: pl.DataFrame, by: Sequence[str]) -> None:
        keys = [*by, *selection.UNIT]
        into.append(selection.add(rows.with_columns(asked=pl.lit(1.0)), keys))
        if len(into) > _MOST_PARTS:
            into[:] = [selection.add(pl.concat(into), keys)]

    def frame(self) -> pl.DataFrame:
        """Scores by paradigm, dimension and identity (null: the whole dimension), as `selection.cells` gives them.

        The score of a whole dimension is its accuracy in factuality, and 50 in the other paradigms.
        """
        if not self._parts:
            return pl.DataFrame()
        own = _cells(self._parts, _SCORE)
        facts = _cells(self._overall, ("paradigm", "dimension"))
        rest = own.filter(pl.col("paradigm") != "factuality").group_by("paradigm", "dimension", maintain_order=True)
        two = rest.agg(pl.lit(NEUTRAL).alias("value"), pl.col("n").sum() / 2, pl.lit(0, pl.Int64).alias("clusters"))
        return pl.concat([own, facts, two], how="diagonal_relaxed").sort("paradigm", "dimension", "identity")

    def write(self, table: EstimateTable) -> None:
        """Add `normalised_score` to the estimates."""
        scores = self.frame()
        if not scores.height:
            return
        constant = (scores["identity"].is_null() & (scores["paradigm"] != "factuality")).to_numpy()
        how = np.where(constant, BY_CONSTRUCTION, selection.method(scores))
        labels = {name: scores[name].to_list() for name in _SCORE}
        table.add(NORMALISED, labels, estimates_of(scores, how))


def _cells(parts: Sequence[pl.DataFrame], by: Sequence[str]) -> pl.DataFrame:
    """Pooled over activities: every answer counts alike."""
    return selection.cells(pl.concat(parts).with_columns(pl.lit(None, pl.String).alias("activity")), by)


def estimates_of(cells: pl.DataFrame, method: np.ndarray) -> Estimates:
    """What `selection.cells` gave, as estimates."""
    column: dict[str, Array] = {name: selection.to_array(cells[name]) for name in ("value", "low", "high", "se")}
    n, clusters = (
        np.rint(np.nan_to_num(selection.to_array(cells[name]))).astype(np.int64) for name in ("n", "clusters")
    )
    return Estimates(column["value"], column["low"], column["high"], n, clusters, method.astype(object), column["se"])


def patterns(estimates: pl.DataFrame) -> pl.DataFrame:
    """Which identities are low or high in all paradigms, and which in one and not in another (section 7.1).

    Parameters
    ----------
    estimates:
        With `normalised_score` rows, of one or several models.

    Returns
    -------
    Columns `model`, `dimension`, `identity` and those of `measures.profiles.pattern`. Neutral is 50, and in factuality
    the mean accuracy of the dimension.
    """
    scores = estimates.filter(pl.col("measure") == NORMALISED.name)
    whole = scores.filter(pl.col("identity").is_null()).select(
        "model", "paradigm", "dimension", pl.col("value").alias("neutral")
    )
    own = scores.filter(pl.col("identity").is_not_null())
    joined = own.join(whole, on=["model", "paradigm", "dimension"], how="left", nulls_equal=True, maintain_order="left")
    return pattern(joined, ["model", "dimension", "identity"])


def compare_paradigms(table: EstimateTable, estimates: pl.DataFrame) -> None:
    """Add the correlations between paradigms, per model, for each dimension and over all."""
    scores = _by_identity(estimates)
    for model, own in scores.group_by("model", maintain_order=True):
        for dimension, part in _dimensions(own):
            wide = part.pivot("paradigm", index=["dimension", "identity"], values="value")
            for one, other in combinations([p for p in PARADIGMS if p in wide.columns], 2):
                found = correlations(_column(wide, one), _column(wide, other), SEED)
                labels = {"model": [model[0]], "dimension": [dimension], "paradigm": [one], "other_paradigm": [other]}
                _both(table, (PARADIGM_PEARSON, PARADIGM_SPEARMAN), labels, found)


def compare_models(table: EstimateTable, estimates: pl.DataFrame) -> None:
    """Add the correlations between models, per paradigm, for each dimension and over all."""
    scores = _by_identity(estimates)
    models = scores["model"].unique(maintain_order=True).to_list()
    for (paradigm,), own in scores.group_by("paradigm", maintain_order=True):
        for dimension, part in _dimensions(own):
            wide = part.pivot("model", index=["dimension", "identity"], values="value")
            for one, other in combinations([m for m in models if m in wide.columns], 2):
                found = correlations(_column(wide, one), _column(wide, other), SEED)
                labels = {"model": [one], "other_model": [other], "dimension": [dimension], "paradigm": [str(paradigm)]}
                _both(table, (MODEL_PEARSON, MODEL_SPEARMAN), labels, found)


def _by_identity(estimates: pl.DataFrame) -> pl.DataFrame:
    return estimates.filter((pl.col("measure") == NORMALISED.name) & pl.col("identity").is_not_null())


def _dimensions(scores: pl.DataFrame) -> Iterator[tuple[str | None, pl.DataFrame]]:
    yield from ((str(key[0]), part) for key, part in scores.group_by("dimension", maintain_order=True))
    if scores["dimension"].n_unique() > 1:
        yield None, scores


def _column(wide: pl.DataFrame, name: str) -> Array:
    return selection.to_array(wide[name])


def _both(
    table: EstimateTable, measures: tuple[Measure, Measure], labels: dict[str, list[str | None]], found: Estimates
) -> None:
    assert found.se is not None
    for i, measure in enumerate(measures):
        numbers = (found.value[[i]], found.low[[i]], found.high[[i]], found.n[[i]], found.clusters[[i]])
        table.add(measure, labels, Estimates(*numbers, found.method[[i]], found.se[[i]]))
