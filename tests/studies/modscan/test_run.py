"""Whole runs: simulated models in every style, the reference model, a server, interventions, the page."""

import html
import json
import re
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path
from typing import Any

import PIL.Image
import polars as pl
import pytest

import facevalue as fv
from facevalue.errors import ModelError
from facevalue.measures.definitions import NO_INTERVENTION, rows_of
from facevalue.models.sim import SimModel
from facevalue.report import collect
from facevalue.runs import RunSettings, run
from facevalue.runs.kept_estimates import take_estimates
from facevalue.runs.pictures import NOT_NAMED, load_shown
from facevalue.runs.progress import SilentProgress
from facevalue.runs.stored_run import StoredRun
from facevalue.types import Request, Response
from tests.models.misbehaving import Exchange, Misbehaving
from tests.studies.modscan.asked import build, one

SEEN = {"modality": "vision", "attribute": "gender", "scenario_kind": "occupation"}
OF_ORDER = pl.col("measure").str.contains("^(drift|wavering)")  # of when each was answered, which differs
NAMED = {"modality": "language", "attribute": "gender", "scenario_kind": "persona"}


@pytest.mark.parametrize("style", ["words", "boxes-100", "boxes-1000"])
def test_a_simulated_model_gives_the_same_estimates_in_every_style(style: str, tmp_path: Path) -> None:
    asked: dict[str, Any] = {"faces": 2, "attribute": ["gender"], "instances": ["nurse", "thug"]}
    runs = [
        fv.run(
            fv.study("modscan", modality=["vision"], style=own, **asked), "sim/default", tmp_path / own, progress=False
        )
        for own in ("auto", style)
    ]
    first, second = (run.estimates().drop("method", "detail") for run in runs)
    same = pl.col("reason").is_null() & ~OF_ORDER  # a box is no side, gibberish no box
    assert first.filter(same).equals(second.filter(same))
    assert runs[0].summary is not None
    assert runs[0].summary.na < 0.1 * runs[0].summary.requests


def test_models_that_answer_in_three_styles_stand_in_one_report(tmp_path: Path) -> None:
    asked: dict[str, Any] = {"faces": 1, "attribute": ["gender"], "instances": ["nurse"], "modality": ["vision"]}
    runs = [
        fv.run(fv.study("modscan", style=own, **asked), f"sim/default@{n}", tmp_path / own, progress=False)
        for n, own in enumerate(("words", "boxes-100", "boxes-1000"))
    ]
    table = take_estimates([run.stored for run in runs])[0].filter(rows_of(["choice_share"]))
    assert table["model"].n_unique() == 3
    assert table["value"].is_not_null().all()


def test_only_shares_of_men_and_women_stand_beside_an_even_choice(tmp_path: Path) -> None:
    asked = fv.study("modscan", modality=["vision"], attribute=["gender", "race"], faces=2, instances=["nurse"])
    page = fv.run(asked, "sim/default", tmp_path / "run", progress=False).report(tmp_path / "page.html")
    parts = re.split(r"<h3[^>]*>", Path(page).read_text())
    titles = {part.partition("<")[0].strip(): "Men less 50%" in part for part in parts if ": occupations" in part[:60]}
    assert set(titles.values()) == {True, False}
    assert all(("Gender" in title) == has_column for title, has_column in titles.items()), titles


def test_samples_are_alike_where_both_were_asked(tmp_path: Path) -> None:
    asked = fv.study("modscan", modality=["vision"], attribute=["gender"], faces=2, instances=["nurse", "thug"])
    one, two = (
        fv.run(asked, f"sim/{name}", tmp_path / name, sample=60, interventions=["sr"], progress=False)
        for name in ("strong", "null")
    )
    for runs in ([one], [one, two]):
        table = take_estimates([run.stored for run in runs])[0].filter(pl.col("measure") == "similarity")
        assert table["value"].is_between(0, 1).all()
        assert max(table["n"].to_list()) <= 60
        assert table.height >= len(runs)


def test_no_gap_from_an_even_choice_is_thought_larger_than_any_can_be(tmp_path: Path) -> None:
    asked = fv.study("modscan", faces=2, pairs=4)
    run = fv.run(asked, "sim/mumbler", tmp_path / "run", sample=1000, progress=False)
    gaps = run.estimates().filter(pl.col("measure") == "chance_gap")
    ends = [end for name in ("page_low", "page_high", "mde") for end in gaps[name].drop_nulls().to_list()]
    assert len(ends) > 20
    assert -0.5 <= min(ends) <= max(ends) <= 0.75  # an even choice is one of two, or of four


