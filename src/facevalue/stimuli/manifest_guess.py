"""A manifest guessed from the names of folders and files: nothing is opened, and what cannot be told is said."""

import os
import re
import unicodedata
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path, PurePosixPath

from facevalue.errors import DataError
from facevalue.stimuli.columns import Column
from facevalue.stimuli.manifest import SUFFIXES

MOST_PICTURES = 1_000_000
BASE = frozenset(("base", "baseline", "original", "neutral", "plain", "control", "reference", "none", "before"))
"""Words by which people call the picture that others are compared with."""
NOT_READ = frozenset((".heic", ".heif", ".avif", ".tif", ".tiff", ".bmp", ".jfif", ".svg", ".psd", ".dng", ".cr2"))
"""Names of pictures that are not read."""
COMMON = (
    Column("identity", "whose picture it is", role="unit"),
    Column("variation", "what was changed; empty for the base picture", role="cue"),
    Column("gender", "as perceived", levels=lambda: {"female": ("woman", "women"), "male": ("man", "men")}),
    Column(
        "age", "as perceived", levels=lambda: dict.fromkeys(("child", "teenager", "young", "middle-aged", "old"), ())
    ),
    Column(
        "race",
        "as perceived",
        levels=lambda: dict.fromkeys(("asian", "black", "latino", "white", "middle-eastern", "indian"), ()),
    ),
)
"""What is looked for where no study says."""

_WORD = re.compile(r"[^\W\d_]+|\d+")
_BETWEEN = re.compile(r"--|[\W_]+(?:vs|versus)[\W_]+", re.IGNORECASE)
_APART = re.compile(r"[\s_\-.,()]+")
_LONGEST = 8
Words = tuple[str, ...]


@dataclass
class Guess:
    """Manifest guessed from names of files."""

    columns: list[str] = field(default_factory=list)
    rows: list[dict[str, str]] = field(default_factory=list)
    """The manifest; cells that nothing is known of are empty."""
    left_out: dict[str, tuple[int, str]] = field(default_factory=dict)
    """Files that are not in it, by reason: how many, and one of them."""
    unknown: list[str] = field(default_factory=list)
    """Levels of a cue that are none of the study's."""


def guess(folder: Path, columns: Sequence[Column] = COMMON) -> Guess:
    """Guess a manifest of the pictures in a folder, however deep; links are not followed."""
    if not folder.is_dir():
        raise DataError(f"There is no folder {folder}.")
    out = Guess()
    paths = sorted(_pictures(folder, out))
    if not paths:
        others = "".join(
            f" {count:,} {reason}, such as {example}." for reason, (count, example) in out.left_out.items()
        )
        raise DataError(f"{folder} holds no picture that ends in one of {', '.join(SUFFIXES)}.{others}")
    units = _units(paths, columns)
    spoken = {column.name: _phrases(column) for column in columns}
    for path in paths:
        row: dict[str, str] = {"path": f"./{path}" if path[0] in "=+-@" else path}
        identity, cue = units.get(path, ("", ""))
        for column in columns:
            if column.role == "unit":
                row[column.name] = identity
            elif column.role == "cue":
                row[column.name] = _level(cue, column, spoken, out)
        plain = [column for column in columns if not column.role]
        for column in plain:
            if row.keys().isdisjoint({column.name, f"{column.name}_1"}):
                row |= _found(path, column, spoken[column.name])
        for column in plain:
            level = column.told(row) if column.name not in row else None
            if level is not None:
                row[column.name] = level
        out.rows.append({name: text.lstrip("=+-@") for name, text in row.items()} | {"path": row["path"]})
    used = {name for row in out.rows for name, text in row.items() if text}
    order = ["path", *(name for c in columns for name in (c.name, f"{c.name}_1", f"{c.name}_2"))]
    needed = {column.name for column in columns if column.needed and not used.issuperset(column.instead or ("",))}
    out.columns = [name for name in order if name in used or name in needed]
    return out


def _pictures(folder: Path, out: Guess) -> Iterator[str]:
    def leave(reason: str, name: str) -> None:
        count, first = out.left_out.get(reason, (0, name))
        out.left_out[reason] = (count + 1, first)

    def unreadable(error: OSError) -> None:
        leave("folders that cannot be read", str(error.filename))

    count = 0
    for place, folders, files in os.walk(folder, onerror=unreadable):
        links = [name for name in folders if Path(place, name).is_symlink()]
        hidden = [name for name in folders if name.startswith((".", "__MACOSX"))]
        folders[:] = sorted(set(folders).difference(links, hidden))
        for name in links:
            leave("links to folders, not followed", name)
        for name in hidden:
            leave("hidden", name)
        for name in files:
            path = Path(place, name).relative_to(folder).as_posix()
            suffix = PurePosixPath(name).suffix.lower()
            if name.startswith("."):
                leave("hidden", path)
            elif suffix in NOT_READ:
                leave("pictures of a kind that is not read (save them as PNG or JPEG)", path)
            elif suffix not in SUFFIXES:
                leave("no pictures", path)
            elif not path.isprintable():
                leave("files with a name that no manifest can hold", ascii(path))
            elif Path(place, name).is_symlink():
                leave("links, not followed", path)
            else:
                count += 1
                if count > MOST_PICTURES:
                    raise DataError(f"{folder} holds more than {MOST_PICTURES:,} pictures: list a part of it.")
                yield path


