"""A list of pictures as a Croissant document: the file of the list, its pictures, and what its columns are.

Croissant 1.1 (MLCommons, 29 January 2026) is JSON-LD that says of a data set where its files are and what a record
is; its RAI vocabulary (1.0) how the data came to be, and what is to be known before they are used.
"""

import glob
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import date
from pathlib import PurePosixPath
from typing import Any
from urllib.parse import quote

import polars as pl

from facevalue.stimuli.manifest import MEDIA_TYPES, SHARD_ROW

FILE = "croissant.json"
"""Where the document lies beside the list."""
CONFORMS_TO = ("http://mlcommons.org/croissant/1.1", "http://mlcommons.org/croissant/RAI/1.0")
ROWS, PICTURES, FILES = "rows", "pictures", "picture-files"
"""Record sets: a row of the list each, a picture with its row; and the files of the pictures."""

_CROISSANT_TERMS = (
    "annotation", "arrayShape", "citeAs", "column", "containedIn", "equivalentProperty", "excludes", "extract", "field",
    "fileObject", "fileProperty", "fileSet", "format", "includes", "isArray", "isLiveDataset", "jsonPath", "key", "md5",
    "parentField", "path", "readLines", "recordSet", "references", "regex", "repeated", "replace", "samplingRate",
    "sdVersion", "separator", "source", "subField", "transform", "unArchive", "value",
)  # fmt: skip
_CONTEXT: Mapping[str, Any] = {
    "@language": "en",
    "@vocab": "https://schema.org/",
    "sc": "https://schema.org/",
    "cr": "http://mlcommons.org/croissant/",
    "rai": "http://mlcommons.org/croissant/RAI/",
    "dct": "http://purl.org/dc/terms/",
    "prov": "http://www.w3.org/ns/prov#",
    "conformsTo": "dct:conformsTo",
    "data": {"@id": "cr:data", "@type": "@json"},
    "dataType": {"@id": "cr:dataType", "@type": "@vocab"},
    "examples": {"@id": "cr:examples", "@type": "@json"},
    **{term: f"cr:{term}" for term in _CROISSANT_TERMS},
}
"""Appendix 1 of the specification, and the vocabulary of provenance."""
_FORMATS = {".csv": "text/csv", ".jsonl": "application/jsonlines", ".parquet": "application/x-parquet"}
_MOST_PATTERNS = 50
"""Folders that are named; where there are more, pictures are found by their endings alone."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ListFile:
    """The file that lists pictures.

    Attributes
    ----------
    name:
        Its name; the document lies beside it.
    sha256:
        Digest of its bytes, in hexadecimal.
    size:
        Bytes.
    """

    name: str
    sha256: str
    size: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Rights:
    """Statements of whoever answers for pictures; nothing is stated for them.

    Attributes
    ----------
    licence:
        Address of a licence, or its name.
    creator:
        Who made them.
    url:
        Page about them.
    cite_as:
        How they are cited, best as BibTeX.
    published:
        When they were published.
    version:
        Of the data, as MAJOR.MINOR.PATCH.

    Examples
    --------
    >>> Rights(licence="https://creativecommons.org/publicdomain/zero/1.0/").creator is None
    True
    """

    licence: str | None = None
    creator: str | None = None
    url: str | None = None
    cite_as: str | None = None
    published: date | None = None
    version: str = "1.0.0"


def stated_in(document: object) -> Rights:
    """Rights that an earlier document states; anything else in it is ignored.

    Examples
    --------
    >>> stated_in({"license": {"name": "All rights reserved"}, "datePublished": "soon", "url": 3}).licence
    'All rights reserved'
    """
    entries: Mapping[str, object] = document if isinstance(document, dict) else {}

    def text(value: object) -> str | None:
        value = value.get("name") if isinstance(value, dict) else value
        return value if isinstance(value, str) and value else None

    try:
        published = date.fromisoformat(text(entries.get("datePublished")) or "")
    except ValueError:
        published = None
    return Rights(
        licence=text(entries.get("license")),
        creator=text(entries.get("creator")),
        url=text(entries.get("url")),
        cite_as=text(entries.get("citeAs")),
        published=published,
        version=text(entries.get("version")) or Rights().version,
    )


def document(
    pictures: pl.DataFrame, file: ListFile, name: str, description: str, properties: Mapping[str, Any], rights: Rights
) -> dict[str, Any]:
    """Describe a list of pictures.

    Parameters
    ----------
    pictures:
        The list, with a column `path`, relative to its folder.
    file:
        Its file.
    name, description:
        Of the whole.
    properties:
        Further properties, such as "rai:dataBiases"; those that are None, "" or empty are left out.
    rights:
        What is stated about the pictures.
    """
    stated = {
        "license": _licence(rights.licence),
        "creator": rights.creator and {"@type": "sc:Organization", "name": rights.creator},
        "url": rights.url,
        "citeAs": rights.cite_as,
        "datePublished": rights.published and rights.published.isoformat(),
        "version": rights.version,
    }
    files = _picture_files(pictures["path"])
    records = [_rows(pictures, file), *([_pictures(pictures, file)] if files else [])]
    out = {
        "@context": dict(_CONTEXT),
        "@type": "sc:Dataset",
        "conformsTo": list(CONFORMS_TO),
        "name": name,
        "description": description,
        **stated,
        **properties,
        "distribution": [_list_file(file), *([files] if files else [])],
        "recordSet": records,
    }
    return {key: value for key, value in out.items() if value not in (None, "", [], {}, ())}


def _licence(text: str | None) -> str | dict[str, str] | None:
    """A licence as an address, or as a work that has a name."""
    return text if not text or "://" in text else {"@type": "sc:CreativeWork", "name": text}


def _list_file(file: ListFile) -> dict[str, Any]:
    return {
        "@type": "cr:FileObject",
        "@id": file.name,
        "name": file.name,
        "description": "One row per picture.",
        "contentUrl": file.name,
        "contentSize": f"{file.size} B",
        "encodingFormat": _FORMATS[PurePosixPath(file.name).suffix.lower()],
        "sha256": file.sha256,
    }


def _picture_files(paths: pl.Series) -> dict[str, Any] | None:
    """The pictures' files; None where they are rows of other files."""
    if paths.str.contains(SHARD_ROW).any():
        return None
    endings = sorted(
        {PurePosixPath(path).suffix for path in paths}, key=lambda ending: list(MEDIA_TYPES).index(ending.lower())
    )
    patterns = sorted({_pattern(PurePosixPath(path)) for path in paths})
    if len(patterns) > _MOST_PATTERNS:
        patterns = [f"*{ending}" for ending in endings]
    return {
        "@type": "cr:FileSet",
        "@id": FILES,
        "name": FILES,
        "description": "The pictures, byte for byte as they came.",
        "encodingFormat": list(dict.fromkeys(MEDIA_TYPES[ending.lower()] for ending in endings)),
        "includes": patterns,
    }


