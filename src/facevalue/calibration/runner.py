"""Runner of calibrations, one for all studies, published or one's own, and their tables."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import NamedTuple

import numpy as np
import polars as pl

from facevalue import studies
from facevalue.calibration.audits import PAIRS
from facevalue.calibration.families import (
    CERTAIN,
    EVEN,
    PROMISES,
    TESTED,
    Cells,
    Promise,
    broken_promise,
    by_family,
    by_size,
    called_equivalent,
    compared_alike,
    detection_share,
    page,
)
from facevalue.calibration.planted_answers import PlantedCondition
from facevalue.calibration.repetitions import TABLE, Audit, Comparison, Truth, Workshop, audits_of, state
from facevalue.errors import NothingComparedError
from facevalue.measures.definitions import key_of, rows_of
from facevalue.measures.multitest import leading_families
from facevalue.protocol.offers import Calibrated, OfferedTable
from facevalue.runs.plan import detection
from facevalue.statistics.breakdown import CONTRAST, DIMENSION, GROUP
from facevalue.statistics.precision import Respondents

SIZES = (1, 2, 4)
LARGE = 4
"""Size of the audit that gives true values, as a multiple of the largest audit."""
LEVEL = 2.5
"""Multiple of the repetitions where nothing is planted: false findings are rare, and take more to count."""
PILOT = 5
"""Audits that say which effect they detect: always as many, so that repetitions add to those that are kept."""
NOTHING, EFFECTS = PlantedCondition("nothing"), PlantedCondition("effects", effect=0.5)
ALIKE = PlantedCondition("nothing, pictures alike", picture=0.0)
"""Condition in which nothing is planted, and answers about pictures of one unit differ by chance alone."""
HARD = (
    PlantedCondition("10% withheld by group", missing=0.1),
    PlantedCondition("40% withheld by group", missing=0.4),
    PlantedCondition("the first is liked", position=2.5),
    PlantedCondition("rare answers", rare=3.0),
    PlantedCondition("drift", drift=0.5),
    PlantedCondition("the model wavers, pictures alike", wave=1.5, picture=0.0),
    PlantedCondition("groups of unlike size and variance", unlike=3.0, position=0.0),
    PlantedCondition("pictures differ in all questions alike", alike=1.0),
    PlantedCondition("people differ, their pictures do not", person=1.5, picture=0.0),
    PlantedCondition(CERTAIN, certain=True),
    PlantedCondition("half of the questions are asked", sample=0.5),
)
"""Nothing is planted in any of these. Groups that vary unlike each other have no option that is liked more: of equal
means of the logits their shares would lie apart, as the more a group varies, the nearer its share is to one half."""
ASSUMED = PlantedCondition("plan without a pilot", person=1.0, common=1.0, picture=0.4)
"""People and pictures that differ as the respondents do whom a plan simulates that has no pilot."""
ASSUMED_EVEN = PlantedCondition(
    f"{ASSUMED.name}, answers near even", person=1.08, common=1.0, picture=0.0, position=0.0, halved=True
)
"""People who differ as a plan assumes that states a spread (`planning.SHARE` of the scale), about answers near even."""
MOVERS = PlantedCondition("one in twenty moves", lone=8.0, movers=0.05)


def level_audits(repetitions: int) -> int:
    """Return the number of audits where nothing is planted."""
    return max(round(LEVEL * repetitions), PILOT)


@dataclass(frozen=True)
class CalibrationSummary:
    """Numbers of all audits of a study."""

    families: pl.DataFrame
    """A row per family and size: false findings, coverage, power beside the rival's."""
    conditions: pl.DataFrame
    """A row per condition: false findings of a page and of its families, coverage."""
    detectable: pl.DataFrame
    """Effects of the size that audits and plans say they find: how often they are found."""
    comparisons: pl.DataFrame
    """A row per pair of models of the same bias: how often they are said to differ."""


