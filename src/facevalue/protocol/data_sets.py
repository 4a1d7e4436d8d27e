"""Public data sets as pictures of own studies, read from the folder where the user keeps them."""

from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import lru_cache
from pathlib import Path

import polars as pl

from facevalue.errors import DataError, UnknownNameError
from facevalue.protocol.settings import Options, Setting
from facevalue.protocol.stimuli import UNITS, Listed
from facevalue.protocol.study import LeftOut
from facevalue.stimuli.base import Kind
from facevalue.stimuli.sets import Listing

DATA_SETS = {
    "cultural-counterfactuals": (Kind.SYNTHETIC, "set"),
    "social-counterfactuals": (Kind.SYNTHETIC, "set"),
    "fairface": (Kind.PHOTOGRAPHS, "image"),
    "utkface": (Kind.PHOTOGRAPHS, "image"),
}
"""Data sets, each with what its pictures are, and the unit that tells them apart."""
_FAIRFACE = "fairface_label_*.csv"


@dataclass(frozen=True)
class DataSet(Listed):
    """A public data set, as its authors publish it.

    Attributes
    ----------
    name:
        One of `DATA_SETS`.
    path:
        Its folder, by default.

    Examples
    --------
    >>> DataSet("image", name="utkface").settings[0].help
    'The folder of utkface.'
    """

    name: str = ""
    path: str = ""

    def __post_init__(self) -> None:
        if self.name not in DATA_SETS:
            raise UnknownNameError("data set", self.name, DATA_SETS)

    @property
    def settings(self) -> tuple[Setting, ...]:
        """Where it is, and what its pictures are."""
        _, root, kind = super().settings
        return Setting("folder", f"The folder of {self.name}.", self.path), replace(root, excludes=("folder",)), kind

    def table(self, options: Options) -> pl.DataFrame:
        """A row per picture, with the attributes that the data set states of any."""
        table = _listing(self.name, _folder(options)).table
        if "identity" not in table.columns:  # who is on two pictures is not known
            table = table.with_columns(identity="image")
        first = ("image", "path", "identity", "set")
        stated = [c for c in table.columns if c not in first and table[c].null_count() < table.height]
        return self.completed(table.select(*first, *stated), self.name)

    def left_out(self, options: Options) -> tuple[LeftOut, ...]:
        """What of it is not shown."""
        return tuple(LeftOut(*omission) for omission in _listing(self.name, _folder(options)).left_out)


def usual(name: str) -> tuple[str, str]:
    """What pictures of a data set are, and its unit."""
    if name not in DATA_SETS:
        raise UnknownNameError("data set", name, DATA_SETS)
    kind, unit = DATA_SETS[name]
    return kind.value, UNITS[unit]


def _folder(options: Options) -> Path:
    folder = Path(str(options["folder"]))
    if not options["folder"] or not folder.is_dir():
        raise DataError(f"There is no folder {str(folder)!r} of pictures: name it with --folder.")
    return folder


@lru_cache(maxsize=1)
def _listing(name: str, folder: Path) -> Listing:
    from facevalue.stimuli.cultural_counterfactuals import read_cultural_counterfactuals  # noqa: PLC0415 - pyarrow
    from facevalue.stimuli.social_counterfactuals import read_social_counterfactuals  # noqa: PLC0415
    from facevalue.stimuli.utkface import read_utkface  # noqa: PLC0415

    readers: dict[str, Callable[[Path], Listing]] = {
        "cultural-counterfactuals": read_cultural_counterfactuals,
        "social-counterfactuals": read_social_counterfactuals,
        "fairface": _read_fairface,
        "utkface": read_utkface,
    }
    return readers[name](folder)


def _read_fairface(folder: Path) -> Listing:
    from facevalue.stimuli.fairface import read_fairface  # noqa: PLC0415

    tables = [read_fairface(labels) for labels in sorted(folder.glob(_FAIRFACE))]
    if not tables:
        raise DataError(f"{folder}: holds no labels of FairFace, {_FAIRFACE}.")
    return Listing(pl.concat(tables))
