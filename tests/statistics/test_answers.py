"""Estimates of anybody's table of answers."""

import re
from typing import Any

import numpy as np
import polars as pl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import facevalue as fv
from facevalue.errors import DataError, FaceValueError
from facevalue.statistics import Estimand, Flip, Gap, Lean, Mean, Preference, Range, Shift, Spread, Tally

EVERY = [
    Estimand(Mean()), Estimand(Mean(), by=("job",)), Estimand(Mean(), by=("hat", "gender")),
    Estimand(Lean(), by=("hat",)), Estimand(Shift(size=True), by=("hat",)), Estimand(Shift(), by=("hat", "job")),
    Estimand(Gap(factor="gender")), Estimand(Gap(factor="job")),
    Estimand(Gap(factor="gender", of_shifts=True), by=("hat",)),
    Estimand(Spread(factor="age")), Estimand(Tally(factor="gender")), Estimand(Flip(), by=("hat",)),
    Estimand(Range(factor="hat")),
]  # fmt: skip

RANKED = Estimand(Spread(factor="age", rank_test=True))


def table(seed: int, units: int = 12, lost: float = 0.1, binary: bool = True) -> pl.DataFrame:
    """Answers about people with and without hats, twice to each of two questions."""
    rng = np.random.default_rng(seed)
    rows = [
        {
            "picture": f"{unit}-{hat}", "unit": f"person {unit}", "gender": "female" if unit % 2 else "male",
            "age": ("young", "middle", "old")[unit % 3], "hat": hat, "job": job,
            "score": float(rng.integers(2)) if binary else float(rng.random()),
        }
        for unit in range(units) for hat in ("none", "cap", "veil") for job in ("cook", "judge") for _ in range(2)
    ]  # fmt: skip
    out = pl.DataFrame(rows)
    return out.with_columns(score=pl.when(pl.Series(rng.random(out.height) >= lost)).then("score"))


def key(estimates: pl.DataFrame) -> pl.DataFrame:
    """The estimates in one order."""
    texts = [name for name, kind in estimates.schema.items() if kind == pl.String]
    return estimates.sort([*(name for name in texts if name not in ("verdict", "why")), "value"], nulls_last=True)


def plain(frame: pl.DataFrame, by: list[str]) -> dict[tuple[object, ...], tuple[float | None, int]]:
    """Means over pictures and questions, and how many of them."""
    cells = frame.group_by("unit", "picture", "job", *(name for name in by if name not in ("job",))).agg(
        pl.col("score").mean()
    )
    out = {}
    groups = cells.group_by(by) if by else [((), cells)]
    for level, rows in groups:
        known = rows.drop_nulls("score")
        out[tuple(level)] = (float(known["score"].mean()) if known.height else None, known.height)  # type: ignore[arg-type]
    return out


@given(seed=st.integers(0, 10**6), lost=st.floats(0, 0.9), units=st.integers(3, 9))
def test_shares_are_those_of_a_plain_recomputation(seed: int, lost: float, units: int) -> None:
    answers = table(seed, units, lost)
    found = fv.estimate(answers, [Estimand(Mean(), by=("job",)), Estimand(Mean(), by=("gender",))])
    for name in ("job", "gender"):
        for (level,), (value, n) in plain(answers, [name]).items():
            row = found.filter(pl.col("measure") == "mean", pl.col(name) == level).row(0, named=True)
            assert row["n"] == n
            assert (row["value"] is None) == (value is None)
            assert value is None or row["value"] == pytest.approx(value, abs=1e-12)


@settings(max_examples=10)
@given(seed=st.integers(0, 10**6))
def test_the_order_of_rows_and_columns_changes_nothing(seed: int) -> None:
    answers = table(seed, 6, binary=False)
    estimands = [estimand for estimand in EVERY if not isinstance(estimand.statistic, Flip)]
    shuffled = answers.sample(fraction=1, shuffle=True, seed=seed).select(sorted(answers.columns))
    first, second = (fv.estimate(one, estimands, cue="hat", base="none") for one in (answers, shuffled))
    assert key(first).equals(key(second.select(first.columns)))


