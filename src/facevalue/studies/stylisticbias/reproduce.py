"""Reproduction of StylisticBias's printed figures from its own tables and the design. See docs/papers/reproduce.md.

Answers are not released; what can be recomputed are the counts, and tables that summarise Table 12.
"""

from collections.abc import Iterable, Mapping
from functools import cache
from pathlib import Path

import numpy as np
import numpy.typing as npt

from facevalue.measures.shift import steps_to_share
from facevalue.protocol.reproduction import AVERAGE, Cell, Paper, Printed, Reproduction
from facevalue.studies.stylisticbias.tables import attribute_titles, categories, grid, scenarios, whitelist

PAPER = Paper.shipped(__package__)
FACES: Mapping[str, Mapping[str, int]] = PAPER.document["faces"]
"""Numbers of faces of each group, by what they are grouped by (Appendix B.2)."""
ORDERINGS, SEEDS, MODELS = 4, 3, 6
DIMENSIONS = {"Age": "age", "Gender": "gender", "Ethn.": "ethnicity", "Body": "body"}
Array = npt.NDArray[np.float64]


def reproduce(_: Path | None = None) -> Reproduction:
    """Recompute what follows from the paper's own tables and from the design."""
    return PAPER.reproduce({
        "faces": lambda cell: sum(FACES[cell.column].values()),
        "count": lambda cell: _counts()[cell.row],
        "judgments": _judgments,
        "scenarios": lambda cell: sum(cell.row in ("scenarios", categories()[s.category]) for s in scenarios()),
        "category": lambda cell: _category(cell.row, DIMENSIONS[cell.column]),
        "shift": lambda cell: _shift(cell.row, cell.column),
        "old_above_young": lambda cell: _shift(cell.row, "elderly") - _shift(cell.row, "young"),
        "tattoo": lambda cell: _shift("Facial tattoo", cell.row),
        "obese_above_thin": _obese_above_thin,
        "turned": _check_sign_changes,
        "concentration": lambda cell: _concentration(cell.column.rpartition(" ")[2]),
        "variations": lambda cell: sum(v.attribute == PAPER.document["attributes"][cell.row] for v in whitelist(None)),
        "gap": lambda _: float(np.ptp(np.array([_pool_groups(factor) for factor in FACES]), axis=0).max()),
    })  # fmt: skip


@cache
def _counts() -> Mapping[str, int | str]:
    variations = {gender: len(whitelist(gender)) for gender in FACES["gender"]}
    images = sum(faces * variations[gender] for gender, faces in FACES["gender"].items())
    in_grid = sum(faces * sum(gender in v.fate for v in grid()) for gender, faces in FACES["gender"].items())
    groups = sum(len(groups) for factor, groups in FACES.items() if factor != "gender")
    return {
        "configurations": int(np.prod([len(groups) for groups in FACES.values()])),
        "values of the grid": len(grid()),
        "values kept": len(whitelist(None)),
        "categories": len(attribute_titles()),
        "images judged": images,
        "images of the whole grid": f"{in_grid / 1000:.0f}K",
        "reduction of the grid": f"almost {np.ceil(10 * (1 - images / 25_000)) * 10:.0f}%",
        "prompts per image": ORDERINGS * SEEDS * len(scenarios()),
        "cells tested": sum(variations.values()) + len(whitelist(None)) * groups,
        "cells printed": sum(len(row) for row in _table_12().values()),
    }


def _judgments(cell: Printed) -> float:
    images = 25_000 if "25,000" in cell.row else int(_counts()["images judged"])
    return images * int(_counts()["prompts per image"]) * (MODELS if cell.column == "all models" else 1) / 1e6


@cache
def _table_12() -> Mapping[str, Mapping[str, float]]:
    """Shifts by variation, such as "Skin/Acne", and group; cells that are printed grey are missing."""
    table = PAPER.table("12").items()
    return {row: {group: float(value) for group, value in cells.items()} for row, cells in table if "/" in row}


def _shifts(groups: Iterable[str], of: Iterable[str] | None = None) -> Array:
    """Table 12's values for some groups and categories, shape (rows, groups); NaN for grey cells."""
    rows = [row for name, row in _table_12().items() if of is None or name.partition("/")[0] in of]
    return np.array([[row.get(group, np.nan) for group in groups] for row in rows])


def _shift(variation: str, group: str) -> float:
    (row,) = (row for name, row in _table_12().items() if name.partition("/")[2] == variation)
    return row[group.lower()]


def _category(row: str, factor: str) -> float:
    in_table_12 = PAPER.document["categories"]
    if row == AVERAGE:
        return float(np.mean([_category(name, factor) for name in in_table_12]))
    return float(np.nanmean(_shifts(FACES[factor], in_table_12[row])))


def _obese_above_thin(cell: Printed) -> float:
    formal = [name for name in PAPER.table("4") if name in PAPER.table("6")]
    above = [100 * (_shift(name, "obese") / _shift(name, "thin") - 1) for name in formal]
    return min(above) if cell.column == "least" else max(above)


def _check_sign_changes(cell: Printed) -> Cell:
    """Variations whose shift is positive in one group and negative in another, by age, gender and body type at once."""
    values = [_shifts(FACES[factor]) for factor in ("age", "gender", "body")]
    turns = np.all([(shifts.min(axis=1) < 0) & (shifts.max(axis=1) > 0) for shifts in values], axis=0)
    return cell.word(tuple(np.array([name.partition("/")[2] for name in _table_12()])[turns].tolist()))


def _pool_groups(factor: str) -> Array:
    """Means of variations over all 500 faces, from a dimension's groups and their sizes."""
    shifts, sizes = _shifts(FACES[factor]), np.array(list(FACES[factor].values()), dtype=np.float64)
    return np.asarray(np.nansum(shifts * sizes, axis=1) / np.where(np.isnan(shifts), 0, sizes).sum(axis=1))


def _concentration(factor: str) -> int:
    pooled = _pool_groups(factor)
    return int(steps_to_share(pooled, np.ones(len(pooled))).item())
