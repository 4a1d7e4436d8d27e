"""Runs with interventions: stored with their whole text, built again from it, resumed only with the same ones."""

from dataclasses import replace
from pathlib import Path

import numpy as np
import polars as pl
import pytest

from facevalue import studies
from facevalue.errors import RunError
from facevalue.models import load
from facevalue.prompts.variants import Variant
from facevalue.protocol.study import Study
from facevalue.protocol.toml_tables import builtin
from facevalue.protocol.variants import add_interventions
from facevalue.runs import RunSettings, run
from facevalue.runs.joined_runs import estimate
from facevalue.runs.stored_run import StoredRun, answers
from facevalue.store import read_manifest
from tests.runs.tiny import TinyModel, keys, tiny_study

SETTINGS = {"faces": "24", "scenario": ["polite", "wealthy"], "attributes": ["eyewear"], "seeds": ["1"]}
JUDGE = Variant(
    "judge", 'A "judge"\n', before="Act as a judge.\n", turns=(("user", "Hé?"), ("assistant", "[[a]]\nb = 1"))
)
CIPHER, NO_IMAGE = builtin()["cipher"], builtin()["no-image"]


def small(*done: Variant) -> Study:
    return add_interventions(studies.build("stylisticbias", SETTINGS), done)  # type: ignore[arg-type]


def test_a_run_is_built_again_with_its_interventions(tmp_path: Path) -> None:
    study = small(JUDGE, CIPHER)
    assert run(study, load("sim/default"), tmp_path / "r").complete
    said = (tmp_path / "r" / "run.toml").read_text()
    assert said.count("[[study.interventions]]") == 2
    assert "Act as a judge." in said
    opened = StoredRun.open(tmp_path / "r")
    assert opened.study.options == study.options
    trials = np.arange(0, study.design.size, 37)
    assert opened.study.design.trials(trials).equals(study.design.trials(trials))
    assert opened.study.ask(study.design.trials(trials)) == study.ask(study.design.trials(trials))


def test_a_plain_run_says_nothing_of_interventions(tmp_path: Path) -> None:
    run(tiny_study(), TinyModel(), tmp_path / "r")
    assert "interventions" not in (tmp_path / "r" / "run.toml").read_text()
    assert "interventions" not in read_manifest(tmp_path / "r").options


def test_the_same_interventions_resume_and_nothing_is_asked_twice(tmp_path: Path) -> None:
    study, model = add_interventions(tiny_study(), [JUDGE]), TinyModel()
    assert run(study, model, tmp_path / "r").complete
    assert len(set(keys(model.asked))) == len(model.asked) == 24
    again = TinyModel()
    assert run(add_interventions(tiny_study(), [JUDGE]), again, tmp_path / "r").skipped == 24
    assert not again.asked


@pytest.mark.parametrize(
    ("done", "said"),
    [
        ([], "intervention judge: .* in the folder, nothing asked"),
        (
            [Variant("judge", before="Act as a lawyer.")],
            "intervention judge: one with the digest .* in the folder, one with the digest .* asked",
        ),
        ([JUDGE, NO_IMAGE], "intervention no-image: nothing in the folder"),
    ],
)
def test_other_interventions_are_refused(tmp_path: Path, done: list[Variant], said: str) -> None:
    run(add_interventions(tiny_study(), [JUDGE]), TinyModel(), tmp_path / "r")
    with pytest.raises(RunError, match=said):
        run(add_interventions(tiny_study(), done), TinyModel(), tmp_path / "r")


def test_the_plain_requests_are_those_of_a_plain_run(tmp_path: Path) -> None:
    plain, both = TinyModel(), TinyModel()
    run(tiny_study(), plain, tmp_path / "a")
    run(add_interventions(tiny_study(), [JUDGE]), both, tmp_path / "b")
    hashes = [pl.read_parquet(tmp_path / name / "responses" / "*.parquet").sort("trial")["request"] for name in "ab"]
    assert hashes[1][:12].equals(hashes[0])
    assert not set(hashes[1][12:]) & set(hashes[0])
    told = [{**r.question.factors, "intervention": "plain"} for r in plain.asked]
    said = [replace(r.question, factors=factors) for r, factors in zip(plain.asked, told, strict=True)]
    assert [request.question for request in both.asked if request.trial < 12] == said


def test_the_plain_part_of_a_run_measures_as_a_plain_run_does(tmp_path: Path) -> None:
    run(small(JUDGE), load("sim/default"), tmp_path / "both")
    run(small(), load("sim/default"), tmp_path / "plain")
    both, plain = StoredRun.open(tmp_path / "both"), StoredRun.open(tmp_path / "plain")
    assert both.plain().study.options == plain.study.options
    assert plain.plain() is plain
    found = estimate([both.plain()])[0]
    timeless = ~pl.col("measure").str.contains("drift|wavering")  # the plain run was asked at another time
    assert found.filter(timeless).equals(estimate([plain])[0].filter(timeless))
    chunks = pl.concat(list(answers(both.plain())))
    assert chunks.height == plain.study.design.size


def test_an_exact_run_in_the_cipher_is_understood(tmp_path: Path) -> None:
    study = small(CIPHER)
    run(study, load("sim/default"), tmp_path / "r", RunSettings(exact=True))
    rows = pl.concat(list(answers(StoredRun.open(tmp_path / "r"))))
    assert rows["preference"].null_count() == 0
    assert rows["reading"].null_count() == rows.height


@pytest.fixture(scope="module")
def measured(tmp_path_factory: pytest.TempPathFactory) -> pl.DataFrame:
    """Estimates of a simulated model, which text doesn't move and which recognises nothing without a picture.

    Ten groups, not twenty, as the study is measured once more for each.
    """
    folder = tmp_path_factory.mktemp("run") / "r"
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("facevalue.protocol.kept_answers.JACKKNIFE_GROUPS", 10)
        blind = Variant("blind", picture="none", cipher=True)
        run(small(Variant("idle", after="Well?"), blind), load("sim/strong@3"), folder)
        return estimate([StoredRun.open(folder)])[0]


@pytest.mark.slow
def test_an_intervention_without_effect_is_found_in_about_one_test_of_twenty(measured: pl.DataFrame) -> None:
    """Some 120 tests that share their answers: up to twice as many by chance."""
    own = measured.filter(
        pl.col("measure").is_in(["shift", "mean"]), pl.col("versus").is_not_null(), pl.col("p").is_not_null()
    )
    idle = own.filter(intervention="idle")
    assert idle.height > 80
    assert 0 < (idle["p"] < 0.05).mean() < 0.1  # type: ignore[operator]
    assert (idle["q"] < 0.05).sum() == 0


@pytest.mark.slow
def test_a_picture_taken_away_is_found_to_move_the_judgment(measured: pl.DataFrame) -> None:
    own = measured.filter(pl.col("versus").is_not_null(), measure="mean", intervention="blind")
    assert (own["q"] < 0.05).any()


def test_replies_in_the_cipher_are_valid_and_changes_are_judged(measured: pl.DataFrame) -> None:
    cipher = measured.filter(intervention="blind")
    shares = dict(cipher.filter(pl.col("measure") == "reading_share").select("reading", "value").iter_rows())
    assert shares["decoded"] > 85
    assert shares["unable"] == 0
    changed = cipher.filter(pl.col("versus").is_not_null())
    assert changed.filter(pl.col("value").is_not_null())["verdict"].null_count() == 0
    assert (
        changed.filter(pl.col("p").is_not_null())
        .select("n", "clusters", "method", "low")
        .null_count()
        .sum_horizontal()[0]
        == 0
    )