def test_every_statistic_has_an_interval_and_bounds_where_answers_are_missing() -> None:
    found = fv.estimate(table(1, 30), EVERY, cue="hat", base="none")
    assert {
        "mean",
        "lean",
        "shift",
        "abs_shift",
        "gap",
        "paired_gap",
        "shift_gap",
        "spread",
        "tally",
        "flip",
        "range",
    } <= {*found["measure"]}
    without = found.filter(pl.col("value").is_not_null(), pl.col("low").is_null())
    assert {*without["detail"]} <= {"the clusters that were seen give no spread"}
    bounded = found.filter(pl.col("measure").is_in(["mean", "lean", "shift", "gap", "paired_gap", "spread", "range"]))
    assert bounded["bound_low"].null_count() == 0
    assert (bounded["bound_low"] <= bounded["value"]).all()
    assert (bounded["bound_high"] >= bounded["value"]).all()
    assert {"missing_share", "missing_gap"} <= {*found["measure"]}
    tested = found.filter(pl.col("family").is_not_null() & pl.col("value").is_not_null())
    assert tested["q"].null_count() == 0


def test_models_stand_beside_each_other_and_together() -> None:
    answers = pl.concat([table(1).with_columns(model=pl.lit("a")), table(2).with_columns(model=pl.lit("b"))])
    found = fv.estimate(answers, [Estimand(Mean())]).filter(measure="mean")
    assert found["model"].to_list() == ["a", "b", "(all models)"]
    assert found["value"][2] == pytest.approx(found["value"][:2].mean(), abs=0.01)


BOUNDED = ["mean", "lean", "shift", "gap", "paired_gap", "shift_gap", "spread", "spread_within"]


def test_several_models_together_have_bounds_too() -> None:
    first, second = (
        table(seed, lost=lost).with_columns(model=pl.lit(f"m{seed}")) for seed, lost in ((1, 0.4), (2, 0.0))
    )
    answers = pl.concat([first, second])
    found = fv.estimate(answers, EVERY, cue="hat", base="none").filter(model="(all models)")
    bounded = found.filter(pl.col("measure").is_in(BOUNDED))
    assert bounded["bound_low"].null_count() == bounded["bound_high"].null_count() == 0
    assert (bounded["bound_low"] <= bounded["value"]).all()
    assert (bounded["bound_high"] >= bounded["value"]).all()
    alone = fv.estimate(answers, [Estimand(Mean())]).filter(measure="mean")
    assert alone["bound_high"][2] == pytest.approx(alone["bound_high"][:2].mean(), abs=1e-9)


def test_models_that_answered_about_other_units_have_no_mean_together() -> None:
    first, second = (table(seed).with_columns(pl.col("unit", "picture") + f" {seed}") for seed in (1, 2))
    answers = pl.concat([first.with_columns(model=pl.lit("a")), second.with_columns(model=pl.lit("b"))])
    assert fv.estimate(answers, [Estimand(Mean())])["model"].unique().sort().to_list() == ["a", "b"]


def test_without_missing_answers_no_bounds_are_open() -> None:
    answers = table(3, lost=0.0).filter(pl.int_range(pl.len()) % 7 > 0)  # units differ in what they were asked
    found = fv.estimate(answers, [Estimand(Spread(factor="hat")), Estimand(Mean(), by=("hat",))])
    bounded = found.filter(pl.col("measure").is_in(BOUNDED))
    assert bounded["bound_high"].to_list() == pytest.approx(bounded["bound_low"].to_list(), abs=1e-9)


def test_probabilities_of_a_valid_answer_are_weights() -> None:
    answers = table(1, lost=0.0).with_columns(mass=pl.lit(0.5))
    found = fv.estimate(answers, [Estimand(Mean())])
    assert found.filter(measure="mean")["bound_low"][0] < 0.5 * found.filter(measure="mean")["value"][0] + 1e-9
    assert found.filter(pl.col("measure") == "missing_share", pl.col("group").is_null())["value"][0] == pytest.approx(
        0.5
    )


def with_reason(answers: pl.DataFrame) -> pl.DataFrame:
    """The answers with a reason that there is not."""
    return answers.with_columns(missing=pl.when(pl.col("score").is_null()).then(pl.lit("shy")))


