"""Estimates of VisBias on simulated models and on answers whose measures are known."""

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest
from scipy import stats

from facevalue.annotations import sentiment
from facevalue.errors import DataError, DependencyError
from facevalue.measures.definitions import measures_wanted, rows_of
from facevalue.measures.estimates import EstimateTable, estimate_schema
from facevalue.measures.group_shares import Dimension
from facevalue.measures.group_words import FLAT_TEXTS
from facevalue.measures.intervals import split_method
from facevalue.studies.visbias import measures as m
from facevalue.studies.visbias.analysis import Asked, TaskAnswers, add_divergences, add_estimates
from facevalue.studies.visbias.comparisons import OUTCOMES, both_orders
from facevalue.studies.visbias.measures import LABELS
from tests.measure_keys import by_key
from tests.reference import reference
from tests.studies.visbias.simulated import answered, build, estimates, read

SMALL: Mapping[str, Any] = {"forms": 2, "descriptions": 3}


@pytest.fixture(scope="module")
def found() -> pl.DataFrame:
    study = build(**SMALL, species="drawn")
    return estimates(study, answered(study, "default"))


def rows(frame: pl.DataFrame, measure: str, **labels: str | None) -> pl.DataFrame:
    frame = frame.filter(rows_of([measure]))
    for name, level in labels.items():
        frame = frame.filter(pl.col(name).eq_missing(pl.lit(level, pl.String)))
    return frame


def test_every_measure_is_taken_with_its_n_interval_and_method(found: pl.DataFrame) -> None:
    sometimes = {"marked_word_published", m.WORDS_PUBLISHED.key}  # a list that may be empty; of the user's lists
    assert set(by_key(found)["measure"]) | sometimes == {one.key for one in m.MEASURES}
    assert found.schema == pl.Schema(estimate_schema(LABELS))
    measured = found.filter(pl.col("value").is_not_null())
    assert measured["n"].min() > 0  # type: ignore[operator]
    assert measured["method"].null_count() == 0
    bare = measured.filter(pl.col("low").is_null())
    assert (bare["method"] == "none").all()
    assert (measured.drop_nulls("low")["low"] <= measured.drop_nulls("low")["value"] + 1e-9).all()
    assert set(rows(found, "implicit_explicit_divergence")["dimension"]) == {"gender"}


def test_unsigned_comparisons_stand_beside_their_floors_and_families(found: pl.DataFrame) -> None:
    for one in (m.DIVERGENCE, m.SHIFT, m.AGREEMENT):
        measured = rows(found, one.name).filter(pl.col("value").is_not_null())
        assert measured.select("floor", "floor_high", "p", "q", "family").null_count().row(0) == (0, 0, 0, 0, 0)


def test_shares_of_a_question_sum_to_one_in_each_group(found: pl.DataFrame) -> None:
    sums = rows(found, "choice_share").group_by("dimension", "group", "question").agg(pl.col("value").sum())
    assert sums["value"].to_list() == pytest.approx([1.0] * sums.height)
    assert set(sums["dimension"]) == {None, "skin tone", "gender", "skin tone x gender", "species"}


def test_species_are_a_control_of_their_own_and_no_people(found: pl.DataFrame) -> None:
    assert rows(found, "choice_divergence", dimension="species", question="income").height == 5
    assert rows(found, "choice_share", dimension=None, question="income")["n"].max() <= 70  # type: ignore[operator]
    assert rows(found, m.PAIRS.key, outcome="ranked", dimension="species", group=None).height == 2


def test_choices_beside_forms_are_of_people_and_not_of_their_pictures(found: pl.DataFrame) -> None:
    for row in rows(found, "implicit_explicit_divergence", dimension="gender", question="politics").rows(named=True):
        groups = 1 if row["group"] else 2
        repeated = (row["n"] - row["clusters"]) / groups
        assert 7 * 3 < repeated <= 7 * 4, "seven people have five pictures each, and few answers are missing"


