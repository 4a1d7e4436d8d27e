"""A manifest guessed from words in the names of folders and files: nothing is opened; what cannot be told is said."""

import os
import re
import unicodedata
from collections import Counter, defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from difflib import get_close_matches
from pathlib import Path, PurePosixPath
from typing import NamedTuple

from facevalue.errors import DataError
from facevalue.stimuli.manifest import SUFFIXES
from facevalue.stimuli.manifest_rows import Column, person_numbers

Words = tuple[str, ...]
Phrases = Mapping[str, str]
"""From the words of a spelling, written together, to its level."""
GROUPS: Mapping[str, tuple[tuple[str, ...], ...]] = {
    "gender": (
        ("female", "woman", "women", "girl", "lady", "ladies", "f"),
        ("male", "man", "men", "boy", "guy", "m"),
        ("nonbinary", "non-binary", "enby"),
    ),
    "age": (
        ("child", "kid", "children"),
        ("teenager", "teen", "adolescent"),
        ("young", "young adult", "youth"),
        ("middle-aged", "middle age", "mid-aged"),
        ("old", "elderly", "senior", "older"),
        *((span,) for span in ("0-2", "3-9", "10-19", "20-29", "30-39", "40-49", "50-59", "60-69")),
        ("more than 70", "70+"),
    ),
    "race": (
        ("asian",),
        ("east asian",),
        ("southeast asian",),
        ("black", "african american", "african-american", "african"),
        ("indian", "south asian"),
        ("latino", "hispanic", "latina", "latine", "latinx", "latino hispanic"),
        ("middle-eastern", "arab"),
        ("white", "caucasian", "european"),
        ("native american", "indigenous"),
    ),
}
"""Words for how people are perceived, by column; those of a group mean the same, and the first is the level of a study
that has none of them."""
_ALIKE = {"ethnicity": "race"}
_WORD = re.compile(r"[^\W\d_]+|\d+")
_CASES = re.compile(r"(?<=[a-z])(?=[A-Z])")
_LONGEST = 8


class Match(NamedTuple):
    """A level among words: from which word to before which."""

    start: int
    stop: int
    level: str


def words_of(text: str) -> Words:
    """Words and numbers of a name, in small letters; "BlackWoman_01" has three.

    Examples
    --------
    >>> words_of("BlackWoman_01")
    ('black', 'woman', '01')
    """
    return tuple(word.casefold() for word in _WORD.findall(_CASES.sub(" ", unicodedata.normalize("NFC", text))))


def join_words(words: Sequence[str]) -> str:
    """Words written together, so that "sun glasses" is "sunglasses"; numbers stay apart, as "0-2" is not "02".

    Examples
    --------
    >>> join_words(("sun", "glasses")), join_words(("20", "29"))
    ('sunglasses', '20 29')
    """
    return "".join(
        f" {word}" if at and word.isdigit() and words[at - 1].isdigit() else word for at, word in enumerate(words)
    )


def phrases_of(column: Column) -> dict[str, str]:
    """Spellings of a column's levels by their words, written together, and plurals: "sun glasses" is "sunglasses".

    Examples
    --------
    >>> phrases_of(Column("gender", "", levels=lambda: {"Women": ()}))["female"]
    'Women'
    """
    spelled = {level: (level, *others) for level, others in column.levels().items()}
    groups = GROUPS.get(_ALIKE.get(column.name, column.name), ()) if column.role != "cue" else ()
    joined = {level: {join_words(words_of(text)) for text in texts} for level, texts in spelled.items()}
    for group in groups:
        same = [join_words(words_of(text)) for text in group]
        owners = [level for level, texts in joined.items() if texts & set(same)]
        if len(owners) < 2:
            owner = owners[0] if owners else group[0]
            spelled[owner] = (*spelled.get(owner, (owner,)), *group)
    out: dict[str, str] = {}
    for level, texts in spelled.items():
        out |= {join_words(words_of(text)): out.get(join_words(words_of(text)), level) for text in texts[1:]}
    out |= {join_words(words_of(level)): level for level in spelled}
    for phrase, level in list(out.items()):
        out.setdefault(f"{phrase[:-1]}ies" if phrase.endswith("y") else f"{phrase}s", level)
    out.pop("", None)
    return out


