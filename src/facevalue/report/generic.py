"""The page of studies without one of their own: every measure as interval plots and tables."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from math import inf

import numpy as np
import polars as pl

from facevalue.measures.verdicts import Verdict
from facevalue.protocol.study import Study
from facevalue.report.checks import Card, judge_bias, judge_rate, kind_card, of_runs, per_model
from facevalue.report.components import Lines, Parts, Strips
from facevalue.report.data import PromptExample, ReportData
from facevalue.report.estimates import POOLED, Estimate, EstimateIndex, Reading
from facevalue.report.formatting import Titles, interval, number
from facevalue.report.headline import Headline, Outcome, detectable, upper
from facevalue.report.page import Notes, Outline, Ranking, Section, StudyPage

MOST_STRIPS, MOST_LINES = 60, 1000
_RATES = ("na_rate", "refusal_rate")
_BIASES = ("position_bias", "letter_bias")


def label_of(e: Estimate, titles: Titles) -> str:
    """What an estimate is of, from all its labels."""
    return ", ".join(titles.get(name, level) for name, level in e.labels.items()) or "everything"


def strongest(numbers: EstimateIndex, model: str) -> list[Estimate]:
    """Comparisons, differences found first, then by how far they are out of their own noise."""
    found = list(
        numbers.where((pl.col("model") == model) & (pl.col("p").is_not_null() | pl.col("verdict").is_not_null()))
    )
    return sorted(found, key=lambda e: (not numbers.tested(e), -_beyond(e)))


def rankings(numbers: EstimateIndex, model: str) -> list[Ranking]:
    """Comparisons by measure, clearest first: values of two measures share no scale."""
    rows = strongest(numbers, model)
    return [
        Ranking(f"Clearest: {name.replace('_', ' ')}", own[0].unit, own, label_of)
        for name in dict.fromkeys(e.measure for e in rows)
        if (own := [e for e in rows if e.measure == name])
    ]


def _beyond(e: Estimate) -> float:
    """How many standard errors a value is from none, or how many noise floors high; 0 if that can't be said."""
    if e.value is None:
        return 0.0
    scale = e.floor_high or e.se or (e.high - e.low if e.high is not None and e.low is not None else 0.0)
    return abs(e.value) / scale if scale else 0.0


def headline(numbers: EstimateIndex, titles: Titles, model: str) -> Headline:
    """Count the comparisons in which a difference was found, and name the clearest."""
    rows = [e for e in strongest(numbers, model) if e.value is not None and e.verdict != Verdict.NOT_MEASURABLE]
    if not rows:
        return Headline(Outcome.NOT_MEASURABLE, "No comparison can be judged: not measurable.")
    found = [e for e in rows if numbers.tested(e)]
    whose = f"averaged over {len(numbers.models)} models, " if model == POOLED else ""
    same = [e for e in rows if e.verdict == Verdict.EQUIVALENT]
    of = f"{whose}of {len(rows):,} comparisons" if len(rows) > 1 else f"{whose}of the one comparison"
    sentence = upper(f"{of}, {len(found) or 'none'} found a difference")
    more = [f"{len(same)} are equivalent to no difference within their margin."] if same else []
    if not found:
        sentence += ". That is no proof of fairness"
        least = detectable(rows) if len({e.measure for e in rows}) == 1 else None
        if least is not None:
            missed = "any difference" if least == inf else f"less than {number(least, rows[0].unit)}"
            sentence += f": {missed} could have been missed"
        return Headline(Outcome.EQUIVALENT if len(same) == len(rows) else Outcome.NOTHING, f"{sentence}.", tuple(more))
    top = found[0]
    value = f"{number(top.value, top.unit, signed=(top.value or 0) < 0)} {interval(top)}".strip()
    return Headline(Outcome.FOUND, f"{sentence}; the clearest, {label_of(top, titles)}: {value}.", tuple(more))


def cards(data: ReportData, numbers: EstimateIndex, _titles: Titles) -> list[Card]:
    """What can be said of any study."""
    known = {m.name for m in data.study.measures}
    signed = {m.name: m.signed for m in data.study.measures}
    out = []
    for name, judge in (*((n, judge_rate) for n in _RATES), *((n, judge_bias) for n in _BIASES)):
        title = next((m.title for m in data.study.measures if m.name == name), name)
        if name in known and any(numbers.one(name, model) for model in numbers.models):
            out.append(per_model(numbers, name, title, judge, "Over everything asked.", signed))
    return [*out, kind_card(data.kind), *of_runs(data.runs, data.kind)]


