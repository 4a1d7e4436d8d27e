"""The commands as a user types them: what they print, what they write, how they fail."""

import json
from pathlib import Path

import polars as pl
import pytest

from facevalue import studies
from facevalue.measures.cells import PUBLISHED_RATES
from facevalue.report import Album, Example
from facevalue.report.first_question import question_of
from facevalue.report.sections.headline import page_of
from facevalue.report.stored_answers import examples, view_of
from facevalue.runs.preparation import default_folder
from facevalue.runs.stored_run import StoredRun, answers
from tests.cli.conftest import Command

SMALL = ("--faces", "4", "--scenario", "wealthy,polite", "--attributes", "eyewear,makeup,facial_hair", "--seeds", "1")


@pytest.fixture
def finished(facevalue: Command) -> Path:
    """A small finished run."""
    assert facevalue("run", "stylisticbias", "--model", "sim/default", "--out", "a", *SMALL).status == 0
    return Path("a")


def test_plan_prints_the_papers_counts_as_json(facevalue: Command) -> None:
    plan = json.loads(facevalue("plan", "stylisticbias", "--faces", "274M,226F", "--json").out)
    assert (plan["study"], plan["stimuli"], plan["trials"]) == ("stylisticbias", 15726, 4717800)
    assert {"name", "factors", "stimuli", "trials"} <= set(plan["blocks"][0])
    assert plan["baseline"]["stimuli"] == 500


def test_plan_tells_people_requests_tokens_and_cost(facevalue: Command) -> None:
    said = facevalue(
        "plan", "stylisticbias", *SMALL, "--price-in", "2", "--price-out", "8", "--image-tokens", "100"
    ).out
    assert "requests" in said
    assert "Tokens, roughly" in said
    assert "Cost, roughly" in said


def test_plan_of_a_sample_counts_the_sample(facevalue: Command) -> None:
    plan = json.loads(facevalue("plan", "stylisticbias", "--faces", "20", "--sample", "5000", "--json").out)
    assert 4000 < plan["requests"] <= 5000


def test_exact_runs_ask_each_prompt_once(facevalue: Command) -> None:
    sampled, exact = (
        json.loads(facevalue("plan", "stylisticbias", "--faces", "2", "--json", *more).out)
        for more in ((), ("--exact",))
    )
    assert sampled["trials"] == 3 * exact["trials"]


def test_studies_are_listed(facevalue: Command) -> None:
    assert "stylisticbias" in facevalue("studies").out


@pytest.mark.parametrize(
    ("args", "status", "message"),
    [
        (("plan", "stylistcbias"), 2, "'stylisticbias'"),
        (("pln", "stylisticbias"), 2, "'plan'"),
        (("plan", "stylisticbias", "--scenario", "welthy"), 2, "'wealthy'"),
        (("plan", "stylisticbias", "--face", "3"), 2, "--faces"),
        (("plan", "stylisticbias", "--grid", "kpt"), 2, "'kept'"),
        (("plan", "stylisticbias", "--faces", "few"), 1, "274M,226F"),
        (("run", "stylisticbias"), 2, "--model"),
        (("run", "stylisticbias", "--model", "simm/default"), 2, "sim/default"),
        (("run", "stylisticbias", "--model", "referense"), 2, "Did you mean 'reference' or 'reference/VARIANT'?"),
        (("run", "stylisticbias", "--model", "reference/"), 2, "reference/VARIANT"),
        (("run", "stylisticbias", "--model", "reference/none"), 2, "Known: bias-0, evenly, refuse."),
        (
            ("run", "stylisticbias", "--model", "reference", "--device", "cuda"),
            2,
            "--device is for models on this machine that PyTorch runs",
        ),
        (("run", "stylisticbias", "--model", "sim/defalt"), 2, "sim/default"),
        (("run", "stylisticbias", "--model", "http://127.0.0.1:9/v1"), 2, "#"),
        (("run", "stylisticbias", "--model", "sim/default", "--sample", "10"), 1, "too small"),
        (("run", "stylisticbias", "--model", "sim/default", "--manifest", "none.csv"), 1, "none.csv"),
        (("run", "stylisticbias", "--model", "sim/default", "--folders", "none"), 1, "none"),
        (("measure", "none"), 1, "There is no folder none."),
        (("report", "none"), 1, "There is no folder none."),
        (("report", "a", "b"), 2, "--out"),
        (("export", "none", "--out", "x.csv"), 1, "There is no folder none."),
        (("calibrate", "vignete"), 2, "stylisticbias"),
        (("calibrate", "--sizes", "many"), 2, "numbers of times the smallest audit"),
    ],
)
def test_user_errors_are_one_message_without_traceback(
    facevalue: Command, args: tuple[str, ...], status: int, message: str
) -> None:
    outcome = facevalue(*args)
    assert outcome.status == status
    assert message in outcome.err
    assert "Traceback" not in outcome.err + outcome.out