def matches(words: Sequence[str], phrases: Phrases) -> list[Match]:
    """Levels among words, those of the longest phrases first; no word belongs to two.

    Examples
    --------
    >>> matches(("red", "hair", "cap"), {"redhair": "red", "hair": "hair", "cap": "cap"})
    [Match(start=0, stop=2, level='red'), Match(start=2, stop=3, level='cap')]
    """
    taken: set[int] = set()
    out = []
    for start, stop in _spans(len(words)):
        level = phrases.get(join_words(words[start:stop]))
        if level is not None and taken.isdisjoint(range(start, stop)):
            taken.update(range(start, stop))
            out.append(Match(start, stop, level))
    return out


def _spans(count: int) -> Iterator[tuple[int, int]]:
    for size in range(min(count, _LONGEST), 0, -1):
        for start in range(count - size + 1):
            yield start, start + size


# Ages among the numbers of the names of files: a place in the name whose numbers are ages and count nothing.


YOUNGEST, OLDEST = 1, 116
_STATED = re.compile(
    r"(?<![^\W_])(?:aged?[\s_\-]*(\d{1,3})|(\d{1,3})[\s_\-]*(?:yo|y|yrs?|years?)(?:[\s_\-]*old)?)(?![^\W_])",
    re.IGNORECASE,
)
_NUMBER = re.compile(r"[1-9]\d{0,2}")


class Ages(NamedTuple):
    """Ages by path, whether names call them so, and which numbers of a path might be one where that cannot be told."""

    by_path: Mapping[str, str]
    stated: bool
    unsure: Mapping[str, tuple[str, ...]]


def ages_in(paths: Sequence[str]) -> Ages:
    """Find ages in names: those that say so ("25yo", "age 25"), else the only place of numbers that count nothing.

    Numbers count where those of names that are otherwise alike run from 0 or 1, or all of them do. Where several places
    could hold ages, none is taken.

    Examples
    --------
    >>> ages_in(["asian_25_0.jpg", "asian_25_1.jpg", "asian_60_0.jpg", "asian_60_1.jpg"]).by_path["asian_60_1.jpg"]
    '60'
    >>> ages_in(["face 1.jpg", "face 2.jpg"]).by_path
    {}
    """
    stems = {path: path.rpartition(".")[0] for path in paths}
    stated = {path: match for path, stem in stems.items() if (match := _STATED.search(stem))}
    if stated:
        return Ages({path: str(int(match[1] or match[2])) for path, match in stated.items()}, True, {})
    places: dict[tuple[int, int, int], dict[str, tuple[str, str]]] = {}
    for path, stem in stems.items():
        for place, number, surroundings in _numbers(stem):
            places.setdefault(place, {})[path] = (number, surroundings)
    able = [of_paths for of_paths in places.values() if _may_be_ages(of_paths)]
    numbers = {path: tuple(of[path][0] for of in able if path in of) for path in paths}
    return Ages(
        {path: able_numbers[0] for path, able_numbers in numbers.items() if len(able_numbers) == 1},
        False,
        {path: able_numbers for path, able_numbers in numbers.items() if len(able_numbers) > 1},
    )


def _numbers(stem: str) -> list[tuple[tuple[int, int, int], str, str]]:
    """Numbers of a file's name, and of folders that are one: where each stands, and all that stands besides."""
    out = []
    segments = stem.split("/")
    for depth, segment in enumerate(reversed(segments)):
        words = words_of(segment)
        at = [place for place, word in enumerate(words) if word.isdigit()]
        if depth and len(words) > 1:
            continue
        for rank, place in enumerate(at):
            surroundings = "/".join([*segments[: len(segments) - 1 - depth], *words[:place], "", *words[place + 1 :]])
            out.append(((depth, len(at), rank), words[place], surroundings))
    return out


def _may_be_ages(of_paths: Mapping[str, tuple[str, str]]) -> bool:
    """Return whether the numbers at one place are all plausible ages of people, and do not count files."""
    if not all(_NUMBER.fullmatch(number) and YOUNGEST <= int(number) <= OLDEST for number, _ in of_paths.values()):
        return False
    alike: dict[str, set[int]] = {}
    for number, surroundings in of_paths.values():
        alike.setdefault(surroundings, set()).add(int(number))
    everything = set().union(*alike.values())
    counted = sum(len(numbers) for numbers in alike.values() if _counts(numbers))
    return not _counts(everything) and counted * 2 < sum(map(len, alike.values()))


