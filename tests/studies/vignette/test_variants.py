"""Paraphrases, positional answers, and answers without the picture."""

from typing import Any

import numpy as np
import polars as pl
import pytest
from scipy import stats

from facevalue.measures.definitions import rows_of
from facevalue.measures.estimates import EstimateTable
from facevalue.measures.judgment import judge
from facevalue.studies.vignette.aggregate import SHOWN_AS, whole_stimuli
from facevalue.studies.vignette.comparisons import Variants
from facevalue.studies.vignette.measures import LABELS, MEASURES, VISION_MINUS_TEXT
from tests.measure_keys import by_key
from tests.studies.vignette.simulated import DECISION, DOING, PERCEPTION, TERMS, answered, chunks, prefers

BOTH = {"shown": ["picture", "text"]}
REFERENCES = {"reference": ["identity", "position"]}
WORDINGS = {"wording": ["1", "2", "3"]}


def estimates(frame: pl.DataFrame, size: int = 150) -> pl.DataFrame:
    variants = Variants()
    for chunk in whole_stimuli(chunks(frame, size), SHOWN_AS):
        variants.add(chunk)
    table = EstimateTable("vignette", "m", LABELS)
    variants.write(table)
    return table.frame()


def of(found: pl.DataFrame, measure: str, **labels: str | None) -> pl.DataFrame:
    return found.filter(rows_of([measure]), *(pl.col(name).eq_missing(level) for name, level in labels.items()))


def shifted(level: tuple[str, str], identity: str, by: float) -> Any:
    """Even chances, but for one identity under one level of a variant."""

    def chance(row: dict[str, Any]) -> float:
        if row[level[0]] != level[1] or identity not in (row["identity_1"], row["identity_2"]):
            return 0.5
        return 0.5 + (by if row["identity_1"] == identity else -by)

    return chance


def test_a_run_without_variants_has_no_comparisons() -> None:
    found = estimates(answered(prefers({})))
    assert set(by_key(found)["measure"]) == {"place_share.first", "place_share.left"}


@pytest.mark.parametrize("size", [5, 64, 10_000])
def test_estimates_do_not_depend_on_the_chunks(size: int) -> None:
    frame = answered(
        prefers({"old": -1.0}),
        DECISION + PERCEPTION,
        variants=BOTH | REFERENCES | WORDINGS,
        missing=0.05,
        genders=["male"],
    )
    keys = ["measure", "paradigm", "question", "dimension", "identity"]
    one, other = (estimates(frame, s).sort(keys) for s in (size, 500))
    assert one.select(keys).equals(other.select(keys))
    for column in ("value", "low", "high", "se", "p", "q", "floor", "n"):
        assert one[column].to_list() == pytest.approx(other[column].to_list(), nan_ok=True)


def test_every_estimate_has_a_definition_n_and_method() -> None:
    found = estimates(answered(prefers({}), DECISION + TERMS, variants=BOTH | REFERENCES | WORDINGS))
    variants = MEASURES[MEASURES.index(VISION_MINUS_TEXT) :]
    assert set(found["measure"].to_list()) == {measure.name for measure in variants}
    assert found.select("n", "method", "detail", "unit", "source").null_count().row(0) == (0, 0, 0, 0, 0)


@pytest.mark.parametrize(("measure", "variants"), [("vision_minus_text", BOTH), ("positional_shift", REFERENCES)])
def test_the_shift_is_the_difference_of_the_two_frequencies(measure: str, variants: dict[str, list[str]]) -> None:
    sign = 1 if measure == "vision_minus_text" else -1
    name, level = next(iter(variants)), next(iter(variants.values()))[0]
    found = estimates(answered(shifted((name, level), "old", 0.2), variants=variants, exact=True))
    rows = of(found, measure, paradigm="decision")
    by = dict(rows.select("identity", "value").iter_rows())
    # old stands in every pair of its own, each other identity in one of three with it.
    assert by == pytest.approx(
        {"old": 20 * sign, "adult": -20 / 3 * sign, "child": -20 / 3 * sign, "young": -20 / 3 * sign}
    )
    assert rows.select("contrast", "dimension", "question").unique().rows() == [("identity", "age", None)]
    assert rows["family"].unique().to_list() == [f"{measure.replace('_', ' ')}, decision, age"]


