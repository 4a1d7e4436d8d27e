"""Units that were sampled, cells of what they were asked, and whose missing answers count.

Clusters: what was sampled. The one place that decides which observations belong together.

Answers about one unit are not independent. Every interval, noise floor and test goes over units, and each measure names
its own (`Measure.cluster`); from that name, and from nothing else, follows the cluster of an observation.
"""

from collections import Counter
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
import polars as pl

from facevalue.errors import UnknownNameError
from facevalue.measures.definitions import Measure

UNIT_KEYS: dict[str, tuple[str, ...]] = {
    "identity": ("identity",),
    "counterfactual set": ("set",),
    "picture pair": ("image_1", "image_2"),
    "image": ("image",),
    "template": ("template",),
}
"""Units that studies sample, and the columns that tell them apart. A pair is one whichever side its pictures are on."""


def number_clusters(frame: pl.DataFrame, unit: str) -> tuple[npt.NDArray[np.int64], list[str]]:
    """Number the clusters of a frame's rows.

    `frame`: observations with the unit's columns, none of them null.
    Returns the cluster of each row, numbered in order of first appearance, and the clusters' names.

    Raises
    ------
    UnknownNameError
        No such unit, or the frame lacks its columns.

    Examples
    --------
    >>> number_clusters(pl.DataFrame({"identity": ["b", "a", "b"]}), "identity")
    (array([0, 1, 0]), ['b', 'a'])
    >>> number_clusters(pl.DataFrame({"image_1": ["x", "y"], "image_2": ["y", "x"]}), "picture pair")[0].tolist()
    [0, 0]
    """
    if unit not in UNIT_KEYS:
        raise UnknownNameError("unit", unit, UNIT_KEYS)
    columns = UNIT_KEYS[unit]
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


Codes = npt.NDArray[np.int64]
SliceLabels = Mapping[str, Sequence[str | None]]


@dataclass(frozen=True)
class Slicing:
    """A partition of items along one side (stimuli or scenarios) into labelled cells."""

    codes: Codes
    """Cell of each item; -1 for none."""
    labels: SliceLabels
    """Factor columns of the cells."""

    def __len__(self) -> int:
        """Number of cells."""
        return len(next(iter(self.labels.values()))) if self.labels else 1

    def __mul__(self, other: "Slicing") -> "Slicing":
        """Cross two partitions of the same items."""
        codes = np.where((self.codes >= 0) & (other.codes >= 0), self.codes * len(other) + other.codes, -1)
        return Slicing(codes, self.crossed(other))

    def crossed(self, other: "Slicing") -> dict[str, list[str | None]]:
        """Labels of the cells of this crossed with those of another, this one outermost."""
        left = {k: [v for v in vs for _ in range(len(other))] for k, vs in self.labels.items()}
        return left | {k: list(vs) * len(self) for k, vs in other.labels.items()}

    def present(self) -> "Slicing":
        """The same without the cells that hold nothing."""
        codes = np.unique(self.codes[self.codes >= 0])
        places = np.full(len(self) + 1, -1, dtype=np.int64)  # the last is that of no cell
        places[codes] = np.arange(codes.size)
        return Slicing(places[self.codes], {name: [levels[i] for i in codes] for name, levels in self.labels.items()})

    @classmethod
    def whole(cls, items: int) -> "Slicing":
        """One cell that holds everything."""
        return cls(np.zeros(items, dtype=np.int64), {})


@dataclass(frozen=True, slots=True)
class Person:
    """Someone who is shown, as columns of a study's answers; of several columns the first that has a level counts."""

    group: tuple[str, ...]
    unit: tuple[str, ...]
    """Columns of the unit that was sampled."""