def test_of_income_only_the_brackets_that_nest_are_compared(found: pl.DataFrame) -> None:
    def n(question: str) -> int:
        compared = rows(found, "implicit_explicit_divergence", question=question)
        assert compared.height
        return int(compared["n"].sum())

    assert 0 < n("income") < n("politics")


@pytest.mark.slow
def test_the_cut_of_the_answers_changes_nothing(found: pl.DataFrame) -> None:
    study = build(**SMALL, species="drawn")
    answers = answered(study, "default")
    pieces = [answers[start : start + 97] for start in range(0, answers.height, 97)]
    cut = study.analyse({"sim": iter(pieces)})
    keys = ["measure", *LABELS, "word"]  # fmt: skip
    numbers = ["value", "low", "high", "p", "n"]
    one, other = (f.sort(keys).select(*keys, *numbers).with_columns(pl.col(pl.Float64).round(9)) for f in (found, cut))
    assert one.equals(other)


def test_a_model_that_refuses_everything_has_no_value_but_refusals() -> None:
    study = build(**SMALL)
    refused = estimates(study, answered(study, "refuser"))
    assert set(refused.filter(pl.col("value").is_not_null())["measure"]) == {"na_rate"}
    assert set(rows(refused, "na_rate")["value"]) == {1.0}
    assert rows(refused, "na_rate")["low"].max() < 1  # type: ignore[operator]


def test_a_group_alone_is_compared_with_nothing() -> None:
    study = build(descriptions=3, task=["mcq", "description"], gender=["female"])
    alone = estimates(study, answered(study))
    for measure in ("choice_divergence", "gap.positive_sentiment", "marked_word"):
        own = rows(alone, measure, dimension="gender")
        assert own.height > 0
        assert own["value"].null_count() == own.height
        assert own["detail"].str.starts_with("not measurable").all()
    assert rows(alone, "choice_share", dimension="gender")["value"].null_count() == 0


def test_empty_descriptions_are_missing_and_not_of_length_zero() -> None:
    study = build(task=["description"], descriptions=2)
    said = ["A calm person." if number % 2 else "" for number in range(len(study.design))]
    found = estimates(study, read(study, said))  # type: ignore[arg-type]
    assert rows(found, "mean.characters", dimension=None)["value"].to_list() == [14.0]
    assert rows(found, "na_rate", dimension=None, reason=None)["value"].to_list() == [0.5]


def test_without_vader_sentiment_is_not_measurable_and_the_rest_is(monkeypatch: pytest.MonkeyPatch) -> None:
    def absent(frame: pl.DataFrame, text: str) -> pl.DataFrame:
        raise DependencyError("vaderSentiment", "text")

    monkeypatch.setattr(sentiment, "score", absent)
    study = build(task=["description"], descriptions=2)
    found = estimates(study, answered(study))
    (detail,) = set(rows(found, "mean.positive_sentiment")["detail"])
    assert detail.startswith("not measurable: ")
    assert "pip install '.[text]' in a checkout of FaceValue" in detail
    assert rows(found, "tokens")["value"].null_count() == 0


def listed(tmp_path: Path, lists: Mapping[str, Any]) -> pl.DataFrame:
    """Estimates of descriptions in which dark is calm and proud, and light is quiet."""
    (tmp_path / "words.json").write_text(json.dumps(lists))
    study = build(task=["description"], descriptions=1, stereotype_words=str(tmp_path / "words.json"))
    frame = study.design.trials(range(len(study.design)))
    said = ["A calm and proud person." if tone == "dark" else "A quiet one." for tone in frame["skin_tone"]]
    return estimates(study, read(study, said))  # type: ignore[arg-type]


def test_words_of_the_users_lists_are_counted_by_group(tmp_path: Path) -> None:
    found = listed(tmp_path, {"woman": {"Dark": ["calm"], "Light": ["tense"]}, "man": {"Dark": ["calm", "proud"]}})
    rate = rows(found, "mean.listed_words", dimension="skin tone", group="dark", word_list="Dark")
    assert rate["value"].to_list() == [pytest.approx(400.0)]
    assert rows(found, "mean.listed_words", dimension="skin tone", group="light", word_list="Dark")[
        "value"
    ].to_list() == [0.0]


