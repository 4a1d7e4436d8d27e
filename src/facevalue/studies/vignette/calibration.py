"""Calibration: audits of simulated respondents with planted preferences."""

from collections.abc import Iterator, Sequence
from itertools import count, permutations

import numpy as np
import polars as pl

from facevalue.models._sim_pairs import ABSTAIN
from facevalue.models.sim import Planted, Respondent, SimModel
from facevalue.protocol import calibration as c
from facevalue.protocol.settings import defaults
from facevalue.protocol.study import Study
from facevalue.studies.vignette.design import DECISIONS
from facevalue.studies.vignette.settings import SETTINGS
from facevalue.studies.vignette.study import build
from facevalue.studies.vignette.tables import activities, identities
from facevalue.types import OptionValue, Request

DIMENSION, IDENTITIES = "socioeconomic", 12
"""What is audited: twelve occupations in 66 pairs. What is planted in them is drawn at random and means nothing."""
ALPHA = 0.05
_NODES, _WEIGHTS = np.polynomial.hermite_e.hermegauss(32)


GAP, SELECTION = pl.col("measure") == "selection_gap", pl.col("measure") == "selection_frequency"
PAIRCOMP = pl.col("measure") == "paircomp"
WRONG = (pl.col("value") * pl.col("true") <= 0) | (pl.col("true").abs() < c.EVEN)
"""Whether an estimate is on the wrong side of an even choice, or of any where nothing is planted."""

STATISTICS: dict[str, c.Statistic] = {
    "correlation": c.correlation(among=SELECTION),
    "slope": c.slope(among=SELECTION),
    "coverage": c.share(c.COVERS, among=SELECTION),
    "coverage_paircomp": c.share(c.COVERS, among=PAIRCOMP),
    "false_discovery_rate": c.false_discovery_rate(WRONG),
    "found": c.share(c.FOUND, among=GAP & (pl.col("true").abs() >= 2)),
}
"""What sums up all audits; "found" is of identities whose planted gap is 2 points or more."""


class Drifting(SimModel):
    """`sim/null`, which comes to prefer the first of each pair while it is asked: nothing may be found of anybody."""

    def __init__(self, study: Study, seed: int) -> None:
        super().__init__(f"null@{seed}")
        later = c.DRIFT * (c.asked_at(study.design, study.asked_together, seed) - 0.5)
        plain = self._preferences.utilities

        def utilities(requests: Sequence[Request], levels: tuple[str, ...]) -> c.Array:
            first = np.array([[option.level == "1" for option in r.question.options] for r in requests])
            return plain(requests, levels) + first * later[[r.trial for r in requests]][:, None]

        self._preferences.utilities = utilities  # type: ignore[method-assign]


def audited() -> list[str]:
    """The identities of an audit."""
    return [one.name for one in identities(DIMENSION, "male")[:IDENTITIES]]


def study(number: int) -> Study:
    """Decisions about men of one dimension in so many activities; each pair is asked six questions."""
    own: dict[str, OptionValue] = {"pictures": "none", "dimension": [DIMENSION], "gender": ["male"]}
    own |= {"paradigm": ["decision"], "contrast": ["identity"], "identity": audited()}
    return build(defaults(SETTINGS) | own | {"activity": [activity.name for activity in activities()[:number]]})


def truth(planted: Planted, done: list[str]) -> pl.DataFrame:
    """What an audit of these activities should find: an integral over picture pairs, all orders weighing the same."""
    preferences = Respondent(planted).preferences()
    names = audited()
    liked = np.array(
        [[[preferences.preference(DIMENSION, n, f"decision {q}", a) for q in DECISIONS] for a in done] for n in names]
    )  # (identities, activities, questions)
    chosen = np.full((len(names), len(names)), np.nan)
    for one, other in permutations(range(len(names)), 2):
        chosen[one, other] = float(_chosen(liked[one] - liked[other], planted).mean())
    return true_values(names, chosen)


def true_values(names: list[str], chosen: c.Array) -> pl.DataFrame:
    """Expected estimates: measure, identity, other_identity and their `true` value, in percent.

    From the chance that each identity is chosen beside each other one, shape (identities, identities).
    """
    total, others = np.nansum(chosen, axis=1), len(names) - 1
    selection = total / others
    gap = (selection - np.nansum(chosen, axis=0) / others) / 2
    beside = chosen - (total[:, None] - chosen) / max(others - 1, 1)
    rows: list[tuple[str, str | None, str | None, float]] = [("spread", None, None, 100 * selection.std(ddof=1))]
    for i, name in enumerate(names):
        rows += [("selection_frequency", name, None, 100 * selection[i]), ("selection_gap", name, None, 100 * gap[i])]
        rows += [("paircomp", name, other, 100 * beside[i, j]) for j, other in enumerate(names) if j != i]
    return pl.DataFrame(rows, schema=["measure", "identity", "other_identity", "true"], orient="row")


def _chosen(difference: c.Array, planted: Planted) -> c.Array:
    """Chance that option 1 of four is chosen, over picture pairs and whichever option is listed first."""
    out = np.zeros_like(difference)
    first = difference[..., None] + planted.image * _NODES
    weights = [np.exp(u) for u in (first, np.zeros_like(first), *[first / 2 - ABSTAIN] * 2)]
    for listed in range(len(weights)):
        u = [w * np.exp(planted.position * (at == listed)) for at, w in enumerate(weights)]
        out += (_WEIGHTS / _WEIGHTS.sum() * u[0] / sum(u)).sum(axis=-1)
    return out / len(weights)


def audit(asked: Study, model: SimModel, done: list[str]) -> pl.DataFrame:
    """Ask a respondent every question of a study of these activities; put estimates beside what is planted."""
    found = c.estimated(asked, model, 0)
    whole = found.filter(pl.col("question").is_null() & pl.col("gender").is_null() & pl.col("activity").is_null())
    return beside(whole, truth(model.planted, done)).with_columns(found=GAP & (pl.col("q") < ALPHA))


def beside(estimates: pl.DataFrame, true: pl.DataFrame) -> pl.DataFrame:
    """Estimates beside their true values."""
    return estimates.join(
        true, on=["measure", "identity", "other_identity"], how="left", nulls_equal=True, maintain_order="left"
    )


def audits(condition: str, number: int) -> Iterator[pl.DataFrame]:
    """Audits of so many activities, each of a simulated model with its own table of preferences."""
    asked = study(number)
    done = [activity.name for activity in activities()[:number]]
    for r in count():
        model = Drifting(asked, 1000 * r) if condition == "drift" else SimModel(f"{condition}@{1000 * r}")
        yield audit(asked, model, done)
