"""Audits: every study that the pictures allow, asked of one model within one budget; the same settings go on."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path

from facevalue.errors import ModelError, RunError, SettingError
from facevalue.models.base import Model
from facevalue.places import folder_or_url
from facevalue.protocol.study import LeftOut
from facevalue.runs.asked import utc_now
from facevalue.runs.audit_folder import (
    AuditedStudy,
    AuditRecord,
    begun_runs,
    is_audit,
    read_audit,
    run_place,
    runs_of,
    write_audit,
)
from facevalue.runs.audit_margins import recorded_margins
from facevalue.runs.audit_plan import AuditPlan, Rates, plan_of_budget, plan_of_samples
from facevalue.runs.audit_studies import AuditWishes, StudyOfAudit, studies_of
from facevalue.runs.budgets import HOURS, MONEY, AuditBudget, Prices, budget_of, check_currency
from facevalue.runs.checks import check_limits
from facevalue.runs.grown import grow
from facevalue.runs.prepared import Prepared, prepare
from facevalue.runs.remote_pictures import own_folder
from facevalue.runs.settings import RunSettings, RunSummary
from facevalue.runs.stopping import StopRule, can_stop
from facevalue.runs.stored import StoredRun
from facevalue.runs.study_sizes import StudyPilot, StudySizes
from facevalue.runs.trials import TrialNumbers
from facevalue.store.manifest import read_manifest
from facevalue.store.remote import run_under
from facevalue.types import OptionValue

PILOT_SHARE = 0.25
"""Of a budget: the most that a pilot takes; where it would take more, the plan is made of stated defaults."""
Ask = Callable[[Prepared], RunSummary]
"""Asks what is open of a run."""


@dataclass(frozen=True)
class AuditSettings:
    """Settings of an audit.

    Attributes
    ----------
    model:
        Who answers, as it is typed.
    wishes:
        What is asked.
    budget:
        What it may take; None for a pilot alone.
    typed:
        The budget as it was typed.
    seed:
        Of the samples.
    rates:
        Prices of tokens, and requests a second, as far as they are known.
    pilot:
        Another audit, of which the spread, the tokens and the speed are taken; None for a pilot of its own.
    max_invalid:
        As of `RunSettings`.
    stop_when:
        Rule by which each study stops that is measured while it is asked.
    """

    model: str
    wishes: AuditWishes = field(default_factory=AuditWishes)
    budget: AuditBudget | None = None
    typed: str = ""
    seed: int = 0
    rates: Rates = field(default_factory=Rates)
    pilot: Path | str | None = None
    max_invalid: float | None = None
    stop_when: StopRule | None = None

    @classmethod
    def of(
        cls,
        model: str,
        wishes: AuditWishes,
        typed: str,
        rates: Rates,
        *,
        seed: int = 0,
        pilot: Path | str | None = None,
        max_invalid: float | None = None,
        stop_when: StopRule | None = None,
    ) -> "AuditSettings":
        """Settings with a budget as it is typed; empty for a pilot alone."""
        budget = budget_of(typed) if typed else None
        if budget is not None:
            check_currency(budget, rates.prices, model or "the model")
        return cls(model, wishes, budget, typed.strip(), seed, rates, pilot, max_invalid, stop_when)

    def recorded(self) -> dict[str, OptionValue]:
        """What decides what is asked, by the name of the option."""
        wishes = self.wishes
        settings: dict[str, OptionValue | None] = {
            "studies": list(wishes.studies) or None,
            "images": wishes.images or None,
            "temperature": wishes.temperature,
            "exact": wishes.exact or None,
            "with": [str(text) for text in wishes.interventions] or None,
            "sample-seed": self.seed,
            "stop-when": None if self.stop_when is None else self.stop_when.text,
            **recorded_margins(wishes.margins),
        }
        return {name: value for name, value in settings.items() if value is not None}


@dataclass(frozen=True)
class AuditOutcome:
    """What a session of an audit came to.

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
    def interrupted(self) -> bool:
        """Whether Ctrl-C or SIGTERM ended it."""
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
            _check_same(self.record, settings, built, str(place))
        if settings.stop_when is not None and not any(can_stop(study.study) for study in built):
            raise SettingError(
                "--stop-when looks at studies while they are asked, and the texts of all of these are scored or sorted "
                "afterwards: leave it out."
            )
        self._studies = {study.name: study for study in built}

    @property
    def studies(self) -> list[StudyOfAudit]:
        """What is asked, in order."""
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
            numbers = TrialNumbers.of(study.study.sample(sizes.smallest, self.settings.seed, study.repeats))
            try:
                check_limits(study.study, model, numbers, study.exact, images=True)
            except ModelError as error:
                self._left_out.append(LeftOut(study.name, str(error)))
                del self._studies[study.name]
        if not self._studies:
            raise ModelError(f"{model.name} can be asked nothing of this audit. {self._left_out[-1].why}")

    def plan(self) -> AuditPlan:
        """What is asked, of a pilot or within the budget, as far as is known now; nothing is asked for it."""
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
                self.settings.recorded(),
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
        stopped = {name: note for name, summary in summaries.items() if (note := _stopped(summary))}
        plan = self._plan_within(budget, stopped)
        if tell is not None:
            tell(plan)
        return self._end(plan, summaries | self._ask_samples(ask, {study.name: study.sample for study in plan.studies}))

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
        """What a pilot asks that has begun, or will begin."""
        samples = {of_study.name: of_study.begun or of_study.pilot_sample for of_study in sizes}
        return plan_of_samples(sizes, self._left_out, self.settings.rates, samples)

    def _plan_within(self, budget: AuditBudget, stopped: Mapping[str, str]) -> AuditPlan:
        """The plan within a budget: made now and recorded, or as it was."""
        assert self.record is not None
        sizes = self._sizes()
        if self.record.planned:
            samples = {study.name: study.asked for study in self.record.studies}
            return plan_of_samples(sizes, self._left_out, self.settings.rates, samples, budget)
        plan = plan_of_budget(sizes, self._left_out, budget, self.settings.rates, stopped)
        samples = {study.name: study.sample for study in plan.studies}
        studies = tuple(replace(s, sample=samples[s.name]) for s in self.record.studies if s.name in samples)
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
        )
        if prices is None:
            return settings
        settings = replace(settings, price_in=prices.prompt, price_out=prices.completion)
        if budget is None or budget.unit != MONEY:
            return settings
        return replace(settings, max_cost=max(budget.amount - self._spent(prices, besides=study.name), 1e-9))

    def _spent(self, prices: Prices, besides: str) -> float:
        """What all other studies have cost."""
        assert self.place is not None
        assert self.record is not None
        places = [place for name, place in begun_runs(self.place, self.record).items() if name != besides]
        counts = [(run_under(place)[1] if isinstance(place, str) else read_manifest(place)).counts for place in places]
        return sum(prices.cost(of_run.prompt_tokens, of_run.completion_tokens) for of_run in counts)

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

    def _sizes(self) -> list[StudySizes]:
        """Sizes that each study may have, by what its pilot says."""
        pilots = self._pilots()
        begun = {} if self.record is None else {study.name: study.pilot for study in self.record.studies}
        return [
            StudySizes(
                study,
                self.settings.seed,
                StudyPilot.of(pilots[name]) if name in pilots else None,
                begun.get(name, 0),
                rule=self.settings.stop_when,
            )
            for name, study in self._studies.items()
        ]

    def _end(self, plan: AuditPlan, summaries: Mapping[str, RunSummary]) -> AuditOutcome:
        assert self.record is not None
        complete = len(summaries) >= len(plan.studies) and not _is_open(summaries)
        ended = (self.record.ended or utc_now()) if complete else None
        if ended != self.record.ended:
            self._write(replace(self.record, ended=ended))
        return AuditOutcome(plan, summaries, complete)

    def _write(self, record: AuditRecord) -> None:
        assert self.place is not None
        if record != self.record or not is_audit(self.place):
            write_audit(self.place, record)
        self.record = record