def test_perception_is_compared_question_by_question() -> None:
    found = estimates(answered(shifted(("shown", "picture"), "old", 0.2), PERCEPTION, variants=BOTH, exact=True))
    rows = of(found, "vision_minus_text", identity="old")
    assert dict(rows.select("question", "value").iter_rows()) == pytest.approx(
        {"capability": 20, "dislike": 20, "enjoyment": 20, "struggle": 20}
    )


def test_terms_of_low_valence_are_turned_round() -> None:
    frame = answered(
        shifted(("shown", "picture"), "old", 0.2),
        TERMS,
        variants=BOTH,
        exact=True,
        contrast="portrait",
        activities=[None],
    )
    assert of(estimates(frame), "vision_minus_text", identity="old")["value"].item() == pytest.approx(0.0)


def test_a_shift_is_found_and_no_shift_is_not() -> None:
    activities = [str(k) for k in range(30)]
    found = estimates(
        answered(shifted(("reference", "position"), "old", 0.3), activities=activities, variants=REFERENCES)
    )
    shift = of(found, "positional_shift", identity="old").row(0, named=True)
    assert shift["low"] < 30 < shift["high"]
    assert shift["low"] > 0
    assert shift["q"] < 0.05
    none = estimates(answered(prefers({"old": -1.0}), activities=activities, variants=REFERENCES, seed=5))
    assert of(none, "positional_shift")["q"].min() >= 0.05  # type: ignore[operator]


def test_intervals_of_a_shift_cover_and_its_p_values_keep_their_level() -> None:
    """Answers that agree by pair, as a model's do; the truth is no shift."""
    hits, small = [], []
    for seed in range(60):
        rng = np.random.default_rng(seed)
        pairs: dict[Any, float] = {}

        def chance(row: dict[str, Any], pairs: dict[Any, float] = pairs, rng: np.random.Generator = rng) -> float:
            key = (row["gender"], row["identity_1"], row["identity_2"], row["activity"])
            return pairs.setdefault(key, float(1 / (1 + np.exp(-rng.normal(0, 1.5)))))

        rows = of(estimates(answered(chance, variants=BOTH, seed=seed), 10_000), "vision_minus_text")
        hits += ((rows["low"] <= 0) & (rows["high"] >= 0)).to_list()
        small += (rows["p"] < 0.05).to_list()
    # 240 intervals, four to a run that depend on each other: error about .02.
    assert 0.90 <= np.mean(hits) <= 1.0
    assert np.mean(small) <= 0.10


def test_only_prompts_with_both_answers_are_compared() -> None:
    frame = answered(prefers({}), identities=["adult", "old"], variants=BOTH)
    gone = frame.with_columns(
        weight=pl.when((pl.col("shown") == "text") & (pl.col("activity") != "cooking")).then(None).otherwise("weight")
    )
    rows = of(estimates(gone), "vision_minus_text")
    assert rows["n"].to_list() == [4, 4]  # two genders, two questions


def test_vision_is_not_compared_where_only_text_was_asked() -> None:
    found = estimates(answered(prefers({}), variants={"shown": ["text"]}))
    assert set(by_key(found)["measure"]) == {"place_share.first"}


def test_what_a_person_does_has_no_positional_answer() -> None:
    found = estimates(answered(prefers({}), DOING, variants=REFERENCES))
    assert of(found, "positional_shift").height == 0


