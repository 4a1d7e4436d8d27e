"""Whatever a file holds, reading it ends in a study or in one sentence; slots and samples keep their promises."""

import contextlib
import tomllib

import numpy as np
import polars as pl
import tomli_w
from hypothesis import given, settings
from hypothesis import strategies as st

from facevalue.errors import FaceValueError
from facevalue.prompts.phrases import fill_slots, slots
from facevalue.protocol import own_studies
from facevalue.protocol.sampling import fitting
from facevalue.protocol.toml_tables import lines_of
from tests.protocol.conftest import MINIMAL

WORDS = st.sampled_from(
    [*own_studies.KEYS, "kind", "shift", "gap", "yes-no", "none", "first", "job", "levels", "", "x"]
)
VALUES = st.recursive(
    st.one_of(WORDS, st.integers(), st.floats(), st.booleans(), st.text(max_size=8)),
    lambda inner: st.one_of(st.lists(inner, max_size=3), st.dictionaries(WORDS, inner, max_size=3)),
    max_leaves=6,
)


@settings(max_examples=150, deadline=None)
@given(st.data())
def test_any_document_is_a_study_or_one_sentence(data: st.DataObject) -> None:
    document = tomllib.loads(MINIMAL)
    for _ in range(data.draw(st.integers(1, 3))):
        part = document
        while True:
            key = data.draw(st.sampled_from([*part, data.draw(WORDS)]))
            inner = part.get(key)
            if isinstance(inner, list) and inner and isinstance(inner[0], dict):
                inner = inner[0]
            if isinstance(inner, dict) and data.draw(st.booleans()):
                part = inner
                continue
            break
        part[key] = data.draw(VALUES)
    try:
        text = tomli_w.dumps(document)
        study = own_studies.parse(text).study()
    except FaceValueError:
        return
    assert study.ask(study.design.trials([0]))[0].prompt


@given(st.text(max_size=200))
def test_any_text_is_no_traceback(text: str) -> None:
    with contextlib.suppress(FaceValueError):
        own_studies.parse(text)


@given(st.text(max_size=60), st.dictionaries(st.from_regex(r"[a-z]{1,4}", fullmatch=True), st.text(max_size=20)))
def test_slots_alone_are_replaced(text: str, levels: dict[str, str]) -> None:
    out = fill_slots(text, levels)
    if not set(slots(text)) & set(levels) and "{options}" not in text:
        assert out == text
    assert fill_slots("{a}", {"a": "{b}", "b": "x"}) == "{b}"


@given(st.lists(st.integers(1, 9), max_size=30), st.integers(0, 60))
def test_what_fits_is_taken_first_come_first_served(costs: list[int], size: int) -> None:
    spent, wanted = 0, []
    for at, cost in enumerate(costs):
        if spent + cost <= size:
            spent += cost
            wanted.append(at)
    assert fitting(np.array(costs, dtype=np.int64), size).tolist() == wanted


@settings(deadline=None)
@given(st.integers(8, 64), st.integers(0, 5))
def test_samples_hold_whole_units(size: int, seed: int) -> None:
    study = own_studies.parse(MINIMAL).study()
    asked = study.design.trials(study.sample(size, seed, 1))
    assert asked.height <= size
    assert asked.group_by("identity", "job").agg(pl.col("first").n_unique())["first"].to_list() == [2] * (
        asked.height // 2
    )


def test_lines_are_those_of_the_file() -> None:
    for path, line in lines_of(MINIMAL).items():
        assert str(next(part for part in reversed(path) if isinstance(part, str))) in MINIMAL.splitlines()[line - 1]
