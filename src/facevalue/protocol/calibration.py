"""Audits of models whose bias is known: repeated, summarised and shown alike in all studies.

A study says what it audits (`Case`), and which numbers sum up all audits of a case (`Statistic`). Each audit is a table
with a row for each estimate: `value`, `low`, `high`, `q`, the `true` value, whether it is `found`, and what the study
adds.
"""

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import islice
from typing import Any

import numpy as np
import numpy.typing as npt
import polars as pl

from facevalue.design import Design, Order
from facevalue.models.base import Model
from facevalue.protocol.offers import CalibrationRequest, Row
from facevalue.protocol.study import Study
from facevalue.types import Request

Array = npt.NDArray[np.float64]
Statistic = Callable[[pl.DataFrame], float | None]
CONDITIONS = ("default", "null", "drift")
"""What is planted: a preset of `models.sim`; "drift": nothing, in a model that drifts while the run lasts."""
DRIFT = 0.3
"""Logits by which it drifts."""
EVEN = 1e-9
"""What is planted no further apart than this is nothing."""
FOUND = pl.col("found")
COVERS = (pl.col("low") <= pl.col("true") + EVEN) & (pl.col("true") <= pl.col("high") + EVEN)
"""Whether an interval holds the true value; null where there is none."""
_ALL = pl.lit(value=True)


@dataclass(frozen=True, slots=True)
class Case:
    """What is audited again and again: how the table names it, and its audits, one after the other without end."""

    labels: Mapping[str, str | int]
    audits: Iterator[pl.DataFrame]


def sized(
    asked: CalibrationRequest,
    counted: str,
    conditions: Iterable[str],
    audits: Callable[[str, int], Iterator[pl.DataFrame]],
) -> list[Case]:
    """Each condition in each size."""
    return [
        Case({"condition": name, counted: size, "repetitions": asked.repetitions}, audits(name, size))
        for name in conditions
        for size in asked.sizes
    ]


def repeated(
    asked: CalibrationRequest, cases: Sequence[Case], statistics: Mapping[str, Statistic], what: str = "Auditing"
) -> tuple[pl.DataFrame, pl.DataFrame]:
    """A row of labels and statistics for each case, and the first audit of the first for a closer look."""
    rows: list[dict[str, object]] = []
    first = pl.DataFrame()
    for case in asked.track(cases, what):
        audits = list(islice(case.audits, asked.repetitions))
        first = audits[0] if not rows else first
        rows.append({**case.labels, **summed_up(audits, statistics)})
    return pl.DataFrame(rows, infer_schema_length=None), first


def summed_up(audits: Iterable[pl.DataFrame], statistics: Mapping[str, Statistic]) -> dict[str, float | None]:
    """Statistics of all audits of a case."""
    rows = pl.concat(one.with_columns(audit=pl.lit(number)) for number, one in enumerate(audits))
    return {name: of(rows) for name, of in statistics.items()}


def statistic(of: pl.Expr, among: pl.Expr = _ALL) -> Statistic:
    """An aggregate of rows."""
    return lambda rows: rows.filter(among).select(of).item()


def share(of: pl.Expr, among: pl.Expr = _ALL) -> Statistic:
    """Share of rows of which something holds; None where it is known of none."""
    return statistic(of.mean(), among)


def share_with(any_of: pl.Expr, among: pl.Expr = _ALL, by: Sequence[str] = ("audit",)) -> Statistic:
    """Share of audits, or of other parts, of which something holds in any row; None where there are no rows."""
    return lambda rows: rows.filter(among).group_by(by).agg(hit=any_of.any())["hit"].mean()  # type: ignore[return-value]


def false_discovery_rate(false: pl.Expr, among: pl.Expr = _ALL) -> Statistic:
    """Mean over audits of the share of findings that are false; 0 for an audit without findings."""
    of = false.filter(FOUND & among).mean().fill_null(0.0)
    return lambda rows: rows.group_by("audit", maintain_order=True).agg(false=of)["false"].mean()  # type: ignore[return-value]


def correlation(planted: str = "true", found: str = "value", among: pl.Expr = _ALL) -> Statistic:
    """Of two columns; None where nothing is planted."""
    return _fit(planted, found, among, lambda x, y: np.corrcoef(x, y)[0, 1])


def slope(planted: str = "true", found: str = "value", among: pl.Expr = _ALL) -> Statistic:
    """Of what is found on what is planted; None where nothing is planted."""
    return _fit(planted, found, among, lambda x, y: np.polyfit(x, y, 1)[0])


def _fit(planted: str, found: str, among: pl.Expr, of: Callable[[Array, Array], float]) -> Statistic:
    def fitted(rows: pl.DataFrame) -> float | None:
        x, y = rows.filter(among).select(planted, found).to_numpy().T
        return float(of(x, y)) if np.ptp(x) > EVEN else None

    return fitted


def named(summary: pl.DataFrame) -> Iterable[dict[str, Any]]:
    """Rows of a table for people, by what was planted."""
    return summary.with_columns(pl.col("condition").replace({"null": "nothing"})).iter_rows(named=True)


def told(row: Mapping[str, Any], form: str, unit: str = "") -> Row:
    """What an audit says of one estimate: value, interval, whether it covers, q, whether it is found."""
    value = f"{row['value']:{form}}{unit}"
    if row["low"] is None or row["q"] is None:  # too few clusters
        return value, "-", "-", "-", ""
    interval = f"{row['low']:{form}} to {row['high']:{form}}"
    covers = row["low"] <= row["true"] + EVEN and row["true"] <= row["high"] + EVEN
    return value, interval, "yes" if covers else "no", f"{row['q']:.3f}", "yes" if row["found"] else ""


def asked_at(design: Design, together: Sequence[str], seed: int) -> Array:
    """When each trial is asked in the order of a run, from 0 at the first to 1 at the last."""
    places = np.empty(design.size, dtype=np.int64)
    places[np.concatenate(list(Order(design, together, seed).pieces(2**16)))] = np.arange(design.size)
    return places / (design.size - 1)


def estimated(study: Study, model: Model, seed: int) -> pl.DataFrame:
    """Estimates of a model that is asked every trial of a study once."""
    frame = study.design.trials(np.arange(study.design.size))
    numbers = study.design.stimulus_numbers(frame["trial"].to_numpy()).tolist()
    rows = dict(zip(numbers, frame.drop("trial", "block", "prompt", strict=False).to_dicts(), strict=True))
    stimuli = {number: study.source.stimulus(number, row) for number, row in rows.items()}
    requests = (
        Request(trial, 0, seed, stimuli[number], question, study.sampling, exact=False)
        for trial, number, question in zip(frame["trial"].to_list(), numbers, study.ask(frame), strict=True)
    )
    said = {response.trial: response.text for response in model.respond(requests)}
    replies = frame.with_columns(
        pl.lit(0, pl.UInt8).alias("repeat"),
        pl.lit("ok").alias("status"),
        pl.Series("text", [said[trial] for trial in frame["trial"]], dtype=pl.String),
        pl.lit(None, pl.List(pl.Float32)).alias("probs"),
    )
    return study.analyse({model.name: iter([study.answer(replies)])})
