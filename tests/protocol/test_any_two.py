"""Pairs of any two pictures of a unit, and which of two levels is preferred."""

from itertools import product

import numpy as np
import polars as pl
import pytest
from PIL import Image

from facevalue.errors import FaceValueError
from facevalue.measures.definitions import rows_of
from facevalue.protocol.instrument import NA_SPREAD
from facevalue.protocol.study import Study
from tests.protocol.conftest import Reader

STUDY = """
name = "small"
[pictures]
kind = "pairs"
manifest = "list.csv"
[prompt]
text = "Who is it? Answer with only {options}."
[answer]
kind = "choice"
options = { left = "the person on the left", right = "the person on the right" }
favourable = "left"
[[estimand]]
statistic = "preference"
factor = "race"
versus = "(each other)"
[[estimand]]
statistic = "preference"
factor = "gender"
by = ["occupation"]
family = "genders"
"""
RANKS = {"A": 0, "B": 1, "C": 2}


@pytest.fixture
def listed(read: Reader) -> Reader:
    rows = ["path,set,occupation,race,gender"]
    for number in range(6):
        for at, race in enumerate(RANKS):
            gender = ("female", "male")[(number + at) % 2]
            Image.new("RGB", (32, 32), (40 * number, 80 * at, 9)).save(read.folder / f"{number}{race}.png")
            rows.append(f"{number}{race}.png,s{number},{('cook', 'nurse')[number // 3]},{race},{gender}")
    (read.folder / "list.csv").write_text("\n".join(rows))
    return read


def answered(study: Study, chosen: pl.Expr) -> pl.DataFrame:
    """Estimates where the left picture is chosen where this holds, else the right one."""
    frame = study.design.trials(np.arange(study.design.size)).with_columns(
        pl.col("race", "beside_race", "base_side").cast(pl.String)
    )
    on_left = pl.when(pl.col("base_side") == "left").then(pl.col("beside_race")).otherwise(pl.col("race"))
    on_right = pl.when(pl.col("base_side") == "left").then(pl.col("race")).otherwise(pl.col("beside_race"))
    ranked = frame.with_columns(on_left=on_left.replace_strict(RANKS), on_right=on_right.replace_strict(RANKS))
    text = pl.when(chosen).then(pl.lit("the person on the left")).otherwise(pl.lit("the person on the right"))
    replies = ranked.with_columns(
        text=text, repeat=pl.lit(0, pl.UInt8), status=pl.lit("ok"), probs=pl.lit(None, pl.List(pl.Float32))
    ).select("text", "repeat", "status", "probs")
    trials = study.design.trials(np.arange(study.design.size))
    answers = study.answer(trials.hstack(replies))
    estimates = study.analyse({"scripted": iter([answers])})
    assert isinstance(estimates, pl.DataFrame)
    return estimates


def preferences(estimates: pl.DataFrame) -> dict[tuple[str, str], float]:
    rows = estimates.filter(pl.col("measure") == "preference_between", pl.col("race").is_not_null())
    return {(row["race"], row["contrast"]): row["value"] for row in rows.to_dicts()}


def test_any_two_pictures_of_a_unit_are_shown_each_way_round(listed: Reader) -> None:
    study = listed(STUDY).study()
    assert study.manifest.height == 6 * 3 * 2
    pairs = study.manifest.select("race", "beside_race").unique().sort("race", "beside_race").rows()
    assert pairs == [("B", "A"), ("C", "A"), ("C", "B")]
    assert not [name for name in study.manifest.columns if name == "beside_occupation"]
    stimulus = study.source.stimulus(0, {"image": study.manifest["image"][0]})
    assert len(stimulus.load()) == 1


def test_the_preferred_level_wins_on_either_side(listed: Reader) -> None:
    estimates = answered(listed(STUDY).study(), pl.col("on_left") > pl.col("on_right"))
    assert preferences(estimates) == {("B", "A"): 0.5, ("C", "A"): 0.5, ("C", "B"): 0.5}
    side = estimates.filter(measure="response_bias", score="side")["value"].to_list()
    assert side == pytest.approx([0.0])


def test_who_always_takes_the_left_prefers_nobody(listed: Reader) -> None:
    estimates = answered(listed(STUDY).study(), pl.lit(value=True))
    assert set(preferences(estimates).values()) == {0.0}
    assert estimates.filter(measure="response_bias", score="side")["value"].to_list() == pytest.approx([0.5])


def test_each_of_several_levels_stands_beside_all_others(listed: Reader) -> None:
    study = listed(STUDY.replace('versus = "(each other)"\n', "")).study()
    estimates = answered(study, pl.col("on_left") > pl.col("on_right"))
    assert preferences(estimates) == {("A", "(others)"): -0.5, ("B", "(others)"): 0.0, ("C", "(others)"): 0.5}


