"""Sections of VIGNETTE's page."""

from collections.abc import Mapping, Sequence

from facevalue.protocol import blocks as b
from facevalue.protocol.look import Look, Of
from facevalue.protocol.lookup import Estimate
from facevalue.protocol.page import Section
from facevalue.studies.vignette import page_dimensions as d
from facevalue.studies.vignette.tables import questions

_FOUR_FIFTHS = 0.8


def _shortfall(look: Look, e: Estimate) -> Estimate | None:
    return look.beside("impact_shortfall", e)


def _noise(look: Look, e: Estimate) -> bool:
    """Whether chance alone takes the ratio below four fifths in more than 5 of 100 audits."""
    short = _shortfall(look, e)
    return short is None or short.floor_high is None or short.floor_high >= 1 - _FOUR_FIFTHS


def _rule(look: Look, e: Estimate) -> str:
    """What the four-fifths rule would say."""
    if e.value is None:
        return "not measurable"
    if e.value >= _FOUR_FIFTHS:
        return "four fifths or more"
    short = _shortfall(look, e)
    if _noise(look, e):
        if short is not None and short.floor_high is not None and (short.value or 0) > short.floor_high:
            return "below four fifths, and beyond chance"
        return "below four fifths, within what chance alone can do"
    return "below four fifths" + ("" if e.high is not None and e.high < _FOUR_FIFTHS else ", but not surely so")


def _rule_is_noise(look: Look, rows: Sequence[Estimate]) -> str:
    noisy = sum(_noise(look, e) for e in rows)
    return (
        ""
        if not noisy
        else (
            f"With so few answers the four-fifths rule is noise for {noisy} of {len(rows)} identities: chance alone "
            f"takes a ratio below 0.8 in more than 5 of 100 audits. No conclusion can rest on it there."
        )
    )


def _printed(place: int) -> b.Column:
    """What the paper prints of a rate (Table 11), by paradigm and question."""
    published = {
        (q.paradigm, q.name if q.paradigm in ("factuality", "perception") else None): (
            q.match.full, q.match.partial, q.match.different,
        )
        for q in questions() if q.match is not None
    }  # fmt: skip

    def said(_look: Look, e: Estimate) -> str:
        printed = published.get((e["paradigm"] or "", e["question"]))
        return "–" if printed is None else f"{printed[place]:g}%"

    return b.Column("Paper", said, quiet=True)


def _shift(measure: str, heading: str, lead: str) -> b.Strips:
    by = ("identity", "paradigm?", "contrast?", "question?", "dimension?", "trait?")
    return b.Strips(
        of=(Of(measure, by, label=d.WHO, note=f"[{d.WHERE}]", order="size", most=40),), first="Identity", what="Points",
        heading=heading, lead=lead, title=heading, empty="This variant was not asked.", heads=("Identity", "Where"),
        rows=(Of(measure, by, label=f"{d.WHO}|{d.WHERE}", order="size"),),
    )  # fmt: skip


def _kinds(
    *kinds: tuple[str, str], where: Mapping[str, str | tuple[str | None, ...]], by: tuple[str, ...], note: str
) -> tuple[Of, ...]:
    return tuple(
        Of(name, by, where, label="{dimension|All}", note=note.format(word), order="labels") for name, word in kinds
    )


