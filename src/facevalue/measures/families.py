"""Families of tests: what was declared before the run, what was found while looking, and p-values adjusted for either.

A *confirmatory* family was declared before the answers were seen, in the study or in a pre-registration file, and is
judged strictly (Holm: the chance of any false finding is at most alpha). An *exploratory* family holds what was looked
at besides, and is judged by its share of false findings (Benjamini-Hochberg, or Benjamini-Yekutieli, which holds under
any dependence). A test belongs to one family only.

Pre-registration is a TOML file. The run keeps its SHA-256 hash, so that anybody can check that it was not changed
afterwards::

    alpha = 0.05                 # level of every family that names none; .05 if left out

    [margin]                     # largest difference that would not matter, by measure, in its unit
    sbs = 0.02

    [[family]]                   # one table per family of tests
    name = "tattoos and fashion"
    measure = "sbs"
    method = "holm"              # "holm" (default), "bh" or "by"

    [family.where]               # rows of the estimates; a column that is not named is not restricted
    attribute = ["tattoos", "fashion_style"]
    scenario = []                # empty: rows over all scenarios
    group = ["*"]                # a star: rows of any single group
"""

import hashlib
import tomllib
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
from scipy import stats

from facevalue.errors import DataError, FaceValueError, UnknownNameError
from facevalue.measures.estimates import FACTORS
from facevalue.measures.inference import Array
from facevalue.measures.verdicts import check_margin

METHODS = ("holm", "bh", "by")
KINDS = ("confirmatory", "exploratory")
ANY = "*"
"""In a selector: any level, but not the rows over all levels."""
COLUMNS = ("study", *FACTORS)
"""Columns of the estimates that a selector may name."""
MAX_BYTES = 256 * 1024
"""Largest pre-registration file that is read."""
ALPHA = 0.05


def adjust(p: Array, method: str) -> Array:
    """P-values adjusted for the number of tests in one family.

    Parameters
    ----------
    p:
        Any shape; all tests of it are one family. NaN stays NaN and does not count as a test.
    method:
        "holm" (family-wise error; Holm 1979), "bh" (false discovery rate; Benjamini and Hochberg 1995) or "by" (the
        same under any dependence; Benjamini and Yekutieli 2001).

    Equation
    --------
    With p sorted upwards, i = 1..m: Holm max_{j<=i} (m - j + 1) p_j; BH min_{j>=i} m p_j / j; BY as BH times
    1 + 1/2 + ... + 1/m. At most 1.

    Raises
    ------
    ValueError
        For values outside [0, 1].

    Examples
    --------
    >>> adjust(np.array([0.01, np.nan, 0.04, 0.03]), "holm").tolist()
    [0.03, nan, 0.06, 0.06]
    >>> adjust(np.array([0.01, np.nan, 0.04, 0.03]), "bh").tolist()
    [0.03, nan, 0.04, 0.04]
    """
    if method not in METHODS:
        raise UnknownNameError("method", method, METHODS)
    p = np.asarray(p, dtype=np.float64)
    out = np.full(p.shape, np.nan)
    tested = ~np.isnan(p)
    values = p[tested]
    if not ((values >= 0) & (values <= 1)).all():
        raise ValueError("p-values lie between 0 and 1.")
    if values.size == 0:
        return out
    if method == "holm":
        order = np.argsort(values, kind="stable")
        steps = np.maximum.accumulate(values[order] * np.arange(values.size, 0, -1))
        adjusted = np.empty_like(values)
        adjusted[order] = np.minimum(steps, 1.0)
    else:
        adjusted = stats.false_discovery_control(values, method="bh" if method == "bh" else "by")
    out[tested] = adjusted
    return out


