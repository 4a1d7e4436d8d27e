"""What became of a cell between two runs: an effect is turned round only where both intervals are clear of zero."""

import polars as pl
import pytest

from facevalue.runs.comparisons.cells import GONE, HIGHER, LARGER, LOWER, SMALLER, TURNED
from facevalue.runs.comparisons.models import _became

Side = tuple[float, float | None, float | None]


def became(first: Side, second: Side, *, effect: bool = True, signed: bool = True) -> str:
    row: dict[str, float | bool | None] = {"(effect)": effect, "(signed)": signed}
    for side, (value, low, high) in (("first", first), ("second", second)):
        row |= {side: value, f"low_{side}": low, f"high_{side}": high}
    return str(pl.DataFrame([row], schema_overrides={name: pl.Float64 for name in row if "(" not in name}).select(
        became=_became()
    )["became"][0])  # fmt: skip


@pytest.mark.parametrize(
    ("first", "second", "expected"),
    [
        ((0.4, 0.2, 0.6), (-0.3, -0.5, -0.1), TURNED),
        ((0.4, 0.2, 0.6), (-0.1, -0.3, 0.1), GONE),
        ((0.4, 0.2, 0.6), (0.05, -0.1, 0.2), GONE),
        ((0.4, 0.2, 0.6), (0.2, 0.1, 0.3), SMALLER),
        ((0.2, 0.1, 0.3), (0.4, 0.3, 0.5), LARGER),
        ((0.1, -0.1, 0.3), (-0.4, -0.6, -0.2), LARGER),
        ((0.3, -0.1, 0.7), (-0.2, -0.5, 0.1), SMALLER),
        ((0.4, 0.2, 0.6), (-0.3, None, None), SMALLER),
        ((0.4, 0.0, 0.8), (-0.3, -0.5, -0.1), SMALLER),
    ],
)
def test_an_effect(first: Side, second: Side, expected: str) -> None:
    assert became(first, second) == expected
    mirrored = [(-value, None if high is None else -high, None if low is None else -low)
                for value, low, high in (first, second)]  # fmt: skip
    assert became(mirrored[0], mirrored[1]) == expected


def test_what_has_no_direction_or_no_zero_is_not_gone_or_turned() -> None:
    assert became((0.4, 0.2, 0.6), (0.1, 0.0, 0.2), signed=False) == SMALLER
    assert became((0.4, 0.2, 0.6), (0.1, -0.1, 0.3), effect=False) == LOWER
    assert became((0.4, 0.2, 0.6), (0.6, 0.4, 0.8), effect=False) == HIGHER
