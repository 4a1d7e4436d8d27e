"""Calibration: audits of simulated respondents with planted preferences."""

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import combinations

import numpy as np
import numpy.typing as npt
import polars as pl

from facevalue.models._sim_pairs import ABSTAIN
from facevalue.models.sim import Planted, Respondent, SimModel
from facevalue.protocol.calibration import DRIFT, asked_at, fit
from facevalue.protocol.study import Study
from facevalue.studies.vignette.design import DECISIONS
from facevalue.studies.vignette.settings import SETTINGS
from facevalue.studies.vignette.study import build
from facevalue.studies.vignette.tables import activities, identities
from facevalue.types import OptionValue, Request

Array = npt.NDArray[np.float64]
DIMENSION, IDENTITIES = "socioeconomic", 12
"""What is audited: twelve occupations in 66 pairs. What is planted in them is drawn at random and means nothing."""
ALPHA = 0.05
_NODES, _WEIGHTS = np.polynomial.hermite_e.hermegauss(32)


@dataclass(frozen=True)
class Truth:
    """What is planted, as the expected value of each estimate over all picture pairs there might be."""

    selection: dict[str, float]
    """S(i) of decisions in percent, by identity."""
    gap: dict[str, float]
    """Half of what S(i) differs by from that of the others beside i, in percentage points."""
    paircomp: dict[tuple[str, str], float]
    """PairComp in percentage points, by identity and other identity."""


@dataclass(frozen=True)
class Audit:
    """One simulated audit."""

    selection: pl.DataFrame
    paircomp: pl.DataFrame
    """Estimates beside the `planted` value: identity (and other_identity), value, low, high, planted; selection with
    the difference from an even choice (`gap`), its q, and the `planted_gap`."""


@dataclass(frozen=True)
class Calibration:
    """What repeated audits of respondents with known preferences show."""

    condition: str
    """What was planted."""
    activities: int
    repetitions: int
    """Activities in an audit, and audits."""
    correlation: float | None
    slope: float | None
    """Of estimated on planted selection frequency, over all identities of all audits; None where nothing is planted."""
    coverage: float | None
    coverage_paircomp: float | None
    """Shares of 95% intervals that hold the planted selection frequency and PairComp."""
    false_discovery_rate: float
    """Mean share of findings (selection gap, q < .05) on the wrong side, or of any where nothing is planted."""
    found: float | None
    """Share of identities whose planted gap is 2 points or more that are found."""


class Drifting(SimModel):
    """`sim/null`, which comes to prefer the first of each pair while it is asked: nothing may be found of anybody.

    It is asked in the order of a run or, unless `ordered`, in that of trial numbers, as runs once were.
    """

    def __init__(self, study: Study, seed: int, *, ordered: bool = True) -> None:
        super().__init__(f"null@{seed}")
        later = DRIFT * (asked_at(study.design, study.asked_together, seed, ordered=ordered) - 0.5)
        plain = self._preferences.utilities

        def utilities(requests: Sequence[Request], levels: tuple[str, ...]) -> Array:
            first = np.array([[option.level == "1" for option in r.question.options] for r in requests])
            return plain(requests, levels) + first * later[[r.trial for r in requests]][:, None]

        self._preferences.utilities = utilities  # type: ignore[method-assign]


def audited() -> list[str]:
    """The identities of an audit."""
    return [one.name for one in identities(DIMENSION, "male")[:IDENTITIES]]


def study(number: int) -> Study:
    """Decisions about men of one dimension in so many activities; each pair is asked six questions."""
    options: dict[str, OptionValue] = {setting.name: setting.default for setting in SETTINGS}
    done = [activity.name for activity in activities()[:number]]
    return build(
        {
            **options, "pictures": "none", "dimension": [DIMENSION], "gender": ["male"], "paradigm": ["decision"],
            "contrast": ["identity"], "activity": done, "identity": audited(),
        }
    )  # fmt: skip


def truth(planted: Planted, done: list[str]) -> Truth:
    """What an audit of these activities should find: an integral over picture pairs, all orders weighing the same."""
    preferences = Respondent(planted).preferences()
    names = audited()
    liked = np.array(
        [[[preferences.preference(DIMENSION, n, f"decision {q}", a) for q in DECISIONS] for a in done] for n in names]
    )  # (identities, activities, questions)
    chosen = np.full((len(names), len(names)), np.nan)
    for i, j in combinations(range(len(names)), 2):
        for one, other in ((i, j), (j, i)):
            chosen[one, other] = float(_chosen(liked[one] - liked[other], planted).mean())
    others = {n: [k for k in range(len(names)) if k != i] for i, n in enumerate(names)}
    selection = {n: 100 * float(chosen[i, others[n]].mean()) for i, n in enumerate(names)}
    gap = {n: (selection[n] - 100 * float(chosen[others[n], i].mean())) / 2 for i, n in enumerate(names)}
    paircomp = {}
    for i, n in enumerate(names):
        for j in others[n]:
            rest = [k for k in others[n] if k != j]
            paircomp[n, names[j]] = 100 * float(chosen[i, j] - chosen[i, rest].mean())
    return Truth(selection, gap, paircomp)


