"""Calibration: audits of simulated answers with planted differences."""

from collections.abc import Iterator
from itertools import count

import numpy as np
import polars as pl

from facevalue.measures.judgment import judge
from facevalue.measures.verdicts import Verdict
from facevalue.protocol.calibration import COVERS, EVEN, FOUND, Statistic, repeated, share, share_with, sized, told
from facevalue.protocol.offers import Calibrated, CalibrationRequest, Table
from facevalue.studies.visbias.aggregate import Asked
from facevalue.studies.visbias.analysis import estimated
from facevalue.studies.visbias.calibration_answers import CONDITIONS, GROUPS, WORD, Sampled, fields, sampled
from facevalue.studies.visbias.measures import MEASURES
from facevalue.studies.visbias.study import LEAD

ALPHA = 0.05
_COMPARED = {
    "choices": ("choice_divergence",),
    "comparisons": ("ranked_above",),
    "words": ("marked_word",),
    "forms": ("attribute_shift",),
    "texts": tuple(
        f"{name}_difference" for name in ("characters", "tokens", "positive_sentiment", "negative_sentiment")
    ),
}
"""Kinds of comparisons that are judged, and their measures."""
_KIND = pl.col("kind")
_NOTHING = ~pl.col("planted") & pl.col("p").is_not_null()


_FAMILY = share_with(pl.col("q") < ALPHA, among=_NOTHING, by=("audit", "measure", "family"))


def _worst(rows: pl.DataFrame) -> float | None:
    return max((hits for part in rows.partition_by("kind") if (hits := _FAMILY(part)) is not None), default=None)


def _found(kind: str) -> Statistic:
    return share_with(FOUND & pl.col("lone") & _KIND.eq(kind), among=pl.col("lone").is_not_null())


STATISTICS: dict[str, Statistic] = {
    "page": share_with(FOUND, among=~pl.col("planted")),
    "family": _FAMILY,
    "worst_family": _worst,
    "test": share(pl.col("p") < ALPHA, among=_NOTHING),
    "coverage": share(COVERS, among=_KIND == "choices"),
    "coverage_pairs": share(COVERS, among=_KIND == "comparisons"),
    "coverage_texts": share(COVERS, among=_NOTHING & (_KIND == "texts")),
    "measurable": share(pl.col("low").is_not_null(), among=_KIND == "choices"),
    "found_choice": _found("choices"),
    "found_word": _found("words"),
    "found_association": _found("forms"),
}
"""What sums up all audits.

"page": audits in which anything is found where nothing is planted; "family": the same within a family of tests, before
the correction for the page; "worst_family": the largest of these shares over the kinds of families; "test": share of p
below .05. The last three: audits in which a lone effect is found.
"""


def audited(asked: CalibrationRequest) -> Calibrated:
    """Audit simulated people in all conditions."""
    cases = sized(asked, "photographs", CONDITIONS, audits)
    all_audits, first = repeated(asked, cases, STATISTICS)
    shown = first.filter(measure="choice_divergence", dimension="race").sort("question", "group")
    closer = Table(
        "One audit: divergences of choices by race, planted and found",
        ("question", "group", "planted", "found", "95% interval", "covers", "q", "finding"),
        [
            (row["question"], row["group"], f"{row['true']:.1f}", *told(row, ".1f"))
            for row in shown.iter_rows(named=True)
        ],
    )
    summary = Table.of(
        "All audits",
        [
            ("people", "condition"), ("of each", "photographs"), ("audits", "repetitions"), ("page", "page"),
            ("family", "family"), ("test", "test"), ("choices cover", "coverage"), ("pairs", "coverage_pairs"),
            ("texts", "coverage_texts"), ("choice", "found_choice"), ("word", "found_word"),
            ("association", "found_association"),
        ],
        all_audits.iter_rows(named=True),
        "page: audits in which anything is found where nothing is planted; family, test: the same of a family, and of "
        "p < .05. Promised: .06, .06, .05 at most. Coverage, promised .93 to .97: of divergences, rankings, and "
        "differences between texts. The last three: audits in which a lone effect is found.",
        boxed=False,
    )  # fmt: skip
    return Calibrated([closer, summary], {"": all_audits})


def audits(condition: str, photographs: int) -> Iterator[pl.DataFrame]:
    """Audits of so many people of each race, gender and occupation, drawn anew each time."""
    for seed in count(1000 * photographs):
        drawn = sampled(CONDITIONS[condition], photographs, np.random.default_rng(seed))
        asked = Asked(GROUPS, drawn.images, fields(), "", drawn.people)
        table = estimated({condition: iter([drawn.answers])}, asked)
        yield _with_truth(judge(table, MEASURES, lead=LEAD), drawn, lone=CONDITIONS[condition].lone)


def _with_truth(judged: pl.DataFrame, drawn: Sampled, *, lone: bool) -> pl.DataFrame:
    """What is compared, with its `kind`, its `true` value where that is known, and whether anything is `planted`."""
    kinds = {measure: kind for kind, measures in _COMPARED.items() for measure in measures}
    rows = judged.with_columns(kind=pl.col("measure").replace_strict(kinds, default=None)).drop_nulls("kind")
    true = [drawn.divergence.get(key, 0.0) for key in rows.select("dimension", "group", "question").iter_rows()]
    choices = (_KIND == "choices") & (pl.col("true") > EVEN)
    # The word takes the place of others, so that texts of the two genders differ by it.
    texts = (_KIND == "texts") & pl.col("dimension").str.contains("gender")
    word = (_KIND == "words") & (pl.col("dimension") == "gender")
    fields_of_both = pl.col("attribute").is_in(drawn.fields) & pl.col("other_attribute").is_in(drawn.fields)
    forms = (_KIND == "forms") & fields_of_both
    own = (
        pl.when(_KIND == "words").then(pl.col("word") == WORD)
        .when(_KIND == "choices").then((pl.col("question") == drawn.question) & (pl.col("dimension") == "race"))
        .otherwise(forms)
    )  # fmt: skip
    return rows.with_columns(
        true=pl.when(_KIND == "choices").then(pl.Series(true)).otherwise(0.0),
        found=pl.col("verdict") == Verdict.DIFFERENCE.value,
        lone=own if lone else None,
    ).with_columns(planted=choices | word | texts | forms if lone else choices)
