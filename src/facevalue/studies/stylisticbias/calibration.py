"""Calibration: audits of simulated respondents with known effects."""

from collections.abc import Iterator
from dataclasses import replace
from itertools import count

import numpy as np
import numpy.typing as npt
import polars as pl

from facevalue.measures import adjustment, cluster_bootstrap, shift
from facevalue.measures.page_error import LEAD_SHARE
from facevalue.measures.slicing import Slicing
from facevalue.models.sim import PRESETS, Planted, Respondent
from facevalue.prompts import ORDERINGS
from facevalue.protocol import calibration as c
from facevalue.protocol.settings import face_counts
from facevalue.protocol.shifts import SEED
from facevalue.stimuli.drawn import draw_identities, portrait_manifest
from facevalue.stimuli.portraits import AGES, BUILDS, SKIN_TONES
from facevalue.studies.stylisticbias.aggregate import Faces
from facevalue.studies.stylisticbias.shifts import ALPHA
from facevalue.studies.stylisticbias.study import TOGETHER, designed
from facevalue.studies.stylisticbias.tables import scenarios, whitelist

Indices = npt.NDArray[np.int64]
LEVELS = ("favourable", "unfavourable")
EXACT = 1e-12
"""A planted shift this small is none."""
NONE = pl.col("planted").abs() < EXACT
STATISTICS: dict[str, c.Statistic] = {
    "correlation": c.correlation(),
    "slope": c.slope(),
    "coverage": c.share(c.COVERS),
    "coverage_none": c.share(c.COVERS, among=NONE),
    "false_discovery_rate": c.false_discovery_rate(NONE),
    "audits_with_false": c.share_with(c.FOUND & NONE),
    "power": c.share(c.FOUND, among=~NONE),
}
"""What sums up all audits; "none": variations with nothing planted."""
_NODES, _WEIGHTS = np.polynomial.hermite_e.hermegauss(24)


def audits(condition: str, faces: int) -> Iterator[pl.DataFrame]:
    """Audits of respondents, each with its own table of effects and its own faces."""
    planted = PRESETS.get(condition, PRESETS["null"])
    names = [scenario.name for scenario in scenarios()]
    drift = c.DRIFT if condition == "drift" else 0.0
    for draw in count():
        yield simulate(replace(planted, seed=planted.seed + 1000 * draw), face_counts(str(faces)), names, draw, drift)


def planted_shifts(planted: Planted, names: list[str], genders: list[str]) -> dict[tuple[str, str], float]:
    """Expected SBS of every kept variation, exactly: an integral over people and pictures, no simulation.

    The population is uniform over the cells gender x age x skin tone x build; people and pictures differ normally on
    the logit scale, integrated by Gauss-Hermite quadrature; the four orderings weigh the same.
    """
    respondent = Respondent(planted)
    cells: list[dict[str, str | None]] = [
        {"gender": g, "age": a, "skin_tone": s, "build": b}
        for g in genders
        for a in AGES
        for s in SKIN_TONES
        for b in BUILDS
    ]
    base = _expected(respondent, [{**cell, "attribute": None, "variation": None} for cell in cells], names)
    out = {}
    for v in whitelist(None):
        member = [v.fate.get(str(cell["gender"])) == "kept" for cell in cells]
        changed = [
            {**cell, "attribute": v.attribute, "variation": v.name}
            for cell, m in zip(cells, member, strict=True) if m
        ]  # fmt: skip
        if changed:
            out[v.attribute, v.name] = float((_expected(respondent, changed, names) - base[member]).mean())
    return out


def _expected(respondent: Respondent, factors: list[dict[str, str | None]], names: list[str]) -> c.Array:
    """Expected phi, shape (cells, scenarios): over people, pictures and orderings."""
    p = respondent.planted
    utilities = respondent.effects(factors, names, LEVELS)
    mean = utilities[..., 0] - utilities[..., 1]
    sd = float(np.hypot(p.identity, p.image))
    out = np.zeros_like(mean)
    for ordering in ORDERINGS:
        shown = p.position if ordering.first == 0 else -p.position
        lettered = p.letter if ordering.labels[ordering.first] == "(a)" else -p.letter
        logits = mean[..., None] + shown + lettered + sd * _NODES
        out += (_WEIGHTS / _WEIGHTS.sum() / (1.0 + np.exp(-logits))).sum(axis=-1)
    return out / len(ORDERINGS)