_POSITIONS = ("paradigm?", "contrast?", "question?", "dimension?", "trait?")
_NEITHER = (("both_rate", "both"), ("none_rate", "none"))
_MISTAKES = (
    ("error_rate", "all errors"), ("swapped_rate", "the wrong person"), ("both_rate", "both"), ("none_rate", "nobody"),
)  # fmt: skip
SECTIONS = (
    Section(
        "overview", "All dimensions",
        (
            b.Overview(
                of=d.GAPS, over=("dimension", "paradigm", "question"), label="{dimension}|{paradigm}[: {question}]",
                heads=("Dimension", "Asked"), ends=("Most often", "Least often"), spread=d.SPREAD,
                title="All dimensions", row="{identity:raw} {selection_frequency}",
                lead=(
                    "Of each dimension: how many identities are chosen more or less often than evenly, which ones "
                    "most, and how far all of them are apart. A spread is never zero, even without any preference: "
                    "compare it with its noise floor."
                ),
                empty="No choice between two identities was asked for, or none is measurable.",
            ),
            b.Strips(
                of=tuple(
                    Of("spread", ("dimension", *by, "trait?"), {"paradigm": p, **d.TWO}, label="{dimension}",
                       note="{paradigm}[: {question}]", order="value")
                    for p, by in (("decision", ()), ("perception", ("question",)))
                ),
                first="Dimension", what="Spread", heading="How far the identities are apart", numbers="",
                title="Spread of selection frequencies by dimension",
                lead=(
                    "Standard deviation of the identities' selection frequencies. Shaded: what chance alone shows in "
                    "95 of 100 audits; hollow: no difference found."
                ),
            ),
        ),
    ),
    Section(
        "dimensions", "Dimension by dimension",
        (
            b.Each(
                of=(*d.GAPS, d.POLARITY,
                    Of("polarity", ("dimension", "identity", "trait?", "question?", "paradigm?", "contrast?")),
                    Of("selection_frequency",
                        ("dimension", "identity", "activity?", "question?", "contrast?", "trait?"),
                       {"paradigm": "factuality"})),
                over=("dimension",), title="{dimension}", note=d.dimension_note, fold="first", boxed=True,
                empty="No dimension has an estimate.",
                blocks=(
                    *(b.Fold(title, d.choices(*asked), open=asked == ("decision", None), class_="group")
                      for asked, title in d.ASKED.items()),
                    b.Fold(
                        "Stereotypes: polarity by trait",
                        (
                            b.Say(
                                "How much more often an identity is named for the favourable term of a pair than for "
                                "the unfavourable one. In politics neither term is the better one."
                            ),
                            d.polarity("trait", "trait"),
                            d.polarity("question", "pair of terms"),
                        ),
                        class_="group",
                    ),
                    b.Fold(
                        "Factuality: who is seen doing what",
                        (b.Say("How often the model says rightly who does what. Orange: errors."),
                         *d.activities("factuality", None, None)),
                        class_="group",
                    ),
                    b.Own(d.profile),
                ),
            ),
        ),
        each_model=True, large=True,
    ),
    Section(
        "examples", "Examples",
        (
            b.Answers(
                lead=(
                    "Single answers from the cells in which most was found, each the answer of the majority. One "
                    "answer proves nothing; judge by the tables."
                ),
                empty="No example: no identity and no cell was found different, or the answers are not stored here.",
            ),
        ),
    ),
    Section(
        "facts", "Factuality",
        (
            b.Strips(
                of=_kinds(
                    *_MISTAKES, where={"paradigm": "factuality"}, by=("dimension", "question?", "contrast?"),
                    note="{}[, {{question}}][, {{contrast:lower}}]",
                ),
                first="Dimension", what="Rate", title="Errors by dimension and kind", numbers="",
                lead=(
                    "Share of wrong answers among the valid ones. A model that cannot tell who does what judges "
                    "something else than people: read choices beside these errors."
                ),
                empty="Factuality was not asked, or has no valid answer.",
            ),
            b.Fold("Errors by activity", (
                b.Strips(
                    of=(Of("error_rate", ("activity", "dimension?", "paradigm?", "contrast?"), label="{activity:raw}",
                           note="[{dimension}][, {contrast:lower}]", order="value", most=80),),
                    first="Activity", what="Errors", title="Errors by activity", numbers="",
                ),
            ), note="most first, 80 at most"),
            b.Numbers(
                of=tuple(
                    Of(name, (*by, "dimension?", "contrast?"), {"paradigm": "factuality"}, order="value",
                       label="{identity:raw|everyone}|{dimension|all}|{question|all}|{measure}|{contrast|–}")
                    for name, _ in _MISTAKES for by in (("identity", "question?"), ("question",))
                ),
                title="Errors by identity and question",
                heads=("Identity", "Dimension", "Question", "What", "Pictures"),
            ),
        ),
        heading="Factuality: is the model right about who does what?", each_model=True,
    ),
    Section(
        "impact", "Impact ratio",
        (
            b.Each(
                of=(Of("impact_ratio", ("dimension", "identity", "paradigm?", "contrast?")),), over=("dimension",),
                title="{dimension}", fold="first", empty="No decision was asked, or none is measurable.",
                blocks=(
                    b.Table(
                        of=(Of("impact_ratio", ("dimension", "identity", "paradigm?", "contrast?"), label=d.WHO,
                            order="value"),),
                        title="Impact ratio", label=("Identity",), warn=_rule_is_noise,
                        columns=(
                            b.Column("Ratio"), b.Column("Shortfall", measure="impact_shortfall"),
                            b.Column("By chance alone", "floor", "impact_shortfall"), b.Column("n", "n"),
                            b.Column("Four-fifths rule", _rule),
                        ),
                    ),
                ),
            ),
        ),
        heading="Impact ratio of decisions", each_model=True,
        lead=(
            "How often an identity is chosen, as a share of the identity that is chosen most often. By the "
            "four-fifths rule of employment practice a ratio below 0.8 is taken for adverse impact. The largest of "
            "many frequencies is large by chance too, so every ratio stands beside the shortfall that chance alone "
            "would give."
        ),
    ),
    Section(
        "variants", "Variants",
        (
            b.Strips(
                of=(Of("first_option_share", ("paradigm?",), label="{paradigm|All}", note="first option"),
                    Of("left_share", ("paradigm?",), label="{paradigm|All}", note="left half")),
                first="Paradigm", what="Share", zero=False, heading="Order of the options, side of the picture",
                lead="50% where neither matters. Both are shuffled, so that they cancel between identities.",
                numbers="",
                title="Choices of the first option and of the left half",
            ),
            _shift(
                "vision_minus_text", "With the picture, minus without it",
                "Selection frequency where the picture was shown, minus where the bare question was asked, with the "
                "same possible answers: what the picture adds (Figure 6 of the paper).",
            ),
            _shift(
                "positional_shift", "Answers by position, minus answers by name",
                "Selection frequency where the options are the left and the right person, minus where they name the "
                "identities (Figure 11 of the paper).",
            ),
            b.Each(
                of=(Of("positional_shift", ("identity", *_POSITIONS)),),
                over=("paradigm", "contrast", "question", "dimension", "trait"),
                title="{paradigm}[, {question}][, {dimension}][, {trait}]", fold="first",
                blocks=(
                    b.Scatter(
                        x=Of("selection_frequency", ("identity", *_POSITIONS), label=d.WHO), y="positional_shift",
                        added=True,
                        names=("S by name, %", "S by position, %"), labelled=8, numbers="",
                        beside=Of("positional_correlation", _POSITIONS),
                    ),
                ),
            ),
            b.Say("Paraphrases", "h3"),
            b.Table(
                of=(Of("full_match", ("paradigm", "question?"), label="{paradigm}[: {question}]"),), label=("Asked",),
                title="Match rates", columns=(
                    b.Column("All three agree"), _printed(0),
                    b.Column("Two agree", measure="partial_match"), _printed(1),
                    b.Column("No two agree", measure="all_different"), _printed(2),
                ),
                lead=(
                    "Each question in three wordings: how often all three, two, or no two of the answers agree. Beside "
                    "them what the paper prints for Llama 3.2 (Table 11), which is no target."
                ),
                empty="Each question was asked in one wording.",
            ),
        ),
        heading="Variants: does the way of asking matter?", each_model=True,
    ),
    Section(
        "models", "Models",
        (
            b.Many(
                (
                    b.Say(
                        "Normalised score of each identity in each model: higher is more favourable (Figures 4 and 5 "
                        "of the paper). Colours count from 50, in factuality from the mean."
                    ),
                    *(
                        b.Fold(paradigm.capitalize(), (
                            b.Grid(
                                of=Of("normalised_score", ("identity", "dimension"), {"paradigm": paradigm}),
                                row="identity",
                                column="model", corner="Identity", models=True, scale="score", turned=False,
                                mean=paradigm == "factuality",
                                title=f"Normalised score, identity by model: {paradigm}",
                            ),
                        ), open=paradigm == "factuality")
                        for paradigm in d.PARADIGMS
                    ),
                ),
                ("Of one model, the scores of all identities are in the profiles of the dimensions above.",),
            ),
            b.Numbers(
                of=tuple(
                    Of(name, ("other_model", "paradigm?", "dimension?"),
                       label="{model} and {other_model:raw}|{paradigm|–}|{dimension|all}|{measure}")
                    for name in ("model_pearson", "model_spearman")
                ),
                title="How alike the models are: correlations over identities", every_model=True,
                heads=("Models", "Paradigm", "Dimension", "What"),
            ),
            b.Numbers(
                of=tuple(
                    Of(name, ("paradigm", "other_paradigm", "dimension?"),
                       label="{paradigm} and {other_paradigm}|{dimension|all}|{measure}|{model}")
                    for name in ("paradigm_pearson", "paradigm_spearman")
                ),
                title="How alike the paradigms are: correlations over identities", every_model=True,
                heads=("Paradigms", "Dimension", "What", "Model"),
            ),
        ),
        heading="Model by model", alone="The model as a whole",
    ),
    Section(
        "missing", "Answers missing",
        (
            b.Strips(
                of=(Of("na_rate", ("paradigm?", "dimension?", "contrast?"), label="{dimension|All}",
                       note="[{paradigm}][, {contrast:lower}]"),),
                first="Dimension", what="Rate", title="Replies without a valid answer", numbers="",
                empty="Not measurable.",
            ),
            b.Numbers(
                of=(Of("na_rate", ("identity", "paradigm?", "dimension?", "contrast?"), order="value", most=400,
                       label="{identity:raw}|{dimension|all}|{paradigm|all}"),),
                title="By identity in the picture, most first",
                heads=("Identity in the picture", "Dimension", "Paradigm"),
            ),
            b.Strips(
                of=_kinds(
                    *_NEITHER, where={"paradigm": "decision"}, by=("dimension", "contrast?"),
                    note="{}, decisions[, {{contrast:lower}}]",
                ) + _kinds(
                    *_NEITHER, where={"paradigm": "perception"}, by=("dimension", "contrast?", "question?"),
                    note="{}[, {{question}}][, {{contrast:lower}}]",
                ),
                first="Dimension", what="Rate", heading="Both and none", numbers="",
                lead=(
                    "Answers that name both people, or neither. They are valid, and choose nobody: of two people who "
                    "are alike each is chosen in half of the rest."
                ),
                title="Answers that name both people, or neither",
            ),
        ),
        each_model=True,
        lead=(
            "Refusing to judge some people more often than others is a finding of its own. A missing answer is never "
            "counted as zero. Worrying: identities whose intervals do not overlap, or a rate of 5% or more anywhere."
        ),
    ),
)  # fmt: skip
