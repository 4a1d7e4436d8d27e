"""The trial of sharing: what is right passes; each planted fault is caught, and the answers are right all the same."""

from collections.abc import Callable, Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from facevalue.types import Option, Question, Sampling
from tests.models.hf import planted, tiny

torch: Any = tiny.torch

from facevalue.models.hf import trial  # noqa: E402
from facevalue.models.hf.chat import prepare  # noqa: E402
from facevalue.models.hf.engine import Engine, Wish  # noqa: E402
from facevalue.models.hf.loading import Loaded  # noqa: E402
from facevalue.models.hf.prefix import Branch, Prefix, _Layer  # noqa: E402
from facevalue.models.hf.resumption import ModelState  # noqa: E402
from facevalue.models.hf.scoring import OptionScore  # noqa: E402

pytestmark = pytest.mark.filterwarnings("ignore:__array__ implementation:DeprecationWarning")  # PaliGemma's processor
OPTIONS = (Option("(a)", "competent", "favourable"), Option("(b)", "honest", "unfavourable"))
QUESTIONS = [Question(f"Who is (a) {word} or (b) honest?", OPTIONS) for word in ("competent", "warm")]
CHECKS = ["places in the tree", "neighbours", "another prefix", "prefixes in one pass", "state"]
PICTURE = [tiny.picture("one", (60, 40))]
Load = Callable[..., Loaded]
Patch = pytest.MonkeyPatch


def gemma3(folder: Path) -> Path:
    """Gemma-3 with a window shorter than any prompt."""
    return tiny.gemma3(folder, 5)


@pytest.fixture(scope="module")
def load(tmp_path_factory: pytest.TempPathFactory) -> Load:
    return tiny.loader(tmp_path_factory, vars(tiny) | {"gemma3": gemma3})


def leaks(patch: Patch) -> None:
    """Each node sees all before it, other branches' too."""
    own = Branch._mask

    def mask(self: Any, tree: Any, first: int) -> Any:
        right: Any = own(self, tree, first)
        return right | torch.ones(right.shape[-2:], dtype=torch.bool).tril(right.shape[-1] - right.shape[-2])

    patch.setattr(Branch, "_mask", mask)


def ignores_the_mask(patch: Patch) -> None:
    """Everything sees everything."""
    own = Branch._mask
    patch.setattr(Branch, "_mask", lambda *given: torch.ones_like(own(*given)))


def sees_the_first_node(patch: Patch) -> None:
    """The beginning of the tree is seen by all of it."""
    own = Branch._mask

    def mask(self: Any, tree: Any, first: int) -> Any:
        right: Any = own(self, tree, first)
        right = right.clone()
        right[..., self.prefix.length] = True
        return right

    patch.setattr(Branch, "_mask", mask)


def _changed(patch: Patch, change: Callable[[Prefix], Prefix]) -> None:
    of = Prefix.read_prefixes
    patch.setattr(Prefix, "read_prefixes", lambda *given: change(of(*given)))


def shifts_positions(patch: Patch) -> None:
    """Suffixes stand one position too late."""
    _changed(patch, lambda made: replace(made, next_positions=tuple(place + 1 for place in made.next_positions)))


def forgets_the_grid(patch: Patch) -> None:
    """Positions go on from the number of tokens, whatever the picture took."""
    _changed(patch, lambda made: replace(made, next_positions=made.lengths))


def remembers_the_first_grid(patch: Patch) -> None:
    """Positions go on from where those of the first picture ended."""
    kept: list[int] = []

    def change(made: Prefix) -> Prefix:
        kept.append(made.length - made.next_positions[0])
        return replace(made, next_positions=(made.length - kept[0],))

    _changed(patch, change)


def keeps_the_first_prefix(patch: Patch) -> None:
    """The keys and values of the first picture stand for those of all others."""
    kept: list[Prefix] = []

    def change(made: Prefix) -> Prefix:
        kept.append(made)
        first = kept[0]
        return replace(first, inputs=made.inputs)

    _changed(patch, change)


def keeps_branches(patch: Patch) -> None:
    """A branch begins with what the one before it has left in the layers."""
    begin, grow = Branch.__init__, Branch.grow
    left: dict[int, Any] = {}

    def begun(self: Any, prefix: Prefix) -> None:
        begin(self, prefix)
        self._layers = left.setdefault(id(prefix.layers), self._layers)

    def grown(self: Any, *given: Any) -> Any:
        if not len(self.tree):
            for layer in self._layers:
                layer.values = layer.values if layer.own is None else layer.values * 1.01
                layer.own = None
        return grow(self, *given)

    patch.setattr(Branch, "__init__", begun)
    patch.setattr(Branch, "grow", grown)


