"""Families of tests, and their declaration before the run.

Families of tests: what was declared before the run, and what was found while looking.

A *confirmatory* family was declared before the answers were seen, in the study or in a pre-registration file, and is
judged strictly (Holm: the chance of any false finding is at most alpha). An *exploratory* family holds what was looked
at besides, and is judged by its share of false findings (Benjamini-Hochberg, or Benjamini-Yekutieli, which holds under
any dependence). A test belongs to one family only.

Pre-registration: families of tests, margins and level declared before the run.

Pre-registration is a TOML file. The run keeps its SHA-256 hash, so that anybody can check that it was not changed
afterwards::

    alpha = 0.05                 # level of the whole page, and of every family that names none; .05 if left out

    [margin]                     # largest difference that would not matter, by measure, in its unit
    shift = 0.02                 # of one of several scores: "shift.warmth" = 2

    [[family]]                   # one table per family of tests
    name = "tattoos and fashion"
    measure = "shift"
    method = "holm"              # "holm" (default), "bh" or "by"

    [family.where]               # rows of the estimates, by label; one that is not named is not restricted
    attribute = ["tattoos", "fashion_style"]
    scenario = []                # empty: rows over all scenarios
    group = ["*"]                # a star: rows of any single group
"""

import hashlib
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl

from facevalue.errors import DataError, FaceValueError, UnknownNameError
from facevalue.measures.cluster_bootstrap import Array
from facevalue.measures.definitions import split_key
from facevalue.measures.estimates import TYPED_LABELS, condition, label_columns
from facevalue.measures.multitest import ADJUSTMENTS, adjust_within
from facevalue.measures.pairs import to_array
from facevalue.measures.verdicts import check_margin
from facevalue.untrusted_files import read_file, to_text, to_toml

FAMILY_KINDS = ("confirmatory", "exploratory")
ANY_LABEL = "*"
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
    """Key of the measure of its estimates."""
    where: Mapping[str, tuple[str, ...] | None] = field(default_factory=dict)
    """Levels that belong to it, by label (or `model`, or `study`): these levels, `("*",)` for any single level,
    None for the rows over all levels. Labels not named are not restricted, but for `versus`: differences belong to it
    where it is named. Unless `intervention` is named, a model
    under one is a level of `model` of its own, called as `estimates.condition` has it."""
    method: str = "holm"
    alpha: float = ALPHA

    def __post_init__(self) -> None:
        if not self.name:
            raise DataError("A family of tests needs a name.")
        if self.kind not in FAMILY_KINDS:
            raise UnknownNameError("kind of family", self.kind, FAMILY_KINDS)
        if self.method not in ADJUSTMENTS:
            raise UnknownNameError("method", self.method, ADJUSTMENTS)
        check_alpha(self.alpha, f"family {self.name!r}: ")
        for column, levels in self.where.items():
            if levels is not None and not levels:
                raise DataError(f"Family {self.name!r} names no level of {column!r}; None means the rows over all.")

    def selects(self) -> pl.Expr:
        """Filter for the rows of the estimates that belong to the family."""
        out = pl.col("measure") == self.measure
        for column, levels in {"versus": None, **self.where}.items():
            if levels is None:
                out &= pl.col(column).is_null()
            elif ANY_LABEL in levels:
                out &= pl.col(column).is_not_null()
            else:
                out &= self.level(column).is_in(list(levels)).fill_null(value=False)
        return out

    def level(self, column: str) -> pl.Expr:
        """The level of a label, as `where` names it."""
        return condition() if column == "model" and "intervention" not in self.where else pl.col(column)


