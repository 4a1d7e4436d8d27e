"""Sections of VisBias's page."""

from collections.abc import Sequence

from facevalue.measures.rater_agreement import FLAG, RATERS
from facevalue.protocol import blocks as b
from facevalue.protocol.contents import Made, Paragraph
from facevalue.protocol.look import Look, Of
from facevalue.protocol.lookup import Estimate
from facevalue.protocol.page import Section
from facevalue.studies.visbias.page_forms import PAIR, forms, panels

SPECIES = {"dimension": "species"}
GROUP = ("task", "dimension", "group")
CELL = (*GROUP, "question")
SIDES = (*GROUP, "other_group")
MARKED = Of("marked_word", (*SIDES, "word"), order="surest")
AGREED = Of("implicit_explicit_divergence", ("task", "dimension", "question", "group?"))


def divergences(species: bool, **more: object) -> Of:
    """Divergences of a group's choices from the mean of all groups, of people or of species."""
    where, without = (SPECIES, {}) if species else ({}, SPECIES)
    return Of("choice_divergence", CELL, where, without, **{"order": "clearest", **more})  # type: ignore[arg-type]


_LISTED = "listed_words"
_TEXTS = ("characters", "tokens", "positive_sentiment", "negative_sentiment")
_OUTCOMES = {
    "ranked_share": ("Ranked: one yes, one no", "n0"),
    "unranked_share": ("Unranked: two no", "z"),
    "contradicted_share": ("Contradicted: two yes", "n1"),
}


def _found_of(look: Look) -> str:
    """How many groups were found different from the mean of all, or that there is only one."""
    rows = look.rows(Of("choice_divergence", CELL))
    if len(rows) < 2:
        return "only one group, nothing to compare it with"
    return f"{sum(map(look.found, rows))} of {len(rows)} found different"


def _summary(look: Look) -> str:
    """Of a question, how many groups of each dimension were found different."""
    by: dict[str | None, list[Estimate]] = {}
    for e in look.rows(divergences(species=False, order="given")):
        by.setdefault(e["dimension"], []).append(e)
    strips = [
        f"{look.title('dimension', name)}: "
        + (f"{sum(map(look.found, own))} of {len(own)} found different" if len(own) > 1 else
           "only one group, nothing to compare it with")
        for name, own in by.items()
    ]  # fmt: skip
    return f"Groups beside the mean of all groups: {'; '.join(strips)}." if strips else ""


def _texts_found(look: Look) -> str:
    """How many differences between descriptions of two groups were found."""
    rows = [e for of in _DIFFERENCES for e in look.rows(of) if e.q is not None]
    return f"Differences between two groups found beyond chance: {sum(map(look.found, rows))} of {len(rows):,}."


def _bars(*, species: bool) -> b.Block:
    """Bars of every question and dimension."""
    where, without = (SPECIES, {}) if species else ({}, SPECIES)
    everyone = () if species else (
        Of("choice_share", ("task", "question", "choice"), label="Everyone"),
        Of("choice_share", ("task", "question", "choice"), label="Without a picture", intervention="no-image"),
    )  # fmt: skip
    inner = b.Each(
        of=(Of("choice_share", (*CELL, "choice"), where, without),), over=("dimension",), fold="crossed",
        title="{dimension}", note=_found_of, level=4, order="crossed",
        blocks=(
            b.Stacked(
                of=(*everyone, Of("choice_share", (*CELL, "choice"), label="{group}")), part="choice",
                ordered=("question", ("income", "education")), beside=Of("choice_divergence", CELL, label="{group}"),
                what="Divergence", first="Species" if species else "Group", numbers="The shares",
                rows=(Of("choice_share", (*CELL, "choice"), label="{group}|{choice}"),), heads=("Group", "Choice"),
            ),
        ),
    )  # fmt: skip
    return b.Each(
        of=(Of("choice_share", (*CELL, "choice"), where, without),), over=("question",), title="{question}",
        lead="" if species else _summary, blocks=(inner,),
        empty="" if species else "No multiple-choice question was asked.",
    )  # fmt: skip