def test_lists_of_a_gender_whatever_the_race_are_a_genders_and_ours_have_names_of_their_own(tmp_path: Path) -> None:
    """The authors' format has lists called "gender", as ours are."""
    found = listed(tmp_path, {"person": {"Dark": ["one"]}, "man": {"gender": ["proud"]}, "woman": {"gender": ["calm"]}})
    names = set(rows(found, "mean.listed_words", dimension="gender")["word_list"])
    assert names == {"group words: gender", "group words: race", "Dark", "man", "woman"}
    assert rows(found, "mean.listed_words", dimension=None, word_list="man")["value"].to_list() == [
        pytest.approx(1000 / 17)
    ]


def test_a_list_may_be_called_as_any_column_is(tmp_path: Path) -> None:
    found = listed(tmp_path, {"tokens": ["calm"], "image": ["proud"], "gender": ["quiet"], "race": ["person"]})
    rates = rows(found, "mean.listed_words", dimension=None).filter(
        ~pl.col("word_list").str.starts_with("group words: ")
    )
    assert set(rates["word_list"]) == {"tokens", "image", "gender", "race"}
    assert rates["value"].null_count() == 0


def test_published_rates_are_those_of_a_groups_own_list(tmp_path: Path) -> None:
    found = listed(tmp_path, {"man": {"Dark": ["calm"], "gender": ["proud"]}, "woman": {"gender": ["person"]}})
    own = rows(found, m.WORDS_PUBLISHED.key).drop_nulls("value").sort("word_list")
    assert own.select("dimension", "group", "word_list", "value").rows() == [
        ("skin tone", "dark", "Dark", pytest.approx(200.0)),
        ("gender", "male", "man", pytest.approx(2000 / 17)),
        ("gender", "female", "woman", pytest.approx(1000 / 17)),
    ]


def test_without_lists_of_the_users_nothing_is_called_published_in_table_8(tmp_path: Path) -> None:
    study = build(task=["description"], descriptions=1)
    found = estimates(study, answered(study))
    assert rows(found, "mean.listed_words").height > 0
    assert rows(found, m.WORDS_PUBLISHED.key).height == 0
    assert not found.filter(pl.col("measure").str.starts_with("listed"))["source"].str.contains("Table 8").any()
    nobodys = listed(tmp_path, {"hats": ["cap"]})
    (detail,) = set(rows(nobodys, m.WORDS_PUBLISHED.key)["detail"])
    assert detail == "not measurable: no list is called as one of these groups is"


def test_a_word_that_never_occurs_is_no_certainty(tmp_path: Path) -> None:
    found = rows(listed(tmp_path, {"hats": ["cap"]}), "mean.listed_words", word_list="hats")
    assert found["value"].unique().to_list() == [0.0]
    assert found["low"].null_count() == found["high"].null_count() == found.height
    assert set(found.select("method", "detail").iter_rows()) == {split_method(FLAT_TEXTS)}


def test_table_8_comes_out_of_the_analysis_as_printed() -> None:
    """The released descriptions and lists; which photograph a text is about is not released."""
    path = reference("visbias", "descriptions_gpt-4o.parquet")
    expected = [e for e in json.loads(path.with_name("expected.json").read_text()) if e["table"] == "8"]
    said = pl.read_parquet(path).rename({"text": "description"})
    said = said.with_columns(
        pl.concat_str("occupation", "race", "gender", pl.col("row") % 10, separator=" ").alias("image"),
        task=pl.lit("description"), weight=1.0, mass=1.0, na=pl.lit(None, pl.String),
    )  # fmt: skip
    images, lists = tuple(said["image"].unique()), str(path.with_name("stereotype_words.json"))
    gathered = TaskAnswers(Asked(("race", "gender"), images, (), lists), why_no_scores="not wanted here")
    gathered.add(said)
    table = EstimateTable("visbias", "gpt-4o", LABELS)
    with measures_wanted([m.WORDS_PUBLISHED.key]):
        add_estimates(table, gathered)
    own = rows(table.frame(), m.WORDS_PUBLISHED.key)
    found = dict(own.select("group", "value").iter_rows())
    assert len(expected) == own.height == 7
    for cell in expected:
        assert found[cell["column"]] == pytest.approx(cell["value"], abs=cell["tolerance"]), cell["column"]


