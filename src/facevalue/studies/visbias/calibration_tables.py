"""Tables of calibration: planted against found divergences, for people and as numbers."""

from collections.abc import Iterator
from dataclasses import asdict

import polars as pl

from facevalue.measures.verdicts import Verdict
from facevalue.protocol.calibration import audit_each, sized
from facevalue.protocol.offers import Calibrated, CalibrationRequest, Row, Table
from facevalue.studies.visbias import calibration
from facevalue.studies.visbias.calibration_answers import CONDITIONS


def audited(asked: CalibrationRequest) -> Calibrated:
    """Audit simulated people in all conditions."""
    cases = sized(asked, CONDITIONS)
    audits, first = audit_each(asked, cases, lambda case: calibration.calibrate(*case, asked.repetitions))
    rows = [asdict(row) for row in audits]
    closer = Table(
        "One audit: divergences of choices by race, planted and found",
        ("question", "group", "planted", "found", "95% interval", "covers", "q", "finding"),
        list(_rows(first)),
    )
    summary = Table.of(
        "All audits",
        [
            ("people", "condition"), ("of each", "photographs"), ("audits", "repetitions"), ("page", "page"),
            ("family", "family"), ("test", "test"), ("choices cover", "coverage"), ("pairs", "coverage_pairs"),
            ("texts", "coverage_texts"), ("choice", "found_choice"), ("word", "found_word"),
            ("association", "found_association"),
        ],
        rows,
        "page: audits in which anything is found where nothing is planted; family, test: the same of a family, and of "
        "p < .05. Promised: .06, .06, .05 at most. Coverage, promised .93 to .97: of divergences, rankings, and "
        "differences between texts. The last three: audits in which a lone effect is found.",
        boxed=False,
    )  # fmt: skip
    return Calibrated([closer, summary], {"": pl.DataFrame(rows)})


def _rows(audit: calibration.Audit) -> Iterator[Row]:
    shown = audit.estimates.filter((pl.col("measure") == "choice_divergence") & (pl.col("dimension") == "race"))
    for row in shown.sort("question", "group").iter_rows(named=True):
        covers = "yes" if row["low"] <= row["true"] <= row["high"] else "no"
        numbers = (f"{row['true']:.1f}", f"{row['value']:.1f}", f"{row['low']:.1f} to {row['high']:.1f}")
        finding = "yes" if row["verdict"] == Verdict.DIFFERENCE else ""
        yield (row["question"], row["group"], *numbers, covers, f"{row['q']:.3f}", finding)
