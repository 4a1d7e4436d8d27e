"""Pictures in folders whose names say what they show, as in `{occupation}/{race}_{gender}/{n}`.

A pattern is a path without its ending, with a field in braces for each thing that differs. A field has levels, each
perhaps with other spellings, or none, and then holds any text. Case, spaces, hyphens and underscores make no
difference in levels, and a single space, hyphen or underscore between two fields may be any of them. A name with
hyphens of its own is cut where all its pieces are known. What matches nothing, or in two ways, is never guessed.
"""

import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from difflib import SequenceMatcher
from functools import lru_cache
from itertools import product
from pathlib import Path
from typing import NamedTuple

import polars as pl

from facevalue.errors import DataError, UnknownNameError
from facevalue.stimuli.folders import files_below, natural
from facevalue.stimuli.manifest import RESERVED, SUFFIXES

NUMBER = "n"
"""The field that only tells pictures apart: it is no column, and pictures are in its order."""
MAX_FILES = 2_000_000
"""Most pictures below a folder."""

Spellings = Mapping[str, Sequence[str]]
"""Levels, each with other spellings of it. The level itself always is one."""
Reading = tuple[tuple[str, str], ...]
"""Fields and their levels, in the order of the pattern."""

_SEPARATORS = " _-"
_FIELD = re.compile(r"\{([a-z][a-z0-9_]*)\}")
_APART = re.compile(r"[\s_\-]+")
_SHOWN, _LISTED = 5, 12
_NEAR = 0.6  # from which a spelling is taken for the one that was meant


@dataclass(frozen=True)
class Levels:
    """What a field may stand for.

    Attributes
    ----------
    spellings:
        Levels with their spellings, or a function from the levels of earlier folders to them.
    closed:
        Whether any other text is an error; else it is a level as it is written.
    """

    spellings: Spellings | Callable[[Mapping[str, str]], Spellings]
    closed: bool = True

    def listed(self, within: Reading) -> list[tuple[str, str]]:
        """Return spellings as they are written, each with its level."""
        spellings = self.spellings(dict(within)) if callable(self.spellings) else self.spellings
        return [(text, level) for level, others in spellings.items() for text in (level, *others)]


class Misfit(NamedTuple):
    """Why a path does not match, and how far it does; the furthest is told."""

    folders: int
    fields: int
    nearness: float
    text: str


@lru_cache(maxsize=2**16)
def folded(text: str) -> str:
    """Return a text without what makes no difference.

    >>> folded("Middle-Eastern Male") == folded("middle_eastern_male")
    True
    """
    return _APART.sub("", text).casefold()