def _is_open(summaries: Mapping[str, RunSummary]) -> bool:
    """Whether anything is left that the same settings would ask."""
    return any(summary.interrupted or (not summary.complete and not summary.stopped) for summary in summaries.values())


def _stopped(summary: RunSummary) -> str:
    """Why a study is asked no more after its pilot; empty if it is."""
    if summary.enough:
        return "Its pilot told enough: it is asked no more."
    return "Most replies of its pilot cannot be read: it is asked no more." if summary.stopped else ""


def _check_same(record: AuditRecord, settings: AuditSettings, studies: Sequence[StudyOfAudit], place: str) -> None:
    """Refuse an audit whose settings are not those that it was begun with."""
    if changed := list(_differences(record, settings, studies)):
        raise RunError(
            f"{place} was begun with other settings: {'; '.join(changed)}. Restore them, or name another folder."
        )


def _differences(record: AuditRecord, settings: AuditSettings, studies: Sequence[StudyOfAudit]) -> Iterator[str]:
    """Settings that differ, for people; a pilot may get a budget."""
    stored: dict[str, object] = {"model": record.model, **record.settings}
    requested: dict[str, object] = {"model": settings.model, **settings.recorded()}
    if record.planned:
        stored["budget"], requested["budget"] = record.budget or None, settings.typed or None
    by_name = {study.name: study for study in studies}
    for study in record.studies:
        now = by_name.get(study.name)
        for option in {} if now is None else {**study.options, **now.options}:
            stored[f"{option} of {study.name}"] = study.options.get(option)
            requested[f"{option} of {study.name}"] = now.options.get(option) if now is not None else None
        stored[f"file of {study.name}"] = study.digest[:12] or None
        requested[f"file of {study.name}"] = None if now is None else now.digest[:12] or None
        if now is None:
            stored[f"study {study.name}"] = "asked"
    for name in dict.fromkeys([*stored, *requested]):
        if stored.get(name) != requested.get(name):
            yield f"{name}: {_setting_text(stored.get(name))} in the folder, {_setting_text(requested.get(name))} asked"


def _setting_text(value: object) -> str:
    return "nothing" if value is None else ", ".join(map(str, value)) if isinstance(value, list) else str(value)
