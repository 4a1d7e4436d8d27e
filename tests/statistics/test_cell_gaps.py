"""Sizes of gaps over cells, the accuracy beside them, and correlations of cells with a number."""

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import numpy as np
import polars as pl
import pytest

import facevalue as fv
from facevalue.errors import FaceValueError
from facevalue.measures import cell_gaps
from facevalue.measures.cell_gaps import cell_values, correlate_cells, deal_levels, leave_out_units
from facevalue.statistics import Correlation, Estimand, Gap, GapSize, LargestGap, Mean, Shift
from facevalue.statistics.cell_gaps import judge_size

Drawn = tuple[np.ndarray, np.ndarray, np.ndarray]
"""Sums and counts, shape (units, levels, cells), and strata."""
JOBS = tuple(f"job {letter}" for letter in "abcdefghij")


def answers(gap: Callable[[int], float], *, within: bool = False, seed: int = 1, many: int = 6) -> pl.DataFrame:
    """Answers about women and men in ten jobs; `gap`: men less women. `within`: each person is shown as both."""
    rng = np.random.default_rng(seed)
    rows = []
    for number, job in enumerate(JOBS):
        for person in range(many):
            for gender, side in (("man", 0.5), ("woman", -0.5)):
                unit = f"{job} {person}" if within else f"{job} {person} {gender}"
                score = float(rng.random() < 0.5 + side * gap(number))
                rows.append((f"{unit}/{gender}", unit, job, gender, f"{number / 10}", score))
    return pl.DataFrame(rows, ["picture", "unit", "job", "gender", "share", "score"], orient="row")


def row(table: pl.DataFrame, measure: str) -> dict[str, Any]:
    """The one estimate of a measure."""
    return table.filter(measure=measure).row(0, named=True)


@pytest.mark.parametrize("within", [True, False])
def test_sizes_are_those_of_the_gaps(within: bool) -> None:
    table = answers(lambda job: 0.6 if job % 2 else -0.6, within=within)
    found = fv.estimate(
        table,
        [
            Estimand(Gap(factor="gender", versus="woman"), by=("job",)),
            Estimand(GapSize(factor="gender", over=("job",), accuracy="score")),
            Estimand(LargestGap(factor="gender", over=("job",))),
        ],
    )
    gaps = found.filter(measure="paired_gap" if within else "gap").sort("job")
    size, largest = row(found, "gap_size"), row(found, "largest_gap")
    assert size["value"] == pytest.approx(gaps["value"].abs().mean())
    assert largest["value"] == pytest.approx(gaps["value"].abs().max())
    assert (size["clusters"], size["verdict"]) == (60 if within else 120, "difference found")
    assert 0 < size["floor"] < size["floor_high"] < size["value"]
    assert size["low"] > 0 < largest["value"] <= largest["high"] <= 1
    shares = table.group_by("job").agg(pl.col("score").mean()).sort("job")["score"]
    product = row(found, "gap_size_accuracy")
    assert product["value"] == pytest.approx((shares * (1 - gaps["value"].abs())).mean())
    assert product["low"] < product["value"] < product["high"]
    assert product["verdict"] is None


def test_sizes_of_shifts_are_those_of_pictures_less_their_base() -> None:
    table = answers(lambda job: 0.8 - job / 5, within=True)
    size = GapSize(factor="gender", over=("job",), accuracy="score")
    found = fv.estimate(
        table, [Estimand(Shift(), by=("job", "gender")), Estimand(size)], cue="gender", base="woman"
    )  # fmt: skip
    shifts = found.filter(measure="shift").sort("job")["value"]
    assert row(found, "gap_size")["value"] == pytest.approx(shifts.abs().mean())
    bases = table.filter(gender="woman").group_by("job").agg(pl.col("score").mean()).sort("job")["score"]
    assert row(found, "gap_size_accuracy")["value"] == pytest.approx((bases * (1 - shifts.abs())).mean())


def test_chance_alone_is_a_floor_and_no_finding() -> None:
    found = row(fv.estimate(answers(lambda _: 0.0), [Estimand(GapSize(factor="gender", over=("job",)))]), "gap_size")
    assert found["low"] == 0
    assert found["value"] == pytest.approx(found["floor"], rel=0.6)
    assert found["verdict"] == "inconclusive"


