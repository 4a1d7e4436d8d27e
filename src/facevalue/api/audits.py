"""Audits from Python: all studies of a model within one budget, and the pack that hands an audit on."""

from collections.abc import Callable, Iterable, Mapping
from contextlib import closing, nullcontext
from dataclasses import dataclass, fields
from os import PathLike, fspath
from pathlib import Path
from typing import Any

from facevalue.api.calls import own_model, place_of, progress_of, stored_runs
from facevalue.api.run import Run
from facevalue.api.study import rehearse
from facevalue.arguments import check_arguments, checked_path, split_names
from facevalue.errors import SettingError
from facevalue.models.base import Model, checked_model
from facevalue.models.registry import load
from facevalue.report.audit_page import AuditReport, write_audit_report
from facevalue.runs.audits.audit import ModelAudit
from facevalue.runs.audits.folder import whole_runs_of
from facevalue.runs.audits.plan import AuditPlan, Prices, Rates
from facevalue.runs.audits.settings import AuditConfig, AuditSettings, read_config
from facevalue.runs.audits.studies import AuditWishes
from facevalue.runs.preparation import model_in_path
from facevalue.runs.progress import Progress, silence_told
from facevalue.runs.runner import begin
from facevalue.runs.settings import StopRule
from facevalue.runs.stored_run import StoredRun
from facevalue.types import Question

# Audits from the options of a command or call: settings, rehearsals, and the report at the end.


_FOLDER = "audits"


@dataclass(frozen=True)
class AuditOptions:
    """Options of an audit as they are given; those of the file of `config` hold where one is not given here.

    Attributes
    ----------
    model, budget, studies, images, pilot, rate, temperature, exact, interventions, seed, price_in, price_out, \
max_invalid, stop_when, sight, outside:
        As of `facevalue audit`.
    config:
        The file.
    settings:
        By study, its own settings; they come before those of the file.
    """

    model: str | None = None
    budget: str | None = None
    studies: str | tuple[str, ...] | None = None
    images: str | None = None
    config: Path | None = None
    pilot: Path | str | None = None
    rate: float | None = None
    temperature: float | None = None
    exact: bool = False
    interventions: tuple[str, ...] = ()
    seed: int = 0
    price_in: float | None = None
    price_out: float | None = None
    max_invalid: float | None = None
    stop_when: str | None = None
    sight: bool = True
    outside: bool = False
    settings: Mapping[str, Mapping[str, object]] | None = None


_DEFAULTS = {option.name: option.default for option in fields(AuditOptions)}


def open_audit(settings: AuditSettings, place: Path | str | None) -> ModelAudit:
    """An audit at a place, or at audits/MODEL, the user's own studies rehearsed before anything is asked."""
    session = ModelAudit(settings, Path(_FOLDER) / model_in_path(settings.model) if place is None else place)
    for study in session.studies:
        rehearse(study.protocol, study.study, exact=study.exact, declared=study.declared)
    return session


def settings_of(options: AuditOptions) -> AuditSettings:
    """Settings of an audit, of what is given and what its file says.

    Raises
    ------
    SettingError, DataError, UnknownNameError
        Something of them is wrong, or a budget of money has no prices.
    """
    config = AuditConfig() if options.config is None else read_config(options.config)

    def option(name: str) -> Any:
        value = getattr(options, name)
        return config.options.get(name, value) if value == _DEFAULTS[name] else value

    studies = option("studies")
    names = tuple(split_names(studies)) if isinstance(studies, str) else tuple(studies or ())
    if isinstance(studies, str) and not names:
        raise SettingError("--studies names none: name studies with commas between, or leave it out for all.")
    model = option("model") or ""
    wishes = AuditWishes(
        names,
        option("images") or "",
        {**config.settings, **(options.settings or {})},
        option("temperature"),
        option("exact"),
        option("interventions"),
        options.outside,
        config.margins,
    )
    return AuditSettings.from_wishes(
        model,
        wishes,
        option("budget") or "",
        Rates(_prices(options, config, model), option("rate")),
        seed=option("seed"),
        pilot=options.pilot,
        max_invalid=option("max_invalid"),
        sight=options.sight,
        stop_when=None if option("stop_when") is None else StopRule.from_text(option("stop_when")),
    )


