"""Studies of an audit: which of them the pictures allow, with which settings, and why others are left out."""

import hashlib
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import TYPE_CHECKING

import tomli_w

from facevalue.errors import DataError, FaceValueError, RunError, SettingError, UnknownNameError
from facevalue.places import is_study_file, is_url
from facevalue.protocol.protocol import Protocol
from facevalue.protocol.settings import to_setting_type
from facevalue.protocol.study import LeftOut, Study
from facevalue.protocol.toml_tables import TomlTable
from facevalue.protocol.variant_files import find_variants
from facevalue.protocol.variants import add_interventions
from facevalue.runs.audit_folder import run_name
from facevalue.runs.checks import check_options, check_pictures, check_shown
from facevalue.runs.requests import TrialNumbers
from facevalue.studies import names
from facevalue.studies import protocol as protocol_of
from facevalue.types import STUDY_TEXT, OptionValue

if TYPE_CHECKING:
    from facevalue.measures.families import Preregistration


# Margins of the studies of an audit: the largest differences that would not matter, declared before any answer.


def read_margins(table: TomlTable) -> dict[str, TomlTable]:
    """Read the tables `[margins.STUDY]` of an audit's settings, by study: numbers above 0, by measure.

    Raises
    ------
    DataError
        A table without a measure, or a margin that is none; names the line.
    """
    by_study = table.table("margins", needed=False)
    out = {study: by_study.table(study) for study in by_study}
    for study, margins in out.items():
        if not list(margins):
            raise by_study.error(f"[margins.{study}] names no measure: write one, such as shift = 0.02.", study)
        for measure in margins:
            if margins.number(measure) <= 0:
                raise margins.error(
                    f"The margin of {measure} is {margins.number(measure):g}: it is above 0, or nothing is equivalent.",
                    measure,
                )
    return out


def recorded_margins(margins: Mapping[str, TomlTable]) -> dict[str, list[str]]:
    """Margins as the record of an audit holds them: by study, a line for each measure."""
    return {
        f"margins of {run_name(study)}": sorted(f"{measure} = {table.number(measure)!r}" for measure in table)
        for study, table in margins.items()
    }


def declared_margins(margins: TomlTable, study: Study) -> "Preregistration":
    """Understand the margins of a study, as what is declared before its run.

    Raises
    ------
    UnknownNameError
        The study has no such measure.
    DataError
        Nothing can lie beyond a margin, or the study's file declares families or margins itself.
    """
    from facevalue.measures.families import parse_preregistration  # noqa: PLC0415 - slow to import
    from facevalue.measures.family_tests import check_margins  # noqa: PLC0415 - slow to import

    if study.estimates.declared is not None:
        raise margins.error(
            f"{study.name} declares in its own file what it confirms: write the `margin` of an estimand there."
        )
    measures = study.estimates.measures
    names = [measure.key for measure in measures]
    for name in margins:
        with margins.place_errors(name):
            if name not in names:
                raise UnknownNameError("measure", name, names)
            check_margins({name: margins.number(name)}, measures)
    text = tomli_w.dumps({"margin": {name: margins.number(name) for name in sorted(margins)}})
    return parse_preregistration(text.encode(), names)


MANIFEST, TEMPERATURE = "manifest", "temperature"
_LISTS = ("manifest.parquet", "manifest.csv")
_MOST_CHECKED = 20_000
"""Pictures up to which a plan looks at each: some seconds."""
_NOT_OF_MODELS = ("editor",)
"""Studies that audit something else than the model that is asked."""


@dataclass(frozen=True)
class StudyOfAudit:
    """A study as an audit asks it.

    Attributes
    ----------
    name:
        What its run is called.
    typed:
        Its name, or its file as it was typed.
    protocol, study:
        What it is, and what it becomes with the settings.
    options:
        The settings that the audit chose.
    exact:
        Whether probabilities are read; False of one that asks for free text, whatever the audit says.
    declared:
        Margins that the audit declares before the run; None where it declares none.
    """

    name: str
    typed: str
    protocol: Protocol
    study: Study
    options: Mapping[str, OptionValue]
    exact: bool
    declared: "Preregistration | None" = None

    @property
    def repeats(self) -> int:
        """Number of times that each trial is asked."""
        return 1 if self.exact else self.study.repeats

    @property
    def all_requests(self) -> int:
        """Requests of all that can be shown."""
        return self.study.design.size * self.repeats

    @property
    def digest(self) -> str:
        """SHA-256 of the study's file; empty where it has none of its user's."""
        text = self.study.options.get(STUDY_TEXT)
        return hashlib.sha256(text.encode()).hexdigest() if isinstance(text, str) else ""

    def requests(self, sample: int, seed: int) -> int:
        """Requests of a sample: as many whole units as fit; 0 where not one does."""
        if sample >= self.all_requests:
            return self.all_requests
        try:
            return int(self.study.sample(sample, seed, self.repeats).size) * self.repeats
        except FaceValueError:
            return 0


