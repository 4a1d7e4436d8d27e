"""Audits of planted answers: a study in some size, its estimates with verdicts, and what they should have been."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from pathlib import Path

import numpy as np
import numpy.typing as npt
import polars as pl
from scipy import special, stats

from facevalue.answers.sorting import stand_in
from facevalue.calibration.planted_answers import PlantedCondition, replies
from facevalue.calibration.trials import AuditTrials
from facevalue.errors import DataError
from facevalue.measures.definitions import rows_of, split_key
from facevalue.measures.estimates import TYPED_LABELS
from facevalue.measures.judgment import judge
from facevalue.measures.multitest import adjust_p
from facevalue.measures.verdicts import Verdict
from facevalue.protocol.calibration import Calibration, Rival
from facevalue.protocol.kept_answers import KeptAnswers, UnitNames
from facevalue.protocol.protocol import Protocol
from facevalue.protocol.study import Study
from facevalue.runs.comparisons.cells import RunAgreement
from facevalue.runs.comparisons.models import compare_answers
from facevalue.statistics.breakdown import DIMENSION, GROUP, OTHER_GROUP
from facevalue.statistics.rivals import SIDE, UNIT, VALUE, group_sides
from facevalue.types import OptionValue

# Simple tests of the same answers, beside which the power of a study's own tests stands.


Array = npt.NDArray[np.float64]
_LEVELS = pl.selectors.by_dtype(pl.Enum, pl.Categorical)


def p_values(rival: Rival, answers: pl.DataFrame) -> pl.DataFrame:
    """P of each estimate that a rival tests: its labels, and `p_rival`.

    t over means of units: against zero, or Welch's between the units of two sides; Fisher's exact test of these (twice
    the smaller tail) where values are flags. Where an estimate is about several numbers at once, its components, the
    smallest p times how many they are.
    """
    rows = rival.rows(answers.with_columns(_LEVELS.cast(pl.String))).drop_nulls([VALUE, UNIT])
    components = [name for name in rival.components if name in (*rows.columns, *(GROUP for _ in rival.groups))]
    rest = {UNIT, VALUE, SIDE, *rival.groups}
    by = rival.by if rival.by is not None else [name for name in rows.columns if name not in {*rest, *components}]
    if rival.groups:
        cells = dict.fromkeys([*by, *(name for name in components if name != GROUP)])
        rows = group_sides(rows.select(*cells, *rival.groups, UNIT, VALUE), rival.groups, rival.versus)
        labels = [name for name in (DIMENSION, GROUP, OTHER_GROUP) if name in rows.columns]
        by = [*by, *(name for name in labels if name not in components)]
    by, sides = ["measure", *by], [SIDE] if SIDE in rows.columns else []
    rows = rows.with_columns(measure=pl.lit(split_key(rival.measure)[0]))
    units = rows.group_by([*by, *components, UNIT, *sides]).agg(pl.col(VALUE).mean())
    if rival.apart:
        same = [name for name in (*by, *components, UNIT) if name != rival.apart]
        units = units.with_columns(pl.col(VALUE) - pl.col(VALUE).mean().over(same))
    tests = _exact(units, [*by, *components]) if rival.flags else _by_t(units, [*by, *components], sides)
    smallest = tests.group_by(by).agg(p_rival=(pl.col("p").min() * pl.len()).clip(upper_bound=1.0))
    return smallest.with_columns(pl.col(by).cast(pl.String))


def _exact(units: pl.DataFrame, cells: Sequence[str]) -> pl.DataFrame:
    """Fisher's exact test of flags on two sides; nothing of flags that no unit has."""
    flag = pl.col(VALUE)
    counts = units.group_by(cells).agg(
        hits=flag.filter(SIDE).sum(), side=pl.col(SIDE).sum(), all_hits=flag.sum(), every=pl.len()
    )
    counts = counts.filter(pl.col("all_hits") > 0)
    hits, side, all_hits, totals = (counts[name].to_numpy() for name in ("hits", "side", "all_hits", "every"))
    law = stats.hypergeom(totals, np.rint(all_hits), side)
    tails = np.fmin(law.sf(np.rint(hits) - 1), law.cdf(np.rint(hits)))
    return counts.select(cells).with_columns(p=pl.Series(np.minimum(2 * tails, 1.0)))


