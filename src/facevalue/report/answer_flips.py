"""Answers that flipped between two runs, for people."""

import math

import numpy as np

from facevalue.measures.uncertainty import Estimates
from facevalue.report.formatting import DASH, number
from facevalue.runs.answer_flips import AnswerFlips

ROW_HEADS = ("Identical answers", "Share", "95% interval")
_LONGEST = 300


def flip_sentences(flips: AnswerFlips, names: tuple[str, str], *, asked_alike: bool = True) -> tuple[str, ...]:
    """How many answers differ, how many only one of the runs gave, and what that is beside the runs' own noise.

    `names`: of the runs. `asked_alike`: whether both were asked the same; else an intervention lies between them.
    """
    likeliest = " (the likeliest option counts)" if flips.exact else ""
    share = flips.flipped / flips.trials
    differ = f"{flips.flipped:,} of {flips.trials:,} single answers differ, {number(share, 'share')}{likeliest}"
    alike = f"{names[0]} and {names[1]} were asked the same about the same picture."
    out = [f"{differ}: {alike}" if asked_alike else f"{differ}, between “{names[0]}” and “{names[1]}”, trial by trial."]
    if flips.lost or flips.gained:
        out.append(
            f"{flips.lost:,} that {names[0]} answered have no valid answer of {names[1]}, {flips.gained:,} the other "
            "way round."
            if asked_alike
            else f"Valid answers on one side alone: {flips.lost:,} of “{names[0]}”, {flips.gained:,} of “{names[1]}”."
        )
    return (*out, _beyond(flips))


def _beyond(flips: AnswerFlips) -> str:
    beyond = flips.shares.beyond
    value, low, high = (float(end[0]) for end in (beyond.value, beyond.low, beyond.high))
    if math.isnan(value):
        return (
            "How many answers a run would change by itself, asked again, is not known: it takes two seeds of each run, "
            "or exact probabilities."
        )
    if math.isnan(low):
        return f"Beyond what a run changes by itself, asked again: {_points(value)} (no interval: too few units)."
    ends = ", ".join(number(end, "share apart", signed=True, bare=True) for end in (low, high))
    again = f"differ than a run changes by itself, asked again: {_points(value)} [{ends}]."
    if low <= 0 <= high:
        return f"As far as these tell, no more {again}"
    return f"{'More' if value > 0 else 'Fewer'} {again}"


def _points(value: float) -> str:
    return f"{number(value, 'share apart', signed=True, bare=True)} points"


def flip_rows(flips: AnswerFlips, names: tuple[str, str]) -> list[tuple[str, str, str]]:
    """Shares of identical answers, beside chance and beside what each run repeats itself."""
    shares = flips.shares
    rows = [
        ("of both runs to one trial", *_ends(shares.identical)),
        ("by chance: answers that ignore the picture", _share(flips.chance), DASH),
    ]
    if not math.isnan(shares.between.value[0]):
        rows += [
            ("of both runs, drawn again", *_ends(shares.between)),
            (f"of {names[0]} and itself, drawn again", *_ends(shares.within_first)),
            (f"of {names[1]} and itself, drawn again", *_ends(shares.within_second)),
        ]
    return rows


def _ends(estimate: Estimates) -> tuple[str, str]:
    value, low, high = (float(np.asarray(end)[0]) for end in (estimate.value, estimate.low, estimate.high))
    interval = DASH if math.isnan(low) else f"[{', '.join(number(end, 'share', bare=True) for end in (low, high))}]"
    return _share(value), interval


def _share(value: float) -> str:
    return DASH if math.isnan(value) else number(value, "share")


def shortened(text: str, most: int = _LONGEST) -> str:
    r"""A text in one line, cut at so many characters.

    Examples
    --------
    >>> shortened("one\n two three", 8)
    'one two…'
    """
    line = " ".join(text.split())
    return line if len(line) <= most else f"{line[: most - 1].rstrip()}…"