def _counts(numbers: set[int]) -> bool:
    return min(numbers) <= 1 and max(numbers) - min(numbers) < len(numbers)


# Sets among the names of files: pictures whose names are alike but for who is shown.


MOST_TWICE = 0.1
"""Share of pictures whose group may be there twice in a set: someone's mistakes, of which a check tells."""


def sets_in(groups: Mapping[str, Words], rests: Mapping[str, Words]) -> dict[str, str]:
    """The set of each picture: what is left of its path without the words for who is shown, or else its folder.

    `groups`: of each path, the words for who is shown; few sets have one group twice. `rests`: the other words of the
    path. No set is found where fewer than half of the pictures would have another beside them.

    Examples
    --------
    >>> groups = {"set0/a man.png": ("man",), "set0/a woman.png": ("woman",)}
    >>> sets_in(groups, dict.fromkeys(groups, ("set", "0", "a")))
    {'set0/a man.png': 'set0', 'set0/a woman.png': 'set0'}
    """
    paths = list(groups)
    folders = {path: PurePosixPath(path).parent.as_posix() for path in paths}
    if set(folders.values()) != {"."} and _tells_apart(folders, groups):
        return _short(folders)
    names = {path: "-".join(rests[path]) for path in paths}
    if _tells_apart(names, groups):
        return {path: name or "1" for path, name in names.items()}
    if len(set(folders.values())) > 1 and _mates(folders) * 2 >= len(paths):
        return _short(folders)
    return {}


def _tells_apart(sets: Mapping[str, str], groups: Mapping[str, Words]) -> bool:
    """Return whether hardly any set has a group twice, and most pictures are beside others."""
    kinds = Counter((sets[path], group) for path, group in groups.items())
    twice = sum(count for count in kinds.values() if count > 1)
    return twice <= MOST_TWICE * len(sets) and _mates(sets) * 2 >= len(sets) and all(groups.values())


def _mates(sets: Mapping[str, str]) -> int:
    return sum(count for count in Counter(sets.values()).values() if count > 1)


def _short(folders: Mapping[str, str]) -> dict[str, str]:
    """Folders by their own names, or by all that they lie in where two are called alike."""
    by_name = defaultdict(set)
    for folder in folders.values():
        by_name[PurePosixPath(folder).name].add(folder)
    return {
        path: PurePosixPath(folder).name if len(by_name[PurePosixPath(folder).name]) == 1 else folder.replace("/", "-")
        for path, folder in folders.items()
    }


def words_left(paths: Sequence[str], rests: Mapping[str, Sequence[Words]]) -> dict[str, str]:
    """A level of each path from the words that nothing explains, nearest to the file's name, if paths share levels.

    `rests`: of each path, what is left of its name, then of its folders outwards.

    Examples
    --------
    >>> rests = {"a.png": [("nurse",)], "b.png": [("nurse", "photo")], "c.png": [("cook",)], "d.png": [("cook",)]}
    >>> words_left(list(rests), rests)
    {'a.png': 'nurse', 'b.png': 'nurse', 'c.png': 'cook', 'd.png': 'cook'}
    """
    left = {path: next((text for words in rests[path] if (text := _meaningful_words(words))), "") for path in paths}
    counts = Counter(left.values())
    counts.pop("", None)
    return {p: text for p, text in left.items() if text} if 0 < len(counts) * 2 <= counts.total() else {}


_SAYS_NOTHING = frozenset((
    "img", "image", "images", "photo", "photos", "picture", "pictures", "pic", "pics", "face", "faces", "person",
    "people", "copy", "set", "sets", "group", "the", "a", "an", "of", "and", "as", "with", "no", "nr", "v", "final",
    "dsc", "aged", "age", "years", "year", "old", "yo",
))  # fmt: skip


def _meaningful_words(words: Words) -> str:
    return " ".join(word for word in words if not word.isdigit() and word not in _SAYS_NOTHING)


