"""Documents of `facevalue compare --json`."""

import math
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import Any, ClassVar

from facevalue.cli.output import Document
from facevalue.cli.schema import Row
from facevalue.measures.profiles import RankAgreement
from facevalue.report.formatting import shown_settings
from facevalue.runs.compared_cells import SharedUnits
from facevalue.runs.comparison import ComparedPair, RunComparison


@dataclass(frozen=True, slots=True)
class ComparedRuns:
    """Runs of one study that are compared with each other."""

    study: str
    runs: tuple[str, ...]
    """Their names."""
    settings: Mapping[str, Sequence[str]]
    """Settings in which they differ, each with its value in every run; "–" where it has none."""


@dataclass(frozen=True, slots=True)
class ShareDocument:
    """A share with its interval; null where it is not measurable."""

    value: float | None
    low: float | None
    high: float | None


@dataclass(frozen=True, slots=True)
class FlipsDocument:
    """Single answers of two runs to the same trials."""

    unit: str
    units: int
    """What was sampled, and how many."""
    exact: bool
    """Whether probabilities were read, so that an answer is the likeliest option."""
    trials: int
    """Pairs of valid answers to one trial under one seed."""
    flipped: int
    """How many of them differ."""
    lost: int
    gained: int
    """Answers that only the first run, and only the second, gave."""
    identical: ShareDocument
    """Share of identical answers."""
    chance: float | None
    """The same had the answers nothing to do with the picture: each run's own shares by question."""
    between: ShareDocument
    within_first: ShareDocument
    within_second: ShareDocument
    """Share of identical answers of two draws: one of each run, two of the first, two of the second."""
    beyond: ShareDocument
    """By how much less often two draws of both runs are identical than two of one."""
    telling: Sequence[Row]
    """The most telling flips in words; `--flips` writes all."""


@dataclass(frozen=True, slots=True)
class RankDocument:
    """Spearman's correlation of the effects of two runs over cells; null is not measurable."""

    measure: str
    cells: int
    rho: float | None
    """Of the estimates as they are."""
    chance: float | None
    chance_low: float | None
    chance_high: float | None
    """Mean and 95% range of the same if neither run had any effect, on the same pictures."""
    p: float | None
    """Of there being no effects at all."""
    value: float | None
    low: float | None
    high: float | None
    """Correlation of the effects without noise, with its interval."""
    level: float
    """At which all correlations hold together."""
    method: str


@dataclass(frozen=True, slots=True)
class PairDocument:
    """Two runs of a study compared cell by cell: the second minus the first."""

    study: str
    first: str
    second: str
    """Names of the runs."""
    measures: Mapping[str, str]
    """What is compared, one measure or one of each score, and the unit of each."""
    units: SharedUnits
    notes: tuple[str, ...]
    """What else differs between the runs, and what is not tested."""
    cells_matched: int
    cells_that_differ: int
    became: Mapping[str, int]
    """What became of the cells that differ: numbers of them by "gone", "smaller effect", "larger effect", "turned
    round"; "higher", "lower" where what is measured has no zero."""
    only_first: Sequence[Row]
    only_second: Sequence[Row]
    """Labels of cells that only one of the two has a value for."""
    overall: Sequence[Row]
    """Statistics of all cells, by `statistic`, with interval and what chance gives."""
    by: str
    """Label by whose levels `overall` is taken apart in `by_level`; empty if by none."""
    by_level: Sequence[Row]
    cells: Sequence[Row]
    """Labels of each cell (`measure` is one of several), `first`, `second`, `delta` with intervals, p, q, `verdict`,
    its `caveat`, and `became`; docs/how-to/compare.md."""
    also: Sequence[Row]
    """Differences of what the study compares besides, and of missing answers: a table of estimates."""
    further: Sequence[Mapping[str, Any]]
    """What the study compares besides, as tables for people."""
    ranks: Sequence[RankDocument]
    """Spearman's correlations of the effects of both runs, one of each measure with a direction."""
    flips: FlipsDocument | None
    """Single answers that differ; null where they cannot be compared."""
    why_no_flips: str
    """Why single answers were not compared; empty if they were."""


@dataclass(frozen=True)
class CompareDocument(Document):
    """Runs of one or several studies, compared cell by cell, all at one level."""

    FORMAT: ClassVar[str] = "compare"
    VERSION: ClassVar[int] = 2
    studies: tuple[ComparedRuns, ...]
    comparisons: tuple[PairDocument, ...]
    left_out: tuple[str, ...]
    """Runs and studies that could not be compared, and why, a sentence each."""


def compare_document(comparison: RunComparison) -> CompareDocument:
    """A comparison for machines."""
    studies = tuple(
        ComparedRuns(study, comparison.names[study], shown_settings(settings))
        for study, settings in comparison.settings.items()
    )
    return CompareDocument(studies, tuple(map(_pair, comparison.pairs)), comparison.left_out)


def _pair(pair: ComparedPair) -> PairDocument:
    values = pair.agreement.json()
    by = pair.agreement.compared.beside
    by_level, further = values.pop(f"by_{by}", ()), values.pop("further", ())
    return PairDocument(
        pair.study, pair.first, pair.second, **values, by=by, by_level=by_level, further=further,
        ranks=list(map(_rank, pair.ranks)),
        flips=_flips(pair),
        why_no_flips=pair.why_no_flips,
    )  # fmt: skip


def _rank(rank: RankAgreement) -> RankDocument:
    rho, chance, chance_low, chance_high = map(_measured, (rank.rho, rank.chance, rank.chance_low, rank.chance_high))
    p, value, low, high = map(_measured, (rank.p, rank.value, rank.low, rank.high))
    return RankDocument(
        rank.measure, rank.cells, rho, chance, chance_low, chance_high, p, value, low, high, rank.level, rank.method
    )


def _measured(value: float) -> float | None:
    return None if math.isnan(value) else float(value)


def _flips(pair: ComparedPair) -> FlipsDocument | None:
    flips = pair.flips
    if flips is None:
        return None
    identical, between, within_first, within_second, beyond = (
        ShareDocument(*(_measured(end[0]) for end in (e.value, e.low, e.high)))
        for e in (getattr(flips.shares, name) for name in _SHARES)
    )
    return FlipsDocument(
        flips.unit, flips.units, flips.exact, flips.trials, flips.flipped, flips.lost, flips.gained, identical,
        _measured(flips.chance), between, within_first, within_second, beyond,
        [asdict(flip) for flip in pair.telling_flips],
    )  # fmt: skip


_SHARES = ("identical", "between", "within_first", "within_second", "beyond")