def _pattern(path: PurePosixPath) -> str:
    """Pattern of a path: its first folder, then any name of each folder below and of the file."""
    folders = path.parts[:-1]
    return "/".join([*map(glob.escape, folders[:1]), *("*" for _ in folders[1:]), f"*{path.suffix}"])


def _rows(pictures: pl.DataFrame, file: ListFile) -> dict[str, Any]:
    fields = [_column(ROWS, name, dtype, file) for name, dtype in pictures.schema.items()]
    key = {"key": {"@id": _id(ROWS, "image")}} if "image" in pictures.columns else {}
    return {
        "@type": "cr:RecordSet", "@id": ROWS, "name": ROWS, "description": "The list: one record per picture.", **key,
        "field": fields,
    }  # fmt: skip


def _pictures(pictures: pl.DataFrame, file: ListFile) -> dict[str, Any]:
    """Each picture with its row: files are joined with the list by their paths."""
    source = {"fileSet": {"@id": FILES}}
    path_of_list = {"fileObject": {"@id": file.name}, "extract": {"column": "path"}}
    place = {**source, "extract": {"fileProperty": "fullpath"}, "transform": {"regex": "(.+)"}}
    fields: list[dict[str, Any]] = [
        {**_field(PICTURES, "path", "sc:Text", place), "description": "Where its file is.", "references": path_of_list},
        {
            **_field(PICTURES, "content", "sc:ImageObject", {**source, "extract": {"fileProperty": "content"}}),
            "description": "The picture.",
        },
    ]
    fields += [
        _column(PICTURES, name, dtype, file)
        for name, dtype in pictures.schema.items()
        if name not in ("path", "content")
    ]
    return {
        "@type": "cr:RecordSet", "@id": PICTURES, "name": PICTURES, "field": fields,
        "description": "One record per picture and row that names it; where no row does, the path alone.",
    }  # fmt: skip


def _column(records: str, name: str, dtype: pl.DataType, file: ListFile) -> dict[str, Any]:
    return _field(records, name, _data_type(dtype), {"fileObject": {"@id": file.name}, "extract": {"column": name}})


def _field(records: str, name: str, kind: str, source: Mapping[str, Any]) -> dict[str, Any]:
    return {"@type": "cr:Field", "@id": _id(records, name), "name": name, "dataType": kind, "source": dict(source)}


def _id(records: str, name: str) -> str:
    """Identifier of a field: part of an address, whatever its column is called."""
    return f"{records}/{quote(name, safe='')}"


def _data_type(dtype: pl.DataType) -> str:
    if dtype == pl.Boolean:
        return "sc:Boolean"
    return "sc:Integer" if dtype.is_integer() else "sc:Float" if dtype.is_float() else "sc:Text"