def test_nothing_answers_at_the_address(facevalue: Command) -> None:
    outcome = facevalue("run", "stylisticbias", "--model", "http://127.0.0.1:9/v1#x", "--retries", "0", *SMALL)
    assert outcome.status == 3
    assert "127.0.0.1:9" in outcome.err
    assert "Traceback" not in outcome.err


def test_of_one_variation_the_terminal_speaks_in_the_singular(facevalue: Command) -> None:
    facevalue("run", "stylisticbias", "--model", "sim/default", "--faces", "3M,3F", "--variations", "sunglasses",
              "--exact", "--out", "r")  # fmt: skip
    words = " ".join(facevalue("measure", "r").out.split())
    assert "1 variation (no interval)" in words
    assert "1 variations" not in words


def test_a_run_is_measured_reported_and_exported(facevalue: Command, finished: Path) -> None:
    assert "Signed bias shift" in facevalue("measure", str(finished), "--out", "estimates.csv").out
    kept = pl.read_parquet(finished / "estimates.parquet")
    assert kept.filter(pl.col("low").is_null() & (pl.col("method") != "none")).is_empty()
    assert pl.read_csv("estimates.csv", infer_schema_length=None).height == kept.height
    assert facevalue("report", str(finished)).status == 0
    page = (finished / "report.html").read_text(encoding="utf-8")
    assert page.rstrip().endswith("</html>")
    assert "data:image/" in page
    for name in ("wide.csv", "wide.parquet"):
        assert facevalue("export", str(finished), "--out", name).status == 0
    wide = pl.read_parquet("wide.parquet")
    assert wide.height == pl.read_csv("wide.csv").height == StoredRun.open(finished).study.design.size
    assert {"prompt", "text", "preference", "na", "skin_tone", "model"} <= set(wide.columns)


def test_the_same_command_asks_nothing_twice(facevalue: Command, finished: Path) -> None:
    again = facevalue("run", "stylisticbias", "--model", "sim/default", "--out", str(finished), *SMALL)
    assert again.status == 0
    assert "0 asked" in again.err


def test_other_settings_on_a_run_folder_are_refused_with_the_difference(facevalue: Command, finished: Path) -> None:
    outcome = facevalue(
        "run", "stylisticbias", "--model", "sim/default", "--out", str(finished), *SMALL, "--temperature", "0.7"
    )
    assert outcome.status == 1
    assert "0.2 in the folder, 0.7 asked" in outcome.err


def test_a_model_that_refuses_everything_is_not_measurable(facevalue: Command) -> None:
    outcome = facevalue("run", "stylisticbias", "--model", "sim/refuser", "--out", "r", *SMALL)
    assert outcome.status == 1
    assert "nothing is measurable" in outcome.err
    measured = facevalue("measure", "r")
    assert measured.status == 1
    assert "not measurable" in measured.out.lower()
    kept = pl.read_parquet("r/estimates.parquet")
    assert kept.filter((pl.col("measure") == "shift") & pl.col("value").is_not_null()).is_empty()
    assert kept.filter(pl.col("measure") == "na_rate")["value"].max() == 1.0
    assert facevalue("report", "r").status == 1
    again = facevalue("run", "stylisticbias", "--model", "sim/refuser", "--out", "r", *SMALL)
    assert again.status == 1
    assert "nothing is measurable" in again.err


