"""Reader for the folders of StylisticBias as its authors publish them (seed 001, B.3 and C.1).

Each image lies beside a `*_metadata.json` with the `characteristics` of the person and, for a variation, the one
feature that was changed under `characteristics.variation`. The format leaves room (where the identity is written, how a
feature is spelled), so much is accepted; what is returned has the names of the grid alone, and anything that is not
understood is an error, never a guess.
"""

import json
import re
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from typing import Any, NamedTuple

import polars as pl

from facevalue.errors import DataError, UnknownNameError
from facevalue.stimuli.folders import files_below
from facevalue.studies.stylisticbias.tables import GENDERS, attribute_titles, grid, read
from facevalue.untrusted_files import read_file, to_json

GRID: Mapping[str, tuple[str, ...]] = {
    attribute: tuple(v.name for v in grid() if v.attribute == attribute) for attribute in attribute_titles()
}
"""The variation grid (Table 10): attributes and their values."""

PEOPLE: Mapping[str, tuple[str, ...]] = {
    "age": ("young", "middle-aged", "elderly"),
    "gender": GENDERS,
    "ethnicity": ("asian", "african", "european", "middle-eastern", "latino"),
    "build": ("thin", "normal", "obese"),
}
"""Levels of the base faces."""

MAX_FILES = 200_000
"""Most metadata files in a folder."""
MAX_BYTES = 2**20
"""Largest metadata file."""

_ENDING = "_metadata.json"
_SUFFIXES = (".png", ".jpg", ".jpeg", ".webp")
_IDENTITY_KEYS = ("identity", "identity_id", "face_id", "base_id", "base_face_id", "person_id")
_PAIR_KEYS = (("feature_key", "feature_value"), ("key", "value"), ("feature", "value"), ("attribute", "value"))
_NO_VARIATION = frozenset(("", "none", "base", "baseline", "original"))
_BASE_WORDS = re.compile(r"(?:(?:^|[-_])(?:base|baseline|original|face|portrait|image))+$")

_SPELLED: Mapping[str, Mapping[str, list[str]]] = {
    name: read("spellings.toml")[name] for name in ("attributes", "values")
}
_ATTRIBUTE_SPELLINGS, _VALUE_SPELLINGS = (
    {spelling: level for level, others in table.items() for spelling in others} for table in _SPELLED.values()
)
_PADDING = frozenset(read("spellings.toml")["padding"])


def _spellings_of(levels: Iterable[str], table: str = "values") -> dict[str, tuple[str, ...]]:
    return {level: tuple(_SPELLED[table].get(level, ())) for level in levels}


ATTRIBUTES = _spellings_of(GRID, "attributes")
"""Attributes of the grid, with their other spellings."""
VARIATIONS = _spellings_of(value for values in GRID.values() for value in values)
"""Values of the grid, with their other spellings."""


def attribute_of(variation: str) -> str | None:
    """The attribute that alone has this value; None if there is none.

    Examples
    --------
    >>> attribute_of("sunglasses"), attribute_of("purple-wig")
    ('eyewear', None)
    """
    attributes = [attribute for attribute, values in GRID.items() if variation in values]
    return attributes[0] if len(attributes) == 1 else None


def spellings(column: str) -> dict[str, tuple[str, ...]]:
    """Levels of a column of `PEOPLE`, with their other spellings."""
    return _spellings_of(PEOPLE[column])


class _Record(NamedTuple):
    """One metadata file. `attribute` and `value` are None for a base face."""

    file: str
    folder: str
    stem: str
    image: str
    stated_id: str | None
    own_id: str | None
    attribute: str | None
    value: str | None
    people: dict[str, str]


