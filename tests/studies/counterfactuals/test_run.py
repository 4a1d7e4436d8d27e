"""Whole runs: simulated models with planted effects, scores, samples, interventions, questions in words, the page."""

import json
import re
from itertools import product
from pathlib import Path
from typing import Any

import polars as pl
import pytest

import facevalue as fv
from facevalue import studies
from facevalue.annotations import scores
from facevalue.annotations.model_scorers import load_scorer
from facevalue.errors import SettingError
from facevalue.measures.verdicts import Verdict
from facevalue.models.sim import SimModel
from facevalue.report import collect
from facevalue.runs.comparisons.comparison import compare_all
from facevalue.runs.export import export
from facevalue.runs.judging import annotate
from facevalue.runs.kept_estimates import take_estimates
from facevalue.runs.progress import SilentProgress
from facevalue.runs.stored_run import StoredRun
from facevalue.stimuli.counterfactual_datasets import ATTRIBUTES
from facevalue.types import Request, Response, Status
from tests.measure_keys import by_key
from tests.models.misbehaving import Exchange, Misbehaving
from tests.stimuli.shards import png, write_shard

KEYWORDS: dict[str, Any] = {"prompt": ["characteristics"], "sets": 6}


def ran(folder: Path, model: str = "sim/strong@3", *, scored: bool = True, **options: Any) -> StoredRun:
    """A run, opened again; its replies scored by our list."""
    given = {name: options.pop(name) for name in ("sample", "interventions") if name in options}
    fv.run(fv.study("counterfactuals", **options), model, folder, progress=False, **given)
    if scored:
        annotate(StoredRun.open(folder), load_scorer("lexical"), SilentProgress())
    return StoredRun.open(folder)


def measured(*runs: StoredRun) -> pl.DataFrame:
    """Estimates; a page of the same run reads them again."""
    return take_estimates(runs)[0]


@pytest.fixture(scope="module")
def whole(tmp_path_factory: pytest.TempPathFactory) -> StoredRun:
    """Open prompts and ratings about drawn sets, scored."""
    return ran(tmp_path_factory.mktemp("whole") / "run", prompt=["characteristics", "hiring", "salary"], sets=30)


def test_scores_words_and_ratings_are_measured_of_one_run(whole: StoredRun) -> None:
    found = measured(whole)
    measurable = found.filter(pl.col("value").is_not_null())
    assert {"max_score", "gap_from_alike", "scorer_shift"} <= set(measurable["measure"])
    taken = set(by_key(measurable)["measure"])
    assert {
        "gap_from_alike.word_share",
        "gap_from_alike.rating",
        "gap_from_alike.salary",
        "mean.length",
    } <= taken
    assert (found.filter(measure="mean", score="rating")["value"].is_between(1, 10)).all()


@pytest.mark.slow
def test_planted_effects_are_found_and_none_where_nothing_is_planted(whole: StoredRun, tmp_path: Path) -> None:
    def differing(found: pl.DataFrame) -> int:
        return found.filter(pl.col("family").is_not_null() & (pl.col("verdict") == Verdict.DIFFERENCE)).height

    null = ran(tmp_path / "null", "sim/null", prompt=["characteristics", "hiring", "salary"], sets=30)
    assert differing(measured(whole)) > 20
    assert differing(measured(null)) <= 2


def test_the_page_shows_sets_and_words_behind_a_note_and_the_audit(whole: StoredRun, tmp_path: Path) -> None:
    page, data = tmp_path / "page.html", tmp_path / "page.json"
    collect.report([whole], page, data=data)
    sections = {one["id"]: one for one in json.loads(data.read_text())["sections"]}
    (fold,) = sections["sets"]["blocks"][1:] or sections["sets"]["blocks"]
    assert "Content note" in fold["title"]
    rows = fold["blocks"]
    assert len(rows) == 3
    assert all(8 <= len(row["captions"]) == len(row["replies"]) <= 10 for row in rows)  # some are refused
    assert "Content note" in sections["words"]["blocks"][-1]["title"]
    assert "data:image/" in page.read_text()
    assert any(block["kind"] == "table" for block in sections["scorers"]["blocks"])


def test_a_run_without_scores_has_a_headline_of_its_own(tmp_path: Path) -> None:
    run = ran(tmp_path / "run", scored=False, prompt=["hiring"], sets=12)
    collect.report([run], tmp_path / "page.html", data=tmp_path / "page.json")
    headline = json.loads((tmp_path / "page.json").read_text())["headline"]["sentence"]
    assert re.search(
        r"No difference was found for the .* groups; differences of up to about .* of 10 points would have gone",
        headline,
    )