def apply_families(families: Sequence[Family], estimates: pl.DataFrame) -> pl.DataFrame:
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
    >>> labels = {"measure": "shift", "versus": None, "attribute": ["hair", "hat", "pose"]}
    >>> frame = pl.DataFrame(labels | {"p": [0.01, 0.04, 0.5]})
    >>> hair = Family("hair and hat", "confirmatory", "shift", {"attribute": ("hair", "hat")})
    >>> apply_families([hair], frame).select("attribute", "q", "family").rows()
    [('hair', 0.02, 'hair and hat'), ('hat', 0.04, 'hair and hat'), ('pose', None, None)]
    """
    owner = np.full(estimates.height, -1)
    check_distinct(families)
    for i, family in sorted(enumerate(families), key=lambda item: FAMILY_KINDS.index(item[1].kind)):
        _check_names(family, estimates)
        rows = estimates.select(family.selects().alias("in"))["in"].to_numpy()
        if not rows.any():
            raise DataError(
                f"Family {family.name!r} selects no estimate of {family.measure!r}: {_describe_conditions(family)}."
            )
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
        estimates,
        families,
        owner,
        adjust_within(to_array(estimates["p"]), owner, [family.method for family in families]),
    )


def selectable_columns(labels: Iterable[str]) -> list[str]:
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
            if column not in selectable_columns(label_columns(estimates)):
                raise UnknownNameError("label", column, selectable_columns(label_columns(estimates)))
            present = estimates.select(family.level(column)).to_series().unique().drop_nulls().to_list()
            for level in levels or ():
                if level != ANY_LABEL and level not in present:
                    raise UnknownNameError(column, level, present)
    except UnknownNameError as error:
        raise locate_error(error, f"family {family.name!r}") from None


def _describe_conditions(family: Family) -> str:
    conditions = [
        f"{column} {'over all' if levels is None else 'in ' + ', '.join(levels)}"
        for column, levels in family.where.items()
    ]
    return "no row has " + " and ".join(conditions) if conditions else "it has none"


def _with_families(estimates: pl.DataFrame, families: Sequence[Family], owner: Array, adjusted: Array) -> pl.DataFrame:
    belongs = pl.Series("belongs", owner >= 0)
    ours: dict[str, pl.Series] = {
        "q": pl.Series("q", adjusted).fill_nan(None),
        "family": _names_of_owners([family.name for family in families], owner),
        "kind": _names_of_owners([family.kind for family in families], owner),
    }
    nothing = {"q": pl.lit(None, pl.Float64), "family": pl.lit(None, pl.String), "kind": pl.lit(None, pl.String)}
    before = {name: pl.col(name) if name in estimates.columns else nothing[name] for name in nothing}
    return estimates.with_columns(
        pl.when(belongs).then(ours[name]).otherwise(before[name]).alias(name) for name in nothing
    )


def _names_of_owners(names: Sequence[str], owner: Array) -> pl.Series:
    lookup = np.array([*names, None], dtype=object)
    return pl.Series(lookup[owner].tolist(), dtype=pl.String)


def locate_error(error: FaceValueError, place: str) -> FaceValueError:
    """The same error, with the place in front."""
    error.args = (f"{place}: {error}",)
    return error


MAX_BYTES = 256 * 1024
"""Largest pre-registration file that is read."""


@dataclass(frozen=True, slots=True)
class Preregistration:
    """Families, margins and level declared before the run."""

    families: tuple[Family, ...]
    """Confirmatory all."""
    margins: Mapping[str, float]
    """Largest difference that would not matter, by key of the measure."""
    alpha: float
    """Level of the page, and of each family that names none."""
    sha256: str
    """Hash of the file's bytes, in hexadecimal."""
    text: str
    before: bool = True
    """True if the answers came after it. Recorded answers that are replayed were there before."""

    def only_measured(self, estimates: pl.DataFrame) -> "Preregistration":
        """The same without families of which nothing could be measured, as where no two groups have an answer."""
        present = tuple(f for f in self.families if estimates.select(f.selects().any()).item())
        return replace(self, families=present)

    def too_late(self) -> "Preregistration":
        """The same, declared when the answers were there already: it confirms nothing, and families are exploratory."""
        families = tuple(replace(family, kind="exploratory") for family in self.families)
        return replace(self, families=families, before=False)


def read_preregistration(
    path: Path, measures: Iterable[str] | None = None, labels: Iterable[str] | None = None
) -> Preregistration:
    """Read a pre-registration file; the format is at the top of this module.

    Parameters
    ----------
    path:
        TOML, UTF-8, at most 256 KiB.
    measures:
        Keys that measures may have, if known: others are errors at once and not after the run.
    labels:
        The labels that the study declares, if others are to be errors at once.

    Raises
    ------
    DataError, UnknownNameError
        For a file that cannot be read or understood; each says what to mend.
    """
    data = read_file(path, MAX_BYTES, "pre-registration")
    return parse_preregistration(data, measures, labels, name=str(path))