@pytest.mark.parametrize(
    ("change", "estimands", "message"),
    [
        (lambda t: t.drop("unit"), [Estimand(Mean())], "Unknown column of the answers 'unit'"),
        (lambda t: t.head(0), [Estimand(Mean())], "The table of answers has no row."),
        (lambda t: t.with_columns(score=pl.lit(7.0)), [Estimand(Mean())], "A 'score' is 7, beyond the scale"),
        (lambda t: t.with_columns(score=pl.lit("x")), [Estimand(Mean())], "The column 'score' holds no numbers"),
        (lambda t: t.with_columns(unit=pl.lit(None, pl.String)), [Estimand(Mean())], "An answer has no 'unit'"),
        (lambda t: t, [], "Nothing is estimated"),
        (lambda t: t, [Estimand(Gap(factor="gendre"))], "Estimand 1: Unknown factor 'gendre'"),
        (lambda t: t, [Estimand(Mean()), Estimand(Preference())], "Estimand 2: A preference is one of pairs"),
        (lambda t: t.with_columns(gender=pl.lit("m")), [Estimand(Gap(factor="gender"))], "Estimand 1: Unknown factor"),
        (lambda t: t.with_columns(missing=pl.lit("refused")), [Estimand(Mean())], "it is one or the other"),
        (lambda t: t.with_columns(mass=pl.lit(2.0)), [Estimand(Mean())], "above 0 and at most 1"),
        (lambda t: t.with_columns(model=pl.lit(None, pl.String)), [Estimand(Mean())], "An answer has no 'model'"),
        (lambda t: t.rename({"job": "contrast"}), [Estimand(Gap(factor="contrast"))], "No factor can be called"),
        (lambda t: t.to_dicts(), [Estimand(Mean())], "The answers are a Polars DataFrame, not list."),
        (lambda t: t, [Mean()], "Estimand 1 is no Estimand"),
        (lambda t: t, [Estimand(Mean(), scores=("kind",))], "Estimand 1: Unknown score 'kind'"),
        (lambda t: t, [Estimand(Mean(), measure="missing_share")], "Rename one"),
        (lambda t: t, [Estimand(Mean()), Estimand(Mean())], "make the same estimates"),
        (lambda t: t, [Estimand(Gap(factor="job"), confirmatory=True)], "Estimand 1: nothing can be declared"),
        (lambda t: t, [Estimand(Gap(factor="gendre"))], "Did you mean 'gender'"),
        (lambda t: t, Estimand(Mean()), "Estimands are in a list, such as [Estimand(Mean())], not Estimand."),
        (lambda t: t, (Estimand(Mean()) for _ in "a"), "Estimands are in a list"),
        (lambda t: t.with_columns(job=pl.lit("(others)")), [Estimand(Mean(), by=("job",))], "No level of 'job'"),
        (lambda t: t.with_columns(job=pl.lit("")), [Estimand(Mean(), by=("job",))], "No level of 'job' can be ''"),
        (lambda t: t.rename({"job": "na"}), [Estimand(Mean(), by=("na",))], "No factor can be called 'na'"),
        (lambda t: t, [Estimand(Mean(), by=("job",)), RANKED], "A 'rank_test' is of one question"),
        (with_reason, [Estimand(Mean())], "Unknown reason of a missing answer 'shy'"),
    ],
)  # fmt: skip
def test_mistakes_are_one_sentence(change, estimands: list[Estimand], message: str) -> None:  # type: ignore[no-untyped-def]
    with pytest.raises(FaceValueError, match=re.escape(message)):
        fv.estimate(change(table(1)), estimands)


def test_columns_that_nothing_names_change_nothing() -> None:
    answers, estimands = table(3), [Estimand(Shift(), by=("hat",)), Estimand(Gap(factor="gender"))]
    first = fv.estimate(answers, estimands, questions=["job"], cue="hat", base="none")
    noted = answers.with_columns(latency=pl.int_range(answers.height) * 0.13, seed=pl.lit(1), repeat=pl.lit("x"))
    assert first.equals(fv.estimate(noted, estimands, questions=["job"], cue="hat", base="none"))