def simulate(planted: Planted, faces: dict[str, int], names: list[str], draw: int, drift: float = 0.0) -> pl.DataFrame:
    """Audit one respondent on newly drawn faces.

    The replies are those that `models.sim` gives (same draws, tested), taken without their text; the estimates are
    those of the report. `drift` is in logits over the run.
    """
    kept = {gender: [(v.attribute, v.name) for v in whitelist(gender)] for gender in faces}
    # Faces carry the draw in their names: other people each time, as a respondent knows them by name.
    drawn = [replace(who, id=f"{who.id}#{draw}") for who in draw_identities(faces, draw)]
    manifest = portrait_manifest(drawn, kept)
    people = Faces(manifest)
    later = drift * (times(manifest, names, draw) - 0.5) if drift else None
    phi = simulated_phi(planted, manifest, names, later)
    cluster = people.identity[people.varied]
    shifts = planted_shifts(planted, names, list(faces))
    rows = people.slicing(people.varied, "attribute", "variation")
    place = [list(shifts).index(v) for v in zip(*rows.labels.values(), strict=True)]
    delta = phi[people.varied] - phi[people.base[cluster]]
    truth = np.array(list(shifts.values()))
    return audited(delta, cluster, np.array(place)[rows.codes], list(shifts), truth, truth)


def audited(
    delta: c.Array, cluster: Indices, variation: Indices, names: list[tuple[str, str]], planted: c.Array, true: c.Array
) -> pl.DataFrame:
    """SBS of each variation as the report estimates and tests it, beside what is planted and what there is to find."""
    rows = Slicing(variation, {"variation": [name for _, name in names]})
    cells = shift.cells(delta, cluster, rows, Slicing.whole(delta.shape[1]), int(cluster.max()) + 1)
    found = cluster_bootstrap.means(cells.sums, cells.counts, SEED, largest=1.0)
    assert found.p_zero is not None
    q = adjustment.adjust(found.p_zero, "bh")
    return pl.DataFrame(names, schema=["attribute", "variation"], orient="row").with_columns(
        planted=planted, true=true, value=found.value, low=found.low, high=found.high,
        q=q, found=np.nan_to_num(q, nan=1.0) < LEAD_SHARE * ALPHA,
    )  # fmt: skip


def times(manifest: pl.DataFrame, names: list[str], seed: int) -> c.Array:
    """When each question is asked, from 0 at the first to 1 at the last: shape (images, scenarios, orderings)."""
    design = designed(manifest, names)
    shown = np.concatenate([np.array(block.stimulus[0].columns()[0].values) for block in design.blocks])
    out = c.asked_at(design, TOGETHER, seed).reshape(len(shown), len(names), len(ORDERINGS))
    row = {image: at for at, image in enumerate(shown.tolist())}
    return out[[row[image] for image in manifest["image"]]]


def simulated_phi(planted: Planted, manifest: pl.DataFrame, names: list[str], later: c.Array | None = None) -> c.Array:
    """Preference scores that a respondent's valid replies give, shape (images, scenarios).

    Trial numbers run image by image, scenario by scenario, ordering by ordering. `later` is added to the favourable
    pole's utility, by image, scenario and ordering.
    """
    respondent = Respondent(planted)
    factors = manifest.drop("image", "set", "seed").to_dicts()
    for row, image in zip(factors, manifest["image"], strict=True):
        row["image"] = image
    utilities = respondent.utilities(factors, names, LEVELS)
    images, asked = utilities.shape[:2]
    total = np.zeros((images, asked))
    valid = np.zeros((images, asked))
    number = np.arange(images * asked, dtype=np.int64) * len(ORDERINGS)
    for place, ordering in enumerate(ORDERINGS):
        pole = [ordering.first, 1 - ordering.first]
        shown = utilities[..., pole].reshape(-1, 2)
        if later is not None:
            shown[:, ordering.first] += later[..., place].ravel()
        letter = np.full(len(shown), ordering.labels.index("(a)"))
        choice = respondent.choose(respondent.probabilities(shown, letter), number + place, np.zeros_like(number))
        total += (choice == ordering.first).reshape(images, asked)
        valid += (choice >= 0).reshape(images, asked)
    with np.errstate(invalid="ignore", divide="ignore"):
        return np.where(valid > 0, total / valid, np.nan)