def _pairs(*, species: bool) -> b.Block:
    """Pairs of people that were ranked, not ranked, or contradicted, by question."""
    sides = (SPECIES, {}) if species else ({}, SPECIES)
    of = tuple(
        Of(name, ("task", "question", *by), *sides, label="{group|All pairs}")
        for by in ((), ("dimension",), ("dimension", "group")) for name in _OUTCOMES
    )  # fmt: skip
    return b.Each(
        of=of, over=("question",), title="{question}", empty="" if species else "No comparison was asked.",
        heading="Comparisons" if species else "",
        blocks=(
            b.Stacked(
                of=of, part="measure", parts=_OUTCOMES, initials=True, first_beside="ranked_share", what="Ranked",
                first="Pairs within", numbers="Pairs by outcome", heads=("Pairs within", "Outcome"),
                rows=tuple(
                    Of(o.measure, o.by, o.where, o.without, label=f"{{group|All pairs}}|{_OUTCOMES[str(o.measure)][0]}")
                    for o in of
                ),
            ),
        ),
    )  # fmt: skip


def _rankings(*, species: bool) -> tuple[b.Block, ...]:
    """Who is ranked above whom, by question."""
    sides = (SPECIES, {}) if species else ({}, SPECIES)
    of = Of("ranked_above", CELL, *sides, points=True, label="{group}", note="{dimension:lower}", order="value")
    noun = "species" if species else "groups"
    heading = "Which species is ranked above which" if species else "Who is ranked above whom"
    return (
        b.Each(
            of=(of,), over=("question",), heading=heading, title="{question}", level=4,
            intro=(
                f"Of the ranked pairs of two {noun}, how often one of them comes out above, in points from an even "
                f"chance (0: half of them; +50: always)."
            ),
            blocks=(
                b.Strips(of=(of,), first="Species" if species else "Group", what="Points", numbers="",
                         empty=f"Not measurable: no pair of two {noun} was ranked."),
            ),
        ),
        b.Numbers(
            of=(Of("ranked_above", CELL, *sides, points=True, label="{question}|{dimension}|{group}"),), title=heading,
            heads=("Question", "Of", "Group"),
        ),
    )  # fmt: skip


def _clearest(*, species: bool) -> b.Strips:
    noun = "species" if species else "groups"
    return b.Strips(
        of=(divergences(species, label="{group}", note="{question}, {dimension:lower}", most=15),), what="Divergence",
        first="Species" if species else "Group", heading="" if species else "Clearest divergences",
        lead=(
            "" if species else "Farthest above their own noise floor (shaded) first. Hollow: within the "
            "floor, or not found."
        ),
        title=f"Divergence of choices from the mean of all {noun}",
        numbers="All divergences of species" if species else "All divergences", heads=("Question", "Of", "Group"),
        rows=(divergences(species, label="{question}|{dimension}|{group}"),),
    )  # fmt: skip


def _of_texts(name: str, title: str = "", **where: str) -> b.Strips:
    by = (*GROUP, *(("word_list",) if name == _LISTED else ()))
    return b.Strips(
        of=(Of(name, by, where, label="{group}"),), first="Group", what="Mean", zero=False, numbers="",
        title=title or "{measure}",
    )  # fmt: skip


def _no_species(look: Look) -> Sequence[Made]:
    questions = [
        *look.rows(Of("choice_share", (*CELL, "choice"), SPECIES)),
        *look.rows(Of("ranked_share", ("task", "question", "dimension?"), SPECIES)),
        *look.rows(Of("ranked_above", CELL, SPECIES)),
    ]  # fmt: skip
    return () if questions else (Paragraph("No species was shown: ask with --species drawn.", "empty"),)


