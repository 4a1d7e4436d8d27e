"""File of an audit's settings: what is on the command line, prices of models, settings and margins of studies."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path

from facevalue.errors import DataError
from facevalue.given import read_text, to_toml
from facevalue.places import is_url
from facevalue.protocol.toml_tables import TomlTable, lines_of
from facevalue.runs.audit_margins import read_margins
from facevalue.runs.budgets import Prices, budget_of
from facevalue.runs.stopping import StopRule

_LIMIT = 2**20
_KEYS = (
    *("model", "budget", "studies", "images", "exact", "temperature", "with", "sample_seed", "max_invalid", "rate"),
    *("stop_when", "prices", "settings", "margins"),
)  # fmt: skip


@dataclass(frozen=True, slots=True)
class AuditConfig:
    """What a file says of an audit.

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
    table.known(*_KEYS)
    return AuditConfig(_options(table, path.parent), _prices(table), _settings(table), read_margins(table))


def _options(table: TomlTable, folder: Path) -> dict[str, object]:
    out: dict[str, object] = {}
    if "model" in table:
        out["model"] = table.text("model")
    if "budget" in table:
        value = table.document()["budget"]
        out["budget"] = str(table.whole("budget", low=1)) if isinstance(value, int) else table.text("budget")
        with table.at("budget"):
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
            out[key] = _bounded(table, key, low, high)
    if "stop_when" in table:
        out["stop_when"] = table.text("stop_when")
        with table.at("stop_when"):
            StopRule.of(str(out["stop_when"]))
    if "sample_seed" in table:
        out["seed"] = table.whole("sample_seed", low=0)
    return out


def _bounded(table: TomlTable, key: str, low: float | None, high: float | None) -> float:
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
        entry.known("in", "out", "currency")
        currency = entry.text("currency", "").lower()
        if currency and not (len(currency) == 3 and currency.isalpha()):
            raise entry.error(f"'currency' is three letters, such as \"usd\", not {currency!r}.", "currency")
        prompt, completion = entry.number("in"), entry.number("out")
        with entry.at("in" if prompt < 0 else "out"):
            out[model] = Prices(prompt, completion, currency)
    return out


def _settings(table: TomlTable) -> dict[str, dict[str, object]]:
    by_study = table.table("settings", needed=False)
    return {study: dict(by_study.table(study).document()) for study in by_study}
