"""The simulation behind docs/results/coverage.csv, and the table itself."""

import sys
from pathlib import Path

import numpy as np
import polars as pl
import pytest
from polars.testing import assert_frame_equal

from benchmarks import coverage
from benchmarks.coverage import CLUSTERS, DESIGNS, PROMISED, SETTINGS, Repetitions, Sample
from facevalue.measures.group_means import difference_of_means

DOCS = Path(__file__).parents[2] / "docs"
FEW = Repetitions(cheap=300, bootstrap=60, permutation=60, resamples=200)
MIDDLING = SETTINGS[1]


def committed() -> pl.DataFrame:
    return pl.read_csv(DOCS / "results/coverage.csv")


@pytest.mark.parametrize("design", DESIGNS)
def test_the_truth_is_the_mean_of_a_large_population(design: str) -> None:
    samples = coverage.simulate(MIDDLING, design, 20_000, 0.5, 2, np.random.default_rng(1))
    for found in difference_of_means([sample.part for sample in samples]):
        assert found == pytest.approx(coverage.truth(MIDDLING, design, 0.5), abs=0.008)


def test_answers_of_one_person_are_alike_and_one_in_twenty_is_missing() -> None:
    (sample,) = coverage.simulate(SETTINGS[2], "one group", 50, 0.0, 100, np.random.default_rng(2))
    assert sample.counts.mean() == pytest.approx(19, abs=0.1)
    share = sample.sums / sample.counts
    assert share.var() > 3 * (share.mean() * (1 - share.mean()) / 19)


@pytest.mark.parametrize(("design", "sizes"), [("paired", [7]), ("two groups", [7, 7]), ("two groups, 1:5", [7, 35])])
def test_designs_have_their_groups(design: str, sizes: list[int]) -> None:
    samples = coverage.simulate(MIDDLING, design, 7, 0.0, 3, np.random.default_rng(3))
    assert [sample.sums.shape for sample in samples] == [(size, 3) for size in sizes]


def test_a_small_table_has_each_method_and_one_chosen_per_design() -> None:
    frame = coverage.table(FEW, settings=(MIDDLING,), clusters=(5, 10))
    for (design, clusters), rows in frame.group_by("design", "clusters"):
        assert rows["chosen"].sum() == 1
        assert rows.filter("chosen")["method"].item() == coverage.chosen(str(design), int(str(clusters)))
        assert rows["method"].is_unique().all()
    one = frame.filter(pl.col("design") == "one group")
    assert one["type1"].is_null().all()
    assert one["coverage_zero"].is_not_null().all()
    naive = frame.filter((pl.col("method") == coverage.NAIVE) & (pl.col("design") == "two groups"))
    assert naive["type1"].min() > 0.2  # type: ignore[operator]
    kept = frame.filter("chosen").drop_nulls("type1")
    assert kept["type1"].max() < 0.1  # type: ignore[operator]


def test_the_same_seed_gives_the_same_table_whatever_else_is_in_it() -> None:
    both = coverage.table(FEW, settings=SETTINGS[:2], clusters=(5,), designs=("paired",))
    one = coverage.table(FEW, settings=(MIDDLING,), clusters=(5,), designs=("paired",))
    assert_frame_equal(both.filter(pl.col("setting") == "middling"), one)
    other = coverage.table(FEW, settings=(MIDDLING,), clusters=(5,), designs=("paired",), seed=9)
    assert not one["type1"].equals(other["type1"])


def test_all_sign_changes_of_few_clusters_are_tried() -> None:
    sums = np.array([[1.0, 1.0], [1.0, -1.0], [1.0, 1.0]])
    sample = Sample(sums, np.ones((3, 2)), sums**2)
    assert coverage.sign_flip(sample, 2000, np.random.default_rng(0)).tolist() == [0.25, 1.0]


def test_outside_names_what_leaves_the_bounds_where_they_are_promised() -> None:
    row: dict[str, object] = {"design": "paired", "setting": "middling", "clusters": 5, "chosen": True, "type1": 0.05}
    row |= {"coverage_zero": 0.95, "coverage_effect": 0.95}
    bad: list[dict[str, object]] = [{"type1": 0.07}, {"coverage_zero": 0.9}, {"coverage_effect": 0.98}]
    bad.append({"design": "one group", "type1": None, "clusters": 10, "coverage_zero": 0.9})
    fine: list[dict[str, object]] = [{}, {"setting": "rare", "type1": 0.5}, {"chosen": False, "type1": 0.5}]
    fine += [{"design": "one group", "type1": None}, {"design": "one group", "coverage_zero": 0.9}]
    frame = coverage.judged(pl.DataFrame([row | change for change in (*fine, *bad)], infer_schema_length=None))
    assert coverage.outside(frame).height == len(bad)
    assert frame["promised"].to_list() == [True, False, False, False, False] + [True] * 4


