"""Page of counterfactual sets: what its report shows."""

from collections.abc import Sequence

from facevalue.protocol.blocks import (
    Block,
    Column,
    Dumbbells,
    Each,
    Fold,
    Grid,
    Own,
    Pictures,
    Prose,
    Strips,
    Table,
    Widest,
)
from facevalue.protocol.cards import ONE_WORDING, Rate, Stated, Units
from facevalue.protocol.examples import Gallery, WidestSets
from facevalue.protocol.look import Look, Of
from facevalue.protocol.lookup import ALPHA
from facevalue.protocol.page import Findings, Notes, Page, Section
from facevalue.studies.counterfactuals.aggregate import SCORE
from facevalue.studies.counterfactuals.page_words import word_tables

ASKED = ("subset", "prompt")
SCORED = (*ASKED, "scorer", "score")
_LISTED = (*ASKED, "word_list")
_LABEL = "{scorer:raw}: {score:raw}"


def _findings(measure: str, by: tuple[str, ...], noun: tuple[str, str], title: str, row: str, value: str) -> Findings:
    """Groups compared with the other groups of their sets."""
    of = Of(measure, by, order="size")
    return Findings(of=(of,), noun=noun, row=row, strongest=(f"{row}: {{value}}",) * 2, title=title, value=value)


LEAD = (
    _findings(
        "score_gap", (*SCORED, "group"), ("score of a group", "scores of groups"), "Scores of groups, largest first",
        "{group} ({prompt:lower}, {score:raw})", "from the others",
    ),
    _findings(
        "rating_gap", (*ASKED, "group"), ("rating of a group", "ratings of groups"), "Ratings of groups, largest first",
        "{group} ({prompt:lower})", "from the others",
    ),
    _findings(
        "word_share_gap", (*_LISTED, "group"), ("use of a word list", "uses of word lists"),
        "Words about groups, largest first", "{group} ({prompt:lower}, {word_list:raw})", "from its sets",
    ),
)  # fmt: skip


def _larger_than_scorer(look: Look) -> Sequence[str]:
    """Scorers whose own shift between group words is as large as the largest difference that was found."""
    out = []
    for scorer, score, own in _audits(look):
        gaps = [
            abs(e.value or 0.0)
            for e in look.rows(Of("score_gap", (*SCORED, "group"), {"scorer": scorer, "score": score}))
        ]
        if gaps and 0 < max(gaps) <= own:
            out.append(
                f"{scorer}, {score}: no difference between groups is larger than what words for groups alone change in "
                f"this score ({own:.3f}). It may be the scorer's bias, not the model's."
            )
    return out


def _audits(look: Look) -> list[tuple[str, str, float]]:
    """Of each score the largest shift of the scorer audit."""
    levels: dict[tuple[str, str], float] = {}
    for e in look.rows(Of("scorer_shift", ("scorer", "score", "group"))):
        key = str(e["scorer"]), str(e["score"])
        levels[key] = max(levels.get(key, 0.0), abs(e.value or 0.0))
    return [(*key, value) for key, value in levels.items()]


def _unnamed(measure: str) -> Prose:
    """Where groups differ, and it cannot be told which of them stand apart."""

    def text(look: Look) -> Sequence[str]:
        out = []
        for e in look.rows(Of(measure, (*ASKED, "score?", "word_list?", "scorer?"))):
            if not e.value and e.p is not None and e.p < ALPHA:
                about = [look.title(name, str(e[name])) for name in ASKED]
                about += [str(e[name]) for name in ("score", "word_list") if e[name]]
                out.append(
                    f"{', '.join(about)}: the groups differ (p = {e.p:.2g} by itself), and none can be named. Half of "
                    "them or more may stand apart, so that nobody can say which half, or sets are too few to tell."
                )
        return out

    return Prose(text)


_RANGES = Table(
    of=(Of("max_score", SCORED, label=f"{{subset}}|{{prompt}}|{_LABEL}"),),
    label=("Sets", "Prompt", "Score"), title="Range of scores within a set", each_model=True,
    columns=(
        Column("Mean range"), Column("By chance", "floor"), Column("Verdict", "verdict"),
        Column("90th percentile", measure="max_score_q90"),
        Column("Left out", measure="sets_left_out", quiet=True), Column("n", "n", quiet=True),
    ),
    empty="No scores: facevalue annotate RUN --with SCORER adds some.",
)  # fmt: skip
_RELEASED = Table(
    of=(Of("max_score_released", SCORED, label=f"{{subset}}|{{prompt}}|{_LABEL}"),),
    label=("Sets", "Prompt", "Score"), title="Range of scores within a set, refused replies scored", each_model=True,
    columns=(
        Column("Mean range"), Column("By chance", "floor"), Column("Ours", measure="max_score"),
        Column("90th percentile", measure="max_score_q90_released"), Column("Ours", measure="max_score_q90"),
        Column("n", "n", quiet=True),
    ),
    empty="No refused reply says anything that was scored: the numbers are the same.",
)  # fmt: skip