def _prices(options: AuditOptions, config: AuditConfig, model: str) -> Prices | None:
    """Prices that are given, or those of the model in the file."""
    if options.price_in is None and options.price_out is None:
        return config.prices.get(model)
    if options.price_in is None or options.price_out is None:
        missing = "--price-in" if options.price_in is None else "--price-out"
        raise SettingError(f"Prices are those of prompts and of replies: give {missing}, too.")
    return Prices(options.price_in, options.price_out)


def finish_audit(session: ModelAudit) -> tuple[AuditReport, dict[str, StoredRun]]:
    """Measure what was asked, and write the report of each study and that of the audit; also returns its runs."""
    assert session.place is not None
    assert session.record is not None
    runs = session.runs()
    return write_audit_report(session.place, session.record, runs), runs


Settings = Mapping[str, Mapping[str, object]]


@dataclass(frozen=True)
class Audited:
    """An audit that was asked, measured and reported.

    Attributes
    ----------
    place:
        Its folder or URL.
    plan:
        What it asks, and what each study detects.
    report:
        The page, and the answer of each study.
    runs:
        By name of the study, as `run` returns them.
    complete:
        Whether all was asked.

    Examples
    --------
    Made by `audit`, never by hand:

    >>> Audited.__annotations__["plan"].__name__
    'AuditPlan'
    """

    place: Path | str
    plan: AuditPlan
    report: AuditReport
    runs: Mapping[str, Run]
    complete: bool


@check_arguments
def audit(
    model: str | Model | Callable[[Question], str],
    folder: str | PathLike[str] | None = None,
    *,
    budget: str | int | None = None,
    studies: Iterable[str] = (),
    images: str | PathLike[str] | None = None,
    config: str | PathLike[str] | None = None,
    settings: Settings | None = None,
    pilot: str | PathLike[str] | None = None,
    rate: float | None = None,
    temperature: float | None = None,
    exact: bool = False,
    interventions: Iterable[str] = (),
    seed: int = 0,
    price_in: float | None = None,
    price_out: float | None = None,
    max_invalid: float | None = None,
    stop_when: str | None = None,
    sight_check: bool = True,
    outside: bool = False,
    progress: bool | Progress = True,
) -> Audited:
    """Ask a model every study that the pictures allow, within one budget, and report; the same call goes on.

    Parameters
    ----------
    model:
        Who answers: what `run` takes.
    folder:
        Where the audit goes, a folder or a URL; audits/MODEL by default.
    budget:
        What all studies may take together: a number of requests, "2h", or "20usd" with prices; without one, a pilot is
        taken.
    studies:
        Names of studies, and files of one's own; all that there are by default.
    images:
        The list of one's own pictures, or a folder with it; drawn people by default.
    config:
        A TOML file with any of these, prices of models, and settings of single studies.
    settings:
        By name of a study, its own settings.
    pilot:
        Another audit or run, of which spread, tokens and speed are taken.
    rate:
        Requests a second, for a budget of hours; that of the pilot by default.
    temperature:
        Of all studies; each has its own by default.
    exact:
        Read probabilities wherever a study can be asked so.
    interventions:
        Done to every request a second time: names, or TOML files.
    seed:
        Which samples.
    price_in, price_out:
        Price of a million tokens of prompts and of replies.
    max_invalid:
        Stop a study if more than this share of its first replies have no valid answer.
    stop_when:
        Rule by which each study stops once enough is known, as of `run`; one whose texts are scored or sorted
        afterwards is asked whole.
    sight_check:
        Whether the model is first asked about pictures made on the spot, as of `run`; once for all studies.
    outside:
        Whether files of studies may name files that are not below their own folders.
    progress:
        Whether to show how far it is, or where to report it.

    Raises
    ------
    RunError
        The folder belongs to an audit with other settings.
    DataError
        The budget is too small for any verdict, or no study can be asked with these pictures.
    ModelError
        The model can be asked nothing of the audit.
    KeyboardInterrupt
        It was interrupted. What was answered is stored, and the same call goes on.

    Examples
    --------
    >>> import facevalue as fv
    >>> small = {"stylisticbias": {"faces": "12", "attributes": "eyewear", "seeds": "1"}}
    >>> audited = fv.audit("sim/default", "audits/first", studies=["stylisticbias"], settings=small, progress=False)
    >>> audited.complete, audited.report.answers[0].name
    (True, 'stylisticbias')
    """
    ready = None if isinstance(model, str) else own_model(model)
    spec = model if isinstance(model, str) else checked_model(ready).name
    options = _options(
        budget, studies, images, pilot, model=spec, config=None if config is None else Path(config), rate=rate,
        temperature=temperature, exact=exact, interventions=tuple(interventions), seed=seed, price_in=price_in,
        price_out=price_out, max_invalid=max_invalid, stop_when=stop_when, sight=sight_check, outside=outside,
        settings=settings,
    )  # fmt: skip
    session = open_audit(settings_of(options), None if folder is None else place_of(folder))
    place, reported = session.place, progress_of(progress)
    assert place is not None
    answering = load(spec) if ready is None else ready
    with closing(answering) if ready is None else nullcontext():
        with silence_told(reported):
            session.fit(answering)
        outcome = session.ask(lambda prepared: begin(prepared, answering, reported))
    if outcome.was_interrupted:
        raise KeyboardInterrupt(f"{place} holds what was answered: the same call goes on.")
    report, stored_runs = finish_audit(session)
    runs = {name: Run(run, outcome.summaries.get(name)) for name, run in stored_runs.items()}
    return Audited(place, outcome.plan, report, runs, outcome.complete)


