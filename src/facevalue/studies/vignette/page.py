"""Page of VIGNETTE: dimensions, facts, impact, variants, models; its words are `words.toml`."""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from functools import cache, partial
from typing import Any

import polars as pl

from facevalue.measures.caveats import add_caveat
from facevalue.measures.verdicts import Verdict
from facevalue.protocol import blocks as b
from facevalue.protocol.cards import NO_SCORER, ONE_WORDING, UnitsCard
from facevalue.protocol.contents import Entry, Ledger, Made, Paragraph, Wanted, at_levels_of
from facevalue.protocol.facets import (
    DECISION,
    DISFAVOURS,
    FAVOURS,
    PERCEPTION,
    STEREOTYPE,
    TWO_PEOPLE,
    Direction,
    Facet,
    Kinds,
)
from facevalue.protocol.look import Look, Of, Words
from facevalue.protocol.lookup import Estimate
from facevalue.protocol.page import Described, Findings, worded
from facevalue.studies.vignette.comparisons import profile_pattern
from facevalue.studies.vignette.measures import NEITHER, OUTCOMES
from facevalue.studies.vignette.study import TITLES
from facevalue.studies.vignette.tables import PARADIGMS, questions

# What is computed of VIGNETTE's page: what is even, four fifths, printed matches, profiles, and examples.


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


def even_share(
    look: Look, paradigm: str | None, question: str | None, contrast: str | None, dimension: str | None
) -> float:
    """Percentage at which each of two would be chosen if both were alike: half of what both and none leave."""
    levels = {"paradigm": paradigm, "question": question, "contrast": contrast}
    levels |= {} if dimension is None else {"dimension": dimension}
    shares = [look.rows(Of("outcome_share", ("dimension",), levels | {"outcome": name})) for name in NEITHER]
    return 50 - 50 * sum(rows[0].value or 0.0 for rows in shares if rows)


def perception_meaning(e: Estimate) -> Direction:
    """Meaning of being named more often for a question of perception."""
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


def portraits_caveat(look: Look) -> str:
    """Caveat where portraits cannot be told from identities; empty where they can."""
    clusters = max((e.clusters or 0 for e in look.rows(POLARITY) if e.value is not None), default=0)
    if not clusters or any(look.rows(of) for of in GAPS):
        return ""
    return WORDS.text("unmeasured.portraits").format(clusters=clusters)


def _noise(look: Look, e: Estimate) -> bool:
    """Return whether chance alone takes the ratio below four fifths in more than 5 of 100 audits."""
    short = look.beside("impact_shortfall", e)
    return short is None or short.floor_high is None or short.floor_high >= 1 - _FOUR_FIFTHS


def four_fifths_sentence(look: Look, e: Estimate) -> str:
    """Verdict of the four-fifths rule."""
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
def _printed_matches() -> Mapping[tuple[str, str | None], Mapping[str, float]]:
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
    """Match rate that the paper prints (Table 11)."""
    rates = _printed_matches().get((e["paradigm"] or "", e["question"]))
    return "–" if rates is None else f"{rates[measure]:g}%"


def profile_chart(look: Look) -> Sequence[Made]:
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


def wanted_examples(look: Look) -> list[Wanted]:
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
            level = even_share(look, paradigm, e["question"], "identity", e["dimension"])
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


WHO = "{identity:raw}"
NAMED = "{identity:raw} ({dimension:lower}[, {question:lower}])"
WHERE = "{dimension}[, {paradigm}][, {question}]"
_IDENTITIES = ("dimension", "identity", "paradigm?", "contrast?")
_POSITIONS = ("paradigm?", "contrast?", "question?", "dimension?", "trait?")
_SPREAD = Of("spread", ("dimension", "paradigm", "question?", "trait?"), TWO)
_MATCHES = Of("full_match", ("paradigm?", "question?"))


