"""What people said of associations, entered into the estimates, so that a report shows it beside them."""

from collections.abc import Sequence
from dataclasses import dataclass

import polars as pl

from facevalue.measures.cluster_bootstrap import LEVEL
from facevalue.measures.estimates import complete, stacked
from facevalue.studies.visbias.measures import SHIFT as SHIFTED

SHIFT = SHIFTED.name
RATING, AGREEMENT = "human_rating", "rater_agreement"
_SOURCE = "VisBias (003_4c8bf5711757ffbf), section 3.4"
_MEANS = "t over raters"
_SEED = 0
_WHO = ("model", "intervention")
_NAMES = {"attribute": "attribute", "choice": "choice", "other_attribute": "outcome", "likeliest": "likely"}
"""From labels of `attribute_shift` to the columns of a pair that people are asked about."""


@dataclass(frozen=True, slots=True)
class Kept:
    """Ratings that lie beside a run: of which model, of which run, where, and what they are."""

    model: str
    run: str
    where: str
    ratings: pl.DataFrame


def with_kept(estimates: pl.DataFrame, kept: Sequence[Kept]) -> tuple[pl.DataFrame, list[str]]:
    """Add the ratings that lie beside runs, each to the models of its run.

    Raters that rated all alike, and responses submitted in under two minutes, are left out, as published; and so are
    statements that the forms don't imply, or not any longer, as a judge has sorted their texts since.

    Returns
    -------
    The estimates, and what is to be said: how many ratings count, and which don't.
    """
    from facevalue.studies.visbias.questionnaire import items  # noqa: PLC0415 - imports scipy.stats
    from facevalue.studies.visbias.ratings import counted  # noqa: PLC0415

    said: list[str] = []
    for one in kept:
        own = pl.col("model") == one.model
        pairs = _pairs(estimates.filter(own))
        known = items(pairs.rename(_NAMES))["item"].to_list() if pairs.height else []
        counts = counted(one.ratings)
        said += counts.said
        strange = one.ratings.filter(~pl.col("item").is_in(known))["item"].n_unique()
        if strange:
            what = "1 rated statement, which" if strange == 1 else f"{strange:,} rated statements, which"
            said.append(f"Left out: {what} the forms of {one.run} do not imply as they are read now.")
        valid = counts.ratings.filter(pl.col("item").is_in(known))
        people = valid["rater"].n_unique()
        who = "1 rater" if people == 1 else f"{people:,} raters"
        what = f"{valid.height:,} by {who}, from {one.where}"
        said.append(f"Ratings by people: {what if valid.height else 'none that counts'}.")
        if valid.height:
            theirs = estimates.filter(own)
            estimates = pl.concat([estimates, with_ratings(theirs, valid)[theirs.height :]])
    return estimates, said


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
    from facevalue.studies.visbias.questionnaire import judged  # noqa: PLC0415 - imports scipy.stats

    shifts = estimates.filter((pl.col("measure") == SHIFT) & pl.col("value").is_not_null())
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
    shifts = estimates.filter((pl.col("measure") == SHIFT) & pl.col("value").is_not_null())
    return shifts.select(*_NAMES).unique(maintain_order=True)