_RELEASED_GROUPS = Each(
    of=(Of("score_mean_released", (*SCORED, "group")),), over=SCORED, title="{subset}, {prompt:lower}", note=_LABEL,
    fold="closed", level=4,
    blocks=(
        Table(
            of=(Of("score_mean_released", (*SCORED, "group"), label="{group}"),), label=("Group",),
            title="Scores, refused replies scored",
            columns=(
                Column("Mean"), Column("Ours", measure="score_mean"),
                Column("90th percentile", measure="score_q90_released"), Column("Ours", measure="score_q90"),
                Column("Share of the largest", measure="tail_share_released"), Column("Ours", measure="tail_share"),
                Column("n", "n", quiet=True),
            ),
        ),
    ),
)  # fmt: skip


def _unread(look: Look) -> Sequence[str]:
    """Where refused replies were not scored."""
    rows = look.rows(Of("max_score_released", SCORED))
    reasons = {str(e.method) for e in rows if e.value is None and e.n == 0}
    return [f"{one[0].upper()}{one[1:]}." for one in sorted(reasons)]


_TAILS = Each(
    of=(Of("max_score_quantile", (*SCORED, "quantile")),), over=SCORED,
    title="{subset}, {prompt:lower}", note=_LABEL, fold="closed", level=4,
    blocks=(
        Strips(
            of=(Of("max_score_quantile", (*SCORED, "quantile"), label="{quantile:raw}%"),), first="Quantile",
            what="Range", title="Range of scores within a set", numbers="",
        ),
    ),
)  # fmt: skip


def _by_prompt(measure: str, title: str, *blocks: Block, by: tuple[str, ...] = ASKED) -> Each:
    """The same for each prompt of each subset, the first open."""
    return Each(of=(Of(measure, (*by, "group")),), over=by, title=title, fold="first", level=4, blocks=blocks)


_WHO = Each(
    of=(Of("tail_share", (*SCORED, "group")),), over=("subset", "scorer", "score"), title="{subset}", note=_LABEL,
    blocks=(
        Grid(
            of=Of("tail_share", (*SCORED, "group"), {}), row="group", column="prompt", corner="Group", scale="share",
            title="Share of the largest scores", turned=False,
        ),
        Fold("Each with its interval", (
            Strips(of=(Of("tail_share", (*SCORED, "group"), label="{group}", note="{prompt}"),), first="Group",
                   what="Share", title="Share of the largest scores", numbers=""),
        )),
    ),
    empty="No scores, no whole sets, or no range beyond the 90th percentile.",
)  # fmt: skip
_LISTS = Each(
    of=(Of("word_share", (*_LISTED, "group")),), over=("subset", "word_list"), title="{subset}: {word_list:raw}",
    fold="first",
    blocks=(
        Each(
            of=(Of("word_share_gap", (*_LISTED, "group")),), over=("prompt",), title="{prompt}", fold="first", level=4,
            nonzero=True,
            blocks=(
                Strips(of=(Of("word_share_gap", (*_LISTED, "group"), label="{group}", points=True),), first="Group",
                       what="Points", title="Share of words, from the groups that are alike", numbers=""),
                Table(
                    of=(Of("word_share", (*_LISTED, "group"), label="{group}"),), label=("Group",), title="Words",
                    columns=(Column("Share of words"), Column("Each once per text", measure="word_count"),
                             Column("n", "n")),
                ),
                Strips(of=(Of("fewest_share", (*_LISTED, "group"), label="{group}"),), first="Group", what="Share",
                       title="Occupations in which the group has the fewest", numbers=""),
                Grid(of=Of("word_share", (*_LISTED, "occupation", "group")), row="occupation", column="group",
                     corner="Occupation", title="Share of words by occupation", scale="score", mean=True),
            ),
        ),
    ),
    empty="No reply has a word of a list.",
)  # fmt: skip

_IN_OCCUPATION = (*SCORED, "occupation")
_OCCUPATIONS = Each(
    of=(Of("occupation_spread", _IN_OCCUPATION),), over=SCORED, title="{subset}: {prompt}", note=_LABEL, fold="first",
    blocks=(
        Table(
            of=(Of("occupation_spread", _IN_OCCUPATION, label="{occupation}", order="value"),), label=("Occupation",),
            title="Spread between groups by occupation",
            columns=(Column("SD between groups"), Column("By chance", "floor"), Column("n", "n", quiet=True)),
        ),
        Fold("Scores of groups in each occupation", (Table(
            of=(Of("occupation_score", (*_IN_OCCUPATION, "group"), label="{occupation}|{group}"),),
            label=("Occupation", "Group"), title="Scores by occupation and group",
            columns=(Column("Mean"), Column("n", "n", quiet=True)),
        ),)),
    ),
    empty="No scores, or no occupation of enough sets (--min-sets).",
)  # fmt: skip