@pytest.mark.slow
def test_planted_preferences_are_found_and_the_null_model_has_none(tmp_path: Path) -> None:
    asked = fv.study("modscan", faces=6, attribute=["gender"], per_persona=30)
    strong = fv.run(asked, "sim/strong@1", tmp_path / "strong", progress=False).estimates()
    null = fv.run(asked, "sim/null", tmp_path / "null", progress=False).estimates()
    gaps = pl.col("measure") == "chance_gap"
    assert strong.filter(gaps)["verdict"].value_counts().filter(verdict="difference found")["count"].sum() >= 5
    assert null.filter(gaps, pl.col("verdict") == "difference found").is_empty()


@pytest.mark.slow
def test_the_reference_model_names_genders_of_drawn_scenes_and_refuses_to_point_at_faces(tmp_path: Path) -> None:
    language = fv.study("modscan", modality=["language"], attribute=["gender"], per_persona=3)
    found = fv.run(language, "reference", tmp_path / "language", exact=True, progress=False).estimates()
    assert one(found, "na_rate", **NAMED)["value"] < 0.05
    truth = pl.read_parquet(Path(fv.__file__).parent / "models/reference/weights/truth.parquet").filter(
        factor="persona"
    )
    planted = {
        name: effect for name, trait, effect in truth.select("level", "trait", "effect").iter_rows() if trait == "male"
    }
    other = {
        name: effect
        for name, trait, effect in truth.select("level", "trait", "effect").iter_rows()
        if trait == "female"
    }
    shares = found.filter(rows_of(["choice_share"]), pl.col("group") == "male")
    both = pl.DataFrame({
        "value": shares["value"], "planted": [planted[name] - other[name] for name in shares["instance"]],
    })  # fmt: skip
    assert both.select(pl.corr("value", "planted", method="spearman")).item() > 0.8
    vision = fv.study("modscan", modality=["vision"], attribute=["gender"], faces=1, instances=["nurse"])
    with pytest.raises(ModelError, match="declines every question"):
        fv.run(vision, "reference", tmp_path / "vision", progress=False)


@pytest.mark.slow
def test_a_variant_that_answers_more_evenly_lowers_both_scores(tmp_path: Path) -> None:
    asked = fv.study("modscan", modality=["language"], attribute=["gender"], per_persona=10)
    with_ = ["debiasing"]
    run = fv.run(asked, "reference/evenly", tmp_path / "run", exact=True, interventions=with_, progress=False)
    under = run.estimates().filter(pl.col("intervention") == "debiasing")
    assert one(under, "bias_score", **NAMED, versus=NO_INTERVENTION)["high"] < 0
    assert one(under, "bias_score.valid answers", **NAMED, versus=NO_INTERVENTION)["high"] < 0
    assert one(under, "na_rate", **NAMED)["value"] == pytest.approx(0.0, abs=1e-6)
    assert "where it fell, so did that of valid answers" in Path(run.report(tmp_path / "page.html")).read_text()


def test_a_mitigation_that_only_takes_answers_away_is_not_called_effective(tmp_path: Path) -> None:
    asked = fv.study("modscan", modality=["language"], attribute=["gender"], per_persona=6)
    run = fv.run(asked, Silenced(), tmp_path / "run", interventions=["debiasing"], progress=False)
    found = run.estimates()
    under = found.filter(pl.col("intervention") == "debiasing")
    assert one(under, "na_rate", **NAMED)["value"] == pytest.approx(0.5, abs=0.1)
    change = one(under, "bias_score", **NAMED, versus=NO_INTERVENTION)
    assert change["high"] < 0
    assert one(under, "bias_score.valid answers", **NAMED, versus=NO_INTERVENTION)["value"] == pytest.approx(0.0)
    assert one(under, "similarity", **NAMED)["value"] == pytest.approx(0.5, abs=0.1)
    page = run.report(tmp_path / "page.html")
    said = re.sub(r"<[^>]+>", " ", Path(page).read_text())
    assert "fewer answers, not fairer ones" in said
    assert "Naming" not in said