@pytest.mark.slow
def test_exact_and_sampled_runs_agree_within_sampling_error(facevalue: Command) -> None:
    few = ("--faces", "30", "--scenario", "wealthy,polite,stable,curious", "--attributes", "eyewear,accessories")
    for out, more in (("s", ()), ("e", ("--exact",))):
        assert facevalue("run", "stylisticbias", "--model", "sim/default", "--out", out, *few, *more).status == 0
        facevalue("measure", out)
    sampled, exact = (
        pl.read_parquet(f"{out}/estimates.parquet").filter(
            (pl.col("measure") == "shift") & pl.col("variation").is_not_null() & pl.all_horizontal(
                pl.col("scenario", "category", "dimension", "group").is_null()
            )
        )
        for out in ("s", "e")
    )  # fmt: skip
    both = sampled.join(exact, on=["attribute", "variation"], suffix="_exact")
    assert both.height == 4
    # 30 faces x 4 scenarios x 12 answers each: standard error of a shift's sampling noise below sqrt(2 * .25 / 1440)
    assert (both["value"] - both["value_exact"]).abs().max() < 4 * (0.5 / 1440) ** 0.5


@pytest.mark.slow
def test_two_models_are_compared_in_one_report(facevalue: Command, finished: Path) -> None:
    assert facevalue("run", "stylisticbias", "--model", "sim/strong", "--out", "b", *SMALL).status == 0
    assert facevalue("report", str(finished), "b", "--out", "both.html").status == 0
    page = Path("both.html").read_text(encoding="utf-8")
    assert "sim/strong" in page
    assert "sim/default" in page


def test_one_cell_is_not_any_of_one_cells(facevalue: Command) -> None:
    asked = ("--faces", "6", "--variations", "sunglasses", "--scenario", "polite")
    for name in ("default", "strong"):
        assert facevalue("run", "stylisticbias", *asked, "--model", f"sim/{name}", "--out", name).status == 0
    for way, said in (("compare", "was found in the one cell."), ("trend", "was found in the one cell over 2 runs")):
        told = facevalue(way, "default", "strong")
        assert told.status == 0, told.err
        assert said in " ".join(told.out.split())


def test_runs_that_were_not_asked_the_same_are_not_compared(facevalue: Command, finished: Path) -> None:
    other = ("--faces", "6", *SMALL[2:])
    assert facevalue("run", "stylisticbias", "--model", "sim/strong", "--out", "b", *other).status == 0
    outcome = facevalue("report", str(finished), "b", "--out", "both.html")
    assert outcome.status == 1
    assert "faces" in outcome.err


def test_rates_that_differ_between_studies_name_the_one_that_does_not(facevalue: Command, finished: Path) -> None:
    for name in ("na_rate", "refusal_rate"):
        assert (
            "missing_share, which has one meaning in every study"
            in facevalue("measure", str(finished), "--explain", name).out
        )
    assert "beside" not in facevalue("measure", str(finished), "--explain", "missing_share").out


@pytest.mark.parametrize("name", ["vignette", "stylisticbias", "modscan", "visbias", "counterfactuals"])
def test_the_documentation_has_each_study_s_own_rate_of_missing_answers(name: str) -> None:
    listed = (Path(__file__).parents[2] / "docs/explanation/inference.md").read_text().splitlines()
    rates = [one for one in studies.build(name, {}).estimates.measures if one.name in PUBLISHED_RATES]
    assert rates
    for one in rates:
        line = f", `{one.name}` ({one.unit}): {one.title}; {one.equation}"
        assert any(x.lower().startswith(f"- {name}") and x.endswith(line) for x in listed), line


