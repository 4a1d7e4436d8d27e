"""Random designs: blocks with factors, attributes, pairs and constants, of which some share names and levels."""

import numpy as np
import polars as pl
from hypothesis import strategies as st

from facevalue.design import Axis, Block, Design, Factor, Pairs

LEVELS = ("a", "b", "c", "d", "e", "f")
GROUPS = ("young", "old", None)


@st.composite
def factors(draw: st.DrawFn, name: str, least: int = 1) -> Factor:
    """A factor with some of the levels, so that blocks differ in what they have, and perhaps an attribute."""
    levels = tuple(draw(st.lists(st.sampled_from(LEVELS), min_size=least, max_size=5, unique=True)))
    if not draw(st.booleans()):
        return Factor(name, levels)
    groups = draw(st.lists(st.sampled_from(GROUPS), min_size=len(levels), max_size=len(levels)))
    return Factor(name, levels, {f"{name}_group": tuple(groups)})


@st.composite
def axes(draw: st.DrawFn, name: str) -> Axis:
    """A factor, or unordered or ordered pairs of one."""
    kind = draw(st.sampled_from(("factor", "factor", "unordered", "ordered")))
    if kind == "factor":
        return draw(factors(name))
    return Pairs(draw(factors(name, least=2)), ordered=kind == "ordered")


@st.composite
def blocks(draw: st.DrawFn, name: str) -> Block:
    """Up to four axes in the two roles, and perhaps a constant."""
    names = draw(st.permutations(["face", "place", "term", "order"]))
    stimulus = tuple(draw(axes(n)) for n in names[: draw(st.integers(0, 2))])
    prompt = tuple(draw(axes(n)) for n in names[2 : 2 + draw(st.integers(0, 2))])
    constants = draw(st.sampled_from(({}, {"task": "rate"}, {"task": "hire"}, {"task": "rate", "extra": "x"})))
    return Block(name, stimulus, prompt, constants)


@st.composite
def designs(draw: st.DrawFn) -> Design:
    """One to four blocks."""
    return Design(tuple(draw(blocks(f"block{i}")) for i in range(draw(st.integers(1, 4)))))


def whole(design: Design) -> pl.DataFrame:
    """Every trial of a small design."""
    return design.trials(np.arange(design.size))


def rows(frame: pl.DataFrame) -> set[tuple[object, ...]]:
    """A frame as a set of rows without trial numbers; columns in alphabetical order, all-null ones left out."""
    named = sorted(c for c in frame.columns if c != "trial" and frame[c].null_count() < frame.height)
    return set(frame.select(pl.col(named).cast(pl.String)).rows())
