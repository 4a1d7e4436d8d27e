"""Estimates of anybody's table of answers: the analysis by itself, without a run."""

from collections.abc import Sequence
from math import isfinite
from numbers import Real

import polars as pl

from facevalue.errors import DataError, UnknownNameError, error_place
from facevalue.measures.cells import MISSING_MEASURES
from facevalue.measures.estimates import stack_estimates
from facevalue.measures.judgment import judge
from facevalue.protocol.acceptance import check_apart, check_beside, check_estimand, check_families, check_measure
from facevalue.statistics.agreement import Flip
from facevalue.statistics.answers import COLUMNS, Answers
from facevalue.statistics.breakdown import CONTRAST, DIMENSION, Breakdown
from facevalue.statistics.estimand import Estimand, definitions, margins
from facevalue.statistics.scores import Program
from facevalue.statistics.statistic import Score, check_names

NAME = "answers"


def estimate(
    answers: pl.DataFrame,
    estimands: Sequence[Estimand],
    *,
    score: str = "score",
    scale: tuple[float, float] = (0.0, 1.0),
    questions: Sequence[str] = (),
    cue: str = "",
    base: str = "",
) -> pl.DataFrame:
    """Estimate what a table of answers says, with intervals over what was sampled, tests, bounds and verdicts.

    Parameters
    ----------
    answers:
        A row for each answer: `picture`, `unit` (what was sampled, such as the person shown), the score, and a column
        for each factor that an estimand names; see `facevalue.statistics.answers.Answers`. A score that is null or NaN
        is a missing answer, never zero: it is counted (`missing_share`, `missing_gap`), and every estimate has bounds
        for what it could have been. Columns that nothing names are not looked at.
    estimands:
        What is estimated: statistics of `facevalue.statistics`, by which factors.
    score, scale:
        Column of the score, and its lowest and highest possible value.
    questions:
        Columns that tell questions apart, besides the factors of the prompt that estimands name: shifts compare a
        picture with its base within questions.
    cue, base:
        The factor in which pictures differ from their unit's base, and the base's level of it. Shifts need both; with
        them, means and gaps that do not name the cue are of the bases.

    Returns
    -------
    polars.DataFrame
        The table of estimates that a run has (docs/reference/files.md): a row per estimate, with value, interval,
        p and q, bounds for missing answers, and a verdict where something is compared.

    Raises
    ------
    DataError, UnknownNameError
        A column or factor that there isn't, a value beyond the scale, or nothing to compare.

    Examples
    --------
    Twelve people, each with and without a hat, judged by a model that prefers hats:

    >>> import facevalue as fv
    >>> import polars as pl
    >>> from facevalue.statistics import Estimand, Shift
    >>> rows = [
    ...     {"picture": f"{n}-{hat}", "unit": f"{n}", "hat": hat, "score": 0.4 + n % 5 / 50 + 0.2 * (hat == "hat")}
    ...     for n in range(12) for hat in ("none", "hat")
    ... ]
    >>> shifts = fv.estimate(pl.DataFrame(rows), [Estimand(Shift(), by=("hat",))], cue="hat", base="none")
    >>> shifts.filter(measure="shift").select("hat", pl.col("value").round(3), "n", "verdict").row(0)
    ('hat', 0.2, 12, 'difference found')
    """
    if not isinstance(answers, pl.DataFrame):
        raise DataError(f"The answers are a Polars DataFrame, not {type(answers).__name__}.")
    chosen = _checked_estimands(estimands)
    one_score = _score_of(score, scale)
    for name, text in (("cue", cue), ("base", base)):
        if not isinstance(text, str):
            raise DataError(f"`{name}` is a text, not {text!r}: name the factor, and the level of the base.")
    for number, estimand in enumerate(chosen, start=1):
        for name in estimand.factors:
            if name not in answers.columns and not estimand.optional:
                with error_place(f"Estimand {number}"):
                    others = [column for column in answers.columns if column not in (*COLUMNS, score)]
                    raise UnknownNameError("factor", name, others)
    columns = {name for e in chosen if {*e.factors} <= {*answers.columns} for name in e.factors}
    table = Answers(answers, one_score, tuple({*columns, *check_names(questions, "questions")}), cue, base)
    estimable = _check(chosen, table, one_score)
    breakdown = table.breakdown
    measures = definitions(estimable, breakdown, (one_score,))
    labels = tuple(dict.fromkeys([*breakdown.factors, CONTRAST, DIMENSION]))
    program = Program(NAME, labels, breakdown, (one_score,), measures, estimable)
    estimates = program.estimate({model: {score: table.arrays(model)} for model in table.models})
    missing = [table.missing(model, NAME) for model in table.models]
    return judge(
        stack_estimates([estimates, *missing]), (*measures.values(), *MISSING_MEASURES),
        margins=margins(estimable, breakdown, (one_score,)),
        lead=tuple(dict.fromkeys(estimand.family_name for estimand in estimable if estimand.tested)),
    )  # fmt: skip