@pytest.mark.parametrize(
    "options",
    [
        pytest.param({"sample": 300}, marks=pytest.mark.slow),
        pytest.param({"replies": 1}, marks=pytest.mark.slow),
        {"prompt": ["salary"]},
        {"subset": ["physical-gender"]},
    ],
)
def test_a_part_of_it_is_measured_and_shown_too(options: dict[str, Any], tmp_path: Path) -> None:
    run = ran(
        tmp_path / "run",
        scored="salary" not in options.get("prompt", ()),
        **{"prompt": ["describe", "characteristics", "hiring"], "sets": 4, **options},
    )
    assert measured(run).height
    collect.report([run], tmp_path / "page.html", data=tmp_path / "page.json")


@pytest.mark.slow
def test_replies_to_pictures_and_to_words_pair_up(tmp_path: Path) -> None:
    seen, told = ran(tmp_path / "seen", **KEYWORDS), ran(tmp_path / "told", **KEYWORDS, shown="text")
    assert seen.study.design.trials([0, 17])["image"].equals(told.study.design.trials([0, 17])["image"])
    comparison = compare_all((seen, told))
    assert comparison.pairs[0].agreement.cells.height == 20
    assert any("shown" in setting for setting in comparison.settings["counterfactuals"])


@pytest.mark.slow
def test_a_mitigation_is_asked_on_the_same_trials(tmp_path: Path) -> None:
    found = measured(ran(tmp_path / "run", **KEYWORDS, interventions=["m1"]))
    of_m1 = found.filter(measure="max_score", intervention="m1")
    assert of_m1.filter(pl.col("versus").is_null()).height == 2
    changes = of_m1.filter(pl.col("versus").is_not_null())
    assert changes.height == 2
    assert changes["value"].null_count() == 0


def test_two_models_stand_side_by_side(tmp_path: Path) -> None:
    runs = [ran(tmp_path / str(at), f"sim/default@{at}", **KEYWORDS) for at in (1, 2)]
    assert set(measured(*runs)["model"]) == {"sim/default@1", "sim/default@2"}


def test_a_model_that_refuses_leaves_nothing_to_judge(tmp_path: Path) -> None:
    run = ran(tmp_path / "run", "sim/refuser", scored=False, prompt=["characteristics", "hiring"], sets=4)
    found = measured(run)
    assert found.filter(measure="refusal_rate")["value"].min() == 1
    ratings = found.filter(measure="mean", score="rating")
    assert ratings["value"].null_count() == ratings.height
    collect.report([run], tmp_path / "page.html", data=tmp_path / "page.json")


def test_cultural_groups_are_not_named_in_words() -> None:
    with pytest.raises(SettingError, match="--shown has no effect beside --cultural"):
        fv.study("counterfactuals", cultural="somewhere", shown="text")


class _Offensive(SimModel):
    """Says one thing of one group."""

    def respond(self, requests: Any) -> Any:
        for request in requests:
            yield self._reply(request)

    @staticmethod
    def _reply(request: Request) -> Response:
        hostile = request.stimulus.factors.get("group") == "old male"
        text = "stupid, lazy, worthless, rude, mean" if hostile else "calm, kind, able, neat, quiet"
        return Response(request.trial, request.repeat, "ok", text)  # type: ignore[arg-type]


@pytest.mark.slow
def test_the_widest_sets_are_those_with_the_largest_range(tmp_path: Path) -> None:
    fv.run(fv.study("counterfactuals", **KEYWORDS), _Offensive("default"), tmp_path / "run", progress=False)
    annotate(StoredRun.open(tmp_path / "run"), load_scorer("lexical"), SilentProgress())
    collect.report([StoredRun.open(tmp_path / "run")], tmp_path / "page.html", data=tmp_path / "page.json")
    sections = {one["id"]: one for one in json.loads((tmp_path / "page.json").read_text())["sections"]}
    rows = sections["sets"]["blocks"][-1]["blocks"]
    assert all(row["captions"][0].startswith("Old male") for row in rows)
    assert all(row["replies"][0].startswith("stupid") for row in rows)


class _Declining(SimModel):
    """Declines to say anything of one group, and insults it."""

    def respond(self, requests: Any) -> Any:
        for request in requests:
            hostile = request.stimulus.factors.get("group") == "old male"
            text = "I'm sorry, I can't describe this stupid fool." if hostile else "calm, kind, able, neat, quiet"
            yield Response(request.trial, request.repeat, Status.OK, text)


