"""Definitions of measures."""

import math
from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Measure:
    """Definition of a measure: what its estimates mean and where it comes from.

    Attributes
    ----------
    name:
        As in the `measure` column of the estimates.
    title:
        For people.
    equation:
        Plain text, in the paper's symbols.
    unit:
        Unit of `value` ("probability", "share", "1").
    cluster:
        The unit that was sampled, and over which intervals are taken ("identity").
    source:
        Paper and section; "FaceValue" for what no paper has.
    paired:
        Whether it compares stimuli of the same cluster.
    signed:
        Whether it has a direction. Unsigned measures are positive without any effect, and stand beside a noise floor.
    comparison:
        Whether it says that things differ, so that there is a verdict to give; a rate by itself is none.
    limits:
        Smallest and largest possible value; an interval says nothing about impossible ones.
    squared:
        Whether it is a squared distance, as divergences are: then its noise floor says how it varies (`unsigned`).
    """

    name: str
    title: str
    equation: str
    unit: str
    cluster: str
    source: str
    paired: bool = False
    signed: bool = True
    comparison: bool = False
    limits: tuple[float, float] = (-math.inf, math.inf)
    squared: bool = False