def max_statistic(observed: Array, null: Array, *, two_sided: bool = True) -> Array:
    """Adjusted p-values of many dependent tests from one permutation null: single-step max-T.

    Each observed statistic is compared with the largest of all tests in each resample, so that dependence between the
    tests (words that come together) costs nothing. Statistics should be on one scale (z or t): otherwise the test with
    the widest null decides for all.

    Parameters
    ----------
    observed:
        Statistics, shape (tests,). NaN gives NaN.
    null:
        The same statistics of data with permuted labels, shape (resamples, tests); all tests of a resample from the
        same permutation.
    two_sided:
        Compare absolute values; else large values count.

    Returns
    -------
    Shape (tests,), from 1/(1 + resamples).

    Equation
    --------
    p_j = (1 + #{b: max_k |T*_bk| >= |T_j|}) / (1 + B) (Westfall and Young 1993, section 2.5; the added one as in
    Phipson and Smyth 2010).

    Notes
    -----
    A statistic that is not defined in some resample counts there as the smallest possible, which is exact, as labels
    are exchangeable for that definition too. A column whose observed value is NaN still belongs to the family; leave
    out the columns that were never to be tested.

    Examples
    --------
    >>> null = np.array([[0.1, 2.0], [-1.0, 0.3], [0.2, -0.1]])
    >>> max_statistic(np.array([1.5, -3.0]), null).tolist()
    [0.5, 0.25]
    """
    size, drawn = (np.abs(observed), np.abs(null)) if two_sided else (np.asarray(observed), np.asarray(null))
    if drawn.ndim != 2 or size.shape != drawn.shape[1:]:
        raise ValueError("null needs the shape (resamples, tests), with the tests observed.")
    if len(drawn) == 0:
        raise ValueError("max_statistic needs at least one resample.")
    largest = np.sort(np.where(np.isnan(drawn), -np.inf, drawn).max(axis=1, initial=-np.inf))
    slack = 1e-9 * np.maximum(1.0, np.abs(size))  # equal statistics may differ in their last digits
    hits = len(largest) - np.searchsorted(largest, size - slack, side="left")
    return np.where(np.isnan(size), np.nan, (1.0 + hits) / (1.0 + len(largest)))


@dataclass(frozen=True, slots=True)
class Family:
    """Tests that are judged together.

    Attributes
    ----------
    name:
        As in the `family` column.
    kind:
        "confirmatory" (declared before the answers were seen) or "exploratory".
    measure:
        Whose estimates.
    where:
        Which of them, by factor column: the levels that belong to it, `("*",)` for any single level, None for the rows
        over all levels. Columns not named are not restricted.
    method:
        "holm", "bh" or "by".
    alpha:
        Level.
    """

    name: str
    kind: str
    measure: str
    where: Mapping[str, tuple[str, ...] | None] = field(default_factory=dict)
    method: str = "holm"
    alpha: float = ALPHA

    def __post_init__(self) -> None:
        if not self.name:
            raise DataError("A family of tests needs a name.")
        if self.kind not in KINDS:
            raise UnknownNameError("kind of family", self.kind, KINDS)
        if self.method not in METHODS:
            raise UnknownNameError("method", self.method, METHODS)
        if not 0 < self.alpha < 1:
            raise DataError(f"Family {self.name!r}: alpha is {self.alpha}, and must lie between 0 and 1.")
        for column, levels in self.where.items():
            if column not in COLUMNS:
                raise UnknownNameError("factor column", column, COLUMNS)
            if levels is not None and not levels:
                raise DataError(f"Family {self.name!r} names no level of {column!r}; None means the rows over all.")

    def selects(self) -> pl.Expr:
        """Which rows of the estimates belong to it."""
        out = pl.col("measure") == self.measure
        for column, levels in self.where.items():
            if levels is None:
                out &= pl.col(column).is_null()
            elif ANY in levels:
                out &= pl.col(column).is_not_null()
            else:
                out &= pl.col(column).is_in(list(levels)).fill_null(value=False)
        return out


