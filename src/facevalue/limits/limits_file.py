"""Limits as a file declares them.

A file of limits has one table for each::

    [[limit]]
    name = "cues"              # for people; made of the rest by default
    study = "stylisticbias"    # every study that has the measure by default
    measure = "shift"          # as `facevalue measure RUN` names it
    by = ["variation"]         # labels that the estimates are broken down by; as a whole by default
    where = {variation = ["sunglasses", "tattoo"]}   # levels of labels; all of them by default
    missing = "count"          # "leave out": what missing answers could be is not held against it
    absolute = 0.2             # one kind of limit: from -0.2 to 0.2, or
    at_least = 0.8             # from here on, and
    at_most = 1.25             # up to there, or
    change = 0.05              # against the baseline, at most so much either way, or
    rise = 0.05                # more, and
    fall = 0.05                # less, or
    findings = 0               # so many differences found at most, among what leads the page or the measure, and
    detects = 0.1              # the smallest difference that must not have been missed
    allow_incomplete = true    # runs that have not ended count as they are; else there is not enough data
"""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Final

from facevalue.errors import DataError, UnknownNameError
from facevalue.measures.definitions import split_key
from facevalue.protocol.toml_tables import TomlTable, lines_of
from facevalue.untrusted_files import read_file, to_text, to_toml

MAX_BYTES = 256 * 1024
"""Largest file of limits."""
MOST = 1000
"""Most limits of a file."""
_LEVELS: Final = ("absolute", "at_least", "at_most")
_CHANGES: Final = ("change", "rise", "fall")
_COUNTS: Final = ("findings", "detects")
_OF: Final = ("name", "study", "measure", "by", "where", "missing", "allow_incomplete")
_MISSING: Final = {"count": True, "leave out": False}
KEYS = (*_OF, *_LEVELS, *_CHANGES, *_COUNTS)
"""Keys of a limit."""


@dataclass(frozen=True, slots=True)
class DeclaredLimit:
    """A limit of some estimates.

    Attributes
    ----------
    place, line:
        Where it is declared, for errors, and in which line of its file; 0 where it is of no file.
    name:
        For people.
    study, measure:
        What it is about; empty for every study that has the measure, and for what leads the page.
    by:
        Labels that the estimates are broken down by.
    where:
        Levels that labels must have.
    at_least, at_most:
        Smallest and largest value, or change where it is one `of_change`; infinite where there is none.
    of_change:
        Whether it is of the change against a baseline.
    findings:
        How many differences may be found; None for a limit of values.
    detects:
        Difference that must not have been missed; None for any.
    counts_missing:
        Whether what missing answers could be is held against it.
    allows_incomplete:
        Whether a run that has not ended, or of which nothing was asked yet, may lie within.

    Examples
    --------
    >>> limit = DeclaredLimit("", 0, "cues", measure="shift", by=("variation",), at_least=-0.2, at_most=0.2)
    >>> limit.labels
    ('variation',)
    """

    place: str
    line: int
    name: str
    study: str = ""
    measure: str = ""
    by: tuple[str, ...] = ()
    where: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    at_least: float = -math.inf
    at_most: float = math.inf
    of_change: bool = False
    findings: int | None = None
    detects: float | None = None
    counts_missing: bool = True
    allows_incomplete: bool = False

    @property
    def labels(self) -> tuple[str, ...]:
        """Labels that its estimates must have."""
        return tuple(dict.fromkeys((*self.by, *self.where)))

    def error(self, text: str) -> DataError:
        """An error at its place."""
        return DataError(f"{self.place}: {text}" if self.place else text)

    def unknown_name_error(self, kind: str, name: str, names: Sequence[str]) -> DataError:
        """An error for a name that there isn't, with the nearest ones."""
        return self.error(str(UnknownNameError(kind, name, names)))


def read_limits(path: Path) -> tuple[DeclaredLimit, ...]:
    """Read a file of limits.

    Raises
    ------
    DataError
        There is no such file, or it says something that no limit is; the message has the line.
    """
    return parse_limits(read_file(path, MAX_BYTES, "limits"), str(path))


