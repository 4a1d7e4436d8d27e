"""Base pictures: each unit has one that its others are compared with."""

import polars as pl

from facevalue.errors import DataError
from facevalue.stimuli.faults import Faults


def check_bases(table: pl.DataFrame, column: str, is_base: pl.Expr, place: str, faults: Faults | None = None) -> None:
    """Refuse units with several bases, variations without any, and a table of bases alone."""
    faults = faults or Faults()
    base = table.select(is_base.fill_null(value=False)).to_series()
    units = table[column]
    bases = units.filter(base)
    twice = bases.filter(bases.is_duplicated()).unique()
    faults.where(f"the {column} has more than one base picture", base & units.is_in(twice.implode()), units)
    faults.where(f"the {column} has no base picture", ~base & ~units.is_in(bases.implode()), units)
    faults.check(place)
    if base.all():
        raise DataError(f"{place}: there are base pictures only, no variation: nothing is compared with them.")
