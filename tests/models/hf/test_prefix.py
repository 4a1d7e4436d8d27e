"""Branches over a shared prefix: what is kept, what is shared, and each silent mistake seen when it is made."""

from collections.abc import Callable
from dataclasses import replace
from itertools import pairwise
from typing import Any

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from facevalue.models.hf.calls import Rejected
from facevalue.models.hf.chat import Group, prepare
from facevalue.models.hf.loading import Loaded
from facevalue.models.hf.prefix import Branch, Prefix, Tree
from facevalue.models.hf.reference_pass import plain_logits
from facevalue.types import Question
from tests.models.hf import tiny

torch: Any = tiny.torch

QUESTIONS = [Question(prompt=f"Who is {word}?") for word in ("competent", "warm", "more honest than the other")]
Load = Callable[..., Loaded]
FAMILIES = ("llava", "qwen2_5_vl", "idefics3")


@pytest.fixture(scope="module")
def load(tmp_path_factory: pytest.TempPathFactory) -> Load:
    """Builds and loads a family's tiny model once."""
    return tiny.loader(tmp_path_factory)


def run(loaded: Loaded) -> tuple[Prefix, Group]:
    """The prefix of the questions about one picture."""
    (group,) = prepare(loaded, [tiny.picture("one", (60, 40))], QUESTIONS)
    assert group.inputs is not None
    return Prefix.read_prefixes(loaded, group.inputs), group


def error(loaded: Loaded, group: Group, logits: Any) -> float:
    """Largest difference of a log-probability from plain forward passes."""
    want = torch.cat([plain_logits(loaded, group.full(number), [], [0]) for number in group.members])
    return float((logits.log_softmax(-1) - want.log_softmax(-1)).abs().max())


@pytest.mark.parametrize("name", FAMILIES)
def test_packed_is_plain(load: Load, name: str) -> None:
    prefix, group = run(load(name))
    logits = Branch(prefix).grow(*tiny.packed(group.suffixes))
    assert (logits.shape[0], logits.dtype) == (3, torch.float32)
    assert error(load(name), group, logits) <= 1e-4


def in_a_row(tree: Tree) -> Tree:
    """The mistake of positions that go on from one suffix to the next."""
    return replace(tree, depths=np.arange(len(tree)))


def all_before(tree: Tree) -> Tree:
    """The mistake of suffixes that see those before them, as in an ordinary sequence."""
    return replace(tree, parents=np.arange(len(tree)) - 1)


@pytest.mark.parametrize("mistake", [in_a_row, all_before])
@pytest.mark.parametrize("name", FAMILIES)
def test_mistakes_show(load: Load, name: str, mistake: Callable[[Tree], Tree], monkeypatch: pytest.MonkeyPatch) -> None:
    prefix, group = run(load(name))
    extended = Tree.add_nodes
    monkeypatch.setattr(Tree, "add_nodes", lambda *given: mistake(extended(*given)))
    assert error(load(name), group, Branch(prefix).grow(*tiny.packed(group.suffixes))) > 0.01


@pytest.mark.parametrize("name", FAMILIES)
def test_masks_of_numbers_would_be_wrong(load: Load, name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    prefix, group = run(load(name))
    mask = Branch._mask
    kinds = []

    def numbers(*given: Any) -> Any:
        seen: Any = mask(*given)
        kinds.append(seen.dtype)
        return seen.float()

    monkeypatch.setattr(Branch, "_mask", numbers)
    assert error(load(name), group, Branch(prefix).grow(*tiny.packed(group.suffixes))) > 0.01
    assert kinds == [torch.bool]


def test_branches_share_the_prefix_and_nothing_else(load: Load) -> None:
    prefix, group = run(load("llava"))
    layers: Any = prefix.layers
    before = [(keys.clone(), values.clone()) for keys, values in layers]
    first, second = Branch(prefix), Branch(prefix)
    for one, other, (keys, _) in zip(first._layers, second._layers, layers, strict=True):
        assert one.keys is other.keys is keys, "no copy"
    ids, parents, ends = tiny.packed(group.suffixes)
    once = first.grow(ids, parents, ends)
    first.grow([7], [ends[0]], [0])
    assert torch.equal(second.grow(ids, parents, ends), once)
    assert torch.equal(Branch(prefix).grow(ids, parents, ends), once)
    for (keys, values), (old_keys, old_values) in zip(layers, before, strict=True):
        assert torch.equal(keys, old_keys)
        assert torch.equal(values, old_values)


@pytest.mark.parametrize(
    ("error", "raised"),
    [(torch.OutOfMemoryError("CUDA out of memory"), torch.OutOfMemoryError), (ValueError("of its own"), Rejected)],
)
def test_a_branch_is_as_before_after_an_error(
    load: Load, monkeypatch: pytest.MonkeyPatch, error: Exception, raised: type[Exception]
) -> None:
    loaded = load("llava")
    prefix, group = run(loaded)
    ids, parents, _ = tiny.packed(group.suffixes)
    branch = Branch(prefix)
    want = Branch(prefix)
    for each in (branch, want):
        each.grow(ids[:4], parents[:4], [])

    def fail(*_: object) -> None:
        raise error

    with monkeypatch.context() as patch:  # after the layers have taken the nodes
        patch.setattr(loaded.model.lm_head, "forward", fail)
        with pytest.raises(raised):
            branch.grow(ids[4:], parents[4:], [0])
    assert torch.equal(branch.grow(ids[4:], parents[4:], [3]), want.grow(ids[4:], parents[4:], [3]))


def test_what_is_no_tree_is_refused(load: Load) -> None:
    prefix, _ = run(load("llava"))
    branch = Branch(prefix)
    for ids, parents, read in (
        ([], [], []),
        ([5], [], []),
        ([5], [0], []),
        ([5, 6], [1, -1], []),
        ([5], [-2], []),
        ([5], [-1], [1]),
        ([5], [-1], [-1]),
    ):
        with pytest.raises(ValueError, match=r"node|parent"):
            branch.grow(ids, parents, read)
    assert branch.grow([5], [-1], [0]).shape[0] == 1


@settings(max_examples=25, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(data=st.data())
def test_any_tree_in_any_pieces_is_its_paths(load: Load, data: st.DataObject) -> None:
    loaded = load("qwen2_5_vl")
    prefix, group = run(loaded)
    size = data.draw(st.integers(1, 12))
    ids = data.draw(st.lists(st.integers(20, 300), min_size=size, max_size=size))
    parents = [data.draw(st.integers(-1, node - 1)) for node in range(size)]
    cuts = sorted({0, size, *data.draw(st.lists(st.integers(0, size), max_size=3))})
    branch = Branch(prefix)
    rows = torch.cat(
        [branch.grow(ids[start:end], parents[start:end], range(end - start)) for start, end in pairwise(cuts)]
    )
    node = data.draw(st.integers(0, size - 1))
    path: list[int] = []
    above = node
    while above >= 0:
        path.insert(0, ids[above])
        above = parents[above]
    start = {**group.inputs}  # type: ignore[dict-item]
    want = plain_logits(loaded, start, path, [len(path)])[0].log_softmax(-1)
    assert float((rows[node].log_softmax(-1) - want).abs().max()) <= 1e-4