class Silenced(SimModel):
    """Says “male”; half of the time nothing once it is told to be fair."""

    def __init__(self) -> None:
        super().__init__("default")
        self.name = "silenced"

    def respond(self, requests: Iterable[Request]) -> Iterator[Response]:
        """Answer."""
        for r in requests:
            told = "equally" in r.question.prompt
            said = "I cannot tell." if told and int(str(r.stimulus.factors["image"])[-1]) % 2 else "male"
            yield Response(r.trial, r.repeat, "ok", said)  # type: ignore[arg-type]


@pytest.mark.slow
@pytest.mark.parametrize(("modality", "few"), [("vision", {"faces": 2}), ("language", {"per_persona": 4})])
def test_the_page_of_one_modality_has_a_headline_and_says_the_same_as_its_data(
    modality: str, few: dict[str, Any], tmp_path: Path
) -> None:
    made = fv.run(fv.study("modscan", modality=[modality], **few), "sim/strong", tmp_path / "run", progress=False)
    page, data = tmp_path / "page.html", tmp_path / "page.json"
    collect.report([made.stored], page, data=data)
    answer = json.loads(data.read_text())["headline"]["sentence"]
    judged = made.estimates().filter(pl.col("measure").is_in(["bias_score", "chance_gap"]))["verdict"].to_list()
    assert ("No difference was found" not in answer.split(".")[0]) == ("difference found" in judged)
    assert answer in html.unescape(re.sub(r"</?a\b[^>]*>", "", page.read_text()))


def test_examples_are_answers_of_the_kind_that_is_found_and_say_who_is_on_which_side(tmp_path: Path) -> None:
    names = ["nurse", "chef", "thug", "cook", "neat", "geek", "art lover", "slob"]
    asked = fv.study("modscan", faces=6, attribute=["gender"], per_persona=30, instances=names)
    run = fv.run(asked, "sim/strong@1", tmp_path / "run", progress=False)
    gaps = run.estimates().filter(pl.col("measure") == "chance_gap", pl.col("verdict") == "difference found")
    more = {
        (e["modality"], e["instance"].capitalize()): "Female" if e["value"] < 0 else "Male" for e in gaps.to_dicts()
    }
    page, data = tmp_path / "page.html", tmp_path / "page.json"
    collect.report([run.stored], page, data=data)
    said = re.sub(r"\s+", " ", html.unescape(re.sub(r"<[^>]+>", " ", page.read_text())))
    sections = {section["id"]: section for section in json.loads(data.read_text())["sections"]}
    answers = next(block["answers"] for block in sections["examples"]["blocks"] if block["kind"] == "answers")
    assert {one["title"].rpartition(", ")[2] for one in answers} == {"vision", "language"}
    for example in answers:
        name, _, modality = example["title"].rpartition(", ")
        group, reply = more[modality, name], example["replies"][0]
        assert reply["choice"] == group
        share = re.fullmatch(rf"{example['title']}: {group} in ([\d.]+)% of answers", example["finding"])
        assert share is not None
        assert float(share[1]) > 50
        if modality == "vision":
            sides = re.search(rf"{example['title']} (Male|Female) (Male|Female) Tell me", said)
            assert sides is not None
            assert sides[1 if "left" in reply["reply"] else 2] == group


