"""Sets among the names of files: pictures whose names are alike but for who is shown."""

from collections import Counter, defaultdict
from collections.abc import Mapping, Sequence
from pathlib import PurePosixPath

from facevalue.stimuli.name_words import Words

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
    if set(folders.values()) != {"."} and _apart(folders, groups):
        return _short(folders)
    names = {path: "-".join(rests[path]) for path in paths}
    if _apart(names, groups):
        return {path: name or "1" for path, name in names.items()}
    if len(set(folders.values())) > 1 and _mates(folders) * 2 >= len(paths):
        return _short(folders)
    return {}


def _apart(sets: Mapping[str, str], groups: Mapping[str, Words]) -> bool:
    """Whether next to no set has a group twice, and most pictures are beside others."""
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
    left = {path: next((text for words in rests[path] if (text := _meant(words))), "") for path in paths}
    counts = Counter(left.values())
    counts.pop("", None)
    return {p: text for p, text in left.items() if text} if 0 < len(counts) * 2 <= counts.total() else {}


_SAYS_NOTHING = frozenset((
    "img", "image", "images", "photo", "photos", "picture", "pictures", "pic", "pics", "face", "faces", "person",
    "people", "copy", "set", "sets", "group", "the", "a", "an", "of", "and", "as", "with", "no", "nr", "v", "final",
    "dsc", "aged", "age", "years", "year", "old", "yo",
))  # fmt: skip


def _meant(words: Words) -> str:
    return " ".join(word for word in words if not word.isdigit() and word not in _SAYS_NOTHING)