def test_a_score_that_is_no_number_is_missing() -> None:
    answers = table(3, lost=0.0)
    lost = pl.col("unit") == "person 1"
    first, second = (
        fv.estimate(
            answers.with_columns(score=pl.when(~lost).then("score").otherwise(pl.lit(none))), [Estimand(Mean())]
        )
        for none in (None, float("nan"))
    )
    assert first.equals(second)
    assert first.filter(measure="mean")["bound_high"][0] > first.filter(measure="mean")["value"][0]


def test_answers_that_are_repeated_unlike_often_leave_values_between_their_bounds() -> None:
    answers = table(3, lost=0.1)
    often = pl.concat([answers, *[answers.filter(pl.col("unit") == "person 1")] * 9])
    found = fv.estimate(often, [Estimand(Mean()), Estimand(Shift(), by=("hat",))], cue="hat", base="none")
    found = found.filter(pl.col("measure").is_in(["mean", "shift"]))
    assert (found["bound_low"] <= found["value"] + 1e-12).all()
    assert (found["bound_high"] >= found["value"] - 1e-12).all()


def test_the_order_of_levels_is_stated_or_alphabetical_whatever_else_there_is() -> None:
    rows = [{"picture": x, "unit": x, "age": n, "land": "zy"[n > 2], "score": n / 9} for n, x in enumerate("abcdef")]
    answers, gap = pl.DataFrame(rows), [Estimand(Gap(factor="land"))]
    by_age = [*gap, Estimand(Mean(), by=("age",))]
    first, second = (fv.estimate(answers, estimands).filter(measure="gap") for estimands in (gap, by_age))
    assert first["land"].to_list() == second["land"].to_list() == ["z"]
    stated = answers.with_columns(pl.col("land").cast(pl.Enum(["z", "y"])))
    assert fv.estimate(stated, gap).filter(measure="gap")["land"].to_list() == ["y"]


def test_a_unit_has_one_base() -> None:
    answers = table(1).with_columns(pl.format("{} {}", "picture", "job").alias("picture"))
    with pytest.raises(DataError, match="has two pictures with hat 'none'"):
        fv.estimate(answers, [Estimand(Shift())], cue="hat", base="none")


def test_optional_estimands_are_left_out_where_the_answers_lack_their_factors() -> None:
    found = fv.estimate(table(1), [Estimand(Mean()), Estimand(Gap(factor="race"), optional=True)])
    assert "gap" not in {*found["measure"]}


def test_what_is_from_the_base_is_not_of_the_base_alone() -> None:
    estimand = Estimand(Shift(), by=("hat",), only={"hat": ("none",)})
    with pytest.raises(DataError, match="A shift is from the base, 'none', which has none: `only` names other levels"):
        fv.estimate(table(1), [estimand], cue="hat", base="none")


def test_what_has_no_base_has_no_shift() -> None:
    with pytest.raises(DataError, match="A shift needs a base"):
        fv.estimate(table(1), [Estimand(Shift())])
    with pytest.raises(FaceValueError, match="Unknown level of hat 'nothing'"):
        fv.estimate(table(1), [Estimand(Shift())], cue="hat", base="nothing")


@pytest.mark.parametrize(
    ("fields", "message"),
    [
        ({"statistic": Mean}, "The statistic of an estimand is one such as Mean"),
        ({"by": 3}, "`by` has names in a list"),
        ({"by": ("hat", 3)}, "`by` has names in a list"),
        ({"scores": 3}, "`scores` has names in a list"),
        ({"only": ("cook",)}, "`only` of an estimand has levels by factor"),
        ({"by": "job", "only": {"job": 3}}, "`only` has names in a list"),
        ({"tested": "no"}, "`tested` of an estimand is True or False"),
        ({"family": 3}, "`family` of an estimand is a text"),
        ({"margin": 0.1}, "A mean is never tested, so that it has no margin"),
        ({"statistic": Lean(), "margin": "a"}, "`margin` of an estimand is a number"),
        ({"statistic": Lean(), "correction": "bh"}, "`correction` is that of a confirmatory family"),
    ],
)
def test_fields_of_an_estimand_have_types(fields: dict[str, Any], message: str) -> None:
    with pytest.raises(DataError, match=message):
        Estimand(**{"statistic": Mean(), **fields})


