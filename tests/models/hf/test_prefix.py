"""Branches over a shared prefix give what plain forward passes give."""

from pathlib import Path
from typing import Any

import numpy as np
import pytest

from facevalue.types import Question
from tests.models.hf import tiny

torch: Any = tiny.torch

from facevalue.models.hf.chat import prepare  # noqa: E402
from facevalue.models.hf.loaded import load_model  # noqa: E402
from facevalue.models.hf.plain import plain_logits  # noqa: E402
from facevalue.models.hf.prefix import Prefix  # noqa: E402

QUESTIONS = [Question(prompt=f"Who is {word}?") for word in ("competent", "warm", "more honest")]


@pytest.fixture(scope="module")
def llava(tmp_path_factory: pytest.TempPathFactory) -> Any:
    folder: Path = tiny.llava(tmp_path_factory.mktemp("llava"))
    return load_model(str(folder), dtype=None, device="cpu", threads=1, compile=False)


def test_packed(llava: Any) -> None:
    (group,) = prepare(llava, [tiny.picture("one")], QUESTIONS)
    assert group.inputs is not None
    ids, parents, read = [], [], []
    for suffix in group.suffixes:
        parents += [-1, *range(len(ids), len(ids) + len(suffix) - 1)]
        ids += suffix
        read.append(len(ids) - 1)
    found = Prefix.of(llava, group.inputs).branch().grow(np.array(ids), np.array(parents), read).log_softmax(-1)
    for row, number in enumerate(group.members):
        plain = plain_logits(llava, group.full(number), [], [0]).log_softmax(-1)
        assert (plain[0] - found[row]).abs().max() <= 1e-4
