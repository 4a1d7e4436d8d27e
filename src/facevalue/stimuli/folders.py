"""Pictures in folders: listed in an order that any machine gives, and what the names of their paths say.

A pattern is a path without its ending, with a field in braces for each thing that differs. A field has levels, each
perhaps with other spellings, or none, and then holds any text. Case, spaces, hyphens and underscores make no
difference in levels, and a single space, hyphen or underscore between two fields may be any of them. A name with
hyphens of its own is cut where all its pieces are known. What matches nothing, or in two ways, is never guessed.
"""

import os
import re
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from difflib import SequenceMatcher, get_close_matches
from functools import lru_cache, partial
from itertools import islice, product
from pathlib import Path
from typing import NamedTuple

import polars as pl

from facevalue.errors import DataError, UnknownNameError
from facevalue.stimuli.manifest import RESERVED, SUFFIXES

MAX_FILES = 1_000_000
"""Most files below a folder."""
_LISTED = 10_000
_DIGITS = re.compile(r"(\d+)")


def files_below(
    root: Path, endings: tuple[str, ...] = ("",), limit: int = MAX_FILES, noun: str = "files", *, follow: bool = False
) -> Iterator[str]:
    """Paths of files with one of these endings, in any case, relative to the folder and sorted within each folder.

    Hidden files and folders are passed over, and so are links to folders; with `follow` they are followed, but for
    those to a folder above them, and one that leads out of the root is an error.
    """
    if not root.is_dir():
        raise DataError(f"{root} is not a folder with pictures.")

    def unreadable(error: OSError) -> None:
        raise DataError(f"{error.filename}: cannot be read: {error.strerror}.") from error

    seen = 0
    for folder, folders, names in os.walk(root, onerror=unreadable, followlinks=follow):
        if follow and Path(folder).is_symlink() and Path(folder) != root:
            place = Path(folder).resolve()
            if not place.is_relative_to(root.resolve()):
                raise DataError(f"{folder}: a link that leads out of the folder with pictures.")
            if Path(folder).parent.resolve().is_relative_to(place):  # it would never end
                folders.clear()
                continue
        folders[:] = sorted(name for name in folders if not name.startswith("."))
        below = Path(folder).relative_to(root).as_posix()
        for name in sorted(names):
            if name.startswith(".") or not name.lower().endswith(endings):
                continue
            seen += 1
            if seen > limit:
                raise DataError(f"{root}: more than {limit:,} {noun}.")
            yield name if below == "." else f"{below}/{name}"


def nearest_file(root: Path, name: str, taken: Collection[str] = ()) -> str:
    """The file that a path below the root may mean, where it leads nowhere; "" if there is none like it.

    With slashes for backslashes, in another case, or of nearly that name; none of `taken`.
    """
    straight = name.replace("\\", "/")
    folder, _, last = straight.rpartition("/")
    place = root / folder
    try:
        if not place.resolve().is_relative_to(root.resolve()):
            return ""
        with os.scandir(place) as entries:
            names = sorted(entry.name for entry in islice(entries, _LISTED) if entry.is_file())
    except (OSError, ValueError):
        return ""
    paths = {name.casefold(): f"{folder}/{name}" if folder else name for name in names}
    near = get_close_matches(last.casefold(), paths, n=1, cutoff=0.8)
    return paths[near[0]] if near and paths[near[0]] not in taken else ""


def natural(path: str) -> list[tuple[int, str]]:
    """Key of a path that sorts 2 before 10."""
    return [(int(piece), "") if piece.isascii() and piece.isdigit() else (-1, piece) for piece in _DIGITS.split(path)]


NUMBER = "n"
"""The field that only tells pictures apart: it is no column, and pictures are in its order."""
MAX_PICTURES = 2_000_000
"""Most pictures below a folder."""

Spellings = Mapping[str, Sequence[str]]
"""Levels, each with other spellings of it. The level itself always is one."""
Reading = tuple[tuple[str, str], ...]
"""Fields and their levels, in the order of the pattern."""

Fields = tuple[tuple[str, str], ...]
"""Fields of a folder's or file's name, each with the fixed text that follows it."""

_SEPARATORS = " _-"
_FIELD = re.compile(r"\{([a-z][a-z0-9_]*)\}")
_APART = re.compile(r"[\s_\-]+")
_SHOWN_NAMES, _LISTED_LEVELS = 5, 12
_NEAR = 0.6  # from which a spelling is taken for the one that was meant