@pytest.mark.parametrize("filled", [0.0, 1.0])
def test_bounds_hold_what_missing_answers_could_have_been(filled: float) -> None:
    table = answers(lambda job: job / 10)
    lost = pl.col("picture").hash(3) % 5 == 0
    estimands = [
        Estimand(GapSize(factor="gender", over=("job",), accuracy="score")),
        Estimand(LargestGap(factor="gender", over=("job",))),
    ]
    known = fv.estimate(table.with_columns(pl.when(~lost).then("score").alias("score")), estimands)
    men = pl.when(pl.col("gender") == "man").then(filled).otherwise(1 - filled)
    whole = fv.estimate(table.with_columns(pl.when(lost).then(men).otherwise("score").alias("score")), estimands)
    for measure in ("gap_size", "largest_gap", "gap_size_accuracy"):
        bounds, value = row(known, measure), row(whole, measure)["value"]
        assert bounds["bound_low"] <= bounds["value"] <= bounds["bound_high"]
        assert bounds["bound_low"] - 1e-9 <= value <= bounds["bound_high"] + 1e-9


@pytest.mark.parametrize("within", [True, False])
def test_a_gap_goes_with_a_number_of_the_cell(within: bool) -> None:
    table = answers(lambda job: (job - 4.5) / 5, within=within, many=12)
    gap = Correlation(factor="gender", versus="woman", over=("job",), column="share")
    found = row(fv.estimate(table, [Estimand(gap)]), "gap_correlation")
    shares = table.group_by("job", "share").agg(
        (pl.col("score").filter(gender="man").mean() - pl.col("score").filter(gender="woman").mean()).alias("gap")
    )
    expected = np.corrcoef(shares["gap"], shares["share"].cast(pl.Float64))[0, 1]
    assert found["value"] == pytest.approx(expected)
    assert 0 < found["low"] < found["value"] < found["high"] < 1
    assert (found["n"], found["verdict"]) == (10, "difference found")
    against = replace(gap, versus="man")
    turned = row(fv.estimate(table, [Estimand(against)]), "gap_correlation")
    assert turned["value"] == pytest.approx(-expected)


def test_without_a_factor_it_is_of_means() -> None:
    table = answers(lambda _: 0.0)
    found = row(fv.estimate(table, [Estimand(Correlation(over=("job",), column="share"))]), "correlation")
    means = table.group_by("share").agg(pl.col("score").mean())
    assert found["value"] == pytest.approx(np.corrcoef(means["score"], means["share"].cast(pl.Float64))[0, 1])


def test_three_cells_have_no_correlation() -> None:
    table = answers(lambda _: 0.0).filter(pl.col("job").is_in(JOBS[:3]))
    found = row(fv.estimate(table, [Estimand(Correlation(over=("job",), column="share"))]), "correlation")
    assert found["value"] is None
    assert "fewer than 4 cells" in found["why"]


@pytest.mark.parametrize(
    ("statistic", "table", "said"),
    [
        (
            Correlation(over=("job",), column="share"),
            pl.when(pl.col("job") == "job c").then(pl.lit("high")).otherwise("share"),
            "needs numbers, and 'share' of job c is 'high'",
        ),
        (
            Correlation(over=("job",), column="share"),
            pl.when(pl.col("job") == "job c").then(pl.lit("1_000")).otherwise("share"),
            "needs numbers, and 'share' of job c is '1_000'",
        ),
        (
            Correlation(over=("job",), column="share"),
            pl.when(pl.col("picture") == "job b 0 man/man").then(pl.lit("7")).otherwise("share"),
            r"'share' has several numbers for job b \((0.1 and 7|7 and 0.1)\)",
        ),
        (Correlation(over=("gender",), column="share"), pl.col("share"), "'share' has several numbers for man"),
        (GapSize(factor="job", over=("gender",)), pl.col("share"), "of gaps between two levels, and 'job' has 10"),
        (GapSize(factor="gender", over=("unit_of",)), pl.col("share"), "Unknown factor 'unit_of'"),
        (GapSize(factor="gender", over=("job",), accuracy="right"), pl.col("share"), "Unknown score 'right'"),
        (
            Correlation(factor="gender", versus="men", over=("job",), column="share"),
            pl.col("share"),
            "Unknown level of gender 'men'",
        ),
    ],
)  # fmt: skip
def test_what_there_is_not_is_refused(statistic: GapSize | Correlation, table: pl.Expr, said: str) -> None:
    with pytest.raises(FaceValueError, match=said):
        fv.estimate(answers(lambda _: 0.0).with_columns(share=table), [Estimand(statistic), Estimand(Mean())])


@pytest.mark.parametrize(
    ("make", "said"),
    [
        (lambda: GapSize(factor="gender"), "A gap_size is of several cells"),
        (lambda: GapSize(over=("job",), factor=""), "A gap_size needs a factor"),
        (lambda: Correlation(over=("job",)), "name it with `column`"),
        (lambda: Correlation(over=("job",), column="share", versus="man"), "name that with `factor`"),
        (lambda: LargestGap(factor="gender", over=("job",), accuracy="score"), "and not with the largest"),
    ],
)
def test_what_says_nothing_is_refused(make: Callable[[], object], said: str) -> None:
    with pytest.raises(FaceValueError, match=said):
        make()


