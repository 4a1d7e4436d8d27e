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
from facevalue.protocol.calibration import COVERS, FOUND, Array, Statistic, share, share_with
from facevalue.protocol.settings import face_counts
from facevalue.stimuli.drawn import draw_identities, portrait_manifest
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
    Condition("a lone cue of one gender, faces as planned", person=(1.0, 0.0), faces=20, shift=0.5014),
    Condition("a cue moves one face in twenty all the way", rate=0.02, movers=0.05),
)
NOTHING, CUES, SCENARIOS = pl.col("nothing"), pl.col("family") == "variations", pl.col("family") == "scenarios"
_LOW = (pl.col("p") < ALPHA).fill_null(value=False)
STATISTICS: dict[str, Statistic] = {
    "covered": share(COVERS, among=pl.col("main")),
    "covered_scenarios": share(COVERS, among=NOTHING & SCENARIOS),
    "type1": share(_LOW, among=NOTHING & CUES),
    "type1_scenarios": share(_LOW, among=NOTHING & SCENARIOS),
    "any_lead": share_with(FOUND & CUES, among=NOTHING),
    "any_page": share_with(FOUND, among=NOTHING),
    "found": share(FOUND, among=pl.col("planned")),
    "equivalent": share(pl.col("verdict") == Verdict.EQUIVALENT, among=pl.col("true").abs() > MARGIN),
}
"""What sums up all audits; "found" is of the planted cue, "equivalent" of a true shift beyond `MARGIN`."""


def scores(condition: Condition, faces: Faces, size: int, rng: np.random.Generator) -> Array:
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
    (a, b), (c, d) = condition.person, condition.picture
    spread = np.sqrt([a**2 + b**2 + c**2 + d**2])
    base = special.logit(condition.rate) + spread * rng.standard_normal(_MANY * size)
    kept = special.expit(base + condition.shift).mean()
    return float((1 - condition.movers) * kept + condition.movers - special.expit(base).mean())


def audits(condition: Condition, faces: int, seed: int = 0) -> Iterator[pl.DataFrame]:
    """Audits of the same faces, whose pictures are answered about anew; all shifts judged as one page."""
    names = [scenario.name for scenario in scenarios()]
    genders = face_counts(str(faces))
    kept = {gender: [(v.attribute, v.name) for v in whitelist(gender)] for gender in genders}
    people = Faces(portrait_manifest(draw_identities(genders, 0), kept))
    rng = np.random.default_rng([seed, [c.name for c in CONDITIONS].index(condition.name)])
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
