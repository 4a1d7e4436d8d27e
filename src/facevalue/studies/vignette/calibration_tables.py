"""Tables of calibration: planted against recovered preferences, for people and as numbers."""

from collections.abc import Iterator
from dataclasses import asdict

import polars as pl

from facevalue.protocol.calibration import CONDITIONS, audit_each, named, sized
from facevalue.protocol.offers import Calibrated, CalibrationRequest, Row, Table
from facevalue.studies.vignette import calibration, calibration_kinds


def audited(asked: CalibrationRequest) -> Calibrated:
    """Audit simulated models, and answers of all kinds."""
    cases = sized(asked, CONDITIONS)
    rows, first = audit_each(asked, cases, lambda case: calibration.calibrate(*case, asked.repetitions))
    kinds = [
        calibration_kinds.keep(kind, asked.repetitions)
        for kind in asked.track(calibration_kinds.KINDS, "Auditing, kind by kind")
    ]
    closer = Table(
        f"One audit of sim/default with {asked.sizes[0]} activities: selection frequency planted and recovered",
        ("identity", "planted", "recovered", "95% interval", "covers", "q", "finding"),
        list(_rows(first)),
    )
    summary = Table.of(
        "All audits",
        [
            ("planted", "condition"), ("scenes", "activities"), ("audits", "repetitions"), ("r", "correlation"),
            ("slope", "slope"), ("S covers", "coverage"), ("PairComp covers", "coverage_paircomp"),
            ("FDR", "false_discovery_rate"), ("found", "found"),
        ],
        named(rows),
        "Nominal coverage .95; false findings at most .05.",
    )  # fmt: skip
    promises = Table.of(
        "Kinds of pictures, people and answers",
        [
            ("planted", "kind"), ("audits", "audits"), ("p < .05", "selection_gap"), ("page", "page"),
            ("S covers", "covers_gap"), ("PairComp covers", "covers_paircomp"), ("found", "found"),
        ],
        map(asdict, kinds),
        "p < .05: of distances from an even choice, promised .05; page: audits with any difference found where nothing "
        "is planted, promised at most .06, else findings on the wrong side; intervals cover: promised .93 to .97.",
    )  # fmt: skip
    frames = {"-kinds": pl.DataFrame([asdict(row) for row in kinds]), "": pl.DataFrame([asdict(row) for row in rows])}
    return Calibrated([closer, summary, promises], frames)


def _rows(audit: calibration.Audit) -> Iterator[Row]:
    for row in audit.selection.iter_rows(named=True):
        shown = (row["identity"], f"{row['planted']:.1f}%", f"{row['value']:.1f}%")
        if row["low"] is None or row["q"] is None:  # of one or two pictures
            yield (*shown, "-", "-", "-", "")
            continue
        covers = "yes" if row["low"] <= row["planted"] <= row["high"] else "no"
        interval = f"{row['low']:.1f} to {row['high']:.1f}"
        yield (*shown, interval, covers, f"{row['q']:.3f}", "yes" if row["q"] < calibration.ALPHA else "")
