"""Clusters: what was sampled. The one place that decides which observations belong together.

Answers about one unit are not independent. Every interval, noise floor and test goes over units, and each measure names
its own (`Measure.cluster`); from that name, and from nothing else, follows the cluster of an observation.
"""

from collections import Counter
from collections.abc import Sequence

import numpy as np
import numpy.typing as npt
import polars as pl

from facevalue.errors import UnknownNameError
from facevalue.measures.base import Measure

UNITS: dict[str, tuple[str, ...]] = {
    "identity": ("identity",),
    "counterfactual set": ("set",),
    "picture pair": ("image_1", "image_2"),
    "image": ("image",),
    "template": ("template",),
}
"""Units that studies sample, and the columns that tell them apart. A pair is one whichever side its pictures are on."""

NOUNS = {"identity": "people", "counterfactual set": "sets", "image": "pictures", "template": "templates"}
"""What units are called, in the plural."""


def clusters(frame: pl.DataFrame, unit: str) -> tuple[npt.NDArray[np.int64], list[str]]:
    """Number the clusters of a frame's rows.

    `frame`: observations with the unit's columns, none of them null.
    Returns the cluster of each row, numbered in order of first appearance, and the clusters' names.

    Raises
    ------
    UnknownNameError
        No such unit, or the frame lacks its columns.

    Examples
    --------
    >>> clusters(pl.DataFrame({"identity": ["b", "a", "b"]}), "identity")
    (array([0, 1, 0]), ['b', 'a'])
    >>> clusters(pl.DataFrame({"image_1": ["x", "y"], "image_2": ["y", "x"]}), "picture pair")[0].tolist()
    [0, 0]
    """
    if unit not in UNITS:
        raise UnknownNameError("unit", unit, UNITS)
    columns = UNITS[unit]
    for name in columns:
        if name not in frame.columns:
            raise UnknownNameError(f"column of the unit {unit!r}", name, frame.columns)
    columns_as_text = [pl.col(name).cast(pl.String) for name in columns]
    key = (
        columns_as_text[0]
        if len(columns_as_text) == 1
        else pl.concat_list(columns_as_text).list.sort().list.join(" + ")
    )
    cluster = frame.select(key.alias("cluster"))["cluster"]
    names = cluster.unique(maintain_order=True).to_list()
    codes = cluster.cast(pl.Enum(names)).to_physical().cast(pl.Int64).to_numpy()
    return codes, names


def unit_of(measures: Sequence[Measure]) -> str:
    """The unit that a study samples: that of most of its measures; "stimulus" where it has none."""
    return Counter(measure.cluster for measure in measures).most_common(1)[0][0] if measures else "stimulus"
