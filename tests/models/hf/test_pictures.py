"""Several pictures in one pass: the same numbers as one by one."""

from collections.abc import Callable, Sequence
from dataclasses import replace
from functools import wraps
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

from facevalue.errors import ModelError
from facevalue.models.hf import prefix as prefixes
from facevalue.models.hf.chat import Group, prepare
from facevalue.models.hf.check import SelfCheck
from facevalue.models.hf.decoding import SharedDecoding
from facevalue.models.hf.engine import Engine, Failed, Wish
from facevalue.models.hf.joint import JointUnit, Room, joints
from facevalue.models.hf.loading import Loaded
from facevalue.models.hf.prefix import Branch, Prefix, joinable
from facevalue.models.hf.reference_pass import plain_logits
from facevalue.types import Option, Question, Sampling
from tests.models.hf import planted, tiny

torch = tiny.torch

ROUNDING = 1e-4
UNLIKE = ("gemma3", "idefics3", "llava_next", "qwen2_5_vl")
"""Each puts pictures into a batch in a way of its own; the others are like one of them."""
JOINED = [pytest.param(name, marks=() if name in UNLIKE else pytest.mark.slow)
          for name in tiny.BUILDERS if name != "mllama"]  # fmt: skip
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
    prefix = Prefix.read_prefixes(loaded, *(group.inputs or {} for group in groups))
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


# The engine.

LETTERS = (Option("(a)", "competent", "up"), Option("(b)", "honest", "down"))
ASKED = [replace(question, options=LETTERS) for question in QUESTIONS]
SAMPLING = Sampling(0.7, 0.9, 6)


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A model whose pictures take different numbers of tokens."""
    return planted.plant(tiny.qwen2_5_vl(tmp_path_factory.mktemp("qwen")))


def scored(engine: Engine, shown: Sequence[Sequence[Any]] = SHOWN) -> dict[Any, Any]:
    """Scores of all questions about some pictures, asked together."""
    return {key: score for key, score, _ in engine.scores([engine.to_score(i, ASKED, SAMPLING) for i in shown])}


def alone(folder: Path) -> dict[Any, Any]:
    """The same, picture by picture."""
    engine = planted.untried(planted.engine(folder))
    return {(at, n): score for at, i in enumerate(SHOWN) for n, score, _ in engine.score(i, ASKED, SAMPLING)}


def close(found: dict[Any, Any], want: dict[Any, Any]) -> bool:
    """Whether the probabilities are the same but for rounding."""
    assert found.keys() == want.keys()
    return all(found[key].probs == pytest.approx(want[key].probs, abs=2e-5) for key in want)


@pytest.fixture
def counts(monkeypatch: pytest.MonkeyPatch) -> dict[str, list[int]]:
    """Rows of each pass over prefixes and over what follows them, as they are made."""
    seen: dict[str, list[int]] = {"prefixes": [], "trees": []}
    of, mask = Prefix.read_prefixes, Branch._mask

    def run(loaded: Loaded, *inputs: Any) -> Prefix:
        seen["prefixes"].append(len(inputs))
        return of(loaded, *inputs)

    def masked(*given: Any) -> Any:
        made: Any = mask(*given)
        seen["trees"].append(len(made))
        return made

    monkeypatch.setattr(Prefix, "read_prefixes", run)
    monkeypatch.setattr(Branch, "_mask", masked)
    return seen


def test_pictures_asked_together_are_scored_as_alone_in_as_many_passes_as_one(
    folder: Path, counts: dict[str, list[int]], monkeypatch: pytest.MonkeyPatch
) -> None:
    want = alone(folder)
    assert counts["prefixes"] == [1, 1, 1, 1]
    monkeypatch.setattr(SelfCheck, "compare", lambda *_: None)
    passes = len(counts["trees"])
    counts["prefixes"].clear()
    counts["trees"].clear()
    engine = planted.untried(planted.engine(folder))
    looks = []
    engine.loaded.model.model.visual.register_forward_hook(lambda *_: looks.append(1))
    found = scored(engine)
    assert close(found, want)
    assert len({score.probs for score in found.values()}) == len(found)
    assert counts["prefixes"] == [4]
    assert max(counts["trees"]) == 4
    assert len(counts["trees"]) <= passes / 2
    assert len(looks) == len(counts["prefixes"])


def test_replies_drawn_together_are_those_drawn_alone(folder: Path) -> None:
    wishes = [Wish(question, SAMPLING, seed) for question in ASKED for seed in (1, 2)]
    engine = planted.untried(planted.engine(folder))
    single = {(at, n): r for at, i in enumerate(SHOWN) for n, r, _ in engine.generate(i, wishes)}
    together = {key: r for key, r, _ in engine.replies([engine.to_reply(i, wishes) for i in SHOWN])}
    assert single.keys() == together.keys()
    for key, reply in single.items():
        assert (reply.text, reply.tokens, reply.ended) == (
            together[key].text,
            together[key].tokens,
            together[key].ended,
        )
    assert len({reply.text for reply in single.values()}) > 4


def of_the_neighbour(monkeypatch: pytest.MonkeyPatch) -> None:
    """The mistake of questions about another picture of the batch."""
    extended = prefixes._Places.add_nodes

    def turned(self: Any, parents: Any, read: Any) -> Any:
        rows = max(1, int(-parents.min(initial=0)))
        return extended(self, np.where(parents < 0, -1 - (-parents % rows), parents), read)

    monkeypatch.setattr(prefixes._Places, "add_nodes", turned)


def with_a_look_aside(monkeypatch: pytest.MonkeyPatch) -> None:
    """The mistake of what is said of one picture being seen from the next."""
    update = prefixes._Layer.update

    def leaking(self: Any, keys: Any, values: Any, *rest: Any) -> Any:
        if len(keys) > 1:
            values = values.clone()
            values[1:] += 0.5 * values[:-1]
        return update(self, keys, values, *rest)

    monkeypatch.setattr(prefixes._Layer, "update", leaking)


def with_a_look_back(monkeypatch: pytest.MonkeyPatch) -> None:
    """The mistake of the last picture's tokens being seen from the first."""
    of = Prefix.read_prefixes

    def leaking(*given: Any) -> Prefix:
        made = of(*given)
        if len(given) > 2:
            with torch.inference_mode():
                made.layers[0][1][0] += made.layers[0][1][-1]  # type: ignore[index]
        return made

    monkeypatch.setattr(Prefix, "read_prefixes", leaking)