@dataclass(frozen=True)
class Levels:
    """Levels that a field may stand for.

    Attributes
    ----------
    spellings:
        Levels with their spellings, or a function from the levels of earlier folders to them.
    closed:
        Whether any other text is an error; else it is a level as it is written.
    """

    spellings: Spellings | Callable[[Mapping[str, str]], Spellings]
    closed: bool = True

    def list_spellings(self, within: Reading) -> list[tuple[str, str]]:
        """Return spellings as they are written, each with its level."""
        spellings = self.spellings(dict(within)) if callable(self.spellings) else self.spellings
        return [(text, level) for level, others in spellings.items() for text in (level, *others)]


class Segment(NamedTuple):
    """A folder or file of a pattern: what it begins with, and fields with the fixed text after each."""

    fixed: str
    fields: Fields


class Misfit(NamedTuple):
    """Mismatch of a path: how many fields match, how near the next one is to a level, and a sentence."""

    fields: int
    nearness: float
    text: str


@lru_cache(maxsize=2**16)
def fold_text(text: str) -> str:
    """Return a text without what makes no difference.

    >>> fold_text("Middle-Eastern Male") == fold_text("middle_eastern_male")
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
        self._segments = [_parse_segment(segment) for segment in text.split("/")]
        self._nested = any(callable(level.spellings) for level in levels.values())
        self._folded = lru_cache(maxsize=None)(self._table)
        self._read = lru_cache(maxsize=2**16)(self._match)
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
        for form, text in zip(self._segments, segments, strict=True):
            readings = [(*outer, *inner) for outer in readings for inner in self._segment(form, text, outer)]
        return readings

    def misfit(self, path: str) -> Misfit:
        """Say why a path does not match; the nearest of all attempts."""
        segments, within = path.split("/"), Reading()
        if len(segments) != len(self._segments):
            return Misfit(-1, 0.0, f"not a path {self.text}")
        for at, (form, text) in enumerate(zip(self._segments, segments, strict=True)):
            readings = self._segment(form, text, within)
            if not readings:
                failures: list[tuple[str, str]] = []
                if text.lower().startswith(form.fixed.lower()) and form.fields:
                    self._match(form.fields, text[len(form.fixed) :], self._context_of(within), failures)
                shape = self.text.split("/")[at]
                unknown = [self._unknown_level(*failure, self._context_of(within)) for failure in failures]
                return max([Misfit(len(within), -1.0, f"{text!r} is not {shape}"), *unknown])
            within = (*within, *readings[0])
        levels = (" ".join(level for _, level in reading) for reading in self.readings(path))
        return Misfit(len(self.fields), 0.0, f"could be {' or '.join(levels)}")

    def _context_of(self, reading: Reading) -> Reading:
        """Fields read so far that the levels of further fields may depend on."""
        return reading if self._nested else ()

    def _table(self, name: str, within: Reading) -> dict[str, str]:
        """Levels of a field by their folded spellings."""
        table: dict[str, str] = {}
        for text, level in self._levels[name].list_spellings(within):
            if table.setdefault(fold_text(text), level) != level:
                raise DataError(
                    f"{text!r} is {name} {table[fold_text(text)]!r} and {level!r}: one spelling of two levels."
                )
        return table

    def _is_closed(self, name: str) -> bool:
        return name in self._levels and self._levels[name].closed

    def _level(self, name: str, text: str, within: Reading) -> str | None:
        plain = text if text.strip(_SEPARATORS) else None
        if name not in self._levels:
            return plain
        return self._folded(name, within).get(fold_text(text), None if self._levels[name].closed else plain)

    def _segment(self, form: Segment, text: str, within: Reading) -> tuple[Reading, ...]:
        """Ways to read the name of a folder or file."""
        if not text.lower().startswith(form.fixed.lower()):
            return ()
        if not form.fields:
            return ((),) if len(text) == len(form.fixed) else ()
        return self._read(form.fields, text[len(form.fixed) :], self._context_of(within))

    def _match(
        self, fields: Fields, text: str, within: Reading, failures: list[tuple[str, str]] | None = None
    ) -> tuple[Reading, ...]:
        """Ways to read a text as these fields; what a field doesn't know goes to `failures`."""
        again = self._read if failures is None else partial(self._match, failures=failures)
        readings: dict[Reading, None] = {}
        for at, (name, after) in enumerate(fields[:-1]):
            if after in _SEPARATORS and len(after) == 1:
                continue
            for match in re.finditer(f"(?={re.escape(after)})", text, re.IGNORECASE):
                tail = text[match.start() + len(after) :]
                heads = again((*fields[:at], (name, "")), text[: match.start()], within)
                tails = again(fields[at + 1 :], tail, within) if heads else ()
                readings.update(dict.fromkeys((*head, *following) for head in heads for following in tails))
            return tuple(readings)
        (name, _), rest = fields[0], fields[1:]
        for head, tail, divided in self._cuts(fields, text):
            level = self._level(name, head, within)
            if level is not None:
                tails = again(rest, tail, within) if rest else ((),)
                readings.update(dict.fromkeys(((name, level), *following) for following in tails))
            elif failures is not None and divided:
                failures.append((name, head))
        return tuple(readings)

    def _cuts(self, fields: Fields, text: str) -> Iterator[tuple[str, str, bool]]:
        """Possible ends of the first field: its text, what follows, and whether a separator divides the two."""
        name, after = fields[0]
        if len(fields) == 1:
            if text.lower().endswith(after.lower()):
                yield text[: len(text) - len(after)], "", True
            return
        inside_words = self._is_closed(name) and self._is_closed(fields[1][0])
        for cut in range(1, len(text)):
            divided = text[cut] in _SEPARATORS
            if text[cut - 1] not in _SEPARATORS and (divided or inside_words):
                yield text[:cut], text[cut:].lstrip(_SEPARATORS), divided

    def _unknown_level(self, name: str, text: str, within: Reading) -> Misfit:
        spellings = dict(self._levels[name].list_spellings(within)) if name in self._levels else {}
        near = [
            (SequenceMatcher(None, fold_text(text), fold_text(spelling)).ratio(), spelling) for spelling in spellings
        ]
        nearness, spelling = max(near, key=lambda pair: pair[0], default=(0.0, ""))
        levels = list(dict.fromkeys(spellings.values()))
        more = f" and {len(levels) - _LISTED_LEVELS} more" if len(levels) > _LISTED_LEVELS else ""
        hint = (
            f", did you mean {spelling!r}?"
            if nearness >= _NEAR
            else f"; there are {', '.join(levels[:_LISTED_LEVELS])}{more}"
        )
        label = re.sub(r"_[12]$", "", name).replace("_", " ")
        return Misfit(self.fields.index(name), nearness, f"unknown {label} {text!r}{hint if levels else ''}")


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
        misfits = [max(form.misfit(path.rpartition(".")[0]) for form in forms).text for path in wrong[:_SHOWN_NAMES]]
        listed = "; ".join(f"{path}: {misfit}" for path, misfit in zip(wrong, misfits, strict=False))
        more = f"; and {len(wrong) - _SHOWN_NAMES:,} more" if len(wrong) > _SHOWN_NAMES else ""
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
        raise DataError(f"{root} is not a folder with pictures.")
    seen = 0
    for folder in folders:
        if not (root / folder).is_dir():
            continue
        for path in files_below(root / folder, SUFFIXES, MAX_PICTURES + 1, "pictures", follow=True):
            seen += 1
            if seen > MAX_PICTURES:
                raise DataError(f"{root}: more than {MAX_PICTURES:,} pictures. Read a part of them at a time.")
            yield f"{folder}/{path}" if folder else path


def _parse_segment(segment: str) -> Segment:
    fixed, *rest = _FIELD.split(segment)
    return Segment(fixed, tuple(zip(rest[::2], rest[1::2], strict=True)))


def _example(form: PathPattern, levels: Mapping[str, Levels]) -> str:
    """A path that the pattern matches."""
    within = Reading()
    for name in form.fields:
        spellings = levels[name].list_spellings(within) if name in levels else []
        within = (*within, (name, spellings[0][0] if spellings else "1" if name == NUMBER else name))
    return form.text.format_map(dict(within))


def _refuse_twice(frame: pl.DataFrame, fields: Sequence[str]) -> None:
    twice = frame.filter(pl.struct(fields).is_duplicated())
    if twice.is_empty():
        return
    same = twice.join(twice.head(1).select(fields), on=fields, nulls_equal=True)["path"].to_list()
    levels = ", ".join(level for level in twice.select(fields).row(0) if level is not None)
    raise DataError(f"{' and '.join(same[:_SHOWN_NAMES])} show the same: {levels}. Keep one.")
