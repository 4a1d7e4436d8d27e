"""Random tables of answers: what the package says of them is what a plain recomputation over the whole table gives."""

import re
from collections import Counter
from functools import partial

import numpy as np
import polars as pl
import polars.selectors as cs
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

import facevalue as fv
from facevalue.answers import NA
from facevalue.answers.lists import SEPARATOR
from facevalue.errors import FaceValueError
from facevalue.statistics import Estimand, Flip, Gap, GapSize, Preference, Range, Score, Similarity, Spread, Tally
from facevalue.statistics.answer_arrays import NOT_ASKED, AnswerArrays, reason_code
from facevalue.statistics.breakdown import Breakdown
from facevalue.statistics.estimand import definitions
from facevalue.statistics.scores import Program
from facevalue.statistics.sets import OTHER_PATH, Sets
from facevalue.statistics.statistic import registered_statistics
from tests.statistics.random_tables import (
    ALL_MODELS,
    Plain,
    Recomputation,
    Table,
    contrasts,
    missing_gaps,
    missing_shares,
    models_of,
    one_answer_each,
    tables,
)

EXACT = 1e-9
OF_PAIRS = ("preference", "similarity")
"""Statistics of pairs side by side and of lists, which tables of answers have none of."""
random = partial(settings, deadline=None, suppress_health_check=list(HealthCheck))
seeds = st.integers(0, 2**32 - 1)


def estimated(table: Table) -> pl.DataFrame | None:
    """Estimates of a table, without the estimands that it does not allow; None where nothing can be estimated."""
    while table.estimands and table.answers.height:
        try:
            return fv.estimate(
                table.answers, table.estimands, scale=table.scale, questions=table.questions, cue=table.cue,
                base=table.base,
            )  # fmt: skip
        except FaceValueError as error:
            place = re.match(r"Estimand (\d+): ", str(error))
            if place is None:
                if not table.cue:
                    raise
                return None  # no unit has its base beside another picture
            del table.estimands[int(place[1]) - 1]
    return None


def labels_of(estimand: Estimand) -> list[str]:
    statistic = estimand.statistic
    if isinstance(statistic, Gap | Preference) and statistic.factor:
        return [*estimand.by, statistic.factor, "contrast"]
    return [*estimand.by, *(["dimension"] if isinstance(statistic, Spread | Tally | Range | GapSize) else [])]


def by_labels(found: pl.DataFrame, names: list[str]) -> dict[tuple[str, ...], Plain]:
    """Value, n and clusters by labels, which name each row once."""
    out = {
        tuple(row[name] for name in names): Plain(row["value"], row["n"], row["clusters"]) for row in found.to_dicts()
    }
    assert len(out) == found.height
    return out


def assert_same(found: pl.DataFrame, expected: dict[tuple[str, ...], Plain], names: list[str], what: object) -> int:
    """The estimates are those that are expected, and nothing else has a value; returns how many have one."""
    estimates = by_labels(found, names)
    for key, plain in expected.items():
        estimate = estimates.pop(key, None)
        if estimate is None:
            assert plain.value is None, (what, key, plain)
            continue
        assert estimate.value == (None if plain.value is None else pytest.approx(plain.value, rel=EXACT, abs=EXACT)), (
            what,
            key,
            plain,
        )
        assert estimate.n == plain.n, (what, key, estimate, plain)
        assert plain.clusters in (estimate.clusters, -1), (what, key, estimate, plain)
    assert not any(rest.n or rest.value is not None for rest in estimates.values()), (what, estimates)
    return sum(plain.value is not None for plain in expected.values())


def assert_recomputed(table: Table, found: pl.DataFrame) -> Counter[str]:
    """Every estimate is what the whole table gives by its definition; returns how many of each statistic."""
    counts, is_single = Counter[str](), one_answer_each(table)
    for model in {*found["model"]} & {*models_of(table.answers), ALL_MODELS}:
        recomputed, of_model = Recomputation(table, model), found.filter(model=model)
        for estimand in table.estimands:
            statistic, names = estimand.statistic, labels_of(estimand)
            if isinstance(statistic, Range) and not is_single:  # which answers are one draw is drawn
                continue
            if isinstance(statistic, Range | Flip) and model == ALL_MODELS:
                assert of_model.filter(measure=estimand.measure).is_empty()
                continue
            if isinstance(statistic, Gap) and statistic.versus == "(alike)":
                counts["alike"] += assert_among_others(recomputed, estimand, of_model.filter(measure=estimand.measure))
                continue
            for measure, expected in recomputed.expected(estimand).items():
                kept = {
                    key: plain for key, plain in expected.items()
                    if all(key[names.index(name)] in levels for name, levels in estimand.only.items())
                }  # fmt: skip
                counts[statistic.kind] += assert_same(of_model.filter(measure=measure), kept, names, (estimand, model))
        if model != ALL_MODELS:
            counts["missing"] += assert_missing(recomputed, of_model)
    return counts


