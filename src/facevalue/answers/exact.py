"""Exact probabilities in place of drawn replies."""

from collections.abc import Mapping, Sequence

import polars as pl

from facevalue.answers.columns import from_probs

LEAST_MASS = 0.01
"""Probability that must be on the options together, where estimates count by this mass: little is needed of it."""


def exact_or_drawn(frame: pl.DataFrame, sampled: pl.DataFrame, weights: Mapping[str, pl.Expr]) -> pl.DataFrame:
    """Weights of replies or, where probabilities were read, of these.

    Examples
    --------
    >>> frame = pl.DataFrame({"probs": [[0.75, 0.25], None], "status": ["ok", "ok"]})
    >>> drawn = pl.DataFrame({"weight": [None, 1.0], "mass": [0.0, 1.0], "na": [None, None]})
    >>> exact_or_drawn(frame, drawn, {"weight": pl.col("weights").list.get(0)}).rows()
    [(0.75, 1.0, None), (1.0, 1.0, None)]
    """
    has_probs = frame["probs"].is_not_null()
    if not has_probs.any():
        return sampled
    option_weights = from_probs(frame, minimum=LEAST_MASS)
    likely = pl.when(pl.col("na").is_null()).then("mass").otherwise(0.0).alias("mass")
    exact = option_weights.select(*(weight.alias(name) for name, weight in weights.items()), likely, "na")
    use_exact = pl.lit(has_probs)
    return pl.select(
        pl.when(use_exact).then(exact[name]).otherwise(sampled[name].cast(exact[name].dtype)).alias(name)
        for name in sampled.columns
    )


def exact_or_chosen(frame: pl.DataFrame, parsed: pl.DataFrame, names: Sequence[str]) -> pl.DataFrame:
    """Weights of a question's options, in their order: `exact_or_drawn` with what was chosen of them as drawn.

    Examples
    --------
    >>> frame = pl.DataFrame({"probs": [[0.75, 0.25], None], "status": ["ok", "ok"]})
    >>> said = pl.DataFrame({"choice": [None, 1], "na": [None, None]})
    >>> exact_or_chosen(frame, said, ("a", "b")).rows()
    [(0.75, 0.25, 1.0, None), (0.0, 1.0, 1.0, None)]
    """
    chosen = [(pl.col("choice") == at).cast(pl.Float64).alias(name) for at, name in enumerate(names)]
    sampled = parsed.select(*chosen, pl.col("choice").is_not_null().cast(pl.Float64).alias("mass"), "na")
    weights = {name: pl.col("weights").list.get(at, null_on_oob=True) for at, name in enumerate(names)}
    return exact_or_drawn(frame, sampled, weights)
