"""Studies by name."""

from collections.abc import Mapping

import polars as pl

from facevalue.errors import UnknownNameError
from facevalue.protocol import Protocol, Study
from facevalue.studies import stylisticbias, vignette, visbias
from facevalue.types import OptionValue

STUDIES: dict[str, Protocol] = {one.name: one for one in (stylisticbias.PROTOCOL, vignette.PROTOCOL, visbias.PROTOCOL)}
"""Every published protocol that can be run."""


def protocol(name: str) -> Protocol:
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
    """Build a study; settings that are not given take their defaults.

    Raises
    ------
    UnknownNameError
        No such study, or it has no such setting.
    """
    return protocol(name).study(options, manifest)
