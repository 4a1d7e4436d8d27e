"""Runner of calibrations: one for all studies, published or one's own.

Audits are repeated where nothing is planted, where much is, and in conditions that break intervals and tests. What they
should find is a large audit of the same, without the noise of replies.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np
import polars as pl

from facevalue.calibration.audits import Audits
from facevalue.calibration.declared import calibration_of
from facevalue.calibration.planted import Condition
from facevalue.measures.page_error import leads
from facevalue.measures.verdicts import UNLESS, Verdict
from facevalue.protocol.offers import Track
from facevalue.protocol.protocol import Protocol
from facevalue.runs.power import detection

SIZES = (1, 2, 4)
ALPHA = 0.05
EVEN = 1e-6
"""Widths and distances below it are rounding."""
LEAST_POWER = 0.8
"""Share of the rival's power below which a family's is a defect."""
LARGE = 4
"""How much larger than the largest audit the one is that says what should be found."""
TABLE = 1
NOTHING, EFFECTS = Condition("nothing"), Condition("effects", effect=0.5)
HARD = (
    Condition("10% withheld by group", missing=0.1),
    Condition("40% withheld by group", missing=0.4),
    Condition("the first is liked", position=2.5),
    Condition("rare answers", rare=3.0),
    Condition("drift", drift=0.5),
    Condition("pictures differ in all questions alike", alike=1.0),
    Condition("people differ, their pictures do not", person=1.5, picture=0.0),
    Condition("all replies are the same", certain=True),
    Condition("half of the questions are asked", sample=0.5),
)
"""Nothing is planted in any of these."""
MOVERS = Condition("one in twenty moves", lone=8.0, movers=0.05)

_STEM = pl.col("family").str.extract(r"^(.*?)(?: \(|, | by |$)")
_FOUND = (pl.col("verdict") == Verdict.DIFFERENCE.value).fill_null(value=False)
_SURE = _FOUND & ~pl.col("why").str.starts_with(UNLESS).fill_null(value=False)
_MOVED = ((pl.col("true_low") > EVEN) | (pl.col("true_high") < -EVEN)).fill_null(value=False)
"""Estimates that have an effect, by the large audit that says what should be found."""
_TESTED = pl.col("p").is_not_null() & pl.col("family").is_not_null()
_ABOUT_MISSING = pl.col("measure").str.contains(r"refus|missing|^na_")
"""Measures of whether answers are missing, which differ where they are withheld."""
_OF_FAMILIES = (
    *("false", "false_page", "p_below", "coverage", "coverage_effects", "effects"),
    *("power_page", "power", "beside", "rival", "defect"),
)
_KEPT = (
    "measure",
    "family",
    "value",
    "low",
    "high",
    "n",
    "clusters",
    "p",
    "q",
    "q_page",
    "q_rival",
    "mde",
    "verdict",
    "why",
)


@dataclass(frozen=True)
class Summary:
    """Numbers of all audits of a study."""

    families: pl.DataFrame
    """A row per family and size: false findings, coverage, power beside the rival's."""
    conditions: pl.DataFrame
    """A row per condition: false findings of a page and of its families, coverage."""
    detectable: pl.DataFrame
    """Effects of the size that audits and plans say they find: how often they are found."""


