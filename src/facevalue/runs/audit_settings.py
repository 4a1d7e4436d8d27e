"""Settings of an audit, and whether they are those that it was begun with."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from facevalue.errors import RunError
from facevalue.runs.audit_folder import AuditRecord
from facevalue.runs.audit_margins import recorded_margins
from facevalue.runs.audit_plan import Rates
from facevalue.runs.audit_studies import AuditWishes, StudyOfAudit
from facevalue.runs.budgets import AuditBudget, budget_of, check_currency
from facevalue.runs.stopping import StopRule
from facevalue.types import OptionValue


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
    sight:
        Whether the model is first asked about pictures made on the spot, once for all studies.
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
    sight: bool = True

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
        sight: bool = True,
    ) -> "AuditSettings":
        """Settings with a budget as it is typed; empty for a pilot alone."""
        budget = budget_of(typed) if typed else None
        if budget is not None:
            check_currency(budget, rates.prices, model or "the model")
        return cls(model, wishes, budget, typed.strip(), seed, rates, pilot, max_invalid, stop_when, sight)

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


def check_same(record: AuditRecord, settings: AuditSettings, studies: Sequence[StudyOfAudit], place: str) -> None:
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
