"""Correlations of effects between two runs, for people."""

import math
from collections.abc import Sequence

from facevalue.measures.profiles import RankAgreement
from facevalue.report.formatting import DASH

RANK_HEADS = ("Order of effects", "Cells", "Spearman's ρ", "By chance, same pictures", "Without noise", "Interval")
RANK_NOTE = (
    "By chance: what two runs without any effect have, as they share pictures. Without noise: of the effects. "
    "All intervals of all runs and studies hold together."
)


def rank_rows(ranks: Sequence[RankAgreement]) -> list[tuple[str, ...]]:
    """A row for each measure."""
    return [
        (rank.measure, f"{rank.cells:,}", _number(rank.rho), _interval(rank.chance_low, rank.chance_high),
         _number(rank.value), _interval(rank.low, rank.high))
        for rank in ranks
    ]  # fmt: skip


def rank_sentence(ranks: Sequence[RankAgreement]) -> str:
    """In which measures the effects of both runs have the same order, or the opposite one, as far as is known."""
    same, opposite = ([r.measure for r in ranks if (r.low > 0 if up else r.high < 0)] for up in (True, False))
    parts = [
        *([f"Effects in {', '.join(same)} are in much the same order in both runs."] if same else []),
        *([f"Effects in {', '.join(opposite)} are in the opposite order."] if opposite else []),
    ]
    rest = [r.measure for r in ranks if r.measure not in (*same, *opposite)]
    if rest:
        parts.append(f"Whether those in {', '.join(rest)} are in the same order cannot be told.")
    return " ".join(parts)


def _number(value: float) -> str:
    return DASH if math.isnan(value) else f"{value:.2f}".replace("-", "−")


def _interval(low: float, high: float) -> str:
    return DASH if math.isnan(low) else f"[{_number(low)}, {_number(high)}]"
