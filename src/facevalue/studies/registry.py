"""Studies by name: published protocols, and those of other packages (`facevalue.studies`)."""

import importlib
from collections.abc import Iterator, Mapping, MutableMapping
from dataclasses import dataclass, replace
from functools import partial
from importlib import resources
from pathlib import Path
from typing import TYPE_CHECKING

from facevalue import plugins
from facevalue.errors import DataError, PluginError, UnknownNameError
from facevalue.places import is_study_file
from facevalue.plugins import Plugin
from facevalue.protocol.offers import Extras, Later, Recomputed
from facevalue.protocol.protocol import Protocol
from facevalue.types import STUDY_TEXT, OptionValue
from facevalue.untrusted_files import to_toml

if TYPE_CHECKING:
    import polars as pl

    from facevalue.protocol.making import Making
    from facevalue.protocol.study import Study

EXAMPLES = (
    *("hiring-screen", "forced-choice", "caption-assistant", "stylisticbias-declared"),
    *("genderbias-vl", "visogender", "trait-languages"),
)
"""Files of studies that come with FaceValue, to start one's own from."""
PUBLISHED = ("stylisticbias", "vignette", "visbias", "modscan", "counterfactuals")
"""Those that come with FaceValue; others may join `STUDIES`."""
MAKING = "making"
"""Study of runs that make pictures; no model is asked it."""
_OWN = Later("facevalue.protocol", "own_studies")
_FILES = "facevalue.studies.declared"
DECLARED = {
    "bbq-v": Extras(reproduce=Recomputed(Later(_FILES, "bbq_v").reproduce, released=True)),
    "bbq-v-open": Extras(judge="open answers"),
    "gras": Extras(reproduce=Recomputed(Later(_FILES, "gras").reproduce, released=True)),
    "reflect": Extras(),
    "reflect-pairs": Extras(),
    "beauty": Extras(),
    "beyond-demographics": Extras(),
    "blinded": Extras(),
    "cultural-counterfactuals": Extras(annotate="open replies"),
    "cross-cultural-values": Extras(judge="lists of values"),
    "editor": Extras(),
}
"""Those that are files of their own, and what they offer beside."""

OF_COMMANDS = {
    MAKING: Later("facevalue.protocol", "making_study").PROTOCOL,
    "pictures": Later(_FILES, "pictures").PROTOCOL,
}
"""Those that a command of their own runs, and no list of studies names."""
_LISTED, _ASKED_FOR = 10.0, 120.0
"""Seconds that the import of another package's study may take."""


@dataclass(frozen=True)
class StudyEntry:
    """Entry of a study in lists; it takes neither Polars nor NumPy, so that its callers need not.

    Attributes
    ----------
    name, title, citation, needs, left_out, content_note, extras:
        As of the `Protocol`.
    """

    name: str
    title: str
    citation: str
    needs: str
    left_out: str
    content_note: str
    extras: Extras

    @classmethod
    def from_protocol(cls, protocol: Protocol) -> "StudyEntry":
        """Take it from a protocol."""
        return cls(
            protocol.name, protocol.title, protocol.citation, protocol.needs, protocol.left_out, protocol.content_note,
            protocol.extras,
        )  # fmt: skip

    @classmethod
    def from_file(cls, name: str) -> "StudyEntry":
        """Take it from the head of a file that comes with FaceValue, whose declaration is not looked at."""
        head = to_toml(file_text(name).encode(), f"{name}.toml")
        extras = replace(DECLARED[name], making=partial(_making, name) if "make" in head else None)
        title, citation, needs, left_out, note = (
            str(head.get(key, "")) for key in ("title", "citation", "needs", "left_out", "note")
        )
        return cls(name, title, citation, needs, left_out, note, extras)


class Protocols(MutableMapping[str, Protocol]):
    """Protocols by name; a published one is imported when it is asked for, as each takes its time."""

    def __init__(self) -> None:
        self._known: dict[str, Protocol | None] = dict.fromkeys((*PUBLISHED, *DECLARED))

    def __getitem__(self, name: str) -> Protocol:
        protocol = self._known[name]
        if protocol is None:
            protocol = self._known[name] = _parse_protocol(name) if name in DECLARED else _import_protocol(name)
        return protocol

    def __setitem__(self, name: str, protocol: Protocol) -> None:
        self._known[name] = protocol

    def __delitem__(self, name: str) -> None:
        del self._known[name]

    def __iter__(self) -> Iterator[str]:
        return iter(self._known)

    def __len__(self) -> int:
        return len(self._known)

    def __contains__(self, name: object) -> bool:
        return name in self._known