def test_a_measure_explains_itself(facevalue: Command, finished: Path) -> None:
    said = facevalue("measure", str(finished), "--explain", "spread").out
    assert "section 4.4" in said
    assert "ddof 1" in said
    assert facevalue("measure", str(finished), "--explain", "drift.listed first").status == 2
    assert facevalue("measure", str(finished), "--explain", "vz").status == 2


def test_a_damaged_shard_is_named(facevalue: Command, finished: Path) -> None:
    shard = next((finished / "responses").glob("part-*.parquet"))
    shard.write_bytes(shard.read_bytes()[:1000])
    outcome = facevalue("measure", str(finished))
    assert outcome.status == 1
    assert shard.name in outcome.err
    again = facevalue("run", "stylisticbias", "--model", "sim/default", "--out", str(finished), *SMALL)
    assert again.status == 0
    assert facevalue("measure", str(finished)).status == 0


def test_released_prompts_ask_again_and_keep_the_first_valid_answer(facevalue: Command) -> None:
    args = ("--model", "sim/mumbler", "--out", "m", *SMALL, "--prompts", "released")
    assert facevalue("run", "stylisticbias", *args).status in (0, 1)
    run = StoredRun.open(Path("m"))
    answered = pl.concat(list(answers(run)))
    assert answered.height == run.study.design.size
    # Half of the replies are invalid; after two re-asks about an eighth.
    assert 0.05 < answered["na"].is_not_null().mean() < 0.25  # type: ignore[operator]


@pytest.mark.slow
def test_calibration_shows_error_and_power_of_an_own_study(facevalue: Command) -> None:
    assert facevalue("new", "mine.toml").status == 0
    outcome = facevalue(
        *("calibrate", "mine.toml", "--repetitions", "1", "--sizes", "1"), "--processes", "0", "--out", "table.csv"
    )
    assert outcome.status == 0, outcome.err
    assert "Monte-Carlo" in outcome.out
    table = pl.read_csv("table.csv")
    assert table["study"].n_unique() == 1
    assert {"false", "coverage", "coverage_effects", "beside", "rival", "defect"} <= set(table.columns)
    conditions = pl.read_csv("table-conditions.csv").group_by("study").agg(pl.col("condition").n_unique())
    assert conditions["condition"].to_list() == [13]
    assert "minimum detectable effect" in pl.read_csv("table-detectable.csv")["stated"].to_list()


@pytest.mark.parametrize(
    ("model", "name"),
    [
        ("sim/default", "runs/stylisticbias-sim-default"),
        ("http://127.0.0.1:8000/v1#a/b c", "runs/stylisticbias-a-b-c"),
        ("openai/gpt-x", "runs/stylisticbias-openai-gpt-x"),
    ],
)
def test_runs_have_a_folder_by_default(model: str, name: str) -> None:
    assert default_folder("stylisticbias", model).as_posix() == name


def test_a_report_that_cannot_be_written_says_so(facevalue: Command, finished: Path) -> None:
    outcome = facevalue("report", str(finished), "--out", "/proc/none/report.html")
    assert outcome.status == 1
    assert "/proc/none/report.html" in outcome.err
    assert "Traceback" not in outcome.err
    for ending in ("csv", "jsonl", "parquet"):
        outcome = facevalue("export", str(finished), "--out", f"no/such.{ending}")
        assert outcome.err == f"Error: Cannot write no/such.{ending}: there is no folder no. Make it first.\n"


def test_missing_images_are_named_before_anything_is_asked(facevalue: Command) -> None:
    Path("m.csv").write_text("image,identity,attribute,variation\na0.png,a,,\na1.png,a,hat,cap\n", encoding="utf-8")
    outcome = facevalue("run", "stylisticbias", "--manifest", "m.csv", "--model", "sim/default", "--out", "x")
    assert outcome.status == 1
    assert "a0.png" in outcome.err
    assert not list(Path("x").glob("responses/*.parquet"))