def read_stylisticbias_folders(folder: Path) -> pl.DataFrame:
    """Read the authors' StylisticBias folders as a manifest.

    `folder`: the folder that holds all faces, however deep. Links to folders are not followed.

    Returns text columns, one row per image, each base face followed by its variations: `image` (the identity for a base
    face, else identity/attribute/value), `path` (relative to `folder`), `identity`, `set` (the identity), `attribute`
    and `value` (null for a base face; else names of `GRID`), `age`, `gender`, `ethnicity`, `build` (levels of `PEOPLE`;
    a variation has those of its base face).

    Whose face it is, is told from an explicit id (`identity`, `face_id`, `base_id`, ...; at the top or among the
    characteristics; `id` too, for a variation only if it is a base face's). Else a base face is called as its file
    without a final "base", or as its folder where the file says no more than "base" or "face"; and a variation belongs
    to the base face with the longest name that its own file name begins with, else to the one called as a folder that
    it lies in.
    """
    records = [_record(folder, folder / path) for path in files_below(folder, (_ENDING,), MAX_FILES, "metadata files")]
    if not records:
        raise DataError(f"{folder}: no file ends in {_ENDING}.")
    bases = _bases([record for record in records if record.attribute is None])
    rows: dict[tuple[str, str | None, str | None], _Record] = {}
    for record in records:
        key = (_identity_of(record, bases), record.attribute, record.value)
        if key in rows:  # no two bases, as they have names of their own
            pictures = f"images with {record.attribute} {record.value}"
            raise DataError(f"Two {pictures} of identity {key[0]!r}: {rows[key].file} and {record.file}.")
        rows[key] = record
    ordered = sorted(rows, key=lambda key: [level or "" for level in key])
    return pl.DataFrame(
        [_row(key[0], rows[key], bases[key[0]]) for key in ordered],
        schema=dict.fromkeys(("image", "path", "identity", "set", "attribute", "value", *PEOPLE), pl.String),
        orient="row",
    )


def known_attribute(text: str) -> str | None:
    """An attribute in the names of `GRID`, however it is spelled; None if the grid does not know it.

    Examples
    --------
    >>> known_attribute("Clothing style"), known_attribute("lip_makeup_female"), known_attribute("hat")
    ('fashion_style', 'lip_makeup', None)
    """
    slug = re.sub("_(?:fe)?male$", "", _slug(text).replace("-", "_"))
    attribute = _ATTRIBUTE_SPELLINGS.get(slug, slug)
    return attribute if attribute in GRID else None


def known_variation(attribute: str, value: str) -> tuple[str, str] | None:
    """An attribute and a value in the names of `GRID`, however they are spelled; None if the grid does not know them.

    Examples
    --------
    >>> known_variation("Hair Colour", "Grey hair"), known_variation("hat", "top-hat")
    (('hair_color', 'gray'), None)
    """
    try:
        variation = _variation({attribute: value}, "")
    except (UnknownNameError, DataError):
        return None
    return None if variation[0] is None else variation


def known_gender(text: str) -> str | None:
    """A gender in the names of `PEOPLE`, however it is spelled; None if there is none of that name.

    Examples
    --------
    >>> known_gender("Woman"), known_gender("M"), known_gender("nonbinary")
    ('female', 'male', None)
    """
    try:
        return _value("gender", PEOPLE["gender"], text, "")
    except UnknownNameError:
        return None


def _record(root: Path, path: Path) -> _Record:
    file = path.relative_to(root).as_posix()
    metadata = _read_json(path, file)
    traits = metadata.get("characteristics")
    if not isinstance(traits, dict):
        raise DataError(f"{file}: has no 'characteristics'.")
    attribute, value = _variation(traits.get("variation"), file)
    stated_id = next((str(m[key]) for m in (metadata, traits) for key in _IDENTITY_KEYS if _is_name(m.get(key))), None)
    own_id = next((str(m["id"]) for m in (metadata, traits) if _is_name(m.get("id"))), None)
    people = {}
    for name, keys in (
        ("age", ("age", "age_group")),
        ("gender", ("gender", "sex")),
        ("ethnicity", ("ethnicity", "race")),
        ("build", ("body", "body_type", "build", "bodytype")),
    ):
        written = next((traits[key] for key in keys if traits.get(key) is not None), None)
        if written is not None:
            people[name] = _value(name, PEOPLE[name], written, file)
        elif attribute is None:
            raise DataError(f"{file}: a base face needs its {name}.")
    stem = path.name[: -len(_ENDING)]
    folder = path.parent.relative_to(root).as_posix()
    image = _image(root, path.parent, stem, file)
    return _Record(file, folder, stem, image, stated_id, own_id, attribute, value, people)


def _read_json(path: Path, file: str) -> dict[str, Any]:
    try:
        metadata = to_json(read_file(path, MAX_BYTES, "metadata"), file)
    except DataError as error:
        raise DataError(f"{file}: is not JSON that can be read: {error}") from error
    if not isinstance(metadata, dict):
        raise DataError(f"{file}: is not a JSON object.")
    return metadata


