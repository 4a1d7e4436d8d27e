"""The two examples from end to end: plan, run, measure, report, compare, interventions, resume, export."""

import json
import re
import signal
import subprocess
import sys
import time
from pathlib import Path

import polars as pl
import pytest

from facevalue.store import read_manifest
from facevalue.studies import EXAMPLES, file_text
from tests.cli.conftest import Command

SMALL = ("--people", "8", "--seeds", "1")


@pytest.fixture
def written(facevalue: Command) -> Command:
    for name in EXAMPLES:
        assert facevalue("new", f"{name}.toml", "--like", name).status == 0
    return facevalue


def run(facevalue: Command, *args: str) -> None:
    done = facevalue("run", *args)
    assert done.status == 0, done.err


def estimates(folder: str) -> pl.DataFrame:
    return pl.read_parquet(Path(folder) / "estimates.parquet")


@pytest.mark.parametrize(
    "name",
    ["hiring-screen", "caption-assistant", pytest.param("stylisticbias-declared", marks=pytest.mark.slow)],
)
def test_an_example_is_planned_run_measured_reported_and_exported(name: str, written: Command) -> None:
    plan = json.loads(written("plan", f"{name}.toml", *SMALL, "--json").out)
    assert plan["requests"] > 0
    run(written, f"{name}.toml", *SMALL, "--model", "sim/strong")
    folder = f"runs/{name}-sim-strong"
    Path(f"{name}.toml").unlink()  # the run's folder is all that is needed from here on
    assert written("measure", folder).status == 0
    found = estimates(folder)
    assert found.filter(pl.col("measure").str.contains("^shift"))["value"].is_not_null().any()
    assert written("report", folder).status == 0
    page = (Path(folder) / "report.html").read_text()
    assert "<h1" in page
    assert 'class="example"' in page  # of the page that a study without one has
    assert written("export", folder, "--out", "wide.parquet").status == 0
    assert pl.read_parquet("wide.parquet").height == plan["requests"]
    assert written("verify", folder).status == 0


def test_an_effect_is_found_and_exact_and_drawn_answers_agree(written: Command) -> None:
    asked = ("hiring-screen.toml", "--people", "20", "--model", "sim/strong")
    run(written, *asked, "--seeds", "1,2,3,4,5,6", "--out", "drawn")
    run(written, *asked, "--exact", "--out", "exact")
    for folder in ("drawn", "exact"):
        assert written("measure", folder).status == 0
    rows = [
        estimates(folder).filter(pl.col("measure") == "shift", pl.col("family") == "cues")
        for folder in ("drawn", "exact")
    ]
    drawn, exact = (frame.sort("variation") for frame in rows)
    apart = (drawn["value"] - exact["value"]).abs()
    assert (apart < 4 * drawn["se"]).all()
    assert "difference found" in exact["verdict"].to_list()
    assert exact["kind"].to_list() == ["exploratory"] * exact.height
    assert exact["declared"].all()  # the margin stood in the file before any answer


def test_a_run_is_resumed_and_a_changed_study_is_not(written: Command) -> None:
    asked = ("hiring-screen.toml", *SMALL, "--model", "sim/default")
    run(written, *asked, "--sample", "200")
    again = written("run", *asked, "--sample", "200")
    assert "stored already" in again.err
    Path("hiring-screen.toml").write_text(file_text("hiring-screen").replace("interview", "talk"))
    changed = written("run", *asked, "--sample", "200")
    assert changed.status == 1
    assert "file of the study: one with the digest" in changed.err
    assert len(changed.err.splitlines()) == 1
    Path("hiring-screen.toml").write_text("# only a comment more\n" + file_text("hiring-screen"))
    assert written("run", *asked, "--sample", "200").status == 0


def test_a_whole_pilot_says_what_is_needed(written: Command) -> None:
    run(written, "hiring-screen.toml", *SMALL, "--model", "sim/default")
    told = written("plan", "hiring-screen.toml", "--pilot", "runs/hiring-screen-sim-default", "--detect", "0.1")
    assert "To detect 0.1:" in told.out
    assert "pilot hiring-screen-sim-default" in told.out


def test_an_example_is_asked_with_an_intervention(written: Command) -> None:
    run(written, "hiring-screen.toml", *SMALL, "--model", "sim/default", "--with", "sr", "--job", "nurse")
    folder = "runs/hiring-screen-sim-default+sr"
    assert written("measure", folder).status == 0
    assert estimates(folder)["versus"].is_not_null().any()


def test_two_models_are_reported_together(written: Command) -> None:
    folders = []
    for seed in ("1", "2"):
        run(written, "hiring-screen.toml", *SMALL, "--model", f"sim/default@{seed}", "--out", seed)
        folders.append(seed)
    assert written("report", *folders, "--out", "both.html").status == 0
    page = Path("both.html").read_text()
    assert all(re.search(rf'<p class="sentence">.*sim/default@{seed}: ', page) for seed in ("1", "2"))
    assert all(f"· sim/default@{seed}</span>" in page for seed in ("1", "2"))  # examples come from each