def _choices(paradigm: str, question: str | None) -> tuple[b.Block, ...]:
    """One question about a dimension: an interval plot, its numbers and its tables."""
    gap = asked_cells("selection_gap", paradigm, question, "identity", order="value", label=WHO)
    by_question = b.Grid(
        of=asked_cells("selection_frequency", paradigm, None, "identity", "question"), row="identity",
        column="question", scale="share", test="selection_gap", order=gap, turned=False, least=2,
        even=lambda look: even_share(look, paradigm, None, "identity", None), **WORDS("dimensions.questions"),
    )  # fmt: skip
    pairs = b.Grid(
        of=asked_cells("paircomp", paradigm, question, "identity", "other_identity"), row="identity",
        column="other_identity", signed=True, square=True, order=gap, plain=True, **WORDS("dimensions.pairs"),
    )  # fmt: skip
    return (
        b.Strips(of=(gap,), title=ASKED[paradigm, question], lead=WORDS.text(f"dimensions.leads.{paradigm}"),
                 **WORDS("dimensions.gaps")),
        *_activities(paradigm, question, gap), *((by_question,) if question is None else ()), pairs,
    )  # fmt: skip


def _activities(paradigm: str, question: str | None, order: Of | None) -> list[b.Block]:
    """Identity by activity, for each kind of picture."""
    out: list[b.Block] = []
    right = paradigm == "factuality"
    for contrast, pictures in WORDS("dimensions.contrasts").items():
        same = contrast == "identity"
        levels = {"paradigm": paradigm, "question": question, **(TWO if same else {"contrast": contrast})}
        out.append(b.Grid(
            of=Of("selection_frequency", ("dimension", "identity", "activity", "trait?"), levels),
            whole=Of("selection_frequency", ("dimension", "identity", "trait?"), levels),
            row="identity", column="activity", corner="Identity", plain=True, large=not same,
            title=f"{'Right answers' if right else 'Chosen'} in % of {pictures}, identity by activity",
            scale="right" if right else "share", test="" if right else "log_odds",
            test_whole="" if right else "selection_gap", order=order if same else None,
            even=partial(even_share, paradigm=paradigm, question=question, contrast=contrast, dimension=None),
        ))  # fmt: skip
    return out


def _polarities(column: str, terms: str) -> b.Grid:
    """Polarity of each identity by trait or by pair of terms."""
    by = ("dimension", "identity", column, "paradigm?", "contrast?", *(("trait?",) if column != "trait" else ()))
    return b.Grid(
        of=Of("polarity", by), row="identity", column=column, corner="Identity", whole=POLARITY, signed=True,
        turn_from=8, title=f"Polarity in points, identity by {terms}",
    )  # fmt: skip


def _shift(measure: str) -> b.Strips:
    """Effect of a variant of the question on the choice of each identity."""
    by = ("identity", *_POSITIONS)
    texts = WORDS(f"variants.{measure}")
    return b.Strips(
        of=(Of(measure, by, label=WHO, note=f"[{WHERE}]", order="size", most=40),), title=texts["heading"],
        rows=f"{WHO}|{WHERE}", **texts, **WORDS("variants.shifts"),
    )  # fmt: skip


def _rates(kinds: Mapping[str, str], paradigm: str, by: tuple[str, ...], note: str) -> tuple[Of, ...]:
    """Rates by dimension, each with its word."""
    return tuple(
        _of_kind(kind, ("dimension", *by), paradigm, label="{dimension|All}", order="labels",
                 note=f"{word}{note}[, {{contrast:lower}}]")
        for kind, word in kinds.items()
    )  # fmt: skip


def _of_kind(kind: str, by: tuple[str, ...], paradigm: str, **texts: Any) -> Of:
    """Rates of one kind of answers: one that is named by the label `outcome`, or errors of all kinds."""
    outcome = {"outcome": kind} if kind in OUTCOMES else {}
    return Of("outcome_share" if outcome else "error_rate", by, {"paradigm": paradigm, **outcome}, **texts)


def _correlations(noun: str, by: tuple[str, ...], label: str) -> b.Numbers:
    """Correlations between models or paradigms."""
    of = tuple(Of(f"{noun}_correlation.{score}", by, label=label) for score in ("Pearson", "Spearman"))
    return b.Numbers(of=of, every_model=True, **WORDS(f"models.{noun}"))