MOST_PICTURES = 1_000_000
BASE = frozenset(("base", "baseline", "original", "neutral", "plain", "control", "reference", "none", "before"))
"""Words by which people call the picture that others are compared with."""
NOT_READ = frozenset((".heic", ".heif", ".avif", ".tif", ".tiff", ".bmp", ".jfif", ".svg", ".psd", ".dng", ".cr2"))
"""Names of pictures that are not read."""
COMMON = (
    Column("identity", "whose picture it is", role="unit"),
    Column("variation", "what was changed; empty for the base picture", role="cue"),
    Column("gender", "as perceived"),
    Column("age", "as perceived"),
    Column("race", "as perceived"),
)
"""What is looked for where no study says."""
AGE, OCCUPATION = "age", "occupation"
"""Columns whose levels may be a number of a name, or words of it that nothing else explains."""

LEAST, MOST_MISSPELT = 4, 20
"""Letters of a word that may be misspelt, and words that are named as such."""
_BETWEEN = re.compile(r"--|[\W_]+(?:vs|versus)[\W_]+", re.IGNORECASE)
_APART = re.compile(r"[\s_\-.,()]+")


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
    misspelt: dict[str, str] = field(default_factory=dict)
    """Words that are nearly those of a level that a name lacks, and what they may mean."""
    unsure: dict[str, tuple[int, str]] = field(default_factory=dict)
    """Columns of which names say several levels, so that cells are empty: in how many, and one of them."""


def guess(folder: Path, columns: Sequence[Column] = COMMON, file: Path | None = None) -> Guess:
    """Guess a manifest of the pictures in a folder, however deep; links are not followed. `file`: where it will be."""
    if not folder.is_dir():
        raise DataError(f"There is no folder {folder}.")
    out = Guess()
    paths = sorted(_pictures(folder, out, file))
    if not paths:
        others = "".join(
            f" {count:,} {reason}, such as {example}." for reason, (count, example) in out.left_out.items()
        )
        raise DataError(f"{folder} holds no picture that ends in one of {', '.join(SUFFIXES)}.{others}")
    out.rows = _Names(paths, columns, out).rows()
    used = {name for row in out.rows for name, text in row.items() if text}
    order = ["path", *(name for c in columns for name in (c.name, f"{c.name}_1", f"{c.name}_2"))]
    needed = {column.name for column in columns if column.needed and not used.issuperset(column.instead or ("",))}
    factors = [column.name for column in columns if not column.name.startswith(("identity", "set"))]
    bare = not needed and used.isdisjoint(factors)  # then the list begins with all that may be filled in
    out.columns = [name for name in order if name in used or name in needed or (bare and name in factors)]
    return out


def _pictures(folder: Path, out: Guess, file: Path | None) -> Iterator[str]:
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
            if Path(place, name) == file:
                continue
            if name.startswith("."):
                leave("hidden", path)
            elif suffix in NOT_READ:
                leave("pictures of a kind that is not read (save them as PNG or JPEG)", path)
            elif suffix not in SUFFIXES:
                leave("other files", path)
            elif not path.isprintable():
                leave("files with a name that no manifest can hold", ascii(path))
            elif Path(place, name).is_symlink():
                leave("links, not followed", path)
            else:
                count += 1
                if count > MOST_PICTURES:
                    raise DataError(f"{folder} holds more than {MOST_PICTURES:,} pictures: list a part of it.")
                yield path


