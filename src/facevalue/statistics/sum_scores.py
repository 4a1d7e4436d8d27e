"""Scores from sums: answers added up by unit and labels, as statistics of shares take them."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace

from facevalue.measures.definitions import Measure, is_wanted, key_of
from facevalue.measures.estimates import EstimateTable, Level
from facevalue.measures.estimators import PEOPLE_KEYS, CellEstimates, Sums, share_of_sums, share_over_pairs
from facevalue.measures.pairs import DYADIC_WILSON
from facevalue.measures.uncertainty import Estimates
from facevalue.statistics.estimand import Estimand
from facevalue.statistics.statistic import Score


def share_score(name: str, label: str = "") -> Score:
    """Make the score of answers that are shares; `label`: of its estimates in the column `score`."""
    return Score(name, name, "share", 0.0, 1.0, label)


@dataclass(frozen=True)
class SumScores:
    """One score of one model's answers, from sums by unit and labels.

    Its mean is `low + (high - low) s / n`, between the ends of the score.

    Attributes
    ----------
    score:
        The score, by whose name estimands say that they are of it.
    sums:
        Sums by unit, or by the people on either side of a pair.
    measures:
        Definitions by key.
    s, n, requests:
        Columns of the sums: what counts, out of how many, and, for bounds, how many replies were asked for.
    labels:
        Labels of all its estimates.
    mean_over:
        A label over whose levels a share is the mean of shares, where it is not broken down by it.
    method:
        Method by which intervals over pairs are made, for people.

    Examples
    --------
    >>> import polars as pl
    >>> rows = pl.DataFrame({"unit": ["a", "b", "c"], "group": ["f", "m", "f"], "s": [1.0, 0.0, 1.0], "n": [1.0] * 3})
    >>> chosen = SumScores(share_score("chosen"), Sums.of(rows, ["group"]), {})
    >>> chosen.shares(["group"])[1].value.tolist()
    [1.0, 0.0]
    """

    score: Score
    sums: Sums
    measures: Mapping[str, Measure]
    s: str = "s"
    n: str = "n"
    requests: str = ""
    labels: Mapping[str, Level] = field(default_factory=dict)
    mean_over: str = ""
    method: str = DYADIC_WILSON

    def shares(self, by: Sequence[str]) -> CellEstimates:
        """Shares s / n of each cell, with their intervals over units or people."""
        columns = {"s": self.s, "n": self.n, **({"requests": self.requests} if self.requests else {})}
        sums = self.sums.counting(**{name: self.sums.numbers[column] for name, column in columns.items()})
        if self.mean_over and self.mean_over not in by:
            sums = replace(sums, units={**sums.units, "inner": sums.labels[self.mean_over][1]})
        if PEOPLE_KEYS[1] in sums.units:
            return share_over_pairs(sums, by, self.method)
        return share_of_sums(sums, by)

    def scale(self, shares: Estimates) -> Estimates:
        """Shares as means between the ends of the score."""
        low, high = self.score.low, self.score.high
        return shares if (low, high) == (0.0, 1.0) else shares.times(high - low).less(-low)

    def enter(
        self, table: EstimateTable, estimand: Estimand, labels: Mapping[str, Sequence[Level]], estimates: Estimates
    ) -> None:
        """Add estimates to the table, with tests where the estimand is tested."""
        size = estimates.value.size
        columns = {**{name: [level] * size for name, level in self.labels.items()}, **labels}
        measure = self.measures[key_of(estimand.measure, self.score.label)]
        keep = estimand.holds(columns, size)
        if estimand.tested:
            table.add(measure, columns, estimates, estimand.family_names(columns, size), keep=keep)
        else:
            table.add(measure, columns, estimates.without_tests(), keep=keep)


def estimate_sums(table: EstimateTable, estimands: Iterable[Estimand], scores: Sequence[SumScores]) -> None:
    """Add the estimates of each estimand, of the scores that it is of."""
    for estimand in filter(lambda estimand: is_wanted([estimand.measure]), estimands):
        for one in scores:
            if estimand.is_of(one.score):
                estimand.statistic.estimate_sums(table, estimand, one)
