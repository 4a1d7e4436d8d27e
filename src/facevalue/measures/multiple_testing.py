"""Families of tests: what was declared before the run, and what was found while looking.

A *confirmatory* family was declared before the answers were seen, in the study or in a pre-registration file, and is
judged strictly (Holm: the chance of any false finding is at most alpha). An *exploratory* family holds what was looked
at besides, and is judged by its share of false findings (Benjamini-Hochberg, or Benjamini-Yekutieli, which holds under
any dependence). A test belongs to one family only.
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field

import numpy as np
import polars as pl

from facevalue.errors import DataError, FaceValueError, UnknownNameError
from facevalue.measures.adjustment import METHODS, within
from facevalue.measures.cluster_bootstrap import Array
from facevalue.measures.estimates import condition, label_columns
from facevalue.measures.selection import to_array

KINDS = ("confirmatory", "exploratory")
ANY = "*"
"""In a selector: any level, but not the rows over all levels."""
ALPHA = 0.05
MOST_ALPHA = 0.2
"""Largest level: a finding that chance gives more often than once in five confirms nothing."""


@dataclass(frozen=True, slots=True)
class Family:
    """Tests that are judged together."""

    name: str
    """As in the `family` column."""
    kind: str
    """"confirmatory" (declared before the answers were seen) or "exploratory"."""
    measure: str
    """Whose estimates."""
    where: Mapping[str, tuple[str, ...] | None] = field(default_factory=dict)
    """Which of them, by label (or `model`, or `study`): the levels that belong to it, `("*",)` for any single level,
    None for the rows over all levels. Labels not named are not restricted, but for `versus`: differences belong to it
    where it is named. Unless `intervention` is named, a model
    under one is a level of `model` of its own, called as `estimates.condition` has it."""
    method: str = "holm"
    alpha: float = ALPHA

    def __post_init__(self) -> None:
        if not self.name:
            raise DataError("A family of tests needs a name.")
        if self.kind not in KINDS:
            raise UnknownNameError("kind of family", self.kind, KINDS)
        if self.method not in METHODS:
            raise UnknownNameError("method", self.method, METHODS)
        check_alpha(self.alpha, f"family {self.name!r}: ")
        for column, levels in self.where.items():
            if levels is not None and not levels:
                raise DataError(f"Family {self.name!r} names no level of {column!r}; None means the rows over all.")

    def selects(self) -> pl.Expr:
        """Which rows of the estimates belong to it."""
        out = pl.col("measure") == self.measure
        for column, levels in {"versus": None, **self.where}.items():
            if levels is None:
                out &= pl.col(column).is_null()
            elif ANY in levels:
                out &= pl.col(column).is_not_null()
            else:
                out &= self.level(column).is_in(list(levels)).fill_null(value=False)
        return out

    def level(self, column: str) -> pl.Expr:
        """The level of a label, as `where` names it."""
        return condition() if column == "model" and "intervention" not in self.where else pl.col(column)


def apply(families: Sequence[Family], estimates: pl.DataFrame) -> pl.DataFrame:
    """Judge the tests of a table of estimates by family.

    Returns the same rows in the same order, with `q` (p adjusted within the family), `family` and `kind` of the rows
    that belong to a family. Other rows keep their own q and family; their `kind` is null. `p` stays as it was.

    Parameters
    ----------
    families:
        No two of a kind may share a row. Exploratory families hold only what no confirmatory one does, since a test
        that was declared is judged once, by what was declared.
    estimates:
        With the columns `measure`, `p` and the labels; `p` is null where no test was possible: not counted, and no q.

    Raises
    ------
    UnknownNameError
        For a measure, a column or a level that the estimates do not have.
    DataError
        For a family without rows, two families of one name, or two of a kind that share rows.

    Examples
    --------
    >>> labels = {"measure": "sbs", "versus": None, "attribute": ["hair", "hat", "pose"]}
    >>> frame = pl.DataFrame(labels | {"p": [0.01, 0.04, 0.5]})
    >>> hair = Family("hair and hat", "confirmatory", "sbs", {"attribute": ("hair", "hat")})
    >>> apply([hair], frame).select("attribute", "q", "family").rows()
    [('hair', 0.02, 'hair and hat'), ('hat', 0.04, 'hair and hat'), ('pose', None, None)]
    """
    owner = np.full(estimates.height, -1)
    check_distinct(families)
    for i, family in sorted(enumerate(families), key=lambda item: KINDS.index(item[1].kind)):
        _check_names(family, estimates)
        rows = estimates.select(family.selects().alias("in"))["in"].to_numpy()
        if not rows.any():
            raise DataError(f"Family {family.name!r} selects no estimate of {family.measure!r}: {_described(family)}.")
        rival = next(
            (families[j] for j in np.unique(owner[rows & (owner >= 0)]) if families[j].kind == family.kind), None
        )
        if rival is not None:
            raise DataError(
                f"Families {rival.name!r} and {family.name!r} share tests. A test belongs to one {family.kind} family; "
                "narrow one of them."
            )
        owner[rows & (owner < 0)] = i
    return _with_families(
        estimates, families, owner, within(to_array(estimates["p"]), owner, [family.method for family in families])
    )


def selectable(labels: Iterable[str]) -> list[str]:
    """Columns of the estimates that a family may name, from their labels."""
    return ["study", "model", *labels]


def check_alpha(alpha: float, place: str = "") -> None:
    """Refuse a level at which nothing would be shown."""
    if not 0 < alpha <= MOST_ALPHA:
        raise DataError(f"{place}alpha is {alpha:g}, and must lie above 0 and not above {MOST_ALPHA:g}.")


def check_distinct(families: Sequence[Family]) -> None:
    """Refuse two families of one name."""
    names = [family.name for family in families]
    twice = sorted({name for name in names if names.count(name) > 1})
    if twice:
        raise DataError(f"Two families have the name {twice[0]!r}; give each its own.")


def _check_names(family: Family, estimates: pl.DataFrame) -> None:
    """Say of the first name that the estimates do not have which ones they do have."""
    measures = estimates["measure"].unique().drop_nulls().to_list()
    try:
        if family.measure not in measures:
            raise UnknownNameError("measure", family.measure, measures)
        for column, levels in family.where.items():
            if column not in selectable(label_columns(estimates)):
                raise UnknownNameError("label", column, selectable(label_columns(estimates)))
            present = estimates.select(family.level(column)).to_series().unique().drop_nulls().to_list()
            for level in levels or ():
                if level != ANY and level not in present:
                    raise UnknownNameError(column, level, present)
    except UnknownNameError as error:
        raise located(error, f"family {family.name!r}") from None


def _described(family: Family) -> str:
    conditions = [
        f"{column} {'over all' if levels is None else 'in ' + ', '.join(levels)}"
        for column, levels in family.where.items()
    ]
    return "no row has " + " and ".join(conditions) if conditions else "it has none"


def _with_families(estimates: pl.DataFrame, families: Sequence[Family], owner: Array, adjusted: Array) -> pl.DataFrame:
    belongs = pl.Series("belongs", owner >= 0)
    ours: dict[str, pl.Series] = {
        "q": pl.Series("q", adjusted).fill_nan(None),
        "family": _spelled([family.name for family in families], owner),
        "kind": _spelled([family.kind for family in families], owner),
    }
    nothing = {"q": pl.lit(None, pl.Float64), "family": pl.lit(None, pl.String), "kind": pl.lit(None, pl.String)}
    before = {name: pl.col(name) if name in estimates.columns else nothing[name] for name in nothing}
    return estimates.with_columns(
        pl.when(belongs).then(ours[name]).otherwise(before[name]).alias(name) for name in nothing
    )


def _spelled(names: Sequence[str], owner: Array) -> pl.Series:
    lookup = np.array([*names, None], dtype=object)
    return pl.Series(lookup[owner].tolist(), dtype=pl.String)


def located(error: FaceValueError, place: str) -> FaceValueError:
    """The same error, with the place in front."""
    error.args = (f"{place}: {error}",)
    return error