def with_the_padding(monkeypatch: pytest.MonkeyPatch) -> None:
    """The mistake of what fills up a shorter row being seen."""
    of = Prefix.read_prefixes
    monkeypatch.setattr(Prefix, "read_prefixes", lambda *given: filled(of(*given)))

    def filled(made: Prefix) -> Prefix:
        return replace(made, lengths=(made.length,) * len(made.lengths))


@pytest.mark.parametrize("mistake", [of_the_neighbour, with_a_look_aside, with_a_look_back, with_the_padding])
def test_one_picture_that_is_seen_from_another_stops_the_run(
    folder: Path, monkeypatch: pytest.MonkeyPatch, mistake: Callable[[pytest.MonkeyPatch], None]
) -> None:
    mistake(monkeypatch)
    engine = planted.untried(planted.engine(folder))
    believed: list[Any] = []
    shown = [[tiny.picture("one", (60, 40))], [tiny.picture("two", (60, 44))], [tiny.picture("three", (40, 40))]]
    for images in shown:  # each alone is right
        assert len(list(engine.score(images, ASKED, SAMPLING))) == len(ASKED)
    with pytest.raises(ModelError, match="Self-check"):
        believed.extend(engine.scores([engine.to_score(images, ASKED, SAMPLING) for images in shown]))
    assert not believed


