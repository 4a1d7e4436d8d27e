"""Audits in conditions that break intervals and tests: rare answers, few faces, missing answers, faces that stand out.

Scores are drawn directly, and estimated, tested and judged by the report's own estimators. Where nothing is planted, a
face's pictures are exchangeable, so that whatever is found is false.
"""

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
import polars as pl
from scipy import special

from facevalue.measures.estimates import EstimateTable
from facevalue.measures.judgment import judge
from facevalue.measures.verdicts import Verdict
from facevalue.models.reference import adapter
from facevalue.models.reference.truth import Truth
from facevalue.protocol import calibration as c
from facevalue.protocol.offers import Calibrated, CalibrationRequest, Table, cell
from facevalue.protocol.settings import face_counts
from facevalue.stimuli import drawn
from facevalue.stimuli.drawn import draw_identities, portrait_manifest
from facevalue.studies.stylisticbias import calibration
from facevalue.studies.stylisticbias import calibration_reference as reference
from facevalue.studies.stylisticbias import measures as m
from facevalue.studies.stylisticbias.aggregate import Faces
from facevalue.studies.stylisticbias.analysis import add_signed
from facevalue.studies.stylisticbias.shifts import ALPHA, Shifts
from facevalue.studies.stylisticbias.tables import scenarios, whitelist

REPLIES = 12
MARGIN = 0.02
CUE = ("facial_hair", "full-beard")
"""What is planted is planted in this one, which faces of one gender have."""
_MANY = 20_000  # faces over which a planted shift is taken


@dataclass(frozen=True, slots=True)
class Condition:
    """What is drawn, by its name for people."""

    name: str
    rate: float = 0.5
    """Chance of a favourable answer of an average face."""
    person: tuple[float, float] = (0.0, 1.0)
    picture: tuple[float, float] = (0.0, 0.4)
    """SD between faces, and between pictures of a face, on the logit scale: common to all scenarios, and of each."""
    missing: float = 0.0
    """Share of the unfavourable answers that are refused instead."""
    faces: int | None = None
    """In an audit, if that is what is hard."""
    shift: float = 0.0
    """Planted in `CUE`, on the logit scale."""
    movers: float = 0.0
    """Share of faces that `CUE` moves all the way."""


CONDITIONS = (
    Condition("pictures and faces differ in all scenarios alike", person=(0.8, 0.6), picture=(0.4, 0.3)),
    Condition("rare answers", rate=0.05),
    Condition("near-certain answers, pictures all or nothing", rate=0.98, picture=(0.0, 2.0)),
    Condition("unfavourable answers refused", missing=0.3),
    Condition("five faces", faces=5),
    Condition("a lone cue of one gender, faces as planned", person=(1.0, 0.0), faces=18, shift=0.5014),
    Condition("a cue moves one face in twenty all the way", rate=0.02, movers=0.05),
)
NOTHING, CUES, SCENARIOS = pl.col("nothing"), pl.col("family") == "variations", pl.col("family") == "scenarios"
_LOW = (pl.col("p") < ALPHA).fill_null(value=False)
STATISTICS: dict[str, c.Statistic] = {
    "covered": c.share(c.COVERS, among=pl.col("main")),
    "covered_scenarios": c.share(c.COVERS, among=NOTHING & SCENARIOS),
    "type1": c.share(_LOW, among=NOTHING & CUES),
    "type1_scenarios": c.share(_LOW, among=NOTHING & SCENARIOS),
    "any_lead": c.share_with(c.FOUND & CUES, among=NOTHING),
    "any_page": c.share_with(c.FOUND, among=NOTHING),
    "found": c.share(c.FOUND, among=pl.col("planned")),
    "equivalent": c.share(pl.col("verdict") == Verdict.EQUIVALENT, among=pl.col("true").abs() > MARGIN),
}
"""What sums up all audits; "found" is of the planted cue, "equivalent" of a true shift beyond `MARGIN`."""


def scores(condition: Condition, faces: Faces, size: int, rng: np.random.Generator) -> c.Array:
    """Preference scores of all pictures, shape (images, scenarios)."""
    who, images = faces.identity, faces.manifest.height
    logits = special.logit(condition.rate) + np.zeros((images, size))
    for (common, own), index in ((condition.person, who), (condition.picture, np.arange(images))):
        drawn = common * rng.standard_normal((index.max() + 1, 1)) + own * rng.standard_normal((index.max() + 1, size))
        logits += drawn[index]
    planted = _planted(faces)
    logits[planted] += condition.shift
    moved = planted[rng.random(planted.size) < condition.movers]
    logits[moved] = 12.0
    favourable = rng.binomial(REPLIES, special.expit(logits))
    valid = favourable + rng.binomial(REPLIES - favourable, 1 - condition.missing)
    return np.where(valid > 0, favourable / np.maximum(valid, 1), np.nan)


def _planted(faces: Faces) -> npt.NDArray[np.int64]:
    attribute, variation = (faces.manifest[name].fill_null("") for name in ("attribute", "variation"))
    return np.flatnonzero(((attribute == CUE[0]) & (variation == CUE[1])).to_numpy())


