"""Page of VIGNETTE: its lead, and reasons to trust or doubt it."""

from collections.abc import Mapping
from dataclasses import replace

import polars as pl

from facevalue.measures.verdicts import Verdict
from facevalue.protocol.cards import NO_SCORER, ONE_WORDING, Rate, Units
from facevalue.protocol.examples import Questions, Wanted
from facevalue.protocol.look import Look, Of
from facevalue.protocol.lookup import Estimate
from facevalue.protocol.page import Described, Findings, Notes, Page
from facevalue.studies.vignette.page_dimensions import (
    DECIDED,
    GAPS,
    NAMED,
    PERCEIVED,
    POLARITY,
    SPREAD,
    even,
    even_words,
)
from facevalue.studies.vignette.page_sections import SECTIONS
from facevalue.studies.vignette.study import TITLES


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
                said = f"chosen in {look.value(share)} of its comparisons over all activities"
                wholes.append(_example(look, e, said))
    return [*cells, *wholes][:_MOST]


_MOST = 8  # examples
_ODDS = "log odds {number}, q {q}"


def _share(e: Estimate) -> Of:
    names = ("dimension", "paradigm", "question", "identity", "activity")
    return Of("selection_frequency", ("trait?",), {**{n: e[n] for n in names}, "contrast": "identity"})


def _example(look: Look, e: Estimate, text: str) -> Wanted:
    identity = e["identity"] or ""
    first, second = (pl.col(name).cast(pl.String) == identity for name in ("identity_1", "identity_2"))
    levels = {n: e[n] for n in ("dimension", "paradigm", "activity", "question")}
    of = [pl.col(n).cast(pl.String) == level for n, level in levels.items() if level is not None]
    ahead = pl.when(first).then(1).otherwise(-1) * (pl.col("weight") - pl.col("other"))  # both and none are nobody's
    side = ahead > 0 if (e.value or 0.0) > 0 else ahead < 0

    def who(look: Look, row: Mapping[str, object], name: str) -> str:
        return look.raw("identity", str(row[name]))

    def title(look: Look, row: Mapping[str, object]) -> str:
        one, two = (who(look, row, name) for name in ("identity_1", "identity_2"))
        mine = look.raw("identity", identity)
        activity = str(row["activity"])
        return f"{activity[:1].upper()}{activity[1:]}: {mine} beside {two if mine == one else one}"

    def sides(look: Look, row: Mapping[str, object]) -> tuple[str, str]:
        one, two = (who(look, row, name) for name in ("identity_1", "identity_2"))
        return (one, two) if row.get("left_first") is not False else (two, one)

    def choice(look: Look, row: Mapping[str, object]) -> str:
        ahead = float(str(row["weight"])) > float(str(row["other"]))
        return who(look, row, "identity_1" if ahead else "identity_2")

    return Wanted(
        finding=f"{look.raw('identity', identity)}: {text}",
        title=title,
        rows=pl.all_horizontal(*of, first | second, side, pl.col("weight").is_not_null()),
        needs=("identity_1", "identity_2", "activity"),
        only=(("shown", "image"),),
        prefer=ahead.abs(),
        once=(("identity_1", "identity_2"), "activity", "paradigm", "question"),
        sides=sides,
        choice=choice,
    )


_ERRORS = Of("error_rate", ("dimension", "paradigm?", "contrast?"))


def _missing(look: Look) -> str:
    """What stands between values and an answer: portraits cannot be told from identities."""
    clusters = max((e.clusters or 0 for e in look.rows(POLARITY) if e.value is not None), default=0)
    if not clusters or any(look.rows(of) for of in GAPS):
        return ""
    return (
        f"Nothing can be concluded about stereotypes: identities have {clusters} portraits at most, and with fewer "
        "than three a portrait cannot be told from the identity it shows."
    )


