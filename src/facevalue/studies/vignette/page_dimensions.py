"""Dimensions on VIGNETTE's page: who is chosen, identity by activity, polarities, and the paradigms side by side."""

from collections.abc import Mapping, Sequence
from functools import partial

import polars as pl

from facevalue.protocol.blocks import Block, Grid, Strips
from facevalue.protocol.contents import Entry, Made, Paragraph, Rows
from facevalue.protocol.look import Look, Of
from facevalue.protocol.lookup import Estimate

PARADIGMS = ("factuality", "perception", "stereotype", "decision")
_SIGNS = {"consistently low": "▼", "consistently high": "▲", "conflicting": "◆"}
TWO: Mapping[str, tuple[str | None, ...]] = {"contrast": (None, "identity")}
"""Pictures of two identities in one activity, or of all kinds."""
_CONTRASTS = {
    "identity": "two identities in one activity",
    "identity-activity": "two identities in two activities",
    "activity": "one identity in two activities: which activity",
}
ASKED = {
    ("decision", None): "Decisions: who is chosen",
    ("perception", "struggle"): "Perception: who faces difficulty",
    ("perception", "capability"): "Perception: who is better at it",
    ("perception", "enjoyment"): "Perception: who enjoys it",
    ("perception", "dislike"): "Perception: who hates it",
}
_LEADS = {
    "decision": (
        "Dot: points above or below an even choice; bar: 95% interval over pictures; shaded: where 95 of 100 would lie "
        "without any preference."
    ),
    "perception": (
        "Points above or below an even choice. To be named more often is no advantage where difficulty or hate is "
        "asked."
    ),
}
WHO = "{identity:raw}"
NAMED = "{identity:raw} ({dimension:lower}[, {question:lower}])"
WHERE = "{dimension}[, {paradigm}][, {question}]"


def of(measure: str, paradigm: str, question: str | None, *by: str, **more: object) -> Of:
    """Estimates of one paradigm and question, of two people in one activity."""
    fixed_levels = {"paradigm": paradigm, "question": question, **TWO}
    if "question" in by:
        del fixed_levels["question"]
    return Of(measure, ("dimension", *by, "trait?"), fixed_levels, **more)  # type: ignore[arg-type]


DECIDED = of("selection_gap", "decision", None, "identity", order="value")
PERCEIVED = of("selection_gap", "perception", None, "identity", "question", order="value")
GAPS = (DECIDED, PERCEIVED)
POLARITY = Of("polarity", ("dimension", "identity", "paradigm?", "contrast?"))
SPREAD = Of("spread", ("dimension", "paradigm", "question?", "trait?"), TWO)


def even(look: Look, paradigm: str | None, question: str | None, contrast: str | None, dimension: str | None) -> float:
    """How often each of two would be chosen if both were alike: half of what both and none leave, in percent."""
    fixed_levels = {"paradigm": paradigm, "question": question, "contrast": contrast}
    fixed = {} if dimension is None else {"dimension": dimension}
    rows = [look.rows(Of(name, ("dimension",), {**fixed_levels, **fixed})) for name in ("both_rate", "none_rate")]
    return 50 - sum(found[0].value or 0.0 for found in rows if found) / 2


def even_words(look: Look, e: Estimate) -> str:
    """What would be even, where that is not half."""
    level = even(look, e["paradigm"], e["question"], e["contrast"], e["dimension"])
    return "" if level == 50 else f" (even would be {level:.1f}%)"


def dimension_note(look: Look) -> str:
    """Of each question about a dimension, how many identities were found different."""
    texts = []
    for (paradigm, question), title in ASKED.items():
        rows = [e for e in look.rows(of("selection_gap", paradigm, question, "identity")) if e.value is not None]
        if rows:
            texts.append(f"{title.replace(': ', ', ').lower()}: {sum(map(look.found, rows))} of {len(rows)}")
    return f"Identities found different from an even choice: {'; '.join(texts)}." if texts else ""


def choices(paradigm: str, question: str | None) -> tuple[Block, ...]:
    """One question about a dimension: an interval plot, its numbers and its tables."""
    gap = of("selection_gap", paradigm, question, "identity", order="value", label=WHO)
    title = ASKED[paradigm, question]
    blocks: list[Block] = [
        Strips(of=(gap,), first="Identity", what="Points", title=title, lead=_LEADS[paradigm], heads=("Identity",)),
        *activities(paradigm, question, gap),
    ]
    if question is None:
        blocks.append(
            Grid(
                of=of("selection_frequency", paradigm, None, "identity", "question"),
                row="identity",
                corner="Identity",
                column="question",
                title="Chosen in %, identity by question",
                scale="share",
                test="selection_gap",
                order=gap,
                turned=False,
                least=2,
                even=lambda look: even(look, paradigm, None, "identity", None),
            )
        )
    blocks.append(
        Grid(
            of=of("paircomp", paradigm, question, "identity", "other_identity"),
            row="identity",
            column="other_identity",
            corner="chosen ↓ beside →",
            signed=True,
            square=True,
            order=gap,
            plain=True,
            title=(
                "PairComp: the identity of the row, beside the identity of the column, is chosen so many points more "
                "often than beside others"
            ),
        )
    )
    return tuple(blocks)


