"""Audits in conditions that break intervals and tests: rare answers, few faces, missing answers, faces that stand out.

Scores are drawn directly, and estimated, tested and judged by the report's own estimators. Where nothing is planted, a
face's pictures are exchangeable, so that whatever is found is false.
"""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
from scipy import special

from facevalue.measures.estimates import EstimateTable
from facevalue.measures.judgment import judge
from facevalue.measures.verdicts import Verdict
from facevalue.protocol.settings import face_counts
from facevalue.stimuli.drawn import draw_identities, portrait_manifest
from facevalue.studies.stylisticbias import measures as m
from facevalue.studies.stylisticbias.aggregate import Faces
from facevalue.studies.stylisticbias.analysis import add_signed
from facevalue.studies.stylisticbias.shifts import ALPHA, Shifts
from facevalue.studies.stylisticbias.tables import scenarios, whitelist

Array = npt.NDArray[np.float64]
Flags = npt.NDArray[np.bool_]

REPLIES = 12
MARGIN = 0.02
CUE = ("facial_hair", "full-beard")
"""What is planted is planted in this one, which faces of one gender have."""
_MANY = 20_000  # faces over which a planted shift is taken


@dataclass(frozen=True, slots=True)
class Condition:
    """What is drawn.

    Attributes
    ----------
    name:
        For people.
    rate:
        Chance of a favourable answer of an average face.
    person, picture:
        SD between faces, and between pictures of a face, on the logit scale: common to all scenarios, and of each.
    missing:
        How many of the unfavourable answers are refused instead.
    faces:
        In an audit, if that is what is hard.
    shift:
        Planted in `CUE`, on the logit scale.
    movers:
        Share of faces that `CUE` moves all the way.
    """

    name: str
    rate: float = 0.5
    person: tuple[float, float] = (0.0, 1.0)
    picture: tuple[float, float] = (0.0, 0.4)
    missing: float = 0.0
    faces: int | None = None
    shift: float = 0.0
    movers: float = 0.0


CONDITIONS = (
    Condition("pictures and faces differ in all scenarios alike", person=(0.8, 0.6), picture=(0.4, 0.3)),
    Condition("rare answers", rate=0.05),
    Condition("near-certain answers, pictures all or nothing", rate=0.98, picture=(0.0, 2.0)),
    Condition("unfavourable answers refused", missing=0.3),
    Condition("five faces", faces=5),
    Condition("a lone cue of one gender, faces as planned", person=(1.0, 0.0), faces=20, shift=0.5014),
    Condition("a cue moves one face in twenty all the way", rate=0.02, movers=0.05),
)


@dataclass(frozen=True)
class Hard:
    """What audits in one condition show; shares over audits, or over cells of all audits.

    Attributes
    ----------
    condition, faces, repetitions:
        What was audited, and how often.
    covered, covered_scenarios:
        Share of 95% intervals that hold the true shift: of cues, and of scenarios over all cues (nothing planted).
    type1, type1_scenarios:
        Share of tests with p < .05 where nothing is planted.
    any_lead, any_page:
        Audits with a false *difference found* among the cues, and anywhere (cues, attributes, scenarios, overall).
    found:
        Audits that find the planted cue.
    equivalent:
        Cues called equivalent within `MARGIN` of those whose true shift lies beyond it.
    """

    condition: str
    faces: int
    repetitions: int
    covered: float
    covered_scenarios: float | None
    type1: float
    type1_scenarios: float | None
    any_lead: float
    any_page: float
    found: float | None
    equivalent: float | None


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


def judged(s: Shifts, margin: float = MARGIN) -> dict[str, dict[str, Array]]:
    """Value, ends, p and verdict of each family of shifts, judged as one page."""
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
    page = judge(table.frame(), m.MEASURES, margins={m.SBS.name: margin}, lead=("variations",))
    return {
        str(name): {column: part[column].to_numpy() for column in ("low", "high", "p", "verdict")}
        for (name,), part in page.group_by("family", maintain_order=True)
    }


def audit_all(condition: Condition, faces: int, repetitions: int, seed: int = 0) -> Hard:
    """Audit again and again in one condition."""
    count = condition.faces or faces
    names = [scenario.name for scenario in scenarios()]
    genders = face_counts(str(count))
    kept = {gender: [(v.attribute, v.name) for v in whitelist(gender)] for gender in genders}
    people = Faces(portrait_manifest(draw_identities(genders, 0), kept))
    rng = np.random.default_rng([seed, [c.name for c in CONDITIONS].index(condition.name)])
    truth = true_shift(condition, len(names), rng)
    cues = people.slicing(people.varied, "attribute", "variation").labels
    planted = np.array([pair == CUE for pair in zip(cues["attribute"], cues["variation"], strict=True)]) & (truth != 0)
    pages = [judged(Shifts(people, scores(condition, people, len(names), rng), names)) for _ in range(repetitions)]
    own = [page["variations"] for page in pages]
    true = np.where(planted, truth, 0.0)
    null = truth == 0
    away = np.flatnonzero(np.abs(true) > MARGIN)
    return Hard(
        condition=condition.name,
        faces=count,
        repetitions=repetitions,
        covered=_share([_covers(part, true)[planted if planted.any() else ~planted] for part in own]),
        covered_scenarios=_share([_covers(page["scenarios"], np.zeros(len(names))) for page in pages])
        if null
        else None,
        type1=_share([part["p"][~planted] < ALPHA for part in own]),
        type1_scenarios=_share([page["scenarios"]["p"] < ALPHA for page in pages]) if null else None,
        any_lead=_share([np.array([(part["verdict"][~planted] == Verdict.DIFFERENCE).any()]) for part in own]),
        any_page=_share([np.array([_any(page, planted, only_cues=not null)]) for page in pages]),
        found=_share([part["verdict"][planted] == Verdict.DIFFERENCE for part in own]) if condition.shift else None,
        equivalent=_share([part["verdict"][away] == Verdict.EQUIVALENT for part in own]) if away.size else None,
    )


def _covers(part: dict[str, Array], true: Array) -> Array:
    """One for each interval that holds the true value, zero for one that does not, NaN for none."""
    held = (part["low"] <= true) & (true <= part["high"])
    return np.where(np.isfinite(part["low"]), held, np.nan)


def _any(page: dict[str, dict[str, Array]], planted: Flags, *, only_cues: bool) -> bool:
    """Whether anything is found that is not there; averages over a planted cue have an effect of their own."""
    cues = (page["variations"]["verdict"][~planted] == Verdict.DIFFERENCE).any()
    others = [part["verdict"] for name, part in page.items() if name != "variations"]
    return bool(cues) or (not only_cues and any((part == Verdict.DIFFERENCE).any() for part in others))


def _share(parts: Sequence[npt.NDArray[np.generic]]) -> float:
    return float(np.nanmean(np.concatenate(parts).astype(np.float64)))
