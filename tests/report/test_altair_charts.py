"""Charts in notebooks: what they hold is what the estimates and the page hold."""

import ast
import re
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import polars as pl
import pytest

import facevalue as fv
from facevalue.errors import DataError, DependencyError, SettingError, UnknownNameError
from facevalue.measures.definitions import UNANSWERED
from facevalue.protocol import Ask, Portraits, yes_or_no
from facevalue.statistics import Estimand, Mean, Shift

HIRING = fv.Protocol(
    name="hiring",
    title="Who is invited?",
    stimuli=Portraits(cues={"eyewear": ("thick-rimmed", "sunglasses"), "accessories": ("cap",)}, people="6"),
    ask=Ask(
        prompts=("Would you invite this person to an interview as {job}? {options}",),
        slots={"job": {"nurse": "nurse", "cook": "cook"}},
        reply=yes_or_no(),
    ),
    estimands=(
        Estimand(Shift(), by=("variation",)),
        Estimand(Shift(), by=("variation", "job")),
        Estimand(Mean(), by=("gender",)),
    ),
)


@pytest.fixture(scope="module")
def run(tmp_path_factory: pytest.TempPathFactory) -> fv.Run:
    return fv.run(HIRING, "sim/default", tmp_path_factory.mktemp("charts") / "run", exact=True, progress=False)


@pytest.fixture(scope="module")
def other(tmp_path_factory: pytest.TempPathFactory) -> fv.Run:
    folder = tmp_path_factory.mktemp("charts") / "other"
    return fv.run(HIRING, "sim/default", folder, exact=True, seed=0, name="tuned", progress=False)


def _records(chart: Any) -> Sequence[dict[str, Any]]:
    (records,) = chart.to_dict()["datasets"].values()
    return records


def test_a_chart_has_the_estimates_and_their_intervals(run: fv.Run) -> None:
    rows = run.estimates().filter(measure="shift").filter(pl.col("job").is_null()).sort("value")
    records = sorted(_records(run.plot("shift", by="variation")), key=lambda record: record["value"])
    for name in ("value", "low", "high", "page_low", "page_high"):  # in points of a hundred, as on the page
        assert [record[name] for record in records] == pytest.approx((100 * rows[name]).to_list()), name
    for name in ("n", "clusters", "verdict"):
        assert [record[name] for record in records] == rows[name].to_list(), name


def test_a_second_factor_makes_panels(run: fv.Run) -> None:
    spec = run.plot("shift", by=["variation", "job"]).to_dict()
    assert spec["facet"]["field"] == "panel"
    assert {record["panel"] for record in _records(run.plot("shift", by=["variation", "job"]))} == {"Nurse", "Cook"}


def test_a_factor_may_be_held_at_a_level(run: fv.Run) -> None:
    records = _records(run.plot("shift", by="variation", where={"job": "nurse"}))
    rows = run.estimates().filter(measure="shift", job="nurse")
    assert sorted(record["value"] for record in records) == pytest.approx((100 * rows["value"]).sort().to_list())


def test_nested_factors_stand_in_one_panel(tmp_path: Path) -> None:
    study = fv.study("stylisticbias", faces="2M,2F", attributes=["eyewear", "tattoos"], scenario="polite")
    chosen = fv.run(study, "sim/default", tmp_path / "run", exact=True, progress=False)
    records = _records(chosen.plot("shift", by=["attribute", "variation"]))
    assert {record["panel"] for record in records} == {""}
    assert "Sunglasses, Eyewear" in {record["row"] for record in records}


def test_models_share_rows(run: fv.Run, other: fv.Run) -> None:
    records = _records(run.plot("shift", by="variation", others=[other]))
    assert {record["model"] for record in records} == {"sim/default", "tuned"}
    assert len(records) == 2 * len({record["row"] for record in records})


