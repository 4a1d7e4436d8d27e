"""Words by unit."""

from collections import Counter

import numpy as np
import polars as pl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from facevalue.annotations import counts
from facevalue.annotations import counts as tokens
from facevalue.annotations.counts import Tokeniser, WordCounter
from facevalue.errors import DataError

said = st.lists(st.sampled_from(["a hat", "a tie a hat", "", "b", None, "hat hat"]), max_size=12)


@settings(max_examples=40)
@given(said, said, st.integers(1, 30), st.integers(1, 5))
def test_counts_are_those_of_counting_by_hand(
    first: list[str | None], second: list[str | None], piece: int, compact: int
) -> None:
    counter = WordCounter(3, Tokeniser.WORDS)
    by_hand: list[Counter[str]] = [Counter() for _ in range(3)]
    texts_with: list[Counter[str]] = [Counter() for _ in range(3)]
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(tokens, "PIECE", piece)
        patch.setattr(counts, "_COMPACT", compact)
        for part in (first, second):
            unit = np.arange(len(part)) % 4 - 1  # -1 is left out
            counter.add(pl.DataFrame({"said": part}, schema={"said": pl.String}), "said", unit)
            for text, u in zip(part, unit, strict=True):
                if text and u >= 0:
                    by_hand[u].update(text.split())
                    texts_with[u].update(set(text.split()))
        found = counter.counts()
    for place in range(3):
        row, documents = found.tokens.toarray()[place], found.documents.toarray()[place]
        assert {w: n for w, n in zip(found.words, row.tolist(), strict=True) if n} == dict(by_hand[place])
        assert {w: n for w, n in zip(found.words, documents.tolist(), strict=True) if n} == dict(texts_with[place])
        assert found.sizes[place] == sum(by_hand[place].values())
    assert found.texts.sum() == sum(bool(text) and i % 4 > 0 for part in (first, second) for i, text in enumerate(part))


def test_each_text_needs_a_unit_that_was_declared() -> None:
    counter = WordCounter(2, Tokeniser.WORDS)
    with pytest.raises(DataError, match="2 texts needs one of 2 units"):
        counter.add(pl.DataFrame({"said": ["a", "b"]}), "said", np.array([0, 2]))
    with pytest.raises(DataError, match="2 texts needs one of 2 units"):
        counter.add(pl.DataFrame({"said": ["a", "b"]}), "said", np.array([0]))