def parse_limits(data: bytes, name: str) -> tuple[DeclaredLimit, ...]:
    r"""Understand the bytes of a file of limits, called `name` in errors.

    Examples
    --------
    >>> (limit,) = parse_limits(b'[[limit]]\nmeasure = "shift"\nby = ["variation"]\nabsolute = 0.2', "limits.toml")
    >>> limit.name, limit.at_least, limit.at_most
    ('shift by variation, from -0.2 to 0.2', -0.2, 0.2)
    >>> parse_limits(b'[[limit]]\nmeasure = "shift"\nabsolut = 0.2', "limits.toml")  # doctest: +ELLIPSIS
    Traceback (most recent call last):
    facevalue.errors.DataError: limits.toml: line 3: Unknown key 'absolut'. Did you mean 'absolute'? Known: ...
    """
    return _limits(TomlTable(name, lines_of(to_text(data, name)), (), to_toml(data, name, MAX_BYTES)), name)


def stated_limits(tables: Sequence[Mapping[str, object]]) -> tuple[DeclaredLimit, ...]:
    """Limits from tables that were written in Python, with the keys of a file.

    Examples
    --------
    >>> [limit.name for limit in stated_limits([{"findings": 0}])]
    ['findings of what leads the page, at most 0']
    """
    return _limits(TomlTable("limits", {}, (), {"limit": [dict(table) for table in tables]}), "limits")


def _limits(top: TomlTable, name: str) -> tuple[DeclaredLimit, ...]:
    try:
        for key in top:
            if key != "limit":
                with top.place_errors(key, 0):
                    raise UnknownNameError("table", key, ["limit"])
        tables = top.tables("limit")
        if not tables:
            raise DataError(f"{name} has no limit: begin each with a line [[limit]].")
        if len(tables) > MOST:
            raise DataError(f"{name} has {len(tables):,} limits; at most {MOST:,} are read.")
        limits = tuple(_limit(table) for table in tables)
    except UnknownNameError as error:  # a file that cannot be used, not a command line
        raise DataError(str(error)) from None
    _check_names(limits)
    return limits


def _limit(table: TomlTable) -> DeclaredLimit:
    table.check_keys(*KEYS)
    kinds = [keys for keys in (_LEVELS, _CHANGES, _COUNTS) if any(key in table for key in keys)]
    if not kinds:
        raise table.error(
            f"the limit says of nothing how much may be: {_list_names((*_LEVELS, *_CHANGES, 'findings'))}."
        )
    if len(kinds) > 1:
        first, second = (next(key for key in keys if key in table) for keys in kinds[:2])
        raise table.error(f"{first!r} and {second!r} are limits of two kinds: write two limits.", second)
    (measure, score), by, levels = split_key(table.text("measure", "")), table.names("by", ()), _read_levels(table)
    if score and "score" in levels:
        raise table.error("'measure' and 'where' both name a score: name it once.", "where")
    levels |= {"score": (score,)} if score else {}
    if not measure and kinds != [_COUNTS]:
        raise table.error("'measure' is missing: what the limit is about, as `facevalue measure RUN` names it.")
    if not measure and (by or levels):
        raise table.error("'measure' is missing: labels are those of a measure.", "by" if by else "where")
    missing = table.text("missing", "count")
    if missing not in _MISSING:
        with table.place_errors("missing"):
            raise UnknownNameError("treatment of missing answers", missing, _MISSING)
    if kinds == [_COUNTS] and "missing" in table:
        raise table.error(
            "'missing' goes with limits of values and changes: findings allow for missing answers.", "missing"
        )
    findings, detects = None, None
    low, high = -math.inf, math.inf
    if kinds == [_COUNTS]:
        findings = table.whole_number("findings", low=0)
        detects = _positive(table, "detects") if "detects" in table else None
        if detects is not None and not (measure or "study" in table):
            raise table.error("'detects' is in the unit of a measure: name the study, or the measure.", "detects")
    elif kinds == [_LEVELS]:
        low, high = _read_range(table, "absolute", ("at_least", "at_most"))
    else:
        low, high = _read_range(table, "change", ("fall", "rise"))
    limit = DeclaredLimit(
        table.key_place(), _line(table), "", table.text("study", ""), measure, by, levels, low, high,
        kinds == [_CHANGES], findings, detects, _MISSING[missing],
        table.flag("allow_incomplete", default=False),
    )  # fmt: skip
    return replace(limit, name=table.text("name", "").strip() or wording(limit))