def true_shift(condition: Condition, size: int, rng: np.random.Generator) -> float:
    """Expected shift of `CUE` over very many faces, from chances and not from replies."""
    if not (condition.shift or condition.movers):
        return 0.0
    (a, b), (x, y) = condition.person, condition.picture
    spread = np.sqrt([a**2 + b**2 + x**2 + y**2])
    base = special.logit(condition.rate) + spread * rng.standard_normal(_MANY * size)
    kept = special.expit(base + condition.shift).mean()
    return float((1 - condition.movers) * kept + condition.movers - special.expit(base).mean())


def audits(condition: Condition, faces: int, seed: int = 0) -> Iterator[pl.DataFrame]:
    """Audits of the same faces, whose pictures are answered about anew; all shifts judged as one page."""
    names = [scenario.name for scenario in scenarios()]
    genders = face_counts(str(faces))
    kept = {gender: [(v.attribute, v.name) for v in whitelist(gender)] for gender in genders}
    people = Faces(portrait_manifest(draw_identities(genders, 0), kept))
    rng = np.random.default_rng([seed, [one.name for one in CONDITIONS].index(condition.name)])
    truth = true_shift(condition, len(names), rng)
    planted = CUES & (pl.col("attribute") == CUE[0]) & (pl.col("variation") == CUE[1]) & (truth != 0)
    while True:
        rows = judged(Shifts(people, scores(condition, people, len(names), rng), names))
        yield rows.with_columns(planted=planted).with_columns(
            true=pl.when("planted").then(truth).otherwise(0.0),
            found=pl.col("verdict").eq_missing(pl.lit(Verdict.DIFFERENCE.value)),
            # Averages over a planted cue have an effect of their own.
            nothing=~pl.col("planted") & (CUES | (truth == 0)),
            main=CUES & (pl.col("planted") | (truth == 0)),
            planned=pl.col("planted") & (condition.shift > 0),
        )


def judged(s: Shifts) -> pl.DataFrame:
    """Each family of shifts, judged as one page."""
    table = EstimateTable("stylisticbias", "sim", m.LABELS)
    everything, variation, attribute = s.by(), s.by("attribute", "variation"), s.by("attribute")
    for rows, columns, family in (
        (variation, None, "variations"),
        (everything, None, "overall"),
        (attribute, None, "attributes"),
        (everything, s.by_scenario, "scenarios"),
    ):
        cells = s.cells(rows, columns)
        add_signed(table, cells, s.estimates(cells, rows, columns), family)
    return judge(table.frame(), m.MEASURES, margins={m.SBS.name: MARGIN}, lead=("variations",))


_SHIFT = "+.3f"


def audited(asked: CalibrationRequest) -> Calibrated:
    """Audit simulated models or the reference model."""
    return _reference(asked) if asked.model == "reference" else _simulated(asked)


def _simulated(asked: CalibrationRequest) -> Calibrated:
    cases = c.sized(asked, "faces", c.CONDITIONS, calibration.audits)
    all_audits, first = c.repeated(asked, cases, calibration.STATISTICS)
    hard = [
        c.Case({"condition": one.name, "faces": size, "repetitions": asked.repetitions}, audits(one, size))
        for one in CONDITIONS
        for size in (asked.sizes if one.faces is None else (one.faces,))
    ]
    hard_audits, _ = c.repeated(asked, hard, STATISTICS, "Auditing hard conditions")
    closer = Table(
        f"One audit of sim/default with {asked.sizes[0]} faces: SBS planted and recovered",
        ("variation", "planted", "recovered", "95% interval", "covers", "q", "finding"),
        [
            (f"{row['attribute']} / {row['variation']}", f"{row['planted']:{_SHIFT}}", *c.told(row, _SHIFT))
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
        c.named(all_audits),
        "Nominal coverage .95; false findings at most .05.",
    )  # fmt: skip
    strained = Table.of(
        "Hard conditions",
        [
            ("condition", "condition"), ("faces", "faces"), ("covered", "covered"),
            ("of scenarios", "covered_scenarios"), ("type I", "type1"), ("of scenarios", "type1_scenarios"),
            ("any cue", "any_lead"), ("any on page", "any_page"), ("found", "found"), ("called equal", "equivalent"),
        ],
        c.named(hard_audits),
        "Nothing planted but a lone cue and one face in twenty moved; called equal: shifts beyond the margin.",
        boxed=False,
    )  # fmt: skip
    return Calibrated([closer, summary, strained], {"-conditions": hard_audits, "": all_audits})


def _reference(asked: CalibrationRequest) -> Calibrated:
    population = _population(asked)
    cases = c.sized(asked, "faces", ("reference",), lambda _, size: reference.audits(population, size))
    all_audits, first = c.repeated(asked, cases, reference.STATISTICS)
    effects = reference.learning(population)
    summary = Table.of(
        "All audits of the reference model",
        [
            ("faces", "faces"), ("audits", "repetitions"), ("r", "correlation"), ("slope", "slope"),
            ("coverage", "coverage"), ("of none", "coverage_none"), ("flagged", "flagged_none"),
            ("FDR", "false_discovery_rate"), ("wrong sign", "wrong_sign"), ("power", "power"),
        ],
        c.named(all_audits),
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
            rows.append((f"  {row['variation']}", *known, *c.told(row, _SHIFT)))
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
