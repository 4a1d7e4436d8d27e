"""Forms: texts about an estimate with the wording of its labels filled in."""

import re
from collections.abc import Callable

_FIELD = re.compile(r"\{([\w ]+)(?::(\w+))?(?:\|([^{}]*))?\}")
_GAP = re.compile("(^|: ), ")
"""What is left before the first of a list where parts before it are left out."""
_PART = re.compile(r"\[([^\[\]]*)\]")

Fill = Callable[[str, str], str | None]
"""A function of a field's name and manner that returns its text; None if the label is missing."""


def filled(form: str, fill: Fill) -> str:
    """Fill a form in with texts of labels.

    `form`: `{label}` is replaced; `{label:lower}` in a manner; `{label|Everyone}` says what stands for a missing one; a
    part in `[...]` is left out if a label in it is missing. `fill`: where texts come from.

    Examples
    --------
    >>> known = {"group": "Elderly", "dimension": None}
    >>> filled("{group:lower}[ ({dimension})] {other|all}", lambda name, how: known.get(name))
    'Elderly all'
    """

    def part_text(text: str) -> str | None:
        missing = False

        def field_text(match: re.Match[str]) -> str:
            nonlocal missing
            value = fill(match[1], match[2] or "")
            if value is None and match[3] is not None:
                return match[3]
            missing |= value is None
            return value or ""

        out = _FIELD.sub(field_text, text)
        return None if missing else out

    pieces = _PART.split(form)
    out = []
    for place, piece in enumerate(pieces):
        filled_piece = part_text(piece)
        if place % 2:
            out.append(filled_piece or "")
        else:
            out.append(
                filled_piece
                if filled_piece is not None
                else _FIELD.sub(lambda m: fill(m[1], m[2] or "") or m[3] or "–", piece)
            )
    return _GAP.sub(r"\1", "".join(out).strip())