def test_a_text_is_a_list_of_one_name() -> None:
    estimand = Estimand(Mean(), by="job", scores="score", only={"job": "cook"})  # type: ignore[arg-type, dict-item]
    assert (estimand.by, estimand.scores, estimand.only) == (("job",), ("score",), {"job": ("cook",)})


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"questions": 3}, "`questions` has names in a list"),
        ({"cue": 3}, "`cue` is a text, not 3"),
        ({"cue": "hat", "base": 0}, "`base` is a text, not 0"),
        ({"score": 3}, "`score` is the name of a column, not 3"),
        ({"score": "mass"}, "No score can be called 'mass'"),
        ({"score": "missing"}, "No score can be called 'missing'"),
    ],
)
def test_options_of_another_type_are_one_sentence(options: dict[str, Any], message: str) -> None:
    with pytest.raises(DataError, match=message):
        fv.estimate(table(1).with_columns(mass=pl.lit(0.5), missing=pl.lit(None)), [Estimand(Mean())], **options)


@pytest.mark.parametrize("name", ["repeat", "text", "reply", "status", "ordering", "weight", "trial", "question"])
def test_columns_can_have_names_that_runs_use(name: str) -> None:
    answers = table(1, 12)
    renamed = fv.estimate(answers.rename({"job": name}), [Estimand(Mean(), by=(name,))], questions=[name])
    plain_names = fv.estimate(answers, [Estimand(Mean(), by=("job",))], questions="job")
    numbers = ["measure", "value", "low", "high", "n", "bound_low", "bound_high"]
    assert key(renamed.select(numbers)).equals(key(plain_names.select(numbers)))
    scored = fv.estimate(answers.rename({"score": name}), [Estimand(Mean(), by=("job",))], score=name)
    assert scored.filter(measure="mean")["value"].equals(plain_names.filter(measure="mean")["value"])


def test_without_an_effect_repeated_answers_differ_as_chance_has_it() -> None:
    """Answers about a question have no order: sorted by their values, second answers would all be the higher ones."""
    answers = table(5, 60, lost=0.0)
    found = fv.estimate(answers, [Estimand(Flip(), by=("hat",))], cue="hat", base="none")
    rates = found.filter(pl.col("measure").is_in(["flip_rate", "flip_floor"]))
    assert rates.height == 4
    assert rates["value"].is_between(0.4, 0.6).all()
    assert found.filter(measure="flip")["value"].is_between(-0.1, 0.1).all()


def numbers(found: pl.DataFrame, *measures: str) -> pl.DataFrame:
    """Values and intervals of some measures."""
    kept = found.filter(pl.col("measure").is_in(measures))
    return kept.select("measure", "value", "low", "high", "floor", "bound_low", "bound_high").sort("measure", "value")


def test_one_answer_more_hardly_changes_what_is_said_of_single_answers() -> None:
    answers = table(5, 60, lost=0.0)
    estimands = [Estimand(Flip(), by=("hat",)), Estimand(Range(factor="hat"))]
    plain_table, longer = (
        numbers(fv.estimate(one, estimands, cue="hat", base="none"), "flip", "flip_floor", "range")
        for one in (answers, answers.vstack(answers[:1]))
    )
    assert plain_table["floor"].null_count() == longer["floor"].null_count()
    assert longer["value"].to_list() == pytest.approx(plain_table["value"].to_list(), abs=0.05)


def test_an_optional_estimand_that_is_left_out_changes_nothing() -> None:
    answers = table(1, 12)
    optional = Estimand(Mean(), by=("job", "nowhere"), optional=True)
    alone, beside = (
        fv.estimate(answers, [Estimand(Flip()), *more], cue="hat", base="none") for more in ([], [optional])
    )
    assert alone.equals(beside)


def test_units_that_have_one_level_each_say_nothing_of_differences_within_units() -> None:
    lost = (pl.col("unit").str.tail(1).cast(pl.Int64) < 5) == (pl.col("hat") == "cap")
    answers = table(1, 10, lost=0.0).filter(pl.col("hat") != "veil").with_columns(score=pl.when(~lost).then("score"))
    row = fv.estimate(answers, [Estimand(Gap(factor="hat"))]).filter(measure="paired_gap").row(0, named=True)
    assert (row["value"], row["verdict"]) == (None, "not measurable")


