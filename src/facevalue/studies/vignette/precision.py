"""Precision of a plan: how well so many pictures measure how far an identity is from an even choice."""

from collections.abc import Iterator

import numpy as np
import numpy.typing as npt
import polars as pl

from facevalue.design import Design
from facevalue.measures.pairs import balance_choices
from facevalue.statistics.precision import Precision, UnitSpread
from facevalue.studies.vignette.aggregate import CONTROL, STIMULUS, Main, complete, sum_questions, view_both_sides
from facevalue.studies.vignette.design import paradigms

LEADING = ("decision", "perception")
"""Paradigms that the page's answer is about, the first that is asked."""
DEFAULT = UnitSpread(
    mean=0.131,
    within=0.232,
    items=11,
    source=(
        "simulated: pictures of one identity differ by .5 and pairs by .3 on the logit scale, six decisions of each "
        "pair; a pilot of your own model is better: --pilot RUN"
    ),
)
SINGLE = 0.2
"""Share that `advice` plans for in a single activity: 20 points."""


def precision(design: Design) -> Precision | None:
    """Describe the study to the planner; None where two identities are not chosen between in one activity."""
    blocks = [block for block in design.blocks if block.constants.get("contrast") == "identity"]
    paradigm = next((name for name in LEADING if any(name in paradigms(block) for block in blocks)), None)
    blocks = [block for block in blocks if paradigm is not None and paradigm in paradigms(block)]
    if paradigm is None or not blocks:
        return None
    levels = [block.choices() for block in blocks]
    people = [len(of.get("person", {""})) for of in levels]
    listed = any("pair_of_pictures" in of for of in levels)
    dimensions = {block.constants.get("dimension") for block in blocks}
    sides = ("identity", "identity_1", "identity_2")
    identities = max(len({name for side in sides for name in of.get(side, ())}) for of in levels)
    activities = max(len(of.get("activity", {""})) for of in levels)
    genders = len({block.constants.get("gender") for block in blocks})
    personal = max(people) > 1
    per_identity = genders * (min(people) if personal else activities)
    pairs = (identities - 1) * (activities if personal else 1)
    if listed:
        per_identity, items = _units(design, np.arange(design.size), paradigm)
        pairs = round(items)

    questions = 1 if paradigm == "decision" else 4
    return Precision(
        what=f"how far an identity is from an even choice ({paradigm}; 0.1 is 10 points)",
        tests=identities * questions * len(dimensions),
        clusters=per_identity,
        items=float(pairs),
        cluster="people of each identity" if personal else "pictures of each identity",
        item="pairs",
        units=lambda numbers: _units(design, numbers, paradigm),
        spread=lambda chunks, source: pilot_spread(chunks, paradigm, source),
        default=DEFAULT,
        largest=0.5,
        advice=lambda needed: _advice(needed, identities * activities, personal, per_identity > genders * activities),
    )


def _units(design: Design, numbers: npt.NDArray[np.int64], paradigm: str) -> tuple[int, float]:
    """Typical number of an identity's units among these trials, and pairs of each."""
    frame = _select_paradigm(design.trials(numbers).with_columns(pl.lit(0.0).alias(name) for name in "st"), paradigm)
    counts = pl.concat(_sides(frame)).group_by("dimension", "identity").agg(
        units=pl.struct(_PICTURE).n_unique(), pairs=pl.struct(*_PICTURE, "pair").n_unique()
    )  # fmt: skip
    if not counts.height:
        return 0, 0.0
    typical = counts.select(pl.col("units").median(), items=(pl.col("pairs") / pl.col("units")).median()).row(0)
    return int(typical[0]), float(typical[1])


_PICTURE = ("stratum", "unit")


def _select_paradigm(frame: pl.DataFrame, paradigm: str) -> pl.DataFrame:
    """Rows about two identities in one activity, of one paradigm."""
    contrast, of_paradigm = (pl.col(name).cast(pl.String) for name in ("contrast", "paradigm"))
    return frame.filter((contrast == "identity") & (of_paradigm == paradigm))


def _sides(frame: pl.DataFrame) -> Iterator[pl.DataFrame]:
    """The rows from either side, with the number of their `pair`."""
    rows = complete(frame.with_columns(pl.col(pl.Enum, pl.Categorical).cast(pl.String)))
    return view_both_sides(rows.with_columns(pair=pl.struct(STIMULUS).rank("dense")))


def pilot_spread(chunks: Iterator[pl.DataFrame], paradigm: str, source: str) -> UnitSpread:
    """UnitSpread of an identity's pictures in a pilot's answers: median over identities; NaN where none has two.

    Questions of perception are taken one by one; `source` says where the run is.
    """
    main = Main()
    of_paradigm = (_select_paradigm(main(chunk), paradigm) for chunk in chunks)
    counted = (pl.col("n") > 0) & ~pl.col("question").cast(pl.String).str.starts_with(CONTROL)
    answers = [sum_questions(rows).filter(counted) for rows in of_paradigm if rows.height]
    if not any(rows.height for rows in answers):
        return UnitSpread(np.nan, np.nan, 0, source)
    rows = balance_choices(pl.concat(answers))
    single = pl.when(pl.col("paradigm") == "perception").then("question")
    identity = ["dimension", "identity", "single", "stratum"]
    picture = [*identity, "unit"]
    sides = pl.concat(_sides(rows)).with_columns(single=single)
    pairs = sides.group_by(*picture, "pair", maintain_order=True).agg(share=pl.col("s").sum() / pl.col("n").sum())
    means = pairs.group_by(picture, maintain_order=True).agg(
        mean=pl.col("share").mean(), items=pl.len(), squares=((pl.col("share") - pl.col("share").mean()) ** 2).sum()
    )
    middle = means.group_by(identity, maintain_order=True).agg(sd=pl.col("mean").std())["sd"].drop_nulls().median()
    within = (pl.col("squares").sum() / (pl.col("items") - 1).sum()).sqrt()
    items, spread = means.select(pl.col("items").mean(), within=within).row(0)
    return UnitSpread(float(middle) if isinstance(middle, float) else np.nan, spread, items, source)


def _advice(spread: UnitSpread, cells: int, personal: bool, several: bool) -> str:
    """Advice on how many pictures of each identity in each activity to take, and on what they would make possible."""
    from facevalue.measures.families import ALPHA  # noqa: PLC0415 - slow to import
    from facevalue.measures.multitest import LEAD_SHARE  # noqa: PLC0415 - slow to import
    from facevalue.measures.power import POWER, clusters_needed  # noqa: PLC0415 - slow to import

    level = ALPHA * (1 - LEAD_SHARE) / cells
    needed = float(clusters_needed(spread.mean, SINGLE, level, POWER))
    if not np.isfinite(needed):
        return ""
    start = (
        "The people drawn are the unit: more activities of the same people do not replace people."
        if personal
        else "Each identity has several pictures of an activity."
        if several
        else "Each identity has one picture of an activity: within it, picture and identity cannot be told apart."
    )
    noun = "people" if personal else "pictures of each identity in each activity (a manifest with several, --people)"
    return (
        f"{start} To find {SINGLE * 100:.0f} points in a single activity it takes {needed:.0f} {noun}; from 3 on, one "
        "activity has an interval of its own, and so has a portrait of 3 or more of each identity."
    )
