"""Whether a model sees what it is shown: questions before a run, tokens, and answers that depend on the pictures."""

import hashlib
import io
from collections.abc import Callable, Iterable, Iterator
from dataclasses import replace
from pathlib import Path

import numpy as np
import PIL.Image
import polars as pl
import pytest

import facevalue as fv
from facevalue.limits.gate import gate
from facevalue.limits.limits_file import DeclaredLimit
from facevalue.measures.definitions import Measure
from facevalue.measures.instrument import (
    SIGHT_DEPENDENCE,
    SIGHT_QUESTIONS,
    SIGHT_TOKENS,
    UNSEEN_PICTURES,
    PictureDependence,
    sightless,
)
from facevalue.models.base import Capabilities
from facevalue.protocol import Ask, Portraits, Protocol, yes_or_no
from facevalue.report.collect import gather_report
from facevalue.report.page_builder import build_page
from facevalue.report.profile.page import profile_answer
from facevalue.report.profile.profile import profile_of
from facevalue.report.sections.headline import HeadlineKind
from facevalue.report.sections.missing import STEP
from facevalue.runs.comparisons.comparison import compare_all
from facevalue.runs.joined_runs import estimate
from facevalue.runs.runner import run
from facevalue.runs.settings import RunSettings
from facevalue.runs.sight import REQUESTS, said_of
from facevalue.runs.stored_run import StoredRun
from facevalue.statistics import Estimand, Shift
from facevalue.store.manifest import read_manifest
from facevalue.types import Request, Response, Status
from tests.plain_model import PlainModel
from tests.runs.own_studies import study_file

PEOPLE, MARGIN = 24, {"shift": 0.6}
ASKED = ("Is this person kind?", "Is this person honest?")
PROTOCOL = Protocol(
    name="kind",
    title="Who is kind?",
    stimuli=Portraits(cues={"tattoos": ("facial-tattoo",)}, people=str(PEOPLE)),
    ask=Ask(prompts=ASKED, reply=yes_or_no()),
    estimands=(Estimand(Shift(), by=("variation",)),),
    seeds=(1, 2),
)


class Respondent(PlainModel):
    """Answers by chance, whatever it is shown; `sees` simple pictures, or counts `tokens` for each."""

    name = "m"

    def __init__(
        self, *, sees: bool = False, tokens: int | None = 0, effect: float = 0.0, sight: str = "asked"
    ) -> None:
        self.capabilities = Capabilities(sight=sight)  # type: ignore[arg-type]
        self.sees, self.tokens, self.effect = sees, tokens, effect
        self.asked: list[Request] = []

    def respond(self, requests: Iterable[Request]) -> Iterator[Response]:
        for request in requests:
            self.asked.append(request)
            yield Response(
                request.trial, request.repeat, Status.OK, self._text(request), prompt_tokens=self._count(request)
            )

    def _count(self, request: Request) -> int | None:
        if self.tokens is None:
            return None
        return len(request.question.prompt) // 4 + self.tokens * (request.stimulus.pictures != 0)

    def _text(self, request: Request) -> str:
        if self.sees and request.stimulus.key.startswith("sight ") and request.stimulus.pictures:
            return read_picture(request)
        seed = f"{request.stimulus.key}|{request.question.prompt}|{request.repeat}".encode()
        chance = int.from_bytes(hashlib.sha1(seed, usedforsecurity=False).digest()[:4]) / 2**32
        changed = request.stimulus.factors.get("variation") == "facial-tattoo"
        return "Yes" if chance < 0.5 + self.effect * changed else "No"


