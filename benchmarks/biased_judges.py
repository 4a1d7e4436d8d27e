"""Judges that are biased by group, of texts that are alike: how often a finding says that the judge could explain it.

Texts about both groups are warm equally often. The judge calls a share of the cold texts about one group warm, by the
words that say which group that is, and some of its answers change when it is asked again. A study has twenty people of
either group, with eight texts each; its gap is tested over people (Welch), and 100 texts are judged again with their
group words swapped, as `facevalue judge` does. Writes `docs/results/biased-judges.csv`.
"""

from pathlib import Path

import numpy as np
import polars as pl
from scipy import stats

from facevalue.measures.caveats import JUDGE_CAVEAT, caveat_of
from facevalue.measures.definitions import Measure
from facevalue.measures.judges import moved_share, with_judge_caveats
from facevalue.measures.proportions import wilson_interval
from facevalue.measures.verdicts import FOUND

OUT = Path(__file__).parent.parent / "docs" / "results" / "biased-judges.csv"
MEASURES = (Measure("gap", "Gap", "", "share", "text", "", score="tone_warm"),)
REPETITIONS, PEOPLE, TEXTS, AUDITED = 300, 40, 8, 100
_COLUMNS = ("measure", "score", "model", "verdict", "why", "value", "page_low", "page_high", "high", "floor", "p", "n")


def repetition(bias: float, noise: float, difference: float, rng: np.random.Generator) -> tuple[bool, bool]:
    """Whether a gap is found, and whether it says that the judge could explain it."""
    spread = rng.beta(4, 6, (2, PEOPLE // 2))  # people's own shares, .4 on average
    spread[0] = np.clip(spread[0] + difference, 0, 1)
    cold = (rng.random((2, PEOPLE // 2, TEXTS)) >= spread[:, :, None]).astype(float)
    # One and the same text is called warm or not by its words: bias is of the text, not of the moment.
    is_warmed = rng.random(cold.shape) < bias
    biased, plain = np.where(is_warmed, 1.0, 1 - cold), 1 - cold
    about = np.stack([biased[0], plain[1]])
    swapped = np.stack([plain[0], biased[1]])
    before, after, again = (np.where(rng.random(cold.shape) < noise, 1 - x, x) for x in (about, swapped, about))
    means = before.mean(axis=2)
    test = stats.ttest_ind(means[0], means[1], equal_var=False)
    ends = test.confidence_interval(0.95)
    at = rng.permutation(cold.size)[:AUDITED]
    share, floor = moved_share(before.ravel()[at], after.ravel()[at], again.ravel()[at])
    rows = [
        {"measure": "gap", "score": "tone_warm", "model": "m", "value": float(means[0].mean() - means[1].mean()),
         "why": FOUND, "page_low": float(ends.low), "page_high": float(ends.high),
         "verdict": "difference found" if test.pvalue < 0.05 else "inconclusive"},
        {"measure": "judge_swapped_tone", "model": "m", "value": float(share.value[0]), "high": float(share.high[0]),
         "floor": float(floor.mean[0]), "p": float(floor.p[0]), "n": float(AUDITED)},
    ]  # fmt: skip
    table = pl.DataFrame(rows, schema={name: pl.String if name in _COLUMNS[:4] else pl.Float64 for name in _COLUMNS})
    row = with_judge_caveats(table, MEASURES).row(0, named=True)
    is_found = row["verdict"] == "difference found"
    return is_found, is_found and caveat_of(row["why"]) == JUDGE_CAVEAT


def main() -> None:
    """Repeat all conditions, and write the table."""
    out = []
    for number, (bias, noise, difference) in enumerate(
        [(0.0, 0.0, 0.0), (0.1, 0.0, 0.0), (0.25, 0.0, 0.0), (0.5, 0.0, 0.0), (0.9, 0.0, 0.0), (0.5, 0.1, 0.0),
         (0.0, 0.0, 0.2), (0.0, 0.1, 0.2), (0.0, 0.0, 0.35)]
    ):  # fmt: skip
        rng = np.random.default_rng([20260, number])
        runs = np.array([repetition(bias, noise, difference, rng) for _ in range(REPETITIONS)])
        bare = (runs[:, 0] & ~runs[:, 1]).mean()
        low, high = wilson_interval(np.array([bare]), [REPETITIONS], [REPETITIONS - 1])
        out.append({
            "cold texts about one group called warm": bias, "answers changed at random": noise,
            "true difference": difference, "audits": REPETITIONS, "found": runs[:, 0].mean(),
            "found without unless": bare, "low": low[0], "high": high[0],
        })  # fmt: skip
    pl.DataFrame(out).with_columns(pl.col(pl.Float64).round(3)).write_csv(OUT)


if __name__ == "__main__":
    main()
