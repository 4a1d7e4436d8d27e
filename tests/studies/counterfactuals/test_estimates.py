"""Estimates of counterfactual sets: planted effects are found, and what is not there is no zero."""

import itertools

import numpy as np
import polars as pl
import pytest

from facevalue.answers import NA_DTYPE
from facevalue.measures.cells import MISSING_FAMILY
from facevalue.measures.cluster_bootstrap import values_only
from facevalue.measures.definitions import rows_of
from facevalue.protocol.study import Study
from facevalue.studies.counterfactuals import measures as m
from facevalue.studies.counterfactuals.settings import LEAD
from tests.measure_keys import by_key
from tests.studies.counterfactuals.answered import REFUSED, SCORE, UNREAD, answered, designed, manifest, measured


def _planted(group: str, rng: np.random.Generator) -> str:
    return "greedy planted" if group == "obese male" and rng.random() < 0.5 else "hat"


@pytest.fixture(scope="module")
def found() -> pl.DataFrame:
    design = designed(manifest(24), ratings=("hiring", "salary"))
    effects = {"obese male": 0.2}
    answers = answered(design, say=_planted, shift=effects, rated={"obese male": -2}, refused={"old female": 0.1})
    return measured(design, answers)


def _rows(found: pl.DataFrame, measure: str, **labels: str | None) -> pl.DataFrame:
    out = found.filter(rows_of([measure]))
    for name, level in labels.items():
        out = out.filter(pl.col(name).is_null() if level is None else pl.col(name) == level)
    return out


def test_every_measure_that_is_declared_is_taken_and_no_other(found: pl.DataFrame) -> None:
    assert set(found["measure"]) == {one.name for one in m.MEASURES} - {"noted_share"} | {"spread"}


def test_every_estimate_has_a_count_and_a_method(found: pl.DataFrame) -> None:
    assert found.select("n", "clusters", "method", "detail").null_count().row(0) == (0, 0, 0, 0)
    assert (found["n"] > 0).all()


def test_planted_scores_are_found_in_ranges_differences_and_tails(found: pl.DataFrame) -> None:
    ranges = _rows(found, "max_score")
    assert ranges["scorer"].to_list() == ["lexical"] * 2
    assert ranges["score"].to_list() == ["hostility"] * 2
    assert ((ranges["value"] > ranges["floor_high"]) & (ranges["q"] < 0.05)).all()
    gaps = _rows(found, "gap_from_alike", group="obese male").drop_nulls("scorer")
    assert gaps["value"].to_list() == pytest.approx([0.2] * 2, abs=0.03)
    assert (gaps["q"] < 0.001).all()
    tails = _rows(found, "tail_share", prompt="describe")
    assert tails["value"].sum() == pytest.approx(1)
    assert tails.sort("value")["group"][-1] == "obese male"


def test_a_planted_word_tops_the_list_of_its_group_and_no_other(found: pl.DataFrame) -> None:
    strict = _rows(found, "pmi.group words masked").filter(pl.col("q") < 0.05)
    assert set(strict["group"]) == {"obese male"}
    assert set(strict["word"]) == {"planted", "greedy"}
    assert set(_rows(found, "pmi_least").select("group", "word").rows()) == {("obese male", w) for w in strict["word"]}
    gap = _rows(found, "gap_from_alike.word_share", word_list="coldness", group="obese male")
    assert (gap["q"] < 0.01).all()


def test_ratings_have_means_differences_and_places_among_groups(found: pl.DataFrame) -> None:
    assert _rows(found, "gap_from_alike.rating", group="obese male")["value"][0] == pytest.approx(-2, abs=0.5)
    place = _rows(found, "group_deviation.rating", prompt="hiring")
    assert place.sort("value")["group"][0] == "obese male"
    assert place["value"].sum() == pytest.approx(0, abs=1e-9)
    assert place["value"].to_numpy().std(ddof=1) == pytest.approx(1)
    assert _rows(found, "mean.salary", group=None)["value"][0] == pytest.approx(50_000, rel=0.1)