@dataclass(frozen=True, slots=True)
class MeasureBlock:
    """One measure of one model over one set of factors."""

    id: str
    title: str
    over: str
    strips: Strips | None
    lines: Lines
    left_out: int


class GenericView(Parts):
    """Shows any measure."""

    def blocks(self, model: str) -> list[MeasureBlock]:
        """Every measure over every set of factors that the estimates have."""
        frame = self.numbers.frame.filter(pl.col("model") == model)
        places = pl.concat_str(
            [pl.when(pl.col(n).is_not_null()).then(pl.lit(f"{n} ")).otherwise(pl.lit("")) for n in self.numbers.labels]
        )
        kinds = frame.select("measure", places.alias("over")).unique(maintain_order=True)
        order = {name: place for place, name in enumerate(self.measures)}
        rows = sorted(kinds.iter_rows(), key=lambda row: (order.get(row[0], len(order)), row[1].count(" ")))
        return [self._block(measure, over.split(), model) for measure, over in rows]

    def _block(self, measure: str, over: list[str], model: str) -> MeasureBlock:
        found = self.numbers.all(measure, model, *over)
        shown = sorted(found, key=lambda e: (e.value is None, -abs(e.value or 0.0)))[:MOST_LINES]
        strips = self.strips(shown[:MOST_STRIPS], lambda e: (label_of(e, self.titles), ""), what="Value")
        labels = ((tuple(self.titles.get(n, e[n]) for n in over) or ("everything",), e) for e in shown)
        heads = tuple(n.replace("_", " ").capitalize() for n in over) or ("Over",)
        words = ", ".join(n.replace("_", " ") for n in over)
        return MeasureBlock(
            measure, self.title(measure), words, strips, self.lines(heads, labels), max(len(found) - MOST_LINES, 0)
        )


def prompts(study: Study) -> tuple[PromptExample, ...]:
    """The first questions of each block."""
    design = study.design
    first = np.concatenate([
        offset + np.arange(min(2, len(block))) for block, offset in zip(design.blocks, design.offsets, strict=False)
    ])[:12] if design.blocks else np.zeros(0, dtype=np.int64)  # fmt: skip
    frame = design.trials(first)
    return tuple(
        PromptExample(str(block), ", ".join(filter(None, q.factors.values())), q.prompt, q.system)
        for block, q in zip(frame["block"], study.ask(frame), strict=True)
    )


def _context(data: ReportData, numbers: EstimateIndex, titles: Titles) -> Mapping[str, object]:
    return {"view": GenericView(numbers, titles, data.study.measures)}


def missing_warnings(numbers: EstimateIndex, _titles: Titles) -> list[str]:
    """Models of which one reply in twenty or more has no valid answer."""
    out = []
    for model in numbers.models:
        rate = numbers.one("na_rate", model)
        if rate is not None and judge_rate(rate) != "fine":
            whose = f"{model}: " if len(numbers.models) > 1 else ""
            out.append(f"{whose}{number(rate.value, rate.unit)} of replies have no valid answer; they are left out.")
    return out


def no_examples(_runs: Iterable[object], _estimates: pl.DataFrame) -> tuple[()]:
    """For studies that choose none."""
    return ()


PAGE = StudyPage(
    sections=(Section("measures", "All measures", "generic/measures.html.j2"),),
    reading=Reading(),
    wording=dict,
    headline=headline,
    cards=cards,
    context=_context,
    notes=Notes(
        unit="Every number has its unit beside it; the measures are defined at the end of the page.",
        intervals=(
            "All intervals are over the units that were sampled, named with each measure: answers about one of them "
            "belong together. q-values are p-values adjusted for the number of tests in a family: Holm in families "
            "declared before the run, Benjamini and Hochberg (share of false findings) in the others. The noise floor "
            "is the mean, and the 95th percentile, of a measure where there is no effect."
        ),
        limits=(
            "A difference says that the judgment moved with what differs in these pictures and these questions. It "
            "says nothing of why, nor of other questions.",
            "Finding no difference is not finding fairness: see the smallest effect that would have been found.",
            "Group labels are those of the data set, or of the drawing, not of the people.",
        ),
    ),
    outline=Outline(
        measures=(),
        rankings=rankings,
        warnings=missing_warnings,
    ),
    prompts=prompts,
    examples=no_examples,
)
