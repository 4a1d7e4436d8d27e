"""Takes of ranges: the highest less the lowest score of a unit's levels, beside what replies to one picture have."""

from pathlib import Path

import numpy as np
import polars as pl
import pytest

import facevalue as fv
from facevalue.errors import FaceValueError
from facevalue.measures.set_ranges import range_summary
from facevalue.protocol import Ask, Protocol, Rows, Study, choice, rating
from facevalue.statistics import Estimand, Range
from tests.floors import floor_of
from tests.protocol.conftest import Reader

PLACES = ("church", "mosque", "shrine")
ROWS = [
    {"set": f"s{number}", "subset": "two" if number % 3 else "three", "place": place}
    for number in range(30)
    for place in (PLACES[:2] if number % 3 else PLACES)
]
STUDY = f"""
name = "small"
[pictures]
kind = "none"
unit = "set"
rows = [
{",".join(f'{{set = "{row["set"]}", subset = "{row["subset"]}", place = "{row["place"]}"}}' for row in ROWS)}
]
[prompt]
text = "Somebody is seen before a {{place}}. How {{trait}} are they, from 1 to 5?"
[factor.trait]
levels = ["kind", "able"]
[answer]
kind = "rating"
[[estimand]]
statistic = "range"
factor = "place"
by = ["subset", "trait"]
[sampling]
seeds = [1, 2, 3]
"""


def _study(*estimands: Estimand) -> Protocol:
    prompts = ("How {trait} is someone before a {place}, from 1 to 5?",)
    ask = Ask(prompts, rating(1, 5), slots={"trait": {"kind": "kind", "able": "able"}})
    stimuli = Rows(rows=tuple(ROWS), unit="counterfactual set")
    return Protocol(name="small", title="Small", stimuli=stimuli, ask=ask, estimands=estimands, seeds=(1, 2, 3))


def _answers(study: Study, moved: float, seed: int = 0, lost: float = 0.0) -> pl.DataFrame:
    """Answers of a respondent whom the mosque moves so far."""
    rng = np.random.default_rng(seed)
    trials = pl.concat(
        study.design.trials(np.arange(study.design.size)).with_columns(repeat=pl.lit(repeat, pl.UInt8))
        for repeat in range(3)
    )
    scores = rng.normal(3, 0.4, trials.height) + moved * (trials["place"] == "mosque").to_numpy()
    missing = rng.random(trials.height) < lost
    return trials.with_columns(
        rating=pl.Series(np.where(missing, np.nan, np.clip(scores, 1, 5))).fill_nan(None), mass=1.0 - missing,
        na=pl.when(pl.Series(missing)).then(pl.lit("refused")), status=pl.lit("ok"),
        **{"(first)": pl.lit(0.0), "(letter)": pl.lit(0.0)},
    )  # fmt: skip


def _ranges(estimand: Estimand, moved: float, **more: float) -> pl.DataFrame:
    study = _study(estimand).study()
    return study.analyse({"m": iter([_answers(study, moved, **more)])}).filter(  # type: ignore[arg-type]
        pl.col("measure").str.starts_with("range")
    )


def test_a_range_has_a_floor_and_its_tail_beside_it(read: Reader, tmp_path: Path) -> None:
    read(STUDY)
    opened = fv.run(tmp_path / "small.toml", "sim/strong", tmp_path / "run")
    estimates = opened.estimates().filter(pl.col("measure").str.starts_with("range"))
    assert sorted(estimates["measure"].unique()) == ["range", "range_q90"]
    assert estimates.height == 2 * 4
    assert set(estimates["dimension"]) == {"place"}
    mean = estimates.filter(pl.col("measure") == "range")
    assert mean.select(pl.all_horizontal(pl.col("floor", "low", "bound_low", "p").is_not_null()).all()).item()
    assert mean.select((pl.col("low") <= pl.col("value")).all()).item()
    assert estimates.filter(pl.col("measure") == "range_q90")["p"].is_null().all()
    opened.report(tmp_path / "report.html")
    page = (tmp_path / "report.html").read_text()
    assert "Ranges of place by subset, trait" in page
    assert "Ranges that one in ten exceeds" in page
    assert "this says how far they hang on the picture, not why" in page


def test_each_cell_compares_the_levels_that_it_shows() -> None:
    found = _ranges(Estimand(Range(factor="place"), by=("subset", "trait")), moved=0.0)
    assert found.filter(pl.col("measure") == "range")["clusters"].to_list() == [10, 10, 20, 20]
    assert set(found.filter(pl.col("subset") == "three")["n"]) == {30}


@pytest.mark.slow
def test_a_planted_difference_is_found_and_its_absence_is_not() -> None:
    ranged = Estimand(Range(factor="place"), by=("subset",))
    alike = [
        _ranges(ranged, 0.0, seed=seed).filter(measure="range").select("p", "subset").to_dicts() for seed in range(40)
    ]
    p = np.array([[row["p"] for row in rows] for rows in alike])
    assert (p < 0.05).mean(axis=0).max() < 0.2
    assert (_ranges(ranged, 0.8).filter(measure="range")["p"] < 0.05).all()