class _Names:
    """Names of pictures that are read for a study's columns."""

    def __init__(self, paths: Sequence[str], columns: Sequence[Column], out: Guess) -> None:
        self._paths, self._columns, self._out = paths, columns, out
        self._phrases = {column.name: phrases_of(column) for column in columns}
        self._units = _units(paths, columns, self._phrases)
        self._understood: dict[str, set[str]] = {column.name: set() for column in columns}
        """By column, words that were compared with those of its levels already."""
        self._left: dict[str, list[list[str | None]]] = {}
        """Of each path its words, those of the name first, then of its folders; None where they say a level."""
        self._varied: dict[str, list[str]] = {path: [] for path in paths}
        """Of each path, the levels of what pictures of a unit differ in."""

    def rows(self) -> list[dict[str, str]]:
        """A row of the manifest for each picture; persons have numbers, as files may be called by names."""
        rows = {path: self._row(path) for path in self._paths}
        if any(column.name == AGE for column in self._columns):
            self._add_ages(rows)
        if any(column.name == OCCUPATION for column in self._columns):
            self._add_words(OCCUPATION, rows)
        self._add_sets(rows)
        for column in self._columns:
            if column.role == "group" and column.needed and not self._phrases[column.name]:
                self._add_words(column.name, rows, segments=1)
        for row in rows.values():
            for column in self._columns:
                level = column.level_of(row) if not column.role and column.name not in row else None
                if level is not None:
                    row[column.name] = level
        for path in self._paths:
            self._add_misspelt(path, rows[path])
        for name in (column.name for column in self._columns if column.role == "unit" and column.name != "set"):
            numbers = person_numbers(row.get(name) or None for row in rows.values())
            for row, number in zip(rows.values(), numbers, strict=True):
                if number is not None:
                    row[name] = number
        return [{name: text.lstrip("=+-@") for name, text in r.items()} | {"path": r["path"]} for r in rows.values()]

    def _row(self, path: str) -> dict[str, str]:
        row: dict[str, str] = {"path": f"./{path}" if path[0] in "=+-@" else path}
        identity, change = self._units.get(path, ("", ""))
        *folders, name = path.rpartition(".")[0].split("/")
        words = [words_of(segment) for segment in (name, *reversed(folders))]
        self._left[path] = [list(of_segment) for of_segment in words]
        for column in self._columns:
            if column.role == "unit" and path in self._units:
                row[column.name] = identity
            elif column.role == "cue":
                row[column.name] = _level(change, column, self._phrases[column.name], self._out)
        # What was changed says nothing of who is shown: black hair is no race.
        changed = len(words_of(change)) if change and words[0][-len(words_of(change)) :] == words_of(change) else 0
        for column in self._columns:
            if column.role in ("unit", "cue") or not row.keys().isdisjoint({column.name, f"{column.name}_1"}):
                continue
            of_cue = not changed or column.tells_cue
            sought = words if of_cue else [words[0][:-changed], *words[1:]]
            row |= self._levels(path, name, column, sought)
        return row

    def _levels(self, path: str, name: str, column: Column, words: Sequence[Words]) -> dict[str, str]:
        """A column's level in the name of a file or of its folders, the nearest first; or one of either side."""
        phrases = self._phrases[column.name]
        halves = _BETWEEN.split(name) if column.paired else []
        if len(halves) == 2:
            sides = [hits[0].level if (hits := matches(words_of(half), phrases)) else "" for half in halves]
            if sides[0] and sides[1] and sides[0] != sides[1]:
                return {f"{column.name}_1": sides[0], f"{column.name}_2": sides[1]}
        for depth, of_segment in enumerate(words):
            hits = matches(of_segment, phrases)
            levels = dict.fromkeys(match.level for match in hits)
            if len(levels) > 1:
                self._doubt(column.name, path, tuple(levels))
            if hits:
                self._use(path, depth, column, hits)
                return {column.name: hits[0].level} if len(levels) == 1 else {}
        return {}

    def _use(self, path: str, depth: int, column: Column, hits: Sequence[Match]) -> None:
        for match in hits:
            self._left[path][depth][match.start : match.stop] = [None] * (match.stop - match.start)
        if column.role == "group":
            self._varied[path].append(hits[0].level)

    def _doubt(self, column: str, path: str, levels: Sequence[str]) -> None:
        count, first = self._out.unsure.get(column, (0, f"{path} ({' or '.join(levels)})"))
        self._out.unsure[column] = (count + 1, first)

    def _add_misspelt(self, path: str, row: Mapping[str, str]) -> None:
        """Note words that nothing explains and that are nearly those of a level, where the name says none."""
        words = {word for left in self._left[path] for word in left if word and len(word) >= LEAST and word.isalpha()}
        for column in self._columns if len(self._out.misspelt) < MOST_MISSPELT else ():
            if column.role not in ("unit", "cue") and not row.get(column.name):
                new = words - self._out.misspelt.keys() - self._understood[column.name]
                self._understood[column.name] |= new
                for word in sorted(new):
                    if near := get_close_matches(word, self._phrases[column.name], n=1, cutoff=0.8):
                        self._out.misspelt[word] = near[0]

    def _add_ages(self, rows: Mapping[str, dict[str, str]]) -> None:
        ages = ages_in(self._paths)
        if not ages.stated:  # then words come before numbers
            ages = ages_in([path for path in self._paths if not rows[path].get(AGE)])
        for path, age in ages.by_path.items():
            rows[path][AGE] = age
        for path, numbers in ages.unsure.items():
            self._doubt(AGE, path, numbers)

    def _add_words(self, column: str, rows: Mapping[str, dict[str, str]], segments: int | None = None) -> None:
        """Fill a column with words of names, or of so many segments from the name outwards, that nothing explains."""
        rests = {p: [tuple(w for w in words if w) for words in left[:segments]] for p, left in self._left.items()}
        for path, text in words_left([p for p in self._paths if not rows[p].get(column)], rests).items():
            rows[path][column] = text

    def _add_sets(self, rows: Mapping[str, dict[str, str]]) -> None:
        unit = next((c.name for c in self._columns if c.role == "unit"), "")
        if not unit or self._units:
            return
        groups = {path: tuple(levels) for path, levels in self._varied.items()}
        rests = {path: tuple(w for words in reversed(left) for w in words if w) for path, left in self._left.items()}
        for path, name in sets_in(groups, rests).items():
            rows[path][unit] = name