def test_the_farthest_rows_are_kept(run: fv.Run) -> None:
    sizes = run.estimates().filter(measure="shift").filter(pl.col("job").is_null())["value"].abs().sort(descending=True)
    chart = run.plot("shift", by="variation", rows=1)
    assert [abs(record["value"]) for record in _records(chart)] == pytest.approx([100 * sizes[0]])
    assert "1 of 3, farthest first" in chart.to_dict()["title"]


@pytest.mark.parametrize(
    ("call", "error", "sentence"),
    [
        ({"measure": "shfit"}, UnknownNameError, "Unknown measure 'shfit'. Did you mean 'shift'"),
        ({"measure": "shift", "by": "variaton"}, UnknownNameError, "Did you mean 'variation'"),
        ({"measure": "shift", "where": {"job": "nurs"}}, UnknownNameError, "Unknown job 'nurs'. Did you mean 'nurse'"),
        ({"measure": "shift", "by": "job"}, DataError, "shift is not estimated by job. It is estimated by: variation;"),
        ({"measure": "shift", "rows": 0}, SettingError, "rows"),
    ],
)
def test_what_cannot_be_drawn_is_one_sentence(
    run: fv.Run, call: dict[str, Any], error: type[Exception], sentence: str
) -> None:
    with pytest.raises(error, match=sentence.replace("(", r"\(")):
        run.plot(**call)


def test_without_altair_the_extra_is_named(run: fv.Run, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(__import__("sys").modules, "altair", None)
    with pytest.raises(DependencyError, match=r"pip install '.\[plot\]"):
        run.plot("shift", by="variation")


def test_every_measure_of_a_study_can_be_drawn(run: fv.Run) -> None:
    for measure in run.estimates().drop_nulls("value")["measure"].unique():
        assert _records(run.plot(measure)), measure


def test_a_score_is_chosen_where_others_stand_beside_the_answers_themselves(run: fv.Run) -> None:
    rows = run.estimates().filter(measure="drift").drop_nulls("value")
    for where, score in (({}, pl.col("score").is_null()), ({"score": UNANSWERED}, pl.col("score") == UNANSWERED)):
        assert len(_records(run.plot("drift", where=where))) == rows.filter(score).height > 0
    with pytest.raises(DataError, match="both name a score: name it once"):
        run.plot(f"drift.{UNANSWERED}", where={"score": UNANSWERED})
    assert _records(run.plot(f"drift.{UNANSWERED}")) == _records(run.plot("drift", where={"score": UNANSWERED}))
    with pytest.raises(UnknownNameError, match=r"Unknown score of drift 'no answer'\. Did you mean 'no valid answer'"):
        run.plot("drift", where={"score": "no answer"})


def test_a_score_that_has_no_definition_of_its_own_is_drawn(tmp_path: Path) -> None:
    study = fv.study("counterfactuals", prompt=["characteristics"], sets=6)
    scored = fv.annotate(fv.run(study, "sim/strong@3", tmp_path / "run", progress=False))
    assert "hostility" not in {measure.score for measure in scored.stored.measures}
    where = {"score": "hostility", "scorer": "lexical", "prompt": "characteristics", "subset": "physical-gender"}
    rows = scored.estimates().filter(measure="mean", **where).drop_nulls("group")
    records = _records(scored.plot("mean", by="group", where=where))
    assert sorted(record["value"] for record in records) == rows["value"].sort().to_list() != []
    with pytest.raises(UnknownNameError, match=r"Unknown score of mean 'hostilty'\. Did you mean 'hostility'"):
        scored.plot("mean", where={**where, "score": "hostilty"})


def test_a_measure_by_many_factors_says_what_to_write_in_its_own_levels(tmp_path: Path) -> None:
    study = fv.study("modscan", modality="vision")
    run = fv.run(study, "sim/strong", tmp_path / "r", sample=60, progress=False)
    with pytest.raises(SettingError, match=r"one factor or two, and choice_share is by .*for example by=") as error:
        run.plot("choice_share")
    example = re.search(r"by=(\[.*\]), where=(\{.*\})\.$", str(error.value))
    assert example
    run.plot("choice_share", by=ast.literal_eval(example[1]), where=ast.literal_eval(example[2]))
