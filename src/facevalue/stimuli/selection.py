"""Manifests narrowed to the levels that were chosen, and what occurs in them."""

from collections.abc import Mapping, Sequence

import polars as pl

from facevalue.errors import UnknownNameError


def levels(frame: pl.DataFrame, column: str) -> list[str]:
    """Levels of a column and, of pairs, of the same column on either side, in the order in which they come.

    >>> levels(pl.DataFrame({"identity_1": ["old", "sick"], "identity_2": ["young", "old"]}), "identity")
    ['old', 'sick', 'young']
    """
    names = [name for name in _sides(column) if name in frame.columns]
    return list(
        dict.fromkeys(level for name in names for level in frame[name].drop_nulls().unique(maintain_order=True))
    )


def narrowed(
    frame: pl.DataFrame, chosen: Mapping[str, Sequence[str]], *, always: pl.Expr | None = None
) -> pl.DataFrame:
    """The rows with these levels, where any are chosen; of pairs those of which both sides have them.

    `always`: rows that stay in any case, and whose levels cannot be chosen; then a level that no other row has is an
    `UnknownNameError`.

    >>> pairs = pl.DataFrame({"identity_1": ["old", "sick"], "identity_2": ["young", "old"]})
    >>> narrowed(pairs, {"identity": ["old", "young"], "activity": []}).rows()
    [('old', 'young')]
    """
    for column, values in chosen.items():
        if always is not None:
            levels_there = frame.filter(~always)[column].unique().to_list()
            for value in values:
                if value not in levels_there:
                    raise UnknownNameError(column, value, levels_there)
        for name in _sides(column):
            if values and name in frame.columns:
                stays = pl.col(name).is_null() if always is None else always
                frame = frame.filter(stays | pl.col(name).is_in(values))
    return frame


def _sides(column: str) -> tuple[str, str, str]:
    return column, f"{column}_1", f"{column}_2"