def test_refusals_are_counted_by_group_and_leave_their_draws_out(found: pl.DataFrame) -> None:
    refused = _rows(found, "refusal_rate", prompt="describe")
    assert refused.filter(pl.col("value") > 0)["group"].to_list() == ["old female", None]
    own = _rows(found, "na_rate", prompt="describe", reason="refused", group="old female")["value"][0]
    out = _rows(found, "sets_left_out", prompt="describe")
    assert out["value"][0] == pytest.approx(own)
    assert _rows(found, "max_score", prompt="describe")["n"][0] == 72 - round(72 * own)


def test_lengths_are_bounded_by_the_longest_reply_that_was_allowed() -> None:
    """Replies have 8 or 9 words; of one group 3 in 10 are missing, which may have had as many words as tokens."""
    design = designed(manifest(), ["describe"])
    answers = answered(design, refused={"old male": 0.3}, say=lambda _, rng: "hat" if rng.random() < 0.5 else "")
    long, short = (
        _rows(measured(design, answers, longest=longest), "gap_from_alike.length", group="old male").row(0, named=True)
        for longest in (50, 4)
    )
    missing = answers.filter(pl.col("group").cast(pl.String) == "old male")["open"].is_null().to_numpy().mean()
    assert long["bound_high"] - short["bound_high"] == pytest.approx(missing * (50 - 9)), "9 show what is possible"
    assert long["bound_low"] == short["bound_low"] < -missing * 8 / 2


def test_ranges_have_bounds_for_scores_that_are_missing() -> None:
    design = designed(manifest(), ["describe"])
    found = measured(design, answered(design, refused={"old male": 0.3}))
    for measure in ("max_score", "max_score_q90", "max_score_quantile"):
        rows = _rows(found, measure)
        assert (rows["bound_low"] <= rows["value"]).all()
        assert (rows["bound_high"] >= rows["value"]).all()
        assert (rows["bound_high"] > rows["bound_low"]).any()
    assert _rows(found, "max_score")["bound_se"].is_not_null().all()


def test_occupations_of_enough_sets_are_told_and_whose_words_are_fewest(found: pl.DataFrame) -> None:
    told = _rows(found, "mean.word_share", word_list="competence").filter(pl.col("occupation").is_not_null())
    assert set(told["occupation"]) == {"chef", "nurse"}
    assert set(told["prompt"]) == {"characteristics"}
    fewest = _rows(found, "fewest_share", word_list="competence")
    assert fewest["value"].sum() == pytest.approx(1)
    assert (fewest["n"] == 2).all()


def _with_chefs_apart(*prompts: str, refused: dict[str, float] | None = None) -> tuple[Study, pl.DataFrame]:
    """Obese men get higher scores where they are chefs, and only there."""
    design = designed(manifest(40), prompts)
    plain, apart = (
        answered(design, shift=shift, refused=refused).with_columns(text=pl.lit(None, pl.String))
        for shift in ({}, {"obese male": 0.3})
    )
    chefs = plain["occupation"].cast(pl.String) == "chef"
    return design, pl.concat([apart.filter(chefs), plain.filter(~chefs)]).sort("trial")


def test_scores_by_occupation_tell_where_groups_lie_apart() -> None:
    design, answers = _with_chefs_apart("describe", "characteristics")
    found = measured(design, answers)
    means, spreads = _rows(found, "occupation_score"), _rows(found, "occupation_spread")
    assert set(means["prompt"]) == set(spreads["prompt"]) == {"characteristics"}
    assert means.height == 2 * 4
    for name, rows in means.group_by("occupation"):
        about = {"occupation": pl.lit(name[0]), "prompt": "characteristics"}
        spread = spreads.filter(occupation=name[0]).row(0, named=True)
        assert spread["value"] == pytest.approx(rows["value"].to_numpy().std(ddof=1))
        assert spread["n"] == rows["n"].sum() == 20 * 4 * 3
        own = answers.filter(pl.col("group") == "obese male", **about)[SCORE]
        assert rows.filter(group="obese male")["value"][0] == pytest.approx(own.mean())
        assert rows.filter(group="obese male")["clusters"][0] == 20
    chef, nurse = (spreads.filter(occupation=name).row(0, named=True) for name in ("chef", "nurse"))
    assert 0.05 < chef["low"] < chef["value"] < chef["high"]
    assert chef["value"] > chef["floor_high"] > chef["floor"] > 0
    assert nurse["low"] == 0.0
    assert nurse["value"] < nurse["floor_high"]
    assert spreads.select("p", "family").null_count().row(0) == (2, 2)  # told, not tested


