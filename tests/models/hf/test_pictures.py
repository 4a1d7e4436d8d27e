"""Several pictures in one pass: the same numbers as one by one."""

from collections.abc import Callable, Sequence
from typing import Any

import pytest

from facevalue.models.hf.chat import Group, prepare
from facevalue.models.hf.decoding import SharedDecoding
from facevalue.models.hf.loaded import Loaded
from facevalue.models.hf.prefix import Prefix, joinable
from facevalue.models.hf.reference_pass import plain_logits
from facevalue.types import Question
from tests.models.hf import tiny

torch = tiny.torch

ROUNDING = 1e-4
JOINED = [name for name in tiny.BUILDERS if name != "mllama"]
QUESTIONS = [
    Question(prompt="Who is more competent, (a) the left person or (b) the right person?"),
    Question(prompt="Does the person in the picture look trustworthy?"),
    Question(prompt="Who is honest?"),
]
SHOWN = [
    [tiny.picture("one", (60, 40))],
    [tiny.picture("two", (30, 50))],
    [tiny.picture("three", (40, 40))],
    [tiny.picture("four", (90, 40))],
]
Load = Callable[..., Loaded]


@pytest.fixture(scope="module")
def load(tmp_path_factory: pytest.TempPathFactory) -> Load:
    """Builds and loads a family's tiny model once."""
    return tiny.loader(tmp_path_factory)


def groups_of(loaded: Loaded, shown: Sequence[Sequence[Any]]) -> list[Group]:
    """The questions about each of some pictures."""
    return [group for images in shown for group in prepare(loaded, images, QUESTIONS)]


def together(loaded: Loaded, groups: Sequence[Group], paths: Sequence[Sequence[Any]]) -> list[Any]:
    """Logits read over several pictures at once, call by call."""
    prefix = Prefix.of(loaded, *(group.inputs or {} for group in groups))
    rows = [row for row, group in enumerate(groups) for _ in group.members]
    decoding = SharedDecoding(prefix, [suffix for group in groups for suffix in group.suffixes], rows)
    return [decoding.read(each) for each in paths]


def plain(loaded: Loaded, groups: Sequence[Group], path: Any) -> Any:
    """What follows a beginning of a reply, by a plain pass."""
    member, reply = path
    places = [(group, number) for group in groups for number in group.members]
    group, number = places[member]
    return plain_logits(loaded, group.full(number), reply, [len(reply)])[0]


@pytest.mark.parametrize("name", JOINED)
def test_several_pictures_at_once_are_each_alone(load: Load, name: str) -> None:
    loaded = load(name)
    groups = groups_of(loaded, SHOWN)
    assert all(joinable(groups[0].inputs or {}, group.inputs or {}) for group in groups)
    first: list[Any] = [(member, ()) for member in range(12)] + [(4, (30,)), (11, (31,)), (11, (31, 32))]
    some = [(1, (40,)), (4, (30, 41)), (11, (31, 32, 42))]
    late = [(4, (30, 41, 43)), (5, (50, 51))]
    calls: list[list[Any]] = [first, some, late, [(0, (60,)), (3, (61,))]]
    for paths, found in zip(calls, together(loaded, groups, calls), strict=True):
        for path, row in zip(paths, found, strict=True):
            want = plain(loaded, groups, path)
            assert float((row.log_softmax(-1) - want.log_softmax(-1)).abs().max()) <= ROUNDING, path