@dataclass(frozen=True, slots=True)
class Grouped:
    """Groups whose missing answers are compared.

    Attributes
    ----------
    dimension:
        What the groups differ in, or, with `named`, the column that says it.
    people:
        Everyone in one picture: all of them count.
    within:
        Columns whose levels units do not share, as two people of one number but of two genders.

    Examples
    --------
    >>> Grouped.from_column("gender", "identity").people
    (Person(group=('gender',), unit=('identity',)),)
    """

    dimension: str
    people: tuple[Person, ...]
    named: bool = False
    within: tuple[str, ...] = ()

    @classmethod
    def from_column(cls, column: str, *unit: str) -> "Grouped":
        """Groups that are the levels of a column."""
        return cls(column, (Person((column,), unit),))

    @classmethod
    def of_pairs(cls, column: str, *unit: str) -> "Grouped":
        """Groups of the two people of a pair, whose columns end with _1 and _2."""
        sides = (Person((f"{column}_{k}",), tuple(f"{name}_{k}" for name in unit)) for k in (1, 2))
        return cls(column, tuple(sides))

    def columns(self, columns: Collection[str]) -> Iterator[tuple[pl.Expr, pl.Expr, pl.Expr]]:
        """Dimension, group and unit of each person, as far as a frame with these columns has any."""
        for person in self.people:
            group, unit = (_first(names, columns) for names in (person.group, person.unit))
            if group is not None and (not self.named or self.dimension in columns):
                apart = [pl.col(name).cast(pl.String).fill_null("") for name in self.within if name in columns]
                unit_name = pl.lit("") if unit is None else unit.fill_null("")
                yield (
                    pl.col(self.dimension).cast(pl.String) if self.named else pl.lit(self.dimension),
                    group, pl.concat_str([unit_name, *apart], separator="\x1f"),
                )  # fmt: skip


@dataclass(frozen=True, slots=True)
class MissingBy:
    """By what a study's missing answers are compared.

    Attributes
    ----------
    groups:
        Groups of people or pictures.
    prompt:
        Columns that say what was asked, together; none where all is one question.
    """

    groups: tuple[Grouped, ...] = ()
    prompt: tuple[str, ...] = ()

    def question_name(self, columns: Collection[str]) -> pl.Expr:
        """Name of the question, as an expression over a frame with these columns; null where it has no name."""
        names = [pl.col(name).cast(pl.String) for name in self.prompt if name in columns]
        if not names:
            return pl.lit(None, pl.String)
        group_name = pl.concat_str(names, separator=", ", ignore_nulls=True)
        return pl.when(group_name != "").then(group_name)


MISSING_SHARE = Measure(
    "missing_share", "Share of questions without a valid answer",
    "Σ missing / Σ asked; missing is 1 - mass, and 1 for each refusal and each request that failed; for the reason "
    "'refused' refusals alone, for 'error' requests that failed",
    "share", "unit sampled", "FaceValue", limits=(0.0, 1.0),
)  # fmt: skip
MISSING_GAP = Measure(
    "missing_gap", "Share of questions without a valid answer, from that of all other groups",
    "Σ_b w_b (m_gb - m_ob) / Σ_b w_b, w_b = A_gb A_ob / (A_gb + A_ob): the share missing of a group's answers less "
    "that of all other groups, on the same prompt, within the same units where these are in several groups",
    "share", "unit sampled", "FaceValue; weights of Mantel and Haenszel 1959", comparison=True, limits=(-1.0, 1.0),
)  # fmt: skip
MISSING_MEASURES = (MISSING_SHARE, MISSING_GAP)
PUBLISHED_RATES = ("na_rate", "refusal_rate")
"""Keys under which studies have the rates of their protocols, each by its own definition and in its own unit."""
MISSING_FAMILY = "missing answers"
MISSING_LABELS = ("dimension", "group", "prompt", "reason")
"""Labels of estimates: the factor of the groups, the group, the prompt, and the reason why there is no answer."""


def _first(names: tuple[str, ...], frame_columns: Collection[str]) -> pl.Expr | None:
    columns = [pl.col(name).cast(pl.String) for name in names if name in frame_columns]
    return pl.coalesce(columns) if columns else None
