"""Samples for review: as many of each kind, the same ones again, whatever the chunks in which rows come."""

import numpy as np
import polars as pl

from facevalue.runs.reviews.replies import MOST_STRATA, REST, STRATUM, StratifiedSample


def rows_of(kinds: dict[str, int]) -> pl.DataFrame:
    names = [name for name, count in kinds.items() for _ in range(count)]
    return pl.DataFrame({STRATUM: names, "number": range(len(names))})


def drawn(rows: pl.DataFrame, size: int, seed: int = 1, chunk: int = 10**6) -> tuple[pl.DataFrame, dict[str, int]]:
    sample = StratifiedSample(size, seed)
    for start in range(0, rows.height, chunk):
        piece = rows[start : start + chunk]
        sample.add(piece, piece["number"].to_numpy())
    table, sizes = sample.draw_rows()
    return table, dict(sizes)


def test_rare_kinds_are_whole_and_frequent_ones_share_the_rest() -> None:
    table, sizes = drawn(rows_of({"yes": 900, "no": 90, "refused": 4}), 40)
    assert sizes == {"yes": 900, "no": 90, "refused": 4}
    assert dict(table[STRATUM].value_counts().iter_rows()) == {"refused": 4, "no": 18, "yes": 18}


def test_chunks_change_nothing_and_seeds_do() -> None:
    rows = rows_of({"yes": 300, "no": 60})
    whole = drawn(rows, 30)[0]
    assert drawn(rows, 30, chunk=7)[0].sort("number").equals(whole.sort("number"))
    assert not drawn(rows, 30, seed=2)[0].sort("number").equals(whole.sort("number"))


def test_every_row_of_a_kind_is_drawn_as_often_as_any_other() -> None:
    rows = rows_of({"yes": 50, "no": 5})
    counts = np.zeros(55)
    for seed in range(400):
        counts[drawn(rows, 10, seed)[0]["number"].to_numpy()] += 1
    assert (counts[50:] == 400).all()
    assert 20 <= counts[:50].min() <= counts[:50].max() <= 62  # 40 each


def test_the_rarest_of_many_kinds_are_one() -> None:
    kinds = {f"kind {number}": 100 - number for number in range(MOST_STRATA)} | {
        f"rare {number}": 1 for number in range(9)
    }
    table, sizes = drawn(rows_of(kinds), 100)
    assert sizes[REST] == 9
    assert len(sizes) == MOST_STRATA + 1
    assert table.filter(pl.col(STRATUM) == REST).height == 4
