"""From answers to estimates: against plain Python, and what must hold for any answers."""

import math
from collections import defaultdict
from collections.abc import Iterator
from statistics import mean, stdev
from typing import Any

import numpy as np
import polars as pl
import pytest
from polars.testing import assert_frame_equal
from scipy import stats

from facevalue.measures.definitions import rows_of
from facevalue.measures.judgment import judge
from facevalue.studies.vignette.aggregate import SHOWN_AS
from facevalue.studies.vignette.analysis import analyse
from facevalue.studies.vignette.measures import LABELS as ALL_LABELS
from facevalue.studies.vignette.measures import MEASURES, OUTCOMES
from tests.studies.vignette.framed import answers, chunks

LABELS = ("contrast", "paradigm", "question", "gender", "trait", "identity", "other_identity", "activity", "dimension")
FRAME = answers(("old", "young", "adult", "child"))


def estimates(frame: pl.DataFrame, size: int = 500) -> pl.DataFrame:
    return analyse({"m": chunks(frame, size)})


@pytest.fixture(scope="module")
def table() -> pl.DataFrame:
    return estimates(FRAME)


def pick(table: pl.DataFrame, measure: str, **labels: str | None) -> pl.DataFrame:
    """Rows with exactly these labels set; "*" is any level."""
    out = table.filter(rows_of([measure]))
    labels = {"dimension": "age", **labels}
    for name in LABELS:
        level = labels.get(name)
        if name == "trait" and "trait" not in labels:
            continue
        column = pl.col(name)
        out = out.filter(
            column.is_null() if level is None else column.is_not_null() if level == "*" else column == level
        )
    return out


def sides(
    frame: pl.DataFrame, contrast: str, paradigm: str
) -> Iterator[tuple[dict[str, Any], str, str, str | None, float]]:
    """Each valid answer of two options, once for either identity: row, identity, other, activity, chosen."""
    part = frame.filter((pl.col("contrast") == contrast) & (pl.col("paradigm") == paradigm))
    for row in part.filter(pl.col("weight").is_not_null()).iter_rows(named=True):
        activity = row["activity"] or row.get(f"activity_{row['about']}")
        yield row, row["identity_1"], row["identity_2"], activity, row["weight"]
        yield row, row["identity_2"], row["identity_1"], activity, 1 - row["weight"]


def frequencies(frame: pl.DataFrame, contrast: str, paradigm: str, question: str | None) -> dict[str, float]:
    """S(i) in plain Python."""
    by: dict[str, dict[str | None, list[float]]] = defaultdict(lambda: defaultdict(list))
    for row, who, _, activity, chosen in sides(frame, contrast, paradigm):
        if question in (None, row["question"]):
            by[who][activity].append(chosen)
    return {who: mean(100 * mean(x) for x in activities.values()) for who, activities in by.items()}


@pytest.mark.parametrize(
    ("contrast", "paradigm", "question"),
    [
        ("identity", "decision", None),
        ("identity", "decision", "status"),
        ("identity", "perception", "struggle"),
        ("identity-activity", "perception", "dislike"),
        ("portrait", "stereotype", "friendly"),
    ],
)
def test_selection_frequency_is_that_of_plain_python(
    table: pl.DataFrame, contrast: str, paradigm: str, question: str | None
) -> None:
    for gender in (None, "male"):
        frame = FRAME if gender is None else FRAME.filter(pl.col("gender") == gender)
        labels = {"contrast": contrast, "paradigm": paradigm, "question": question, "gender": gender}
        found = pick(table, "selection_frequency", identity="*", **labels)
        assert dict(found.select("identity", "value").rows()) == pytest.approx(
            frequencies(frame, contrast, paradigm, question)
        )
        gap = pick(table, "selection_gap", identity="*", **labels)
        assert (gap["value"] + 50).to_list() == pytest.approx(found["value"].to_list())


def test_fishers_test_of_a_frequency_compares_an_identity_with_all_others(table: pl.DataFrame) -> None:
    counts: dict[str, list[float]] = defaultdict(lambda: [0.0, 0.0])
    for _, who, _, _, chosen in sides(FRAME, "identity", "decision"):
        counts[who][0] += chosen
        counts[who][1] += 1 - chosen
    found = pick(table, "selection_frequency", contrast="identity", paradigm="decision", identity="old")
    others = [sum(x[i] for who, x in counts.items() if who != "old") for i in (0, 1)]
    assert found["p_paper"][0] == pytest.approx(
        stats.fisher_exact(np.array([counts["old"], others]).astype(int)).pvalue
    )
    assert found["n"][0] == sum(counts["old"])