def _without_refusals(folder: Path) -> None:
    """Make the stored scores those of other replies alone, as they were before refusals were scored."""
    (kept,) = scores.read(folder)
    files = {path: pl.read_parquet(path) for path in kept.folder.glob("*.parquet")}
    refusals = scores.present(pl.Series(["I'm sorry, I can't describe this stupid fool."]))
    scores.add(kept, pl.concat(files.values()).filter(~pl.col("text").is_in(refusals.implode())))
    for path in files:
        path.unlink()


def test_refusals_are_scored_beside_ours_and_old_scores_are_read(tmp_path: Path) -> None:
    folder = tmp_path / "run"
    fv.run(fv.study("counterfactuals", **KEYWORDS), _Declining("default"), folder, progress=False)
    annotate(StoredRun.open(folder), load_scorer("lexical"), SilentProgress())
    found = measured(StoredRun.open(folder))
    ranges = found.filter(measure="max_score_released")
    assert found.filter(measure="max_score", subset=ranges["subset"][0])["value"].to_list() == [None]
    assert ranges["value"].to_list() == pytest.approx([2 / 8])  # two hostile words of eight, and none elsewhere

    _without_refusals(folder)
    old = measured(StoredRun.open(folder))
    ours = ~pl.col("measure").str.ends_with("_released")
    assert old.filter(ours).equals(found.filter(ours))
    assert old.filter(measure="max_score_released")["value"].to_list() == [None]
    collect.report([StoredRun.open(folder)], tmp_path / "page.html", data=tmp_path / "page.json")
    assert "refused replies were not scored; run annotate again" in (tmp_path / "page.json").read_text()
    assert annotate(StoredRun.open(folder), load_scorer("lexical"), SilentProgress()).done == 1
    assert measured(StoredRun.open(folder)).equals(found)


def test_a_server_is_asked_with_pictures_or_with_words_in_their_place(tmp_path: Path) -> None:
    def behave(exchange: Exchange) -> None:
        text = str(exchange.body["messages"])
        exchange.say("7 out of 10" if "Rating" in text else "$15 an hour" if "Salary" in text else "calm, kind")

    server = Misbehaving()
    server.otherwise = behave
    asked: dict[str, Any] = {"prompt": ["personality", "hiring", "salary"], "subset": ["skin-tone-gender"], "sets": 2}
    with server.served():
        seen = fv.run(fv.study("counterfactuals", **asked), server.spec, tmp_path / "seen", progress=False)
        with_pictures = len([body for body in server.bodies if "data:image" in str(body)])
        fv.run(fv.study("counterfactuals", **asked, shown="text"), server.spec, tmp_path / "told", progress=False)
    found = seen.estimates()
    assert set(found.filter(measure="mean", score="rating")["value"]) == {7.0}
    assert set(found.filter(measure="mean", score="salary")["value"]) == {30_000.0}
    assert found.filter(measure="noted_share", reason="hourly")["value"].min() == 1
    assert with_pictures >= 20 * (3 + 2)
    told = [str(body) for body in server.bodies if "You are looking at a picture of a" in str(body)]
    assert len(told) == 20 * (3 + 2)
    assert not any("data:image" in body for body in told)
    assert {body["max_tokens"] for body in server.bodies if "Rating" in str(body)} == {512}


def test_social_counterfactuals_are_run_from_shards(tmp_path: Path) -> None:
    rows: list[Any] = [
        {"image": png(10 * at + n), "caption": f"A photo of a {race} {gender} nurse", "counterfactual_set": f"{at}",
         "a1": race, "a2": gender, "a1_type": "race", "a2_type": "gender", "a1a2": f"{race} {gender}"}
        for at in range(3)
        for n, (race, gender) in enumerate(product(ATTRIBUTES["race"], ATTRIBUTES["gender"]))
    ]  # fmt: skip
    write_shard(tmp_path / "data" / "train-0.parquet", rows[:-1])  # the last set lacks a group
    run = ran(tmp_path / "run", social=str(tmp_path / "data"), prompt=["characteristics", "hiring"])
    assert [block.stimuli for block in run.study.design.blocks] == [35, 35]
    assert run.study.planned.left_out[0].what == "11 of 35 pictures of race-gender, from measures of sets"
    found = measured(run)
    assert found.filter(measure="max_score")["clusters"].max() == 2
    assert found.filter(measure="mean", score="rating", group="Black male")["n"].to_list() == [3]


@pytest.mark.slow
def test_the_reference_model_answers_keywords_and_ratings(tmp_path: Path) -> None:
    run = ran(tmp_path / "run", "reference", prompt=["personality", "hiring"], sets=2)
    found = measured(run)
    assert found.filter(measure="mean", score="word_share")["value"].is_not_null().any()
    assert found.filter(measure="mean", score="rating")["value"].is_not_null().any()


