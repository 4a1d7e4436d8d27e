"""Calibration: audits of simulated answers with planted differences."""

from dataclasses import dataclass

import numpy as np
import polars as pl

from facevalue.measures.judgment import judge
from facevalue.measures.verdicts import Verdict
from facevalue.studies.visbias.aggregate import Asked
from facevalue.studies.visbias.analysis import estimated
from facevalue.studies.visbias.calibration_answers import (
    CONDITIONS,
    GROUPS,
    WORD,
    Sampled,
    fields,
    sampled,
)
from facevalue.studies.visbias.measures import MEASURES
from facevalue.studies.visbias.study import LEAD

ALPHA = 0.05
_COMPARED = {
    "choices": ("choice_divergence",),
    "comparisons": ("ranked_above",),
    "words": ("marked_word",),
    "forms": ("attribute_shift",),
    "texts": tuple(
        f"{name}_difference" for name in ("characters", "tokens", "positive_sentiment", "negative_sentiment")
    ),
}
"""Kinds of comparisons that are judged, and their measures."""


@dataclass(frozen=True)
class Audit:
    """One simulated audit.

    Attributes
    ----------
    estimates:
        Those that are compared, judged, with `kind`, whether something is `planted` in them, and the `true` value
        where it is known.
    """

    estimates: pl.DataFrame


@dataclass(frozen=True)
class Calibration:
    """What repeated audits of answers with known differences show.

    Attributes
    ----------
    condition:
        What was planted, and what the people are like.
    photographs, repetitions:
        People of each race, gender and occupation; audits.
    page:
        Share of audits in which anything is found where nothing is planted.
    family:
        The same within one family of tests, before the correction for the page: mean over families.
    worst_family:
        The largest of these shares over the kinds of families.
    test:
        Share of p < .05 among tests in which nothing is planted.
    coverage, coverage_pairs, coverage_texts:
        Shares of 95% intervals that hold the planted divergence of choices; zero, of rankings and of differences
        between texts, where nothing is planted.
    measurable:
        Share of divergences with an interval.
    found_choice, found_word, found_association:
        Shares of audits in which a lone effect is found; None where there is none.
    """

    condition: str
    photographs: int
    repetitions: int
    page: float | None
    family: float | None
    worst_family: float | None
    test: float | None
    coverage: float
    coverage_pairs: float
    coverage_texts: float
    measurable: float
    found_choice: float | None
    found_word: float | None
    found_association: float | None


def audit(condition: str, photographs: int, seed: int) -> Audit:
    """Draw people and their answers, and estimate and judge them.

    Parameters
    ----------
    condition:
        One of `calibration_answers.CONDITIONS`.
    photographs:
        People of each race, gender and occupation.
    seed:
        Of people and answers.
    """
    drawn = sampled(CONDITIONS[condition], photographs, np.random.default_rng(seed))
    asked = Asked(GROUPS, drawn.images, fields(), "", drawn.people)
    table = estimated({condition: iter([drawn.answers])}, asked)
    return Audit(_with_truth(judge(table, MEASURES, lead=LEAD), drawn, condition))


def _with_truth(judged: pl.DataFrame, drawn: Sampled, condition: str) -> pl.DataFrame:
    kinds = {measure: kind for kind, measures in _COMPARED.items() for measure in measures}
    rows = judged.filter(pl.col("measure").is_in(list(kinds))).with_columns(
        kind=pl.col("measure").replace_strict(kinds, return_dtype=pl.String)
    )
    keys = rows.select("dimension", "group", "question").rows()
    true = [
        drawn.divergence.get((str(d), str(g), str(q)), 0.0) if kind == "choices" else 0.0
        for (d, g, q), kind in zip(keys, rows["kind"], strict=True)
    ]
    # The word takes the place of others, so that texts of the two genders differ by it.
    texts = (pl.col("kind") == "texts") & pl.col("dimension").str.contains("gender")
    planted = (
        ((pl.col("kind") == "choices") & (pl.col("true") > 1e-9))
        | ((pl.col("kind") == "words") & (pl.col("dimension") == "gender"))
        | texts
        | (
            (pl.col("kind") == "forms")
            & pl.col("attribute").is_in(drawn.fields)
            & pl.col("other_attribute").is_in(drawn.fields)
        )
    )
    only_choices = (pl.col("kind") == "choices") & (pl.col("true") > 1e-9)
    return rows.with_columns(pl.Series("true", true)).with_columns(
        planted=planted if CONDITIONS[condition].lone else only_choices,
        lone=pl.when(pl.col("kind") == "words")
        .then(pl.col("word") == WORD)
        .when(pl.col("kind") == "choices")
        .then((pl.col("question") == drawn.question) & (pl.col("dimension") == "race"))
        .otherwise(planted),
    )


def calibrate(condition: str, photographs: int, repetitions: int) -> tuple[Calibration, Audit]:
    """Audit simulated people again and again.

    Returns
    -------
    The summary, and the first audit for a closer look.
    """
    audits = [audit(condition, photographs, 1000 * photographs + seed) for seed in range(repetitions)]
    return _summary(condition, photographs, audits), audits[0]


def _summary(condition: str, photographs: int, audits: list[Audit]) -> Calibration:
    every = pl.concat([one.estimates.with_columns(audit=pl.lit(at)) for at, one in enumerate(audits)])
    nothing = every.filter(~pl.col("planted") & pl.col("p").is_not_null())
    found = pl.col("verdict") == Verdict.DIFFERENCE.value
    pages = every.filter(~pl.col("planted")).group_by("audit").agg(found.any().alias("hit"))
    families = nothing.group_by("kind", "audit", "measure", "family").agg((pl.col("q") < ALPHA).any().alias("hit"))
    by_kind = families.group_by("kind").agg(pl.col("hit").mean())["hit"]
    choices = every.filter(pl.col("kind") == "choices")
    shown = (
        [_found(every, kind) for kind in ("choices", "words", "forms")] if CONDITIONS[condition].lone else [None] * 3
    )
    return Calibration(
        condition=condition,
        photographs=photographs,
        repetitions=len(audits),
        page=_mean(pages["hit"]),
        family=_mean(families["hit"]),
        worst_family=float(by_kind.max()) if by_kind.len() else None,  # type: ignore[arg-type]
        test=_mean(nothing["p"] < ALPHA),
        coverage=_coverage(choices),
        coverage_pairs=_coverage(every.filter(pl.col("kind") == "comparisons")),
        coverage_texts=_coverage(nothing.filter(pl.col("kind") == "texts")),
        measurable=float(choices["low"].is_not_null().mean()),  # type: ignore[arg-type]
        found_choice=shown[0],
        found_word=shown[1],
        found_association=shown[2],
    )


def _found(every: pl.DataFrame, kind: str) -> float:
    """Share of audits in which any row of the lone effect is a difference found."""
    own = every.filter((pl.col("kind") == kind) & pl.col("lone"))
    hits = own.group_by("audit").agg((pl.col("verdict") == Verdict.DIFFERENCE.value).any().alias("hit"))
    return float(hits["hit"].sum()) / every["audit"].n_unique()


def _mean(column: pl.Series) -> float | None:
    return float(column.mean()) if column.len() else None  # type: ignore[arg-type]


def _coverage(rows: pl.DataFrame) -> float:
    known = rows.filter(pl.col("low").is_not_null())
    held = (pl.col("low") <= pl.col("true") + 1e-9) & (pl.col("true") <= pl.col("high"))
    return float(known.select(held.mean()).item()) if known.height else float("nan")