def test_scores_by_occupation_need_enough_sets_scores_and_a_known_occupation() -> None:
    design, answers = _with_chefs_apart("story")
    for made in (
        measured(design, answers, sets=21),
        measured(design, answers.with_columns(pl.lit(None, pl.Float64).alias(SCORE))),
        measured(designed(manifest(10).with_columns(occupation=pl.lit(None, pl.String))), answers.clear()),
    ):
        assert made.filter(pl.col("measure").str.starts_with("occupation_")).is_empty()


def test_scores_by_occupation_have_bounds_for_missing_replies_and_compare_within_sets() -> None:
    design, answers = _with_chefs_apart("story", refused={"old female": 0.6})
    found = measured(design, answers)
    for rows in (_rows(found, "occupation_score"), _rows(found, "occupation_spread")):
        assert (rows["bound_low"] <= rows["value"]).all()
        assert (rows["value"] <= rows["bound_high"]).all()
    means = _rows(found, "occupation_score", occupation="nurse")
    width = dict(zip(means["group"], means["bound_high"] - means["bound_low"], strict=True))
    kept = means.filter(group="old female")["n"][0]
    assert width["old female"] == pytest.approx(1 - kept / 60)  # scores lie within 0 and 1
    assert width["old male"] == pytest.approx(0)


def test_scores_by_occupation_of_sets_that_lack_replies_are_those_of_least_squares() -> None:
    """By hand: a column for each set and each group, so that groups are compared within sets."""
    design, answers = _with_chefs_apart("story", refused={"old female": 0.6})
    found = measured(design, answers)
    for occupation in ("chef", "nurse"):
        scored = answers.filter(pl.col("occupation").cast(pl.String) == occupation).drop_nulls(SCORE)
        groups, sets = (np.array(scored[name].cast(pl.String)) for name in ("group", "set"))
        names = sorted(set(groups))
        columns = [sets == name for name in sorted(set(sets))] + [groups == name for name in names]
        solved = np.linalg.lstsq(np.stack(columns, axis=1).astype(float), scored[SCORE].to_numpy(), rcond=None)[0]
        spread = _rows(found, "occupation_spread", occupation=occupation)
        assert spread["value"][0] == pytest.approx(solved[-len(names) :].std(ddof=1))
        assert spread["n"][0] == scored.height
        means = _rows(found, "occupation_score", occupation=occupation)
        for name, value, n in means.select("group", "value", "n").iter_rows():
            assert value == pytest.approx(scored[SCORE].to_numpy()[groups == name].mean())
            assert n == (groups == name).sum()


def test_no_scores_of_refused_replies_lead_outside_the_bounds_by_occupation() -> None:
    design = designed(manifest(12), ["story"])
    answers = answered(design, refused={"old female": 0.4, "obese male": 0.2}).with_columns(
        text=pl.lit(None, pl.String)
    )
    before = measured(design, answers)
    filled = pl.when(pl.col("group").cast(pl.String) == "old female").then(1.0).otherwise(0.0)
    whole = answers.with_columns(pl.col(SCORE).fill_null(filled), reason=pl.lit(None, pl.String))
    after = measured(design, whole)
    for measure in ("occupation_score", "occupation_spread"):
        one, other = (_rows(made, measure).sort("occupation", "group") for made in (before, after))
        assert (other["value"] >= one["bound_low"] - 1e-9).all()
        assert (other["value"] <= one["bound_high"] + 1e-9).all()
        np.testing.assert_allclose(other["bound_low"], other["bound_high"], atol=1e-9)
    assert _rows(before, "occupation_spread")["value"].to_list() != _rows(after, "occupation_spread")["value"].to_list()


