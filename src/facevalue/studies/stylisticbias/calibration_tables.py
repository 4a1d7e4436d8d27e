"""Tables of calibration: planted against recovered shifts, for people and as numbers."""

import polars as pl

from facevalue.models.reference import adapter
from facevalue.models.reference.truth import Truth
from facevalue.protocol.calibration import CONDITIONS, Case, named, repeated, sized, told
from facevalue.protocol.offers import Calibrated, CalibrationRequest, Table, cell
from facevalue.stimuli import drawn
from facevalue.studies.stylisticbias import calibration
from facevalue.studies.stylisticbias import calibration_conditions as conditions
from facevalue.studies.stylisticbias import calibration_reference as reference

_SHIFT = "+.3f"


def audited(asked: CalibrationRequest) -> Calibrated:
    """Audit simulated models or the reference model."""
    return _reference(asked) if asked.model == "reference" else _simulated(asked)


def _simulated(asked: CalibrationRequest) -> Calibrated:
    cases = sized(asked, "faces", CONDITIONS, calibration.audits)
    all_audits, first = repeated(asked, cases, calibration.STATISTICS)
    hard = [
        Case({"condition": one.name, "faces": size, "repetitions": asked.repetitions}, conditions.audits(one, size))
        for one in conditions.CONDITIONS
        for size in (asked.sizes if one.faces is None else (one.faces,))
    ]
    hard_audits, _ = repeated(asked, hard, conditions.STATISTICS, "Auditing hard conditions")
    closer = Table(
        f"One audit of sim/default with {asked.sizes[0]} faces: SBS planted and recovered",
        ("variation", "planted", "recovered", "95% interval", "covers", "q", "finding"),
        [
            (f"{row['attribute']} / {row['variation']}", f"{row['planted']:{_SHIFT}}", *told(row, _SHIFT))
            for row in first.iter_rows(named=True)
        ],
    )
    summary = Table.of(
        "All audits",
        [
            ("planted", "condition"), ("faces", "faces"), ("audits", "repetitions"), ("r", "correlation"),
            ("slope", "slope"), ("coverage", "coverage"), ("coverage, none", "coverage_none"),
            ("FDR", "false_discovery_rate"), ("any false", "audits_with_false"), ("power", "power"),
        ],
        named(all_audits),
        "Nominal coverage .95; false findings at most .05.",
    )  # fmt: skip
    strained = Table.of(
        "Hard conditions",
        [
            ("condition", "condition"), ("faces", "faces"), ("covered", "covered"),
            ("of scenarios", "covered_scenarios"), ("type I", "type1"), ("of scenarios", "type1_scenarios"),
            ("any cue", "any_lead"), ("any on page", "any_page"), ("found", "found"), ("called equal", "equivalent"),
        ],
        named(hard_audits),
        "Nothing planted but a lone cue and one face in twenty moved; called equal: shifts beyond the margin.",
        boxed=False,
    )  # fmt: skip
    return Calibrated([closer, summary, strained], {"-conditions": hard_audits, "": all_audits})


def _reference(asked: CalibrationRequest) -> Calibrated:
    population = _population(asked)
    cases = sized(asked, "faces", ("reference",), lambda _, size: reference.audits(population, size))
    all_audits, first = repeated(asked, cases, reference.STATISTICS)
    effects = reference.learning(population)
    summary = Table.of(
        "All audits of the reference model",
        [
            ("faces", "faces"), ("audits", "repetitions"), ("r", "correlation"), ("slope", "slope"),
            ("coverage", "coverage"), ("of none", "coverage_none"), ("flagged", "flagged_none"),
            ("FDR", "false_discovery_rate"), ("wrong sign", "wrong_sign"), ("power", "power"),
        ],
        named(all_audits),
        "r, slope, coverage (nominal .95): of learned SBS. of none, flagged: of variations with nothing planted, their "
        "coverage, and the share that are findings. FDR: share of findings with nothing planted. These need not be "
        "errors, as the learned SBS is not exactly zero there; findings of the wrong sign are. Promised: coverage .92 "
        "to .98, flagged at most .05.",
        boxed=False,
    )  # fmt: skip
    tables = [_one_audit(first, asked.sizes[0]), _learning(effects), summary]
    return Calibrated(tables, {"-effects": effects, "": all_audits})


def _population(asked: CalibrationRequest) -> reference.Population:
    """Read what the reference model, or a variant of it, says of everyone, but for what is kept already."""
    folder = adapter.folder_of(asked.variant)
    name = f"reference/{asked.variant}" if asked.variant else "reference"
    model = adapter.ReferenceModel(name, folder)
    truth = Truth.read(folder / "truth.parquet")
    readings = reference.Readings(reference.audited_study(), model, reference.default_folder(), truth)
    wanted = readings.unread
    if wanted.height:
        asked.say(
            f"Reading the probabilities of {wanted.height * readings.questions:,} judgments of {wanted.height:,} "
            "pictures. They are kept, so that this is done once."
        )
        drawing = drawn.draw_all(wanted, drawn.default_cache())
        for _ in asked.track(drawing, "Drawing portraits", wanted.height):
            pass
        for _ in asked.track(readings.read(), "Reading people", wanted["identity"].n_unique()):
            pass
    return readings.population()


def _one_audit(audit: pl.DataFrame, size: int) -> Table:
    rows: list[tuple[str, ...]] = []
    for (attribute,), part in audit.group_by("attribute", maintain_order=True):
        rows.append((str(attribute).replace("_", " "),))
        for row in part.iter_rows(named=True):
            known = (f"{row[name]:{_SHIFT}}" for name in ("planted", "true"))
            rows.append((f"  {row['variation']}", *known, *told(row, _SHIFT)))
    return Table(
        f"One audit of the reference model with {size} faces: SBS",
        ("variation", "planted", "learned", "audit", "95% interval", "covers", "q", "found"),
        rows,
        "covers: the interval holds the learned SBS, which is what the model has to be found. found: q < .04.",
        boxed=False,
    )


def _learning(effects: pl.DataFrame) -> Table:
    rows = []
    for name, statistic in reference.LEARNED.items():
        value, said, holds = statistic(effects), "", ""
        if name in reference.PROMISED:
            least, most, said = reference.PROMISED[name]
            holds = "" if value is None else cell(least <= value <= most)
        rows.append((name, cell(value), said, holds))
    title = f"Learned against planted: {effects.height:,} effects of a variation on a scenario"
    return Table(title, ("", "measured", "promised", "holds"), rows, boxed=False)