def _words(text: str) -> Words:
    return tuple(word.casefold() for word in _WORD.findall(unicodedata.normalize("NFC", text)))


def _phrases(column: Column) -> dict[str, str]:
    """Levels by their words, written together: "sun glasses" is "sunglasses"."""
    spelled = {"".join(_words(spelling)): level for level, others in column.levels().items() for spelling in others}
    return {**spelled, **{"".join(_words(level)): level for level in column.levels()}}


def _search(words: Words, phrases: Mapping[str, str]) -> str | None:
    """The level with the longest phrase among the words."""
    for size in range(min(len(words), _LONGEST), 0, -1):
        for start in range(len(words) - size + 1):
            if (phrase := "".join(words[start : start + size])) in phrases:
                return phrases[phrase]
    return None


def _found(path: str, column: Column, phrases: Mapping[str, str]) -> dict[str, str]:
    """A column's level in the name of a file or of its folders, the nearest first; or one of either side."""
    *folders, name = path.rpartition(".")[0].split("/")
    halves = _BETWEEN.split(name) if column.paired else []
    if len(halves) == 2:
        sides = [_search(_words(half), phrases) for half in halves]
        if sides[0] and sides[1] and sides[0] != sides[1]:
            return {f"{column.name}_1": sides[0], f"{column.name}_2": sides[1]}
    for segment in (name, *reversed(folders)):
        level = _search(_words(segment), phrases)
        if level is not None:
            return {column.name: level}
    return {}


def _units(paths: Sequence[str], columns: Sequence[Column]) -> dict[str, tuple[str, str]]:
    """Whose picture each is, and what was changed: a folder each, a folder per change, or a name that goes on."""
    if not any(column.role == "unit" for column in columns):
        return {}
    cue = next((column for column in columns if column.role == "cue"), None)
    base = BASE | set(_words(cue.base if cue else ""))
    stem = {path: PurePosixPath(path).stem for path in paths}
    place = {path: str(PurePosixPath(path).parent) for path in paths}
    if cue is None:
        return {path: (_joined(path.rpartition(".")[0]), "") for path in paths}
    if all(place[path] != "." for path in paths):
        stems, places = Counter(stem.values()), set(place.values())
        based = [folder for folder in places if _is_base(PurePosixPath(folder).name, base)]
        if based and len(places) > len(based):
            return {path: (stem[path], _change(PurePosixPath(place[path]).name, base)) for path in paths}
        shared = sum(count for count in stems.values() if count > 1)
        if any(_is_base(name, base) for name in stems) or (len(places) > 1 and shared * 2 >= len(paths)):
            names = Counter(PurePosixPath(folder).name for folder in places)
            identities = {w: PurePosixPath(w).name if names[PurePosixPath(w).name] == 1 else _joined(w) for w in places}
            return {path: (identities[place[path]], _change(stem[path], base)) for path in paths}
    cut = {path: _without_base(stem[path], base) for path in paths}
    stem_of_words = {(place[path], _words(cut[path])): cut[path] for path in paths}
    levels = _phrases(cue)
    out = {}
    for path in paths:
        words = _words(cut[path])
        sizes = range(len(words) - 1, 0, -1)
        size = next((n for n in sizes if (place[path], words[:n]) in stem_of_words), None)
        if size is None:
            size = next((n for n in reversed(sizes) if "".join(words[n:]) in levels), len(words))
        name = stem_of_words.get((place[path], words[:size]), "-".join(words[:size]))
        inner = "" if place[path] == "." else f"{_joined(place[path])}-"
        out[path] = (f"{inner}{name}", "-".join(words[size:]))
    return out


def _joined(path: str) -> str:
    return path.replace("/", "-")


def _is_base(name: str, base: frozenset[str]) -> bool:
    words = [word for word in _words(name) if not word.isdigit()]
    return bool(words) and all(word in base for word in words)


def _change(name: str, base: frozenset[str]) -> str:
    return "" if _is_base(name, base) else "-".join(_words(name))


def _without_base(stem: str, base: frozenset[str]) -> str:
    pieces = _APART.split(stem)
    while len(pieces) > 1 and pieces[-1].casefold() in base:
        pieces.pop()
    return stem if len(pieces) == len(_APART.split(stem)) else "-".join(pieces)


def _level(cue: str, column: Column, spoken: Mapping[str, Mapping[str, str]], out: Guess) -> str:
    """What was changed in the study's own words; as in the name of the file where it has none."""
    if not cue:
        return column.base
    phrases = spoken[column.name]
    level = _search(_words(cue), phrases)
    if level is None:
        if phrases and cue not in out.unknown:
            out.unknown.append(cue)
        return cue
    return level