def test_a_score_that_never_changes_has_no_spread_and_no_interval_of_one() -> None:
    design, answers = _with_chefs_apart("story")
    found = _rows(measured(design, answers.with_columns(pl.lit(2.0).alias(SCORE))), "occupation_spread")
    assert found["value"].to_list() == [0.0, 0.0]
    assert set(found["detail"]) == {"no set differs from another, or there is one alone"}
    assert found.select("low", "high", "floor").null_count().row(0) == (2, 2, 2)


def test_order_and_size_of_chunks_do_not_matter() -> None:
    design = designed(manifest(8), ratings=("hiring",))
    answers = answered(design, say=_planted)
    one, other = measured(design, answers), measured(design, answers.sample(fraction=1, shuffle=True, seed=3))
    assert one.select(pl.exclude(pl.Float64)).equals(other.select(pl.exclude(pl.Float64)))
    for name in ("value", "low", "high", "p", "q", "floor"):
        np.testing.assert_allclose(one[name].to_numpy(), other[name].to_numpy(), rtol=1e-9, atol=1e-12)


def test_doubled_texts_leave_scores_of_words_and_double_their_counts() -> None:
    design = designed(manifest(10))
    answers = answered(design, say=_planted)
    twice = pl.concat([answers, answers.with_columns(repeat=pl.lit(1, pl.UInt8))])
    one, two = (_rows(measured(design, own, frequency=6), "pmi_least") for own in (answers, twice))
    assert two["word"].to_list() == one["word"].to_list()
    assert two["n"].to_list() == [2 * n for n in one["n"]]
    shares = [_rows(measured(design, own), "mean.word_share")["value"] for own in (answers, twice)]
    np.testing.assert_allclose(shares[0], shares[1])


def test_a_partial_set_is_in_means_and_in_no_range() -> None:
    frame = manifest(10).filter(pl.col("image") != "age3/old male")
    design = designed(frame)
    found = measured(design, answered(design))
    assert _rows(found, "max_score", prompt="describe")["clusters"][0] == 9
    assert _rows(found, "mean", prompt="describe", group="old female")["clusters"][0] == 10


def test_images_of_no_set_have_no_ranges_but_means_tails_and_words() -> None:
    frame = manifest(30).with_columns(set=pl.lit(None, pl.String))
    design = designed(frame)
    found = measured(design, answered(design, say=_planted, shift={"obese male": 0.2}))
    assert not set(by_key(found)["measure"]) & {
        "max_score",
        "gap_from_alike",
        "tail_share",
        "gap_from_alike.word_share",
    }
    tails = _rows(found, "score_q90", prompt="describe")
    assert tails.sort("value")["group"][-1] == "obese male"
    assert tails["low"].null_count() == 0
    strict = _rows(found, "pmi.group words masked").filter(pl.col("q") < 0.05)
    assert set(strict.select("group", "word").rows()) == {("obese male", "planted"), ("obese male", "greedy")}


def test_one_draw_has_ranges_without_a_floor() -> None:
    design = designed(manifest(10), replies=1)
    row = _rows(measured(design, answered(design)), "max_score", prompt="describe")
    assert row["value"][0] is not None
    assert row.select("floor", "floor_high", "p").null_count().row(0) == (1, 1, 1)


def test_a_set_of_one_subset_and_a_subset_of_one_group_are_no_error() -> None:
    for frame in (manifest(1), manifest(5, ("old male",)), manifest(1, ("old male",))):
        design = designed(frame, ratings=("hiring",))
        found = measured(design, answered(design))
        assert _rows(found, "mean", prompt="describe", group="old male")["value"][0] is not None


def test_without_annotations_there_are_no_scores() -> None:
    design = designed(manifest(8), ratings=("hiring",))
    found = measured(design, answered(design).drop(SCORE))
    assert found.filter(pl.col("scorer").is_not_null()).is_empty()
    assert {"gap_from_alike.rating", "gap_from_alike.length", "gap_from_alike.word_share"} <= set(
        by_key(found)["measure"]
    )


