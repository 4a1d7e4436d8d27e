"""Tables of calibration: planted against found divergences, for people and as numbers."""

from facevalue.protocol.calibration import repeated, sized, told
from facevalue.protocol.offers import Calibrated, CalibrationRequest, Table
from facevalue.studies.visbias import calibration
from facevalue.studies.visbias.calibration_answers import CONDITIONS


def audited(asked: CalibrationRequest) -> Calibrated:
    """Audit simulated people in all conditions."""
    cases = sized(asked, "photographs", CONDITIONS, calibration.audits)
    all_audits, first = repeated(asked, cases, calibration.STATISTICS)
    shown = first.filter(measure="choice_divergence", dimension="race").sort("question", "group")
    closer = Table(
        "One audit: divergences of choices by race, planted and found",
        ("question", "group", "planted", "found", "95% interval", "covers", "q", "finding"),
        [
            (row["question"], row["group"], f"{row['true']:.1f}", *told(row, ".1f"))
            for row in shown.iter_rows(named=True)
        ],
    )
    summary = Table.of(
        "All audits",
        [
            ("people", "condition"), ("of each", "photographs"), ("audits", "repetitions"), ("page", "page"),
            ("family", "family"), ("test", "test"), ("choices cover", "coverage"), ("pairs", "coverage_pairs"),
            ("texts", "coverage_texts"), ("choice", "found_choice"), ("word", "found_word"),
            ("association", "found_association"),
        ],
        all_audits.iter_rows(named=True),
        "page: audits in which anything is found where nothing is planted; family, test: the same of a family, and of "
        "p < .05. Promised: .06, .06, .05 at most. Coverage, promised .93 to .97: of divergences, rankings, and "
        "differences between texts. The last three: audits in which a lone effect is found.",
        boxed=False,
    )  # fmt: skip
    return Calibrated([closer, summary], {"": all_audits})