def nested(seed: int) -> pl.DataFrame:
    """Answers to questions of which each job has one field: two fields are never asked of a job."""
    fields = pl.col("job").replace_strict({"cook": "care", "judge": "law"})
    return table(seed, 12, lost=0.0, binary=False).with_columns(
        field=fields, score=pl.col("score") + (pl.col("gender") == "male")
    )


def test_questions_that_nobody_was_asked_are_none() -> None:
    answers = nested(1).with_columns(pl.col("score") / 2)
    estimands = [
        Estimand(Tally(factor="gender")),
        Estimand(Mean(), by=("job", "field")),
        Estimand(Spread(factor="gender"), by=("job", "field")),
    ]
    found = fv.estimate(answers, estimands)
    assert found.filter(measure="tally").select("value", "n").row(0) == (1.0, 2)
    for measure in ("mean", "spread"):
        rows = found.filter(measure=measure).select("job", "field").rows()
        assert sorted(rows) == [("cook", "care"), ("judge", "law")]


def test_units_behind_a_question_are_those_with_an_answer_to_it() -> None:
    lost = (pl.col("unit") == "person 1") & (pl.col("job") == "cook")
    answers = table(1, 12, lost=0.0).with_columns(score=pl.when(~lost).then("score"))
    found = fv.estimate(answers, [Estimand(of(factor="gender"), by=("job",)) for of in (Spread, Tally)])
    for measure in ("spread", "tally"):
        assert dict(found.filter(measure=measure).select("job", "clusters").iter_rows()) == {"cook": 11, "judge": 12}


def test_shifts_of_levels_that_one_unit_has_are_compared_within_units_alone() -> None:
    """Of two units each was asked another question: nobody has both shifts, and the units differ anyhow."""
    rows = table(1, 2, lost=0.0).filter((pl.col("unit") == "person 0") == (pl.col("job") == "cook"))
    rows = pl.concat([rows, table(1, 2, lost=1.0)])
    found = fv.estimate(rows, [Estimand(Gap(factor="job", of_shifts=True))], cue="hat", base="none")
    row = found.filter(measure="paired_shift_gap").row(0, named=True)
    assert (row["value"], row["n"], row["verdict"]) == (None, 0, "not measurable")


def test_a_margin_is_not_that_of_estimates_that_are_not_tested() -> None:
    estimands = [Estimand(Shift(), by=("hat",), margin=0.5), Estimand(Shift(), tested=False)]
    found = (
        fv.estimate(table(1), estimands, cue="hat", base="none").filter(measure="shift").sort("hat", nulls_last=True)
    )
    assert found["margin"].to_list() == [0.5, 0.5, None]


UNEVEN = [
    Estimand(Mean()), Estimand(Shift()), Estimand(Gap(factor="gender")), Estimand(Gap(factor="hat")),
    Estimand(Gap(factor="hat", versus="(mean)"), measure="apart"), Estimand(Gap(factor="job")),
    Estimand(Gap(factor="gender", of_shifts=True)), Estimand(Spread(factor="age")),
]  # fmt: skip
OF_UNEVEN = ["mean", "shift", "gap", "paired_gap", "apart", "shift_gap", "spread", "spread_within"]


@settings(max_examples=15)
@given(seed=st.integers(0, 10**6))
def test_bounds_are_closed_where_answers_were_never_asked_for_and_hold_what_missing_ones_could_have_been(
    seed: int,
) -> None:
    """Some questions about some pictures are not asked, or asked of one of two models, some several times."""
    rng = np.random.default_rng(seed)
    rows = table(seed, 9, lost=0.0, binary=False)
    rows = pl.concat(
        [rows.with_columns(model=pl.lit("a")), rows.with_columns(model=pl.lit("b"), score=1 - pl.col("score"))]
    )
    rows = rows.filter(pl.Series(rng.random(rows.height) > 0.2))

    def of(answers: pl.DataFrame) -> pl.DataFrame:
        within = fv.estimate(answers, [Estimand(Spread(factor="hat"))])
        found = pl.concat([fv.estimate(answers, UNEVEN, cue="hat", base="none"), within], how="diagonal")
        kept = found.filter(pl.col("measure").is_in(OF_UNEVEN)).drop_nulls("value")
        return kept.select("model", "measure", "gender", "hat", "job", "dimension", "value", "bound_low", "bound_high")

    complete = of(rows)
    assert complete["bound_low"].to_list() == pytest.approx(complete["value"].to_list(), abs=1e-9)
    assert complete["bound_high"].to_list() == pytest.approx(complete["value"].to_list(), abs=1e-9)
    is_lost = pl.Series(rng.random(rows.height) < 0.03)
    bounds = of(rows.with_columns(score=pl.when(~is_lost).then("score")))
    filled = of(rows.with_columns(score=pl.when(~is_lost).then("score").otherwise(pl.lit(float(seed % 2)))))
    on = ["model", "measure", "gender", "hat", "job", "dimension"]
    both = bounds.join(filled.select(*on, could="value"), on=on, nulls_equal=True)
    assert both.filter(pl.col("could") < pl.col("bound_low") - 1e-9).is_empty()
    assert both.filter(pl.col("could") > pl.col("bound_high") + 1e-9).is_empty()