def parse_preregistration(
    data: bytes,
    measures: Iterable[str] | None = None,
    labels: Iterable[str] | None = None,
    *,
    name: str = "pre-registration",
) -> Preregistration:
    """Understand the bytes of a pre-registration file; see `read_preregistration`.

    Examples
    --------
    >>> declared = parse_preregistration(b'''
    ... [margin]
    ... shift = 0.02
    ... [[family]]
    ... name = "tattoos"
    ... measure = "shift"
    ... [family.where]
    ... attribute = ["tattoos"]
    ... scenario = []
    ... ''')
    >>> declared.families[0].where, declared.families[0].method, declared.margins
    ({'attribute': ('tattoos',), 'scenario': None}, 'holm', {'shift': 0.02})
    >>> parse_preregistration(b"[margins]")
    Traceback (most recent call last):
    facevalue.errors.UnknownNameError: pre-registration: Unknown key 'margins'. Did you mean 'margin'? \
Known: alpha, family, margin.
    """
    document = to_toml(data, name, MAX_BYTES)
    names = None if measures is None else tuple(measures)
    columns = None if labels is None else selectable_columns([*TYPED_LABELS, *labels])
    try:
        _known_keys("key", document, ("alpha", "family", "margin"))
        alpha = _level(document.get("alpha", ALPHA))
        margins = _margins(document.get("margin", {}), names)
        tables = document.get("family", [])
        if not isinstance(tables, list) or not all(isinstance(table, dict) for table in tables):
            raise DataError("families are written as [[family]] tables, one for each.")
        families = tuple(_family(table, number, alpha, names, columns) for number, table in enumerate(tables, start=1))
        check_distinct(families)
        if not families and not margins:
            raise DataError("it declares neither a family nor a margin, so nothing could be confirmed by it.")
    except FaceValueError as error:
        raise locate_error(error, name) from None
    return Preregistration(families, margins, alpha, hashlib.sha256(data).hexdigest(), to_text(data, name))


def _known_keys(kind: str, table: Mapping[str, Any], allowed: Sequence[str]) -> None:
    for key in table:
        if key not in allowed:
            raise UnknownNameError(kind, key, allowed)


def _number(value: object) -> float | None:
    if isinstance(value, bool) or not isinstance(value, int | float):
        return None
    try:
        return float(value)
    except OverflowError:  # TOML has integers of any size
        return None


def _level(value: object) -> float:
    number = _number(value)
    if number is None:
        raise DataError(f"alpha is {value!r}, and must be a number above 0 and not above {MOST_ALPHA:g}.")
    check_alpha(number)
    return number


def _margins(table: object, measures: Sequence[str] | None) -> dict[str, float]:
    if not isinstance(table, dict):
        raise DataError("[margin] is a table: one line per measure, such as shift = 0.02.")
    out: dict[str, float] = {}
    for measure, value in table.items():
        if measures is not None and measure not in measures:
            raise UnknownNameError("measure", measure, measures)
        number = _number(value)
        if number is None:
            raise DataError(f"the margin of {measure!r} is {value!r}, and must be a number above 0.")
        try:
            out[measure] = float(check_margin(number))
        except ValueError as error:
            raise DataError(f"the margin of {measure!r} is {value!r}. {error}") from None
    return out


def _family(
    table: Mapping[str, Any], number: int, alpha: float, measures: Sequence[str] | None, columns: Sequence[str] | None
) -> Family:
    name = table.get("name")
    place = f"family {name!r}" if name else f"family {number}"
    try:
        _known_keys("key", table, ("name", "measure", "method", "alpha", "where"))
        for key in ("name", "measure"):
            if not isinstance(table.get(key), str) or not table[key]:
                raise DataError(f"{key!r} is missing or not text.")
        measure, method = table["measure"], table.get("method", "holm")
        names = None if measures is None else dict.fromkeys(split_key(key)[0] for key in measures)
        if names is not None and measure not in names:
            raise UnknownNameError("measure", measure, names)
        conditions = table.get("where", {})
        if not isinstance(conditions, dict):
            raise DataError('[family.where] is a table: one line per label, such as attribute = ["hair"].')
        levels = _levels_by_label(conditions, columns)
        return Family(
            name=str(name), kind="confirmatory", measure=measure, where=levels, method=str(method),
            alpha=_level(table.get("alpha", alpha)),
        )  # fmt: skip
    except FaceValueError as error:
        raise locate_error(error, place) from None


def _levels_by_label(levels: Mapping[str, object], columns: Sequence[str] | None) -> dict[str, tuple[str, ...] | None]:
    out: dict[str, tuple[str, ...] | None] = {}
    for name, value in levels.items():
        if columns is not None and name not in columns:
            raise UnknownNameError("label", name, columns)
        out[name] = _levels(name, value)
    return out


def _levels(column: str, value: object) -> tuple[str, ...] | None:
    if isinstance(value, str):
        value = [value]
    if not isinstance(value, list) or not all(isinstance(level, str) for level in value):
        raise DataError(f"the levels of {column!r} are a list of texts; an empty one means the rows over all levels.")
    return tuple(value) or None