class PathPattern:
    """One pattern, with the levels of its fields.

    Raises
    ------
    DataError
        It is none: without a field, with one twice, with two that nothing divides, with an ending.
    UnknownNameError
        Levels of a field that it does not have.

    Examples
    --------
    >>> people = PathPattern("{race}_{gender}/{n}", {"gender": Levels({"female": ("woman",), "male": ("man",)})})
    >>> people.readings("south-asian woman/3")
    [(('race', 'south-asian'), ('gender', 'female'), ('n', '3'))]
    >>> people.misfit("asian_womn/3").text
    "unknown gender 'womn', did you mean 'woman'?"
    """

    def __init__(self, text: str, levels: Mapping[str, Levels]) -> None:
        self.text = text
        self.fields: tuple[str, ...] = tuple(_FIELD.findall(text))
        self._check()
        for name in levels:
            if name not in self.fields:
                raise UnknownNameError("field of the pattern", name, self.fields)
        self._levels = levels
        self._segments = [_pieces(segment) for segment in text.split("/")]
        self._nested = any(callable(one.spellings) for one in levels.values())
        self._folded = lru_cache(maxsize=None)(self._table)
        self._read = lru_cache(maxsize=2**16)(self._group)
        for name in self.fields:
            if name in levels and not callable(levels[name].spellings):
                self._folded(name, ())  # says now where two levels have one spelling

    def _check(self) -> None:
        if not self.fields:
            raise DataError(f"The pattern {self.text!r} has no field, such as {{set}} in '{{set}}/{{hat}}'.")
        plain = _FIELD.sub("", self.text)
        if "{" in plain or "}" in plain:
            raise DataError(
                f"The pattern {self.text!r} has a brace without a name of small letters, digits and underscores, such "
                f"as {{{self.fields[0]}}}."
            )
        if any(segment in ("", ".", "..") for segment in self.text.split("/")) or "\\" in self.text:
            raise DataError(f"The pattern {self.text!r} is not a path below the folder: folders with '/' between them.")
        if self.text.lower().endswith(SUFFIXES):
            raise DataError(f"The pattern {self.text!r} has the ending of a picture: leave it out, all are read.")
        twice = next((name for name in self.fields if self.fields.count(name) > 1), None)
        if twice:
            raise DataError(f"The pattern {self.text!r} has the field {{{twice}}} twice: give each a name of its own.")
        if "}{" in self.text:
            raise DataError(f"In the pattern {self.text!r} nothing divides two fields: write '_' or '/' between them.")
        taken = RESERVED.union(("image", "path")).intersection(self.fields)
        if taken:
            name = min(taken)
            raise DataError(f"No field can be called {name!r}, which is a column of the results: rename {{{name}}}.")

    def readings(self, path: str) -> list[Reading]:
        """Return all ways in which a path, without its ending, matches."""
        segments = path.split("/")
        if len(segments) != len(self._segments):
            return []
        readings: list[Reading] = [()]
        for pieces, segment in zip(self._segments, segments, strict=True):
            readings = [
                (*outer, *inner) for outer in readings for inner in self._segment(pieces, segment, self._within(outer))
            ]
        return readings

    def misfit(self, path: str) -> Misfit:
        """Say why a path does not match; the nearest of all attempts."""
        segments, within = path.split("/"), Reading()
        if len(segments) != len(self._segments):
            return Misfit(-1, 0, 0.0, f"not a path {self.text}")
        for at, (pieces, segment) in enumerate(zip(self._segments, segments, strict=True)):
            readings = self._segment(pieces, segment, within)
            if not readings:
                shape = self.text.split("/")[at]
                misfits = [Misfit(0, 0, 0.0, f"{segment!r} is not {shape}"), *self._misfits(pieces, segment, within)]
                return max(misfits)._replace(folders=at)
            within = self._within((*within, *readings[0]))
        levels = (" ".join(level for _, level in reading) for reading in self.readings(path))
        return Misfit(len(segments), 0, 0.0, f"could be {' or '.join(levels)}")

    def _within(self, reading: Reading) -> Reading:
        """What levels of further fields may depend on."""
        return reading if self._nested else ()

    def _table(self, name: str, within: Reading) -> dict[str, str]:
        """Levels of a field by their folded spellings."""
        table: dict[str, str] = {}
        for text, level in self._levels[name].listed(within):
            if table.setdefault(folded(text), level) != level:
                raise DataError(
                    f"{text!r} is {name} {table[folded(text)]!r} and {level!r}: one spelling of two levels."
                )
        return table

    def _closed(self, name: str) -> bool:
        return name in self._levels and self._levels[name].closed

    def _level(self, name: str, text: str, within: Reading) -> str | None:
        plain = text if text.strip(_SEPARATORS) else None
        if name not in self._levels:
            return plain
        return self._folded(name, within).get(folded(text), None if self._levels[name].closed else plain)

    def _segment(self, pieces: Sequence[str | tuple[str, ...]], text: str, within: Reading) -> Sequence[Reading]:
        """Ways to read a folder's or file's name: fixed texts, and groups of fields between them."""
        fixed, *rest = pieces
        assert isinstance(fixed, str)
        if not text.lower().startswith(fixed.lower()):
            return []
        text = text[len(fixed) :]
        if not rest:
            return [()] if not text else []
        group, following = rest[0], rest[1]
        assert isinstance(group, tuple)
        assert isinstance(following, str)
        if len(rest) == 2:
            ends = text.lower().endswith(following.lower())
            return self._read(group, text[: len(text) - len(following)], within) if ends else []
        out: list[Reading] = []
        for cut in _places(text.lower(), following.lower()):
            for head in self._read(group, text[:cut], within):
                out += [(*head, *tail) for tail in self._segment(rest[1:], text[cut:], within)]
        return out

    def _group(self, names: tuple[str, ...], text: str, within: Reading) -> tuple[Reading, ...]:
        """Ways to read fields that a space, hyphen or underscore divides."""
        name, *rest = names
        if not rest:
            level = self._level(name, text, within)
            return () if level is None else (((name, level),),)
        out: dict[Reading, None] = {}
        anywhere = self._closed(name) and self._closed(rest[0])
        for cut in range(1, len(text)):
            if not anywhere and text[cut] not in _SEPARATORS:
                continue
            level = self._level(name, text[:cut].rstrip(_SEPARATORS), within)
            if level is not None:
                tails = self._read(tuple(rest), text[cut:].lstrip(_SEPARATORS), within)
                out.update(dict.fromkeys(((name, level), *tail) for tail in tails))
        return tuple(out)

    def _misfits(self, pieces: Sequence[str | tuple[str, ...]], text: str, within: Reading) -> Iterator[Misfit]:
        fixed, *rest = pieces
        if not rest or not text.lower().startswith(str(fixed).lower()):
            return
        text, group, following = text[len(fixed) :], rest[0], str(rest[1])
        for cut in _places(text.lower(), following.lower()) if len(rest) > 2 else [len(text) - len(following)]:
            if self._read(tuple(group), text[:cut], within):
                deeper = self._misfits(rest[1:], text[cut:], within)
                yield from (misfit._replace(fields=misfit.fields + len(group)) for misfit in deeper)
            else:
                yield from self._group_misfits(tuple(group), text[:cut], within)

    def _group_misfits(self, names: tuple[str, ...], text: str, within: Reading) -> Iterator[Misfit]:
        name, *rest = names
        cuts = [at for at, letter in enumerate(text) if letter in _SEPARATORS] if rest else []
        for cut in cuts:
            if self._level(name, text[:cut], within) is None:
                yield self._unknown(name, text[:cut], within)
            else:
                deeper = self._group_misfits(tuple(rest), text[cut:].lstrip(_SEPARATORS), within)
                yield from (misfit._replace(fields=misfit.fields + 1) for misfit in deeper)
        if not rest and self._level(name, text, within) is None:
            yield self._unknown(name, text, within)

    def _unknown(self, name: str, text: str, within: Reading) -> Misfit:
        spellings = dict(self._levels[name].listed(within)) if name in self._levels else {}
        near = [(SequenceMatcher(None, folded(text), folded(spelling)).ratio(), spelling) for spelling in spellings]
        nearness, spelling = max(near, key=lambda pair: pair[0], default=(0.0, ""))
        levels = list(dict.fromkeys(spellings.values()))
        more = f" and {len(levels) - _LISTED} more" if len(levels) > _LISTED else ""
        hint = (
            f", did you mean {spelling!r}?" if nearness >= _NEAR else f"; there are {', '.join(levels[:_LISTED])}{more}"
        )
        label = re.sub(r"_[12]$", "", name).replace("_", " ")
        return Misfit(0, 0, nearness, f"unknown {label} {text!r}{hint if levels else ''}")