def units(gaps: np.ndarray, many: int, rng: np.random.Generator) -> Drawn:
    """Sums and counts of units that each have one level in one cell, and the cell of each."""
    cells, level = (x.ravel() for x in np.indices((gaps.size, 2, many))[:2])
    sums, counts = np.zeros((2, cells.size, 2, gaps.size))
    place = np.arange(cells.size), level, cells
    counts[place] = 1
    sums[place] = rng.random(cells.size) < 0.6 + gaps[cells] * (level - 0.5)
    return sums, counts, cells


def shared(gaps: np.ndarray, people: int, slope: np.ndarray, rng: np.random.Generator) -> Drawn:
    """Differences of people who are all asked about all cells, each with a slope of their own."""
    apart = gaps + rng.normal(0, 0.3, (people, 1)) * slope + rng.normal(0, 0.3, (people, gaps.size))
    sums = np.stack([np.zeros_like(apart), apart], axis=1)
    return sums, np.ones_like(sums), np.zeros(people, dtype=np.int64)


@pytest.mark.slow
@pytest.mark.parametrize("design", ["units of one cell", "units of all cells"])
def test_sizes_are_rarely_found_by_chance_and_intervals_hold_the_true_size(
    design: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(cell_gaps, "SHUFFLES", 400)
    rng, repetitions = np.random.default_rng(5), 400
    size = GapSize(factor="gender", over=("job",))
    slope = np.linspace(-1, 1, 10)

    def audit(true: float, seed: int) -> tuple[bool, bool]:
        gaps = np.where(np.arange(10) % 2, true, -true)
        drawn = units(gaps, 8, rng) if design == "units of one cell" else shared(gaps, 10, slope, rng)
        value = leave_out_units(*drawn[:2], size.size_of_totals)
        found = judge_size(value, *deal_levels(*drawn, size.size_of_totals, seed))
        return bool(found.floor.p[0] < 0.05), bool(found.low[0] <= true <= found.high[0])  # type: ignore[union-attr]

    nothing = np.array([audit(0.0, seed) for seed in range(repetitions)])
    assert nothing[:, 0].mean() == pytest.approx(0.05, abs=0.03)  # 2.8 standard errors of 400
    assert nothing[:, 1].mean() >= 0.92
    some = np.array([audit(0.3, seed) for seed in range(repetitions)])
    assert some[:, 1].mean() >= 0.95  # Jensen and the triangle inequality leave room
    assert some[:, 0].mean() > 0.5


@pytest.mark.slow
@pytest.mark.parametrize(
    ("design", "spread"), [("units of one cell", 0.0), ("units of one cell", 0.2), ("units of all cells", 0.2)]
)
def test_correlations_are_rarely_found_by_chance(design: str, spread: float, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(cell_gaps, "SHUFFLES", 400)
    rng, number = np.random.default_rng(6), np.arange(10.0)
    slope = (number - number.mean()) / number.std() * (spread > 0)

    def is_found(seed: int) -> bool:
        gaps = np.clip(rng.normal(0, spread, 10), -0.7, 0.7)
        drawn = units(gaps, 8, rng) if design == "units of one cell" else shared(gaps, 15, slope, rng)
        found = correlate_cells(*drawn[:2], number, seed)
        return found.p is not None and bool(found.p[0] < 0.05) and not bool(found.low[0] <= 0 <= found.high[0])

    assert 0.005 <= np.mean([is_found(seed) for seed in range(400)]) <= 0.08


@pytest.mark.slow
@pytest.mark.parametrize(("rho", "many"), [(0.0, 20), (0.8, 10), (0.8, 40), (0.5, 20)])
def test_intervals_hold_the_correlation_of_what_is_measured(
    rho: float, many: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(cell_gaps, "SHUFFLES", 400)
    rng, spread = np.random.default_rng(7), 0.15
    noise = 2 * 0.6 * 0.4 / many
    true = rho * np.sqrt(spread**2 / (spread**2 + noise))

    def holds(seed: int) -> bool:
        number = rng.normal(size=15)
        gaps = spread * (rho * number + np.sqrt(1 - rho**2) * rng.normal(size=15))
        found = correlate_cells(*units(np.clip(gaps, -0.7, 0.7), many, rng)[:2], number, seed)
        return bool(found.low[0] <= true <= found.high[0])

    assert 0.93 <= np.mean([holds(seed) for seed in range(400)]) <= 0.99


def test_a_gap_of_totals_is_the_second_level_less_the_first() -> None:
    assert cell_values(np.array([[1.0], [3.0]]), np.array([[2.0], [3.0]])).tolist() == [0.5]
