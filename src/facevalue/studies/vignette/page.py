"""Page of VIGNETTE: dimensions, facts, impact, variants, models; its words are `words.toml`."""

from collections.abc import Mapping
from dataclasses import replace
from functools import partial
from typing import Any

from facevalue.protocol import blocks as b
from facevalue.protocol.cards import NO_SCORER, ONE_WORDING, UnitsCard
from facevalue.protocol.facets import DECISION, FAVOURS, PERCEPTION, STEREOTYPE, TWO_PEOPLE, Facet, Kinds
from facevalue.protocol.look import Of
from facevalue.protocol.page import Described, Findings, worded
from facevalue.studies.vignette import page_numbers as numbers
from facevalue.studies.vignette.measures import OUTCOMES
from facevalue.studies.vignette.page_numbers import ERRORS, POLARITY, TWO, WORDS, asked_cells
from facevalue.studies.vignette.study import TITLES
from facevalue.studies.vignette.tables import PARADIGMS

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
        even=lambda look: numbers.even(look, paradigm, None, "identity", None), **WORDS("dimensions.questions"),
    )  # fmt: skip
    pairs = b.Grid(
        of=asked_cells("paircomp", paradigm, question, "identity", "other_identity"), row="identity",
        column="other_identity", signed=True, square=True, order=gap, plain=True, **WORDS("dimensions.pairs"),
    )  # fmt: skip
    return (
        b.Strips(of=(gap,), title=numbers.ASKED[paradigm, question], lead=WORDS.text(f"dimensions.leads.{paradigm}"),
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
            even=partial(numbers.even, paradigm=paradigm, question=question, contrast=contrast, dimension=None),
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
    """How far a variant of the question moves the choice of each identity."""
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
    """How alike models or paradigms are."""
    of = tuple(Of(f"{noun}_correlation.{score}", by, label=label) for score in ("Pearson", "Spearman"))
    return b.Numbers(of=of, every_model=True, **WORDS(f"models.{noun}"))


_IMPACT, _MISSED = Of("impact_ratio", _IDENTITIES, label=WHO, order="value"), ("paradigm?", "dimension?", "contrast?")
_ERRORS, _MISTAKES, _NEITHER = {"all": "all errors"}, WORDS("facts.kinds"), WORDS("missing.kinds")
SECTIONS: dict[str, tuple[b.Block, ...]] = {
    "overview": (
        b.Overview(of=numbers.GAPS, over=("dimension", "paradigm", "question"), spread=_SPREAD,
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
            of=(*numbers.GAPS, POLARITY,
                Of("polarity", ("dimension", "identity", "trait?", "question?", "paradigm?", "contrast?")),
                Of("selection_frequency", ("dimension", "identity", "activity?", "question?", "contrast?", "trait?"),
                   {"paradigm": "factuality"})),
            over=("dimension",), note=numbers.dimension_note, fold="first", boxed=True, **WORDS("dimensions.cells"),
            blocks=(
                *(b.Fold(title, _choices(*question), open=question == ("decision", None), class_="group")
                  for question, title in numbers.ASKED.items()),
                b.Fold(
                    "Stereotypes: polarity by trait", class_="group",
                    blocks=(b.Say(**WORDS("dimensions.stereotypes")), _polarities("trait", "trait"),
                            _polarities("question", "pair of terms")),
                ),
                b.Fold(
                    "Factuality: who is seen doing what", class_="group",
                    blocks=(b.Say(**WORDS("dimensions.facts")), *_activities("factuality", None, None)),
                ),
                b.Own(numbers.profile),
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
            b.Table(of=(_IMPACT,), warn=numbers.rule_is_noise, **WORDS("impact.ratios"), columns=(
                b.Column("Ratio"), b.Column("Shortfall", measure="impact_shortfall"),
                b.Column("By chance alone", "floor", "impact_shortfall"), b.Column("n", "n"),
                b.Column("Four-fifths rule", numbers.rule),
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
                               b.Column("Paper", partial(numbers.printed_match, measure), quiet=True))
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
    title="Farthest from even", value="from even",
)  # fmt: skip


def _facet(lead: str) -> Facet:
    """Who of two people is chosen, named or given favourable terms."""
    about = {"decided": DECISION, "perceived": PERCEPTION, "polarity": STEREOTYPE}[lead]
    return Facet(
        dimension="{dimension:raw}", group="{identity:raw}", trait="[{question:lower}]",
        kinds=Kinds(people=TWO_PEOPLE, about=about), means=numbers.meaning if lead == "perceived" else FAVOURS,
        **WORDS(f"facets.{lead}"),
    )  # fmt: skip


PAGE = worded(
    WORDS,
    SECTIONS,
    lead=(
        _CHOSEN(of=(numbers.DECIDED,), largest=50.0, facet=_facet("decided"), **WORDS("lead.decided")),
        _CHOSEN(of=(numbers.PERCEIVED,), largest=50.0, facet=_facet("perceived"), **WORDS("lead.perceived")),
        _CHOSEN(of=(POLARITY,), facet=_facet("polarity"), **WORDS("lead.polarity")),
        Described(of=ERRORS, **WORDS("lead.errors")),
    ),
    stated=(replace(ONE_WORDING, unless=(_MATCHES,)), NO_SCORER),
    titles=TITLES,
    units=UnitsCard(of=(*numbers.GAPS, POLARITY, Of("error_rate", _IDENTITIES)), **WORDS("units")),
    examples=numbers.wanted,
    missing=numbers.unmeasured,
)  # fmt: skip
