"""Rules by which pictures are accepted: quantities with a limit, of all pictures or of some cues, from a TOML file.

A file has a table for each rule::

    [[rule]]
    quantity = "structure"          # of facevalue.inspection.quantities, or "lookalikes"
    at_least = 0.9                  # or at_most, or both

    [[rule]]
    quantity = "identity_distance"
    at_most = "calibrated"          # a limit for each cue and group, from pairs that are known
    cues = ["glasses", "beard"]     # of these alone; of all by default
"""

from collections.abc import Sequence
from dataclasses import dataclass
from math import inf
from pathlib import Path

from facevalue.errors import UnknownNameError
from facevalue.given import read_file, to_text, to_toml
from facevalue.inspection.quantities import BY_NAME
from facevalue.protocol.toml_tables import TomlTable, lines_of

LOOKALIKES = "lookalikes"
"""Quantity of a set of pictures: others of it, but for the source, that look the same."""
CALIBRATED = "calibrated"
"""A limit that known pairs give."""
MAX_BYTES = 256 * 1024
MOST_RULES = 100


@dataclass(frozen=True)
class PictureRule:
    """What a picture must fulfil.

    Attributes
    ----------
    quantity:
        Whose value counts.
    low, high:
        Least and greatest value that pass.
    calibrated:
        Which limit known pairs give, "at_least" or "at_most"; empty where the rule has its own.
    cues:
        Edits that it is of; all where there are none.
    edited:
        Whether it is of edits alone that were to change something: not of null edits, nor of sources.

    Examples
    --------
    >>> PictureRule("structure", low=0.9).text
    'structure at least 0.9'
    """

    quantity: str
    low: float = -inf
    high: float = inf
    calibrated: str = ""
    cues: tuple[str, ...] = ()
    edited: bool = False

    @property
    def text(self) -> str:
        """In words."""
        bounds = [f"at least {self.low:g}"] * (self.low > -inf) + [f"at most {self.high:g}"] * (self.high < inf)
        bounds += [f"{self.calibrated.replace('_', ' ')} what known pairs give"] * bool(self.calibrated)
        of = f" ({', '.join(self.cues)})" if self.cues else ""
        return f"{self.quantity} {' and '.join(bounds)}{of}"


USUAL = (PictureRule("blankness", high=0.98), PictureRule("greatest_change", low=2.0, edited=True))
"""Where the user declares none: a picture shows something, and an edit is no copy of its source. One that cannot be
opened never passes."""


def reason_in_words(reason: str) -> str:
    """A reason as people read it: with what the quantity is called, and its unit.

    Examples
    --------
    >>> reason_in_words("shift at most 2"), reason_in_words("shift is missing"), reason_in_words("its source fails")
    ('shift of the frame: at most 2 % of width', 'shift of the frame is missing', 'its source fails')
    """
    name, _, rest = reason.partition(" ")
    if name not in BY_NAME:
        return reason
    quantity = BY_NAME[name]
    title = quantity.title[:1].lower() + quantity.title[1:]
    if rest == "is missing":
        return f"{title} {rest}"
    limit, bracket, cues = rest.partition(" (")
    unit = f" {quantity.unit}" if quantity.unit not in ("1", "share", "probability") else ""
    return f"{title}: {limit}{unit}{bracket}{cues}"


def read_rules(path: Path) -> tuple[PictureRule, ...]:
    """Read the rules of a file.

    Raises
    ------
    DataError, UnknownNameError
        A key, quantity or limit is none; names the file and line.
    """
    text = to_text(read_file(path, MAX_BYTES, "rules of acceptance"), path.name)
    table = TomlTable(path.name, lines_of(text), (), to_toml(text.encode(), path.name))
    table.known("rule")
    tables = table.tables("rule")
    if not 0 < len(tables) <= MOST_RULES:
        raise table.error(f"Rules of acceptance are 1 to {MOST_RULES} tables [[rule]], not {len(tables)}.")
    return tuple(_rule(rule) for rule in tables)


def _rule(table: TomlTable) -> PictureRule:
    table.known("quantity", "at_least", "at_most", "cues")
    name = table.text("quantity")
    if name not in BY_NAME and name != LOOKALIKES:
        with table.at("quantity"):
            raise UnknownNameError("quantity", name, [*BY_NAME, LOOKALIKES])
    cues = table.names("cues", ())
    document = table.document()
    limits = [key for key in ("at_least", "at_most") if key in table]
    calibrated = [key for key in limits if document[key] == CALIBRATED]
    if not limits:
        raise table.error("A rule has a limit: at_least, at_most, or both.", "quantity")
    if calibrated:
        if len(limits) > 1:
            raise table.error('A limit that is "calibrated" stands alone.', calibrated[0])
        if name == LOOKALIKES or not BY_NAME[name].source:
            raise table.error(
                f"Known pairs say how far a picture is from its source, which {name} is not about.", calibrated[0]
            )
        return PictureRule(name, calibrated=calibrated[0], cues=cues)
    if stray := next((key for key in limits if isinstance(document[key], str)), None):
        raise table.error(f'A limit is a number or "{CALIBRATED}", not {document[stray]!r}.', stray)
    low, high = table.number("at_least", -inf), table.number("at_most", inf)
    if low > high:
        raise table.error(f"Nothing is at least {low:g} and at most {high:g}.", "at_most")
    _check_reachable(table, name, low, high, limits)
    return PictureRule(name, low, high, cues=cues)


def _check_reachable(table: TomlTable, name: str, low: float, high: float, limits: Sequence[str]) -> None:
    """Refuse limits that no value can fulfil."""
    if name in BY_NAME and (low > BY_NAME[name].greatest or high < BY_NAME[name].least):
        of = BY_NAME[name]
        raise table.error(f"{name} goes from {of.least:g} to {of.greatest:g}: no picture would pass.", limits[0])