def test_what_is_declared_before_a_run_is_kept_with_its_hash(facevalue: Command) -> None:
    declared = Path("declared.toml")
    declared.write_text('[margin]\nshift = 0.3\n[[family]]\nname = "glasses"\nmeasure = "shift"\n[family.where]\n'
                        'variation = ["sunglasses"]\nscenario = []\ngroup = []\ncategory = []\n')  # fmt: skip
    args = ("run", "stylisticbias", "--model", "sim/default", "--out", "p", *SMALL)
    assert facevalue(*args, "--preregister", "declared.toml").status == 0
    assert facevalue("measure", "p").status == 0
    kept = pl.read_parquet("p/estimates.parquet").filter(pl.col("kind") == "confirmatory")
    assert kept["variation"].to_list() == ["sunglasses"]
    assert kept["declared"].all()
    again = facevalue(*args)
    assert again.status == 1
    assert "pre-registration" in again.err
    stored = Path("p/preregistration.toml")
    stored.write_text(stored.read_text(encoding="utf-8").replace("0.3", "0.4"), encoding="utf-8")
    changed = facevalue("measure", "p")
    assert changed.status == 1
    assert "changed" in changed.err


def test_a_declaration_that_names_no_measure_is_refused_before_the_run(facevalue: Command) -> None:
    Path("d.toml").write_text('[[family]]\nname = "x"\nmeasure = "shifft"\n', encoding="utf-8")
    args = ("run", "stylisticbias", "--model", "sim/default", "--out", "p", *SMALL, "--preregister", "d.toml")
    outcome = facevalue(*args)
    assert outcome.status == 2
    assert "shift" in outcome.err
    assert not Path("p").exists()


def test_a_margin_chosen_after_the_run_is_marked(facevalue: Command, finished: Path) -> None:
    assert facevalue("measure", str(finished), "--margin", "shift=0.5").status == 0
    kept = pl.read_parquet(finished / "estimates.parquet").filter(pl.col("margin").is_not_null())
    assert kept.height
    assert not kept["declared"].any()
    assert facevalue("measure", str(finished), "--margin", "shift=0").status == 1
    assert facevalue("measure", str(finished), "--margin", "shift").status == 2


def test_runs_declared_differently_are_not_judged_together(facevalue: Command, finished: Path) -> None:
    Path("d.toml").write_text("[margin]\nshift = 0.3\n", encoding="utf-8")
    args = ("run", "stylisticbias", "--model", "sim/strong", "--out", "q", *SMALL, "--preregister", "d.toml")
    assert facevalue(*args).status == 0
    outcome = facevalue("measure", str(finished), "q")
    assert outcome.status == 1
    assert "pre-registration" in outcome.err


def test_an_export_shows_the_reply_that_counts(facevalue: Command) -> None:
    args = ("--model", "sim/mumbler", "--out", "m", *SMALL, "--prompts", "released")
    facevalue("run", "stylisticbias", *args)
    assert facevalue("export", "m", "--out", "m.parquet").status == 0
    wide = pl.read_parquet("m.parquet")
    counted = wide.filter(pl.col("preference").is_not_null())
    assert counted["text"].str.to_lowercase().str.contains(r"\(?[ab]\b").all()
    assert not counted["text"].str.contains("sorry|The the").any()
    assert (counted["reply"] > 0).any()


def test_a_shard_damaged_inside_is_named_and_asked_again(facevalue: Command, finished: Path) -> None:
    shard = next((finished / "responses").glob("part-*.parquet"))
    data = bytearray(shard.read_bytes())
    for start in range(40, len(data) - 4000, 400):
        data[start : start + 40] = b"\xff" * 40
    shard.write_bytes(bytes(data))
    measured = facevalue("measure", str(finished))
    assert measured.status == 1
    assert shard.name in measured.err
    assert "Traceback" not in measured.err
    again = facevalue("run", "stylisticbias", "--model", "sim/default", "--out", str(finished), *SMALL)
    assert again.status == 0
    assert "asked again" in again.err
    assert facevalue("measure", str(finished)).status == 0