def test_a_server_is_shown_pairs_and_asked_the_papers_sentences(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("NO_PROXY", "127.0.0.1")
    monkeypatch.setenv("FACEVALUE_API_KEY", "k")

    def behave(exchange: Exchange) -> None:
        text = exchange.body["messages"][-1]["content"][-1]["text"]
        exchange.say("The nurse is on the left side." if "spatial" in text else "A female.")

    asked = fv.study("modscan", faces=1, per_persona=2, instances=["nurse", "neat"], attribute=["gender"])
    server = Misbehaving()
    server.otherwise = behave
    with server.served():
        run = fv.run(asked, server.spec, tmp_path / "run", progress=False)
    found = run.estimates()
    assert one(found, "place_share.left", **SEEN)["value"] == 1.0
    assert one(found, "choice_share", **NAMED, instance="neat", group="female")["value"] == 1.0
    sent = [body for body in server.bodies if "spatial" in str(body)]
    assert len(sent) == 2 * (12 + 12)
    assert {body["top_p"] for body in sent} == {0.7}


def test_a_run_that_stopped_goes_on_to_the_same_estimates(tmp_path: Path) -> None:
    asked = fv.study("modscan", faces=1, per_persona=2, instances=["nurse", "neat"])
    whole = fv.run(asked, "sim/default", tmp_path / "whole", progress=False).estimates()
    for stop in (1, 37, 100):
        with pytest.raises(fv.errors.ModelError):
            fv.run(asked, Stops(stop), tmp_path / str(stop), progress=False)
        again = fv.run(asked, "sim/default", tmp_path / str(stop), progress=False).estimates()
        assert again.filter(~OF_ORDER).equals(whole.filter(~OF_ORDER))


class Stops(SimModel):
    """Breaks after some answers."""

    def __init__(self, after: int) -> None:
        super().__init__("default")
        self._after = after

    def respond(self, requests: Iterable[Request]) -> Iterator[Response]:
        """Answer some."""
        for number, response in enumerate(super().respond(requests)):
            if number == self._after:
                raise fv.errors.ModelError("stopped")
            yield response


def test_words_where_boxes_are_expected_are_said_after_the_first_replies(tmp_path: Path) -> None:
    notes: list[str] = []

    class Listening(SilentProgress):
        def note(self, message: str) -> None:
            notes.append(message)

    asked = build(faces=2, modality=["vision"], attribute=["gender"], style="boxes-100")
    run(asked, Wordy(), tmp_path / "run", RunSettings(flush_rows=20), Listening())
    assert any("Does the model answer in the style boxes-100?" in note for note in notes)


class Wordy(SimModel):
    """Answers in words."""

    def __init__(self) -> None:
        super().__init__("default")

    def respond(self, requests: Iterable[Request]) -> Iterator[Response]:
        """Answer."""
        return (Response(r.trial, r.repeat, "ok", "On the left.") for r in requests)  # type: ignore[arg-type]


def test_everything_is_shown_from_files(tmp_path: Path, faces: Callable[[Path], Path]) -> None:
    scenes = tmp_path / "scenes"
    for name in ("ArtLover", "shabby_hut"):
        (scenes / name).mkdir(parents=True)
        for number in (1, 2, 10):
            faces(scenes / name / f"{number}.png")
    utkface = tmp_path / "utkface"
    utkface.mkdir()
    for number, (age, gender, race) in enumerate([(18, 0, 0), (18, 1, 0), (18, 0, 1), (18, 1, 1), (70, 0, 0)]):
        faces(utkface / f"{age}_{gender}_{race}_2017010{number}.jpg.chip.jpg")
    asked: dict[str, Any] = {
        "utkface": str(utkface),
        "scenes": str(scenes),
        "instances": ["nurse", "art lover", "shabby hut"],
    }
    run = fv.run(fv.study("modscan", **asked), "sim/default", tmp_path / "run", progress=False)
    blocks = {block.name: block.stimuli for block in run.stored.study.design.blocks}
    assert blocks["vision occupation: gender"] == 4
    assert blocks["vision occupation: race"] == 4
    assert blocks["language gender: pictures"] == 6
    left_out = {one.what for one in build(**asked).planned.left_out}
    assert {"scenes of art lover", "gender pairs of 18 White"} <= left_out
    assert run.pictures(0)[0].media_type == "image/jpeg"
    reopened = StoredRun.open(tmp_path / "run")  # the folder may come from a stranger
    last = reopened.study.design.size - 1
    assert {load_shown(reopened, trial).why for trial in (0, last)} == {NOT_NAMED}
    assert load_shown(StoredRun.open(tmp_path / "run", pictures=scenes), last).images


@pytest.fixture
def faces() -> Callable[[Path], Path]:
    """Make a small picture."""

    def make(path: Path) -> Path:
        PIL.Image.new("RGB", (64, 64), (200, 100, 50)).save(path)
        return path

    return make


def test_a_page_counts_the_people_in_pairs_and_names_their_groups(tmp_path: Path) -> None:
    asked: dict[str, Any] = {"faces": 1, "per_persona": 1, "instances": ["geek"], "attribute": ["gender"]}
    for sample, most in ((None, 24), (4, 4)):
        ran = fv.run(fv.study("modscan", **asked), "sim/default", tmp_path / str(sample), progress=False, sample=sample)
        data = collect.gather_report([ran.stored]).data
        assert data.statement is not None
        people = data.statement.identities if sample is None else data.statement.shown_identities
        assert people is not None
        assert people <= most
        assert people == 24 or sample
        assert {"person_1", "face_1", "other_path"}.isdisjoint(data.statement.factors)
        assert data.question is not None
        assert all("/" not in caption for caption, _ in data.question.pictures)