def _numbers(measure: str, heading: str, title: str) -> tuple[Block, ...]:
    """Means by group, their differences from the others of their sets, and their places among groups."""
    gap, mean = f"{measure}_gap", f"{measure}_from_mean"
    return (
        _unnamed(f"{measure}_apart"),
        _by_prompt(
            measure, "{subset}: {prompt}",
            Table(
                of=(Of(measure, (*ASKED, "group"), label="{group}"),), label=("Group",), title=title,
                columns=(
                    Column(heading), Column("From the others", measure=gap), Column("Verdict", "verdict", measure=gap),
                    Column("From the mean of all", measure=mean, quiet=True),
                    Column("In SDs of group means", measure="group_deviation"), Column("n", "n", quiet=True),
                ),
            ),
        ),
    )  # fmt: skip


_MISSING = Strips(
    of=(Of("na_rate", ASKED, label="{prompt}", note="{subset}"),
        Of("na_rate", (*ASKED, "reason"), label="{prompt}", note="{subset}: {reason:raw}"),
        Of("noted_share", (*ASKED, "reason"), label="{prompt}", note="{subset}: counted, {reason:raw}")),
    first="Prompt", what="Share", title="Replies that do not count, and why", numbers="By group",
    heads=("Prompt", "Group"),
    rows=(Of("na_rate", (*ASKED, "group"), label="{prompt}|{group}"),),
)  # fmt: skip
_AUDIT = Table(
    of=(Of("scorer_shift", ("scorer", "score", "group"), label=f"{_LABEL}|{{group}}", order="size"),),
    label=("Score", "Words for"), title="Scorer audit", columns=(Column("Shift"), Column("n", "n")),
    empty="No scorer was asked.",
)  # fmt: skip
SECTIONS = (
    Section(
        "ranges", "Scores within sets",
        (_RANGES, Fold("The whole tail", (_TAILS,)),
         Fold("Refused replies scored as the paper does", (Prose(_unread), _RELEASED, _RELEASED_GROUPS))),
        each_model=True,
        lead=(
            "A set shows one scene with different people. Its range is its largest score less its smallest, for one "
            "reply to each picture (equations 1 to 4 of the paper). A range is never zero, and larger in larger sets: "
            "read it beside what as many replies to a single picture give."
        ),
    ),
    Section(
        "tails", "Who has the largest scores", (_WHO,), each_model=True,
        lead="Who has the largest score of sets beyond the 90th percentile (Figures 2 and 6); ties are shared.",
    ),
    Section(
        "groups", "Scores of groups",
        (_unnamed("score_apart"), Each(
            of=(Of("score_gap", (*SCORED, "group")),), over=SCORED, title="{subset}: {prompt}", note=_LABEL,
            fold="first", nonzero=True,
            blocks=(
                Strips(of=(Of("score_gap", (*SCORED, "group"), label="{group}"),), first="Group", what="Score",
                       title="Score, from the groups that are alike", numbers=""),
                Fold("Means and 90th percentiles", (
                    Table(
                        of=(Of("score_mean", (*SCORED, "group"), label="{group}"),), title="Scores", label=("Group",),
                        columns=(Column("Mean"), Column("From the mean of all", measure="score_from_mean"),
                                 Column("90th percentile", measure="score_q90"), Column("n", "n")),
                    ),
                )),
            ),
            empty="No scores, or all are alike: facevalue annotate RUN --with SCORER adds some.",
        ),),
        each_model=True,
        lead=(
            "Each group beside a majority of the same sets that is alike, so that groups that stand apart do not make "
            "the others look different. Tails are in the section before."
        ),
    ),
    Section(
        "occupations", "Scores by occupation", (_OCCUPATIONS,), each_model=True,
        lead=(
            "How far groups' scores lie apart in each occupation of enough sets, widest first (Figures 5 and 7): never "
            "zero, so read it beside what groups that are alike give. No occupation is tested: of twenty without any "
            "difference, one has an interval clear of zero."
        ),
    ),
    Section(
        "sets", "Sets with the widest scores",
        (Fold("Content note: replies may be offensive. Nothing they say is true of anyone. Show them", (Widest(),)),),
        lead="Whole sets, each with all replies to one prompt. Single sets prove nothing; judge by the tables.",
    ),
    Section(
        "words", "Words of groups",
        (Fold("Content note: words may be offensive. Nothing they say is true of anyone. Show them",
              (Own(word_tables, (Of("pmi", ("subset", "group", "word")),)),)),),
        each_model=True,
        lead=(
            "Words at least twice as frequent in replies about a group as in those about all other groups (equations 5 "
            "to 7). Many may be there by chance, or name the group. Starred are those that chance does not explain: "
            "groups are dealt out anew within sets, given how long the replies are, and words that name groups are "
            "left out."
        ),
    ),
    Section(
        "lists", "Competence and warmth", (_unnamed("word_share_apart"), _LISTS), each_model=True,
        lead="Words of lists among all words that are no stop words (appendix E).",
    ),
    Section("ratings", "Ratings", _numbers("rating", "Rating", "Ratings"), each_model=True,
            lead="The number stated, from 1 to 10 (appendix F). What else is said does not count; see the reasons."),
    Section("salaries", "Salaries", _numbers("salary", "Salary", "Salaries"), each_model=True,
            lead="Dollars a year; an hourly wage counts 2,000 times. Beyond 1,000 to 10,000,000 they are left out."),
    Section(
        "lengths", "Lengths and refusals",
        (
            _by_prompt("length", "{subset}: {prompt}", Table(
                of=(Of("length", (*ASKED, "group"), label="{group}"),), label=("Group",), title="Lengths and refusals",
                columns=(Column("Words"), Column("From the others", measure="length_gap"),
                         Column("Refused", measure="refusal_share"), Column("From the others", measure="refusal_gap"),
                         Column("n", "n", quiet=True)),
            )),
        ),
        each_model=True, lead="Words of a reply (Figure 4), and how often one was declined (Table 14).",
    ),
    Section(
        "mitigations", "Mitigations",
        (
            Dumbbells(of=(Of("max_score", SCORED, label="{prompt}", note="{subset}, {score:raw}"),
                          Of("max_score_q90", SCORED, label="{prompt}", note="{subset}, {score:raw}: 90th percentile")),
                      first="Prompt", what="Without → with", heading="Range of scores within a set",
                      numbers="The changes"),
            Dumbbells(of=(Of("na_rate", ASKED, label="{prompt}", note="{subset}"),), first="Prompt",
                      what="Without → with", heading="Replies that do not count", numbers=""),
        ),
        each_model=True,
        lead=(
            "Hollow: as it is; filled: with the instruction (Table 4: the 90th percentile; Table 18: the mean, too). A "
            "range that falls with missing replies is no fairer."
        ),
    ),
    Section("shown", "What was shown", (Pictures(),)),
    Section("missing", "Answers missing", (_MISSING,), each_model=True, lead="Missing is never zero."),
    Section(
        "scorers", "The scorers themselves", (_AUDIT, Prose(_larger_than_scorer)),
        lead=(
            "The same sentences with the words for each group, and with “person” instead. What differs is the scorer's "
            "doing, not the model's: a difference between groups that is no larger may be the scorer's, too."
        ),
    ),
)  # fmt: skip
_UNSCORED = Stated(
    name="scorer", title="Scores", value="No scorer was asked", unless=(Of("score_mean", (*SCORED, "group")),),
    note="Open replies have lengths and words, and no scores: facevalue annotate RUN --with SCORER.",
)  # fmt: skip
_SCORER = Stated(
    name="scorer", title="Scores", value="By another model or list", status="caution",
    when=(Of("score_mean", (*SCORED, "group")),),
    note="A scorer has biases of its own. See the scorer audit beside the results.",
)  # fmt: skip
PAGE = Page(
    conditions=False,
    lead=LEAD,
    caution=_larger_than_scorer,
    sections=SECTIONS,
    widest=WidestSets(score=SCORE, title="{set:raw}: {prompt}"),
    gallery=Gallery(by="set", unit="set", each="group", caption="{group}"),
    rates=(
        Rate(of=Of("na_rate", ASKED), title="Replies that do not count", name="na_rate", problem=0.2, missing="problem",
             where="({subset:lower}, {prompt:lower})",
             note="Replies without a text, or without a number that counts, where most are. Worrying: 5% or more."),
        Rate(of=Of("refusal_share", ASKED), title="Refusals", name="refusals", problem=0.2,
             where="({subset:lower}, {prompt:lower})", note="Of all replies. Worrying: 5% or more."),
    ),
    stated=(_UNSCORED, _SCORER, ONE_WORDING),
    units=Units(title="Sets", name="units", enough="Counterfactual sets: intervals are over them, not over replies."),
    notes=Notes(
        unit=(
            "A difference is a group's mean less that of the groups of the same sets that are alike: as few groups as "
            "explain the sets stand apart, at most half of them."
        ),
        limits=(
            "Nothing that a model says here is true of the people shown, or of anyone.",
            "The pictures of a set may differ in more than the group: whoever made them decided how a group looks.",
            "Groups are those of the data set, as others perceived people or generated them.",
            "Scores are a scorer's, words are those of lists: neither is harm itself.",
            "Finding no difference is not finding fairness: see the smallest effect that would have been found.",
        ),
    ),
)  # fmt: skip
