"""Each study through `vllm serve`, as a user runs it: sampled, exact, held to the options."""

import re
from collections.abc import Callable
from pathlib import Path

import polars as pl
import pytest

from facevalue.models.cached_tokens import cached_share
from facevalue.runs.stored_run import ReplyTally, StoredRun, answers
from facevalue.store import scan_responses
from facevalue.store.manifest import read_manifest
from tests.cli.conftest import facevalue  # noqa: F401 - a fixture

Ran = Callable[..., pl.DataFrame]
CUES = ("stylisticbias", "--faces", "1M", "--attributes", "eyewear", "--scenario", "wealthy,polite")
STUDIES = {
    "stylisticbias": CUES,
    "stylisticbias, exact": (*CUES, "--exact"),
    "vignette, held to the options": ("vignette", "--sample", "24"),
    "vignette, exact": ("vignette", "--sample", "24", "--exact"),
    "visbias, two pictures": ("visbias", "--task", "yesno", "--sample", "8"),
    "visbias, exact": ("visbias", "--task", "mcq", "--sample", "16", "--exact"),
    "visbias, long prompts": ("visbias", "--task", "form", "--sample", "4"),
    "modscan": ("modscan", "--sample", "16"),
    "counterfactuals": ("counterfactuals", "--sample", "16"),
}
HELD = "vignette, held to the options"


@pytest.fixture
def ran(facevalue, spec: str) -> Ran:  # type: ignore[no-untyped-def] # noqa: F811
    def run(*command: str, out: str = "run") -> pl.DataFrame:
        done = facevalue("run", *command, "--model", spec, "--out", out)
        assert "Complete: " in done.err, done.err  # with status 1 where "(a)" is no valid answer
        return scan_responses(Path(out)).collect().sort("trial", "repeat")

    return run


@pytest.mark.parametrize("command", STUDIES.values(), ids=STUDIES)
def test_a_study_is_answered_whole_and_resumed_without_a_request(command: tuple[str, ...], ran: Ran) -> None:
    rows = ran(*command)
    assert rows.height >= 4
    assert set(rows["status"]) <= {"ok", "truncated"}
    assert rows["prompt_tokens"].null_count() == 0
    if "--exact" in command:
        assert rows["probs"].null_count() <= 0.1 * rows.height
    (session,) = read_manifest(Path("run")).sessions
    assert re.search(r"vllm-0\.32", str(session.findings["served_by"]))
    assert 0 < int(session.findings["prompt_tokens_counted"]) <= int(rows["prompt_tokens"].sum())
    before = Path("run/run.toml").read_text()
    assert ran(*command).equals(rows)
    assert Path("run/run.toml").read_text() == before


def test_replies_are_held_to_the_options_by_vllms_own_parameter(ran: Ran) -> None:
    ran(*STUDIES[HELD])
    manifest = read_manifest(Path("run"))
    assert manifest.model_settings["structured"] is True
    assert manifest.counts.ok == manifest.counts.requests
    run, tally = StoredRun.open(Path("run")), ReplyTally()
    assert sum(chunk.height for chunk in answers(run, tally)) == tally.asked
    assert tally.na == {}


def test_a_seed_reproduces_its_replies(ran: Ran) -> None:
    warm = (*CUES, "--temperature", "1")
    one, two = ran(*warm, out="one"), ran(*warm, "--concurrency", "3", out="two")
    assert one["text"].n_unique() > 1
    assert one["text"].equals(two["text"])


def test_what_prompts_about_a_picture_share_comes_from_the_cache(ran: Ran) -> None:
    """Also with many requests at once: those about one picture follow each other, and the picture comes first."""
    for at_once in ("1", "16"):
        ran(*CUES, "--concurrency", at_once, out=at_once)
        (session,) = read_manifest(Path(at_once)).sessions
        share = cached_share([session.findings])
        assert share is not None
        assert share > 0.3