def leaks_from_neighbours(patch: Patch) -> None:
    """What stands at the beginning of a tree is seen by all of it, unless it stood there in the first tree of all."""
    own = Branch._mask
    begins: list[int] = []

    def mask(self: Any, tree: Any, first: int) -> Any:
        right: Any = own(self, tree, first)
        right = right.clone()
        begins.append(int(tree.ids[0]))
        if begins[-1] != begins[0]:
            right[..., self.prefix.length] = True
        return right

    patch.setattr(Branch, "_mask", mask)


def overwrites(patch: Patch) -> None:
    """A prefix writes into the keys of the one before it."""
    kept: list[Prefix] = []

    def change(made: Prefix) -> Prefix:
        with torch.inference_mode():
            for keys, _ in kept[-1].layers if kept else ():
                keys.zero_()  # type: ignore[union-attr]
        kept.append(made)
        return made

    _changed(patch, change)


def ignores_windows(patch: Patch) -> None:
    """Layers that slide see everything."""
    patch.setattr("facevalue.models.hf.prefix.window_of", lambda _: None)


def looks_ahead(patch: Patch) -> None:
    """Nobody says that the prompt's tokens see each other in both directions."""
    ignores_windows(patch)


def drops_the_picture(patch: Patch) -> None:
    """A prefix without the picture: black."""
    of = Prefix.read_prefixes

    def made(loaded: Loaded, *inputs: Mapping[str, Any]) -> Prefix:
        black = [{k: torch.zeros_like(v) if k == "pixel_values" else v for k, v in each.items()} for each in inputs]
        return of(loaded, *black)

    patch.setattr(Prefix, "read_prefixes", made)


def forgets_replies(patch: Patch) -> None:
    """What grows later no longer has the keys of what grew before."""
    update = _Layer.update

    def forgetful(self: Any, keys: Any, values: Any, *more: Any, **named: Any) -> Any:
        if self.own is not None:
            self.own = tuple(torch.zeros_like(each) for each in self.own)
        return update(self, keys, values, *more, **named)

    patch.setattr(_Layer, "update", forgetful)


FAULTS = [
    ("llava", leaks, "places in the tree"),
    ("llava", ignores_the_mask, "places in the tree"),
    ("llava", sees_the_first_node, "places in the tree"),
    ("llava", shifts_positions, "places in the tree"),
    ("llava", keeps_the_first_prefix, "another prefix"),
    ("llava", keeps_branches, "neighbours"),
    ("llava", leaks_from_neighbours, "neighbours"),
    ("llava", overwrites, "state"),
    ("llava", drops_the_picture, "places in the tree"),
    ("llava", forgets_replies, "places in the tree"),
    ("qwen2_vl", forgets_the_grid, "places in the tree"),
    ("qwen2_vl", remembers_the_first_grid, "another prefix"),
    ("gemma3", ignores_windows, "places in the tree"),
    ("paligemma", looks_ahead, "places in the tree"),
]


def weighed(engine: Engine) -> list[float]:
    found = {n: score for n, score, _ in engine.score(PICTURE, QUESTIONS, Sampling())}
    assert all(isinstance(score, OptionScore) for score in found.values()), found
    return [prob for n in range(len(QUESTIONS)) for prob in found[n].probs]  # type: ignore[union-attr]


@pytest.mark.parametrize(("name", "fault", "check"), FAULTS, ids=[fault.__name__ for _, fault, _ in FAULTS])
def test_a_fault_of_sharing_is_caught_and_answers_are_right(
    load: Load, monkeypatch: Patch, name: str, fault: Callable[[Patch], None], check: str
) -> None:
    right = weighed(planted.untried(Engine(load(name)), shares=False))
    fault(monkeypatch)
    engine = Engine(load(name))
    engine.trials = trial.Trials(engine.loaded, {trial.TREE: engine._share_prefixes})
    assert weighed(engine) == pytest.approx(right, abs=1e-5)
    (verdict,) = engine.trials.verdicts.values()
    assert f"in the check of {check} a probability differs by" in verdict.failed
    (note, *_) = engine.trials.notes
    assert note.startswith("Every question is asked by itself, with the same result but more slowly: sharing was tried")
    list(engine.generate(PICTURE, [Wish(QUESTIONS[0], Sampling(1.0, 1.0, 4), 1)]))
    assert engine.trials.verdicts["1 picture, replies drawn"].failed