def test_the_correlation_is_that_of_the_frequencies() -> None:
    strength = {name: k / 3 for k, name in enumerate("abcdefgh")}
    frame = answered(prefers(strength), DECISION, list(strength), variants=REFERENCES, seed=4)
    found = of(estimates(frame), "positional_correlation", paradigm="decision").row(0, named=True)
    sums: dict[str, dict[str, float]] = {}
    for one, two, reference, weight in frame.select("identity_1", "identity_2", "reference", "weight").iter_rows():
        own = sums.setdefault(reference, dict.fromkeys(strength, 0.0))
        own[one] += weight
        own[two] += 1 - weight
    expected = stats.pearsonr(list(sums["identity"].values()), list(sums["position"].values())).statistic
    assert found["value"] == pytest.approx(expected)
    assert found["low"] < expected < found["high"]
    assert (found["n"], found["dimension"], found["contrast"]) == (8, "age", "identity")


def test_pictures_against_none_have_the_published_z_test_beside_their_own() -> None:
    frame = answered(prefers({"adult": 0.8, "old": -0.5}), variants={"shown": ("picture", "text")}, seed=3)
    found = of(estimates(frame), "vision_minus_text")
    answers = frame.height // 2  # to the questions of decision, with the picture and without
    for row in found.iter_rows(named=True):
        counts = [
            frame.filter(pl.col("shown") == shown)
            .select(
                pl.when(pl.col("identity_1") == row["identity"]).then("weight").otherwise(0.0)
                + pl.when(pl.col("identity_2") == row["identity"]).then(1 - pl.col("weight")).otherwise(0.0)
            )
            .to_series()
            .sum()
            for shown in ("picture", "text")
        ]
        table = np.array([[x, answers - x] for x in counts], dtype=np.float64)
        known = stats.chi2_contingency(table, correction=False).pvalue
        assert row["p_paper"] == pytest.approx(known), row["identity"]
        assert row["p"] is not None
    assert found.height == 4


def test_match_rates_are_counted_by_question_and_paradigm() -> None:
    def chance(row: dict[str, Any]) -> float:
        return float(row["question"] != "struggle" or row["wording"] != "2")

    found = estimates(answered(chance, [*PERCEPTION, *DOING], variants=WORDINGS))
    assert of(found, "full_match", question="struggle")["value"].item() == 0.0
    assert of(found, "partial_match", question="struggle")["value"].item() == 100.0
    assert of(found, "full_match", paradigm="perception", question=None)["value"].item() == 75.0
    assert of(found, "all_different")["value"].to_list() == [0.0] * of(found, "all_different").height
    assert of(found, "full_match", question="struggle")["floor"].item() == 25.0
    assert of(found, "full_match", question="doing")["floor"].item() == 6.25  # four activities
    assert of(found, "full_match", paradigm="factuality", question=None)["floor"].item() == 6.25


def test_who_has_four_answers_to_agree_on() -> None:
    who = [{"paradigm": "factuality", "question": "who", "about": "1"}]
    frame = answered(lambda row: 0.0, who, contrast="identity-activity", activities=[None], variants=WORDINGS)
    said = pl.col("wording")
    frame = frame.with_columns(
        swapped=(said == "1").cast(pl.Float64), both=(said == "2").cast(pl.Float64), none=(said == "3").cast(pl.Float64)
    )
    found = estimates(frame)
    assert of(found, "all_different", question="who")["value"].item() == 100.0
    assert of(found, "all_different", question="who")["floor"].item() == 37.5


def test_exact_answers_give_expected_match_rates() -> None:
    found = estimates(answered(lambda row: 0.9, variants=WORDINGS, exact=True))
    assert of(found, "full_match", question=None)["value"].to_list() == pytest.approx([100 * (0.9**3 + 0.1**3)])


