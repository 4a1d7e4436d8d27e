"""Calibration of statistics without a direction or a test, and of pairs: what is planted touches them and counts."""

from pathlib import Path

import polars as pl
import pytest

from facevalue import studies
from facevalue.calibration import repetitions, runner
from facevalue.calibration.audits import PAIRS, Audits
from facevalue.calibration.families import NOT_TESTED, by_size
from facevalue.calibration.planted_answers import PlantedCondition
from facevalue.calibration.repetitions import Audit, Workshop, calibration_of
from facevalue.calibration.runner import ALIKE, EFFECTS, HARD, NOTHING, calibrate_studies
from facevalue.errors import NothingComparedError
from facevalue.protocol.protocol import Protocol
from tests.calibration.test_runner import quiet

HEAD = """
name = "small"
[pictures]
{pictures}
[prompt]
text = "Who is it? {{options}}"
[answer]
kind = "choice"
options = {{ left = "the person on the left", right = "the person on the right" }}
favourable = "left"
[sampling]
seeds = [1, 2]
"""
SETS = 'kind = "sets"\nshow = "workers"\nsets = 6'
RANGE = '[[estimand]]\nstatistic = "range"\nfactor = "skin_tone"\nby = ["gender"]\n'
FACES = 'kind = "portraits"\npeople = "8"\n[pictures.cues]\naccessories = ["cap"]'


def written(folder: Path, pictures: str, *takes: str) -> str:
    path = folder / "small.toml"
    path.write_text(HEAD.format(pictures=pictures) + "".join(takes))
    return str(path)


def audits_of(path: str) -> tuple[Protocol, Audits]:
    protocol = studies.protocol(path)
    return protocol, Audits(protocol, calibration_of(protocol), 1)