def test_marked_words_name_their_group_with_counts(found: pl.DataFrame) -> None:
    study = build(task=["description"], descriptions=4)
    frame = study.design.trials(range(len(study.design)))
    said = ["Somebody with a helmet stands." if t == "dark" else "Somebody stands." for t in frame["skin_tone"]]
    marked = estimates(study, read(study, said))  # type: ignore[arg-type]
    (row,) = rows(marked, "marked_word", dimension="skin tone", word="helmet").rows(named=True)
    assert (row["group"], row["other_group"], row["n"], row["clusters"]) == ("dark", "light", 56, 28)
    assert row["q"] < 0.05
    assert row["low"] > 0
    assert rows(marked, "marked_word_z", dimension="skin tone", word="helmet")["value"][0] > 1.96
    assert "helmet" in rows(marked, "marked_word_published", group="dark")["word"].to_list()


def test_pairs_are_ranked_unranked_or_contradicted() -> None:
    study = build(task=["yesno"], question=["income"])
    said = {"plain": "yes", "swapped": "no"}
    frame = study.design.trials(range(len(study.design)))
    always = estimates(study, read(study, [said[order] for order in frame["order"]]))
    never = estimates(study, read(study, ["no"] * frame.height))
    both = estimates(study, read(study, ["yes"] * frame.height))
    for part, one in enumerate((always, never, both)):
        whole = [rows(one, m.PAIRS.key, outcome=outcome, dimension=None)["value"][0] for outcome in OUTCOMES]
        assert whole == [1.0 if at == part else 0.0 for at in range(3)]
    assert rows(always, m.PAIRS.key, outcome="ranked", dimension="occupation")["n"].to_list() == [10] * 7


def test_who_is_ranked_above_follows_the_image_in_both_orders() -> None:
    study = build(task=["yesno"], question=["income"], pairs=40)
    frame = study.design.trials(range(len(study.design)))
    first = frame["gender_1"].cast(pl.String) == "male"
    second = frame["gender_2"].cast(pl.String) == "male"
    plain = frame["order"].cast(pl.String) == "plain"
    # The first that is shown is image 2 where images are swapped: a yes ranks it above.
    said = [
        "yes" if (a and not b if p else b and not a) else "no" for a, b, p in zip(first, second, plain, strict=True)
    ]
    found = rows(estimates(study, read(study, said)), "ranked_above", dimension="gender")  # type: ignore[arg-type]
    assert dict(zip(found["group"], found["value"], strict=True)) == {"female": -0.5, "male": 0.5}
    # Seven drawn women beside seven drawn men are seven pairs of people, whatever the tones they are drawn in.
    assert found["clusters"].to_list() == [14, 14]
    assert found["p"].to_list() == pytest.approx([0.009, 0.009], abs=0.001)
    assert found["p_least"].to_list() == pytest.approx(found["p"].to_list())
    assert found["bound_low"].to_list() == pytest.approx(found["value"].to_list())


def test_a_reply_missing_in_one_order_leaves_its_pair_out() -> None:
    frame = pl.DataFrame(
        {
            "pair": ["a", "a", "b"],
            "question": ["q"] * 3,
            "order": ["plain", "swapped", "plain"],
            "yes": [1.0, None, 0.0],
        }
    )
    assert both_orders(frame).select("plain", "swapped").rows() == [(1.0, None), (0.0, None)]


