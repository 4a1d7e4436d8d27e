"""A study of texts that scorers read: four faces, each described in reply to two prompts."""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path

import polars as pl

import facevalue as fv
from facevalue.annotations import scores
from facevalue.annotations.scores import Scores
from facevalue.answers import free_text
from facevalue.design import Block, Design, Factor
from facevalue.protocol.offers import Extras
from facevalue.protocol.study import Scored, Study
from facevalue.types import OptionValue, Question, Request
from tests.runs.tiny import TinyModel, say, tiny_study

GROUPS = {"Black male": "Black man", "old Asian": "old Asian person"}
DESIGN = Design((Block("all", (Factor("face", ("f0", "f1", "f2", "f3")),), (Factor("prompt", ("p0", "p1")),)),))
QUESTIONS = {level: Question(f"Describe this person ({level}).") for level in ("p0", "p1")}


def study(stored: Sequence[Scores] = ()) -> Study:
    """The study, carrying scores."""

    def answer(frame: pl.DataFrame) -> pl.DataFrame:
        found = free_text.parse_column(frame, "text")
        valid = found["na"].is_null()
        told = frame.drop("text", "probs").with_columns(
            found["text"], found["na"], weight=pl.when(valid).then(1.0), mass=valid.cast(pl.Float64)
        )
        return pl.concat([told, scores.columns(stored, told["text"])], how="horizontal")

    return replace(
        tiny_study(4, 2, options=(), answer=answer),
        name="texts",
        options={},
        design=DESIGN,
        ask=lambda frame: [QUESTIONS[level] for level in frame["prompt"]],
        reading=replace(
            tiny_study(4, 2, options=(), answer=answer).reading,
            scored=None if stored else Scored(pl.lit(True), GROUPS, study),
        ),
    )


def build(options: Mapping[str, OptionValue], manifest: pl.DataFrame | None = None) -> Study:
    """Build it as a protocol does."""
    return study()


PROTOCOL = fv.Protocol(name="texts", title="Texts", build=build, extras=Extras(annotate="open replies"))


def run(folder: Path, texts: Sequence[str], protocol: fv.Protocol = PROTOCOL) -> fv.Run:
    """A run whose eight trials got these replies, the last of them again and again."""

    def reply(request: Request) -> str:
        return texts[min(request.trial, len(texts) - 1)]

    model = TinyModel(lambda request: say(reply(request))(request))
    return fv.run(fv.study(protocol), model, folder, progress=False)