@given(seed=st.integers(0, 10**6))
def test_bounds_of_shares_of_questions_hold_the_share(seed: int) -> None:
    estimands = [Estimand(Tally(factor="hat")), Estimand(Tally(factor="gender"))]
    answers = table(seed, 8, lost=0.08).filter(pl.col("hat") != "veil")
    found = fv.estimate(answers, estimands, questions=["job"], cue="hat", base="none")
    shares = found.filter(pl.col("measure").is_in(["tally", "moved_share"])).drop_nulls("value")
    assert (shares["bound_low"] <= shares["value"]).all()
    assert (shares["bound_high"] >= shares["value"]).all()


def test_differences_from_the_mean_of_a_unit_are_of_the_levels_that_it_has() -> None:
    answers = table(2, 12, lost=0.0).filter((pl.col("hat") != "veil") | pl.col("unit").str.ends_with("1"))
    found = fv.estimate(answers, [Estimand(Gap(factor="hat", versus="(mean)"))]).filter(measure="gap_from_mean")
    means = answers.group_by("unit", "hat").agg(pl.col("score").mean())
    apart = means.with_columns(pl.col("score") - pl.col("score").mean().over("unit"))
    by_hand = dict(apart.group_by("hat").agg(pl.col("score").mean()).iter_rows())
    assert dict(found.select("hat", "value").iter_rows()) == pytest.approx(by_hand)


@pytest.mark.parametrize(
    ("statistic", "parameters", "message"),
    [
        (Gap, {"factor": "hat", "versus": 3}, "`versus` of a gap is a text, not 3"),
        (Gap, {"factor": ["hat"]}, "`factor` of a gap is a text"),
        (Gap, {"factor": "hat", "ends": 3}, "`ends` has names in a list"),
        (Shift, {"size": "yes"}, "`size` of a shift is True or False"),
        (Tally, {"factor": "hat", "any_of": None}, "`any_of` has names in a list"),
    ],
)
def test_parameters_of_statistics_have_types(statistic: Any, parameters: dict[str, Any], message: str) -> None:
    with pytest.raises(DataError, match=message):
        statistic(**parameters)


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (lambda t: t.rename({"job": "(cell)"}), "No factor can be called"),
        (lambda t: t.rename({"job": "job_path"}), "No factor can be called"),
        (lambda t: t.with_columns(job=pl.duration(hours=1)), "The column 'job' holds no texts"),
        (lambda t: t.with_columns(missing=pl.lit([None])), "The column 'missing' holds no texts"),
    ],
)
def test_columns_of_other_types_are_one_sentence(change: Any, message: str) -> None:
    answers = change(table(1))
    name = next(column for column in answers.columns if "job" in column or "cell" in column)
    with pytest.raises(DataError, match=message):
        fv.estimate(answers, [Estimand(Mean(), by=(name,))])


def test_two_zeros_are_one_level_and_a_factor_can_be_called_len() -> None:
    answers = table(1).with_columns(len=pl.when(pl.col("job") == "cook").then(0.0).otherwise(-0.0)).drop("job")
    found = fv.estimate(answers, [Estimand(Mean(), by=("gender",))], questions=["len"])
    assert found.filter(measure="mean").height == 2
