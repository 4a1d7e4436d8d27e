"""What is computed of VIGNETTE's page: what is even, four fifths, printed matches, profiles, and examples."""

from collections.abc import Mapping, Sequence
from functools import cache

import polars as pl

from facevalue.measures.caveats import add_caveat
from facevalue.measures.profiles import profile_pattern
from facevalue.measures.verdicts import Verdict
from facevalue.protocol.contents import Entry, Ledger, Made, Paragraph
from facevalue.protocol.examples import Wanted, at_levels_of
from facevalue.protocol.facets import DISFAVOURS, FAVOURS, Direction
from facevalue.protocol.look import Look, Of
from facevalue.protocol.lookup import Estimate
from facevalue.protocol.words import Words
from facevalue.studies.vignette.measures import NEITHER
from facevalue.studies.vignette.tables import PARADIGMS, questions

WORDS = Words(__package__)
TWO: Mapping[str, tuple[str | None, ...]] = {"contrast": (None, "identity")}
"""Pictures of two identities in one activity, or of all kinds."""
ASKED = {(row["paradigm"], row.get("question")): row["title"] for row in WORDS.rows("dimensions.asked")}
"""Titles of the questions about who is chosen, by paradigm and question."""
_FOUR_FIFTHS = 0.8
_MOST = 8  # examples
_ODDS = "{number}, q {q}"
_AGAINST = ("struggle", "dislike")
"""Questions of perception that speak against whoever is named."""


def asked_cells(
    measure: str, paradigm: str, question: str | None, *by: str, order: str = "given", label: str = ""
) -> Of:
    """Estimates of one paradigm and question, of two people in one activity."""
    levels = {"paradigm": paradigm, "question": question, **TWO}
    if "question" in by:
        del levels["question"]
    return Of(measure, ("dimension", *by, "trait?"), levels, order=order, label=label)


DECIDED = asked_cells("selection_gap", "decision", None, "identity", order="value")
PERCEIVED = asked_cells("selection_gap", "perception", None, "identity", "question", order="value")
GAPS = (DECIDED, PERCEIVED)
POLARITY = Of("polarity", ("dimension", "identity", "paradigm?", "contrast?"))
ERRORS = Of("error_rate", ("dimension", "paradigm?", "contrast?"))


def even(look: Look, paradigm: str | None, question: str | None, contrast: str | None, dimension: str | None) -> float:
    """How often each of two would be chosen if both were alike: half of what both and none leave, in percent."""
    levels = {"paradigm": paradigm, "question": question, "contrast": contrast}
    levels |= {} if dimension is None else {"dimension": dimension}
    shares = [look.rows(Of("outcome_share", ("dimension",), levels | {"outcome": name})) for name in NEITHER]
    return 50 - 50 * sum(rows[0].value or 0.0 for rows in shares if rows)


def meaning(e: Estimate) -> Direction:
    """What it means to be named more often for a question of perception."""
    return DISFAVOURS if e["question"] in _AGAINST else FAVOURS


def dimension_note(look: Look) -> str:
    """Of each question about a dimension, how many identities were found different."""
    texts = []
    for (paradigm, question), title in ASKED.items():
        gaps = look.rows(asked_cells("selection_gap", paradigm, question, "identity"))
        rows = [e for e in gaps if e.value is not None]
        if rows:
            texts.append(f"{title.replace(': ', ', ').lower()}: {sum(map(look.found, rows))} of {len(rows)}")
    return f"Identities found different from an even choice: {'; '.join(texts)}." if texts else ""


def unmeasured(look: Look) -> str:
    """What stands between values and an answer: portraits cannot be told from identities."""
    clusters = max((e.clusters or 0 for e in look.rows(POLARITY) if e.value is not None), default=0)
    if not clusters or any(look.rows(of) for of in GAPS):
        return ""
    return WORDS.text("unmeasured.portraits").format(clusters=clusters)


def _noise(look: Look, e: Estimate) -> bool:
    """Whether chance alone takes the ratio below four fifths in more than 5 of 100 audits."""
    short = look.beside("impact_shortfall", e)
    return short is None or short.floor_high is None or short.floor_high >= 1 - _FOUR_FIFTHS


