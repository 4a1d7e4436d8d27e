"""Audits from the options of a command or call: settings, rehearsals, and the report at the end."""

from collections.abc import Mapping
from dataclasses import dataclass, fields
from pathlib import Path
from typing import Any

from facevalue.api.rehearsed import rehearse
from facevalue.arguments import split_names
from facevalue.errors import SettingError
from facevalue.report.audit_page import AuditReport, write_audit_report
from facevalue.runs.audit import ModelAudit
from facevalue.runs.audit_config import AuditConfig, read_config
from facevalue.runs.audit_plan import Rates
from facevalue.runs.audit_settings import AuditSettings
from facevalue.runs.audit_studies import AuditWishes
from facevalue.runs.budgets import Prices
from facevalue.runs.prepared import model_in_path
from facevalue.runs.stopping import StopRule
from facevalue.runs.stored import StoredRun

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
    return AuditSettings.of(
        model,
        wishes,
        option("budget") or "",
        Rates(_prices(options, config, model), option("rate")),
        seed=option("seed"),
        pilot=options.pilot,
        max_invalid=option("max_invalid"),
        sight=options.sight,
        stop_when=None if option("stop_when") is None else StopRule.of(option("stop_when")),
    )


def _prices(options: AuditOptions, config: AuditConfig, model: str) -> Prices | None:
    """Prices that are given, or those of the model in the file."""
    if options.price_in is None and options.price_out is None:
        return config.prices.get(model)
    if options.price_in is None or options.price_out is None:
        missing = "--price-in" if options.price_in is None else "--price-out"
        raise SettingError(f"Prices are those of prompts and of replies: give {missing}, too.")
    return Prices(options.price_in, options.price_out)


def finish(session: ModelAudit) -> tuple[AuditReport, dict[str, StoredRun]]:
    """Measure what was asked, and write the report of each study and that of the audit; also returns its runs."""
    assert session.place is not None
    assert session.record is not None
    runs = session.runs()
    return write_audit_report(session.place, session.record, runs), runs