def test_every_frequency_of_people_is_tested_against_an_even_choice_and_its_cells_in_families_of_their_own(
    table: pl.DataFrame,
) -> None:
    keys = ["gender", "contrast", "paradigm", "question", "identity"]
    rows = table.filter(rows_of(["selection_frequency"]), dimension="age")
    people = rows.filter(pl.col("paradigm") != "factuality", pl.col("se").is_not_null())
    whole = people.filter(pl.col("activity").is_null(), pl.col("identity").is_not_null())
    gaps = table.filter(measure="selection_gap", dimension="age").select(*keys, p_gap="p")
    joined = whole.filter(pl.col("contrast") != "activity").join(gaps, on=keys, nulls_equal=True)
    assert joined.height > 10
    assert joined["p"].to_list() == joined["p_gap"].to_list()
    assert people["p"].null_count() == people["q"].null_count() == 0
    assert rows.filter(paradigm="factuality")["p"].null_count() == rows.filter(paradigm="factuality").height
    assert (
        people.filter(pl.col("activity").is_not_null(), contrast="identity")["family"]
        .str.starts_with("identity x activity, ")
        .all()
    )


def test_log_odds_are_those_of_plain_python(table: pl.DataFrame) -> None:
    counts: dict[bool, list[float]] = {True: [0.0, 0.0], False: [0.0, 0.0]}
    for _, who, _, activity, chosen in sides(FRAME, "identity", "decision"):
        if who == "old":
            counts[activity == "cooking"][0] += chosen
            counts[activity == "cooking"][1] += 1 - chosen
    odds = {here: (x[0] + 1) / (x[1] + 1) for here, x in counts.items()}
    found = pick(table, "log_odds", contrast="identity", paradigm="decision", identity="old", activity="cooking")
    assert found["value"].to_list() == [pytest.approx(math.log(odds[True] / odds[False]))]
    expected = stats.fisher_exact(np.array([counts[True], counts[False]]).astype(int)).pvalue
    assert found["p_paper"][0] == pytest.approx(expected)


def test_paircomp_is_that_of_plain_python(table: pl.DataFrame) -> None:
    beside: dict[bool, list[float]] = {True: [], False: []}
    for _, who, other, _, chosen in sides(FRAME, "identity", "decision"):
        if who == "old":
            beside[other == "young"].append(chosen)
    found = pick(table, "paircomp", contrast="identity", paradigm="decision", identity="old", other_identity="young")
    assert found["value"].to_list() == [pytest.approx(100 * (mean(beside[True]) - mean(beside[False])))]


def test_polarity_is_the_difference_of_the_frequencies_of_its_terms(table: pl.DataFrame) -> None:
    labels = {"contrast": "portrait", "paradigm": "stereotype", "identity": "old"}
    high, low = (
        pick(table, "selection_frequency", question=x, **labels)["value"][0] for x in ("friendly", "unfriendly")
    )
    pair = pick(table, "polarity", question="friendly-unfriendly", trait="sociability", **labels)
    assert pair["value"].to_list() == [pytest.approx(high - low)]
    over_all = pick(table, "polarity", trait=None, **labels)["value"].to_list()
    pairs = pick(table, "polarity", question="*", trait="*", **labels)["value"].to_list()
    assert over_all == [pytest.approx(mean(pairs))]


def test_errors_are_those_of_plain_python(table: pl.DataFrame) -> None:
    facts = FRAME.filter((pl.col("paradigm") == "factuality") & pl.col("weight").is_not_null())
    for contrast in ("identity", "identity-activity"):
        wrong: dict[str, list[float]] = defaultdict(list)
        for row in facts.filter(pl.col("contrast") == contrast).iter_rows(named=True):
            wrong[row["activity"] or row[f"activity_{row['about']}"]].append(100 * (1 - row["weight"]))
        labels = {"contrast": contrast, "paradigm": "factuality"}
        assert pick(table, "error_rate", **labels)["value"].to_list() == [
            pytest.approx(mean(map(mean, wrong.values())))
        ]
        by_activity = pick(table, "error_rate", activity="*", **labels)
        assert dict(by_activity.select("activity", "value").rows()) == pytest.approx(
            {a: mean(x) for a, x in wrong.items()}
        )
    right = pick(table, "selection_frequency", identity="old", contrast="identity", paradigm="factuality")["value"][0]
    own = pick(table, "error_rate", identity="old", contrast="identity", paradigm="factuality")["value"][0]
    assert own == pytest.approx(100 - right)