def test_a_published_study_is_narrowed(written: Command) -> None:
    text = 'like = "vignette"\n[settings]\n'
    text += 'paradigm = ["decision"]\ndimension = ["race"]\ndrawings = "none"\nseeds = [4, 5]\n'
    Path("mine.toml").write_text(text)
    both = json.loads(written("plan", "mine.toml", "--json").out)
    plain = json.loads(
        written("plan", "vignette", "--paradigm", "decision", "--dimension", "race", "--drawings", "none",
                "--seeds", "4,5", "--json").out
    )  # fmt: skip
    assert both == plain
    assert written("new", "other.toml", "--like", "vignette").status == 0
    assert "# paradigm = []" in Path("other.toml").read_text()
    assert json.loads(written("plan", "other.toml", "--json").out)["study"] == "vignette"


def test_a_file_is_never_overwritten(written: Command) -> None:
    assert written("new", "hiring-screen.toml").status == 1
    assert "already exists" in written("new", "hiring-screen.toml").err
    assert written("new", "study.txt").status == 2
    assert "Did you mean 'stylisticbias'" in written("new", "x.toml", "--like", "stylisticbia").err


def test_a_run_s_facts_hold_the_study(written: Command) -> None:
    run(written, "caption-assistant.toml", *SMALL, "--model", "sim/default", "--sample", "40")
    facts = read_manifest(Path("runs/caption-assistant-sim-default"))
    assert 'name = "caption-assistant"' in str(facts.options["study"])
    assert facts.study == "caption-assistant"


def test_two_runs_are_compared_by_the_effects_that_lead_their_pages(written: Command) -> None:
    for seed in ("1", "2"):
        run(written, "hiring-screen.toml", *SMALL, "--model", f"sim/strong@{seed}", "--out", seed)
    told = written("compare", "1", "2")
    assert told.status == 0, told.err
    besides = told.out.partition("Compared besides")[2].partition("By measure")[0]
    assert "male, nurse" in besides
    assert "engineer" in besides
    (found,) = json.loads(written("compare", "1", "2", "--json").out)["comparisons"]
    assert list(found["measures"]) == ["shift", "gap", "shift_gap"]
    assert found["cells_matched"] == 4 + 1 + 4  # by cue, of genders, of genders by cue
    run(written, "caption-assistant.toml", *SMALL, "--model", "sim/strong", "--out", "c", "--sample", "40")
    run(written, "caption-assistant.toml", *SMALL, "--model", "sim/default", "--out", "d", "--sample", "40")
    assert written("compare", "c", "d").status == 0  # rates per 1,000 words are on a scale


def test_the_reference_model_answers_what_it_has_learned(facevalue: Command) -> None:
    from facevalue.studies.stylisticbias.tables import JUDGMENT

    Path("own.toml").write_text(
        '[pictures]\nkind = "portraits"\npeople = "4"\n[pictures.cues]\naccessories = ["cap"]\n'
        f'[prompt]\ntext = "{JUDGMENT}"\n'
        '[answer]\nkind = "choice"\noptions = ["wealthy", "poor"]\nfavourable = "wealthy"\norderings = "all"\n'
        '[[estimand]]\nstatistic = "shift"\nby = ["variation"]\n'
    )
    run(facevalue, "own.toml", "--model", "reference", "--exact")
    assert facevalue("measure", "runs/own-reference").status == 0
    found = estimates("runs/own-reference")
    assert found.filter(pl.col("measure") == "shift")["value"].is_not_null().all()
    assert found.filter(pl.col("measure") == "response_bias", pl.col("score") == "letter")["value"].is_not_null().all()


@pytest.mark.slow
@pytest.mark.parametrize("signalled", ["SIGKILL"])
def test_a_killed_run_goes_on(signalled: str, written: Command, tmp_path: Path) -> None:
    """A run that is killed ends with the same command as one that never was."""
    asked = ("caption-assistant.toml", "--people", "60", "--seeds", "1,2,3,4", "--model", "sim/default")
    code = "from facevalue.cli import main; main()"
    process = subprocess.Popen([sys.executable, "-c", code, "run", *asked, "--out", "killed"], cwd=tmp_path)
    deadline = time.monotonic() + 60
    while not list(Path("killed").glob("responses/*")) and process.poll() is None:
        assert time.monotonic() < deadline
        time.sleep(0.005)
    process.send_signal(getattr(signal, signalled))
    process.wait(60)
    run(written, *asked, "--out", "killed")
    run(written, *asked, "--out", "whole")
    for folder in ("whole", "killed"):
        assert written("measure", folder).status == 0
    one, other = (
        estimates(folder).filter(~pl.col("measure").str.contains("drift|wavering")) for folder in ("whole", "killed")
    )
    shown = ("measure", "variation", "gender", "value", "low", "high")
    assert one.select(shown).equals(other.select(shown))