@dataclass(frozen=True)
class AuditWishes:
    """Wishes of the user for the questions of an audit.

    Attributes
    ----------
    studies:
        Names and files of studies; all that there are where it is empty.
    images:
        The user's pictures: a list, or a folder with one; empty for pictures that are drawn.
    settings:
        By name of a study as it was typed or of its run, its own settings.
    temperature:
        Of all studies that have one; None for their own.
    exact:
        Whether probabilities are read where that is possible.
    interventions:
        What is done to every request a second time.
    outside:
        Whether files of studies may name files that are not below their own folders.
    margins:
        By name of a study as in `settings`, the largest differences that would not matter.
    """

    studies: tuple[str, ...] = ()
    images: str = ""
    settings: Mapping[str, Mapping[str, object]] | None = None
    temperature: float | None = None
    exact: bool = False
    interventions: tuple[str, ...] = ()
    outside: bool = False
    margins: Mapping[str, TomlTable] = field(default_factory=dict)


def studies_of(wishes: AuditWishes) -> tuple[list[StudyOfAudit], list[LeftOut]]:
    """Build every study that is wanted, and say of those that the pictures do not allow why.

    Raises
    ------
    UnknownNameError
        No study is called so, or no such setting of it.
    SettingError, DataError
        Two studies have one name, a file of a study is wrong, or nothing is left to ask.
    """
    chosen_names = wishes.studies or tuple(name for name in names() if name not in _NOT_OF_MODELS)
    own_settings = wishes.settings or {}
    run_names = [run_name(name) for name in chosen_names]
    if twice := next((name for name in run_names if run_names.count(name) > 1), ""):
        if len({text for text in chosen_names if run_name(text) == twice}) == 1:
            raise SettingError(f"The studies of the audit name {twice!r} twice.")
        raise SettingError(f"Two studies of the audit would both be called {twice!r}: rename the file of one.")
    if unknown := next((name for name in own_settings if name not in (*chosen_names, *run_names)), ""):
        raise UnknownNameError("study with settings", unknown, chosen_names)
    for name, table in wishes.margins.items():
        if name not in (*chosen_names, *run_names):
            with table.place_errors():
                raise UnknownNameError("study with margins", name, chosen_names)
    pictures = _manifest_of(wishes.images)
    built, left_out = [], []
    for name, text in zip(run_names, chosen_names, strict=True):
        protocol = protocol_of(text, outside=wishes.outside)
        options = _options(protocol, own_settings.get(text, own_settings.get(name, {})), wishes)
        if pictures and not any(setting.name == MANIFEST for setting in protocol.settings):
            left_out.append(LeftOut(name, "It shows other pictures than a list of your own."))
            continue
        try:
            built.append(
                _build_study(name, text, protocol, options | ({MANIFEST: pictures} if pictures else {}), wishes)
            )
        except (DataError, RunError, UnknownNameError) as error:  # such as a factor that the list of pictures lacks
            if not pictures and (is_study_file(text) or isinstance(error, UnknownNameError)):
                raise
            left_out.append(LeftOut(name, str(error)))
            continue
        margins = wishes.margins.get(text, wishes.margins.get(name))
        if margins is not None:
            built[-1] = replace(built[-1], declared=declared_margins(margins, built[-1].study))
    if not built:
        reason = f" {left_out[0].what}: {left_out[0].why}" if left_out else ""
        raise DataError(f"No study of the audit can be asked{' with these pictures' if pictures else ''}.{reason}")
    return built, left_out


def _build_study(
    name: str, text: str, protocol: Protocol, options: Mapping[str, OptionValue], wishes: AuditWishes
) -> StudyOfAudit:
    study = add_interventions(protocol.study(options), find_variants(wishes.interventions))
    check_shown(study)
    if study.manifest.height <= _MOST_CHECKED:
        check_pictures(study)
    return StudyOfAudit(name, text, protocol, study, options, wishes.exact and _can_be_exact(study))


def _can_be_exact(study: Study) -> bool:
    """Return whether all questions of a study have options."""
    try:
        check_options(study, TrialNumbers(study.design.size))
    except RunError:
        return False
    precision = study.planned.precision
    return precision is None or not precision.of_replies


def _options(protocol: Protocol, own_settings: Mapping[str, object], wishes: AuditWishes) -> dict[str, OptionValue]:
    """The settings of a study that the audit chooses."""
    by_name = {setting.name: setting for setting in protocol.settings}
    for name in own_settings:
        if name not in by_name:
            raise UnknownNameError(f"setting of {protocol.name}", name, by_name)
    out = {name: to_setting_type(by_name[name], value) for name, value in own_settings.items()}
    if wishes.temperature is not None and TEMPERATURE in by_name:
        out.setdefault(TEMPERATURE, wishes.temperature)
    return out


def _manifest_of(images: str) -> str:
    """The list of pictures that is meant: the file itself, or that in a folder."""
    if not images or is_url(images):
        return images
    if not Path(images).exists():
        raise DataError(f"There are no pictures {images}: --images names a list of pictures, or a folder with one.")
    if not Path(images).is_dir():
        return images
    lists = [str(Path(images) / name) for name in _LISTS if (Path(images) / name).is_file()]
    if not lists:
        raise DataError(
            f"{images} has no list of its pictures (manifest.csv): 'facevalue manifest init {images} --for STUDY' "
            "begins one."
        )
    return lists[0]