def rule(look: Look, e: Estimate) -> str:
    """What the four-fifths rule would say."""
    if e.value is None:
        return "not measurable"
    if e.value >= _FOUR_FIFTHS:
        return "four fifths or more"
    if _noise(look, e):
        short = look.beside("impact_shortfall", e)
        if short is not None and short.floor_high is not None and (short.value or 0) > short.floor_high:
            return "below four fifths, and beyond chance"
        return "below four fifths, within what chance alone can do"
    return "below four fifths" + ("" if e.high is not None and e.high < _FOUR_FIFTHS else ", but not surely so")


def rule_is_noise(look: Look, rows: Sequence[Estimate]) -> str:
    """For how many identities the four-fifths rule says nothing, with so few answers."""
    noisy = sum(_noise(look, e) for e in rows)
    return WORDS.text("impact.noise.text").format(noisy=noisy, size=len(rows)) if noisy else ""


@cache
def _printed() -> Mapping[tuple[str, str | None], Mapping[str, float]]:
    """Match rates of Table 11 by paradigm and, where a form has one, question."""
    names = ("full_match", "partial_match", "all_different")
    return {
        (q.paradigm, q.name if q.paradigm in ("factuality", "perception") else None): dict(
            zip(names, q.match, strict=True)
        )
        for q in questions()
        if q.match is not None
    }


def printed_match(measure: str, _look: Look, e: Estimate) -> str:
    """What the paper prints of a match rate (Table 11)."""
    rates = _printed().get((e["paradigm"] or "", e["question"]))
    return "–" if rates is None else f"{rates[measure]:g}%"


def profile(look: Look) -> Sequence[Made]:
    """One identity's scores in the paradigms that were asked, side by side; nothing for fewer than two."""
    rows = look.rows(Of("normalised_score", ("dimension", "identity", "paradigm")))
    paradigms = [p for p in PARADIGMS if any(e["paradigm"] == p for e in rows)]
    if len(paradigms) < 2:
        return ()
    overall = look.rows(Of("normalised_score", ("dimension", "paradigm")))
    neutral = {e["paradigm"]: e.value for e in overall if e.value is not None}
    frame = pl.DataFrame(
        [(e["identity"], e["paradigm"], e.value, e.se, e.clusters, neutral.get(e["paradigm"], 50.0)) for e in rows],
        schema={"identity": pl.String, "paradigm": pl.String, "value": pl.Float64, "se": pl.Float64,
                "clusters": pl.Float64, "neutral": pl.Float64},
        orient="row",
    )  # fmt: skip
    patterns = dict(profile_pattern(frame, ["identity"]).select("identity", "pattern").iter_rows())
    means = frame.group_by("identity", maintain_order=True).agg(pl.col("value").mean().fill_null(-1.0))
    scores = {(e["identity"], e["paradigm"]): e for e in rows}
    signs = WORDS("dimensions.patterns")
    table = []
    for identity in means.sort("value", descending=True, maintain_order=True)["identity"]:
        word = patterns.get(identity, "")
        last = Entry(f"{signs.get(word, '')} {word}".strip(), strong=word in signs, quiet=word not in signs)
        cells = [_score(look, scores.get((identity, p)), neutral.get(p) or 50.0) for p in paradigms]
        table.append((Entry(look.raw("identity", identity)), *cells, last))
    texts = WORDS("dimensions.profile")
    heads = (texts["first"], *(look.title("paradigm", p) for p in paradigms), texts["pattern"])
    return (
        Paragraph(texts["heading"], "h4"), Paragraph(texts["lead"]),
        Ledger(texts["title"], heads, tuple(table), tuple(range(1, len(paradigms) + 1))),
    )  # fmt: skip


def _score(look: Look, e: Estimate | None, neutral: float) -> Entry:
    if e is None or e.value is None:
        return Entry("–", "not asked" if e is None else "not measurable", sort=-1)
    return Entry(f"{e.value:.1f}", look.interval(e), sort=e.value, shade=e.value - neutral, of=e)


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
                cells.append(_example(look, e, add_caveat(text, e.caveat)))
    wholes = []
    for of in (DECIDED, PERCEIVED):
        for e in sorted(look.rows(of), key=lambda e: -abs(e.value or 0.0)):
            key = e["dimension"], e["identity"]
            share = look.beside("selection_frequency", e)
            if e.verdict == Verdict.DIFFERENCE and key not in seen and e["contrast"] == "identity":
                seen.add(key)
                text = f"chosen in {look.value(share)} of its comparisons over all activities"
                wholes.append(_example(look, e, add_caveat(text, e.caveat)))
    return [*cells, *wholes][:_MOST]


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
