"""What people said of associations, entered into the estimates, so that a report shows it beside them."""

import polars as pl

from facevalue.measures.estimates import SCHEMA
from facevalue.measures.inference import LEVEL
from facevalue.report.visbias.findings import SHIFT

RATING, AGREEMENT = "human_rating", "rater_agreement"
_SOURCE = "VisBias (003_4c8bf5711757ffbf), section 3.4"
_MEANS = "t over raters"
_SEED = 0


def with_ratings(estimates: pl.DataFrame, ratings: pl.DataFrame) -> pl.DataFrame:
    """Add the mean rating of each association, and how far the raters agree, to every model that has it.

    Parameters
    ----------
    estimates:
        The study's estimates.
    ratings:
        As `facevalue.studies.visbias.questionnaire.read_ratings` returns them.

    Returns
    -------
    The estimates with two measures more: `human_rating` (labels as those of `attribute_shift`, without the task; `n` is
    the number of raters) and `rater_agreement` (Krippendorff's alpha, ordinal).

    Raises
    ------
    DataError
        A rating of what is no association of these forms.
    """
    from facevalue.studies.visbias.questionnaire import PAIR, judged  # noqa: PLC0415 - imports scipy.stats

    names = dict(zip(("attribute", "variation", "trait", "category"), PAIR, strict=True))
    shifts = estimates.filter((pl.col("measure") == SHIFT) & pl.col("value").is_not_null())
    pairs = shifts.select("model", pl.col(list(names))).unique(maintain_order=True)
    found = judged(pairs.select(list(names)).unique(maintain_order=True).rename(names), ratings, _SEED)
    alpha = found.agreement
    rated = found.pairs.filter(pl.col("mean").is_not_null()).rename({new: old for old, new in names.items()})
    constants = {"study": estimates["study"][0], "level": LEVEL, "source": _SOURCE} if estimates.height else {}
    fixed = [pl.lit(value).alias(name) for name, value in constants.items()]
    rows = pairs.join(rated, on=list(names), maintain_order="left").with_columns(
        *fixed, pl.col("mean").alias("value"), pl.col("raters").alias("n"), pl.col("raters").alias("clusters"),
        measure=pl.lit(RATING), unit=pl.lit("1 to 5"), method=pl.lit(_MEANS),
    )  # fmt: skip
    agreed = pairs.select("model").unique(maintain_order=True).with_columns(
        *fixed, pl.lit(float(alpha.value[0])).alias("value"), pl.lit(float(alpha.low[0])).alias("low"),
        pl.lit(float(alpha.high[0])).alias("high"), pl.lit(int(alpha.n[0])).alias("n"),
        pl.lit(int(alpha.clusters[0])).alias("clusters"), measure=pl.lit(AGREEMENT), unit=pl.lit("1"),
        method=pl.lit(str(alpha.method[0])),
    )  # fmt: skip
    return pl.concat([estimates, _complete(rows), _complete(agreed)])


def _complete(rows: pl.DataFrame) -> pl.DataFrame:
    missing = [pl.lit(None).alias(name) for name in SCHEMA if name not in rows.columns]
    numbers = [name for name, dtype in SCHEMA.items() if dtype == pl.Float64()]
    whole = rows.with_columns(missing).select(list(SCHEMA)).cast(SCHEMA)  # type: ignore[arg-type]
    return whole.with_columns(pl.col(numbers).fill_nan(None))
