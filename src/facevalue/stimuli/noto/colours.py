"""Skin tones by an explicit colour map: what is not skin keeps its colour.

As published, the five variants of an emoji differ in their hair as well as in their skin. So only one variant is
kept (medium-light), its skin colours are replaced by those that the published variants have in the same places,
and hair, brows, mouth and eyes get one dark brown for all tones, dark enough to be seen on each.
"""

import re
from collections.abc import Mapping
from types import MappingProxyType

from facevalue.errors import UnknownNameError

TONES: tuple[str, ...] = ("light", "medium-light", "medium", "medium-dark", "dark")

_COLOUR = re.compile(r"#[0-9a-f]{6}\b|#[0-9a-f]{3}\b")

# Face; its shades (ears, nose, neck); and the lines of hands, in the order of TONES.
SKIN: Mapping[str, tuple[str, ...]] = MappingProxyType(
    {
        "#e0bb95": ("#f9ddbd", "#e0bb95", "#ba8d68", "#a56c43", "#70534a"),
        "#c48e6a": ("#dba689", "#c48e6a", "#99674f", "#875334", "#3c2b24"),
        "#dba689": ("#edbd82", "#dba689", "#99674f", "#875334", "#3c2b24"),
        "#cca47a": ("#ffd29c", "#cca47a", "#a47b62", "#8d5738", "#5c4037"),
        "#ba8f63": ("#edbd82", "#ba8f63", "#91674d", "#875334", "#4a2f27"),
        "#a87254": ("#d0a183", "#a87254", "#7f5340", "#6b4129", "#2f221d"),  # singers' hands; the shades are ours
    }
)
FEATURES: Mapping[str, str] = MappingProxyType(
    {
        "#ab872f": "#3e2c25",  # hair
        "#9b782c": "#3e2c25",
        "#bfa055": "#5a4237",  # light on hair
        "#6d4c41": "#2e1f1b",  # brows, mouth
        "#785446": "#2e1f1b",
        "#825e1d": "#2e1f1b",
        "#5d4037": "#261a17",  # eyes
    }
)


def recolour(body: str, tone: str) -> str:
    """Return a medium-light body in a skin tone, hair and features dark brown.

    >>> recolour('<path fill="#e0bb95"/><path fill="#ab872f"/>', "dark")
    '<path fill="#70534a"/><path fill="#3e2c25"/>'
    """
    if tone not in TONES:
        raise UnknownNameError("skin tone", tone, TONES)
    at = TONES.index(tone)
    colours = {**FEATURES, **{base: tones[at] for base, tones in SKIN.items()}}
    return _COLOUR.sub(lambda match: colours.get(match[0], match[0]), body)
