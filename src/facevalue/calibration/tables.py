"""Tables of calibrations, for people and for files."""

from collections.abc import Sequence

import polars as pl

from facevalue.calibration.comparisons import comparisons
from facevalue.calibration.declared import calibration_of
from facevalue.calibration.runner import SIZES, Runner
from facevalue.protocol.offers import Calibrated, Table, Track
from facevalue.protocol.protocol import Protocol

_FAMILIES = (
    ("size", "size"), ("family", "family"), ("measure", "measure"), ("false", "false"), ("page", "false_page"),
    ("covers", "coverage"), ("effects", "coverage_effects"), ("found", "power_page"), ("power", "beside"),
    ("rival", "rival"), ("", "defect"),
)  # fmt: skip
_CONDITIONS = (
    ("condition", "condition"), ("size", "size"), ("page", "page"), ("sure", "page_without_unless"),
    ("family", "family"), ("p < .05", "p_below"), ("covers", "coverage"),
)  # fmt: skip
_DETECTABLE = (
    ("stated", "stated"), ("measure", "measure"), ("effect", "effect"), ("planted", "planted"), ("found", "found"),
    ("equivalent", "equivalent"),
)  # fmt: skip
_COMPARED = (
    ("two models", "pair"), ("size", "size"), ("any", "any"), ("mean", "mean"), ("p < .05", "p_below"),
    ("covers", "coverage"),
)  # fmt: skip


def calibrated(
    protocols: Sequence[Protocol], repetitions: int, track: Track, sizes: Sequence[int] = SIZES
) -> Calibrated:
    """Calibrate studies, one after the other.

    Parameters
    ----------
    sizes:
        How many times the pictures of the smallest audit; the hard conditions have those of the middle one.
    repetitions:
        Audits of each condition and size. The standard error of a share s is sqrt(s (1 - s) / repetitions) at most,
        .05 of 20 audits where s is .05.
    """
    summaries = [Runner(protocol, sizes, repetitions, track).summary() for protocol in protocols]
    pairs = [comparisons(one, calibration_of(one), repetitions, track) for one in protocols]
    error = f"Monte-Carlo standard error of a share of .05 of audits: {(0.05 * 0.95 / repetitions) ** 0.5:.3f}"
    tables = []
    for protocol, one, two in zip(protocols, summaries, pairs, strict=True):
        tables += [
            Table.of(
                f"{protocol.name}: families", _FAMILIES, one.families.iter_rows(named=True),
                "false: families with anything found where nothing is planted, and on the page; covers: intervals, "
                "where nothing and where effects are planted; found: of the effects, on the page; power: within the "
                f"family, beside a rival's (t over units, Holm). {error}.",
                boxed=False,
            ),
            Table.of(
                f"{protocol.name}: conditions", _CONDITIONS, one.conditions.iter_rows(named=True),
                "page: audits that find anything where nothing is planted; sure: without \"unless\".", boxed=False,
            ),
            Table.of(
                f"{protocol.name}: effects that are said to be found", _DETECTABLE,
                one.detectable.iter_rows(named=True), "Promised: found in .75 to .90; equivalent in none.",
                boxed=False,
            ),
            Table.of(
                f"{protocol.name}: comparisons", _COMPARED, two.iter_rows(named=True),
                "Two models of the same bias. any: comparisons in which a cell differs; mean: the mean difference has "
                "p below .05; covers: intervals of cells that hold zero.",
                boxed=False,
            ),
        ]  # fmt: skip
    frames = {
        "": pl.concat(one.families for one in summaries),
        "-conditions": pl.concat([one.conditions for one in summaries], how="vertical_relaxed"),
        "-detectable": pl.concat(one.detectable for one in summaries),
        "-comparisons": pl.concat(pairs),
    }
    return Calibrated(tables, frames)