def assert_among_others(recomputed: Recomputation, estimand: Estimand, found: pl.DataFrame) -> int:
    """A level's difference from those that are alike is one from a mean of the effects of others."""
    of_cells = {key: (effects, units) for key, effects, _, units in recomputed.effects(estimand)}
    rows = by_labels(found.drop_nulls("value"), labels_of(estimand))
    for (*key, level, _), (value, *_) in rows.items():
        effects, units = of_cells[tuple(key)]
        rest = [effect for name, effect in effects.items() if name != level]
        assert value is not None
        if found.filter(pl.col("value") == value)["low"].null_count():  # nothing tells what is alike: the effect itself
            rest = [*rest, 0.0]
        assert effects[level] - max(rest) - EXACT <= value <= effects[level] - min(rest) + EXACT, (estimand, units)
    return len(rows)


def assert_missing(recomputed: Recomputation, found: pl.DataFrame) -> int:
    """Shares and gaps of missing answers are those of all rows."""
    answers = recomputed.everything
    answers = answers.filter(model=recomputed.model) if recomputed.model else answers
    mass = pl.col("mass").fill_null(1.0) if "mass" in answers.columns else pl.lit(1.0)
    answers = answers.with_columns(
        lost=pl.when(pl.col("score").is_not_null()).then(1 - mass).otherwise(1.0),
        why=pl.col("missing") if "missing" in answers.columns else pl.lit(None, pl.String),
        prompt=pl.concat_str(recomputed.prompt, separator=", ") if recomputed.prompt else pl.lit(""),
    )
    dimensions = [name for name in recomputed.named if name not in recomputed.prompt]
    rows = pl.concat([
        answers.with_columns(dimension=pl.lit(name, pl.String), group=pl.col(name) if name else pl.lit(None, pl.String))
        for name in (None, *dimensions)
    ])  # fmt: skip
    shares = missing_shares(rows)
    for row in (of_shares := found.filter(measure="missing_share")).to_dicts():
        expected = shares[row["dimension"], row["group"], row["prompt"], row["reason"]]
        assert (row["value"], row["n"]) == pytest.approx(expected, abs=EXACT)
    gaps = {name: missing_gaps(rows.filter(dimension=name)) for name in dimensions}
    for row in (of_gaps := found.filter(measure="missing_gap")).to_dicts():
        expected_gap = gaps[row["dimension"]][row["group"], row["prompt"], row["reason"]]
        assert row["value"] == pytest.approx(expected_gap, abs=EXACT), row
    lost = sum(value > 0 for value, _ in shares.values())
    assert of_shares.filter(pl.col("value") > 0).height >= min(lost, 1)
    return of_shares.height + of_gaps.height


def otherwise_told(table: Table, seed: int) -> Table:
    """The same answers in another order of rows and columns, texts as categories."""
    rng = np.random.default_rng(seed)
    shuffled = table.answers.sample(fraction=1, shuffle=True, seed=seed).select(
        map(str, rng.permutation(table.answers.columns))
    )
    texts = [name for name in shuffled.select(cs.string()).columns if rng.integers(2)]
    told = shuffled.with_columns(pl.col(texts).cast(pl.Categorical))
    return Table(told, table.scale, table.estimands, table.cue, table.questions)


def check_tables(examples: int, one_of: int) -> Counter[str]:
    """Recompute so many random tables, and tell one of so many otherwise; returns how many estimates had a value."""
    counts = Counter[str]()

    @random(max_examples=examples)
    @given(table=tables(), seed=seeds)
    def check(table: Table, seed: int) -> None:
        if (found := estimated(table)) is None:
            return
        counts.update(assert_recomputed(table, found), tables=1)
        if seed % one_of == 0:
            again = estimated(otherwise_told(table, seed))
            assert again is not None
            assert found.equals(again)

    check()
    return counts


def test_estimates_of_random_tables_are_those_of_a_plain_recomputation_in_any_order_of_rows_and_columns() -> None:
    counts = check_tables(90, one_of=4)
    assert {*counts} >= {*registered_statistics()} - {*OF_PAIRS} | {"alike", "missing"}


@pytest.mark.slow
def test_estimates_of_two_thousand_random_tables_are_those_of_a_plain_recomputation() -> None:
    counts = check_tables(2000, one_of=1)
    of_each = {name: counts[name] for name in (*registered_statistics(), "alike") if name not in OF_PAIRS}
    assert min(of_each.values()) > 100, of_each
    assert counts["tables"] > 1400


def random_program(
    rng: np.random.Generator, manifest: pl.DataFrame, score: Score, statistic: Preference | Similarity, cue: str,
    texts: tuple[str, ...],
) -> tuple[pl.DataFrame, AnswerArrays, Breakdown]:  # fmt: skip
    """Estimates of random answers about the pictures of a list, each asked one question up to three times."""
    shape = (manifest.height, 1, 3)
    asked = rng.random(shape) < 0.8
    valid = asked & (rng.random(shape) < 0.8)
    values = rng.integers(0, len(texts) or 9, shape) / (1 if texts else 8)
    weights = np.where(valid, values if texts else score.low + (score.high - score.low) * values, np.nan)
    reasons = np.where(valid, 0, np.where(asked, reason_code(NA.NEITHER), NOT_ASKED)).astype(np.uint8)
    answers = AnswerArrays(weights, np.where(asked, valid * 1.0, np.nan), reasons, 3, texts)
    breakdown = Breakdown(Sets(manifest, "identity", (cue,) if cue else (), "none" if cue else None), ())
    estimands = (Estimand(statistic, measure="m0"),)
    measures = definitions(estimands, breakdown, (score,))
    labels = tuple(dict.fromkeys([*breakdown.factors, "contrast", "dimension"]))
    program = Program("answers", labels, breakdown, (score,), measures, estimands)
    return program.estimate({"": {score.name: answers}}), answers, breakdown