@pytest.mark.slow
def test_two_runs_are_compared_by_ranges_and_over_groups(tmp_path: Path) -> None:
    one, two = (ran(tmp_path / str(seed), f"sim/strong@{seed}", **KEYWORDS) for seed in (1, 2))
    compared = compare_all((one, two)).pairs[0].agreement
    ranges = compared.also.filter(pl.col("measure").str.starts_with("max_score"))
    assert ranges["measure"].value_counts()["count"].to_list() == [2, 2]
    assert ranges["value"].null_count() == ranges.filter(measure="max_score")["low"].null_count() == 0
    (over_groups,) = compared.further
    assert over_groups.rows[-1][3] == "mean scores (ours)"
    for prompt, _, _, _, groups, r, interval, p in over_groups.rows:
        assert (prompt, groups) == ("characteristics", "20")
        assert -1 < float(r) < 1
        low, high = map(float, interval.split(" to "))
        assert low < float(r) < high
        assert 0 < float(p) <= 1
    same = compare_all((one, ran(tmp_path / "same", "sim/strong@1", **KEYWORDS))).pairs[0].agreement.further[0]
    assert {float(row[5]) for row in same.rows} == {1.0}
    silent = ran(tmp_path / "silent", scored=False, **KEYWORDS)
    assert compare_all((one, silent)).pairs[0].agreement.further == ()


def test_an_export_has_the_name_of_a_prompt_its_wording_and_every_reply(whole: StoredRun, tmp_path: Path) -> None:
    export(whole, tmp_path / "rows.parquet")
    rows = pl.read_parquet(tmp_path / "rows.parquet")
    assert set(rows["prompt_name"].cast(pl.String)) == {"characteristics", "hiring", "salary"}
    assert rows["prompt"].str.starts_with("What are 5").any()
    assert rows["text"].null_count() == 0
    assert not [name for name in rows.columns if name.endswith("_right")]


def test_sets_that_all_lack_a_published_group_are_in_no_measure_of_sets(tmp_path: Path) -> None:
    looks = [look for look in ATTRIBUTES["physical"] if look != "tattooed"]
    rows: list[Any] = [
        {"image": png(10 * at + n), "caption": f"A photo of a {look} {gender} nurse", "counterfactual_set": f"{at}",
         "a1": look, "a2": gender, "a1_type": "physical", "a2_type": "gender", "a1a2": f"{look} {gender}"}
        for at in range(3)
        for n, (look, gender) in enumerate(product(looks, ATTRIBUTES["gender"]))
    ]  # fmt: skip
    write_shard(tmp_path / "data" / "train-0.parquet", rows)
    run = ran(tmp_path / "run", social=str(tmp_path / "data"), prompt=["characteristics", "hiring"])
    assert run.study.planned.left_out[0].what == "24 of 24 pictures of physical-gender, from measures of sets"
    found = measured(run)
    assert not {"max_score", "gap_from_alike", "gap_from_alike.rating", "tail_share"} & set(by_key(found)["measure"])
    assert "mean" in found["measure"]
    assert {"mean.rating", "mean.word_share"} <= set(by_key(found)["measure"])


def test_so_many_whole_sets_of_each_occupation_are_drawn_and_always_the_same() -> None:
    given: dict[str, Any] = {"prompt": ["characteristics"], "subset": ["skin-tone-gender"], "sets": "80"}
    every = studies.build("counterfactuals", given).manifest
    drawn = studies.build("counterfactuals", {**given, "occupation_sets": "2"})
    sizes = every.group_by("occupation").agg(pl.col("set").n_unique())
    counts = drawn.manifest.group_by("occupation").agg(pl.col("set").n_unique(), pl.len())
    assert dict(counts.select("occupation", "set").rows()) == {name: min(size, 2) for name, size in sizes.rows()}
    assert (counts["len"] == 10 * counts["set"]).all()
    again = studies.build("counterfactuals", drawn.options, drawn.manifest)
    assert again.manifest["image"].to_list() == drawn.manifest["image"].to_list()


def test_runs_whose_texts_nobody_scored_are_compared_by_their_ratings(tmp_path: Path) -> None:
    first, second = (ran(tmp_path / name, f"sim/default@{name}", scored=False, sample=600) for name in ("1", "2"))
    pair = compare_all((first, second)).pairs[0]
    assert "gap_from_alike.rating" in {measure.key for measure in pair.agreement.measures}
    assert "gap_from_alike.rating" in {agreement.measure for agreement in pair.ranks}
