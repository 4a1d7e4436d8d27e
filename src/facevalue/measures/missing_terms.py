"""Terms of estimates of missing answers: the sums of each unit from which shares and gaps follow."""

from collections.abc import Mapping, Sequence
from functools import partial

import numpy as np
import polars as pl

from facevalue.measures.cluster_bootstrap import Array
from facevalue.measures.terms import MOST_BYTES, EstimateTerm, Terms, UnitSums, record

_NOTHING = 1e-9  # of a reply
_PARTS = 3
"""Of a gap on a prompt: units in several groups; of units in one group alone, those of the group, and of the others."""


def of_shares(units: pl.DataFrame, by: Sequence[str], names: Mapping[int, str]) -> Terms:
    """Terms of shares, in the order of their labels.

    `units`: `by`, `unit`, `replies` and `missing`, a row each, in the order of `by` and `unit`. `names`: of units, by
    their number.
    """
    cells = units.partition_by(by, maintain_order=True) if by else [units]
    out = []
    for cell in cells:
        missing, replies = (cell[name].cast(pl.Float64).to_numpy()[:, None] for name in ("missing", "replies"))
        out.append(EstimateTerm(UnitSums(missing, replies, names=_called(cell["unit"], names)), 0))
    return tuple(out)


def of_gaps(
    cells: pl.DataFrame, groups: Sequence[str], prompts: Sequence[str | None], names: Mapping[int, str]
) -> Terms | None:
    """Terms of gaps, of each group by prompt; None where nobody asked.

    `cells`: `unit`, `group`, `prompt`, `replies`, `missing`, `block` (0 for units in one group alone) and `excess` and
    `total` as `_Excess.of` has them. `prompts`: with null last where it stands for all together, those of `cells` that
    lack nothing among them. `names`: as above.

    Equation
    --------
    (Σ_b T_gb + Σ_p w_p (m_gp / A_gp - m_op / A_op)) / (Σ_b w_gb + Σ_p w_p), w_p = A_gp A_op / (A_gp + A_op): over units
    b in several groups, with their excess T and weight w, and, on each prompt p, the replies A and missing answers m of
    the units in this group alone, and in one of the others alone.
    """
    term_record = record()
    if term_record is None:
        return None
    single_prompts = prompts[:-1] if len(prompts) > 1 else prompts
    units = cells["unit"].unique(maintain_order=True)
    shape = (units.len(), len(single_prompts) + 1, _PARTS)
    if 16 * int(np.prod(shape)) * len(groups) > MOST_BYTES - term_record.bytes:
        term_record.is_full = True
        return None
    unit, prompt = (
        cells[name].replace_strict(levels, range(len(levels)), default=len(levels), return_dtype=pl.Int64).to_numpy()
        for name, levels in (("unit", units), ("prompt", single_prompts))
    )
    missing, replies, excess, of_group, total = (
        cells[name].cast(pl.Float64).to_numpy() for name in ("missing", "replies", "excess", "group_replies", "total")
    )
    weight, is_crossed = of_group * (total - of_group) / total, (cells["block"] > 0).to_numpy()
    statistic = partial(_gap, prompts=len(single_prompts) + 1, has_total=len(prompts) > 1)
    called, out = _called(units, names), []
    for group in groups:
        is_own = (cells["group"] == group).to_numpy()
        parts = (
            (is_crossed & is_own, excess, weight),
            (~is_crossed & is_own, missing, replies),
            (~is_crossed & ~is_own, missing, replies),
        )
        sums, counts = np.zeros(shape), np.zeros(shape)
        for part, (rows, of_sums, of_counts) in enumerate(parts):
            np.add.at(sums, (unit[rows], prompt[rows], part), of_sums[rows])
            np.add.at(counts, (unit[rows], prompt[rows], part), of_counts[rows])
        flat = units.len(), -1
        of = UnitSums(sums.reshape(flat), counts.reshape(flat), statistic, names=called)
        out += [EstimateTerm(of, column) for column in range(len(prompts))]
    return tuple(out)


def _gap(sums: Array, counts: Array, prompts: int, has_total: bool) -> Array:
    """Gaps of a group on each prompt and, if there are several, on all together; of totals of the parts of each.

    The last prompt stands for all that lack nothing.
    """
    s, n = (x.reshape(*x.shape[:-1], prompts, _PARTS) for x in (sums, counts))
    own, others = n[..., 1], n[..., 2]
    with np.errstate(invalid="ignore", divide="ignore"):
        alone = np.where((own > _NOTHING) & (others > _NOTHING), own * others / (own + others), 0.0)
        excess = s[..., 0] + np.where(alone > 0, alone * (s[..., 1] / own - s[..., 2] / others), 0.0)
        weight = n[..., 0] + alone
        total = (x.sum(axis=-1, keepdims=True)[..., : int(has_total)] for x in (excess, weight))
        excess, weight = (
            np.concatenate([x[..., :-1], y], axis=-1) for x, y in zip((excess, weight), total, strict=True)
        )
        return np.where(weight > _NOTHING, excess / weight, np.nan)


def _called(units: pl.Series, names: Mapping[int, str]) -> list[str]:
    return [names[unit].replace("\x1f", ", ") for unit in units.to_list()] if names else []
