"""Studies by name."""

from collections.abc import Mapping
from pathlib import Path

import polars as pl

from facevalue.errors import DataError, UnknownNameError
from facevalue.protocol import Protocol, Study, own
from facevalue.store.manifest import STUDY_TEXT
from facevalue.studies import stylisticbias, vignette, visbias
from facevalue.types import OptionValue

STUDIES: dict[str, Protocol] = {one.name: one for one in (stylisticbias.PROTOCOL, vignette.PROTOCOL, visbias.PROTOCOL)}
"""Every published protocol that can be run."""


def register(protocol: Protocol) -> Protocol:
    """Add a protocol of one's own, so that it and its runs are found by its name.

    Raises
    ------
    DataError
        There is another of this name.
    """
    if STUDIES.setdefault(protocol.name, protocol) is not protocol:
        raise DataError(f"There is a study called {protocol.name!r} already.")
    return protocol


def protocol(name: str) -> Protocol:
    """Look a protocol up by its short name, or read it from a file.

    Raises
    ------
    UnknownNameError
        There is none; the nearest names are suggested.
    DataError
        The file is no study.
    """
    if name not in STUDIES and own.is_path(name):
        found = own.read(Path(name), published)
        if found.text and found.name in STUDIES:
            raise DataError(f"{name}: a published study is called {found.name!r}. Give yours another name.")
        return found
    return published(name)


def published(name: str) -> Protocol:
    """Look a protocol up by its short name.

    Raises
    ------
    UnknownNameError
        There is none; the nearest names are suggested.
    """
    if name not in STUDIES:
        raise UnknownNameError("study", name, STUDIES)
    return STUDIES[name]


def build(name: str, options: Mapping[str, OptionValue], manifest: pl.DataFrame | None = None) -> Study:
    """Build a study; settings that are not given take their defaults. A run of one's own study holds its text.

    Raises
    ------
    UnknownNameError
        No such study, or it has no such setting.
    """
    text = options.get(STUDY_TEXT)
    if isinstance(text, str):
        rest = {key: value for key, value in options.items() if key != STUDY_TEXT}
        return own.parse(text).study(rest, manifest)
    return protocol(name).study(options, manifest)