def test_the_command_writes_the_table(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    out = tmp_path / "coverage.csv"
    monkeypatch.setattr(coverage, "QUICK", Repetitions(50, 20, 20, 100))
    monkeypatch.setattr(coverage, "CLUSTERS", (5,))
    monkeypatch.setattr(sys, "argv", ["coverage", "--quick", "--out", str(out)])
    small = coverage.table
    monkeypatch.setattr(coverage, "table", lambda how, say: small(how, clusters=(5,), say=say))
    coverage.main()
    assert pl.read_csv(out).columns == committed().columns
    captured = capsys.readouterr()
    assert captured.out == ""
    assert "paired, 5 clusters, little" in captured.err


def test_the_committed_table_is_whole_and_marks_what_the_product_chooses() -> None:
    frame = committed()
    cells = frame.select("design", "clusters", "setting").unique()
    unequal = sum(size <= coverage.MOST_UNEQUAL for size in CLUSTERS)
    assert cells.height == len(SETTINGS) * ((len(DESIGNS) - 1) * len(CLUSTERS) + unequal)
    marked = [
        coverage.chosen(design, clusters) == method
        for design, clusters, method in frame.select("design", "clusters", "method").iter_rows()
    ]
    assert frame["chosen"].to_list() == marked
    assert frame["chosen"].sum() == cells.height
    assert_frame_equal(coverage.judged(frame.drop("promised", "within")), frame)
    assert frame.filter("promised")["repetitions"].min() >= 2000  # type: ignore[operator]


def test_what_the_product_chooses_keeps_its_bounds_in_the_committed_table() -> None:
    wrong = coverage.outside(committed())
    assert wrong.is_empty(), wrong.select("design", "clusters", "setting", "type1", "coverage_zero", "coverage_effect")


def test_closed_form_gee_is_that_of_statsmodels() -> None:
    from statsmodels.genmod.cov_struct import Independence
    from statsmodels.genmod.families import Gaussian
    from statsmodels.genmod.generalized_estimating_equations import GEE

    rng = np.random.default_rng(4)
    counts = rng.integers(2, 9, 12)
    who = np.repeat(np.arange(12), counts)
    group = (who >= 5).astype(float)
    answers = rng.binomial(1, rng.random(12)[who]).astype(float)
    model = GEE(
        answers, np.column_stack([np.ones(who.size), group]), groups=who, family=Gaussian(), cov_struct=Independence()
    ).fit(cov_type="bias_reduced")
    sums = np.bincount(who, weights=answers)[:, None].astype(np.float64)
    totals = counts[:, None].astype(float)
    samples = [Sample(sums[:5], totals[:5], sums[:5]), Sample(sums[5:], totals[5:], sums[5:])]
    found = coverage.gee(samples)
    assert (found.low + found.high).item() / 2 == pytest.approx(model.params[1])
    assert found.p.item() == pytest.approx(model.pvalues[1])
    assert [found.low.item(), found.high.item()] == pytest.approx(model.conf_int()[1].tolist())


@pytest.mark.slow
def test_a_fresh_smaller_simulation_agrees_with_the_committed_table() -> None:
    """Other seed, fewer repetitions. 4.5 standard errors of the difference, for about a thousand numbers."""
    how = Repetitions(2000, 600, 600, 1000)
    fresh = coverage.table(how, settings=SETTINGS[:3], clusters=(5, 10, 30, 100), seed=77)
    both = fresh.join(committed(), on=["design", "clusters", "setting", "method"], suffix="_committed")
    assert both.height == fresh.height
    assert set(fresh["setting"]) == set(PROMISED)
    for name in ("type1", "power", "coverage_zero", "coverage_effect"):
        apart = (pl.col(name) - pl.col(f"{name}_committed")).abs()
        error = (pl.col(f"{name}_se") ** 2 + pl.col(f"{name}_se_committed") ** 2).sqrt()
        wrong = both.filter(apart > 4.5 * error + 0.005)  # resamples differ too
        assert wrong.is_empty(), (
            name,
            wrong.select("design", "clusters", "setting", "method", name, f"{name}_committed"),
        )
