"""Studies of an audit: which of them the pictures allow, with which settings, and which size each has."""

import hashlib
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import dataclass, field, replace
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
import tomli_w

from facevalue.errors import DataError, FaceValueError, RunError, SettingError, UnknownNameError
from facevalue.measures.power import DetectionCurve
from facevalue.places import is_study_file, is_url
from facevalue.protocol.protocol import Protocol
from facevalue.protocol.settings import to_setting_type
from facevalue.protocol.study import LeftOut, Study
from facevalue.protocol.toml_tables import TomlTable, find_variants
from facevalue.protocol.variants import add_interventions
from facevalue.runs.audits.folder import run_name
from facevalue.runs.checks import check_options, check_pictures, check_shown
from facevalue.runs.plan import detected_by_all, expected_spread, plan, reaches_of
from facevalue.runs.requests import TrialNumbers
from facevalue.runs.settings import StopRule, can_stop
from facevalue.runs.stored_run import StoredRun
from facevalue.statistics.precision import Precision, Respondents, UnitSpread
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


PILOT_UNITS, LEAST_PILOT, MOST_PILOT = 6, 300, 2_000
"""Units and requests of a study that a pilot asks: as few requests as are about so many units, within these bounds."""
FEWEST_UNITS, LEAST_FREEDOM = 4, 30
"""Units of a pilot, and degrees of freedom of its spread over all tests, below which the default is taken: a size
chosen from fewer would hang so much on the very answers that are tested that their tests were no longer at their level.
"""
_DOUBLING, _FINE = 2.0, 1.06
"""Ratio of the sizes that are looked at first, and of those between which the best is found in the end."""


@dataclass(frozen=True, slots=True)
class StudySize:
    """A size of a study.

    Attributes
    ----------
    sample, requests:
        Requests wanted, and as many of them as make whole units.
    clusters, items:
        Units, and items of each in a test; 0 where the study has no power analysis.
    effect:
        Smallest effect that any test of the lead family detects with 80% power, in its own unit; NaN if some may miss
        any.
    points:
        The same in points of a hundred: shares of the largest possible effect.
    """

    sample: int
    requests: int
    clusters: int = 0
    items: float = 0.0
    effect: float = np.nan
    points: float = np.nan


@dataclass(frozen=True)
class StudyPilot:
    """Results of a pilot about a study, or its model.

    Attributes
    ----------
    run:
        Its answers.
    seconds:
        Of a request, as the pilot was asked; NaN where that is not known.
    prompt_tokens, completion_tokens:
        Of a request; NaN where the model does not count them.
    """

    run: StoredRun
    seconds: float
    prompt_tokens: float
    completion_tokens: float

    @classmethod
    def from_run(cls, run: StoredRun) -> "StudyPilot":
        """Read a run as a pilot."""
        counts = run.facts.counts
        answered = counts.ok + counts.truncated
        ended = [session for session in run.facts.sessions if session.end is not None and session.asked]
        seconds = sum((session.end - session.start).total_seconds() for session in ended if session.end is not None)
        responses = sum(session.asked for session in ended)
        counted = answered if answered and counts.prompt_tokens else np.nan
        return cls(
            run,
            seconds / responses if responses and seconds > 0 else np.nan,
            counts.prompt_tokens / counted,
            counts.completion_tokens / counted,
        )