def _import_protocol(name: str) -> Protocol:
    protocol: Protocol = importlib.import_module(f"facevalue.studies.{name}").PROTOCOL
    return protocol


def _parse_protocol(name: str) -> Protocol:
    protocol: Protocol = _OWN.parse(file_text(name), "")
    return replace(protocol, extras=replace(DECLARED[name], making=protocol.extras.making))


def _making(name: str) -> "Making":
    making = STUDIES[name].extras.making
    assert making is not None
    return making()


def file_text(name: str) -> str:
    """Text of a study that is a file: one of `EXAMPLES` or of `DECLARED`."""
    folder = "declared" if name in DECLARED else "examples"
    return resources.files("facevalue.studies").joinpath(folder, f"{name}.toml").read_text("utf-8")


STUDIES: MutableMapping[str, Protocol] = Protocols()
"""Every published protocol that can be run."""


def names() -> list[str]:
    """The names of all studies; none of another package is imported."""
    return list(dict.fromkeys([*STUDIES, *plugins.plugins(plugins.STUDIES, STUDIES)]))


def list_entries() -> dict[str, StudyEntry]:
    """Entries of the studies that come with FaceValue, or were registered."""
    return {
        name: StudyEntry.from_file(name) if name in DECLARED else StudyEntry.from_protocol(STUDIES[name])
        for name in STUDIES
    }


def available() -> tuple[dict[str, StudyEntry], dict[str, str]]:
    """Entries of all studies by name, and the reasons why others are unavailable."""
    listed, missing = {}, {}
    for name, plugin in plugins.plugins(plugins.STUDIES, STUDIES).items():
        try:
            listed[name] = StudyEntry.from_protocol(_load_plugin(plugin, _LISTED))
        except PluginError as error:
            missing[name] = str(error)
    return {**listed, **list_entries()}, missing


def register(protocol: Protocol) -> Protocol:
    """Add a protocol of one's own, so that it and its runs are found by its name."""
    if STUDIES.setdefault(protocol.name, protocol) is not protocol:
        raise DataError(f"There is a study called {protocol.name!r} already.")
    return protocol


def protocol(name: str, *, outside: bool = False) -> Protocol:
    """Look a protocol up by its short name, or read it from a file; `outside` as of `own_studies.read`."""
    if name not in STUDIES and is_study_file(name):
        study: Protocol = _OWN.read(Path(name), find_protocol, outside=outside)
        if study.text and (
            study.name in OF_COMMANDS or (study.name in STUDIES and study.text != STUDIES[study.name].text)
        ):
            raise DataError(f"{name}: a published study is called {study.name!r}. Give yours another name.")
        return study
    return find_protocol(name)


def find_protocol(name: str) -> Protocol:
    """Look a protocol up by its short name."""
    if name in STUDIES:
        return STUDIES[name]
    if name in OF_COMMANDS:
        protocol: Protocol = OF_COMMANDS[name]()
        return protocol
    others = plugins.plugins(plugins.STUDIES, STUDIES)
    if name not in others:
        raise UnknownNameError("study", name, [*STUDIES, *others])
    return _load_plugin(others[name])


def _load_plugin(plugin: Plugin, seconds: float = _ASKED_FOR) -> Protocol:
    protocol = plugin.load(seconds)
    if not isinstance(protocol, Protocol):
        raise plugin.wrong(f"is no study: it is of type {type(protocol).__name__}")
    if protocol.name != plugin.name:
        raise plugin.wrong(f"calls itself {protocol.name}: an entry point has the name of its study")
    return protocol


def protocol_of_run(name: str, options: Mapping[str, OptionValue]) -> Protocol:
    """The protocol of a stored run: a run of one's own study holds its text, and no file is read."""
    text = options.get(STUDY_TEXT)
    return _OWN.parse(text) if isinstance(text, str) else find_protocol(name)


def build(name: str, options: Mapping[str, OptionValue], manifest: "pl.DataFrame | None" = None) -> "Study":
    """Build a study; settings that are not given take their defaults. A run of one's own study holds its text."""
    rest = {key: value for key, value in options.items() if key != STUDY_TEXT}
    return protocol_of_run(name, options).study(rest, manifest)