def test_ratings_alone_are_measured() -> None:
    design = designed(manifest(8), questions=(), ratings=("hiring",))
    found = measured(design, answered(design))
    assert set(found["prompt"].drop_nulls()) == {"hiring"}
    assert set(by_key(found)["measure"]) == {
        "mean.rating",
        "gap_from_alike.rating",
        "gap_from_mean.rating",
        "groups_apart.rating",
        "group_deviation.rating",
        "na_rate",
        "refusal_rate",
        "gap_from_alike.refusal",
        "gap_from_mean.refusal",
        "spread.no valid answer",
    }


def test_part_of_the_trials_gives_what_there_is() -> None:
    design = designed(manifest(12), ratings=("hiring",))
    answers = answered(design)
    some = (pl.col("set").cast(pl.String).cast(pl.Int64) < 5) & (pl.col("draw").cast(pl.String) != "2")
    sample = answers.filter(some & (pl.col("prompt").cast(pl.String) == "describe"))
    found = measured(design, sample)
    assert set(found["prompt"].drop_nulls()) == {"describe"}
    assert _rows(found, "max_score")["n"].to_list() == [10]
    assert set(measured(design, answers.clear())["measure"]) == {"spread", "scorer_shift"}


def test_repeats_are_further_draws() -> None:
    design = designed(manifest(6))
    found = measured(design, answered(design, repeats=2))
    assert _rows(found, "max_score", prompt="describe")["n"][0] == 6 * 3 * 2


def test_models_are_measured_side_by_side() -> None:
    design = designed(manifest(6))
    found = measured(design, answered(design), answered(design, 1))
    one, two = (found.filter(pl.col("model") == f"model {at}") for at in (0, 1))
    assert one["measure"].unique().sort().equals(two["measure"].unique().sort())
    assert not one["value"].equals(two["value"])


def test_notes_of_numbers_are_counted() -> None:
    design = designed(manifest(6), questions=(), ratings=("salary",))
    answers = answered(design).with_columns(note=pl.when(pl.col("group") == "old male").then(pl.lit("hourly")))
    rows = _rows(measured(design, answers), "noted_share", reason="hourly")
    assert dict(zip(rows["group"], rows["value"], strict=True))["old male"] == 1.0


@pytest.mark.slow
def test_nothing_planted_gives_few_findings() -> None:
    design = designed(manifest(20), ratings=("hiring",))
    found = [measured(design, answered(design, seed)).filter(pl.col("q") < 0.05) for seed in range(5)]
    families = [own.select("measure", "family").unique().height for own in found]
    tested = measured(design, answered(design))["family"].n_unique() - 1
    assert sum(families) <= 0.15 * 5 * tested + 2


def test_values_alone_are_the_same(found: pl.DataFrame) -> None:
    design = designed(manifest(6), ratings=("hiring",))
    answers = answered(design)
    whole = measured(design, answers)
    with values_only():
        bare = measured(design, answers)
    keys = ["measure", "task", "dimension", "prompt", "group", "score", "word_list", "quantile", "occupation", "reason"]
    both = bare.join(whole, on=keys, nulls_equal=True)
    assert both.height == bare.height
    np.testing.assert_allclose(both["value"], both["value_right"])


@pytest.mark.parametrize("variant", ["CSV", "lines"])
def test_lists_of_the_user_are_counted(tmp_path: object, variant: str) -> None:
    path = f"{tmp_path}/hats.{'csv' if variant == 'CSV' else 'txt'}"
    with open(path, "w", encoding="utf-8") as file:  # noqa: PTH123
        file.write("word,dimension,sign\nhat,hats,1\n" if variant == "CSV" else "Hat\n")
    design = designed(manifest(6))
    found = _rows(measured(design, answered(design), words=path), "mean.word_share", group=None, prompt="describe")
    assert found["word_list"].to_list() == ["hats"]
    assert 0.05 < found["value"][0] < 0.2


