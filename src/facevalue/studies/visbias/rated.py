"""The questionnaire as a study offers it: associations out, ratings in and beside the estimates."""

from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path

import polars as pl

from facevalue.errors import DataError
from facevalue.measures import conditional_kl
from facevalue.measures.cluster_bootstrap import LEVEL
from facevalue.measures.estimates import complete, stacked
from facevalue.protocol.offers import Beside, Rated
from facevalue.studies.visbias.measures import SHIFT
from facevalue.studies.visbias.questionnaire import (
    PAIR,
    associations,
    chosen,
    export_csv,
    export_html,
    items,
    judged,
)
from facevalue.studies.visbias.ratings import counted, read_ratings
from facevalue.types import OptionValue

RATING, AGREEMENT = "human_rating", "rater_agreement"
_SOURCE = "VisBias (003_4c8bf5711757ffbf), section 3.4"
_MEANS = "t over raters"
_SEED = 0
_WHO = ("model", "intervention")
_NAMES = {"attribute": "attribute", "choice": "choice", "other_attribute": "outcome", "likeliest": "likely"}
"""From labels of `attribute_shift` to the columns of a pair that people are asked about."""


def statements(answers: Iterable[pl.DataFrame], options: Mapping[str, OptionValue]) -> pl.DataFrame:
    """What the forms of a run associate."""
    return associations(answers, str(options["categories"]))


def export(graph: pl.DataFrame, to: Path, least: float | None, most: int | None) -> list[str]:
    """Write a questionnaire about the strongest associations, and say what is asked.

    Raises
    ------
    DataError
        None is strong enough.
    """
    least = conditional_kl.THRESHOLD if least is None else least
    pairs, passed = chosen(graph, least, most)
    found = f"{graph.height:,} associations; the largest divergence is {graph['value'].to_numpy().max():.2f} nats"
    if pairs.height == 0:
        raise DataError(
            f"No pair has a divergence above {least:g} nats, and none is above its noise floor ({found}): there is "
            "nothing to ask."
        )
    (export_html if to.suffix == ".html" else export_csv)(pairs, to)
    if passed:
        return [f"{pairs.height:,} statements with a divergence above {least:g} nats: {to}"]
    return [
        f"No pair has a divergence above {least:g} nats ({found}).",
        f"Instead, the {pairs.height:,} statements furthest above their noise floor: {to}",
    ]


def read(graph: pl.DataFrame, paths: Sequence[Path]) -> Rated:
    """Read what people said of associations.

    Raises
    ------
    DataError
        A file is no table of ratings, or no rating counts.
    """
    asked = items(graph)
    ratings = read_ratings(paths, asked["item"])
    counts = counted(ratings)
    kept = counts.ratings
    if kept.height == 0:
        raise DataError(f"No rating counts. {' '.join(counts.said)}")
    about = asked.join(kept.select("item").unique(), on="item", how="semi", maintain_order="left")
    found = judged(graph.join(about, on=list(PAIR), how="semi", maintain_order="left"), kept, _SEED)
    pairs = found.pairs.join(about.select("item", "statement"), on="item", how="left", maintain_order="left")
    pairs = pairs.rename({"value": "kl"}).sort("mean", "kl", descending=True, maintain_order=True)
    people = kept["rater"].n_unique()
    return Rated(ratings, pairs, found.agreement, people, counts.uniform, counts.hasty, counts.said)


def beside(estimates: pl.DataFrame, ratings: pl.DataFrame, folder: Path) -> Beside:
    """Put ratings beside a model's associations.

    Raters that rated all alike, and responses submitted in under two minutes, are left out, as published; and so are
    statements that the forms don't imply, or not any longer, as a judge has sorted their texts since.
    """
    pairs = _pairs(estimates)
    known = items(pairs.rename(_NAMES))["item"].to_list() if pairs.height else []
    counts = counted(ratings)
    said = list(counts.said)
    strange = ratings.filter(~pl.col("item").is_in(known))["item"].n_unique()
    if strange:
        what = "1 rated statement, which" if strange == 1 else f"{strange:,} rated statements, which"
        said.append(f"Left out: {what} the forms of {folder} do not imply as they are read now.")
    valid = counts.ratings.filter(pl.col("item").is_in(known))
    rows = with_ratings(estimates, valid)[estimates.height :] if valid.height else estimates.clear()
    return Beside(rows, valid, said)


def with_ratings(estimates: pl.DataFrame, ratings: pl.DataFrame) -> pl.DataFrame:
    """Add the mean rating of each association, and how far the raters agree, to every model that has it.

    Parameters
    ----------
    estimates:
        The study's estimates.
    ratings:
        As `facevalue.studies.visbias.ratings.read_ratings` returns them.

    Returns
    -------
    The estimates with two measures more: `human_rating` (labels as those of `attribute_shift`, without the task; `n` is
    the number of raters) and `rater_agreement` (Krippendorff's alpha, ordinal).

    Raises
    ------
    DataError
        A rating of what is no association of these forms.
    """
    shifts = estimates.filter((pl.col("measure") == SHIFT.name) & pl.col("value").is_not_null())
    pairs = shifts.select(*_WHO, *_NAMES).unique(maintain_order=True)
    found = judged(_pairs(estimates).rename(_NAMES), ratings, _SEED)
    alpha = found.agreement
    rated = found.pairs.filter(pl.col("mean").is_not_null()).rename({new: old for old, new in _NAMES.items()})
    constants = {"study": estimates["study"][0], "level": LEVEL, "source": _SOURCE} if estimates.height else {}
    fixed = [pl.lit(value).alias(name) for name, value in constants.items()]
    rows = pairs.join(rated, on=list(_NAMES), maintain_order="left").with_columns(
        *fixed, pl.col("mean").alias("value"), pl.col("raters").alias("n"), pl.col("raters").alias("clusters"),
        measure=pl.lit(RATING), unit=pl.lit("1 to 5"), method=pl.lit(_MEANS),
    )  # fmt: skip
    agreed = pairs.select(_WHO).unique(maintain_order=True).with_columns(
        *fixed, pl.lit(float(alpha.value[0])).alias("value"), pl.lit(float(alpha.low[0])).alias("low"),
        pl.lit(float(alpha.high[0])).alias("high"), pl.lit(int(alpha.n[0])).alias("n"),
        pl.lit(int(alpha.clusters[0])).alias("clusters"), measure=pl.lit(AGREEMENT), unit=pl.lit("1"),
        method=pl.lit(str(alpha.method[0])),
    )  # fmt: skip
    return stacked([estimates, complete(rows, _NAMES), complete(agreed, ())])


def _pairs(estimates: pl.DataFrame) -> pl.DataFrame:
    """The associations of any model, once each."""
    shifts = estimates.filter((pl.col("measure") == SHIFT.name) & pl.col("value").is_not_null())
    return shifts.select(*_NAMES).unique(maintain_order=True)
