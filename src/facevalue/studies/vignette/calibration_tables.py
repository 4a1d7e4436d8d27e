"""Tables of calibration: planted against recovered preferences, for people and as numbers."""

from functools import partial
from itertools import count

from facevalue.protocol.calibration import CONDITIONS, Case, named, repeated, sized, told
from facevalue.protocol.offers import Calibrated, CalibrationRequest, Table
from facevalue.studies.vignette import calibration, calibration_kinds
from facevalue.studies.vignette.calibration import GAP, SELECTION


def audited(asked: CalibrationRequest) -> Calibrated:
    """Audit simulated models, and answers of all kinds."""
    cases = sized(asked, "activities", CONDITIONS, calibration.audits)
    all_audits, first = repeated(asked, cases, calibration.STATISTICS)
    kinds = [
        Case({"kind": kind.name, "audits": asked.repetitions}, map(partial(calibration_kinds.audit, kind), count()))
        for kind in calibration_kinds.KINDS
    ]
    of_kinds, _ = repeated(asked, kinds, calibration_kinds.STATISTICS, "Auditing, kind by kind")
    gaps = first.filter(GAP).select("identity", "q", "found")
    shown = first.filter(SELECTION).drop("q", "found").join(gaps, on="identity", maintain_order="left")
    closer = Table(
        f"One audit of sim/default with {asked.sizes[0]} activities: selection frequency planted and recovered",
        ("identity", "planted", "recovered", "95% interval", "covers", "q", "finding"),
        [(row["identity"], f"{row['true']:.1f}%", *told(row, ".1f", "%")) for row in shown.iter_rows(named=True)],
    )
    summary = Table.of(
        "All audits",
        [
            ("planted", "condition"), ("scenes", "activities"), ("audits", "repetitions"), ("r", "correlation"),
            ("slope", "slope"), ("S covers", "coverage"), ("PairComp covers", "coverage_paircomp"),
            ("FDR", "false_discovery_rate"), ("found", "found"),
        ],
        named(all_audits),
        "Nominal coverage .95; false findings at most .05.",
    )  # fmt: skip
    promises = Table.of(
        "Kinds of pictures, people and answers",
        [
            ("planted", "kind"), ("audits", "audits"), ("p < .05", "selection_gap"), ("page", "page"),
            ("S covers", "covers_gap"), ("PairComp covers", "covers_paircomp"), ("found", "found"),
        ],
        of_kinds.iter_rows(named=True),
        "p < .05: of distances from an even choice, promised .05; page: audits with any difference found where nothing "
        "is planted, promised at most .06, else findings on the wrong side; intervals cover: promised .93 to .97.",
    )  # fmt: skip
    return Calibrated([closer, summary, promises], {"-kinds": of_kinds, "": all_audits})