def _checked_estimands(estimands: object) -> tuple[Estimand, ...]:
    """The estimands of a list, each of which can be estimated of answers that are there."""
    if isinstance(estimands, Estimand) or not isinstance(estimands, list | tuple):
        raise DataError(f"Estimands are in a list, such as [Estimand(Mean())], not {type(estimands).__name__}.")
    if not estimands:
        raise DataError("Nothing is estimated: name at least one estimand in a list, such as [Estimand(Mean())].")
    for number, estimand in enumerate(estimands, start=1):
        if not isinstance(estimand, Estimand):
            raise DataError(f"Estimand {number} is no Estimand, such as Estimand(Mean()), but {estimand!r}.")
        if estimand.confirmatory:
            raise DataError(f"Estimand {number}: nothing can be declared of answers that are there: no `confirmatory`.")
    return tuple(estimands)


def _score_of(name: str, scale: tuple[float, float]) -> Score:
    """The score, with the ends of its scale."""
    if not isinstance(name, str):
        raise DataError(f"`score` is the name of a column, not {name!r}.")
    is_scale = isinstance(scale, tuple | list) and len(scale) == 2 and all(isinstance(x, Real) for x in scale)
    if not is_scale or not (scale[0] < scale[1] and isfinite(scale[0]) and isfinite(scale[1])):
        raise DataError(f"The scale is the lowest and the highest possible score, such as (1, 5), not {scale!r}.")
    low, high = float(scale[0]), float(scale[1])
    unit = "probability" if (low, high) == (0.0, 1.0) else "points"
    return Score(name, name.replace("_", " ").capitalize(), unit, low, high)


def _check(estimands: Sequence[Estimand], table: Answers, score: Score) -> tuple[Estimand, ...]:
    """Refuse what the table does not allow, as studies do; leave out what is optional and lacks a factor."""
    estimable, kinds, breakdown = [], dict[str, str](), table.breakdown
    for number, estimand in enumerate(estimands, start=1):
        with error_place(f"Estimand {number}"):
            for name in estimand.scores:
                if name != score.name:
                    raise UnknownNameError("score", name, [score.name])
            if not _has_factors(estimand, breakdown):
                continue
            estimand.check(breakdown)
            check_estimand(estimand, breakdown)
            check_beside(estimand, (score,))
            if estimand.statistic.of_lists:
                raise DataError("A similarity is of lists, and answers are numbers here.")
            if (
                isinstance(estimand.statistic, Flip)
                and not table.table[score.name].drop_nulls().is_in([0.0, 1.0]).all()
            ):
                raise DataError("A flip is of answers that count or not: all scores must be 0 or 1.")
            estimand.statistic.check_score(score, sides=False)
            check_measure(estimand, breakdown, kinds, [measure.name for measure in MISSING_MEASURES])
            estimable.append(estimand)
    check_apart(estimable, breakdown, (score,))
    check_families(estimable)
    if not estimable:
        raise DataError("Nothing is left to estimate: the answers lack the factors of all estimands.")
    return tuple(estimable)


def _has_factors(estimand: Estimand, breakdown: Breakdown) -> bool:
    """Return whether the answers have the factors of an estimand; True for one that is not optional."""
    return not estimand.optional or set(estimand.factors) <= set(breakdown.factors)
