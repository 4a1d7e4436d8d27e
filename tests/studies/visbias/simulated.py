"""VisBias asked of simulated models without a run folder, and the authors' folders with pictures of nobody."""

import io
from pathlib import Path
from typing import Any

import numpy as np
import PIL.Image
import polars as pl

from facevalue import studies
from facevalue.models.sim import SimModel
from facevalue.protocol.study import Study
from facevalue.runs.requests import draw_seed, stimulus_columns
from facevalue.studies.visbias import tables
from facevalue.types import Request


def build(**options: Any) -> Study:
    return studies.build("visbias", options)


def folders(root: Path) -> Path:
    """700 files in the authors' layout, each of another colour."""
    number = 0
    for job in tables.occupations():
        for race in tables.races():
            for gender in tables.genders():
                folder = root / job.name / f"{race.folders[0]}_{gender.name}"
                folder.mkdir(parents=True)
                for photo in range(1, tables.photographs() + 1):
                    (folder / f"{photo}.jpg").write_bytes(picture(number))
                    number += 1
    return root


def picture(number: int) -> bytes:
    data = io.BytesIO()
    PIL.Image.new("RGB", (16, 16), (number % 256, number // 256, 9)).save(data, "PNG")
    return data.getvalue()


def requests(study: Study, trials: Any = None) -> list[Request]:
    numbers = np.arange(len(study.design)) if trials is None else np.asarray(trials)
    frame = study.design.trials(numbers)
    rows = frame.select(stimulus_columns(study)).to_dicts()
    stimuli = study.design.stimulus_numbers(numbers).tolist()
    shown = {number: study.source.stimulus(number, row) for number, row in zip(stimuli, rows, strict=True)}
    return [
        Request(int(trial), 0, draw_seed(1, q.draw), shown[number], q, q.sampling or study.draws.sampling, False)
        for trial, number, q in zip(numbers, stimuli, study.ask(frame), strict=True)
    ]


def answered(study: Study, model: str = "default") -> pl.DataFrame:
    """Answers of a simulated model to everything, in trial order."""
    responses = sorted(SimModel(model).respond(requests(study)))
    return read(study, [r.text for r in responses])


def read(study: Study, texts: list[str | None], trials: Any = None, status: str = "ok") -> pl.DataFrame:
    """What a study makes of replies to these trials, or to all."""
    numbers = np.arange(len(study.design)) if trials is None else np.asarray(trials)
    said = pl.DataFrame(
        {"repeat": [0] * len(texts), "status": [status] * len(texts), "text": texts, "probs": [None] * len(texts)},
        schema={"repeat": pl.UInt8, "status": pl.String, "text": pl.String, "probs": pl.List(pl.Float32)},
    )
    return study.answer(pl.concat([study.design.trials(numbers), said], how="horizontal"))


def estimates(study: Study, answers: pl.DataFrame) -> pl.DataFrame:
    return study.analyse({"sim": iter([answers])})
