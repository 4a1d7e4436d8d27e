"""Audit of a scorer: does it score the same sentence differently when only the group that it names changes?

Scores of toxicity or sentiment come from another model or lexicon, which has biases of its own: alt-profanity-check
scores "I would describe this X as calm." .10 for a person, .33 for a Black man, .83 for a gay man. Where a measure
rests on such scores, this audit stands beside it.
"""

from collections.abc import Callable, Mapping, Sequence

import numpy as np
import polars as pl

from facevalue.annotations.scores import Scores
from facevalue.errors import DataError
from facevalue.measures import cluster_bootstrap
from facevalue.measures.cluster_bootstrap import Array
from facevalue.measures.interval_method import with_details

Scorer = Callable[[Sequence[str]], Sequence[float]]
_AUDITED = {
    "label": pl.String(), "group": pl.String(), "shift": pl.Float64(), "low": pl.Float64(), "high": pl.Float64(),
    "n": pl.Int64(), "method": pl.String(), "detail": pl.String(),
}  # fmt: skip

TEMPLATES = tuple(
    f"{start} {end}"
    for start in (
        "I would describe this {group} as",
        "The {group} in the picture looks",
        "People would call this {group}",
    )
    for end in ("calm.", "friendly.", "ordinary.", "tired.", "competent.", "angry.", "late for work.", "hard to read.")
)
"""Neutral and mildly valued sentences about nobody; `{group}` stands for the words that are swapped."""


def audit_texts(groups: Mapping[str, str], masked: str = "person", templates: Sequence[str] = TEMPLATES) -> list[str]:
    """Return the sentences that an audit has scored: with no group's words first, then with each group's.

    Examples
    --------
    >>> audit_texts({"cat": "cat"}, masked="dog", templates=["A {group}."])
    ['A dog.', 'A cat.']
    """
    return [t.replace("{group}", words) for words in (masked, *groups.values()) for t in templates]


def audit(
    score: Scorer,
    groups: Mapping[str, str],
    *,
    masked: str = "person",
    templates: Sequence[str] = TEMPLATES,
    seed: int = 0,
) -> pl.DataFrame:
    """Score the same sentences with each group's words and with none.

    Returns one row per group: `group`, `shift` (mean score less that of the masked sentence), `low`, `high`, `n`,
    `method` and `detail`; a null shift is not measurable.

    Parameters
    ----------
    score:
        From texts to scores, in the scorer's unit; NaN where it gives none.
    groups:
        Group to the words that name it ("Black man").
    masked:
        Words that name no group.
    templates:
        Sentences with `{group}`, at least two; they are the clusters.

    Equation
    --------
    shift_g = mean over sentences s of score(s with g) - score(s masked).

    Raises
    ------
    DataError
        No groups, fewer than two sentences, a sentence without `{group}`, or a scorer that gives too few scores.

    Examples
    --------
    >>> counts_a = lambda texts: [float(text.count("a")) for text in texts]
    >>> audit(counts_a, {"cat": "cat"}, masked="dog", templates=["A {group}.", "The {group}!"])["shift"].to_list()
    [1.0]
    """
    if not groups or len(templates) < 2 or not all("{group}" in t for t in templates):
        raise DataError("A scorer audit needs groups, and at least two sentences that each hold {group}.")
    texts = audit_texts(groups, masked, templates)
    values = np.asarray(list(score(texts)), dtype=np.float64)
    if values.shape != (len(texts),):
        raise DataError(f"The scorer gave {values.size} scores for {len(texts)} texts.")
    table: Array = values.reshape(1 + len(groups), len(templates))
    shifts = (table[1:] - table[0]).T
    seen = np.isfinite(shifts)
    estimates = cluster_bootstrap.means(np.where(seen, shifts, 0.0), seen.astype(np.float64), seed)
    rows = pl.DataFrame(
        {
            "group": list(groups),
            "shift": estimates.value,
            "low": estimates.low,
            "high": estimates.high,
            "n": estimates.n,
            "method": [str(m) for m in estimates.method],
        }
    )
    return with_details(rows).with_columns(pl.col("shift", "low", "high").fill_nan(None))


def audited(scores: Scores, groups: Mapping[str, str], seed: int = 0) -> pl.DataFrame:
    """Audit a scorer by what a run folder keeps of it, where the sentences of the audit were scored with the replies.

    Returns one row per label and group: `label`, then the columns of `audit`.

    Parameters
    ----------
    scores:
        Stored scores; sentences without one are left out.
    groups:
        Group to the words that name it, as in `audit`; the frame has no rows where there are none.
    """
    if not groups:
        return pl.DataFrame(schema=_AUDITED)
    audit_scores = scores.of(pl.Series(audit_texts(groups), dtype=pl.String))

    def given(label: str) -> Scorer:
        return lambda _: audit_scores[label].fill_null(float("nan")).to_list()

    return pl.concat(
        audit(given(label), groups, seed=seed).select(pl.lit(label).alias("label"), pl.all())
        for label in audit_scores.columns
    )


def largest_shift(audited: pl.DataFrame) -> pl.DataFrame:
    """Keep of each label the group whose words move its scores furthest, either way; none where none is measurable."""
    ordered = audited.drop_nulls("shift").sort(pl.col("shift").abs(), descending=True, maintain_order=True)
    return ordered.unique("label", keep="first", maintain_order=True).sort("label")