def test_memory_that_does_not_suffice_for_several_pictures_is_learnt_and_loses_nothing(
    folder: Path, counts: dict[str, list[int]], monkeypatch: pytest.MonkeyPatch
) -> None:
    want = alone(folder)
    run = Prefix.read_prefixes

    def little(loaded: Loaded, *inputs: Any) -> Prefix:
        made = run(loaded, *inputs)
        if len(inputs) > 1:
            raise MemoryError("out of memory")
        return made

    monkeypatch.setattr(Prefix, "read_prefixes", little)
    engine = planted.untried(planted.engine(folder))
    assert close(scored(engine), want)
    counts["prefixes"].clear()
    assert close(scored(engine), want)
    assert counts["prefixes"] == [1, 1, 1, 1]


def test_a_model_that_takes_no_batch_is_asked_about_one_picture_after_the_other(
    folder: Path, counts: dict[str, list[int]], monkeypatch: pytest.MonkeyPatch
) -> None:
    want = alone(folder)
    engine = planted.untried(planted.engine(folder))
    forward = engine.loaded.model.forward

    def single(*given: Any, **named: Any) -> Any:
        if len(named["input_ids"]) > 1:
            raise ValueError("one row at a time")
        return forward(*given, **named)

    monkeypatch.setattr(engine.loaded.model, "forward", wraps(forward)(single))
    assert close(scored(engine), want)
    counts["prefixes"].clear()
    assert close(scored(engine), want)
    assert counts["prefixes"] == [1, 1, 1, 1]


def test_a_picture_that_the_model_rejects_spoils_no_other(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    want = alone(folder)
    engine = planted.untried(planted.engine(folder))
    forward = engine.loaded.model.forward
    bad = engine.to_score(SHOWN[2], ASKED, SAMPLING).groups[0][0].inputs

    def picky(*given: Any, **named: Any) -> Any:
        shown = named.get("pixel_values")
        if shown is not None and (shown == (bad or {})["pixel_values"][0]).all(dim=1).any():
            raise IndexError("too dark")
        return forward(*given, **named)

    monkeypatch.setattr(engine.loaded.model, "forward", wraps(forward)(picky))
    for key, score in scored(engine).items():
        if key[0] == 2:
            assert score == Failed("The model fails: IndexError: too dark")
        else:
            assert score.probs == pytest.approx(want[key].probs, abs=2e-5)


def test_room_on_a_gpu_is_what_memory_was_measured_to_hold(monkeypatch: pytest.MonkeyPatch) -> None:
    taken, peak = [1000, 1000], [9_000, 51_000]
    for name, value in {
        "mem_get_info": lambda _: (40_000, 80_000),
        "reset_peak_memory_stats": lambda _: None,
        "memory_allocated": lambda _: taken.pop(),
        "max_memory_allocated": lambda _: peak.pop(),
    }.items():
        monkeypatch.setattr(torch.cuda, name, value)
    room = Room(SimpleNamespace(device=SimpleNamespace(type="cuda")))  # type: ignore[arg-type]
    assert room.tokens() == 0, "a single prefix is run first"
    with room.measure_memory(500):
        pass
    assert room.tokens() == 100  # of 100 bytes each, in a quarter of what is free
    with room.measure_memory(500):
        pass
    assert room.tokens() == 100  # what took less changes nothing
    room.halve(80)
    assert room.tokens() == 40


def unit(number: int, length: int, kind: str = "pixel_values") -> JointUnit:
    """A stimulus with a prefix of so many tokens."""
    inputs = {"input_ids": torch.zeros(1, length), kind: torch.zeros(1, 3, 4, 4)}
    return JointUnit(number, Group([0], inputs, [5] * length, [[6]], lambda _: inputs), {0: 0})


def test_units_of_about_the_same_length_and_of_one_kind_go_together() -> None:
    units = [*(unit(at, length) for at, length in enumerate((100, 300, 110, 310, 90))), unit(5, 100, "pixels")]
    together = [[each.stimulus for each in some] for some in joints(units, 1000)]
    assert sorted(sorted(some) for some in together) == [[0, 4], [1, 3], [2], [5]]
    assert [len(some) for some in joints(units[:5], 250)] == [2, 1, 1, 1]
    assert [len(some) for some in joints(units, 0)] == [1] * 6