def apply(families: Sequence[Family], estimates: pl.DataFrame) -> pl.DataFrame:
    """Judge the tests of a table of estimates by family.

    Parameters
    ----------
    families:
        No two of a kind may share a row. Exploratory families hold only what no confirmatory one does, since a test
        that was declared is judged once, by what was declared.
    estimates:
        With the columns `measure`, `p` and the factors; `p` is null where no test was possible: not counted, and no q.

    Returns
    -------
    The same rows in the same order, with `q` (p adjusted within the family), `family` and `kind` of the rows that
    belong to a family. Other rows keep their own q and family; their `kind` is null. `p` stays as it was.

    Raises
    ------
    UnknownNameError
        For a measure, a column or a level that the estimates do not have.
    DataError
        For a family without rows, two families of one name, or two of a kind that share rows.

    Examples
    --------
    >>> frame = pl.DataFrame({"measure": ["sbs"] * 3, "attribute": ["hair", "hat", "pose"], "p": [0.01, 0.04, 0.5]})
    >>> hair = Family("hair and hat", "confirmatory", "sbs", {"attribute": ("hair", "hat")})
    >>> apply([hair], frame).select("attribute", "q", "family").rows()
    [('hair', 0.02, 'hair and hat'), ('hat', 0.04, 'hair and hat'), ('pose', None, None)]
    """
    owner = np.full(estimates.height, -1)
    p = estimates["p"].cast(pl.Float64).fill_null(np.nan).to_numpy()
    adjusted = np.full(estimates.height, np.nan)
    _check_distinct(families)
    for i, family in sorted(enumerate(families), key=lambda item: KINDS.index(item[1].kind)):
        _check_names(family, estimates)
        rows = estimates.select(family.selects().alias("in"))["in"].to_numpy()
        if not rows.any():
            raise DataError(f"Family {family.name!r} selects no estimate of {family.measure!r}: {_described(family)}.")
        other = next(
            (families[j] for j in np.unique(owner[rows & (owner >= 0)]) if families[j].kind == family.kind), None
        )
        if other is not None:
            raise DataError(
                f"Families {other.name!r} and {family.name!r} share tests. A test belongs to one {family.kind} family; "
                "narrow one of them."
            )
        rows = rows & (owner < 0)
        owner[rows] = i
        adjusted[rows] = adjust(p[rows], family.method)
    return _with_families(estimates, families, owner, adjusted)


def _check_distinct(families: Sequence[Family]) -> None:
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
            if column not in estimates.columns:
                raise UnknownNameError("factor column", column, [c for c in COLUMNS if c in estimates.columns])
            known = estimates[column].unique().drop_nulls().to_list()
            for level in levels or ():
                if level != ANY and level not in known:
                    raise UnknownNameError(column, level, known)
    except UnknownNameError as error:
        raise _located(error, f"family {family.name!r}") from None


def _described(family: Family) -> str:
    parts = [
        f"{column} {'over all' if levels is None else 'in ' + ', '.join(levels)}"
        for column, levels in family.where.items()
    ]
    return "no row has " + " and ".join(parts) if parts else "it has none"


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


@dataclass(frozen=True, slots=True)
class Preregistration:
    """What was declared before the run.

    Attributes
    ----------
    families:
        Confirmatory all.
    margins:
        Largest difference that would not matter, by measure.
    alpha:
        Level of what names none.
    sha256:
        Hash of the file's bytes, in hexadecimal.
    text:
        The file.
    """

    families: tuple[Family, ...]
    margins: Mapping[str, float]
    alpha: float
    sha256: str
    text: str


def read_preregistration(path: Path, measures: Iterable[str] | None = None) -> Preregistration:
    """Read a pre-registration file; the format is at the top of this module.

    Parameters
    ----------
    path:
        TOML, UTF-8, at most 256 KiB.
    measures:
        Names that measures may have, if known: others are errors at once and not after the run.

    Raises
    ------
    DataError, UnknownNameError
        For a file that cannot be read or understood; each says what to mend.
    """
    if not path.is_file():
        raise DataError(f"There is no pre-registration file {path}.")
    try:
        with path.open("rb") as file:
            data = file.read(MAX_BYTES + 1)
    except OSError as error:
        raise DataError(f"The pre-registration {path} cannot be read: {error.strerror or error}.") from error
    return parse_preregistration(data, measures, name=str(path))