def test_the_three_kinds_of_error_add_up(table: pl.DataFrame) -> None:
    who = {"contrast": "identity-activity", "paradigm": "factuality", "question": "who"}
    kinds = [pick(table, "outcome_share", **who).filter(outcome=outcome)["value"][0] for outcome in OUTCOMES]
    assert 100 * sum(kinds) == pytest.approx(pick(table, "error_rate", **who)["value"][0])


def test_spread_is_the_deviation_between_identities_and_stands_beside_its_floor(table: pl.DataFrame) -> None:
    labels = {"contrast": "identity", "paradigm": "decision"}
    found = pick(table, "spread", **labels).row(0, named=True)
    assert found["value"] == pytest.approx(stdev(pick(table, "selection_frequency", identity="*", **labels)["value"]))
    assert 0 < found["floor"] < found["floor_high"]
    assert found["clusters"] == 24
    single = pick(table, "spread", question="*", **labels)
    assert set(single["family"]) == {"spreads by question, decision (identity)"}
    expected = stats.false_discovery_control(single["p"].to_numpy())
    assert single["q"].to_list() == pytest.approx(expected.tolist())


def test_impact_ratios_are_to_the_largest_frequency_which_is_a_row_too(table: pl.DataFrame) -> None:
    labels = {"contrast": "identity", "paradigm": "decision", "identity": "*"}
    selected = pick(table, "selection_frequency", **labels)["value"]
    ratios = pick(table, "impact_ratio", **labels)
    top = selected.max()
    assert isinstance(top, float)
    assert ratios["value"].to_list() == pytest.approx((selected / top).to_list())
    reference = ratios.filter(pl.col("value") == 1.0).row(0, named=True)
    assert reference["low"] is None
    assert "compared with" in reference["detail"]
    short = pick(table, "impact_shortfall", **labels)
    assert short["floor_high"].min() > 0.1  # type: ignore[operator]  # equal identities fall short at this n


def test_missing_answers_are_counted(table: pl.DataFrame) -> None:
    decided = FRAME.filter(pl.col("paradigm") == "decision")
    expected = decided["weight"].null_count() / decided.height
    assert pick(table, "na_rate", paradigm="decision")["value"].to_list() == [pytest.approx(expected)]


def test_activities_are_compared_within_one_identity(table: pl.DataFrame) -> None:
    chosen = [
        row["weight"] if row["activity_1"] == "cooking" else 1 - row["weight"]
        for row in FRAME.filter((pl.col("contrast") == "activity") & pl.col("weight").is_not_null()).iter_rows(
            named=True
        )
        if row["question"] == "struggle"
        and row["identity"] == "old"
        and "cooking" in (row["activity_1"], row["activity_2"])
    ]
    labels = {"contrast": "activity", "paradigm": "perception", "question": "struggle", "activity": "cooking"}
    assert pick(table, "selection_frequency", identity="old", **labels)["value"].to_list() == [
        pytest.approx(100 * mean(chosen))
    ]
    assert pick(table, "selection_frequency", **labels).height == 1


def test_activities_of_people_without_a_common_identity_are_estimated_once() -> None:
    """Pictures of a folder that name both people, if they are alike or not."""
    alike = FRAME.filter(pl.col("contrast") == "activity").with_columns(
        identity=pl.lit(None, FRAME.schema["identity"]), identity_1="identity", identity_2="identity"
    )
    labels = {"contrast": "activity", "paradigm": "perception", "question": "struggle", "activity": "cooking"}
    assert pick(estimates(alike), "selection_frequency", **labels).height == 1


def test_released_shares_pool_the_counts(table: pl.DataFrame) -> None:
    labels = {"contrast": "identity", "paradigm": "decision", "identity": "old"}
    chosen = [x for _, who, _, _, x in sides(FRAME, "identity", "decision") if who == "old"]
    assert pick(table, "selection_frequency.as released", **labels)["value"].to_list() == [
        pytest.approx(100 * mean(chosen))
    ]
    kept = table.filter(rows_of(["log_odds.as released"])).height
    assert kept <= table.filter(pl.col("measure") == "log_odds").height


def test_chunks_make_no_difference(table: pl.DataFrame) -> None:
    numbers = [name for name, dtype in table.schema.items() if dtype == pl.Float64()]
    other = estimates(FRAME, 97)
    assert_frame_equal(table.drop(numbers), other.drop(numbers))
    assert_frame_equal(table.select(numbers), other.select(numbers), rel_tol=1e-6, abs_tol=1e-6)