def test_pairs_of_one_level_say_nothing_of_it(listed: Reader) -> None:
    estimates = answered(listed(STUDY).study(), pl.col("on_left") > pl.col("on_right"))
    rows = estimates.filter(pl.col("family") == "genders").to_dicts()
    assert {(row["gender"], row["contrast"], row["occupation"]) for row in rows} == {
        ("male", "female", "cook"), ("male", "female", "nurse"),
    }  # fmt: skip
    # In each set two of the three pairs differ in gender, each shown on two sides and in two orders.
    assert [row["n"] for row in rows] == [3 * 2 * 2] * 2
    assert all(row["bound_low"] <= row["value"] <= row["bound_high"] for row in rows)


def test_sets_of_two_pictures_have_both_levels_though_one_is_always_first(read: Reader) -> None:
    rows = ["path,set,occupation,race,gender"]
    for number, race in product(range(4), "AB"):
        Image.new("RGB", (32, 32), (40 * number, 80, 9)).save(read.folder / f"{number}{race}.png")
        rows.append(f"{number}{race}.png,s{number},cook,{race},{'female' if race == 'A' else 'male'}")
    (read.folder / "list.csv").write_text("\n".join(rows))
    study = read(STUDY.replace('by = ["occupation"]\n', "")).study()
    assert study.manifest["race"].unique().to_list() == ["B"]
    estimates = answered(study, pl.col("on_left") > pl.col("on_right"))
    assert preferences(estimates) == {("B", "A"): 0.5}
    assert not estimates.filter(rows_of([NA_SPREAD])).height


@pytest.mark.parametrize(
    ("before", "after", "says"),
    [
        ('kind = "pairs"', 'kind = "pairs"\ncue = "race"', "without either any two pictures of a unit are a pair"),
        ('kind = "pairs"', 'kind = "pairs"\nbase = "A"', "without either any two pictures of a unit are a pair"),
        ('kind = "pairs"', 'kind = "pairs"\ncue = "race"\nbase = "A"', "the picture beside the base has no `factor`"),
        ('factor = "race"\nversus = "(each other)"\n', "", "A preference of any two pictures needs `factor`"),
        ('factor = "race"', 'factor = "rase"', "Unknown factor in a preference 'rase'. Did you mean 'race'"),
        ('factor = "race"', 'factor = "occupation"', "The pictures of a pair do not differ in 'occupation'"),
        ('by = ["occupation"]', 'by = ["race"]', "of two pictures, which differ in 'race': break it down by what both"),
        ('by = ["occupation"]', 'by = ["beside_race"]', "of two pictures, which differ in 'beside_race'"),
        ('versus = "(each other)"', 'versus = "D"', "Unknown level of race 'D'"),
        ('versus = "(each other)"', 'versus = "(mean)"', "there is no mean of its levels"),
        ('versus = "(each other)"', 'ends = ["A", "B"]', "names all levels of race in their order, and lacks 'C'"),
        (
            'statistic = "preference"\nfactor = "race"',
            'statistic = "shift"\nfactor = "race"',
            "no 'factor'",
        ),
        ('versus = "(each other)"', 'versus = "(each other)"\nmargin = 3', "margin"),
        (
            'factor = "gender"\nby = ["occupation"]',
            'factor = "race"\nversus = "(each other)"',
            "the same estimates",
        ),
        ('unit = "set"', 'unit = "sets"', "Unknown unit 'sets'"),
    ],
)
def test_mistakes_are_one_sentence(before: str, after: str, says: str, listed: Reader) -> None:
    text = STUDY.replace('kind = "pairs"', 'kind = "pairs"\nunit = "set"') if "unit" in before else STUDY
    assert before in text
    with pytest.raises(FaceValueError) as error:
        listed(text.replace(before, after, 1)).study()
    assert says in str(error.value)
    assert "\n" not in str(error.value)


def test_lists_that_make_no_pairs_are_refused(listed: Reader) -> None:
    path = listed.folder / "list.csv"
    header, *rows = path.read_text().splitlines()
    path.write_text("\n".join([header.replace("occupation", "beside_job"), *rows]))
    with pytest.raises(
        FaceValueError, match="No column of pairs can be called 'beside_job': 'beside_' is for the other"
    ):
        listed(STUDY).study()
    path.write_text("\n".join([header, *(row.replace(",s", f",{at}s") for at, row in enumerate(rows))]))
    with pytest.raises(FaceValueError, match="No two pictures have one 'set': there is no pair"):
        listed(STUDY).study()
