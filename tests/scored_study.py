"""A study of texts that scorers read: four faces, each described in reply to two prompts."""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path

import polars as pl

import facevalue as fv
from facevalue.annotate import scores
from facevalue.annotate.scores import Scores
from facevalue.answers import free_text
from facevalue.protocol.study import Scored, Study
from facevalue.types import OptionValue, Request
from tests.runs.tiny import TinyModel, say, tiny_study

GROUPS = {"Black male": "Black man", "old Asian": "old Asian person"}


def answered(frame: pl.DataFrame, stored: Sequence[Scores] = ()) -> pl.DataFrame:
    """Replies as texts, with the scores that are stored of them."""
    found = free_text.parse_column(frame, "text")
    valid = found["na"].is_null()
    told = frame.drop("text", "probs").with_columns(
        found["text"], found["na"], weight=pl.when(valid).then(1.0), mass=valid.cast(pl.Float64)
    )
    return pl.concat([told, scores.columns(stored, told["text"])], how="horizontal")


def study(stored: Sequence[Scores] = (), faces: int = 4, prompts: int = 2) -> Study:
    """The study, carrying scores."""

    def carrying(found: Sequence[Scores]) -> Study:
        return study(found, faces, prompts)

    def answer(frame: pl.DataFrame) -> pl.DataFrame:
        return answered(frame, stored)

    made = tiny_study(faces, prompts, options=(), answer=answer)
    return replace(made, name="texts", options={}, scored=Scored(pl.col("scenario") != "never", GROUPS, carrying))


def build(options: Mapping[str, OptionValue], manifest: pl.DataFrame | None = None) -> Study:
    """Build it as a protocol does."""
    return study()


PROTOCOL = fv.Protocol(name="texts", title="Texts", build=build)


def run(folder: Path, texts: Sequence[str], protocol: fv.Protocol = PROTOCOL) -> fv.Run:
    """A run whose trials got these replies, the last of them again and again."""

    def reply(request: Request) -> str:
        return texts[min(request.trial, len(texts) - 1)]

    model = TinyModel(lambda request: say(reply(request))(request))
    return fv.run(fv.study(protocol), model, folder, progress=False)
