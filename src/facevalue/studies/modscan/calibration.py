"""Calibration: audits of simulated respondents with planted preferences."""

from collections.abc import Iterator
from functools import lru_cache
from itertools import count

import numpy as np
import polars as pl

from facevalue.measures.judgment import judge
from facevalue.measures.verdicts import Verdict
from facevalue.models.sim import Planted, Respondent, SimModel
from facevalue.protocol import calibration as c
from facevalue.protocol.offers import Calibrated, CalibrationRequest, Table
from facevalue.protocol.settings import defaults
from facevalue.protocol.study import Study
from facevalue.studies.modscan.pictures import TONES
from facevalue.studies.modscan.settings import SETTINGS
from facevalue.studies.modscan.study import build
from facevalue.studies.modscan.tables import GENDERS, GROUPS, instances
from facevalue.types import OptionValue

CONDITIONS = ("default", "null")
ALPHA = 0.05
PART = ("modality", "attribute")
_DRAWS = 20_000
_NODES, _WEIGHTS = np.polynomial.hermite_e.hermegauss(32)
_SHARE, _GAP, _SCORE = (pl.col("measure") == name for name in ("group_share", "chance_gap", "bias_score"))
WRONG = (pl.col("value") * pl.col("true_gap") <= 0) | (pl.col("true_gap").abs() < c.EVEN)
"""Whether a gap has the wrong sign, or is of a share that is even."""

STATISTICS: dict[str, c.Statistic] = {
    "correlation": c.correlation(among=_SHARE),
    "slope": c.slope(among=_SHARE),
    "coverage": c.share(c.COVERS, among=_SHARE),
    "false_discovery_rate": c.false_discovery_rate(WRONG, among=_GAP),
    "found": c.share(c.FOUND, among=_GAP & (pl.col("true_gap").abs() >= 0.05)),
    "scores": c.share(pl.col("p") < ALPHA, among=_SCORE),
    "page": c.share_with(c.FOUND, among=_GAP),
}
"""What sums up all audits; "found" is of gaps of 5 points or more, "page" of audits with any finding."""


def audited(asked: CalibrationRequest) -> Calibrated:
    """Audit simulated models."""
    cases = c.sized(asked, "scenes", CONDITIONS, audits)
    all_audits, first = c.repeated(asked, cases, STATISTICS)
    summary = Table.of(
        "All audits",
        [
            ("planted", "condition"), ("scenes", "scenes"), ("audits", "repetitions"), ("r", "correlation"),
            ("slope", "slope"), ("shares cover", "coverage"), ("FDR", "false_discovery_rate"), ("found", "found"),
            ("scores p < .05", "scores"), ("any gap found", "page"),
        ],
        c.named(all_audits),
        "Nominal coverage .95; false findings at most .05. Where nothing is planted, promised at most .05: scores with "
        "p < .05, and audits with any gap found.",
    )  # fmt: skip
    shown = first.filter(_SHARE).group_by(*PART, maintain_order=True).agg(
        r=pl.corr("true", "value"), covers=c.COVERS.mean(), error=(pl.col("value") - pl.col("true")).abs().mean()
    )  # fmt: skip
    closer = Table.of(
        f"One audit of sim/default with {asked.sizes[0]} scenes: shares planted and recovered",
        [(name, name) for name in (*PART, "r", "covers")] + [("mean error", "error")],
        shown.iter_rows(named=True),
    )
    return Calibrated([closer, summary], {"": all_audits})


def audits(condition: str, scenes: int) -> Iterator[pl.DataFrame]:
    """Audits of so many scenes of each persona, and a fifth as many faces, each of another model and other pictures."""
    for number in count():
        own: dict[str, OptionValue] = {"per_persona": scenes, "faces": max(3, scenes // 5), "kinds": ["persona"]}
        own |= {"scene_seed": number + 1, "pair_seed": number}
        yield audit(build(defaults(SETTINGS) | own), SimModel(f"{condition}@{1000 * number}"))


def audit(study: Study, model: SimModel) -> pl.DataFrame:
    """Ask a respondent everything; put estimates beside what is planted."""
    found = judge(c.estimated(study, model, 1), study.measures, lead=study.lead).filter(_SHARE | _GAP | _SCORE)
    keys = [*PART, "instance", "group"]
    joined = found.join(truth(model.planted), on=keys, how="left", maintain_order="left")
    return joined.with_columns(found=_GAP & (pl.col("verdict") == Verdict.DIFFERENCE))


def truth(planted: Planted) -> pl.DataFrame:
    """Shares that audits should find, over all pictures, sides and orders; and their distance from an even choice."""
    respondent, rows = Respondent(planted), []
    preferences = respondent.preferences()
    for name in (one.name for one in instances("persona")):
        shown: dict[str, tuple[str, ...]] = {"gender": GENDERS, "skin tone": TONES}
        for attribute, groups in shown.items():
            liked = np.array([preferences.preference(attribute, group, name, "") for group in groups])
            beside = _chosen(liked[:, None] - liked[None, :], planted.image, planted.position)
            np.fill_diagonal(beside, np.nan)
            rows += [("vision", attribute, name, g, float(s), float(s) - 0.5)
                     for g, s in zip(groups, np.nanmean(beside, axis=1), strict=True)]  # fmt: skip
        for attribute, groups in GROUPS.items():
            named_ = _named(respondent, name, attribute, groups)
            rows += [
                ("language", attribute, name, g, s, s - 1 / len(groups)) for g, s in zip(groups, named_, strict=True)
            ]
    return pl.DataFrame(rows, schema=[*PART, "instance", "group", "true", "true_gap"], orient="row")


def _chosen(difference: c.Array, noise: float, position: float) -> c.Array:
    """Chance that the one is chosen beside the other, over pairs and both sides."""
    sides = (difference[..., None] + noise * _NODES + side * position for side in (1, -1))
    return sum((_WEIGHTS / _WEIGHTS.sum() / (1 + np.exp(-u))).sum(axis=-1) for u in sides) / 2


def _named(respondent: Respondent, persona: str, attribute: str, groups: tuple[str, ...]) -> list[float]:
    """Chance that each group is named for a scene, over scenes and all cyclic orders."""
    p = respondent.planted
    levels = sorted(groups)
    effects = respondent.effects([{"persona": persona}], [f"who is it, by {attribute}"], levels)[0, 0]
    spread = np.sqrt((p.identity**2 + p.image**2) / 2)
    utilities = effects + spread * _noise(len(levels))
    total = np.zeros(len(levels))
    for first in range(len(levels)):
        u = np.exp(utilities + p.position * (np.arange(len(levels)) == first))
        total += (u / u.sum(axis=1, keepdims=True)).mean(axis=0)
    share_of = dict(zip(levels, (total / len(levels)).tolist(), strict=True))
    return [share_of[group] for group in groups]


@lru_cache(maxsize=4)
def _noise(options: int) -> c.Array:
    return np.random.default_rng(options).normal(size=(_DRAWS, options))