def test_what_is_right_is_shared_and_each_kind_of_request_is_tried(load: Load) -> None:
    engine = Engine(load("llava"))
    passes = [0]
    hook = engine.loaded.model.register_forward_hook(lambda *_: passes.append(passes.pop() + 1))
    weighed(engine)
    first = passes[0]
    assert list(engine.trials.verdicts) == ["1 picture, replies weighed"]
    assert engine.trials.notes == ()
    weighed(engine)
    again = passes[0] - first
    assert again < 10 < first - again <= 40, "a trial costs a few dozen passes, once"
    list(engine.score([], QUESTIONS, Sampling()))
    list(engine.score(PICTURE * 2, QUESTIONS, Sampling()))
    list(engine.score(PICTURE, [replace(QUESTIONS[0], system="You are kind.")], Sampling()))
    list(engine.generate(PICTURE, [Wish(QUESTIONS[0], Sampling(1.0, 1.0, 4), 1)]))
    list(engine.score(PICTURE, QUESTIONS, Sampling(), True))
    assert list(engine.trials.verdicts)[1:] == [
        "text alone, replies weighed",
        "2 pictures, replies weighed",
        "1 picture, a system message, replies weighed",
        "1 picture, replies drawn",
        "1 picture, held replies weighed",
    ]
    for verdict in engine.trials.verdicts.values():
        assert not verdict.failed
        assert list(verdict.differences) == [
            "places in the tree",
            "neighbours",
            "another prefix",
            trial._TOGETHER,
            "state",
        ]
        assert max(verdict.differences.values()) <= 1e-5
    hook.remove()


def test_longer_prompts_are_tried_again(load: Load, monkeypatch: Patch) -> None:
    tried: list[int] = []
    own = trial.judge_sharing
    monkeypatch.setattr(trial, "judge_sharing", lambda *given: tried.append(len(given[1].suffixes[0])) or own(*given))  # type: ignore[func-returns-value]
    engine = Engine(load("llava"))
    for times in (1, 2, 2, 4):
        list(engine.score(PICTURE, [Question("Who is warm? " * times, OPTIONS)], Sampling()))
    assert len(tried) == 3
    assert tried == sorted(tried)


def test_the_longest_prompt_is_tried_wherever_it_stands(load: Load, monkeypatch: Patch) -> None:
    def lengths(group: Any) -> list[int]:
        return [len(group.prefix_ids) + len(suffix) for suffix in group.suffixes]

    tried: list[list[int]] = []
    own = trial.judge_sharing
    monkeypatch.setattr(trial, "judge_sharing", lambda *given: tried.append(lengths(given[1])) or own(*given))  # type: ignore[func-returns-value]
    asked = [Question("Who is warm? " * times, OPTIONS) for times in (2, 5, 1)]
    list(Engine(load("llava")).score(PICTURE, asked, Sampling()))
    all_of = lengths(prepare(load("llava"), PICTURE, asked)[0])
    assert {min(all_of), max(all_of)} <= set(tried[0])


def test_a_prompt_that_looks_ahead_is_never_asked_at_once(load: Load) -> None:
    engine = Engine(load("paligemma"))
    weighed(engine)
    assert {known for form, known in engine.loaded.at_once.items() if form[0] != "resumed"} == {False}
    assert engine.check.difference <= 1e-5


def test_what_raises_is_not_shared(load: Load, monkeypatch: Patch) -> None:
    right = weighed(planted.untried(Engine(load("llava")), shares=False))

    def broken(*_: Any) -> Any:
        raise AttributeError("no keys\nat all")

    monkeypatch.setattr(Branch, "grow", broken)
    engine = Engine(load("llava"))
    assert weighed(engine) == pytest.approx(right, abs=1e-5)
    assert engine.trials.verdicts["1 picture, replies weighed"].way == trial.COPIES
    monkeypatch.setattr(ModelState, "extend_rows", broken)
    engine = Engine(load("llava"))
    engine.loaded.at_once.clear()
    assert weighed(engine) == pytest.approx(right, abs=1e-5)
    failed = "sharing was tried, and the model's code is not made for it (no keys)"
    assert engine.trials.verdicts["1 picture, replies weighed"].failed == failed