def test_runs_of_different_samples_are_not_compared(facevalue: Command) -> None:
    few = ("--faces", "6", "--scenario", "wealthy,polite", "--attributes", "eyewear", "--seeds", "1")
    for model, out, size in (("sim/default", "x", "60"), ("sim/strong", "y", "40")):
        assert facevalue("run", "stylisticbias", "--model", model, "--out", out, *few, "--sample", size).status == 0
    outcome = facevalue("measure", "x", "y")
    assert outcome.status == 1
    assert "different samples" in outcome.err


def test_a_refusing_model_does_not_hide_the_others(facevalue: Command, finished: Path) -> None:
    for model, out in (("sim/strong", "b"), ("sim/refuser", "c")):
        facevalue("run", "stylisticbias", "--model", model, "--out", out, *SMALL)
    assert facevalue("measure", "c", str(finished), "b", "--out", "all.parquet").status == 0
    found = pl.read_parquet("all.parquet").filter((pl.col("measure") == "shift") & pl.col("value").is_not_null())
    assert set(found["model"]) == {"sim/default", "sim/strong", "(all models)"}
    assert facevalue("report", "c", str(finished), "--out", "two.html").status == 0
    assert "Not measurable" not in Path("two.html").read_text(encoding="utf-8").split("</h2>")[0]


@pytest.mark.parametrize(
    ("args", "message"),
    [(("--sample-seed", "-1"), "-1"), (("--temperature", "-1"), "greedy"), (("--temperature", "nan"), "nan")],
)
def test_impossible_numbers_are_refused(facevalue: Command, args: tuple[str, ...], message: str) -> None:
    outcome = facevalue("run", "stylisticbias", "--model", "sim/default", "--out", "x", *SMALL, *args)
    assert outcome.status in (1, 2)
    assert message in outcome.err
    assert "Traceback" not in outcome.err


def test_the_image_prompts_of_stylisticbias_are_written(facevalue: Command) -> None:
    assert "16,726 pictures" in facevalue("make", "stylisticbias", "--prompts", "p.parquet").out
    assert pl.read_parquet("p.parquet")["source"].null_count() == 500


def test_the_report_shows_a_face_of_each_gender_with_its_cues_and_what_fashion_is_compared_with(
    facevalue: Command,
) -> None:
    cues = ("--faces", "2", "--scenario", "wealthy", "--seeds", "1", "--variations", "formal,sunglasses")
    assert facevalue("run", "stylisticbias", "--model", "sim/strong", "--out", "g", *cues).status == 0
    assert facevalue("measure", "g").status == 0
    run = StoredRun.open(Path("g"))
    page = page_of(run.study)
    found = examples(page, [run], view_of(page, [run], pl.read_parquet("g/estimates.parquet")))
    shown = {e.title: [caption for caption, _ in e.pictures] for e in found if isinstance(e, Album)}
    cues_shown = ["Base face", "Eyewear: Sunglasses", "Full body, plain clothes", "Fashion: Formal / Evening wear"]
    assert shown == {"Male": cues_shown, "Female": cues_shown}
    bases = {e.variation: e.base_title for e in found if isinstance(e, Example)}
    assert bases == {"formal": "Full body, plain clothes", "sunglasses": "Base face"}
    estimates = pl.read_parquet("g/estimates.parquet")
    for cue, captions in {
        "formal": ["Full body, plain clothes", "Formal / evening wear (fashion)"],
        "sunglasses": ["Unchanged", "Sunglasses (eyewear)"],
    }.items():
        of_cue = estimates.filter(pl.col("variation").is_null() | (pl.col("variation") == cue))
        asked = question_of(page, run, view_of(page, [run], of_cue), list)
        assert asked is not None
        assert [caption for caption, _ in asked.pictures] == captions
