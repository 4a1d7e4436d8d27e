"""Tables of the calibration on the reference model: what it has learned, and what audits find of it."""

from collections.abc import Iterable, Mapping, Sequence
from itertools import islice
from typing import Any

import numpy as np
import polars as pl

from facevalue.calibration.learned import population
from facevalue.models.reference import adapter
from facevalue.models.reference.truth import PlantedEffects
from facevalue.protocol.calibration import Reference
from facevalue.protocol.offers import Calibrated, OfferedTable, Row, Track, cell
from facevalue.protocol.protocol import Protocol
from facevalue.runs import Progress

EXACT = 1e-12
"""A planted shift this small is none."""
NONE = pl.col("planted").abs() < EXACT
PROMISED = {"correlation": (0.97, 1.0, "at least 0.97"), "slope of learned on planted": (0.9, 1.1, "0.9 to 1.1")}
"""Ends of what is promised of the model, and the same in words."""
_COVERS = (pl.col("low") <= pl.col("true")) & (pl.col("true") <= pl.col("high"))
_FINDINGS = pl.col("found")
_WRONG = pl.col("value").sign() != pl.col("true").sign()
_SUMMARY = (
    ("faces", "faces"), ("audits", "repetitions"), ("r", "correlation"), ("slope", "slope"),
    ("coverage", "coverage"), ("of none", "coverage_none"), ("flagged", "flagged_none"),
    ("FDR", "false_discovery_rate"), ("wrong sign", "wrong_sign"), ("power", "power"),
)  # fmt: skip


def audited(
    protocol: Protocol, declared: Reference, variant: str, sizes: Sequence[int], repetitions: int, track: Track,
    progress: Progress,
) -> Calibrated:  # fmt: skip
    """Audit the reference model, or a variant of it, by numbers of faces."""
    folder = adapter.folder_of(variant)
    planted = PlantedEffects.read(folder / "truth.parquet")
    model = adapter.ReferenceModel(f"reference/{variant}" if variant else "reference", folder)
    people = population(protocol, declared, model, planted, track, progress)
    audits = {size: list(islice(people.audits(size), repetitions)) for size in track(sizes, "Auditing")}
    facts = {size: {"condition": "reference", "faces": size, "repetitions": repetitions} for size in audits}
    rows = [{**facts[size], **summed_up(of_size)} for size, of_size in audits.items()]
    all_audits, effects = pl.DataFrame(rows, infer_schema_length=None), people.effects()
    summary = OfferedTable.of(
        "All audits of the reference model", _SUMMARY, rows,
        "r, slope, coverage (nominal .95): of learned SBS. of none, flagged: of variations with nothing planted, their "
        "coverage, and the share that are findings. FDR: share of findings with nothing planted. These need not be "
        "errors, as the learned SBS is not exactly zero there; findings of the wrong sign are. Promised: coverage .92 "
        "to .98, flagged at most .05.",
        boxed=False,
    )  # fmt: skip
    return Calibrated([_one_audit(audits[sizes[0]][0], sizes[0]), _learned(effects), summary],
                      {"-effects": effects, "": all_audits})  # fmt: skip


def summed_up(audits: Iterable[pl.DataFrame]) -> dict[str, float | None]:
    """Statistics of audits: recovery, coverage and findings.

    Not all that is flagged where nothing is planted is an error, as the learned effect is small there, but not zero;
    what is found on the other side of zero than the learned SBS is (`wrong_sign`).
    """
    rows = pl.concat(audit.with_columns(audit=pl.lit(number)) for number, audit in enumerate(audits))
    false = rows.group_by("audit").agg(rate=NONE.filter(_FINDINGS).mean().fill_null(0.0), any=(NONE & _FINDINGS).any())
    shares = rows.select(
        correlation=pl.corr("true", "value"), slope=pl.cov("true", "value") / pl.col("true").var(),
        coverage=_COVERS.mean(), coverage_none=_COVERS.filter(NONE).mean(),
    )  # fmt: skip
    findings = rows.select(
        power=_FINDINGS.filter(~NONE).mean(), flagged_none=_FINDINGS.filter(NONE).mean(),
        wrong_sign=_WRONG.filter(_FINDINGS).mean().fill_null(0.0),
    )  # fmt: skip
    discoveries = false.select(false_discovery_rate=pl.col("rate").mean(), audits_with_false=pl.col("any").mean())
    return pl.concat([shares, discoveries, findings], how="horizontal").row(0, named=True)


def learning(effects: pl.DataFrame) -> dict[str, float | None]:
    """How well the model has learned what is planted, over all variations and scenarios; None where nothing is."""
    planted, learned = (effects[name].to_numpy() for name in ("planted", "learned"))
    largest = effects.select(pl.col("planted").abs().max().over("attribute", "variation") < EXACT).to_series()
    nothing, some = learned[largest.to_numpy()], np.ptp(planted) > EXACT
    return {
        "correlation": float(np.corrcoef(planted, learned)[0, 1]) if some else None,
        "slope of learned on planted": float(np.polyfit(planted, learned, 1)[0]) if some else None,
        "mean error": float(np.abs(learned - planted).mean()),
        "where nothing is planted: SD of learned": float(nothing.std()),
        "where nothing is planted: largest learned": float(np.abs(nothing).max()),
    }


def _one_audit(audit: pl.DataFrame, size: int) -> OfferedTable:
    rows: list[Row] = []
    for (attribute,), cues in audit.group_by("attribute", maintain_order=True):
        rows.append((str(attribute).replace("_", " "),))
        rows += [_estimate(row) for row in cues.iter_rows(named=True)]
    return OfferedTable(
        f"One audit of the reference model with {size} faces: SBS",
        ("variation", "planted", "learned", "audit", "95% interval", "covers", "q", "found"),
        rows,
        "covers: the interval holds the learned SBS, which is what the model has to be found. found: q < .04.",
        boxed=False,
    )


def _estimate(row: Mapping[str, Any]) -> Row:
    """What is planted, learned and estimated of a variation; hyphens where there are too few faces for an interval."""
    values = (f"{row[name]:+.3f}" for name in ("planted", "true", "value"))
    rest: Row = ("-", "-", "-", "")
    if row["low"] is not None and row["q"] is not None:
        covers = row["low"] <= row["true"] <= row["high"]
        rest = (f"{row['low']:+.3f} to {row['high']:+.3f}", cell(covers), f"{row['q']:.3f}", "yes" * row["found"])
    return f"  {row['variation']}", *values, *rest


def _learned(effects: pl.DataFrame) -> OfferedTable:
    rows = []
    for name, value in learning(effects).items():
        low, high, promise = PROMISED.get(name, (-np.inf, np.inf, ""))
        rows.append((name, cell(value), promise, cell(low <= value <= high) if promise and value is not None else ""))
    title = f"Learned against planted: {effects.height:,} effects of a variation on a scenario"
    return OfferedTable(title, ("", "measured", "promised", "holds"), rows, boxed=False)
