"""Packs: what begins alike is packed together, and paid for once."""

from collections.abc import Sequence
from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from facevalue.types import Option, Question, Sampling
from tests.models.hf import planted, tiny

pytest.importorskip("torch")

from facevalue.models.hf import packing
from facevalue.models.hf.engine import Wish
from facevalue.models.hf.packing import Row, work_in_packs
from facevalue.models.hf.prefix import Branch


class Room:
    """A budget of so many tokens."""

    def __init__(self, tokens: int) -> None:
        self._tokens = tokens

    def tokens(self, prefix: int) -> int:
        return self._tokens


def beginnings(rows: Sequence[Sequence[int]]) -> int:
    """How many nodes a tree of these rows has."""
    return len({tuple(row[:n]) for row in rows for n in range(1, len(row) + 1)})


ROWS = st.lists(st.tuples(st.lists(st.integers(0, 2), max_size=6), st.integers(0, 4)), max_size=20)


@given(ROWS, st.integers(1, 30))
def test_packs_keep_their_order_and_fill_the_room_with_what_a_tree_takes(rows: Any, room: int) -> None:
    rows = [Row(*row) for row in sorted(rows)]
    packs = [pack for pack, _, _ in work_in_packs(range(len(rows)), rows, 0, Room(room), lambda pack: pack)]  # type: ignore[arg-type]
    assert [item for pack in packs for item in pack] == list(range(len(rows)))
    taken = [beginnings([rows[i].tokens for i in pack]) + sum(rows[i].more for i in pack) for pack in packs]
    assert all(size <= room for size, pack in zip(taken, packs, strict=True) if len(pack) > 1)
    for pack, following in pairwise(packs):
        longer = [*pack, following[0]]
        assert beginnings([rows[i].tokens for i in longer]) + sum(rows[i].more for i in longer) > room


OPTIONS = (Option("(a)", "competent", "up"), Option("(b)", "honest", "down"))
QUESTIONS = [
    Question(f"Who is {more} {word}, the left person or the right person?", OPTIONS)
    for word in ("competent", "lazy", "warm", "kind")
    for more in ("more", "less")
]


@pytest.mark.parametrize("exact", [True, False], ids=["scored", "drawn"])
def test_questions_in_any_order_share_their_beginnings_and_keep_their_numbers(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, exact: bool
) -> None:
    engine = planted.engine(tiny.llava(tmp_path))
    calls: list[tuple[int, int]] = []
    grow = Branch.grow

    def counted(self: Branch, ids: Any, parents: Any, read: Any) -> Any:
        calls.append((len(self.tree), len(ids)))
        return grow(self, ids, parents, read)

    monkeypatch.setattr(Branch, "grow", counted)
    room = 120
    monkeypatch.setattr(packing, "_CPU", room)

    def asked(questions: list[Question]) -> list[Any]:
        if exact:
            answers = engine.score([tiny.picture("one")], questions, Sampling(0.3))
        else:
            answers = engine.generate(
                [tiny.picture("one")], [Wish(q, Sampling(0.3, max_tokens=4), 1) for q in questions]
            )
        found = {number: answer for number, answer, _ in answers}
        return [found[number] for number in range(len(questions))]

    asked(QUESTIONS)  # what replies begin with is known from here on
    calls.clear()
    forth, nodes = asked(QUESTIONS), sorted(calls)
    calls.clear()
    back = asked(QUESTIONS[::-1])[::-1]
    assert sorted(calls) == nodes
    assert all(size <= room for old, size in calls if not old)
    assert len([size for old, size in calls if not old]) > 1
    for one, other in zip(forth, back, strict=True):
        if exact:
            assert one.probs == pytest.approx(other.probs, abs=2e-5)
        else:
            assert one.tokens == other.tokens
