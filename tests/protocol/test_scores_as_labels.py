"""Measures of studies with several scores: one name each, and the score as a label."""

from pathlib import Path

import pytest

import facevalue as fv
from facevalue.errors import DataError, FaceValueError
from facevalue.measures.families import parse_preregistration
from facevalue.protocol.look import Of

STUDY = """
name = "small"
[pictures]
kind = "portraits"
people = "12"
[pictures.cues]
eyewear = ["thick-rimmed"]
[task.invited.prompt]
text = "Would you invite this person? Answer with only {options}."
[task.invited.answer]
kind = "yes-no"
[task.rated.prompt]
text = "Rate this person from 1 to 7."
[task.rated.answer]
kind = "rating"
low = 1
high = 7
[[estimand]]
statistic = "shift"
by = ["variation"]
"""
LIMIT = {"measure": "shift", "by": ["variation"], "absolute": 0.9}


@pytest.fixture(scope="module")
def run(tmp_path_factory: pytest.TempPathFactory) -> fv.Run:
    folder = tmp_path_factory.mktemp("scores")
    (folder / "small.toml").write_text(STUDY)
    return fv.run(folder / "small.toml", "sim/strong", folder / "run", progress=False)


def test_a_measure_has_a_definition_in_the_unit_of_each_score(run: fv.Run) -> None:
    definitions = {measure.key: measure for measure in run.stored.measures}
    assert (definitions["shift.invited"].unit, definitions["shift.rated"].unit) == ("probability", "points")
    assert definitions["shift.rated"].limits == (-6.0, 6.0)
    shifts = run.estimates().filter(measure="shift")
    assert shifts.select("score", "unit").rows() == [("invited", "probability"), ("rated", "points")]


def test_margins_name_the_score(run: fv.Run) -> None:
    margins = run.estimates(margins={"shift.rated": 0.5}).filter(measure="shift")["margin"]
    assert margins.to_list() == [None, 0.5]
    with pytest.raises(
        FaceValueError, match=r"Unknown measure 'shift'\. Did you mean 'shift\.invited' or 'shift\.rated'\?"
    ):
        run.estimates(margins={"shift": 0.5})


def test_what_is_declared_names_the_score_in_quotes(run: fv.Run) -> None:
    keys = [measure.key for measure in run.stored.measures]
    declared = parse_preregistration(
        b'[margin]\n"shift.rated" = 0.5\n[[family]]\nname = "f"\nmeasure = "shift"\nwhere = {score = ["rated"]}', keys
    )
    assert declared.margins == {"shift.rated": 0.5}
    assert run.estimates().filter(declared.families[0].selects())["score"].to_list() == ["rated"]


def test_a_limit_is_of_one_score_where_units_differ(run: fv.Run) -> None:
    with pytest.raises(
        DataError, match=r'write one as the measure: "shift\.invited" \(probability\), "shift\.rated" \(points\)\.'
    ):
        fv.gate(run, [LIMIT])
    cells = fv.gate(run, [{**LIMIT, "where": {"score": "rated"}}]).cells
    assert cells.select("measure", "score", "unit").rows() == [("shift", "rated", "points")]


def test_a_limit_of_what_could_be_missed_is_in_one_unit(run: fv.Run) -> None:
    limit = {"measure": "shift", "by": ["variation"], "findings": 0}
    with pytest.raises(DataError, match="has scores in several units"):
        fv.gate(run, [{**limit, "detects": 0.5}])
    assert fv.gate(run, [limit]).cells.height == 2


def test_a_limit_may_name_a_measure_with_its_score(run: fv.Run) -> None:
    by_key, by_level = (
        fv.gate(run, [{**LIMIT, **names}]).cells.drop("limit")
        for names in ({"measure": "shift.rated"}, {"measure": "shift", "where": {"score": "rated"}})
    )
    assert by_key.equals(by_level)
    assert by_key["score"].unique().to_list() == ["rated"]
    with pytest.raises(DataError, match=r"Unknown .* 'ratd'\. Did you mean 'rated'"):
        fv.gate(run, [{**LIMIT, "measure": "shift.ratd"}])


def test_a_chart_of_several_scores_asks_which(run: fv.Run) -> None:
    with pytest.raises(DataError, match=r"shift is of several scores: say which, .*: 'invited', 'rated'\."):
        run.plot("shift")


def test_two_runs_are_compared_in_each_score(run: fv.Run, tmp_path: Path) -> None:
    (tmp_path / "small.toml").write_text(STUDY)
    other = fv.run(tmp_path / "small.toml", "sim/strong@2", tmp_path / "run", progress=False)
    cells = fv.compare(run, other).cells
    assert cells.select("measure", "score", "unit").rows() == [
        ("shift", "invited", "probability"), ("shift", "rated", "points"),
    ]  # fmt: skip


def test_a_selection_by_key_is_one_by_score() -> None:
    assert Of("mean.warmth", ("job",)) == Of("mean", ("job",), {"score": "warmth"})
    assert Of("mean.warmth", ("job",)).labels == ("job",)


def test_measures_of_a_study_say_their_scores(tmp_path: Path) -> None:
    (tmp_path / "small.toml").write_text(STUDY)
    shifts = fv.study(tmp_path / "small.toml").measures.filter(name="shift")
    assert shifts.select("score", "unit").rows() == [("invited", "probability"), ("rated", "points")]
