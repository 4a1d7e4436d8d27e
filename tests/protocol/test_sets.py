"""Sets of stimuli as arrays."""

import numpy as np
import polars as pl
from hypothesis import given
from hypothesis import strategies as st

from facevalue.statistics.sets import Sets

LEVEL = st.sampled_from(["a", "b", "c", None])


@given(st.lists(st.tuples(LEVEL, LEVEL), min_size=1, max_size=12), st.data())
def test_cells_come_in_the_order_in_which_rows_show_them_and_null_is_in_none(
    levels: list[tuple[str | None, str | None]], data: st.DataObject
) -> None:
    table = pl.DataFrame(levels, schema={"cue": pl.String, "age": pl.String}, orient="row")
    sets = Sets(table.with_columns(identity=pl.lit("1")), "identity")
    for _ in range(2):  # the second time from the same partition of all
        rows = data.draw(st.lists(st.integers(0, len(levels) - 1), max_size=12))
        slicing = sets.slicing(np.array(rows, dtype=np.int64), "cue", "age")
        cells = list(dict.fromkeys(levels[row] for row in rows if None not in levels[row]))
        assert list(zip(slicing.labels["cue"], slicing.labels["age"], strict=True)) == cells
        assert slicing.codes.tolist() == [cells.index(levels[r]) if levels[r] in cells else -1 for r in rows]
