"""`facevalue attention`: maps of a local model over a run's pictures, and a clear sentence where there can be none."""

import sys
from pathlib import Path

import numpy as np
import polars as pl
import pytest
from PIL import Image

from facevalue.runs.attention_maps import maps_of
from tests.cli.conftest import Command

DECISIONS = (
    "vignette",
    "--paradigm",
    "decision",
    "--dimension",
    "age",
    "--activity",
    "cooking,fishing",
    "--people",
    "2",
)


@pytest.fixture
def asked(facevalue: Command) -> Command:
    """A run of pairs, by a simulated model."""
    assert facevalue("run", *DECISIONS, "--model", "sim/strong", "--out", "a").status == 0
    return facevalue


@pytest.fixture
def llava(tmp_path: Path) -> str:
    pytest.importorskip("torch", reason="torch is not installed: pip install '.[hf]'")
    pytest.importorskip("transformers", reason="transformers is not installed: pip install '.[hf]'")
    from tests.models.hf import tiny

    return f"hf/{tiny.llava(tmp_path / 'llava')}"


def test_maps_arrays_and_an_index_are_written(asked: Command, llava: str) -> None:
    made = asked("attention", "a", "--trials", "3,0,3", "--model", llava, "--out", "maps")
    assert made.status == 0, made.err
    assert "Trial 0: trial-0-attention.png" in made.out
    rows = pl.read_csv("maps/index.csv")
    assert rows["trial"].unique(maintain_order=True).to_list() == [3, 0]
    assert rows["map"].to_list()[:3] == ["attention", "relevancy", "relevancy"]
    assert rows["share_left"].to_numpy() + rows["share_right"].to_numpy() == pytest.approx(1, abs=1e-5)
    assert (rows["even_left"] == 0.5).all()
    assert {*rows["left"], *rows["right"]} == {"young", "old"}
    for name in (name for files in rows["files"] for name in files.split()):
        with Image.open(Path("maps", name)) as opened:
            assert opened.format == "PNG"
    with np.load("maps/trial-0.npz", allow_pickle=False) as arrays:
        assert arrays["attention"].shape == (2, 4, 4)
        assert arrays["boxes"].shape == (4, 4)
        assert arrays["relevancy"].shape == (len(arrays["options"]), 4)
        assert arrays["by_layer"].mean(axis=0) == pytest.approx(arrays["mean"])
        assert (arrays["by_head"] <= 1).all()
    page = Path("maps/index.html").read_text()
    question = pl.read_csv(table(asked)).filter(pl.col("trial") == 3)["prompt"][0]
    assert question.splitlines()[0].replace("'", "&#39;") in page
    for said in ("no explanation of cause", "Drawings say nothing about photographs", "trial-3-heads.png", "Left: "):
        assert said in page


def test_attention_to_words_of_the_prompt_stands_beside_that_to_the_picture(asked: Command, llava: str) -> None:
    both = ("attention", "a", "--trials", "3,0", "--model", llava)
    options = pl.read_csv(table(asked)).filter(pl.col("trial").is_in([0, 3]))["prompt"]
    assert all("old" in prompt and "robot" not in prompt for prompt in options)
    made = asked(*both, "--word", "old", "--word", "=young", "--out", "maps")
    assert made.status != 0
    assert "Unknown word of these prompts '=young'. Did you mean 'young'" in made.err
    assert not Path("maps").exists()
    made = asked(*both, "--word", "old", "--word", "young", "--word", "Old")
    assert made.status == 0, made.err
    folder = Path("a/attention")
    rows = pl.read_csv(folder / "index.csv")
    words = rows.filter(map="word")
    assert words.select("trial", "option").rows() == [(3, "old"), (3, "young"), (0, "old"), (0, "young")]
    assert rows.filter(pl.col("map") != "word")["on_word"].null_count() == rows.height - words.height
    with np.load(folder / "trial-0.npz", allow_pickle=False) as arrays:
        assert arrays["words"].tolist() == ["old", "young"]
        assert arrays["by_word"].shape == (2, *arrays["by_head"].shape)
        assert (arrays["by_word"].sum(axis=0) + arrays["by_head"] <= 1 + 1e-5).all()
        means = arrays["by_word"].mean(axis=(1, 2))
        top = np.unravel_index(arrays["by_word"][0].argmax(), arrays["by_head"].shape)
    assert words.filter(trial=0)["on_word"].to_list() == pytest.approx(means, rel=1e-4)
    page = (folder / "index.html").read_text()
    assert "of the answer's attention is on “old”".replace("'", "&#39;") in page
    assert f"most in layer {top[0] + 1}, head {top[1] + 1}" in page
    assert [map_.kind for map_ in maps_of(Path("a"), 0)][:4] == ["attention", "heads", "word", "word"]
    shown = asked("show", "a", "--trial", "0")
    assert "Attention to word 2, by head" in shown.out + shown.err


def test_a_word_that_a_prompt_has_not_is_missing_there(facevalue: Command, llava: str) -> None:
    people = ("--people", "2", "--activity", "cooking,fishing", "--dimension", "age", "--paradigm", "decision")
    facevalue("run", "vignette", *people, "--model", "sim/strong", "--out", "a")
    prompts = dict(pl.read_csv(table(facevalue)).unique("trial").select("trial", "prompt").iter_rows())
    word = next(word for word in prompts[0].split() if word.isalpha() and any(word not in p for p in prompts.values()))
    other = next(trial for trial, prompt in prompts.items() if word not in prompt)
    made = facevalue("attention", "a", "--trials", f"0,{other}", "--model", llava, "--word", word, "--out", "maps")
    assert made.status == 0, made.err
    words = pl.read_csv("maps/index.csv").filter(map="word")
    assert words["on_word"].is_null().to_list() == [False, True]
    assert words["files"].is_null().to_list() == [False, True]
    assert f"“{word}” is not in this prompt." in Path("maps/index.html").read_text()
    with np.load(f"maps/trial-{other}.npz", allow_pickle=False) as arrays:
        assert np.isnan(arrays["by_word"]).all()
    alone = facevalue("attention", "a", "--trials", str(other), "--model", llava, "--word", word, "--out", "other")
    assert f"Unknown word of these prompts '{word}'" in alone.err