_IMPACT, _MISSED = Of("impact_ratio", _IDENTITIES, label=WHO, order="value"), ("paradigm?", "dimension?", "contrast?")
_ERRORS, _MISTAKES, _NEITHER = {"all": "all errors"}, WORDS("facts.kinds"), WORDS("missing.kinds")
SECTIONS: dict[str, tuple[b.Block, ...]] = {
    "overview": (
        b.Overview(of=GAPS, over=("dimension", "paradigm", "question"), spread=_SPREAD,
                   **WORDS("overview.dimensions")),
        b.Strips(
            of=tuple(
                Of("spread", ("dimension", *by, "trait?"), {"paradigm": p, **TWO}, label="{dimension}",
                   note="{paradigm}[: {question}]", order="value")
                for p, by in (("decision", ()), ("perception", ("question",)))
            ),
            **WORDS("overview.spreads"),
        ),
    ),
    "dimensions": (
        b.Each(
            of=(*GAPS, POLARITY,
                Of("polarity", ("dimension", "identity", "trait?", "question?", "paradigm?", "contrast?")),
                Of("selection_frequency", ("dimension", "identity", "activity?", "question?", "contrast?", "trait?"),
                   {"paradigm": "factuality"})),
            over=("dimension",), note=dimension_note, fold="first", boxed=True, **WORDS("dimensions.cells"),
            blocks=(
                *(b.Fold(title, _choices(*question), open=question == ("decision", None), class_="group")
                  for question, title in ASKED.items()),
                b.Fold(
                    "Stereotypes: polarity by trait", class_="group",
                    blocks=(b.Say(**WORDS("dimensions.stereotypes")), _polarities("trait", "trait"),
                            _polarities("question", "pair of terms")),
                ),
                b.Fold(
                    "Factuality: who is seen doing what", class_="group",
                    blocks=(b.Say(**WORDS("dimensions.facts")), *_activities("factuality", None, None)),
                ),
                b.Own(profile_chart),
            ),
        ),
    ),
    "examples": (b.StoredAnswers(**WORDS("examples.answers")),),
    "facts": (
        *(b.Strips(of=_rates(kinds, "factuality", ("question?", "contrast?"), "[, {question}]"), **WORDS(texts))
          for texts, kinds in (("facts.errors", _ERRORS), ("facts.outcomes", _MISTAKES))),
        b.Fold("Errors by activity", note="most first, 80 at most", blocks=(
            b.Strips(
                of=(Of("error_rate", ("activity", "dimension?", "paradigm?", "contrast?"), label="{activity:raw}",
                       note="[{dimension}][, {contrast:lower}]", order="value", most=80),),
                **WORDS("facts.activities"),
            ),
        )),
        b.Numbers(
            of=tuple(
                _of_kind(kind, (*by, "dimension?", "contrast?"), "factuality", order="value",
                         label=f"{{identity:raw|everyone}}|{{dimension|all}}|{{question|all}}|{word.capitalize()}|{{contrast|–}}")
                for kind, word in (_ERRORS | _MISTAKES).items() for by in (("identity", "question?"), ("question",))
            ),
            **WORDS("facts.numbers"),
        ),
    ),
    "impact": (
        b.Each(over=("dimension",), fold="first", **WORDS("impact.cells"), blocks=(
            b.Table(of=(_IMPACT,), warn=rule_is_noise, **WORDS("impact.ratios"), columns=(
                b.Column("Ratio"), b.Column("Shortfall", measure="impact_shortfall"),
                b.Column("By chance alone", "floor", "impact_shortfall"), b.Column("n", "n"),
                b.Column("Four-fifths rule", four_fifths_sentence),
            )),
        )),
    ),
    "variants": (
        b.Strips(
            of=(Of("place_share.first", ("paradigm?",), label="{paradigm|All}", note="first option"),
                Of("place_share.left", ("paradigm?",), label="{paradigm|All}", note="left half")),
            zero=False, **WORDS("variants.places"),
        ),
        _shift("vision_minus_text"),
        _shift("positional_shift"),
        b.Each(
            of=(Of("positional_shift", ("identity", *_POSITIONS)),),
            over=("paradigm", "contrast", "question", "dimension", "trait"), fold="first", **WORDS("variants.cells"),
            blocks=(
                b.Scatter(
                    x=Of("selection_frequency", ("identity", *_POSITIONS), label=WHO), y="positional_shift", added=True,
                    labelled=8, beside=Of("positional_correlation", _POSITIONS), **WORDS("variants.positions"),
                ),
            ),
        ),
        b.Say("Paraphrases", "h3"),
        b.Table(
            of=(Of("full_match", ("paradigm", "question?"), label="{paradigm}[: {question}]"),),
            columns=tuple(
                column for measure, title in WORDS("variants.matches").items()
                for column in (b.Column(title, measure=measure),
                               b.Column("Paper", partial(printed_match, measure), quiet=True))
            ),
            **WORDS("variants.paraphrases"),
        ),
    ),
    "models": (
        b.Many(
            (
                b.Say(**WORDS("models.scores")),
                *(
                    b.Fold(paradigm.capitalize(), open=paradigm == "factuality", blocks=(
                        b.Grid(
                            of=Of("normalised_score", ("identity", "dimension"), {"paradigm": paradigm}),
                            row="identity", column="model", corner="Identity", models=True, scale="score",
                            turned=False, mean=paradigm == "factuality",
                            title=f"Normalised score, identity by model: {paradigm}",
                        ),
                    ))
                    for paradigm in PARADIGMS
                ),
            ),
            ("Of one model, the scores of all identities are in the profiles of the dimensions above.",),
        ),
        _correlations("model", ("other_model", "paradigm?", "dimension?"),
                      "{model} and {other_model:raw}|{paradigm|–}|{dimension|all}|{measure}"),
        _correlations("paradigm", ("paradigm", "other_paradigm", "dimension?"),
                      "{paradigm} and {other_paradigm}|{dimension|all}|{measure}|{model}"),
    ),
    "missing": (
        b.Strips(
            of=(Of("na_rate", _MISSED, label="{dimension|All}", note="[{paradigm}][, {contrast:lower}]"),),
            **WORDS("missing.rates"),
        ),
        b.Numbers(
            of=(Of("na_rate", ("identity", *_MISSED), order="value", most=400,
                   label="{identity:raw}|{dimension|all}|{paradigm|all}"),),
            **WORDS("missing.identities"),
        ),
        b.Strips(
            of=_rates(_NEITHER, "decision", ("contrast?",), ", decisions")
            + _rates(_NEITHER, "perception", ("contrast?", "question?"), "[, {question}]"),
            **WORDS("missing.neither"),
        ),
    ),
}  # fmt: skip
_CHOSEN = partial(
    Findings, noun=("identity", "identities"), subject="{identity:raw} ({dimension:lower})", row=NAMED,
    value="from even",
)  # fmt: skip