def parse_preregistration(
    data: bytes, measures: Iterable[str] | None = None, *, name: str = "pre-registration"
) -> Preregistration:
    """Understand the bytes of a pre-registration file; see `read_preregistration`.

    Examples
    --------
    >>> declared = parse_preregistration(b'''
    ... [margin]
    ... sbs = 0.02
    ... [[family]]
    ... name = "tattoos"
    ... measure = "sbs"
    ... [family.where]
    ... attribute = ["tattoos"]
    ... scenario = []
    ... ''')
    >>> declared.families[0].where, declared.families[0].method, declared.margins
    ({'attribute': ('tattoos',), 'scenario': None}, 'holm', {'sbs': 0.02})
    >>> parse_preregistration(b"[margins]")
    Traceback (most recent call last):
    facevalue.errors.UnknownNameError: pre-registration: Unknown key 'margins'. Did you mean 'margin'? \
Known: alpha, family, margin.
    """
    if len(data) > MAX_BYTES:
        raise DataError(f"{name} is larger than {MAX_BYTES // 1024} KiB, so it is not read as a pre-registration.")
    try:
        text = data.decode("utf-8")
        document = tomllib.loads(text)
    except UnicodeDecodeError:
        raise DataError(f"{name} is not text in UTF-8.") from None
    except (ValueError, RecursionError) as error:
        raise DataError(f"{name} is not valid TOML: {error}.") from error
    known = None if measures is None else tuple(measures)
    try:
        _known_keys("key", document, ("alpha", "family", "margin"))
        alpha = _level(document.get("alpha", ALPHA))
        margins = _margins(document.get("margin", {}), known)
        tables = document.get("family", [])
        if not isinstance(tables, list) or not all(isinstance(table, dict) for table in tables):
            raise DataError("families are written as [[family]] tables, one for each.")
        families = tuple(_family(table, number, alpha, known) for number, table in enumerate(tables, start=1))
        _check_distinct(families)
        if not families and not margins:
            raise DataError("it declares neither a family nor a margin, so nothing could be confirmed by it.")
    except FaceValueError as error:
        raise _located(error, name) from None
    return Preregistration(families, margins, alpha, hashlib.sha256(data).hexdigest(), text)


def _located(error: FaceValueError, where: str) -> FaceValueError:
    """The same error, with the place in front."""
    error.args = (f"{where}: {error}",)
    return error


def _known_keys(kind: str, table: Mapping[str, Any], known: Sequence[str]) -> None:
    for key in table:
        if key not in known:
            raise UnknownNameError(kind, key, known)


def _number(value: object) -> float | None:
    if isinstance(value, bool) or not isinstance(value, int | float):
        return None
    try:
        return float(value)
    except OverflowError:  # TOML has integers of any size
        return None


def _level(value: object) -> float:
    number = _number(value)
    if number is None or not 0 < number < 1:
        raise DataError(f"alpha is {value!r}, and must be a number between 0 and 1.")
    return number


def _margins(table: object, measures: Sequence[str] | None) -> dict[str, float]:
    if not isinstance(table, dict):
        raise DataError("[margin] is a table: one line per measure, such as sbs = 0.02.")
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


def _family(table: Mapping[str, Any], number: int, alpha: float, measures: Sequence[str] | None) -> Family:
    name = table.get("name")
    place = f"family {name!r}" if name else f"family {number}"
    try:
        _known_keys("key", table, ("name", "measure", "method", "alpha", "where"))
        for key in ("name", "measure"):
            if not isinstance(table.get(key), str) or not table[key]:
                raise DataError(f"{key!r} is missing or not text.")
        measure, method = table["measure"], table.get("method", "holm")
        if measures is not None and measure not in measures:
            raise UnknownNameError("measure", measure, measures)
        where = table.get("where", {})
        if not isinstance(where, dict):
            raise DataError('[family.where] is a table: one line per factor column, such as attribute = ["hair"].')
        levels = {column: _levels(column, value) for column, value in where.items()}
        return Family(
            name=str(name), kind="confirmatory", measure=measure, where=levels, method=str(method),
            alpha=_level(table.get("alpha", alpha)),
        )  # fmt: skip
    except FaceValueError as error:
        raise _located(error, place) from None


def _levels(column: str, value: object) -> tuple[str, ...] | None:
    if isinstance(value, str):
        value = [value]
    if not isinstance(value, list) or not all(isinstance(level, str) for level in value):
        raise DataError(f"the levels of {column!r} are a list of texts; an empty one means the rows over all levels.")
    return tuple(value) or None