def _image(root: Path, folder: Path, stem: str, file: str) -> str:
    images = [path for end in _SUFFIXES for path in (folder / f"{stem}{end}", folder / f"{stem}{end.upper()}")]
    images = list({path.name.lower(): path for path in images if path.is_file()}.values())
    if len(images) != 1:
        count = "no image" if not images else "more than one image"
        raise DataError(f"{file}: {count} beside it that is called {stem} and ends in one of {', '.join(_SUFFIXES)}.")
    return images[0].relative_to(root).as_posix()


def _variation(written: object, file: str) -> tuple[str, str] | tuple[None, None]:
    """Return the attribute and value that a variation changes, however they are written."""
    pair: tuple[object, object] | None = None
    if written is None or (isinstance(written, str) and _slug(written) in _NO_VARIATION) or written == {}:
        return None, None
    if isinstance(written, dict):
        pair = next(((written[k], written[v]) for k, v in _PAIR_KEYS if k in written and v in written), None)
        if pair is None and len(written) == 1:
            pair = next(iter(written.items()))
    elif isinstance(written, str) and len(halves := re.split(r"[:=]", written, maxsplit=1)) == 2:
        pair = (halves[0], halves[1])
    if pair is None or not isinstance(pair[0], str):
        raise DataError(f"{file}: 'variation' is not one feature with one value: {json.dumps(written)[:200]}.")
    attribute = known_attribute(pair[0])
    if attribute is None:
        raise UnknownNameError(f"attribute in {file}", pair[0], GRID)
    return attribute, _value(attribute, GRID[attribute], pair[1], file)


def _value(name: str, levels: tuple[str, ...], written: object, file: str) -> str:
    """Return the grid's name for a value: a known spelling, if need be without padding or what follows a slash."""
    if isinstance(written, str):
        for text in (written, written.split("/")[0]):
            words = _slug(text).split("-")
            while words:
                slug = "-".join(words)
                for value in (slug, _VALUE_SPELLINGS.get(slug)):
                    if value in levels:
                        return value
                if words[-1] not in _PADDING:
                    break
                words.pop()
    raise UnknownNameError(f"{name} in {file}", str(written)[:100], levels)


def _bases(records: list[_Record]) -> dict[str, _Record]:
    """Name each base face."""
    bases: dict[str, _Record] = {}
    for record in records:
        identity = _base_name(record)
        if identity in bases:
            raise DataError(f"Two base faces of identity {identity!r}: {bases[identity].file} and {record.file}.")
        bases[identity] = record
    return bases


def _identity_of(record: _Record, bases: Mapping[str, _Record]) -> str:
    """Return whose face it is: one of `bases`."""
    if record.attribute is None:
        return _base_name(record)
    if record.stated_id is not None:
        names_of_bases = [record.stated_id] if record.stated_id in bases else []
    else:
        names = [*([record.own_id] if record.own_id else []), *_beginnings(record.stem)]
        names_of_bases = [name for name in names if name in bases]
        place = record.folder
        while not names_of_bases and place not in (".", ""):
            names_of_bases = [name for name in (place, place.rsplit("/", 1)[-1]) if name in bases]
            place = place.rpartition("/")[0]
    if not names_of_bases:
        raise DataError(f"{record.file}: a variation ({record.attribute} {record.value}) without a base face.")
    return names_of_bases[0]


def _beginnings(stem: str) -> Iterator[str]:
    """Yield what a stem begins with, the longest first: "f1_hair_red", "f1_hair", "f1"."""
    yield stem
    for mark in reversed(list(re.finditer(r"[-_. ]+", stem))):
        yield stem[: mark.start()]


def _row(identity: str, record: _Record, base: _Record) -> tuple[str | None, ...]:
    for name, level in record.people.items():
        if base.people[name] != level:
            of_base = f"the base face ({base.file}) has {base.people[name]}"
            raise DataError(f"{record.file}: {name} {level}, but {of_base}.")
    image = identity if record.attribute is None else f"{identity}/{record.attribute}/{record.value}"
    people = (base.people[name] for name in PEOPLE)
    return (image, record.image, identity, identity, record.attribute, record.value, *people)


def _base_name(record: _Record) -> str:
    return record.stated_id or record.own_id or _BASE_WORDS.sub("", record.stem) or record.folder


def _is_name(value: object) -> bool:
    return isinstance(value, str | int) and not isinstance(value, bool) and str(value).strip() != ""


def _slug(text: str) -> str:
    return "-".join(re.findall(r"[a-z0-9]+", text.lower()))