def activities(paradigm: str, question: str | None, order: Of | None) -> list[Block]:
    """Identity by activity, for each kind of picture."""
    out: list[Block] = []
    right = paradigm == "factuality"
    for contrast, words in _CONTRASTS.items():
        same = contrast == "identity"
        fixed_levels = {"paradigm": paradigm, "question": question, **(TWO if same else {"contrast": contrast})}
        out.append(
            Grid(
                of=Of("selection_frequency", ("dimension", "identity", "activity", "trait?"), fixed_levels),
                row="identity",
                column="activity",
                corner="Identity",
                scale="right" if right else "share",
                plain=True,
                large=not same,
                title=f"{'Right answers' if right else 'Chosen'} in % of {words}, identity by activity",
                whole=Of("selection_frequency", ("dimension", "identity", "trait?"), fixed_levels),
                test="" if right else "log_odds",
                test_whole="" if right else "selection_gap",
                order=order if same else None,
                even=partial(even, paradigm=paradigm, question=question, contrast=contrast, dimension=None),
            )
        )
    return out


def polarity(by: str, what: str) -> Grid:
    """Polarity of each identity by trait or by pair of terms."""
    return Grid(
        of=Of("polarity",
            ("dimension", "identity", by, "paradigm?", "contrast?", *(("trait?",) if by != "trait" else ()))),
        row="identity", column=by, corner="Identity", whole=POLARITY, signed=True, turn_from=8,
        title=f"Polarity in points, identity by {what}",
    )  # fmt: skip


def profile(look: Look) -> Sequence[Made]:
    """One identity's scores in the paradigms that were asked, side by side; nothing for fewer than two."""
    scores_of = look.rows(Of("normalised_score", ("dimension", "identity", "paradigm")))
    paradigms = [p for p in PARADIGMS if any(e["paradigm"] == p for e in scores_of)]
    if len(paradigms) < 2:
        return ()
    from facevalue.measures.profiles import pattern  # noqa: PLC0415 - scipy.stats takes a second to import

    overall = look.rows(Of("normalised_score", ("dimension", "paradigm")))
    neutral = {e["paradigm"]: e.value for e in overall if e.value is not None}
    scores: dict[str, dict[str | None, Estimate]] = {}
    for e in scores_of:
        scores.setdefault(e["identity"] or "", {})[e["paradigm"]] = e
    frame = pl.DataFrame(
        [(e["identity"], e["paradigm"], e.value, e.se, e.clusters, neutral.get(e["paradigm"], 50.0))
         for e in scores_of],
        schema=dict(zip(("identity", "paradigm", "value", "se", "clusters", "neutral"),
                        (pl.String, pl.String, pl.Float64, pl.Float64, pl.Float64, pl.Float64), strict=True)),
        orient="row",
    )  # fmt: skip
    patterns = dict(pattern(frame, ["identity"]).select("identity", "pattern").iter_rows())

    def mean(identity: str) -> float:
        values = [e.value for e in scores[identity].values() if e.value is not None]
        return sum(values) / len(values) if values else -1.0

    rows = []
    for who in sorted(scores, key=mean, reverse=True):
        cells = [_score(look, scores[who].get(p), neutral.get(p) or 50.0) for p in paradigms]
        word = patterns.get(who, "")
        last = Entry(f"{_SIGNS.get(word, '')} {word}".strip(), strong=word in _SIGNS, quiet=word not in _SIGNS)
        rows.append((Entry(look.said(WHO, next(iter(scores[who].values())))), *cells, last))
    heads = ("Identity", *(look.title("paradigm", p) for p in paradigms), "Pattern")
    lead = (
        "Normalised score: higher is more favourable; 50 is neutral, in factuality the mean of the dimension. Being "
        "named for difficulty, hate or an unfavourable term counts against. Patterns: ▲ consistently high, ▼ "
        "consistently low, ◆ conflicting, each beyond its interval in the paradigms concerned."
    )
    numbers = tuple(range(1, len(paradigms) + 1))
    return (
        Paragraph("Profile: the paradigms side by side", "h4"), Paragraph(lead),
        Rows("Profile", heads, tuple(rows), numbers)
    )  # fmt: skip


def _score(look: Look, e: Estimate | None, neutral: float) -> Entry:
    if e is None:
        return Entry("–", "not asked", sort=-1)
    if e.value is None:
        return Entry("–", "not measurable", sort=-1)
    return Entry(f"{e.value:.1f}", look.interval(e), sort=e.value, shade=e.value - neutral, of=e)
