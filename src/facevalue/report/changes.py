"""What interventions changed, in a few lines."""

from collections.abc import Sequence

import polars as pl

from facevalue.measures.base import Measure
from facevalue.measures.change import PREFIX
from facevalue.report.generic import label_of
from facevalue.report.numbers import Estimate, Numbers
from facevalue.report.words import Titles, interval, number, share_of_chance, why_no_interval

MISSING = f"{PREFIX}missing answers"


def change_lines(numbers: Numbers, titles: Titles, measures: Sequence[Measure], most: int = 3) -> list[str]:
    """Say per model and intervention how many estimates changed, which clearest, and what became of missing answers.

    Parameters
    ----------
    numbers, titles, measures:
        Estimates, wording of levels, definitions.
    most:
        How many changes to name.

    Returns
    -------
    Lines; none where there was no intervention.
    """
    known = {m.name: m.title for m in measures}
    out = []
    changed = pl.col("measure").str.starts_with(PREFIX)
    for model in numbers.models:
        rows = list(numbers.where(changed & (pl.col("model") == model)))
        if not rows:
            continue
        tests = [e for e in rows if e.q is not None and e.measure != MISSING]
        found = sorted((e for e in tests if numbers.tested(e)), key=_clearness, reverse=True)
        missing = next((e for e in rows if e.measure == MISSING), None)
        out.append(
            f"{model}: {len(found) or 'none'} of {len(tests):,} estimates changed (q < .05 within each measure). "
            f"Replies without a valid answer: {_value(missing) if missing else 'not measured'}."
        )
        out += [f"  {known.get(e.measure, e.measure)}, {label_of(e, titles)}: {_value(e)}, q {share_of_chance(e.q)}"
                for e in found[:most]]  # fmt: skip
    return out


def _clearness(e: Estimate) -> float:
    return abs(e.value or 0.0) / e.se if e.se else 0.0


def _value(e: Estimate) -> str:
    if e.value is None:
        return "not measurable"
    return f"{number(e.value, e.unit, signed=True)} {interval(e, signed=True) or why_no_interval(e)}"