def _units(
    paths: Sequence[str], columns: Sequence[Column], phrases: Mapping[str, Phrases]
) -> dict[str, tuple[str, str]]:
    """Unit of each picture, and what was changed: a folder each, a folder per change, or a name that goes on."""
    unit = next((column for column in columns if column.role == "unit"), None)
    if unit is None:
        return {}
    cue = next((column for column in columns if column.role == "cue"), None)
    base = BASE | set(words_of(cue.base if cue else ""))
    stem = {path: PurePosixPath(path).stem for path in paths}
    place = {path: str(PurePosixPath(path).parent) for path in paths}
    if cue is None:
        alone = unit.name == "identity"  # pictures of a set have something in common, and are found by that
        return {path: (_join_path(path.rpartition(".")[0]), "") for path in paths} if alone else {}
    if all(place[path] != "." for path in paths):
        stems, places = Counter(stem.values()), set(place.values())
        based = [folder for folder in places if _is_base(PurePosixPath(folder).name, base)]
        if based and len(places) > len(based):
            return {path: (stem[path], _change(PurePosixPath(place[path]).name, base)) for path in paths}
        shared = sum(count for count in stems.values() if count > 1)
        if any(_is_base(name, base) for name in stems) or (len(places) > 1 and shared * 2 >= len(paths)):
            names = Counter(PurePosixPath(folder).name for folder in places)
            identities = {
                w: PurePosixPath(w).name if names[PurePosixPath(w).name] == 1 else _join_path(w) for w in places
            }
            return {path: (identities[place[path]], _change(stem[path], base)) for path in paths}
    cut = {path: _without_base(stem[path], base) for path in paths}
    stem_of_words = {(place[path], words_of(cut[path])): cut[path] for path in paths}
    levels = phrases[cue.name]
    out = {}
    for path in paths:
        words = words_of(cut[path])
        sizes = range(len(words) - 1, 0, -1)
        size = next((n for n in sizes if (place[path], words[:n]) in stem_of_words), None)
        if size is None:
            size = next((n for n in reversed(sizes) if "".join(words[n:]) in levels), len(words))
        name = stem_of_words.get((place[path], words[:size]), "-".join(words[:size]))
        inner = "" if place[path] == "." else f"{_join_path(place[path])}-"
        out[path] = (f"{inner}{name}", "-".join(words[size:]))
    return out


def _join_path(path: str) -> str:
    return path.replace("/", "-")


def _is_base(name: str, base: frozenset[str]) -> bool:
    words = [word for word in words_of(name) if not word.isdigit()]
    return bool(words) and all(word in base for word in words)


def _change(name: str, base: frozenset[str]) -> str:
    return "" if _is_base(name, base) else "-".join(words_of(name))


def _without_base(stem: str, base: frozenset[str]) -> str:
    pieces = _APART.split(stem)
    while len(pieces) > 1 and pieces[-1].casefold() in base:
        pieces.pop()
    return stem if len(pieces) == len(_APART.split(stem)) else "-".join(pieces)


def _level(cue: str, column: Column, phrases: Phrases, out: Guess) -> str:
    """Level of the change in the study's own words; as in the name of the file where the study has none."""
    if not cue:
        return column.base
    hits = matches(words_of(cue), phrases)
    if not hits and phrases and cue not in out.unknown:
        out.unknown.append(cue)
    return hits[0].level if hits else cue
