"""Audits: every study that the pictures allow, asked of one model within one budget; the same settings go on."""

import logging
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from math import ceil
from pathlib import Path

import numpy as np

from facevalue.errors import ModelError, RunError, SettingError
from facevalue.models.base import Model
from facevalue.places import folder_or_url
from facevalue.protocol.study import LeftOut, Study
from facevalue.runs.audits.folder import (
    AuditedStudy,
    AuditRecord,
    begun_runs,
    is_audit,
    read_audit,
    run_place,
    runs_of,
    write_audit,
)
from facevalue.runs.audits.plan import (
    HOURS,
    MONEY,
    AuditBudget,
    AuditPlan,
    Prices,
    dealt_again,
    plan_of_budget,
    plan_of_samples,
)
from facevalue.runs.audits.settings import AuditSettings, check_same
from facevalue.runs.audits.studies import StudyOfAudit, StudyPilot, StudySizes, studies_of
from facevalue.runs.checks import check_limits
from facevalue.runs.preparation import Prepared, prepare
from facevalue.runs.requests import TrialNumbers
from facevalue.runs.settings import RunSettings, RunSummary, can_stop, requests_saved, utc_now
from facevalue.runs.storage.mirror import own_folder
from facevalue.runs.stored_run import StoredRun
from facevalue.store.files import MANIFEST
from facevalue.store.lease import Lease, RunLock
from facevalue.store.manifest import RunManifest, read_manifest, write_manifest
from facevalue.store.objects import Objects
from facevalue.store.remote import RUN, read_run, run_data, run_under
from facevalue.store.sight import Sight

# Growth of a run: a larger sample of the same study, of which all that was asked is a part.


_LOG = logging.getLogger(__name__)


def grow(place: Path | str, study: Study, sample: int) -> None:
    """Enlarge the sample of a run; does nothing for one that has this size or has not begun.

    Parameters
    ----------
    place:
        Folder or URL of the run; one that is not there yet is begun later.
    study:
        What it is a run of.
    sample:
        Requests wanted.

    Raises
    ------
    RunError
        The run asks more already, or something that is not in the larger sample; or another process drives it.
    """
    if isinstance(place, str):
        _grow_objects(place, study, sample)
    elif (place / MANIFEST).exists():
        with RunLock(place):
            run = read_manifest(place)
            if (larger := _larger(run, study, sample, place)) != run:
                write_manifest(place, larger)


def _grow_objects(url: str, study: Study, sample: int) -> None:
    """The same of a run in object storage, whose units stay as they were cut."""
    objects = Objects.at(url, make=True)
    stored = read_run(objects, missing=True)
    if stored is None or _larger(stored[0], study, sample, url) == stored[0]:
        return
    with Lease(objects, _LOG.info):
        run, tag = read_run(objects)
        larger = _larger(run, study, sample, url)
        if run.sample is not None and larger.sample != run.sample:
            larger = replace(larger, grown=(*run.grown, run.sample))
        if objects.replace(RUN, run_data(larger), tag) is None:
            raise RunError(f"{objects.called(RUN)} was changed by another process: give the command again.")


def _larger(run: RunManifest, study: Study, sample: int, place: Path | str) -> RunManifest:
    """A run with a larger sample; the same run where it has that sample."""
    if run.sample is None or run.sample == sample:
        return run
    repeats = 1 if run.exact else study.repeats
    smaller, larger = (study.sample(size, run.seed, repeats) for size in (run.sample, sample))
    if run.sample > sample or not np.isin(smaller, larger).all():
        raise RunError(
            f"{place} was begun with a sample of {run.sample:,} requests, of which not all are in one of "
            f"{sample:,}: name another {'prefix' if isinstance(place, str) else 'folder'}."
        )
    return replace(run, sample=sample, end=None)


PILOT_SHARE = 0.25
"""Of a budget: the most that a pilot takes; where it would take more, the plan is made of stated defaults."""
Ask = Callable[[Prepared], RunSummary]
"""Asks what is open of a run."""


@dataclass(frozen=True)
class AuditOutcome:
    """Outcome of a session of an audit.

    Attributes
    ----------
    plan:
        What it asks; of a session that ended in the pilot, the pilot's.
    summaries:
        Last session of each study that was asked, by name.
    complete:
        Whether all was asked.
    """

    plan: AuditPlan
    summaries: Mapping[str, RunSummary]
    complete: bool

    @property
    def was_interrupted(self) -> bool:
        """True if Ctrl-C or SIGTERM ended it."""
        return any(summary.interrupted for summary in self.summaries.values())