class Runner:
    """Audits of a study; numbers of repetitions are those of each condition and size."""

    def __init__(self, protocol: Protocol, sizes: Sequence[int], repetitions: int, track: Track) -> None:
        self._protocol, self._sizes, self._repetitions, self._track = protocol, tuple(sizes), repetitions, track
        self._calibration = calibration_of(protocol)
        self._middle = Audits(protocol, self._calibration, sorted(sizes)[len(sizes) // 2])
        self._large = Audits(protocol, self._calibration, LARGE * max(sizes))

    def summary(self) -> Summary:
        """Make all audits, and sum them up."""
        families, conditions = [], []
        null = self._truth(NOTHING)
        true = self._truth(EFFECTS)
        at_middle = pl.DataFrame()
        for size in self._sizes:
            audits = self._middle if size == self._middle.size else Audits(self._protocol, self._calibration, size)
            empty = self._repeated(audits, NOTHING, null)
            if audits is self._middle:
                at_middle = empty
            full = self._repeated(audits, EFFECTS, true)
            families.append(self._named(by_family(empty, full), audits))
            conditions += [self._of_page(audits, NOTHING, empty), self._of_page(audits, EFFECTS, full)]
        for condition in HARD:
            rows = self._repeated(self._middle, condition, null)
            conditions.append(self._of_page(self._middle, condition, rows))
        return Summary(pl.concat(families), pl.concat(conditions, how="vertical_relaxed"), self._detectable(at_middle))

    def _named(self, frame: pl.DataFrame, audits: Audits) -> pl.DataFrame:
        facts = {"study": self._protocol.name, "size": audits.units, "repetitions": self._repetitions}
        return frame.select(*(pl.lit(value).alias(name) for name, value in facts.items()), pl.all())

    def _of_page(self, audits: Audits, condition: Condition, rows: pl.DataFrame) -> pl.DataFrame:
        return self._named(pl.DataFrame({"condition": [condition.name], **page(rows, condition)}), audits)

    def _truth(self, condition: Condition) -> pl.DataFrame:
        return self._large.truth(condition, TABLE)

    def _repeated(self, audits: Audits, condition: Condition, true: pl.DataFrame) -> pl.DataFrame:
        """Estimates of so many audits beside what they should be."""
        rows = []
        of_pictures = pl.col("measure").is_in(self._calibration.own_pictures)
        title = f"{self._protocol.name}, {audits.units} {self._calibration.counted}: {condition.name}"
        for number in self._track(range(self._repetitions), title, self._repetitions):
            judged = audits.judged(audits.answers(condition, TABLE, number + 1)).filter(~of_pictures)
            rows.append(judged.select(*audits.keys, *_KEPT).with_columns(audit=pl.lit(number)))
        estimates = pl.concat(rows, how="vertical_relaxed")
        return estimates.join(true, on=["measure", *audits.keys], how="left", nulls_equal=True, maintain_order="left")

    def _detectable(self, empty: pl.DataFrame) -> pl.DataFrame:
        """Plant an effect of the size that is stated to be found, and see how often it is."""
        audits, rows = self._middle, []
        target = self._target(empty)
        if target is not None:
            mde = target.pop("mde")
            assert isinstance(mde, float)
            for name, effect in (("minimum detectable effect", mde), ("plan", self._planned(audits))):
                if effect is not None:
                    rows.append(self._lone(name, effect, target))
            rows.append(self._moved(target))
        schema = {
            "stated": pl.String, "measure": pl.String, "effect": pl.Float64, "planted": pl.Float64, "found": pl.Float64,
            "equivalent": pl.Float64,
        }  # fmt: skip
        return self._named(pl.DataFrame(rows, schema=schema), audits)

    def _target(self, empty: pl.DataFrame) -> dict[str, str | float] | None:
        """Labels of an estimate of the lead family that rests on the fewest units, and its detectable effect."""
        lead = empty.filter(_TESTED)
        lead = lead.filter(leads(pl.col("family"), self._middle.study.lead, lead))
        keys = ["measure", *self._middle.keys]
        each = lead.group_by(keys, maintain_order=True).agg(pl.col("mde").median(), pl.col("clusters").min())
        candidates = each.filter(pl.col("mde").is_not_null()).sort("clusters", "mde", maintain_order=True)
        if candidates.is_empty():
            return None
        row = candidates.row(0, named=True)
        return {name: row[name] for name in [*keys, "mde"] if row[name] is not None}

    def _planned(self, audits: Audits) -> float | None:
        """What the plan of an audit says it finds, with the spread of a pilot."""
        plan, unit = audits.study.precision, self._calibration.planned
        if plan is None or unit is None or plan.freedom is not None:
            return None
        spread = plan.spread(iter([audits.answers(NOTHING, TABLE, 0)]), "pilot")
        study = replace(audits.study, precision=replace(plan, default=spread))
        size = audits.study.design.size * audits.study.repeats
        reach = detection(study, requests=size, sample=None, seed=0, exact=False, effect=None, pilot=None)
        return None if reach.detectable is None else unit * reach.detectable

    def _lone(self, name: str, effect: float, target: Mapping[str, str | float]) -> dict[str, object]:
        """How often a lone effect of this size is found."""
        labels = {key: str(level) for key, level in target.items() if key != "measure"}
        condition, planted = self._sized_effect(effect, Condition(name, target=labels), target)
        estimates = self._of(self._repeated(self._middle, condition, self._truth(condition)), target)
        return {
            "stated": name, "measure": target["measure"], "effect": effect, "planted": planted,
            "found": estimates.select(_FOUND.mean()).item() if planted is not None else None, "equivalent": None,
        }  # fmt: skip

    def _sized_effect(
        self, effect: float, condition: Condition, target: Mapping[str, str | float]
    ) -> tuple[Condition, float | None]:
        """A lone effect that is as large as wanted in the estimate itself, by the secant rule; None if none is."""
        logits, reached = [0.0, 1.0], [self._value(NOTHING, target)]
        for _ in range(5):
            reached.append(self._value(replace(condition, lone=logits[-1]), target))
            if abs(abs(reached[-1]) - effect) < 0.03 * effect:
                return replace(condition, lone=logits[-1]), reached[-1]
            slope = (abs(reached[-1]) - abs(reached[-2])) / (logits[-1] - logits[-2])
            step = (effect - abs(reached[-1])) / slope if slope > 0 else np.inf
            logits.append(float(np.clip(logits[-1] + step, 0.5 * logits[-1], 2.5 * logits[-1])))
        return replace(condition, lone=logits[-1]), None

    def _value(self, condition: Condition, target: Mapping[str, str | float]) -> float:
        return float(self._of(self._truth(condition), target)["true"][0])

    def _of(self, rows: pl.DataFrame, target: Mapping[str, str | float]) -> pl.DataFrame:
        keys = ["measure", *self._middle.keys]
        return rows.filter(pl.col(name).eq_missing(pl.lit(target.get(name), pl.String)) for name in keys)

    def _moved(self, target: Mapping[str, str | float]) -> dict[str, object]:
        """How often a mean that few units make is called equivalent within half of it."""
        labels = {key: str(level) for key, level in target.items() if key != "measure"}
        condition = replace(MOVERS, target=labels)
        effect = abs(self._value(condition, target))
        margin = {str(target["measure"]): max(effect / 2, EVEN)}
        called = []
        for number in range(self._repetitions):
            audits = self._middle
            judged = audits.judged(audits.answers(condition, TABLE, number + 1), margin)
            called.append(self._of(judged, target)["verdict"][0] == Verdict.EQUIVALENT.value)
        return {
            "stated": condition.name, "measure": target["measure"], "effect": None, "planted": effect, "found": None,
            "equivalent": float(np.mean(called)),
        }  # fmt: skip


def covers() -> pl.Expr:
    """Whether an interval holds the true value, which has an error of its own; null where either is unknown."""
    width, true_width = pl.col("high") - pl.col("low"), pl.col("true_high") - pl.col("true_low")
    wider = pl.when((width > EVEN) & (true_width > EVEN)).then((1 + (true_width / width) ** 2).sqrt()).otherwise(1.0)
    low = pl.col("value") - wider * (pl.col("value") - pl.col("low"))
    high = pl.col("value") + wider * (pl.col("high") - pl.col("value"))
    return (low <= pl.col("true") + EVEN) & (pl.col("true") <= high + EVEN)


def by_family(empty: pl.DataFrame, full: pl.DataFrame) -> pl.DataFrame:
    """A row per kind of family: false findings where nothing is planted, coverage, power and the rival's."""
    keys = ["measure", "family"]
    one = empty.filter(_TESTED)
    false = one.group_by("audit", "measure", "family", maintain_order=True).agg(
        any=(pl.col("q") < ALPHA).any(), page=_FOUND.any()
    )
    false = (
        false.with_columns(family=_STEM)
        .group_by(keys, maintain_order=True)
        .agg(false=pl.col("any").mean(), false_page=pl.col("page").mean())
    )
    held = (
        one.with_columns(family=_STEM)
        .group_by(keys)
        .agg(p_below=(pl.col("p") < ALPHA).mean(), coverage=covers().mean())
    )
    beside = pl.col("q_rival").is_not_null()
    two = full.filter(_TESTED).with_columns(family=_STEM)
    power = two.group_by(keys).agg(
        tests=(pl.len() / pl.col("audit").n_unique()).round().cast(pl.Int64), coverage_effects=covers().mean(),
        effects=(_MOVED.sum() / pl.col("audit").n_unique()).round().cast(pl.Int64),
        power_page=_FOUND.filter(_MOVED).mean(), power=(pl.col("q") < ALPHA).filter(_MOVED).mean(),
        beside=(pl.col("q") < ALPHA).filter(beside & _MOVED).mean(),
        rival=(pl.col("q_rival") < ALPHA).filter(beside & _MOVED).mean(),
    )  # fmt: skip
    families = false.join(held, on=keys, maintain_order="left").join(power, on=keys, maintain_order="left")
    low = pl.col("beside") < LEAST_POWER * pl.col("rival")
    return families.with_columns(defect=pl.when(low).then(pl.lit("power")).otherwise(pl.lit(""))).select(
        *keys, "tests", *_OF_FAMILIES
    )


def page(rows: pl.DataFrame, condition: Condition) -> dict[str, list[float | None]]:
    """What a page says falsely, as shares of audits, and its coverage; nothing is false where effects are planted."""
    tested = rows.filter(_TESTED)
    if condition.missing:
        tested = tested.filter(~_ABOUT_MISSING)
    null = not (condition.effect or condition.lone)
    each = tested.group_by("audit").agg(any=_FOUND.any(), sure=_SURE.any())
    families = tested.group_by("audit", "measure", "family").agg(any=(pl.col("q") < ALPHA).any())
    return {
        "page": [each["any"].mean() if null else None],
        "page_without_unless": [each["sure"].mean() if null else None],
        "family": [families["any"].mean() if null else None],
        "p_below": [tested.select((pl.col("p") < ALPHA).mean()).item() if null else None],
        "coverage": [tested.select(covers().mean()).item()],
        "intervals": [tested.select(pl.col("low").is_not_null().mean()).item()],
    }
