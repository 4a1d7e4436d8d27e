"""Estimates by the key of their measure, which says the score as well."""

import polars as pl


def by_key(estimates: pl.DataFrame) -> pl.DataFrame:
    """A table of estimates in which measures are called by their keys (`Measure.key`): "mean.warmth"."""
    return estimates.with_columns(measure=pl.concat_str("measure", "score", separator=".", ignore_nulls=True))