def _by_t(units: pl.DataFrame, cells: Sequence[str], sides: Sequence[str]) -> pl.DataFrame:
    moments = units.group_by([*cells, *sides]).agg(
        mean=pl.col(VALUE).mean(), error=pl.col(VALUE).var() / pl.len(), n=pl.len().cast(pl.Float64)
    )
    if sides:
        first, second = (moments.filter(pl.col(SIDE) == which).drop(SIDE) for which in (True, False))
        joined = first.join(second, on=cells, nulls_equal=True)
        error = pl.col("error") + pl.col("error_right")
        terms = pl.col("error") ** 2 / (pl.col("n") - 1) + pl.col("error_right") ** 2 / (pl.col("n_right") - 1)
        moments = joined.with_columns(mean=pl.col("mean") - pl.col("mean_right"), error=error, freedom=error**2 / terms)
    else:
        moments = moments.with_columns(freedom=pl.col("n") - 1)
    p = _t(*(moments[name].fill_null(np.nan).to_numpy() for name in ("mean", "error", "freedom")))
    return moments.select(cells).with_columns(p=pl.Series(p).fill_nan(None))


@np.errstate(invalid="ignore", divide="ignore")
def _t(mean: Array, error: Array, freedom: Array) -> Array:
    """Two-sided p; NaN where units don't vary."""
    statistic = np.abs(mean) / np.sqrt(error)
    return np.where((error > 0) & (freedom > 0), 2 * special.stdtr(np.maximum(freedom, 1e-9), -statistic), np.nan)


def add_rivals(judged: pl.DataFrame, rivals: Sequence[Rival], answers: pl.DataFrame) -> pl.DataFrame:
    """Estimates with `q_rival`, the rival's p by Holm within the family; null where there is no rival."""
    tested = []
    left = judged.with_row_index("row")
    for rival in rivals:
        estimates = left.filter(rows_of([rival.measure]), pl.col("p").is_not_null(), *rival.only)
        if estimates.is_empty():
            continue
        p = p_values(rival, answers)
        on = [name for name in p.columns if name != "p_rival"]
        tested.append(estimates.join(p, on=on, how="left").select("row", "family", "p_rival"))
    if not tested:
        return judged.with_columns(q_rival=pl.lit(None, pl.Float64))
    tests = pl.concat(tested)
    holm = [
        family.select("row").with_columns(q_rival=pl.Series(adjust_p(family["p_rival"].to_numpy(), "holm")))
        for family in tests.drop_nulls("p_rival").partition_by("family")
    ]
    if not holm:
        return judged.with_columns(q_rival=pl.lit(None, pl.Float64))
    return left.join(pl.concat(holm), on="row", how="left", maintain_order="left").drop("row")


MODEL = "planted"
_FEW = 0.25
"""Share of the people of the first group that is asked where groups are unlike."""
SCORE = "score: planted/score"
"""Column of what is said of texts, where scorers read them."""


def study_of_size(protocol: Protocol, calibration: Calibration, size: int, *, others: bool = False) -> Study:
    """A study of so many times the pictures of the smallest audit; `others`: of other people.

    Raises
    ------
    DataError
        Other people are wanted where pictures follow from settings.
    """
    if others and not calibration.units:
        raise DataError(f"{protocol.name} has one set of pictures of each size.")
    scaled = {name: _times(calibration.settings[name], size) for name in calibration.scaled}
    study = protocol.study({**calibration.settings, **scaled})
    if not calibration.units or (size == 1 and not others):
        return study
    return protocol.study(
        {**calibration.settings, **scaled},
        copy_pictures(study.manifest, calibration.units, size, "~" if others else ""),
    )


def _times(value: OptionValue, size: int) -> OptionValue:
    return str(int(value) * size) if isinstance(value, str) else int(str(value)) * size


def copy_pictures(manifest: pl.DataFrame, units: tuple[str, ...], size: int, mark: str = "") -> pl.DataFrame:
    """Each picture several times, as that of other people; `mark` follows all their names."""
    columns = [name for name in units if name in manifest.columns]
    marks = [mark, *(f"{mark}#{copy}" for copy in range(1, size))]
    return pl.concat(manifest.with_columns(pl.col(name) + text for name in columns) for text in marks)


