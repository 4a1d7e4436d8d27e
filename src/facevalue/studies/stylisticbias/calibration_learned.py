"""Tables of the calibration on the reference model: what it has learned, and what audits find of it."""

from collections.abc import Iterable, Mapping
from itertools import islice
from typing import Any

import numpy as np
import polars as pl

from facevalue.models.reference import adapter
from facevalue.models.reference.truth import PlantedTruth
from facevalue.protocol.offers import Calibrated, CalibrationRequest, Row, Table, cell
from facevalue.stimuli import drawn
from facevalue.studies.stylisticbias import calibration_reference as reference

EXACT = 1e-12
"""A planted shift this small is none."""
NONE = pl.col("planted").abs() < EXACT
PROMISED = {"correlation": (0.97, 1.0, "at least 0.97"), "slope of learned on planted": (0.9, 1.1, "0.9 to 1.1")}
"""Least and most, and in words."""
_SHIFT = "+.3f"
_COVERS = (pl.col("low") <= pl.col("true")) & (pl.col("true") <= pl.col("high"))
_FOUND = pl.col("found")


def summed_up(audits: Iterable[pl.DataFrame]) -> dict[str, float | None]:
    """Statistics of audits: recovery, coverage and findings.

    Not all that is flagged where nothing is planted is an error, as the learned effect is small there, but not zero;
    what is found on the other side of zero than the learned SBS is (`wrong_sign`).
    """
    rows = pl.concat(one.with_columns(audit=pl.lit(number)) for number, one in enumerate(audits))
    false = rows.group_by("audit").agg(rate=NONE.filter(_FOUND).mean().fill_null(0.0), any=(NONE & _FOUND).any())
    wrong = pl.col("value").sign() != pl.col("true").sign()
    shares = rows.select(
        correlation=pl.corr("true", "value"), slope=pl.cov("true", "value") / pl.col("true").var(),
        coverage=_COVERS.mean(), coverage_none=_COVERS.filter(NONE).mean(),
    ).row(0, named=True)  # fmt: skip
    findings = rows.select(
        power=_FOUND.filter(~NONE).mean(), flagged_none=_FOUND.filter(NONE).mean(),
        wrong_sign=wrong.filter(_FOUND).mean().fill_null(0.0),
    ).row(0, named=True)  # fmt: skip
    statistics = {"false_discovery_rate": "rate", "audits_with_false": "any"}
    return {**shares, **{name: false.select(pl.col(of).mean()).item() for name, of in statistics.items()}, **findings}


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


def audited(request: CalibrationRequest) -> Calibrated:
    """Audit the reference model."""
    population = _population(request)
    rows: list[dict[str, object]] = []
    first = pl.DataFrame()
    for size in request.track(request.sizes, "Auditing"):
        audits = list(islice(reference.audits(population, size), request.repetitions))
        first = audits[0] if not rows else first
        rows.append({"condition": "reference", "faces": size, "repetitions": request.repetitions, **summed_up(audits)})
    all_audits, effects = pl.DataFrame(rows, infer_schema_length=None), reference.learning(population)
    summary = Table.of(
        "All audits of the reference model",
        [
            ("faces", "faces"), ("audits", "repetitions"), ("r", "correlation"), ("slope", "slope"),
            ("coverage", "coverage"), ("of none", "coverage_none"), ("flagged", "flagged_none"),
            ("FDR", "false_discovery_rate"), ("wrong sign", "wrong_sign"), ("power", "power"),
        ],
        all_audits.iter_rows(named=True),
        "r, slope, coverage (nominal .95): of learned SBS. of none, flagged: of variations with nothing planted, their "
        "coverage, and the share that are findings. FDR: share of findings with nothing planted. These need not be "
        "errors, as the learned SBS is not exactly zero there; findings of the wrong sign are. Promised: coverage .92 "
        "to .98, flagged at most .05.",
        boxed=False,
    )  # fmt: skip
    tables = [_one_audit(first, request.sizes[0]), _learned(effects), summary]
    return Calibrated(tables, {"-effects": effects, "": all_audits})


def _population(request: CalibrationRequest) -> reference.Population:
    """Read what the reference model, or a variant of it, says of everyone, but for what is kept already."""
    folder = adapter.folder_of(request.variant)
    name = f"reference/{request.variant}" if request.variant else "reference"
    model = adapter.ReferenceModel(name, folder)
    truth = PlantedTruth.read(folder / "truth.parquet")
    readings = reference.Readings(reference.audited_study(), model, reference.default_folder(), truth)
    unread = readings.unread
    if unread.height:
        request.say(
            f"Reading the probabilities of {unread.height * readings.questions:,} judgments of {unread.height:,} "
            "pictures. They are kept, so that this is done once."
        )
        drawing = drawn.draw_all(unread, drawn.default_cache())
        for _ in request.track(drawing, "Drawing portraits", unread.height):
            pass
        for _ in request.track(readings.read(), "Reading people", unread["identity"].n_unique()):
            pass
    return readings.population()


def _one_audit(audit: pl.DataFrame, size: int) -> Table:
    rows: list[Row] = []
    for (attribute,), part in audit.group_by("attribute", maintain_order=True):
        rows.append((str(attribute).replace("_", " "),))
        rows += [_estimate(row) for row in part.iter_rows(named=True)]
    return Table(
        f"One audit of the reference model with {size} faces: SBS",
        ("variation", "planted", "learned", "audit", "95% interval", "covers", "q", "found"),
        rows,
        "covers: the interval holds the learned SBS, which is what the model has to be found. found: q < .04.",
        boxed=False,
    )


def _estimate(row: Mapping[str, Any]) -> Row:
    """What is planted, learned and estimated of a variation; hyphens where there are too few faces for an interval."""
    values = (f"{row[name]:{_SHIFT}}" for name in ("planted", "true", "value"))
    rest: Row = ("-", "-", "-", "")
    if row["low"] is not None and row["q"] is not None:
        interval = f"{row['low']:{_SHIFT}} to {row['high']:{_SHIFT}}"
        covers = row["low"] <= row["true"] <= row["high"]
        rest = (interval, "yes" if covers else "no", f"{row['q']:.3f}", "yes" if row["found"] else "")
    return f"  {row['variation']}", *values, *rest


def _learned(effects: pl.DataFrame) -> Table:
    rows = []
    for name, value in learning(effects).items():
        promise, holds = "", ""
        if name in PROMISED:
            least, most, promise = PROMISED[name]
            holds = "" if value is None else cell(least <= value <= most)
        rows.append((name, cell(value), promise, holds))
    title = f"Learned against planted: {effects.height:,} effects of a variation on a scenario"
    return Table(title, ("", "measured", "promised", "holds"), rows, boxed=False)