class ModelAudit:
    """An audit, from its settings to all answers.

    Parameters
    ----------
    settings:
        What is asked of whom.
    place:
        Where it goes, a folder or a URL; None for a plan alone.

    Raises
    ------
    RunError
        The place holds an audit with other settings, or something else.
    """

    def __init__(self, settings: AuditSettings, place: Path | str | None = None) -> None:
        self.settings, self.place = settings, place
        self.record = read_audit(place) if place is not None and is_audit(place) else None
        if isinstance(place, Path) and place.exists() and not place.is_dir():
            raise RunError(f"{place} is a file: name a folder.")
        if self.record is None and isinstance(place, Path) and place.is_dir() and any(place.iterdir()):
            raise RunError(f"{place} holds something else than an audit: name another folder.")
        built, self._left_out = studies_of(settings.wishes)
        if self.record is not None:
            self._left_out = list(self.record.left_out)
            built = [study for study in built if study.name in {member.name for member in self.record.studies}]
            check_same(self.record, settings, built, str(place))
        if settings.stop_when is not None and not any(can_stop(study.study) for study in built):
            raise SettingError(
                "--stop-when looks at studies while they are asked, and the texts of all of these are scored or sorted "
                "afterwards: leave it out."
            )
        self._studies = {study.name: study for study in built}

    @property
    def studies(self) -> list[StudyOfAudit]:
        """Studies that are asked, in order."""
        return list(self._studies.values())

    def fit(self, model: Model) -> None:
        """Leave out what a model cannot be asked, before anything is.

        Raises
        ------
        ModelError
            It can be asked nothing of the audit, or cannot be reached.
        """
        if self.record is not None:
            return
        _ = model.capabilities  # one that cannot be reached says so here, once for all studies
        for study in self.studies:
            sizes = StudySizes(study, self.settings.seed)
            numbers = TrialNumbers.select(study.study.sample(sizes.smallest, self.settings.seed, study.repeats))
            try:
                check_limits(study.study, model, numbers, study.exact, images=True)
            except ModelError as error:
                self._left_out.append(LeftOut(study.name, str(error)))
                del self._studies[study.name]
        if not self._studies:
            raise ModelError(f"{model.name} can be asked nothing of this audit. {self._left_out[-1].why}")

    def plan(self) -> AuditPlan:
        """Plan of a pilot, or within the budget, as far as is known now; makes no requests."""
        sizes, budget = self._sizes(), self.settings.budget
        if budget is None:
            return self._pilot_plan(sizes)
        return plan_of_budget(sizes, self._left_out, budget, self.settings.rates)

    def ask(self, ask: Ask, tell: Callable[[AuditPlan], None] | None = None) -> AuditOutcome:
        """Ask what is open: first a pilot, where one is needed, then what the plan says.

        Parameters
        ----------
        ask:
            Asks a run.
        tell:
            Is told each plan before it is asked.
        """
        assert self.place is not None
        budget = self.settings.budget
        summaries: dict[str, RunSummary] = {}
        if self.record is None:
            self.record = AuditRecord(
                self.settings.model,
                tuple(
                    AuditedStudy(study.name, study.typed, study.options, 0, digest=study.digest)
                    for study in self.studies
                ),
                tuple(self._left_out),
                self.settings.recorded_settings(),
            )
        if not self.record.planned and (pilot := self._own_pilot()) is not None:
            if tell is not None:
                tell(pilot)
            sizes = {study.name: study.sample for study in pilot.studies}
            self._write(
                replace(self.record, studies=tuple(replace(s, pilot=sizes[s.name]) for s in self.record.studies))
            )
            summaries = self._ask_samples(ask, sizes)
            if budget is None or _is_open(summaries):
                return self._end(pilot if _is_open(summaries) else self.plan(), summaries)
        assert budget is not None  # without one, a pilot is all
        stopped = {name: note for name, summary in summaries.items() if (note := _stop_reason(summary))}
        plan = self._plan_within(budget, stopped)
        if tell is not None:
            tell(plan)
        order = [name for name in plan.samples if name not in self.record.stopped_studies]
        waiting = sorted(order, key=lambda name: not can_stop(self._studies[name].study))
        while waiting:
            name = waiting.pop(0)
            summaries |= self._ask_samples(ask, {name: plan.samples[name]})
            if summaries[name].interrupted:
                break
            if summaries[name].enough and (larger := self._deal_again(plan, name, waiting)) != plan:
                plan = larger
                if tell is not None:
                    tell(plan)
        return self._end(plan, summaries)

    def _deal_again(self, plan: AuditPlan, stopped: str, waiting: Sequence[str]) -> AuditPlan:
        """Deal out what a study saved to those that are asked after it, once; the same plan where nothing is."""
        assert self.record is not None
        assert plan.budget is not None
        records = {study.name: study for study in self.record.studies}
        begun = self._facts()
        later = [name for name in waiting if _can_grow(records[name], begun.get(name))]
        if records[stopped].dealt or not later:
            return plan
        sizes = {of_study.name: of_study for of_study in self._sizes(plan.samples)}
        cost, saved = self.settings.rates.of_budget(plan.budget, sizes[stopped]), requests_saved(self.runs()[stopped])
        samples, spent = dealt_again([sizes[name] for name in later], saved * cost, plan.budget, self.settings.rates)
        if not samples:
            return plan
        records |= {name: replace(records[name], sample=sample) for name, sample in samples.items()}
        records[stopped] = replace(records[stopped], dealt=min(ceil(spent / cost - 1e-9), saved))
        self._write(replace(self.record, studies=tuple(records.values())))
        return self._plan_within(plan.budget, {})

    def _own_pilot(self) -> AuditPlan | None:
        """The pilot that is taken first, or goes on; None where none is taken."""
        assert self.record is not None
        budget, rates = self.settings.budget, self.settings.rates
        is_settled = budget is None or any(study.pilot for study in self.record.studies)
        if not is_settled and self.settings.pilot is not None:
            return None
        sizes = self._sizes()
        pilot = self._pilot_plan(sizes)
        if is_settled or budget is None or (budget.unit == HOURS and rates.per_second is None):
            return pilot
        takes = sum(
            study.requests * rates.of_budget(budget, of_study)
            for study, of_study in zip(pilot.studies, sizes, strict=True)
        )
        return pilot if takes <= PILOT_SHARE * budget.amount else None

    def _pilot_plan(self, sizes: Sequence[StudySizes]) -> AuditPlan:
        """Plan of a pilot that has begun, or will begin."""
        samples = {of_study.name: of_study.begun or of_study.pilot_sample for of_study in sizes}
        return plan_of_samples(sizes, self._left_out, self.settings.rates, samples)

    def _plan_within(self, budget: AuditBudget, stopped: Mapping[str, str]) -> AuditPlan:
        """The plan within a budget: made now and recorded, or as it was."""
        assert self.record is not None
        sizes = self._sizes()
        if self.record.planned:
            samples = {study.name: study.planned_requests for study in self.record.studies}
            dealt = {study.name: study.dealt for study in self.record.studies}
            stopped = {study.name: study.stopped for study in self.record.studies}
            return plan_of_samples(sizes, self._left_out, self.settings.rates, samples, budget, dealt, stopped)
        plan = plan_of_budget(sizes, self._left_out, budget, self.settings.rates, stopped)
        samples = {study.name: study.sample for study in plan.studies}
        studies = tuple(
            replace(s, sample=samples[s.name], stopped=stopped.get(s.name, ""))
            for s in self.record.studies if s.name in samples
        )  # fmt: skip
        self._write(
            replace(
                self.record,
                studies=studies,
                left_out=plan.left_out,
                budget=self.settings.typed,
                planned=True,
                ended=None,
            )
        )
        return plan

    def _ask_samples(self, ask: Ask, samples: Mapping[str, int]) -> dict[str, RunSummary]:
        """Ask each study so many requests, one after the other, until one is interrupted."""
        assert self.place is not None
        out: dict[str, RunSummary] = {}
        for name, sample in samples.items():
            study, folder = self._studies[name], run_place(self.place, name)
            grow(folder, study.study, sample)
            out[name] = ask(prepare(study.study, self.settings.model, folder, self._run_settings(study, sample)))
            if out[name].interrupted:
                break
        return out

    def _run_settings(self, study: StudyOfAudit, sample: int) -> RunSettings:
        prices, budget = self.settings.rates.prices, self.settings.budget
        settings = RunSettings(
            sample=sample,
            seed=self.settings.seed,
            exact=study.exact,
            max_invalid=self.settings.max_invalid,
            stop_when=self.settings.stop_when if can_stop(study.study) else None,
            preregistration=study.declared,
            sight=self.settings.sight,
            known_sight=next(filter(None, map(_stored_sight, self._facts().values())), None),
        )
        if prices is None:
            return settings
        settings = replace(settings, price_in=prices.prompt, price_out=prices.completion)
        if budget is None or budget.unit != MONEY:
            return settings
        return replace(settings, max_cost=max(budget.amount - self._cost_of_others(prices, besides=study.name), 1e-9))

    def _cost_of_others(self, prices: Prices, besides: str) -> float:
        """Cost of all other studies so far."""
        spent = [facts.tokens for name, facts in self._facts().items() if name != besides]
        return sum(prices.cost(*tokens) for tokens in spent)

    def _facts(self) -> dict[str, RunManifest]:
        """Stored manifests of the runs that have begun, by name."""
        assert self.place is not None
        assert self.record is not None
        begun = begun_runs(self.place, self.record)
        return {
            name: run_under(place)[1] if isinstance(place, str) else read_manifest(place)
            for name, place in begun.items()
        }

    def runs(self) -> dict[str, StoredRun]:
        """Runs of this audit that have begun, by name; the pictures that its user has just named are believed."""
        if self.record is None or self.place is None:
            return {}
        out = {}
        for name, place in begun_runs(self.place, self.record).items():
            study = self._studies.get(name)
            out[name] = StoredRun.open(place, pictures=None if study is None else own_folder(study.study.options))
        return out

    def _pilots(self) -> dict[str, StoredRun]:
        """Runs of which spread, tokens and speed are taken: of another audit, or this one's own."""
        if self.settings.pilot is None:
            return self.runs()
        runs = [StoredRun.open(folder_or_url(run)) for run in runs_of(self.settings.pilot)]
        by_study = {run.facts.study: run for run in runs}
        return {
            name: by_study[study.study.name] for name, study in self._studies.items() if study.study.name in by_study
        }

    def _sizes(self, samples: Mapping[str, int] | None = None) -> list[StudySizes]:
        """Sizes that each study may have, by what its pilot says; none is smaller than the pilot, or than `samples`."""
        pilots = self._pilots()
        begun = samples or ({} if self.record is None else {study.name: study.pilot for study in self.record.studies})
        return [
            StudySizes(
                study,
                self.settings.seed,
                StudyPilot.from_run(pilots[name]) if name in pilots else None,
                begun.get(name, 0),
                rule=self.settings.stop_when,
            )
            for name, study in self._studies.items()
            if self.record is None or name in begun
        ]

    def _end(self, plan: AuditPlan, summaries: Mapping[str, RunSummary]) -> AuditOutcome:
        assert self.record is not None
        complete = plan.samples.keys() <= summaries.keys() | self.record.stopped_studies and not _is_open(summaries)
        ended = (self.record.ended or utc_now()) if complete else None
        if ended != self.record.ended:
            self._write(replace(self.record, ended=ended))
        return AuditOutcome(plan, summaries, complete)

    def _write(self, record: AuditRecord) -> None:
        assert self.place is not None
        if record != self.record or not is_audit(self.place):
            write_audit(self.place, record)
        self.record = record


def _can_grow(study: AuditedStudy, run: RunManifest | None) -> bool:
    """Return whether a study was asked no more than a pilot, which did not tell enough."""
    return run is None or (run.sample == study.pilot and not run.enough)


def _is_open(summaries: Mapping[str, RunSummary]) -> bool:
    """Return whether anything is left that the same settings would ask."""
    return any(summary.interrupted or (not summary.complete and not summary.stopped) for summary in summaries.values())


def _stop_reason(summary: RunSummary) -> str:
    """Reason why a study is asked no more after its pilot; empty if it is."""
    if summary.enough:
        return "Its pilot told enough: it is asked no more."
    return "Most replies of its pilot cannot be read: it is asked no more." if summary.stopped else ""


def _stored_sight(facts: RunManifest) -> Sight | None:
    """Answers of the model about its sight stored for a run, without their cost; None if there are none."""
    if facts.sight is None or not facts.sight.asked:
        return None
    return replace(facts.sight, prompt_tokens=0, completion_tokens=0)