def test_drawings_that_differ_in_tone_alone_are_one_unit_of_a_gender() -> None:
    frame = pl.DataFrame(
        {"image": ["1", "2", "3"], "person": ["p", "p", None], "tone": ["a", "b", "a"], "gender": ["x", "x", "y"]}
    )
    assert Dimension(("gender",)).select_rows(frame)["unit"].to_list() == ["p", "p", "3"]
    assert Dimension(("tone",)).select_rows(frame)["unit"].to_list() == ["1", "2", "3"]


def test_what_is_said_of_all_goes_over_people_and_not_over_their_pictures() -> None:
    """Five tones of a drawn person are one person, for shares, texts and refusals alike."""
    study = build(task=["mcq", "description"], descriptions=1)
    found = estimates(study, answered(study))
    people = study.manifest["identity"].n_unique()
    assert people == study.manifest.height / 5
    for measure in ("choice_share", "mean.tokens", "na_rate"):
        assert set(rows(found, measure, dimension=None)["clusters"]) == {people}


def test_forms_say_which_value_shifts_another() -> None:
    study = build(task=["form"], forms=5)
    frame = study.design.trials(range(len(study.design)))
    rng = np.random.default_rng(1)
    said = []
    for text in frame["filled"]:
        given = json.loads(text)
        veteran = given.get("Veteran Status") or str(rng.choice(["Yes", "No"]))
        said.append(
            json.dumps(
                {
                    **given,
                    "Veteran Status": veteran,
                    "Gender": given.get("Gender", "Male" if veteran == "Yes" else "Female"),
                }
            )
        )
    found = estimates(study, read(study, said))  # type: ignore[arg-type]
    shift = rows(
        found, "attribute_shift", fields="completed", attribute="veteran status", choice="Yes", other_attribute="gender"
    )
    assert shift["likeliest"].to_list() == ["Male"]
    assert shift["value"][0] > shift["floor_high"][0]
    assert shift["q"][0] < 0.05
    assert (
        rows(
            found,
            "likely_share",
            fields="completed",
            attribute="veteran status",
            choice="Yes",
            other_attribute="gender",
        )["value"][0]
        == 1.0
    )
    assert rows(found, "kept_share", attribute=None)["value"].to_list() == [1.0]
    routes = rows(found, "outcome_share.fields", attribute=None)
    assert routes["value"].sum() == pytest.approx(1.0)
    assert rows(found, "outcome_share.fields", attribute=None, outcome="missing")["value"][0] > 0.8


def test_answers_that_lack_a_column_are_refused() -> None:
    with pytest.raises(DataError, match="'mass'"):
        TaskAnswers(Asked((), (), (), "")).add(pl.DataFrame({"task": ["mcq"], "weight": [1.0]}))


def divergences(seed: int) -> pl.DataFrame:
    study = build(task=["mcq"])
    gathered = TaskAnswers(Asked(("skin_tone", "gender"), tuple(study.manifest["image"]), (), ""))
    gathered.add(answered(study, f"null@{seed}"))
    table = EstimateTable("visbias", "sim", LABELS)
    add_divergences(table, gathered)
    return table.frame().filter(pl.col("measure") == "choice_divergence")


@pytest.mark.slow
def test_no_more_divergences_are_found_without_any_effect_than_chance_allows() -> None:
    """Ten simulated models without effects, 40 images each: some 5% of p below .05, seldom a q."""
    found = pl.concat([divergences(seed).with_columns(run=pl.lit(seed)) for seed in range(10)])
    tones = found.filter(pl.col("dimension") == "skin tone")
    assert tones.height == 200
    assert (tones["p"] < 0.05).sum() <= stats.binom.ppf(0.999, 200, 0.05)  # tests of one run hang together
    runs = found.group_by("run", "dimension").agg((pl.col("q") < 0.05).any())
    assert runs["q"].sum() <= stats.binom.ppf(0.999, runs.height, 0.05)