@check_arguments
def plan_audit(
    *,
    budget: str | int | None = None,
    studies: Iterable[str] = (),
    images: str | PathLike[str] | None = None,
    settings: Settings | None = None,
    pilot: str | PathLike[str] | None = None,
    rate: float | None = None,
    exact: bool = False,
    seed: int = 0,
    price_in: float | None = None,
    price_out: float | None = None,
    stop_when: str | None = None,
) -> AuditPlan:
    """Work out what an audit asks and what each study detects; nothing is asked.

    Parameters
    ----------
    budget, studies, images, settings, pilot, rate, exact, seed, price_in, price_out, stop_when:
        As `audit` takes them.

    Examples
    --------
    >>> import facevalue as fv
    >>> small = {"stylisticbias": {"faces": "60", "attributes": "eyewear", "seeds": "1"}}
    >>> plan = fv.plan_audit(budget=4_000, studies=["stylisticbias"], settings=small)
    >>> plan.requests, round(plan.points or 0)
    (3996, 6)
    """
    options = _options(
        budget, studies, images, pilot,
        rate=rate, exact=exact, seed=seed, price_in=price_in, price_out=price_out, stop_when=stop_when,
        settings=settings,
    )  # fmt: skip
    return ModelAudit(settings_of(options)).plan()


def _options(
    budget: str | int | None,
    studies: Iterable[str],
    images: str | PathLike[str] | None,
    pilot: str | PathLike[str] | None,
    **values: Any,
) -> AuditOptions:
    """Options of a call as the command has them."""
    return AuditOptions(
        budget=None if budget is None else str(budget),
        studies=tuple(studies) or None,
        images=None if images is None else fspath(images),
        pilot=None if pilot is None else place_of(pilot),
        **values,
    )


@check_arguments
def pack(
    *runs: Run | str | PathLike[str],
    to: str | PathLike[str],
    organization: str = "not stated",
    limits: str | PathLike[str] | None = None,
    baseline: Iterable[Run | str | PathLike[str]] = (),
) -> Path:
    """Pack everything that runs rest on: reports, estimates, settings, digests, in forms that others' tools read.

    Parameters
    ----------
    runs:
        Runs, or their folders; the folder of an audit stands for all its runs.
    to:
        A folder that is not there, is empty, or holds an earlier pack; or a .zip file.
    organization:
        Who asked, for forms that say so.
    limits:
        A file of limits that the runs are checked against, as `gate` does; what becomes of each is packed, too.
    baseline:
        Runs or audits that changes are taken against.

    Returns
    -------
    The folder or file. docs/how-to/pack.md says what is in it.

    Raises
    ------
    RunError, SettingError
        No run, one twice, or a place that cannot be used.

    Examples
    --------
    >>> import facevalue as fv
    >>> fv.pack("runs/first", to="first.zip").name
    'first.zip'
    """
    from facevalue.packing.contents import pack as write_pack  # noqa: PLC0415 - reports take a second to import

    places: list[Path | str] = [run.stored.place if isinstance(run, Run) else fspath(run) for run in runs]
    declared = None if limits is None else checked_path(limits)
    compared = list(stored_runs(baseline, whole_runs_of))
    return write_pack(places, checked_path(to), organization, declared, compared).place