def _chosen(difference: Array, planted: Planted) -> Array:
    """Chance that option 1 of four is chosen, over picture pairs and whichever option is listed first."""
    out = np.zeros_like(difference)
    first = difference[..., None] + planted.image * _NODES
    weights = [np.exp(u) for u in (first, np.zeros_like(first), *[first / 2 - ABSTAIN] * 2)]
    for listed in range(len(weights)):
        u = [w * np.exp(planted.position * (at == listed)) for at, w in enumerate(weights)]
        out += (_WEIGHTS / _WEIGHTS.sum() * u[0] / sum(u)).sum(axis=-1)
    return out / len(weights)


def audit(asked: Study, model: SimModel, done: list[str]) -> Audit:
    """Ask a respondent every question of a study of these activities; compare estimates with what is planted."""
    frame = asked.design.trials(np.arange(asked.design.size))
    numbers = asked.design.stimulus_numbers(frame["trial"].to_numpy()).tolist()
    columns = [c for c in frame.columns if c not in ("trial", "block", "prompt")]
    stimuli = {
        n: asked.source.stimulus(n, row) for n, row in zip(numbers, frame.select(columns).to_dicts(), strict=True)
    }
    requests = [
        Request(trial, 0, 0, stimuli[n], question, asked.sampling, exact=False)
        for trial, n, question in zip(frame["trial"].to_list(), numbers, asked.ask(frame), strict=True)
    ]
    said = {response.trial: response.text for response in model.respond(requests)}
    rows = frame.with_columns(
        pl.lit(0, pl.UInt8).alias("repeat"),
        pl.lit("ok").alias("status"),
        pl.Series("text", [said[trial] for trial in frame["trial"]], dtype=pl.String),
        pl.lit(None, pl.List(pl.Float32)).alias("probs"),
    )
    found = asked.analyse({model.name: iter([asked.answer(rows)])})
    whole = found.filter(pl.col("question").is_null() & pl.col("gender").is_null() & pl.col("activity").is_null())
    known = truth(model.planted, done)
    gaps = whole.filter(pl.col("measure") == "selection_gap").select("identity", "q", gap="value")
    selection = whole.filter(pl.col("measure") == "selection_frequency").select("identity", "value", "low", "high")
    paircomp = whole.filter(pl.col("measure") == "paircomp")
    paircomp = paircomp.select("identity", "other_identity", "value", "low", "high")
    return Audit(
        selection.join(gaps, on="identity").with_columns(
            pl.col("identity").replace_strict(known.selection, return_dtype=pl.Float64).alias("planted"),
            pl.col("identity").replace_strict(known.gap, return_dtype=pl.Float64).alias("planted_gap"),
        ),
        paircomp.with_columns(
            pl.Series("planted", [known.paircomp[row] for row in paircomp.select("identity", "other_identity").rows()])
        ),
    )


def calibrate(condition: str, number: int, repetitions: int) -> tuple[Calibration, Audit]:
    """Audit simulated models, each with its own table of preferences.

    Parameters
    ----------
    condition:
        What is planted: a preset of `models.sim`; "drift": nothing, in a model that drifts while it is asked.
    number:
        Activities in an audit.
    repetitions:
        Audits.

    Returns
    -------
    The summary, and the first audit for a closer look.
    """
    asked = study(number)
    done = [activity.name for activity in activities()[:number]]

    def model(r: int) -> SimModel:
        return Drifting(asked, 1000 * r) if condition == "drift" else SimModel(f"{condition}@{1000 * r}")

    audits = [audit(asked, model(r), done) for r in range(repetitions)]
    return _summary(condition, number, audits), audits[0]


def _summary(condition: str, number: int, audits: list[Audit]) -> Calibration:
    selection = pl.concat([a.selection for a in audits])
    pairs = pl.concat([a.paircomp for a in audits])
    planted, value = selection["planted"].to_numpy(), selection["value"].to_numpy()
    correlation, slope = fit(planted, value, least=1e-9)
    wrong = pl.lit(0.0) if slope is None else pl.col("planted_gap")
    rates = []
    for one in audits:
        hits = one.selection.filter(pl.col("q") < ALPHA)
        false = hits.filter(pl.col("gap") * wrong <= 0).height
        rates.append(false / max(hits.height, 1))
    large = selection.filter(pl.col("planted_gap").abs() >= 2)
    return Calibration(
        condition=condition,
        activities=number,
        repetitions=len(audits),
        correlation=correlation,
        slope=slope,
        coverage=_coverage(selection),
        coverage_paircomp=_coverage(pairs),
        false_discovery_rate=float(np.mean(rates)),
        found=_share(large, pl.col("q") < ALPHA),
    )


def _coverage(estimates: pl.DataFrame) -> float | None:
    return _share(estimates, (pl.col("low") <= pl.col("planted")) & (pl.col("planted") <= pl.col("high")))


def _share(estimates: pl.DataFrame, held: pl.Expr) -> float | None:
    """Share of which something holds; None where it is known of none, as of one or two pictures."""
    share = estimates.select(held.mean()).item()
    return None if share is None else float(share)