def _facet(lead: str) -> Facet:
    """Facet of the person of two who is chosen, named or given favourable terms."""
    about = {"decided": DECISION, "perceived": PERCEPTION, "polarity": STEREOTYPE}[lead]
    return Facet(
        dimension="{dimension:raw}", group="{identity:raw}", trait="[{question:lower}]",
        kinds=Kinds(people=TWO_PEOPLE, about=about), means=perception_meaning if lead == "perceived" else FAVOURS,
        **WORDS(f"facets.{lead}"),
    )  # fmt: skip


PAGE = worded(
    WORDS,
    SECTIONS,
    lead=(
        _CHOSEN(of=(DECIDED,), largest=50.0, facet=_facet("decided"), **WORDS("lead.decided")),
        _CHOSEN(of=(PERCEIVED,), largest=50.0, facet=_facet("perceived"), **WORDS("lead.perceived")),
        _CHOSEN(of=(POLARITY,), facet=_facet("polarity"), **WORDS("lead.polarity")),
        Described(of=ERRORS, **WORDS("lead.errors")),
    ),
    stated=(replace(ONE_WORDING, unless=(_MATCHES,)), NO_SCORER),
    titles=TITLES,
    units=UnitsCard(of=(*GAPS, POLARITY, Of("error_rate", _IDENTITIES)), **WORDS("units")),
    examples=wanted_examples,
    missing=portraits_caveat,
)  # fmt: skip
