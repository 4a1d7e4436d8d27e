"""Designs: the trials of a study. Trial numbers to factor levels and back, samples and shards, all as arithmetic."""

from facevalue.design.blocks import Axis, AxisColumn, Block, Factor, Pairs
from facevalue.design.design import Design
from facevalue.design.order import Order, find_changes, units
from facevalue.design.sampling import Permutation, mix, mix_one, sample

__all__ = [
    "Axis", "AxisColumn", "Block", "Design", "Factor", "Order", "Pairs", "Permutation", "find_changes", "mix",
    "mix_one", "sample", "units",
]  # fmt: skip
