"""Single bits flipped in a run folder at rest."""

import random
import shutil
from collections.abc import Iterator
from pathlib import Path

import polars as pl
import pytest

from facevalue.errors import FaceValueError
from facevalue.runs import RunSettings, run
from facevalue.runs.stored_run import StoredRun, answers
from tests.runs.tiny import TinyModel, tiny_study
from tests.store.flipping import flip_a_bit

STUDY = tiny_study(faces=40, prompts=5, seeds=(1, 2))


def flipped(rng: random.Random, cases: int, place: Path) -> Iterator[str]:
    """Flip one bit, wherever; then measure."""
    whole = place / "whole"
    run(STUDY, TinyModel(), whole, RunSettings(flush_rows=64))
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("facevalue.studies.build", lambda name, options, manifest: STUDY)
        before = pl.concat(answers(StoredRun.open(whole)))
        for case in range(cases):
            folder = place / f"case-{case}"
            shutil.copytree(whole, folder)
            path = rng.choice([path for path in sorted(folder.rglob("*")) if path.is_file() and path.stat().st_size])
            flip_a_bit(path, rng)
            yield _measured(folder, before)
            shutil.rmtree(folder)


def _measured(folder: Path, before: pl.DataFrame) -> str:
    try:
        now = pl.concat(answers(StoredRun.open(folder)))
    except FaceValueError:
        return "named error"
    return "as without the fault" if now.equals(before) else "another answer"
