"""Exact runs in which some replies were drawn, as their probabilities could not be read."""

from collections.abc import Mapping
from typing import Any

import numpy as np
import polars as pl
import pytest
from polars.testing import assert_frame_equal

from facevalue import studies
from facevalue.models import load
from facevalue.runs.requests import RequestBuilder
from facevalue.types import Request

STUDIES: dict[str, Mapping[str, Any]] = {
    "stylisticbias": {"faces": "6", "scenario": ["polite", "wealthy"], "attributes": ["eyewear"]},
    "vignette": {},
    "visbias": {"task": ["mcq", "yesno"]},
}


@pytest.mark.parametrize("name", STUDIES)
def test_each_reply_is_understood_as_in_a_run_of_its_own_kind(name: str) -> None:
    """A drawn reply has the weight of one reply, a read one that of its probabilities, whatever stands beside it."""
    study = studies.build(name, STUDIES[name])
    trials = np.unique(np.linspace(0, study.design.size - 1, 240).astype(np.int64))
    asking = RequestBuilder(study, exact=True)
    chunk = asking.chunk(trials, np.ones((trials.size, 1), dtype=np.bool_))
    requests = [
        Request(int(trials[row]), 0, row, stimulus, chunk.questions[row], study.draws.sampling, exact=True)
        for first, stop, stimulus in asking.stimuli(chunk)
        for row in range(first, stop)
    ]
    model = load("sim/strong@3")
    read = list(model.respond(requests))
    drawn = list(model.respond(request._replace(exact=False) for request in requests))
    where = np.arange(trials.size) % 3 == 0
    mixed = [d if w else r for r, d, w in zip(read, drawn, where, strict=True)]
    assert all((response.probs is None) == w for response, w in zip(mixed, where, strict=True))

    def answered(responses: list[Any]) -> pl.DataFrame:
        said = pl.DataFrame(
            {
                "repeat": pl.Series([r.repeat for r in responses], dtype=pl.UInt8),
                "status": [str(r.status) for r in responses],
                "text": pl.Series([r.text for r in responses], dtype=pl.String),
                "probs": pl.Series([r.probs for r in responses], dtype=pl.List(pl.Float32)),
            }
        )
        return study.answer(pl.concat([study.design.trials(trials), said], how="horizontal"))

    got, each, one = answered(mixed), answered(read), answered(drawn)
    assert_frame_equal(got.filter(where), one.filter(where))
    assert_frame_equal(got.filter(~where), each.filter(~where))
    assert got.filter(where)["mass"].is_in([0.0, 1.0]).all()
