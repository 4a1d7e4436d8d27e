"""Settings of an audit, and whether they are those that it was begun with."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from facevalue.errors import DataError, RunError
from facevalue.places import is_url
from facevalue.protocol.toml_tables import TomlTable, lines_of
from facevalue.runs.audits.folder import AuditRecord
from facevalue.runs.audits.plan import AuditBudget, Prices, Rates, budget_of, check_currency
from facevalue.runs.audits.studies import AuditWishes, StudyOfAudit, read_margins, recorded_margins
from facevalue.runs.settings import StopRule
from facevalue.types import OptionValue
from facevalue.untrusted_files import read_text, to_toml

# File of an audit's settings: what is on the command line, prices of models, settings and margins of studies.


_LIMIT = 2**20
_KEYS = (
    *("model", "budget", "studies", "images", "exact", "temperature", "with", "sample_seed", "max_invalid", "rate"),
    *("stop_when", "prices", "settings", "margins"),
)  # fmt: skip


@dataclass(frozen=True, slots=True)
class AuditConfig:
    """Settings of an audit in a file.

    Attributes
    ----------
    options:
        By name, those of the command that it gives; paths are relative to the file's folder.
    prices:
        By model as it is typed.
    settings:
        By study, its own settings.
    margins:
        By study, the largest differences that would not matter.
    """

    options: Mapping[str, object] = field(default_factory=dict)
    prices: Mapping[str, Prices] = field(default_factory=dict)
    settings: Mapping[str, Mapping[str, object]] = field(default_factory=dict)
    margins: Mapping[str, TomlTable] = field(default_factory=dict)


def read_config(path: Path) -> AuditConfig:
    """Read the settings of an audit from a TOML file.

    Raises
    ------
    DataError, UnknownNameError
        Something of it is wrong; names the line, and the nearest valid key.
    """
    text = read_text(path, _LIMIT, "settings of an audit")
    table = TomlTable(str(path), lines_of(text), (), to_toml(text.encode(), str(path)))
    if "format" in table and "version" in table:
        raise DataError(f"{path} is the record of an audit, which FaceValue writes itself: name a file of your own.")
    table.check_keys(*_KEYS)
    return AuditConfig(_options_of_file(table, path.parent), _prices(table), _settings(table), read_margins(table))


def _options_of_file(table: TomlTable, folder: Path) -> dict[str, object]:
    out: dict[str, object] = {}
    if "model" in table:
        out["model"] = table.text("model")
    if "budget" in table:
        value = table.document()["budget"]
        out["budget"] = str(table.whole_number("budget", low=1)) if isinstance(value, int) else table.text("budget")
        with table.place_errors("budget"):
            budget_of(str(out["budget"]))
    if "studies" in table:
        out["studies"] = tuple(_below(folder, name, is_file=name.endswith(".toml")) for name in table.names("studies"))
        if not out["studies"]:
            raise table.error("'studies' is empty: name studies, or leave it out for all.", "studies")
    if "images" in table:
        out["images"] = _below(folder, table.text("images"), is_file=True)
    if "exact" in table:
        out["exact"] = table.flag("exact", default=False)
    if "with" in table:
        names = table.names("with")
        out["interventions"] = tuple(_below(folder, name, is_file=name.endswith(".toml")) for name in names)
    for key, low, high in (("temperature", 0.0, None), ("max_invalid", 0.0, 1.0), ("rate", None, None)):
        if key in table:
            out[key] = _read_bounded(table, key, low, high)
    if "stop_when" in table:
        out["stop_when"] = table.text("stop_when")
        with table.place_errors("stop_when"):
            StopRule.from_text(str(out["stop_when"]))
    if "sample_seed" in table:
        out["seed"] = table.whole_number("sample_seed", low=0)
    return out


def _read_bounded(table: TomlTable, key: str, low: float | None, high: float | None) -> float:
    """A number within bounds; above 0 where no least one is named."""
    value = table.number(key)
    if low is None and value <= 0:
        raise table.error(f"{key!r} is above 0, not {value:g}.", key)
    if low is not None and value < low:
        raise table.error(f"{key!r} is at least {low:g}, not {value:g}.", key)
    if high is not None and value > high:
        raise table.error(f"{key!r} is at most {high:g}, not {value:g}.", key)
    return value


def _below(folder: Path, name: str, *, is_file: bool) -> str:
    return str(folder / name) if is_file and not is_url(name) else name


def _prices(table: TomlTable) -> dict[str, Prices]:
    by_model = table.table("prices", needed=False)
    out = {}
    for model in by_model:
        entry = by_model.table(model)
        entry.check_keys("in", "out", "currency")
        currency = entry.text("currency", "").lower()
        if currency and not (len(currency) == 3 and currency.isalpha()):
            raise entry.error(f"'currency' is three letters, such as \"usd\", not {currency!r}.", "currency")
        prompt, completion = entry.number("in"), entry.number("out")
        with entry.place_errors("in" if prompt < 0 else "out"):
            out[model] = Prices(prompt, completion, currency)
    return out


def _settings(table: TomlTable) -> dict[str, dict[str, object]]:
    by_study = table.table("settings", needed=False)
    return {study: dict(by_study.table(study).document()) for study in by_study}


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
    def from_wishes(
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

    def recorded_settings(self) -> dict[str, OptionValue]:
        """Settings that decide what is asked, by the name of the option."""
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
    requested: dict[str, object] = {"model": settings.model, **settings.recorded_settings()}
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
