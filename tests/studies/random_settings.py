"""Random valid settings of the published studies: factors limited, one group, one prompt, tiny sizes."""

from functools import cache
from typing import Any

import numpy as np
from hypothesis import strategies as st

from facevalue import studies
from facevalue.protocol.protocol import Protocol
from facevalue.types import OptionValue

SIZES: dict[str, tuple[OptionValue, ...]] = {
    "faces": ("1M", "1F", "1M,1F", "3"), "people": (1, 2), "sets": (1, 2, 4), "replies": (1, 2), "forms": (1, 2),
    "pairs": (1, 3), "scenes": (1, 2), "drawn": (1, 2), "min_frequency": (1, 2), "min_sets": (1, 35),
    "max_tokens": (64,), "top_p": (1.0,), "temperature": (0.0, 1.0),
}  # fmt: skip
"""Values of settings that are no levels of the design; those of other settings are drawn by their type."""
LEFT = ("root", "kind", "manifest", "folder", "pata", "social", "cultural", "utkface", "fairface", "composed", "paper")
"""Pictures that have to be there, and what is about them."""


@cache
def levels(name: str) -> dict[str, tuple[str, ...]]:
    """Levels of the factors of a study as it is by default, by column; those of both people together."""
    study = studies.protocol(name).study()
    size = study.design.size
    frame = study.design.trials(np.unique(np.linspace(0, size - 1, min(size, 20_000)).astype(np.int64)))
    out: dict[str, tuple[str, ...]] = {}
    for column in frame.columns:
        own = frame[column].drop_nulls().cast(str).unique().to_list() if column not in ("trial", "image") else []
        plain = column.removesuffix("_1").removesuffix("_2")
        out[plain] = tuple(sorted({*out.get(plain, ()), *own}))
    return out


@st.composite
def chosen(draw: st.DrawFn, protocol: Protocol) -> dict[str, OptionValue]:
    """Settings, most of them by default; sizes are always small."""
    out: dict[str, OptionValue] = {}
    known = levels(protocol.name)
    for one in protocol.settings:
        if one.name in LEFT:
            continue
        small = [value for value in SIZES.get(one.name, ()) if isinstance(value, type(one.default))]
        if small and not one.needs and out.get("pictures") != "none":
            out[one.name] = draw(st.sampled_from(small))
        elif draw(st.integers(0, 3)) == 3:
            value: Any = None
            if one.choices:
                value = draw(st.sampled_from(one.choices))
            elif isinstance(one.default, bool):
                value = draw(st.booleans())
            elif one.name == "seeds":
                value = draw(st.sampled_from((["1"], ["1", "2"], ["7", "8", "9"])))
            elif isinstance(one.default, list) and known.get(one.name.removesuffix("s"), known.get(one.name)):
                every = known.get(one.name) or known[one.name.removesuffix("s")]
                value = draw(st.lists(st.sampled_from(every), min_size=1, max_size=3, unique=True))
            elif small:
                value = draw(st.sampled_from(small))
            elif one.name.endswith("_seed"):
                value = draw(st.integers(0, 9))
            if value is not None:
                out[one.name] = value
    return out
