"""Statistics: what is estimated of answers, with its value, interval, test, bounds, wording and power in one module.

>>> from facevalue.statistics import Estimand, Gap, Shift
>>> [estimand.family_name for estimand in (Estimand(Shift(), by=("variation",)), Estimand(Gap(factor="gender")))]
['shifts by variation', 'gaps of gender']
"""

from typing import TYPE_CHECKING

from facevalue.lazy_names import lazy_names

if TYPE_CHECKING:
    from facevalue.statistics.agreement import Flip, Similarity
    from facevalue.statistics.cell_gaps import Correlation, GapSize, LargestGap
    from facevalue.statistics.contrasts import Gap, Preference, Shift
    from facevalue.statistics.estimand import Estimand
    from facevalue.statistics.levels import Lean, Mean
    from facevalue.statistics.ranges import Range
    from facevalue.statistics.spreads import Spread, Tally
    from facevalue.statistics.statistic import Score, Statistic, Unsigned, register

__all__ = [
    "Correlation",
    "Estimand",
    "Flip",
    "Gap",
    "GapSize",
    "LargestGap",
    "Lean",
    "Mean",
    "Preference",
    "Range",
    "Score",
    "Shift",
    "Similarity",
    "Spread",
    "Statistic",
    "Tally",
    "Unsigned",
    "register",
]

__getattr__, __dir__ = lazy_names(
    __name__,
    {
        "facevalue.statistics.agreement": ("Flip", "Similarity"),
        "facevalue.statistics.cell_gaps": ("Correlation", "GapSize", "LargestGap"),
        "facevalue.statistics.contrasts": ("Gap", "Preference", "Shift"),
        "facevalue.statistics.estimand": ("Estimand",),
        "facevalue.statistics.levels": ("Lean", "Mean"),
        "facevalue.statistics.ranges": ("Range",),
        "facevalue.statistics.spreads": ("Spread", "Tally"),
        "facevalue.statistics.statistic": ("Score", "Statistic", "Unsigned", "register"),
    },
)