@random(max_examples=40)
@given(seed=seeds, versus=st.sampled_from(["", "(others)", "(each other)", "x"]))
def test_preferences_of_random_pairs_are_means_over_pairs_less_the_middle_of_the_scale(seed: int, versus: str) -> None:
    rng = np.random.default_rng(seed)
    size = int(rng.integers(2, 25))
    races = [rng.choice(list("xyz"), 2, replace=False) for _ in range(size - 2)] + [["x", "y"], ["z", "x"]]
    manifest = pl.DataFrame({
        "image": [f"{at}" for at in range(size)], "identity": np.sort(rng.integers(0, 6, size)).astype(str),
        OTHER_PATH: ["-"] * size, "race": [first for first, _ in races], "beside_race": [second for _, second in races],
    })  # fmt: skip
    preference = Preference(factor="race", versus=versus)
    found, answers, breakdown = random_program(rng, manifest, Score("s", "S", "points", 1.0, 5.0), preference, "", ())
    pairs = manifest.with_columns(
        m=pl.Series([np.nan if np.isnan(row).all() else np.nanmean(row) for row in answers.weights[:, 0]]).fill_nan(
            None
        )
    )
    expected: dict[tuple[str, ...], Plain] = {}
    for level, rival in contrasts(Gap(factor="race", versus=versus), breakdown.levels("race")):
        for_it, against = (
            (pl.col(a) == level) & ((pl.col(b) != level) if rival == "(others)" else (pl.col(b) == rival))
            for a, b in (("race", "beside_race"), ("beside_race", "race"))
        )
        lean = pl.when(for_it).then(pl.col("m") - 3).when(against).then(3 - pl.col("m"))
        leans = pairs.with_columns(lean=lean).drop_nulls("lean")
        value = float(leans["lean"].to_numpy().mean()) if leans.height else None
        expected[level, rival] = Plain(value, leans.height, leans["identity"].n_unique())
    assert_same(found.filter(measure="m0"), expected, ["race", "contrast"], versus)


def jaccard(first: str, second: str) -> float:
    a, b = ({*text.split(SEPARATOR)} - {""} for text in (first, second))
    return len(a & b) / len(a | b) if a | b else 1.0


@random(max_examples=40)
@given(seed=seeds, factor=st.sampled_from(["", "hat"]))
def test_similarities_of_random_lists_are_means_over_pairs_of_replies(seed: int, factor: str) -> None:
    rng = np.random.default_rng(seed)
    hats = ["none", "cap", "veil"]
    shown = [(f"u{unit}", hat) for unit in range(4) for hat in hats if unit == 0 or rng.random() < 0.7]
    manifest = pl.DataFrame({
        "image": [f"{at}" for at in range(len(shown))],
        "identity": [unit for unit, _ in shown], "hat": [hat for _, hat in shown],
    })  # fmt: skip
    texts = ("", "cook", SEPARATOR.join(["cook", "nurse"]), SEPARATOR.join(["nurse", "pilot", "cook"]))
    score = Score("s", "S", "list", compared=True)
    found, answers, _ = random_program(rng, manifest, score, Similarity(factor=factor), "" if factor else "hat", texts)
    lists = [[texts[int(code)] for code in row[~np.isnan(row)]] for row in answers.weights[:, 0]]
    rates, floors, beyond = [], [], []
    for (first, (unit, hat)), (second, (other_unit, other_hat)) in (
        (a, b) for a in enumerate(shown) for b in enumerate(shown)
    ):
        if unit != other_unit or (first >= second if factor else (hat != "none" or other_hat == "none")):
            continue
        between = [jaccard(a, b) for a in lists[first] for b in lists[second]]
        twice = [
            float(np.mean([jaccard(a, b) for at, a in enumerate(of) for b in of[at + 1 :]])) if len(of) > 1 else None
            for of in (lists[first], lists[second])
        ]
        if between:
            rates.append((float(np.mean(between)), unit))
        if between and None not in twice:
            floors.append((sum(filter(None, twice)) / 2, unit))
            beyond.append((floors[-1][0] - rates[-1][0], unit))
    for measure, values in (("m0", rates), ("m0_floor", floors), ("m0_lost", beyond)):
        value = float(np.mean([value for value, _ in values])) if values else None
        plain = Plain(value, len(values), len({unit for _, unit in values}))
        assert_same(found.filter(measure=measure), {(): plain}, [], measure)
