"""Tables of calibration: planted against recovered shifts, for people and as numbers."""

from collections.abc import Iterator
from dataclasses import asdict

import polars as pl

from facevalue.models.reference import adapter
from facevalue.models.reference.truth import Truth
from facevalue.models.sim import PRESETS
from facevalue.protocol.calibration import CONDITIONS, audit_each, named, sized
from facevalue.protocol.offers import Calibrated, CalibrationRequest, Table, cell
from facevalue.stimuli import drawn
from facevalue.studies.stylisticbias import calibration, calibration_conditions
from facevalue.studies.stylisticbias import calibration_reference as reference


def audited(asked: CalibrationRequest) -> Calibrated:
    """Audit simulated models or the reference model."""
    return _reference(asked) if asked.model == "reference" else _simulated(asked)


def _simulated(asked: CalibrationRequest) -> Calibrated:
    def audit(case: tuple[str, int]) -> tuple[calibration.Calibration, calibration.Audit]:
        return calibration.calibrate(case[0], PRESETS.get(case[0], PRESETS["null"]), case[1], asked.repetitions)

    rows, first = audit_each(asked, sized(asked, CONDITIONS), audit)
    hard_cases = [
        (one, size)
        for one in calibration_conditions.CONDITIONS
        for size in (asked.sizes if one.faces is None else asked.sizes[:1])
    ]
    hard = [
        calibration_conditions.audit_all(one, size, asked.repetitions)
        for one, size in asked.track(hard_cases, "Auditing hard conditions")
    ]
    closer = Table(
        f"One audit of sim/default with {asked.sizes[0]} faces: SBS planted and recovered",
        ("variation", "planted", "recovered", "95% interval", "covers", "q", "finding"),
        [
            (f"{attribute} / {variation}", f"{first.planted[i]:+.3f}", *_found(first, i))
            for i, (attribute, variation) in enumerate(first.variations)
        ],
    )
    summary = Table.of(
        "All audits",
        [
            ("planted", "condition"), ("faces", "faces"), ("audits", "repetitions"), ("r", "correlation"),
            ("slope", "slope"), ("coverage", "coverage"), ("coverage, none", "coverage_none"),
            ("FDR", "false_discovery_rate"), ("any false", "audits_with_false"), ("power", "power"),
        ],
        named(rows),
        "Nominal coverage .95; false findings at most .05.",
    )  # fmt: skip
    conditions = Table.of(
        "Hard conditions",
        [
            ("condition", "condition"), ("faces", "faces"), ("covered", "covered"),
            ("of scenarios", "covered_scenarios"), ("type I", "type1"), ("of scenarios", "type1_scenarios"),
            ("any cue", "any_lead"), ("any on page", "any_page"), ("found", "found"), ("called equal", "equivalent"),
        ],
        map(asdict, hard),
        "Nothing planted but a lone cue and one face in twenty moved; called equal: shifts beyond the margin.",
        boxed=False,
    )  # fmt: skip
    frames = {"-conditions": pl.DataFrame([asdict(row) for row in hard]), "": pl.DataFrame([asdict(r) for r in rows])}
    return Calibrated([closer, summary, conditions], frames)


def _found(audit: calibration.Audit, i: int) -> Iterator[str]:
    """What an audit says of a variation: value, interval, whether it covers, q, whether it is a finding."""
    e = audit.estimates
    yield f"{e.value[i]:+.3f}"
    yield f"{e.low[i]:+.3f} to {e.high[i]:+.3f}"
    yield "yes" if audit.covered[i] else "no"
    yield f"{audit.q[i]:.3f}"
    yield "yes" if audit.found[i] else ""


def _reference(asked: CalibrationRequest) -> Calibrated:
    population = _population(asked)
    rows, first = audit_each(asked, asked.sizes, lambda n: reference.calibrate(population, n, asked.repetitions))
    known = reference.learning(population)
    summary = Table.of(
        "All audits of the reference model",
        [
            ("faces", "faces"), ("audits", "repetitions"), ("r", "correlation"), ("slope", "slope"),
            ("coverage", "coverage"), ("of none", "coverage_none"), ("flagged", "flagged_none"),
            ("FDR", "false_discovery_rate"), ("wrong sign", "wrong_sign"), ("power", "power"),
        ],
        map(asdict, rows),
        "r, slope, coverage (nominal .95): of learned SBS. of none, flagged: of variations with nothing planted, their "
        "coverage, and the share that are findings. FDR: share of findings with nothing planted. These need not be "
        "errors, as the learned SBS is not exactly zero there; findings of the wrong sign are. Promised: coverage .92 "
        "to .98, flagged at most .05.",
        boxed=False,
    )  # fmt: skip
    frames = {"-effects": known.table, "": pl.DataFrame([asdict(row) for row in rows])}
    return Calibrated([_learned(first, asked.sizes[0]), _learning(known), summary], frames)


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


def _learned(audit: calibration.Audit, size: int) -> Table:
    assert audit.learned is not None
    rows: list[tuple[str, ...]] = []
    above = ""
    for i, (attribute, variation) in enumerate(audit.variations):
        if attribute != above:
            rows.append((attribute.replace("_", " "),))
            above = attribute
        rows.append((f"  {variation}", f"{audit.planted[i]:+.3f}", f"{audit.learned[i]:+.3f}", *_found(audit, i)))
    return Table(
        f"One audit of the reference model with {size} faces: SBS",
        ("variation", "planted", "learned", "audit", "95% interval", "covers", "q", "found"),
        rows,
        "covers: the interval holds the learned SBS, which is what the model has to be found. found: q < .04.",
        boxed=False,
    )


def _learning(known: reference.Learning) -> Table:
    promised = (
        ("correlation", known.correlation, reference.CORRELATION, f"at least {reference.CORRELATION[0]}"),
        ("slope of learned on planted", known.slope, reference.SLOPE, "{} to {}".format(*reference.SLOPE)),
    )
    rows = [
        (name, cell(value), said, "" if value is None else cell(low <= value <= high))
        for name, value, (low, high), said in promised
    ]
    others = (
        ("mean error", known.error),
        ("where nothing is planted: SD of learned", known.spread_none),
        ("where nothing is planted: largest learned", known.largest_none),
    )
    rows += [(name, cell(value), "", "") for name, value in others]
    title = f"Learned against planted: {known.table.height:,} effects of a variation on a scenario"
    return Table(title, ("", "measured", "promised", "holds"), rows, boxed=False)
