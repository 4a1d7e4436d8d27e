"""Studies by name."""

from collections.abc import Mapping
from importlib import import_module
from typing import TYPE_CHECKING

import polars as pl

from facevalue.errors import UnknownNameError
from facevalue.studies import stylisticbias, vignette, visbias
from facevalue.studies.base import Study, StudyEntry
from facevalue.types import OptionValue

if TYPE_CHECKING:
    from facevalue.protocol.page import Page

STUDIES: dict[str, StudyEntry] = {entry.name: entry for entry in (stylisticbias.ENTRY, vignette.ENTRY, visbias.ENTRY)}
"""Every published protocol that can be run."""

PAGES = {name: f"facevalue.studies.{name}.page" for name in STUDIES}
"""Modules with what their reports show; imported when a report is made."""


def entry(name: str) -> StudyEntry:
    """Look a study up by its short name.

    Raises
    ------
    UnknownNameError
        There is none; the nearest names are suggested.
    """
    if name not in STUDIES:
        raise UnknownNameError("study", name, STUDIES)
    return STUDIES[name]


def build(name: str, options: Mapping[str, OptionValue], manifest: pl.DataFrame | None = None) -> Study:
    """Build a study; settings that are not given take their defaults.

    Raises
    ------
    UnknownNameError
        No such study, or it has no such setting.
    """
    known = entry(name)
    defaults = {setting.name: setting.default for setting in known.settings}
    for option in options:
        if option not in defaults:
            raise UnknownNameError(f"setting of {name}", option, defaults)
    return known.build({**defaults, **options}, manifest)


def page(name: str) -> "Page | None":
    """What a study's report shows; None if it is no published one."""
    if name not in PAGES:
        return None
    found: Page = import_module(PAGES[name]).PAGE
    return found