class Runner:
    """Audits of a study, by its name or file; numbers of repetitions are those of each condition and size."""

    def __init__(self, study: str, sizes: Sequence[int], repetitions: int, workshop: Workshop) -> None:
        self._study, self._sizes, self._repetitions, self._workshop = study, tuple(sizes), repetitions, workshop
        self._size, self._large = sorted(sizes)[len(sizes) // 2], LARGE * max(sizes)
        self._middle = audits_of(study, self._size)
        self._calibration = self._middle.calibration
        self.name = self._middle.study.name

    def summary(self) -> CalibrationSummary:
        """Make all audits, and sum them up."""
        families, conditions, at_middle = [], [], pl.DataFrame()
        null, true = self.truth(NOTHING), self.truth(EFFECTS)
        for size in self._sizes:
            empty = self.repeat_audits(size, NOTHING, null, self._of_level)
            if size == self._size:
                at_middle = empty
            full = self.repeat_audits(size, EFFECTS, true)
            families.append(self._add_run_facts(by_family(self._with_alike(size, empty), full), size, empty))
            conditions += [self._page(size, NOTHING, empty), self._page(size, EFFECTS, full)]
        for condition in HARD:
            conditions.append(self._page(self._size, condition, self.repeat_audits(self._size, condition, null)))
        return CalibrationSummary(
            pl.concat(families, how="vertical_relaxed"), pl.concat(conditions, how="vertical_relaxed"),
            self._detectable(at_middle, null), self._compare_pairs(),
        )  # fmt: skip

    def hard(self, names: Sequence[str]) -> pl.DataFrame:
        """Make the audits of some conditions in which nothing is planted: a row each."""
        null = self.truth(NOTHING)
        hard = [condition for condition in (NOTHING, *HARD) if condition.name in names]
        pages = [self._page(self._size, c, self.repeat_audits(self._size, c, null)) for c in hard]
        return pl.concat(pages, how="vertical_relaxed")

    def plans(self) -> pl.DataFrame:
        """Make the audits of a plan without a pilot: a row, or none where a plan assumes otherwise."""
        return self._tabulate_stated(
            self.without_pilot(self.repeat_audits(self._size, NOTHING, self.truth(NOTHING), PILOT))
        )

    def _with_alike(self, size: int, empty: pl.DataFrame) -> pl.DataFrame:
        """Audits where nothing is planted, with what pictures differ in by themselves where they do not."""
        calibration = self._calibration
        if not (calibration.sampled and calibration.own_pictures):
            return empty
        alike = self.repeat_audits(size, ALIKE, self.truth(ALIKE), self._of_level)
        return pl.concat([empty, alike.filter(rows_of(calibration.own_pictures))])

    @property
    def _of_level(self) -> int:
        return level_audits(self._repetitions)

    def _add_run_facts(self, frame: pl.DataFrame, size: int, rows: pl.DataFrame) -> pl.DataFrame:
        many = rows["audit"].n_unique() if rows.height else self._repetitions
        facts = {"study": self.name, "size": audits_of(self._study, size).units, "repetitions": many}
        numbers = frame.with_columns(pl.selectors.float().fill_nan(None))
        return numbers.select(*(pl.lit(value).alias(name) for name, value in facts.items()), pl.all())

    def _page(self, size: int, condition: PlantedCondition, rows: pl.DataFrame) -> pl.DataFrame:
        return self._add_run_facts(_frame([page(rows, condition)]), size, rows)

    def truth(self, condition: PlantedCondition, *, narrow: bool = False) -> pl.DataFrame:
        """Return what audits should find; `narrow`: only of what the study's answer is about."""
        title = f"{self.name}: what should be found, {condition.name}"
        return self._workshop.make_one(Truth(self._study, self._large, condition, narrow), title)

    def repeat_audits(
        self, size: int, condition: PlantedCondition, true: pl.DataFrame, many: int | None = None,
        margins: Mapping[str, float] | None = None,
    ) -> pl.DataFrame:  # fmt: skip
        """Estimates of so many audits beside what they should be; `row` tells the estimates of an audit apart."""
        title = f"{self.name}, {audits_of(self._study, size).units} {self._calibration.counted}: {condition.name}"
        seeds = range(1, (many or self._repetitions) + 1)
        audits = [Audit(self._study, size, condition, seed, margins or {}) for seed in seeds]
        estimates = pl.concat(self._workshop.make(audits, title), how="vertical_relaxed")
        keys = ["measure", *self._middle.keys]
        rows = estimates.join(true, on=keys, how="left", nulls_equal=True, maintain_order="left")
        return by_size(rows.with_columns(row=pl.struct(keys).rank("dense")), self._calibration.by_size)

    def _compare_pairs(self) -> pl.DataFrame:
        """Compare pairs of models; none where nothing that the study takes can be compared."""
        smallest, rows = audits_of(self._study, 1, narrow=True), []
        for pair in PAIRS:
            if (pair.others and not self._calibration.units) or (pair.places and self._calibration.in_one_order):
                continue
            comparisons = [Comparison(self._study, pair, seed) for seed in range(1, self._repetitions + 1)]
            try:
                tables = self._workshop.make(comparisons, f"{self.name}: {pair.name}")
            except NothingComparedError:
                break
            rows.append(compared_alike(pair.name, pl.concat(tables)))
        facts = {"study": self.name, "size": smallest.units, "repetitions": self._repetitions}
        columns = (*_with_ends("any"), "mean", "p_below", *_with_ends("coverage"))
        schema = {"pair": pl.String, "cells": pl.Int64, **dict.fromkeys(columns, pl.Float64), "defect": pl.String}
        frame = pl.DataFrame(rows, schema=schema).with_columns(pl.selectors.float().fill_nan(None))
        return frame.select(*(pl.lit(value).alias(name) for name, value in facts.items()), pl.all())

    def _detectable(self, empty: pl.DataFrame, null: pl.DataFrame) -> pl.DataFrame:
        """Plant an effect of the size that is stated to be found, and see how often it is."""
        rows: list[Cells] = []
        target = self._target(empty)
        if target is not None:
            rows.append(self._lone(PlantedCondition("minimum detectable effect"), target, null))
            plan = self._planned_effect()
            planned = None if plan is None else self._target(empty, plan[1])
            if plan is not None and planned is not None:
                rows.append(self._lone(PlantedCondition("plan"), replace(planned, effect=plan[0]), null))
            rows += self.without_pilot(empty)
            rows.append(self._measure_equivalence(target))
        return self._tabulate_stated(rows)

    def _tabulate_stated(self, rows: Sequence[Cells]) -> pl.DataFrame:
        columns = ("effect", "planted", *_with_ends("found"), *_with_ends("equivalent"))
        schema = {"stated": pl.String, "measure": pl.String, **dict.fromkeys(columns, pl.Float64), "defect": pl.String}
        return self._add_run_facts(pl.DataFrame(rows, schema=schema), self._size, pl.DataFrame())

    def _target(self, empty: pl.DataFrame, clusters: float | None = None) -> "_Target | None":
        """Estimate of the lead family that rests on the fewest units, or on nearest to `clusters`, and its effect.

        Of several it is the one whose detectable effect is in the middle: the smallest of many is small by chance.
        """
        unstated = [*self._calibration.by_size, *self._calibration.own_pictures]
        lead = empty.filter(TESTED, pl.col("audit") <= PILOT, ~rows_of(unstated))
        lead = lead.filter(leading_families(pl.col("family"), self._middle.study.estimates.lead, lead))
        keys = ["measure", *self._middle.keys]
        cells = lead.group_by(keys, maintain_order=True).agg(pl.col("mde").median(), pl.col("clusters").min())
        cells = cells.filter(pl.col("mde").is_not_null())
        distance = pl.col("clusters") if clusters is None else (pl.col("clusters").cast(pl.Float64) - clusters).abs()
        candidates = cells.filter(distance == distance.min()).sort("mde", maintain_order=True)
        if candidates.is_empty():
            return None
        row = candidates.row((candidates.height - 1) // 2, named=True)
        labels = {key: str(row[key]) for key in self._middle.keys if row[key] is not None}
        return _Target({"measure": row["measure"], **labels}, _round_number(row["mde"]))

    def _planned_effect(self) -> tuple[float, float] | None:
        """Return the effect that an audit's plan, with the spread of a pilot, says it finds, and on how many units."""
        audits = self._middle
        plan, unit = audits.study.planned.precision, self._calibration.planned
        if plan is None or unit is None or plan.freedom is not None or plan.one_sided or plan.of_question:
            return None
        spread = plan.spread(iter([audits.answers(NOTHING, TABLE, 0)]), "pilot")
        study = replace(
            audits.study,
            planned=replace(audits.study.planned, precision=replace(plan, default=spread)),
        )
        size = audits.study.design.size * audits.study.repeats
        reach = detection(study, requests=size, sample=None, seed=0, exact=False, effect=None, pilot=None)
        return None if reach.detectable is None else (_round_number(unit * reach.detectable), reach.clusters)

    def without_pilot(self, empty: pl.DataFrame) -> list[Cells]:
        """Take how often an effect is found that a plan without a pilot says is; none where it assumes otherwise."""
        study, unit = self._middle.study, self._calibration.planned
        plan = study.planned.precision
        if plan is None or unit is None or plan.freedom is not None or plan.one_sided or plan.of_question:
            return []
        if not (isinstance(plan.default, Respondents) or plan.default.chance > 0):
            return []
        size = study.design.size * study.repeats
        reach = detection(study, requests=size, sample=None, seed=0, exact=False, effect=None, pilot=None)
        target = None if reach.detectable is None else self._target(empty, reach.clusters)
        if target is None or reach.detectable is None:
            return []
        stated = replace(target, effect=_round_number(unit * reach.detectable))
        assumed = ASSUMED if isinstance(plan.default, Respondents) else ASSUMED_EVEN
        return [self._lone(assumed, stated, self.truth(assumed))]

    def _lone(self, base: PlantedCondition, target: "_Target", null: pl.DataFrame) -> Cells:
        """Take how often a lone effect of the target's size is found."""
        condition, planted = self._sized_effect(replace(base, target=self._moves(target)), target)
        if planted is None:
            return detection_share(base.name, target.key, target.effect, None, pl.DataFrame())
        rows = self._rows_of_target(self.repeat_audits(self._size, condition, null), target)
        return detection_share(base.name, target.key, target.effect, planted, rows)

    def _moves(self, target: "_Target") -> dict[str, str]:
        """Labels of what is moved: one side of a contrast, one level of a factor whose levels lie apart, or a cue."""
        labels = {name: level for name, level in target.labels.items() if name not in ("measure", "score", CONTRAST)}
        planted = self._middle.levels
        apart = "" if GROUP in labels else labels.get(DIMENSION, "")
        if apart in planted:
            return {**labels, DIMENSION: planted[apart][0]}
        first = next(iter(planted), "")
        return labels if not first or {*labels} & {*planted, GROUP} else {**labels, first: planted[first][0]}

    def _sized_effect(self, condition: PlantedCondition, target: "_Target") -> tuple[PlantedCondition, float | None]:
        """A lone effect that is as large as wanted in the estimate itself, by the secant rule; None if none is.

        Where answers are even without it, what the large audit has by chance is taken off: between groups of a hundred
        people it is a sixth of what a plan states.
        """
        effect, without = target.effect, self._value(replace(condition, target={}), target)
        by_chance = without if condition.halved else 0.0
        logits, reached = [0.0, 1.0], [without - by_chance]
        for _ in range(5):
            reached.append(self._value(replace(condition, lone=logits[-1]), target) - by_chance)
            if abs(abs(reached[-1]) - effect) < 0.03 * effect:
                return replace(condition, lone=logits[-1]), reached[-1]
            slope = (abs(reached[-1]) - abs(reached[-2])) / (logits[-1] - logits[-2])
            step = (effect - abs(reached[-1])) / slope if slope > 0 else np.inf
            logits.append(_round_number(float(np.clip(logits[-1] + step, 0.5 * logits[-1], 2.5 * logits[-1]))))
        return replace(condition, lone=logits[-1]), None

    def _value(self, condition: PlantedCondition, target: "_Target") -> float:
        return float(self._rows_of_target(self.truth(condition, narrow=True), target)["true"][0])

    def _rows_of_target(self, rows: pl.DataFrame, target: "_Target") -> pl.DataFrame:
        keys = ("measure", *self._middle.keys)
        return rows.filter(pl.col(name).eq_missing(pl.lit(target.labels.get(name), pl.String)) for name in keys)

    def _measure_equivalence(self, target: "_Target") -> Cells:
        """Take how often a mean that few units make is called equivalent within half of it."""
        condition = replace(MOVERS, target=self._moves(target))
        true = self.truth(condition, narrow=True)
        effect = abs(float(self._rows_of_target(true, target)["true"][0]))
        keys = {m.key for m in self._middle.study.estimates.measures} & {target.key, target.labels["measure"]}
        rows = self.repeat_audits(self._size, condition, true, margins=dict.fromkeys(keys, max(effect / 2, EVEN)))
        return called_equivalent(condition.name, target.key, effect, self._rows_of_target(rows, target))


@dataclass(frozen=True, slots=True)
class _Target:
    """An estimate, by its labels and `measure`, and an effect on it that is said to be found."""

    labels: Mapping[str, str]
    effect: float

    @property
    def key(self) -> str:
        """Name of the measure, and the score that the estimate is of."""
        return key_of(self.labels["measure"], self.labels.get("score"))


def _with_ends(name: str) -> tuple[str, str, str]:
    return name, f"{name}_low", f"{name}_high"


def _round_number(number: float) -> float:
    """Three digits: what is planted is the same where sums that are added up in another order differ in the last."""
    return float(f"{number:.3g}")


def _frame(rows: Sequence[Cells]) -> pl.DataFrame:
    return pl.DataFrame(rows, infer_schema_length=None).with_columns(pl.selectors.float().fill_nan(None))


class _Sheet(NamedTuple):
    """Layout of a table and a file of numbers from a summary."""

    title: str
    label: str
    """Column that says what a row is about."""
    ending: str
    """Of the name of the file."""
    columns: tuple[tuple[str, str], ...]
    """Headings with columns."""
    caption: str
    none: str = "Nothing."
    """Text where there is no row."""


_SHOWN = {
    "families": _Sheet(
        "families", "family", "", (
            ("size", "size"), ("family", "family"), ("measure", "measure"), ("false", "false"), ("covers", "coverage"),
            ("effects", "coverage_effects"), ("found", "power_page"), ("power", "power"), ("beside", "beside"),
            ("rival", "rival"), ("", "defect"),
        ),
        "false: families with anything found where nothing is planted; covers: intervals, where nothing and where "
        "effects are planted; found: of the effects, on the page; power: within the family; beside: the same, of "
        "those that the rival tests as well (t over units, Holm).",
    ),
    "conditions": _Sheet(
        "conditions", "condition", "-conditions", (
            ("condition", "condition"), ("size", "size"), ("page", "page"), ("sure", "page_without_unless"),
            ("family", "family"), ("p < .05", "p_below"), ("covers", "coverage"), ("", "defect"),
        ),
        'page: audits that find anything where nothing is planted; sure: without "unless".',
    ),
    "detectable": _Sheet(
        "effects that are said to be found", "stated", "-detectable", (
            ("stated", "stated"), ("measure", "measure"), ("effect", "effect"), ("planted", "planted"),
            ("found", "found"), ("equivalent", "equivalent"), ("", "defect"),
        ),
        "Promised: found in .75 to .90; equivalent in none.",
        "Left out: the first tests of the study state no effect in a direction (tallies, ranges), or it has no tests.",
    ),
    "comparisons": _Sheet(
        "comparisons", "pair", "-comparisons", (
            ("two models", "pair"), ("size", "size"), ("any", "any"), ("mean", "mean"), ("p < .05", "p_below"),
            ("covers", "coverage"), ("", "defect"),
        ),
        "Two models of the same bias. any: comparisons in which a cell differs; mean: the mean difference has p "
        "below .05; covers: intervals of cells that hold zero.",
        "Left out: the study takes nothing by which two runs are compared.",
    ),
}  # fmt: skip


def calibrate_studies(
    names: Sequence[str],
    repetitions: int | Sequence[int],
    workshop: Workshop,
    sizes: Sequence[int] = SIZES,
    *,
    outside: bool = False,
) -> Calibrated:
    """Calibrate studies, by name or file, one after the other.

    Parameters
    ----------
    sizes:
        How many times the pictures of the smallest audit; the hard conditions have those of the middle one.
    repetitions:
        Audits of each condition and size, of all studies or of each; more where nothing is planted
        (`runner.level_audits`).
    outside:
        Whether studies' files may name files that are not below their own folders.
    """
    for study in names:
        studies.protocol(study, outside=outside)
    many = [repetitions] * len(names) if isinstance(repetitions, int) else repetitions
    runners = [Runner(study, sizes, number, workshop) for study, number in zip(names, many, strict=True)]
    summaries = {runner.name: runner.summary() for runner in runners}
    setup = pl.DataFrame(
        [
            {"study": name, "repetitions": number, "nothing_planted": level_audits(number), "effects_seed": TABLE}
            for name, number in zip(summaries, many, strict=True)
        ]
    ).with_columns(made_by=pl.lit(state()))
    frames = {
        sheet.ending: pl.concat([getattr(summary, table) for summary in summaries.values()], how="vertical_relaxed")
        for table, sheet in _SHOWN.items()
    }
    frames["-made"] = setup
    return Calibrated([_setup_table(setup), *promises(summaries), *_tables(summaries)], frames)


def _setup_table(setup: pl.DataFrame) -> OfferedTable:
    columns = (("study", "study"), ("repetitions", "repetitions"), ("nothing planted", "nothing_planted"))
    return OfferedTable.from_rows(
        "How these tables were made", columns, setup.iter_rows(named=True),
        f"Audits of each condition and size, by seeds from 1; effects by seed {TABLE}. FaceValue {state()}.",
    )  # fmt: skip


def promises(summaries: Mapping[str, CalibrationSummary]) -> tuple[OfferedTable, OfferedTable]:
    """Count the promises that hold, and list those that are broken, with the numbers that break them."""
    return _glance(summaries), _marks(summaries)


def _glance(summaries: Mapping[str, CalibrationSummary]) -> OfferedTable:
    rows = [
        (promise.text, *(_count_promises(promise, summary) for summary in summaries.values())) for promise in PROMISES
    ]
    return OfferedTable(
        "Promises: how many hold / are open / are broken", ("promise", *summaries), rows,
        "Of families in each size, conditions, stated effects, pairs of models. A promise holds where the 95% "
        "Monte-Carlo interval of the number lies within it, and is broken where it lies beyond: few repetitions leave "
        "most open.", boxed=False,
    )  # fmt: skip


def _count_promises(promise: Promise, summary: CalibrationSummary) -> str:
    table: pl.DataFrame = getattr(summary, promise.table).drop_nulls(promise.columns[0])
    rows = [row for row in table.iter_rows(named=True) if promise.about(row)]
    broken = [bool(broken_promise(row, promise)) for row in rows]
    holds = sum(promise.holds(row) and not beyond for row, beyond in zip(rows, broken, strict=True))
    return f"{holds} / {len(rows) - holds - sum(broken)} / {sum(broken)}" if rows else "-"


def _marks(summaries: Mapping[str, CalibrationSummary]) -> OfferedTable:
    return OfferedTable(
        "Promises that are broken", ("study", "what", "size", "mark", "number", "95% interval"),
        list(_broken_promises(summaries)), "power: of effects found, less .8 of the rival's.", boxed=False,
    )  # fmt: skip


def _broken_promises(summaries: Mapping[str, CalibrationSummary]) -> Iterator[tuple[str, ...]]:
    for name, summary in summaries.items():
        for table, sheet in _SHOWN.items():
            promises_of_table = [promise for promise in PROMISES if promise.table == table]
            for row in getattr(summary, table).filter(pl.col("defect") != "").iter_rows(named=True):
                label = f"{row['family']} ({row['measure']})" if table == "families" else str(row[sheet.label])
                for promise in promises_of_table:
                    if column := broken_promise(row, promise):
                        value, low, high = (row[column + end] for end in ("", "_low", "_high"))
                        interval = f"{low:.3f} to {high:.3f}"
                        yield name, label, str(row["size"]), promise.broken_end(row)[0], f"{value:.3f}", interval


def _tables(summaries: Mapping[str, CalibrationSummary]) -> Iterator[OfferedTable]:
    for name, summary in summaries.items():
        for table, sheet in _SHOWN.items():
            frame: pl.DataFrame = getattr(summary, table)
            caption = sheet.caption if frame.height else sheet.none
            rows = frame.iter_rows(named=True)
            yield OfferedTable.from_rows(f"{name}: {sheet.title}", sheet.columns, rows, caption, boxed=False)