def test_trials_without_an_answer_to_every_wording_are_not_counted() -> None:
    frame = answered(prefers({}), variants=WORDINGS).with_columns(
        weight=pl.when((pl.col("wording") == "3") & (pl.col("activity") != "cooking")).then(None).otherwise("weight")
    )
    found = of(estimates(frame), "full_match")
    asked: dict[str | None, int] = dict.fromkeys(("ability", "status"), frame.height // 30)  # Table 11: ability
    asked[None] = frame.height // 15
    assert {row["question"]: row["n"] for row in found.iter_rows(named=True)} == asked


def test_three_different_wrong_activities_do_not_match() -> None:
    frame = answered(lambda row: 0.0, DOING, variants=WORDINGS)
    said = pl.col("wording")
    apart = frame.with_columns(wrong_1=(said == "1").cast(pl.Float64), wrong_2=(said == "2").cast(pl.Float64))
    assert of(estimates(apart), "all_different", question="doing")["value"].item() == 100.0
    alike = frame.with_columns(wrong_1=pl.lit(1.0), wrong_2=pl.lit(0.0))
    assert of(estimates(alike), "full_match", question="doing")["value"].item() == 100.0


def test_random_answers_match_as_often_as_the_floor_says() -> None:
    activities = [str(k) for k in range(40)]
    row = of(estimates(answered(lambda row: 0.5, activities=activities, variants=WORDINGS)), "full_match").row(
        0, named=True
    )
    assert row["low"] <= row["floor"] <= row["high"]
    assert row["value"] <= row["floor_high"] + 2
    assert row["p"] > 0.01


@pytest.mark.parametrize(
    ("measure", "column"), [("place_share.first", "listed_first"), ("place_share.left", "left_first")]
)
def test_shares_of_the_first_option_and_the_left_half(measure: str, column: str) -> None:
    found = estimates(answered(lambda row: 0.8 if row[column] else 0.2, exact=True))
    assert of(found, measure, paradigm="decision")["value"].item() == pytest.approx(0.8)
    assert of(found, measure, paradigm="decision")["p"].item() < 0.01
    even = estimates(answered(lambda row: 0.5, seed=9))
    assert of(even, measure)["p"].item() > 0.001


def test_factuality_has_no_first_option_of_two() -> None:
    assert estimates(answered(prefers({}), DOING)).height == 0


@pytest.mark.parametrize(
    ("measure", "variants", "other"),
    [("vision_minus_text", BOTH, "picture"), ("positional_shift", REFERENCES, "position")],
)
def test_bounds_of_a_shift_are_what_missing_answers_of_either_variant_could_make_of_it(
    measure: str, variants: dict[str, list[str]], other: str
) -> None:
    """Every missing answer filled in for "old", and against, in the variant where that counts: attained."""
    (name,) = variants
    frame = answered(prefers({"old": -0.5}), identities=["adult", "old"], variants=variants, seed=4)
    gone = pl.Series(np.random.default_rng(2).random(frame.height) < 0.3)
    lost = frame.with_columns(
        weight=pl.when(gone).then(None).otherwise("weight"), mass=pl.when(gone).then(0.0).otherwise("mass")
    )
    row = of(estimates(lost), measure, identity="old").row(0, named=True)

    def filled(up: bool) -> float:
        for_old = (pl.col(name) == other) == up
        first = pl.col("identity_1") == "old"
        whole = frame.with_columns(weight=pl.when(gone).then((for_old == first).cast(pl.Float64)).otherwise("weight"))
        return float(of(estimates(whole), measure, identity="old")["value"].item())

    assert row["bound_low"] == pytest.approx(filled(up=False))
    assert row["bound_high"] == pytest.approx(filled(up=True))
    assert row["bound_low"] < row["value"] < row["bound_high"]


def test_a_shift_that_withheld_answers_make_says_unless() -> None:
    """Without the picture nobody is preferred; with it, half of the answers for "old" are withheld."""
    activities = [str(k) for k in range(30)]
    frame = answered(prefers({}), activities=activities, variants=BOTH, seed=7)
    chosen = pl.when(pl.col("weight") == 1).then("identity_1").otherwise("identity_2")
    gone = (
        (chosen == "old")
        & (pl.col("shown") == "picture")
        & pl.Series(np.random.default_rng(7).random(frame.height) < 0.5)
    )
    lost = frame.with_columns(
        weight=pl.when(gone).then(None).otherwise("weight"), mass=pl.when(gone).then(0.0).otherwise("mass")
    )
    shift = of(judge(estimates(lost), MEASURES), "vision_minus_text", identity="old").row(0, named=True)
    assert shift["verdict"] == "difference found"
    assert "unless the missing answers" in shift["why"]