def _read_range(table: TomlTable, either_way: str, ends: tuple[str, str]) -> tuple[float, float]:
    """Smallest and largest value that a limit allows."""
    if either_way in table:
        for key in ends:
            if key in table:
                raise table.error(f"{either_way!r} is for either way: leave {key!r} out.", key)
        size = _positive(table, either_way)
        return -size, size
    if ends[0] == "fall":
        low = -_positive(table, "fall") if "fall" in table else -math.inf
        return low, _positive(table, "rise") if "rise" in table else math.inf
    low, high = (
        table.number(key) if key in table else end for key, end in zip(ends, (-math.inf, math.inf), strict=True)
    )
    if low >= high:
        raise table.error(f"no interval lies between {low:g} and {high:g}: at_least is the smaller one.", "at_least")
    return low, high


def _positive(table: TomlTable, key: str) -> float:
    value = table.number(key)
    if value <= 0:
        reason = "no interval, however narrow, lies within less" if key != "detects" else "every sample misses less"
        raise table.error(f"{key!r} is a number above zero, not {value:g}: {reason}.", key)
    return value


def _read_levels(table: TomlTable) -> dict[str, tuple[str, ...]]:
    levels = table.table("where", needed=False)
    out = {label: levels.names(label) for label in levels}
    for label, names in out.items():
        if not names:
            raise table.error(f"'where' names no level of {label!r}.", "where")
    return out


def _line(table: TomlTable) -> int:
    line = table.key_place().rpartition(" ")[2]
    return int(line) if line.isdigit() else 0


def wording(limit: DeclaredLimit) -> str:
    """Requirement of a limit, in words.

    Examples
    --------
    >>> wording(DeclaredLimit("", 0, "", findings=0)), wording(DeclaredLimit("", 0, "", measure="na_rate", at_most=0.1))
    ('findings of what leads the page, at most 0', 'na_rate, at most 0.1')
    """
    of = [limit.measure or "findings of what leads the page"]
    if limit.findings is not None and limit.measure:
        of = [f"findings of {limit.measure}"]
    if limit.of_change:
        of = [f"change in {of[0]}"]
    if limit.by:
        of.append(f"by {' and '.join(limit.by)}")
    of += [f"where {label} is {' or '.join(levels)}" for label, levels in limit.where.items()]
    if limit.findings is not None:
        detecting = "" if limit.detects is None else f", and none of {limit.detects:g} missed"
        return f"{' '.join(of)}, at most {limit.findings}{detecting}"
    return f"{' '.join(of)}, {allowed_values(limit)}"


def allowed_values(limit: DeclaredLimit) -> str:
    """Range of values that a limit of values allows, in words.

    Examples
    --------
    >>> allowed_values(DeclaredLimit("", 0, "", at_least=0.8))
    'at least 0.8'
    """
    low, high = limit.at_least, limit.at_most
    if math.isinf(low):
        return f"at most {high:g}"
    return f"at least {low:g}" if math.isinf(high) else f"from {low:g} to {high:g}"


def _check_names(limits: Sequence[DeclaredLimit]) -> None:
    """Refuse two limits of one name: reports of tests tell them apart by it."""
    lines: dict[str, int] = {}
    for limit in limits:
        if limit.name in lines:
            raise limit.error(
                f"the limit in line {lines[limit.name]} is called {limit.name!r}, too: name one otherwise."
            )
        lines[limit.name] = limit.line


def _list_names(names: Sequence[str]) -> str:
    return ", ".join(names[:-1]) + f" or {names[-1]}"
