"""Places of files on the machine that asked: whoever gets a pack sees the names of files and folders alone."""

from collections.abc import Mapping
from dataclasses import replace
from pathlib import PurePath

from facevalue.runs.audit_folder import AuditRecord
from facevalue.store.files import PLACES
from facevalue.types import OptionValue

_OF_AUDITS = ("images", "studies", "with")
"""Settings of an audit that are files or folders."""


def without_places(options: Mapping[str, OptionValue]) -> dict[str, OptionValue]:
    """Options of a study with the names of its files and folders.

    Examples
    --------
    >>> without_places({"manifest": "/home/ann/faces/list.csv", "words": "/home/ann/words.csv", "seeds": ["1"]})
    {'manifest': 'list.csv', 'words': 'words.csv', 'seeds': ['1']}
    """
    return _named(options, PLACES)


def record_without_places(record: AuditRecord) -> AuditRecord:
    """The record of an audit with the names of its files and folders, also where it says why a study was left out.

    Examples
    --------
    >>> from facevalue.protocol.study import LeftOut
    >>> pictures = {"images": "/home/ann/faces"}
    >>> why = LeftOut("visbias", "/home/ann/faces/list.csv has no forms.")
    >>> packed = record_without_places(AuditRecord("reference", (), (why,), pictures))
    >>> packed.settings["images"], packed.left_out[0].why
    ('faces', 'faces/list.csv has no forms.')
    """
    studies = tuple(
        replace(study, study=PurePath(study.study).name, options=without_places(study.options))
        for study in record.studies
    )
    images = str(record.settings.get("images", ""))
    left_out = tuple(
        replace(omission, why=omission.why.replace(images, PurePath(images).name)) if images else omission
        for omission in record.left_out
    )
    return replace(record, studies=studies, left_out=left_out, settings=_named(record.settings, _OF_AUDITS))


def _named(settings: Mapping[str, OptionValue], names: tuple[str, ...]) -> dict[str, OptionValue]:
    return {name: _file_name(value) if name in names else value for name, value in settings.items()}


def _file_name(value: OptionValue) -> OptionValue:
    if isinstance(value, list):
        return [PurePath(str(path)).name for path in value]
    return PurePath(value).name if isinstance(value, str) else value