def test_a_set_is_one_cluster_however_many_questions_it_was_asked() -> None:
    rng = np.random.default_rng(1)
    one = rng.normal(size=(200, 3, 4))
    twice = np.repeat(one, 2, axis=0)
    alone, together = range_summary(one, 0), range_summary(twice, 0, clusters=np.repeat(np.arange(200), 2))
    assert together.mean.clusters[0] == alone.mean.clusters[0] == 200
    for field in ("value", "low", "high"):
        assert getattr(together.mean, field)[0] == pytest.approx(getattr(alone.mean, field)[0], abs=0.01)
    assert floor_of(together.mean).high[0] == pytest.approx(floor_of(alone.mean).high[0])
    assert floor_of(range_summary(one, 0, clusters=np.arange(200)).mean).p[0] == floor_of(alone.mean).p[0]


def test_missing_answers_widen_the_bounds_and_leave_sets_out() -> None:
    ranged = Estimand(Range(factor="place"), by=("subset",))
    lost = _ranges(ranged, 0.5, lost=0.2).filter(measure="range")
    none = _ranges(ranged, 0.5).filter(measure="range")
    assert (lost["bound_high"] - lost["bound_low"] > 0.3).all()
    assert (none["bound_high"] - none["bound_low"] < 1e-9).all()
    assert (lost["n"] < none["n"]).all()


@pytest.mark.parametrize("is_biased", [False, True])
def test_an_order_of_options_that_moves_all_answers_is_no_floor(is_biased: bool) -> None:
    """Who takes the first option more often, whatever the picture, hides no difference between pictures."""
    reply = choice({"yes": "yes", "no": "no"}, favourable="yes", order="both")
    ask = Ask(("Is someone before a {place} kind? {options}",), reply)
    stimuli = Rows(rows=tuple(ROWS), unit="counterfactual set")
    estimands = (Estimand(Range(factor="place"), by=("subset",)),)
    study = Protocol(name="small", title="Small", stimuli=stimuli, ask=ask, estimands=estimands, seeds=(1, 2)).study()
    trials = study.design.trials(np.arange(study.design.size))
    first = trials["ordering"].cast(pl.String) == trials["ordering"].cast(pl.String).min()
    rng, drawn = np.random.default_rng(1), []
    for repeat in range(2):
        share = 0.5 + 0.4 * is_biased * (2 * first.to_numpy() - 1) + 0.1 * (trials["place"] == "mosque").to_numpy()
        weights = pl.Series(np.clip(share + rng.normal(0, 0.02, share.size), 0, 1))
        drawn.append(trials.with_columns(
            share=weights, mass=pl.lit(1.0), na=pl.lit(None, pl.String), status=pl.lit("ok"),
            repeat=pl.lit(repeat, pl.UInt8), **{"(first)": pl.lit(0.0), "(letter)": pl.lit(0.0)},
        ))  # fmt: skip
    found = study.analyse({"m": iter([pl.concat(drawn)])}).filter(measure="range")
    assert (found["floor"] < 0.06).all()
    assert (found["p"] < 0.01).all()


@pytest.mark.parametrize(
    ("before", "after", "message"),
    [
        ('factor = "place"', "", r"A range needs a factor of its own"),
        ('factor = "place"', 'factor = "plaec"', r"Unknown factor in a range 'plaec'\. Did you mean 'place'"),
        ('factor = "place"\nby = ["subset", "trait"]', 'factor = "trait"', r"no unit has several of 'trait'"),
        ('factor = "place"\nby = ["subset", "trait"]', 'factor = "subset"', r"no unit has several of 'subset'"),
        ('factor = "place"', 'factor = "place"\nversus = "mosque"', r"A range has no 'versus'"),
        ('factor = "place"', 'factor = "place"\nof_shifts = true', r"A range has no 'of_shifts'"),
        ('by = ["subset", "trait"]', 'by = ["place"]', r"The range names a factor twice"),
        ('factor = "place"', 'factor = "place"\nsize = true', r"A range has no 'size'"),
        ('factor = "place"', 'factor = "place"\nmeasure = "na_rate"', r"check of the instrument"),
        ('statistic = "range"', 'statistic = "ranges"', r"Unknown statistic 'ranges'\. Did you mean 'range'"),
        ('factor = "place"', 'factor = "place"\nany_of = ["trait"]', r"A range has no 'any_of'"),
        ('{set = "s0", subset = "three", place = "church"}',
         '{set = "s0", subset = "three", place = "church"}, {set = "s0", subset = "three", place = "church"}',
         r"in several pictures"),
    ],
)  # fmt: skip
def test_mistakes_are_one_sentence(before: str, after: str, message: str, read: Reader) -> None:
    assert before in STUDY
    with pytest.raises(FaceValueError, match=message) as caught:
        read(STUDY.replace(before, after, 1)).study()
    assert "line" in str(caught.value)