def test_families_are_named_in_one_place(found: pl.DataFrame) -> None:
    names = {name.split(" (")[0] for name in found["family"].drop_nulls()}
    assert names == {m.RANGES, m.GROUP_SCORES, m.GROUP_RATINGS, m.GROUP_SALARIES, m.GROUP_WORDS, m.GROUP_LENGTHS,
                     m.GROUP_REFUSALS, m.TAILS, m.ASSOCIATED, MISSING_FAMILY}  # fmt: skip
    assert set(LEAD) <= names
    assert not [pair for pair in itertools.permutations(names, 2) if pair[0].startswith(pair[1])]


_ALIKE = ("prompt", "group", "value", "se", "floor", "n", "clusters")


def _refused(repeats: int = 1) -> tuple[Study, pl.DataFrame]:
    """Refusals of one group's pictures, to the first prompt alone."""
    design = designed(manifest(24))
    plain, other = (answered(design, refused=share, repeats=repeats) for share in ({}, {"old female": 0.3}))
    first = plain["prompt"].cast(pl.String) == "describe"
    return design, pl.concat([other.filter(first), plain.filter(~first)]).sort("trial", "repeat")


@pytest.mark.parametrize("repeats", [1, 2])
def test_released_quantities_are_ours_where_refusals_are_replies_like_others(repeats: int) -> None:
    design, answers = _refused(repeats)
    found = measured(design, answers)
    scored = answers.with_columns(
        pl.coalesce(SCORE, REFUSED).alias(SCORE), reason=pl.lit(None, pl.String), na=pl.lit(None, NA_DTYPE), mass=1.0
    )
    alike = measured(
        design, scored.with_columns(pl.lit(None, pl.Float64).alias(name) for name in (UNREAD, REFUSED))
    ).filter(prompt="describe")
    for one in m.RELEASED.values():
        ours = _rows(alike, one.name.removesuffix("_released")).filter(score="hostility").select(_ALIKE)
        assert _rows(found, one.name).select(_ALIKE).equals(ours)
        assert _rows(found, one.name)["family"].null_count() == ours.height > 0
        without = _rows(found, one.name).filter(pl.col("low").is_null())
        assert {*without["detail"]} <= {"the clusters that were seen give no spread"}
    largest = _rows(found, "tail_share_released").sort("value")
    assert largest["group"][-1] == "old female"
    assert largest["value"][-1] > 0.9


def test_refusals_that_are_scored_change_nothing_of_ours() -> None:
    design, answers = _refused()
    released = pl.col("measure").str.ends_with("_released")
    without = measured(design, answers.with_columns(pl.lit(None, pl.Float64).alias(name) for name in (UNREAD, REFUSED)))
    assert without.filter(released).is_empty()
    assert measured(design, answers).filter(~released).equals(without)


def test_refusals_that_a_scorer_has_not_read_are_no_scores_of_zero() -> None:
    design, answers = _refused()
    one = pl.col("trial") == answers.filter(pl.col("declined").is_not_null())["trial"][-1]
    unread = measured(design, answers.with_columns(pl.when(one).then(1.0).otherwise(UNREAD).alias(UNREAD)))
    rows = unread.filter(pl.col("measure").str.ends_with("_released"))
    assert sorted(rows["measure"]) == sorted(one.name for one in m.RELEASED.values())
    assert set(rows["detail"]) == {"not measurable: refused replies were not scored; run annotate again"}
    assert rows["value"].null_count() == rows.height


def test_refusals_that_a_scorer_can_not_score_are_left_out() -> None:
    design, answers = _refused()
    found = measured(design, answers.with_columns(pl.lit(None, pl.Float64).alias(REFUSED)))
    for one in ("max_score", "mean"):
        ours = _rows(found, one, prompt="describe", score="hostility").select(_ALIKE)
        assert _rows(found, f"{one}_released").select(_ALIKE).equals(ours)


def test_a_model_that_refuses_all_has_released_numbers_alone() -> None:
    design = designed(manifest(12))
    found = measured(design, answered(design, refused=dict.fromkeys(manifest(1)["group"], 1.0)))
    assert _rows(found, "max_score").is_empty()
    assert _rows(found, "mean_released")["value"].to_list() == [2.0] * 10
    assert _rows(found, "max_score_released")["value"].to_list() == [0.0] * 2