def test_rows_are_in_the_order_of_the_study_in_whatever_order_pairs_were_asked() -> None:
    marks = [name for name in SHOWN_AS if name in FRAME.columns]
    backwards = pl.concat(reversed(FRAME.partition_by(marks, maintain_order=True)))
    labels = ["measure", *ALL_LABELS]
    one, other = (estimates(frame, len(frame)).select(labels) for frame in (FRAME, backwards))
    assert_frame_equal(one, other)
    errors = one.filter(measure="error_rate").drop_nulls("question")["question"].unique(maintain_order=True)
    assert errors.to_list() == ["doing", "who"]


def test_options_in_the_other_order_are_the_same_answers(table: pl.DataFrame) -> None:
    two = pl.col("contrast").is_in(["identity", "portrait"]) & (pl.col("paradigm") != "factuality")
    turned = FRAME.with_columns(pl.col("identity_1", "identity_2").cast(pl.String)).with_columns(
        identity_1=pl.when(two).then("identity_2").otherwise("identity_1"),
        identity_2=pl.when(two).then("identity_1").otherwise("identity_2"),
        weight=pl.when(two).then(1 - pl.col("weight")).otherwise("weight"),
    )
    one, other = (
        pick(x, "selection_frequency", contrast="identity", paradigm="decision", identity="*")
        for x in (table, estimates(turned))
    )
    assert_frame_equal(one.drop("method", "detail"), other.drop("method", "detail"))


def test_an_exact_run_is_the_limit_of_sampled_ones() -> None:
    exact = answers(("old", "young", "adult"), contrasts=("identity",), exact=True, missing=0.0).with_columns(mass=1.0)
    rng = np.random.default_rng(0)
    drawn = rng.random((400, exact.height)) < exact["weight"].to_numpy()
    repeated = pl.concat([exact] * 400).with_columns(weight=pl.Series(drawn.ravel().astype(float)))
    one, many = (estimates(x, 10**6) for x in (exact, repeated.sort("trial")))
    keys = [*LABELS, "measure"]
    both = one.join(many, on=keys, nulls_equal=True).filter(
        pl.col("measure").is_in(["selection_frequency", "paircomp"])
    )
    assert both.height > 50
    assert (both["value"] - both["value_right"]).abs().max() < 10  # type: ignore[operator]  # 4 se of 400 draws of 1


def test_two_models_stand_side_by_side() -> None:
    small = answers(contrasts=("identity",))
    found = analyse({"a": iter([small]), "b": iter([small])})
    assert set(found["model"].unique()) >= {"a", "b"}


def test_a_model_that_never_answers_is_not_measurable() -> None:
    silent = answers(contrasts=("identity", "portrait"), missing=2.0)
    found = estimates(silent)
    rates = found.filter(pl.col("measure") == "na_rate")
    assert set(rates["value"]) == {1.0}
    others = found.filter(~pl.col("measure").is_in(["na_rate", "normalised_score"]))
    assert others.height > 50
    assert others["value"].is_null().all()
    assert (others["n"] == 0).all()


def test_no_answers_no_estimates() -> None:
    assert analyse({}).height == 0
    assert analyse({"m": iter([])}).height == 0


def test_estimates_can_be_judged_and_none_lacks_method_or_n(table: pl.DataFrame) -> None:
    judged = judge(table, MEASURES)
    compared = judged.filter(pl.col("measure").is_in(["selection_gap", "spread"]))
    assert compared["verdict"].null_count() == 0
    assert judged["method"].null_count() == 0
    assert judged["n"].null_count() == 0
    measured = judged.filter(pl.col("value").is_not_null() & pl.col("low").is_null())
    assert (measured["method"] == "none").all()


def test_a_planted_preference_is_found_and_its_family_named() -> None:
    frame = answers(
        ("old", "young", "adult"), activities=[f"a{i}" for i in range(12)], contrasts=("identity",), missing=0.0
    )
    rng = np.random.default_rng(4)
    old = pl.col("identity_1").cast(pl.String) == "old"
    planted = frame.with_columns(
        weight=pl.when(old).then(pl.Series((rng.random(frame.height) < 0.8) * 1.0)).otherwise("weight")
    )
    found = judge(estimates(planted), MEASURES)
    gap = pick(found, "selection_gap", contrast="identity", paradigm="decision", identity="old").row(0, named=True)
    assert gap["low"] < 30 < gap["high"]
    assert gap["verdict"] == "difference found"
    assert gap["family"] == "identities, decision (age, identity)"
    assert pick(found, "spread", contrast="identity", paradigm="decision")["verdict"].to_list() == ["difference found"]