def read_folder(
    root: Path,
    patterns: Sequence[str],
    levels: Mapping[str, Levels],
    folders: Sequence[str] = ("",),
    *,
    strict: bool = True,
) -> pl.DataFrame:
    """List the pictures of a folder by what their paths say.

    `patterns`: the first that a path matches says what it shows. `levels`: of fields of any of them. `folders`: those
    below the root that are looked at, in this order. `strict`: whether a picture that matches nothing is an error; else
    it is passed over. Hidden files and folders, and files that are no pictures by their names, always are.

    Returns text columns, a row per picture, sorted by path, or by the number that a field `n` holds: `image` and `path`
    (relative to the root), `identity` (its field; else the set's, else the image), `set` (its field; else null), and
    all other fields, null where a pattern lacks one.

    Raises
    ------
    DataError
        Pictures that match nothing or in several ways, counted, the first ones named with the nearest level; two
        pictures of the same; none at all.
    """
    forms = [PathPattern(text, {name: levels[name] for name in levels if f"{{{name}}}" in text}) for text in patterns]
    fields = list(dict.fromkeys(name for form in forms for name in form.fields))
    rows: list[tuple[str | None, ...]] = []
    wrong: list[str] = []
    for path in _paths(root, folders):
        stem = path.rpartition(".")[0]
        readings = next((readings for form in forms if (readings := form.readings(stem))), [])
        if len(readings) == 1:
            reading = dict(readings[0])
            rows.append((path, *map(reading.get, fields)))
        elif strict:
            wrong.append(path)
    if wrong:
        misfits = [max(form.misfit(path.rpartition(".")[0]) for form in forms).text for path in wrong[:_SHOWN]]
        listed = "; ".join(f"{path}: {misfit}" for path, misfit in zip(wrong, misfits, strict=False))
        more = f"; and {len(wrong) - _SHOWN:,} more" if len(wrong) > _SHOWN else ""
        files = "1 file" if len(wrong) == 1 else f"{len(wrong):,} files"
        end = "" if listed.endswith("?") and not more else "."
        raise DataError(f"{root}: {files} with names that are not understood: {listed}{more}{end}")
    if not rows:
        raise DataError(f"{root}: holds no pictures {' or '.join(patterns)}, such as {_example(forms[0], levels)}.")
    if NUMBER in fields:
        rows.sort(key=lambda row: natural(str(row[0])))
    frame = pl.DataFrame(rows, schema=dict.fromkeys(("path", *fields), pl.String()), orient="row")
    _refuse_twice(frame, fields)
    nothing = pl.lit(None, pl.String)
    identity = next((name for name in ("identity", "set") if name in fields), "path")
    return frame.select(
        pl.col("path").alias("image"),
        "path",
        pl.col(identity).alias("identity"),
        (pl.col("set") if "set" in fields else nothing).alias("set"),
        *(name for name in fields if name not in ("identity", "set", NUMBER)),
    )