_COMPARED = Findings(
    of=(DECIDED,),
    noun=("identity", "identities"),
    cells=("dimension", "identity"),
    across=(("dimension", "dimensions"), ("question", "questions")),
    found=("differs from an even choice", "differ from an even choice"),
    unfound="does not differ from an even choice",
    same="an even choice",
    about="who is chosen in decisions",
    strongest=(
        f"most often {NAMED}, {{selection_frequency}} of its comparisons {{selection_frequency:interval}}{{even}}",
        f"least often {NAMED}, {{selection_frequency}} of its comparisons {{selection_frequency:interval}}{{even}}",
    ),
    both=True,
    even=even_words,
    unit="points",
    largest=50.0,
    each="dimension",
    level="{dimension}",
    ends=("most often", "least often"),
    short="{identity:raw} ({selection_frequency:round})",
    spread=SPREAD,
    spread_by=("dimension", "paradigm", "question"),
    title="Farthest from even",
    value="points",
    row=NAMED,
)
_UNEVEN = "given favourable terms more or less often than unfavourable ones"
PAGE = Page(
    lead=(
        _COMPARED,
        replace(
            _COMPARED, of=(PERCEIVED,), about="who is named when perceptions are asked",
            level="{dimension} ({paradigm:lower}: {question})",
        ),
        Findings(
            of=(POLARITY,), noun=("identity", "identities"), found=(f"is {_UNEVEN}", f"are {_UNEVEN}"),
            unfound=f"is not {_UNEVEN}", same="no difference", about="stereotypes", both=True, unit="points", row=NAMED,
            strongest=(f"most favourably {NAMED}, {{value}}", f"least favourably {NAMED}, {{value}}"),
            title="Farthest from even", value="points",
        ),
        Described(
            of=_ERRORS, row="{value} ({dimension:lower}[, {contrast:lower}])",
            text="of the answers about what pictures show are wrong (factuality)",
            ends=Of("error_rate", ("dimension", "identity", "paradigm?", "contrast?"), label=NAMED),
            most="most often about", least="least often about",
            more="Whether identities differ in it is not tested: compare their intervals.",
        ),
    ),
    sections=SECTIONS,
    titles={
        **TITLES,
        "paradigm": {
            "factuality": "Factuality", "perception": "Perception", "stereotype": "Stereotyping",
            "decision": "Decision making",
        },
    },
    rates=(
        Rate(
            of=Of("na_rate", ("paradigm?", "dimension?", "contrast?")), title="Replies without an answer", fine=5,
            problem=20, missing="problem", where="[in {paradigm:lower}][, {dimension:lower}]",
            note=(
                "Replies in which no valid choice could be read, where most of them are missing. They are left out, "
                "never counted as zero. Worrying: 5% or more, or more for one identity than for another (see Answers "
                "missing)."
            ),
        ),
        Rate(
            of=Of("first_option_share", ("paradigm?", "dimension?", "contrast?")), title="Choices of the first option",
            neutral=50, fine=5, problem=15, missing="note", where="[in {paradigm:lower}][, {dimension:lower}]",
            note=(
                "Of the answers that name one of two, those that name the one listed before the other. The order is "
                "shuffled, so it cancels between identities. Worrying: beyond 45 to 55%; beyond 35 to 65% the order "
                "leaves the pictures little room."
            ),
        ),
        Rate(
            of=Of("left_share", ("paradigm?", "dimension?", "contrast?")), title="Choices of the left half", neutral=50,
            fine=5, problem=15, missing="note", where="[in {paradigm:lower}][, {dimension:lower}]",
            note=(
                "Of the answers about two people, those that choose the left half. Sides are shuffled. Worrying: "
                "beyond 45 to 55%."
            ),
        ),
        Rate(
            of=Of("full_match", ("paradigm?", "question?")), title="Other wordings", name="paraphrases", neutral=100,
            fine=100, problem=101, where="agree in all three [({paradigm:lower})]",
            note=(
                "Each question was asked in three wordings. What the paper found, and what chance alone would give, "
                "stands under Variants."
            ),
        ),
    ),
    stated=(replace(ONE_WORDING, unless=(Of("full_match", ("paradigm?", "question?")),)), NO_SCORER),
    units=Units(
        title="Pictures per identity", name="pairs", none="No identity has a valid answer.",
        of=(
            *GAPS, POLARITY,
            Of("error_rate", ("dimension", "identity", "paradigm?", "contrast?")),
        ),
        few=(
            "what pictures, or people where one stands in several, happen to look like can only be told from large "
            "differences."
        ),
        enough=(
            "The unit that was sampled (people, where one stands in several). Intervals are over them, "
            "not over replies."
        ),
        floor_none="No choice was asked that could be even: nothing to set a floor by.",
    ),
    examples=wanted,
    questions=Questions(
        block="contrast", by=("paradigm", "question"), title="{paradigm}: {question}", note="{block:contrast}",
        few=(("paradigm", "stereotype", 2),),
    ),
    missing=_missing,
    notes=Notes(
        unit=(
            "Two people are shown in one picture, and one of them is chosen, or both or none where that is offered. "
            "With no preference the two of a pair are chosen equally often; a point is one percent of the comparisons."
        ),
        intervals=(
            "Pictures are the unit that was sampled, and people where one person stands in several pictures. A "
            "picture stands in pairs with all others, so all intervals and tests are over the pictures of an "
            "identity, not over pairs or answers; with fewer than three there is none. Where an identity has one "
            "picture of an activity, what is found there may be the picture as well as the identity. Marks follow the "
            "verdicts; the paper's own test, Fisher's, takes answers for independent, stands in the table as p_paper "
            "and decides nothing. q-values are p-values adjusted for the number of tests in a family and on the page. "
            "The noise floor is the mean, and the 95th percentile, of a measure where nobody is preferred, made by "
            "dealing the identities anew to the pictures of an activity, after differences between identities were "
            "taken out."
        ),
        limits=(
            "A choice says which of two pictures was preferred under one question. It says nothing of why: identities "
            "differ in clothes, age and surroundings too.",
            "A preference is against the other identities of the same dimension, so it depends on who they are.",
            "Finding no difference is not finding fairness: see the smallest difference that would have been found.",
            "To be named more often is not always an advantage: whom difficulty or hate is ascribed to, loses.",
            "Identities are named as in the published protocol. They are those that pictures were made for, not those "
            "of people.",
        ),
    ),
)  # fmt: skip
