"""RO-Crate 1.1 of a pack: its files, what each is, and what made them."""

from collections.abc import Mapping
from importlib.metadata import version
from pathlib import PurePosixPath
from typing import Any

FILE = "ro-crate-metadata.json"
_FORMATS = {
    ".html": "text/html", ".json": "application/json", ".csv": "text/csv", ".md": "text/markdown",
    ".yaml": "application/yaml", ".toml": "application/toml", ".parquet": "application/x-parquet",
    "": "text/plain",
}  # fmt: skip


def crate(files: Mapping[str, bytes], titles: Mapping[str, str], name: str, written: str) -> dict[str, Any]:
    """The document that describes a folder.

    Parameters
    ----------
    files:
        Its files by name, this one not among them.
    titles:
        What some of them are; the others have their names.
    name, written:
        Of the whole, and when it was written, in ISO 8601.
    """
    members = [{"@id": file} for file in sorted(files)]
    tool = {"@id": "#facevalue", "@type": "SoftwareApplication", "name": "FaceValue", "version": version("facevalue")}
    return {
        "@context": "https://w3id.org/ro/crate/1.1/context",
        "@graph": [
            {
                "@id": FILE,
                "@type": "CreativeWork",
                "conformsTo": {"@id": "https://w3id.org/ro/crate/1.1"},
                "about": {"@id": "./"},
            },
            {
                "@id": "./",
                "@type": "Dataset",
                "name": name,
                "description": "Pack of an audit of social bias: reports, estimates with intervals, settings.",
                "datePublished": written,
                "license": "No licence is stated; whoever hands this on states one.",
                "hasPart": members,
            },
            tool,
            {
                "@id": "#audit",
                "@type": "CreateAction",
                "name": "Audit",
                "instrument": {"@id": "#facevalue"},
                "endTime": written,
                "result": {"@id": "./"},
            },
            *(_file(file, data, titles.get(file, file)) for file, data in sorted(files.items())),
        ],
    }


def _file(name: str, data: bytes, title: str) -> dict[str, Any]:
    return {
        "@id": name,
        "@type": "File",
        "name": title,
        "encodingFormat": _FORMATS.get(PurePosixPath(name).suffix, "application/octet-stream"),
        "contentSize": str(len(data)),
    }