def table(command: Command) -> Path:
    assert command("export", "a", "--out", "a.csv").status == 0
    return Path("a.csv")


def test_the_runs_own_model_is_the_default(facevalue: Command, llava: str) -> None:
    few = ("--sample", "4", "--exact")
    facevalue("run", *DECISIONS, *few, "--model", llava, "--out", "mine")
    trial = pl.read_parquet("mine/responses/*.parquet")["trial"][0]
    made = facevalue("attention", "mine", "--trials", str(trial), "--out", "maps")
    assert made.status == 0, made.err
    assert set(pl.read_csv("maps/index.csv")["model"]) == {llava}


def test_single_pictures_have_no_sides(facevalue: Command, llava: str) -> None:
    facevalue("run", "stylisticbias", "--faces", "2", "--sample", "396", "--model", "sim/strong", "--out", "a")
    trial = pl.read_csv(table(facevalue))["trial"][0]
    made = facevalue("attention", "a", "--trials", str(trial), "--model", llava, "--out", "maps")
    assert made.status == 0, made.err
    assert pl.read_csv("maps/index.csv")["share_left"].null_count() == 3
    assert "left (even)" not in Path("maps/index.html").read_text()


def test_a_model_that_looks_beside_the_text_has_maps_of_the_layers_that_look(
    asked: Command, llava: str, tmp_path: Path
) -> None:
    from tests.models.hf import tiny

    mllama = f"hf/{tiny.mllama(tmp_path / 'mllama')}"
    made = asked("attention", "a", "--trials", "3", "--model", mllama, "--out", "maps")
    assert made.status == 0, made.err
    rows = pl.read_csv("maps/index.csv")
    assert rows["share_left"].to_numpy() + rows["share_right"].to_numpy() == pytest.approx(1, abs=1e-5)
    assert rows["on_pictures"].null_count() == rows.height  # all of it, which says nothing
    assert not Path("maps/trial-3-heads.png").exists()
    with np.load("maps/trial-3.npz", allow_pickle=False) as arrays:
        assert arrays["attention"].shape[0] == 1  # of three layers one looks at pictures
    assert "looks at pictures in some of its layers alone" in Path("maps/index.html").read_text()


@pytest.mark.parametrize(
    ("options", "status", "says"),
    [
        (["--trials", "0"], 1, "asked sim/strong, whose attention cannot be read here: name a local model with"),
        (["--trials", "0", "--model", "openai/gpt"], 2, "local models: hf/PATH"),
        (["--trials", "0", "--model", "hf/"], 2, "local models: hf/PATH"),
        (["--trials", "one", "--model", "hf/x"], 2, "write numbers, such as 12,40"),
        (["--trials", ",".join(map(str, range(101))), "--model", "hf/x"], 2, "at most 100"),
        (["--trials", "0,144", "--model", "hf/x"], 1, "There is no trial 144: a has trials 0 to 143."),
        (["--trials=-1", "--model", "hf/x"], 1, "There is no trial -1"),
    ],
)
def test_what_cannot_be_shown_is_said(asked: Command, options: list[str], status: int, says: str) -> None:
    made = asked("attention", "a", *options, "--out", "maps")
    assert made.status == status
    assert says in " ".join(made.err.replace("\u2502", " ").split())
    assert not Path("maps").exists()


def test_a_trial_that_was_not_asked_is_told_from_one_that_was(facevalue: Command) -> None:
    facevalue("run", *DECISIONS, "--sample", "20", "--model", "sim/strong", "--out", "a")
    known = set(pl.read_parquet("a/responses/*.parquet")["trial"])
    other = next(trial for trial in range(144) if trial not in known)
    made = facevalue("attention", "a", "--trials", str(other), "--model", "hf/x", "--out", "maps")
    assert made.status == 1
    assert f"Trial {other} was not asked in a" in made.err


def test_a_trial_without_a_picture_is_refused(facevalue: Command) -> None:
    facevalue("run", *DECISIONS, "--with", "no-image", "--model", "sim/strong", "--out", "a")
    said = facevalue("attention", "a", "--trials", "287", "--model", "hf/x", "--out", "maps")
    assert said.status == 1
    assert "Trial 287 shows no picture" in said.err


def test_without_torch_the_message_says_how_to_add_it(asked: Command, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "torch", None)
    made = asked("attention", "a", "--trials", "0", "--model", "hf/x", "--out", "maps")
    assert made.status == 1
    assert "pip install '.[hf]'" in made.err


def test_a_free_text_question_names_its_trial(facevalue: Command, llava: str) -> None:
    facevalue("run", "visbias", "--task", "form", "--forms", "1", "--model", "sim/default", "--out", "a")
    trial = pl.read_parquet("a/responses/*.parquet")["trial"][0]
    made = facevalue("attention", "a", "--trials", str(trial), "--model", llava, "--out", "maps")
    assert made.status == 1
    assert f"Trial {trial}: This question has no options" in made.err