def group_counts(frame: pl.DataFrame, levels: Mapping[str, Iterable[str]]) -> pl.DataFrame:
    """Count the pictures of each combination of levels, those without any among them.

    `levels`: by factor, those that there may be; others that the frame has follow. Returns the factors and `images`.

    Examples
    --------
    >>> frame = pl.DataFrame({"race": ["a", "b"], "gender": ["female", "male"]})
    >>> group_counts(frame, {"race": (), "gender": ["male"]})["images"].to_list()
    [0, 1, 1, 0]
    """
    listed = []
    for name, declared in levels.items():
        if name not in frame.columns:
            raise UnknownNameError("factor of the manifest", name, frame.columns)
        listed.append(dict.fromkeys([*declared, *frame[name].drop_nulls().unique(maintain_order=True)]))
    crossed = pl.DataFrame(list(product(*listed)), schema=dict.fromkeys(levels, pl.String), orient="row")
    counts = frame.group_by(list(levels)).agg(images=pl.len().cast(pl.Int64))
    joined = crossed.join(counts, on=list(levels), how="left", maintain_order="left")
    return joined.with_columns(pl.col("images").fill_null(0))


def _paths(root: Path, folders: Sequence[str]) -> Iterator[str]:
    if not root.is_dir():
        raise DataError(f"{root}: is not a folder with pictures.")
    seen = 0
    for folder in folders:
        if not (root / folder).is_dir():
            continue
        for path in files_below(root / folder, SUFFIXES, MAX_FILES + 1, "pictures", follow=True):
            seen += 1
            if seen > MAX_FILES:
                raise DataError(f"{root}: more than {MAX_FILES:,} pictures. Read a part of them at a time.")
            yield f"{folder}/{path}" if folder else path


def _pieces(segment: str) -> list[str | tuple[str, ...]]:
    """Fixed texts, and between them groups of fields that a single space, hyphen or underscore divides."""
    fixed, *rest = _FIELD.split(segment)
    pieces: list[str | tuple[str, ...]] = [fixed]
    group: tuple[str, ...] = ()
    for name, after in zip(rest[::2], rest[1::2], strict=True):
        group = (*group, name)
        if len(after) != 1 or after not in _SEPARATORS or name == rest[-2]:
            pieces += [group, after]
            group = ()
    return pieces


def _places(text: str, fixed: str) -> Iterator[int]:
    at = text.find(fixed)
    while at >= 0:
        yield at
        at = text.find(fixed, at + 1)


def _example(form: PathPattern, levels: Mapping[str, Levels]) -> str:
    """A path that the pattern matches."""
    within = Reading()
    for name in form.fields:
        spellings = levels[name].listed(within) if name in levels else []
        within = (*within, (name, spellings[0][0] if spellings else "1" if name == NUMBER else name))
    return form.text.format_map(dict(within))


def _refuse_twice(frame: pl.DataFrame, fields: Sequence[str]) -> None:
    twice = frame.filter(pl.struct(fields).is_duplicated())
    if twice.is_empty():
        return
    same = twice.join(twice.head(1).select(fields), on=fields, nulls_equal=True)["path"].to_list()
    levels = ", ".join(level for level in twice.select(fields).row(0) if level is not None)
    raise DataError(f"{' and '.join(same[:_SHOWN])} show the same: {levels}. Keep one.")