@dataclass(eq=False)
class StudySizes:
    """Sizes that a study may have; each is looked at once.

    Attributes
    ----------
    study:
        What is asked.
    seed:
        Of its sample.
    pilot:
        From which spread, tokens and speed are taken; None for stated defaults.
    begun:
        Requests wanted of what was asked already, which no size is below; 0 where nothing was.
    rule:
        By which its run stops early; what it then detects is what it does at any time.
    """

    study: StudyOfAudit
    seed: int
    pilot: StudyPilot | None = None
    begun: int = 0
    rule: StopRule | None = None
    _by_sample: dict[int, StudySize] = field(default_factory=dict)

    @property
    def name(self) -> str:
        """Name of the study's run."""
        return self.study.name

    @property
    def is_stopping(self) -> bool:
        """True if the run is looked at while it is asked."""
        return self.rule is not None and can_stop(self.study.study)

    @cached_property
    def begun_requests(self) -> int:
        """Requests that were asked already: the whole units of `begun`."""
        return self.study.requests(self.begun, self.seed) if self.begun else 0

    @property
    def precision(self) -> Precision | None:
        """Facts about the study that a planner needs."""
        return self.study.study.planned.precision

    @cached_property
    def spread(self) -> UnitSpread | Respondents | None:
        """Spread of the units, by the pilot if it shows it; None where the study has no power analysis."""
        plan = self.precision
        if plan is None:
            return None
        study, exact = self.study.study, self.study.exact
        if self.pilot is not None and self.pilot.run.facts.sample is not None:
            facts = self.pilot.run.facts
            units = plan.units(study.sample(facts.sample or 1, facts.seed, self.study.repeats))[0]
            if units >= FEWEST_UNITS and (units - 1) * plan.tests >= LEAST_FREEDOM:
                with suppress(DataError):  # it says nothing of the spread
                    return expected_spread(study, exact=exact, pilot=self.pilot.run)
        return expected_spread(study, exact=exact, pilot=None)

    @cached_property
    def weigh_cells_alike(self) -> tuple[float, float]:
        """Tokens of a prompt and of a reply: as the pilot counted them, or roughly."""
        if self.pilot is not None and np.isfinite(self.pilot.prompt_tokens):
            return self.pilot.prompt_tokens, self.pilot.completion_tokens
        rough = plan(self.study.study, sample=self._part(), seed=self.seed, exact=self.study.exact)
        return rough.prompt_tokens / rough.asked, rough.completion_tokens / rough.asked

    def _part(self) -> int | None:
        size = max(self.smallest, MOST_PILOT)
        return None if size >= self.study.all_requests else size

    @cached_property
    def smallest(self) -> int:
        """Requests of the smallest sample, at least what was asked already."""
        if self.begun:
            return self.begun
        size = min(16, self.study.all_requests)
        while size < self.study.all_requests and not self.study.requests(size, self.seed):
            size = min(2 * size, self.study.all_requests)
        low = size // 2
        while size - low > 1 and low >= 1:
            middle = (low + size) // 2
            low, size = (low, middle) if self.study.requests(middle, self.seed) else (middle, size)
        return size

    @cached_property
    def pilot_sample(self) -> int:
        """Requests of a pilot."""
        most = min(max(self.smallest, MOST_PILOT), self.study.all_requests)
        size = min(max(self.smallest, LEAST_PILOT), most)
        plan = self.precision
        while plan is not None and size < most and self.size_of_sample(size).clusters < min(PILOT_UNITS, plan.clusters):
            size = min(2 * size, most)
        return size

    def size_of_sample(self, sample: int) -> StudySize:
        """Size of the study with such a sample, and what it detects."""
        sample = min(sample, self.study.all_requests)
        if sample not in self._by_sample:
            self._by_sample[sample] = self._look(sample)
        return self._by_sample[sample]

    def _look(self, sample: int) -> StudySize:
        plan, spread = self.precision, self.spread
        requests = self.study.requests(sample, self.seed)
        if plan is None or spread is None or not requests:
            return StudySize(sample, requests)
        clusters, items = plan.clusters, plan.items
        if sample < self.study.all_requests:
            clusters, items = plan.units(self.study.study.sample(sample, self.seed, self.study.repeats))
        effect = None
        if clusters and np.isfinite(spread.sd(items)):
            effect = detected_by_all(reaches_of(plan, spread, clusters, items, any_time=self.is_stopping))
        if effect is None:
            return StudySize(sample, requests, clusters, items)
        return StudySize(sample, requests, clusters, items, effect, 100 * effect / plan.largest)

    @cached_property
    def is_silent(self) -> bool:
        """Return whether no size is known to detect anything: no power analysis, or even the whole may miss all."""
        return self.precision is None or not np.isfinite(self.size_of_sample(self.study.all_requests).points)

    def look_up_to(self, most: int) -> None:
        """Look at sizes up to so many requests, each twice the last, and on to the first that detects anything."""
        size = self.smallest
        while True:
            is_telling = np.isfinite(self.size_of_sample(size).points)
            if size >= self.study.all_requests or (size >= most and is_telling):
                break
            if size < most < _DOUBLING * size and is_telling:
                size = most
            else:
                size = min(round(size * _DOUBLING), self.study.all_requests)
        self._narrow_first()

    def _narrow_first(self) -> None:
        """Find the first size that detects anything more closely."""
        sizes = sorted(self._by_sample)
        first = next((at for at, size in enumerate(sizes) if np.isfinite(self.size_of_sample(size).points)), 0)
        if not first:
            return
        low, high = sizes[first - 1], sizes[first]
        while high > _FINE * low and high - low > 1:
            middle = round(np.sqrt(low * high))
            low, high = (low, middle) if np.isfinite(self.size_of_sample(middle).points) else (middle, high)

    def look_near(self, sample: int) -> bool:
        """Look at sizes between one and its neighbours; False where they are near enough already."""
        sizes = sorted(self._by_sample)
        at = sizes.index(sample)
        new = []
        for low, high in zip(sizes[max(at - 1, 0) : at + 2], sizes[max(at, 1) : at + 2], strict=False):
            middle = round(np.sqrt(low * high))
            if high > _FINE * low and low < middle < high:
                new.append(middle)
        for size in new:
            self.size_of_sample(size)
        return bool(new)

    def curve(self, cost: float) -> tuple[list[StudySize], DetectionCurve]:
        """The sizes that were looked at, ascending, and what they detect by what they cost beyond what was asked.

        `cost`: of a request. The smallest of sizes with as many requests counts.
        """
        by_requests = {
            size.requests: size
            for sample in sorted(self._by_sample, reverse=True)
            if (size := self._by_sample[sample]).requests and sample >= self.smallest
        }
        sizes = [by_requests[requests] for requests in sorted(by_requests)]
        costs = np.array([(size.requests - self.begun_requests) * cost for size in sizes])
        return sizes, DetectionCurve(costs, np.array([size.points for size in sizes]) / 100)
