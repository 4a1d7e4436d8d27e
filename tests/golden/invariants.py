"""What holds between the numbers of one estimate, whatever its measure."""

import polars as pl

from facevalue.measures.intervals import IntervalKind

ROUNDING = 1e-9
_V, _LOW, _HIGH, _P, _LEAST = (pl.col(name) for name in ("value", "low", "high", "p", "p_least"))
_PAGE_LOW, _PAGE_HIGH, _MARGIN = (pl.col(name) for name in ("page_low", "page_high", "margin"))
_IS_UNMEASURED = (pl.col("method") == "none") & pl.col("detail").str.starts_with("not measurable")
_TESTS = ("p", "q", "q_page", "p_paper", "q_paper")
_IS_BETWEEN = [pl.col(name).is_between(0, 1).fill_null(value=True) for name in _TESTS]
_WITHIN_MARGIN = (_PAGE_LOW >= -_MARGIN - ROUNDING) & (_PAGE_HIGH <= _MARGIN + ROUNDING)
INVARIANTS: dict[str, pl.Expr] = {
    "an interval holds its value": (_LOW <= _V + ROUNDING) & (_V <= _HIGH + ROUNDING),
    "a low end has a high one": _LOW.is_null() == _HIGH.is_null(),
    "the page's interval holds the 95% one": (_PAGE_LOW <= _LOW + ROUNDING) & (_HIGH <= _PAGE_HIGH + ROUNDING),
    "bounds hold their value": (pl.col("bound_low") <= _V + ROUNDING) & (pl.col("bound_high") + ROUNDING >= _V),
    "bounds have an order": pl.col("bound_low") <= pl.col("bound_high") + ROUNDING,
    "what has no value has no interval, error or test": _V.is_not_null()
    | pl.all_horizontal(pl.col("low", "high", "se", "p", "q", "q_page").is_null()),
    "what has no value says why": _V.is_not_null() | _IS_UNMEASURED,
    "a method is of a kind that there is": pl.col("method").is_in(list(IntervalKind)),
    "what has no interval has no method, and says why": _LOW.is_not_null()
    | ((pl.col("method") == IntervalKind.NONE) & (pl.col("detail") != "")),
    "what has a value is of something": _V.is_null() | (pl.col("n") > 0),
    "a standard error is not negative": pl.col("se") >= 0,
    "probabilities are between 0 and 1": pl.all_horizontal(_IS_BETWEEN),
    "an adjusted probability is not below its own": pl.col("q") >= _P - ROUNDING,
    "no probability is far below the least that there is": _P >= _LEAST / 2,
    "what was found has a small probability": (pl.col("verdict") != "difference found") | (pl.col("q_page") < 0.05),
    "what was found lies clear of zero": (pl.col("verdict") != "difference found")
    | (_PAGE_LOW > -ROUNDING)
    | (_PAGE_HIGH < ROUNDING),
    "what is equivalent lies within its margin": (pl.col("verdict") != "equivalent within the margin") | _WITHIN_MARGIN,
    "a margin is above zero": _MARGIN > 0,
    "a smallest detectable difference is above zero": pl.col("mde") > 0,
}
"""By sentence, an expression that is false where it does not hold; null where it says nothing."""


def broken(table: pl.DataFrame) -> dict[str, list[dict[str, object]]]:
    """Rows of a table of estimates that break an invariant, by its sentence."""
    rows = {sentence: table.filter(~holds) for sentence, holds in INVARIANTS.items()}
    shown = (
        "measure",
        "value",
        "low",
        "high",
        "page_low",
        "page_high",
        "se",
        "n",
        "p",
        "q",
        "verdict",
        "method",
        "detail",
    )
    return {sentence: found.select(shown).head(3).to_dicts() for sentence, found in rows.items() if found.height}
