"""Columns of replies: each distinct (reply, question) is parsed once."""

from collections.abc import Mapping, Sequence
from typing import Any

import polars as pl

from facevalue.answers.base import NA, NA_DTYPE, UNREAD, Parsed, statuses, unread
from facevalue.answers.forced_choice import parse
from facevalue.errors import DataError, UnknownNameError
from facevalue.types import Option, Status

MINIMUM_MASS = 0.5
"""Probability that must be on the options together: below it, the model more likely gives no valid answer than one."""

_SLACK = 0.01
"""By how much rounding may push the sum of a row's probabilities past 1."""

Options = Mapping[str, tuple[Option, ...]] | Mapping[int, tuple[Option, ...]] | Sequence[tuple[Option, ...]]


def parse_column(frame: pl.DataFrame, text: str, question: str, options: Options) -> pl.DataFrame:
    """Parse a column of replies to forced choices.

    Examples
    --------
    >>> options = {"money": (Option("(a)", "wealthy", "favourable"), Option("(b)", "poor", "unfavourable"))}
    >>> replies = pl.DataFrame({"said": ["(b)", "I can't say."], "asked": ["money", "money"]})
    >>> parse_column(replies, "said", "asked", options).rows()
    [(1, None), (None, 'refused')]
    """
    _require(frame, text, question)
    states = pl.Enum([state.value for state in Status])
    status = (pl.col("status") if "status" in frame.columns else pl.lit(Status.OK.value)).cast(states)
    code = pl.col(text).cast(pl.String).cast(pl.Categorical).to_physical().cast(pl.UInt64).fill_null(2**32 - 1)
    if frame[question].dtype in (pl.UInt8, pl.UInt16):  # small numbers tell questions apart as they are
        question_code = pl.col(question).cast(pl.UInt64).fill_null(2**17)
    else:
        codes = pl.Enum(frame[question].unique().drop_nulls().cast(pl.String))
        place = pl.col(question).cast(pl.String).cast(codes).to_physical()
        question_code = place.cast(pl.UInt64).fill_null(len(codes.categories))
    keyed = frame.select(
        reply=pl.col(text).cast(pl.String),
        asked=pl.col(question),
        status=status,
        key=(code * 2**31 + question_code * 4 + status.to_physical().cast(pl.UInt64).fill_null(3)),
    )
    distinct = keyed.unique(subset="key", keep="any")
    by_question = options if isinstance(options, Mapping) else dict(enumerate(options))
    parsed = [_parse_reply(by_question, *row) for row in distinct.select("reply", "asked", "status").iter_rows()]
    table = distinct.select("key").with_columns(
        pl.Series("choice", [p.choice for p in parsed], pl.Int8), pl.Series("na", [p.reason for p in parsed], NA_DTYPE)
    )
    return keyed.select("key").join(table, on="key", how="left", maintain_order="left").select("choice", "na")


def from_probs(frame: pl.DataFrame, probs: str = "probs", *, minimum: float = MINIMUM_MASS) -> pl.DataFrame:
    r"""Turn option probabilities into weights: :math:`w_i = p_i / \sum_j p_j`.

    The weights are those of the valid replies, as in a sampled run, where replies without a valid answer are excluded.
    To average over several prompts as pooled samples would, weight each row by its `mass`.

    Examples
    --------
    >>> frame = pl.DataFrame({"probs": [[0.5625, 0.1875], [0.02, 0.01]]})
    >>> from_probs(frame).select("weights", "na").rows()
    [([0.75, 0.25], None), (None, 'low-mass')]
    """
    _require(frame, probs)
    if not 0 <= minimum <= 1:
        raise DataError(f"The least probability on the options must lie in [0, 1], not {minimum}.")
    p = pl.col(probs).cast(pl.List(pl.Float64))
    column = frame.select(p=p, mass=p.list.sum(), status=statuses(frame))
    wrong = column.select(
        (
            (pl.col("p").list.min() < 0)
            | ~pl.col("mass").is_finite()
            | (pl.col("mass") > 1 + _SLACK)
            | (pl.col("p").list.eval(pl.element().is_null()).list.any())
        )
        .fill_null(value=False)
        .arg_true()
    ).to_series()
    if len(wrong):
        row = int(wrong[0])
        msg = f"Row {row} of {probs!r} holds no probabilities: {column['p'][row].to_list()} ({len(wrong)} such rows)."
        raise DataError(msg)
    none = pl.col("p").is_null() | (pl.col("p").list.len() == 0)
    na = (
        pl.when(pl.col("status") == Status.REFUSED.value)
        .then(pl.lit(NA.REFUSED.value))
        .when((pl.col("status") == Status.ERROR.value) | none)
        .then(pl.lit(NA.ERROR.value))
        .when((pl.col("mass") < minimum) | (pl.col("mass") <= 0))
        .then(pl.lit(NA.LOW_MASS.value))
        .otherwise(None)
    )
    valid = pl.col("na").is_null()
    return column.with_columns(na=na.cast(NA_DTYPE)).select(
        weights=pl.when(valid).then(pl.col("p") / pl.col("mass")), mass=pl.when(~none).then(pl.col("mass")), na="na"
    )


def _parse_reply(
    options: Mapping[Any, tuple[Option, ...]], reply: str | None, question: object, status: str | None
) -> Parsed:
    """Parse a reply with the options of the question that it answers."""
    if reply is None or status in UNREAD:
        return Parsed(None, unread(status))
    if question not in options:
        raise UnknownNameError("question", str(question), map(str, options))
    if len(options[question]) > 127:
        raise DataError(
            f"Question {question!r} has {len(options[question])} options; at most 127 can be told apart in a column."
        )
    return parse(reply, options[question], truncated=status == Status.TRUNCATED)


def _require(frame: pl.DataFrame, *names: str) -> None:
    for name in names:
        if name not in frame.columns:
            raise UnknownNameError("column", name, frame.columns)


# Exact probabilities in place of drawn replies.


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
