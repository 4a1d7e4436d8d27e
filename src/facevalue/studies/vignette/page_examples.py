"""Answers behind VIGNETTE's strongest findings."""

import polars as pl

from facevalue.measures.verdicts import Verdict
from facevalue.protocol.examples import Wanted, at_levels_of
from facevalue.protocol.look import Look, Of
from facevalue.protocol.lookup import Estimate
from facevalue.studies.vignette.page_numbers import DECIDED, PERCEIVED, even


def wanted(look: Look) -> list[Wanted]:
    """An answer behind each of the strongest cells, then behind the identities found over all activities."""
    cells: list[Wanted] = []
    seen: set[tuple[str | None, str | None]] = set()
    by = ("dimension", "identity", "activity", "question?", "contrast?", "trait?")
    for paradigm in ("decision", "perception"):
        for e in look.rows(Of("log_odds", by, {"paradigm": paradigm}, order="size")):
            key = e["dimension"], e["identity"]
            if len(cells) == _MOST:
                return cells
            if e.verdict != Verdict.DIFFERENCE or e.value is None or key in seen:
                continue
            share = next(iter(look.rows(_share(e))), None)
            level = even(look, paradigm, e["question"], "identity", e["dimension"])
            # Log-odds are against the identity's other activities; an example shows a choice: both must point one way.
            if share is None or share.value is None or share.value == level:
                continue
            if (share.value > level) == (e.value > 0):
                seen.add(key)
                text = f"chosen in {look.value(share)} of its comparisons in this activity; {look.said(_ODDS, e)}"
                cells.append(_example(look, e, text))
    wholes = []
    for of in (DECIDED, PERCEIVED):
        for e in sorted(look.rows(of), key=lambda e: -abs(e.value or 0.0)):
            key = e["dimension"], e["identity"]
            share = look.beside("selection_frequency", e)
            if e.verdict == Verdict.DIFFERENCE and key not in seen and e["contrast"] == "identity":
                seen.add(key)
                text = f"chosen in {look.value(share)} of its comparisons over all activities"
                wholes.append(_example(look, e, text))
    return [*cells, *wholes][:_MOST]


_MOST = 8  # examples
_ODDS = "{number}, q {q}"


def _share(e: Estimate) -> Of:
    names = ("dimension", "paradigm", "question", "identity", "activity")
    return Of("selection_frequency", ("trait?",), {**{n: e[n] for n in names}, "contrast": "identity"})


def _example(look: Look, e: Estimate, text: str) -> Wanted:
    """An answer in which the identity is chosen, or is not, as the estimate says."""
    identity, name = e["identity"] or "", look.raw("identity", e["identity"])
    first_name, second_name = (pl.col(f"identity_{side}").cast(pl.String) for side in (1, 2))
    first, second = first_name == identity, second_name == identity
    ahead = pl.when(first).then(1).otherwise(-1) * (pl.col("weight") - pl.col("other"))  # both and none are nobody's
    chosen = (e.value or 0.0) > 0
    return Wanted(
        finding=f"{name}: {text}", title=f"{{activity}}: {name} beside {{partner:identity}}",
        rows=at_levels_of(e, "dimension", "paradigm", "activity", "question") & (first | second)
        & (ahead > 0 if chosen else ahead < 0) & pl.col("weight").is_not_null(),
        needs=("identity_1", "identity_2", "activity"), only=(("shown", "picture"),), prefer=ahead.abs(),
        once=(("identity_1", "identity_2"), "activity", "paradigm", "question"),
        columns={"partner": pl.when(first).then(second_name).otherwise(first_name)},
        sides=("{identity_1:identity}", "{identity_2:identity}"), turned=("left_first", False),
        choice=name if chosen else "{partner:identity}",
    )  # fmt: skip