@pytest.fixture
def few(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(runner, "PAIRS", PAIRS[:1])
    monkeypatch.setattr(runner, "HARD", HARD[6:7])
    monkeypatch.setattr(runner, "LARGE", 2)


@pytest.mark.slow
@pytest.mark.usefixtures("few")
def test_a_study_of_ranges_alone_is_calibrated(tmp_path: Path) -> None:
    tables = calibrate_studies([written(tmp_path, SETS, RANGE)], 2, Workshop(quiet), (1,))
    families = {row["measure"]: row for row in tables.frames[""].iter_rows(named=True)}
    assert families["range"]["repetitions"] == 5
    assert families["range"]["false"] is not None
    assert families["range"]["rival"] is not None
    assert families["range_q90"]["family"] == NOT_TESTED
    assert families["range_q90"]["false"] is None
    assert families["range_q90"]["coverage"] is not None
    assert tables.frames["-comparisons"]["cells"].to_list() == [2]
    assert tables.frames["-detectable"].is_empty()
    captions = {table.title: table.caption for table in tables.tables}
    assert str(captions["small: effects that are said to be found"]).startswith("Left out: ")


@pytest.mark.usefixtures("few")
def test_a_comparison_of_nothing_is_left_out(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def refused(*_: object) -> None:
        raise NothingComparedError("There is nothing to compare.")

    monkeypatch.setattr(repetitions, "compare_audits", refused)
    tables = calibrate_studies(
        [written(tmp_path, FACES, '[[estimand]]\nstatistic = "mean"\n')], 1, Workshop(quiet), (1,)
    )
    assert tables.frames["-comparisons"].is_empty()
    assert tables.frames["-comparisons"].columns[:4] == ["study", "size", "repetitions", "pair"]
    captions = {table.title: table.caption for table in tables.tables}
    assert str(captions["small: comparisons"]).startswith("Left out: the study takes nothing by which")


def test_ranges_count_where_pictures_of_a_set_are_alike_or_effects_are_planted(tmp_path: Path) -> None:
    path = written(tmp_path, SETS, RANGE)
    made = {condition.name: Audit(path, 1, condition, 1).make() for condition in (NOTHING, ALIKE, EFFECTS)}
    has_range = {name: (frame["measure"] == "range").any() for name, frame in made.items()}
    assert has_range == {NOTHING.name: False, ALIKE.name: True, EFFECTS.name: True}
    truth = audits_of(path)[1].truth(ALIKE, 1).filter(measure="range")
    assert truth["true"].to_list() == pytest.approx([0.0, 0.0])


def test_what_is_sampled_answers_alike_and_is_copied_as_it_is_named(tmp_path: Path) -> None:
    _, audits = audits_of(written(tmp_path, SETS, RANGE))
    assert audits.units == 6
    assert audits.calibration.units == ("image", "identity", "set")
    rows = [f'{{ template = "t{n // 2}", place = "{"ab"[n % 2]}", query = "Who?" }}' for n in range(8)]
    pictures = f'kind = "none"\nunit = "template"\nrows = [{", ".join(rows)}]'
    path = tmp_path / "rows.toml"
    path.write_text(
        HEAD.format(pictures=pictures).replace("Who is it?", "{query}")
        + '[[estimand]]\nstatistic = "gap"\nfactor = "place"\n'
    )
    protocol = studies.protocol(str(path))
    twice = Audits(protocol, calibration_of(protocol), 2)
    assert twice.units == 8


def test_the_value_of_a_tally_is_held_against_audits_of_its_own_size() -> None:
    rows = pl.DataFrame({
        "measure": ["tally", "gap"] * 2, "score": ["one"] * 4, "row": [1, 2] * 2,
        "audit": [1, 1, 2, 2], "value": [0.2, 0.1, 0.4, 0.3],
        "true": [0.9] * 4, "true_low": [0.8] * 4, "true_high": [1.0] * 4,
    })  # fmt: skip
    found = by_size(rows, ["tally"])
    assert found["true"].to_list() == pytest.approx([0.3, 0.9, 0.3, 0.9])
    assert (found.filter(measure="tally")["true_low"] < 0.2).all()
    assert by_size(rows, []).equals(rows)


def test_flips_and_similarities_are_described(tmp_path: Path) -> None:
    flip, mean = ('[[estimand]]\nstatistic = "flip"\nby = ["variation"]\n', '[[estimand]]\nstatistic = "mean"\n')
    path = written(tmp_path, FACES, flip, mean)
    protocol, _ = audits_of(path)
    assert calibration_of(protocol).described == ("flip", "flip_rate", "flip_floor", "mean")
    made = Audit(path, 1, NOTHING, 1).make()
    assert {"flip", "flip_rate", "flip_floor", "mean"} <= set(made["measure"])


def test_rivals_are_of_their_own_family(tmp_path: Path) -> None:
    shift = '[[estimand]]\nstatistic = "shift"\nfamily = "shifts"\n'
    by_cue = '[[estimand]]\nstatistic = "shift"\nby = ["variation"]\nfamily = "shifts by cue"\n'
    tally = '[[estimand]]\nstatistic = "tally"\nfactor = "variation"\n'
    made = Audit(written(tmp_path, FACES, shift, by_cue, tally), 1, NOTHING, 1).make()
    assert made.filter(measure="shift").group_by("family").len()["len"].to_list() == [1, 1]
    assert made.filter(pl.col("measure").is_in(["shift", "moved_share"]))["q_rival"].null_count() == 0


def test_of_any_two_pictures_the_effect_of_the_other_is_taken_off(tmp_path: Path) -> None:
    lines = [f"{n}{place}.png,s{n},{place}" for n in range(6) for place in "abc"]
    (tmp_path / "list.csv").write_text("\n".join(["path,set,place", *lines]))
    pairs = 'kind = "pairs"\nmanifest = "list.csv"\nunit = "set"'
    take = '[[estimand]]\nstatistic = "preference"\nfactor = "place"\nversus = "(each other)"\n'
    _, audits = audits_of(written(tmp_path, pairs, take))
    assert audits.levels["place"] == ["a", "b", "c"]
    lone = PlantedCondition("lone", lone=3.0, target={"place": "b"}, person=0.0, picture=0.0)
    true = dict(audits.truth(lone, 1).filter(measure="preference_between").select(
        pl.concat_str("place", "contrast"), "true"
    ).iter_rows())  # fmt: skip
    assert true["ba"] > 0.3
    assert true["cb"] == pytest.approx(-true["ba"], abs=0.01)
    assert true["ca"] == pytest.approx(0.0, abs=0.01)