class Audits:
    """Audits of a study in one size."""

    def __init__(self, protocol: Protocol, calibration: Calibration, size: int, *, others: bool = False) -> None:
        self.calibration, self.size = calibration, size
        study = study_of_size(protocol, calibration, size, others=others)
        judged = study.reading.judged if study.reading.sortings else None
        self.study = study if judged is None else judged(stand_in)
        self._trials = AuditTrials(self.study, calibration)

    @cached_property
    def units(self) -> int:
        """Number of units that were sampled."""
        sides = [people for side, (people, _) in self._trials.units.items() if side != "_2"]
        return max(np.unique(people[people >= 0]).size for people in sides)

    @property
    def levels(self) -> Mapping[str, Sequence[str]]:
        """Levels of the factors that effects may be planted on."""
        return self._trials.levels

    def answers(self, condition: PlantedCondition, table: int, seed: int, *, exact: bool = False) -> pl.DataFrame:
        """Answers to everything once; `table` is the seed of what is planted."""
        rng = np.random.default_rng([seed, self.size])
        written = replies(self._trials, condition, table, rng, exact)
        if condition.sample < 1:
            size, repeats = round(condition.sample * written.height), self.study.repeats
            trials = pl.Series(self.study.sample(size, seed, repeats)).cast(pl.UInt64)
            written = written.filter(pl.col("trial").is_in(trials.implode()))
        if condition.unlike != 1:
            written = written.filter(pl.Series(self._trials.uneven_rows(_FEW)))
        answers = self.study.answer(written.drop("planted score"))
        if self.study.reading.scored is None:
            return answers
        score = pl.when(pl.col("text").is_not_null()).then(written["planted score"].fill_nan(None))
        fills = self.study.reading.scored.fills
        if fills:
            return answers.with_columns(**{name: low + (high - low) * score for name, (low, high) in fills.items()})
        refused = pl.lit(None, pl.Float64).alias(f"refused {SCORE}")  # this scorer reads no refusal
        return answers.with_columns(score.alias(SCORE), refused, pl.lit(value=True).alias(f"unread: {MODEL}"))

    def judge_answers(self, answers: pl.DataFrame, margins: Mapping[str, float] | None = None) -> pl.DataFrame:
        """Estimates with verdicts, and q of the rivals."""
        study = self.study
        declared = None if study.estimates.declared is None else study.estimates.declared()
        estimates = study.analyse({MODEL: iter([answers])})
        judged = judge(estimates, study.estimates.measures, declared, margins, study.estimates.lead)
        return add_rivals(judged, self.calibration.rivals, answers)

    def truth(self, condition: PlantedCondition, table: int) -> pl.DataFrame:
        """A noise-free audit of the same: measure, labels, `true` with its interval."""
        even = replace(condition, missing=0.0, drift=0.0, wave=0.0, unlike=1.0, sample=1.0)
        estimates = self.study.analyse({MODEL: iter([self.answers(even, table, 0, exact=True)])})
        return estimates.select("measure", *self.keys, true="value", true_low="low", true_high="high")

    @property
    def keys(self) -> list[str]:
        """Labels that tell estimates of a measure apart."""
        return [*TYPED_LABELS, *self.study.estimates.labels]


# Comparisons of two models whose bias is the same: whatever is found between them is false.


@dataclass(frozen=True, slots=True)
class Pair:
    """Two models that are compared."""

    name: str
    first: PlantedCondition
    second: PlantedCondition
    others: bool = False
    """True if the second is asked about other people, in a study of the same design."""
    places: bool = False
    """True if they like other places among options, which cancels only where all orders are asked."""


_SAME = PlantedCondition("same", effect=0.5)
PAIRS = (
    Pair("two models without any difference", _SAME, _SAME),
    Pair("one likes the first, one the last", replace(_SAME, position=1.5), replace(_SAME, position=-1.5), places=True),
    Pair("one drifts", _SAME, replace(_SAME, drift=0.5)),
    Pair("other pictures of the same design", _SAME, _SAME, others=True),
)
"""Both have the same effects, and each likes people and pictures of its own."""


def compare_audits(models_audits: tuple[Audits, Audits], pair: Pair, table: int, seed: int) -> RunAgreement:
    """Compare one audit of each of two models."""
    names = UnitNames()
    models = []
    for number, (audits, condition) in enumerate(zip(models_audits, (pair.first, pair.second), strict=True)):
        answers = KeptAnswers(audits.study, f"planted {number}", names.study_units(audits.study), Path())
        answers.add(audits.answers(condition, table, 2 * seed + number))
        models.append(answers)
    return compare_answers((models[0], models[1]))


def cell_records(agreement: RunAgreement) -> pl.DataFrame:
    """Make a row per cell: whether its interval holds zero, and its p; and whether the comparison finds anything.

    `mean`: whether a mean over the cells of a score is beyond zero, each at its part of .05.
    """
    means = agreement.overall.filter(statistic="mean_signed_delta")
    holds = (pl.col("low") <= 0) & (pl.col("high") >= 0)
    return agreement.cells.select(
        "p", holds=pl.when(pl.col("low").is_not_null()).then(holds),
        any=(pl.col("verdict") == Verdict.DIFFERENCE.value).fill_null(value=False).any(),
        mean=pl.lit((means["p"] < 0.05 / len(agreement.measures)).any()),
    )  # fmt: skip