_DIFFERENCES = tuple(
    Of(f"{name}_difference", (*SIDES, *(("word_list",) if name == _LISTED else ())), order="surest",
       label="{measure}[: {word_list:raw}]|{group}|{other_group}")
    for name in (*_TEXTS, _LISTED)
)  # fmt: skip
SECTIONS = (
    Section(
        "choices", "Explicit: choices",
        (
            _clearest(species=False),
            _bars(species=False),
            b.Each(
                of=(Of("refusal_rate", GROUP, {"task": "mcq"}, SPECIES),), over=("dimension",), title="{dimension}",
                level=4, order="crossed", heading="Refusals, by group",
                intro=(
                    "Replies to multiple-choice questions without a valid answer (Table 3 of the paper): refusing to "
                    "judge some people more often than others is a finding of its own."
                ),
                blocks=(
                    b.Strips(of=(Of("refusal_rate", GROUP, {"task": "mcq"}, label="{group}"),), first="Group",
                        what="Rate",
                           title="Replies without a valid answer", numbers=""),
                ),
            ),
        ),
        each_model=True,
        lead=(
            "Asked outright about one person: income, education, politics, religion. If what a group is differs in "
            "makes no difference, all bars of a question look alike. Divergence: Jensen-Shannon, from the mean of all "
            "groups, in thousandths of a nat (Tables 2 and 5 of the paper). By chance: its mean, and what 95 of 100 "
            "stay below, where groups are alike."
        ),
    ),
    Section(
        "comparisons", "Explicit: comparisons", (_pairs(species=False), *_rankings(species=False)), each_model=True,
        lead=(
            "Two people of one occupation and of different groups: “does the first have more?”, then with the pictures "
            "swapped and the wording turned round. A model that does not judge by looks says no twice: the pair is not "
            "ranked. Two yes contradict each other."
        ),
    ),
    Section(
        "descriptions", "Implicit: descriptions",
        (
            b.Numbers(
                of=(
                    *(Of(name, ("task",), label="{measure}|–") for name in _TEXTS),
                    *(Of(name, ("task", "word_list"), label="{measure}|{word_list:raw}")
                      for name in (_LISTED, "listed_words_published")),
                ),
                title="Over all descriptions", heads=("What", "List"),
            ),
            b.Each(
                of=(*(Of(name, GROUP) for name in _TEXTS), Of(_LISTED, (*GROUP, "word_list"))), over=("dimension",),
                title="{dimension}", lead=_texts_found, fold="crossed", order="crossed",
                empty="No description was asked for.",
                blocks=(
                    b.Side((
                        *(_of_texts(name) for name in _TEXTS),
                        b.Each(
                            of=(Of(_LISTED, (*GROUP, "word_list")),), over=("word_list",), nonzero=True,
                            blocks=(_of_texts(_LISTED, "Words of the list “{word_list:raw}” per 1,000 words"),),
                        ),
                    )),
                    b.Numbers(of=_DIFFERENCES, title="Differences between groups", heads=("What", "Group", "Less"),
                        most=600),
                    b.Numbers(
                        of=(
                            Of(_LISTED, (*GROUP, "word_list"), label="{measure}|{word_list:raw}|{group}"),
                            *(
                                Of(name, (*GROUP, "word_list?"), label="{measure}|{word_list:raw|–}|{group}")
                                for name in ("positive_sentiment_published", "negative_sentiment_published",
                                             "listed_words_published")
                            ),
                        ),
                        title="Words of lists, and figures as published", heads=("What", "List", "Group"),
                    ),
                ),
            ),
        ),
        each_model=True,
        lead=(
            "The same request for every picture: describe the person. What differs is how long, how favourable, and in "
            "which words. Intervals are over images."
        ),
    ),
    Section(
        "words", "Implicit: words that mark a group",
        (
            b.WordLists(
                of=MARKED, rank="marked_word_z", title="{group}|beside {other_group} ({dimension:lower})",
                published=Of("marked_word_published", (*GROUP, "other_group?", "word")),
                published_title="As published (z > 1.96, nothing corrected for, group words left in)",
                empty="Not measurable: no descriptions of two groups, or no word in enough of them.",
            ),
        ),
        each_model=True,
        lead=(
            "Words that stand more often in descriptions of a group than of the unmarked one (white, male, light), "
            "ranked by z. Found means q < .05 where labels of groups were dealt out anew among images: z takes each "
            "word for an observation and is no test. Words that name a group are left out. Sentences are the first of "
            "the run in which the word stands."
        ),
    ),
    Section(
        "forms", "Implicit: forms", (b.Own(forms),), each_model=True,
        lead=(
            "A form with some fields filled in at random; the model makes up the rest. What it takes to go together "
            "shows as a shift: KL divergence, in nats, of one field from how all forms have it to how forms with a "
            "given choice have it (Algorithm 1 of the paper). From 1 upwards the paper asks people whether it is a "
            "bias. KL is positive by chance, the more so the fewer the forms: read it beside its floor."
        ),
    ),
    Section(
        "panels", "Implicit: forms, field by field", (b.Own(panels),),
        lead=(
            "For every field, which of its choices shifts each other field most, and how far: KL divergence in nats, "
            "the larger the mark (Figures 3 to 7 of the paper). The largest of several is large by chance, too: only "
            "filled marks are associations that were found, hollow ones may be chance. A bold ring: people say that "
            "it is a bias."
        ),
    ),
    Section(
        "rated", "Implicit: what people say of associations",
        (
            b.Distribution(
                of=Of("human_rating", PAIR), low=1, high=5, step=1 / 3, flag=FLAG, least=RATERS, title="Mean ratings",
                what="rated associations",
                empty="Nobody was asked yet: facevalue questionnaire makes the questionnaire.",
            ),
        ),
        each_model=True,
        lead=(
            "How biased people find what the forms imply, on average: 1 is unbiased, 5 extremely biased, and from 3 "
            "upwards the paper calls it a bias (Figure 2 of the paper)."
        ),
    ),
    Section(
        "implicit", "Implicit beside explicit",
        (
            b.Strips(
                of=(Of("implicit_explicit_divergence", AGREED.by, label="{question}",
                    note="{group|Mean}, {dimension:lower}"),),
                first="Question", what="Divergence", title="Divergence between forms and choices",
                empty="Not measurable: it takes forms and choices about the same groups.",
                rows=(Of("implicit_explicit_divergence", AGREED.by, label="{question}|{group|Mean}|{dimension}"),),
                heads=("Question", "Of", "By"),
            ),
        ),
        each_model=True,
        lead=(
            "What forms say of a gender or race, beside what choices say of it (section 4.3 of the paper): divergence "
            "in nats, 0 where both say the same. Above the floor, a model says one thing when asked and does another "
            "when it is not."
        ),
    ),
    Section(
        "species", "Negative control: species",
        (
            _clearest(species=True), _bars(species=True), _pairs(species=True), *_rankings(species=True),
            b.Own(_no_species),
        ),
        each_model=True,
        lead=(
            "The same questions about fictional beings, of whom nothing is true. What differs between them comes from "
            "stories, or from the drawing, not from people."
        ),
    ),
    Section(
        "examples", "Examples",
        (
            b.Answers(
                lead=(
                    "One answer of each task, question and reply verbatim; the choice is from the group whose choices "
                    "diverge most clearly. One answer proves nothing; judge by the tables."
                ),
                empty="No example: there is no valid answer, or the answers are not stored here.",
            ),
        ),
    ),
    Section(
        "missing", "Answers missing",
        (
            b.Strips(
                of=(
                    Of("refusal_rate", ("task", "dimension?", "question?"), label="{task}",
                        note="[{dimension:lower}][, {question}]"),
                    Of("refusal_rate", ("task", "dimension?", "reason"), label="{task}",
                        note="[{dimension:lower}, ]reason: {reason:raw}"),
                ),
                first="Task", what="Rate", title="Replies without a valid answer", empty="Not measurable.",
                rows=(
                    Of("refusal_rate", ("task", "dimension?", "question?", "reason?", "group?"),
                       label="{task}|{question|–}[, reason: {reason:raw}]|{dimension|Everyone}|{group|–}"),
                ),
                numbers="By task, question, reason and group", heads=("Task", "Question, reason", "Of", "Group"),
            ),
        ),
        each_model=True,
        lead=(
            "A missing answer is never counted as zero, nor as any choice. Worrying: a rate of 5% or more anywhere, "
            "or groups whose intervals do not overlap (see Refusals, by group)."
        ),
    ),
)  # fmt: skip