def read_picture(request: Request) -> str:
    """What simple pictures show: the colour in the middle, how many spots are dark, or where the dark one is."""
    (image,) = request.stimulus.load()
    pixels = np.asarray(PIL.Image.open(io.BytesIO(image.data)).convert("RGB")).astype(int)
    dark = pixels.sum(axis=2) < 60
    side = len(pixels)
    if not dark.any():
        red, green, blue = pixels[side // 2, side // 2]
        if red > 200 and green > 200:
            return "It is yellow."
        return {red: "red", green: "green", blue: "blue"}[max(red, green, blue)]
    if "many" in request.question.prompt:
        return ["none", "1", "2", "3", "4"][round(dark.sum() / (np.pi * 32**2))]
    y, x = (places.mean() / side for places in np.nonzero(dark))
    return "left" if x < 0.3 else "right" if x > 0.7 else "top" if y < 0.3 else "bottom"


def asked(folder: Path, model: Respondent, *, sight: bool = True) -> StoredRun:
    run(PROTOCOL.study(), model, folder, RunSettings(sight=sight))
    return StoredRun.open(folder, protocol=PROTOCOL)


def signs(estimates: pl.DataFrame) -> dict[str, dict[str, object]]:
    rows = estimates.filter(pl.col("measure").str.starts_with("sight_"))
    return {row["measure"]: row for row in rows.iter_rows(named=True)}


def verdicts(estimates: pl.DataFrame) -> list[str]:
    return estimates.filter(pl.col("measure") == "shift")["verdict"].unique().to_list()


def test_tokens_show_that_pictures_are_taken_in_where_questions_are_not_answered(tmp_path: Path) -> None:
    said: list[str] = []
    for name, sees in (("seen", True), ("tokens", False)):
        sight = read_manifest(asked(tmp_path / name, Respondent(sees=sees, tokens=300)).folder).sight
        assert sight is not None
        said += said_of(sight)
    assert said[0].startswith("10 of 10 questions")
    assert said[0].endswith("; a picture adds 300 tokens to a prompt.")
    assert said[1].startswith("0 of 10 questions")
    assert said[1].endswith(" The model takes pictures in, as these tokens show, although it did not answer the simple "
                            "questions.")  # fmt: skip


def test_a_model_that_sees_is_asked_once_and_may_be_equivalent(tmp_path: Path) -> None:
    model = Respondent(sees=True, tokens=300)
    stored = asked(tmp_path / "run", model)
    assert len(model.asked) == REQUESTS + stored.study.design.size * 2
    sight = read_manifest(tmp_path / "run").sight
    assert sight is not None
    assert (sight.asked, sight.right, sight.tokens, sight.why_not) == (10, 10, 300.0, "")
    assert sight.prompt_tokens == sum(model._count(request) or 0 for request in model.asked[:REQUESTS])
    assert len(sight.answers) == 10
    estimates, _ = estimate([stored], MARGIN)
    assert signs(estimates)[SIGHT_QUESTIONS.name]["p"] < 1e-5  # type: ignore[operator]
    assert verdicts(estimates) == ["equivalent within the margin"]
    again = Respondent(sees=True, tokens=300)
    asked(tmp_path / "run", again)
    assert not again.asked


def test_no_group_is_equivalent_to_a_model_that_sees_nothing(tmp_path: Path) -> None:
    stored = asked(tmp_path / "run", Respondent())
    estimates, _ = estimate([stored], MARGIN)
    rows = signs(estimates)
    assert (rows[SIGHT_QUESTIONS.name]["value"], rows[SIGHT_TOKENS.name]["value"]) == (0.0, 0.0)
    assert rows[SIGHT_DEPENDENCE.name]["p"] > 0.01  # type: ignore[operator]
    assert sightless(estimates) == ["m"]
    assert verdicts(estimates) == ["inconclusive"]
    assert UNSEEN_PICTURES in estimates["why"].to_list()
    page = build_page(gather_report([stored], MARGIN).data)
    assert page.answer.sentence.startswith("Nothing shows that the model sees the pictures: 0 of 10 questions")
    (card,) = (card for card in page.cards if card.name == "sight")
    assert card.status == "problem"
    assert page.cards[0] is card
    assert page.answer.verdict is HeadlineKind.UNSEEN
    assert page.steps[0].text == STEP
    assert not any("ask about" in step.text for step in page.steps)
    assert profile_answer(profile_of([stored]))[0].startswith("Nothing shows that m sees the pictures of kind, so")
    held = gate(
        [stored], [DeclaredLimit("", 0, "shift", measure="shift", by=("variation",), at_least=-0.9, at_most=0.9)]
    )
    assert str(held.outcome) == "not enough data"
    assert set(held.cells["why"]) == {UNSEEN_PICTURES}
    other = asked(tmp_path / "other", Respondent(sees=True)).rename("n")
    (pair,) = compare_all([other, stored], margin=0.9).pairs
    agreement = pair.agreement
    assert "equivalent within the margin" not in agreement.cells["verdict"].to_list()
    assert UNSEEN_PICTURES in agreement.notes


@pytest.mark.parametrize(
    ("model", "sign"),
    [
        (lambda: Respondent(sees=True, tokens=None), SIGHT_QUESTIONS),
        (lambda: Respondent(tokens=64), SIGHT_TOKENS),
        (lambda: Respondent(tokens=None, effect=0.4), SIGHT_DEPENDENCE),
    ],
)
def test_any_sign_is_enough(tmp_path: Path, model: Callable[[], Respondent], sign: Measure) -> None:
    estimates, _ = estimate([asked(tmp_path / "run", model())], MARGIN)
    rows = estimates.filter(measure=sign.name)
    assert (rows["value"] >= 16).item() if sign is SIGHT_TOKENS else (rows["p"] <= 0.01).item()
    assert not sightless(estimates)


def test_whoever_says_what_it_sees_is_not_asked(tmp_path: Path) -> None:
    model = Respondent(sight="stated")
    stored = asked(tmp_path / "run", model)
    assert len(model.asked) == stored.study.design.size * 2
    assert read_manifest(tmp_path / "run").sight is None
    estimates, _ = estimate([stored], MARGIN)
    assert not signs(estimates)
    assert verdicts(estimates) == ["equivalent within the margin"]
    for simulated in ("sim/null", "reference"):
        assert fv.model(simulated).capabilities.sight == "stated"


def test_without_the_check_the_other_signs_alone_tell(tmp_path: Path) -> None:
    model = Respondent(sees=True)
    stored = asked(tmp_path / "run", model, sight=False)
    assert len(model.asked) == stored.study.design.size * 2
    assert read_manifest(tmp_path / "run").sight.why_not == "--no-sight-check"  # type: ignore[union-attr]
    estimates, _ = estimate([stored], MARGIN)
    assert signs(estimates)[SIGHT_QUESTIONS.name]["value"] is None
    assert verdicts(estimates) == ["inconclusive"]


def test_recorded_answers_are_judged_by_tokens_and_answers_alone(tmp_path: Path) -> None:
    stored = asked(tmp_path / "run", Respondent(sight="recorded", effect=0.4))
    assert "recorded before" in stored.facts.sight.why_not  # type: ignore[union-attr]
    assert not sightless(estimate([stored])[0])


def test_texts_without_pictures_ask_nothing(tmp_path: Path) -> None:
    study = PROTOCOL.study()
    shown = study.source.stimulus
    source = type("Bare", (), {
        "kind": study.source.kind, "check": lambda self, levels: None,
        "stimulus": lambda self, number, levels: replace(shown(number, levels), load=tuple, pictures=0),
    })()  # fmt: skip
    model = Respondent()
    run(replace(study, source=source), model, tmp_path / "run", RunSettings(sight=True))
    assert not any(request.stimulus.key.startswith("sight") for request in model.asked)
    assert read_manifest(tmp_path / "run").sight is None


def test_a_model_that_fails_at_the_questions_is_still_asked_the_study(tmp_path: Path) -> None:
    class Picky(Respondent):
        def _text(self, request: Request) -> str:
            return {"kind": "Yes", "honest": "No"}[request.question.prompt.rstrip("?").rpartition(" ")[2]]

    stored = asked(tmp_path / "run", Picky())
    assert stored.facts.end is not None
    assert stored.facts.sight.why_not == "none of its questions was answered"  # type: ignore[union-attr]


def test_what_the_check_costs_counts_in_the_limit_of_cost(tmp_path: Path) -> None:
    model = Respondent(sees=True, tokens=300)
    prices = {"price_in": 1e6, "price_out": 0.0, "max_cost": 100.0}
    summary = run(PROTOCOL.study(), model, tmp_path / "run", RunSettings(sight=True, **prices))  # type: ignore[arg-type]
    assert summary.stopped.startswith("The run has cost 3,")
    assert summary.cost == pytest.approx(sum(model._count(request) or 0 for request in model.asked))


def test_object_storage_keeps_it_too(tmp_path: Path) -> None:
    study = fv.study("stylisticbias", faces="1M,1F", attributes="eyewear", scenario="wealthy", seeds=[1])
    model = Respondent(sees=True, tokens=300)
    url = f"file://{tmp_path}/run"
    once = fv.run(study, model, url, progress=False)
    assert once.stored.facts.sight.right == 10  # type: ignore[union-attr]
    assert len(model.asked) == REQUESTS + once.stored.facts.counts.requests
    fv.run(study, model, url, progress=False)
    assert len(model.asked) == REQUESTS + once.stored.facts.counts.requests


def test_an_audit_asks_once(tmp_path: Path) -> None:
    model = Respondent(sees=True, tokens=300)
    files = [study_file(tmp_path, "kind", 12), study_file(tmp_path, "warm", 12)]
    fv.audit(model, tmp_path / "audit", studies=files, progress=False)
    assert sum(request.stimulus.key.startswith("sight") for request in model.asked) == REQUESTS
    runs = [read_manifest(path.parent) for path in sorted(tmp_path.glob("audit/**/run.toml"))]
    assert [facts.sight.right for facts in runs if facts.sight] == [10, 10]
    assert sorted(facts.sight.prompt_tokens > 0 for facts in runs if facts.sight) == [False, True]


def answers(rng: np.random.Generator, units: int, texts: int, effect: float, wave: float = 0.0) -> pl.DataFrame:
    """Answers to texts about a person without and with a cue, asked person by person."""
    person, cue, text = (a.ravel() for a in np.meshgrid(np.arange(units), (0, 1), np.arange(texts), indexing="ij"))
    logit = rng.normal(0, 1, texts)[text] + effect * cue + wave * np.sin(2 * np.pi * person / units)
    frame = pl.DataFrame(
        {
            "(stimulus)": 2 * person + cue, "trial": np.arange(person.size), "repeat": np.zeros(person.size, np.uint8),
            "(text)": text.astype(np.uint64), "(unit)": person.astype(np.uint64), "at": person * 10,
            "cue": cue.astype(str),
            "weight": (rng.random(person.size) < 1 / (1 + np.exp(-logit))).astype(float),
        }
    )  # fmt: skip
    same = {"(bare)": pl.lit(value=False), "said": pl.lit("x"), "status": pl.lit("ok"), "mass": pl.lit(1.0)}
    return frame.with_columns(na=pl.lit(None, pl.String), prompt_tokens=pl.lit(None, pl.UInt32), **same)


def chance(frame: pl.DataFrame) -> float:
    seen = PictureDependence({"": pl.col("weight")})
    seen.take(seen.thinned(frame), ["cue"])
    table = seen.estimates("s", "m", (0, 0), None)
    return float(table.filter(measure=SIGHT_DEPENDENCE.name)["p"].item())


def test_answers_that_do_not_depend_on_pictures_seem_to_no_more_often_than_stated() -> None:
    rng = np.random.default_rng(7)
    level = np.mean([chance(answers(rng, 12, 6, 0.0)) <= 0.05 for _ in range(60)])
    wavering = np.mean([chance(answers(rng, 60, 6, 0.0, wave=1.5)) <= 0.05 for _ in range(40)])
    assert level <= 0.13
    assert wavering <= 0.18
    assert chance(answers(rng, 40, 12, 1.0)) <= 0.01


def test_answers_that_follow_from_the_text_alone_depend_on_no_picture() -> None:
    frame = answers(np.random.default_rng(1), 12, 6, 0.0).with_columns(weight=pl.col("(text)").cast(pl.Float64) / 7)
    assert chance(frame) == 1.0


def test_that_nothing_is_shown_is_no_sign_of_what_is_seen() -> None:
    frame = answers(np.random.default_rng(1), 12, 6, 0.0).with_columns(weight=pl.lit(1.0))
    bare = frame.with_columns(pl.lit(value=True).alias("(bare)"), weight=pl.lit(0.0), trial=pl.col("trial") + 1000)
    assert chance(pl.concat([frame, bare])) == 1.0


def test_tokens_of_a_run_tell_where_a_text_is_asked_without_its_picture_too() -> None:
    frame = answers(np.random.default_rng(1), 12, 6, 0.0)
    bare = frame.with_columns(pl.lit(value=True).alias("(bare)"), prompt_tokens=pl.lit(20, pl.UInt32))
    seen = PictureDependence({"": pl.col("weight")})
    seen.take(pl.concat([frame.with_columns(prompt_tokens=pl.lit(300, pl.UInt32)), bare]))
    table = seen.estimates("s", "m", (0, 0), None)
    assert table.filter(measure=SIGHT_TOKENS.name)["value"].item() == 280
