"""Page of counterfactual sets: ranges and scores, words, numbers stated, mitigations; its words are `words.toml`."""

from collections.abc import Mapping, Sequence
from typing import Any

from facevalue.protocol import blocks as b
from facevalue.protocol import facets
from facevalue.protocol.cards import ONE_WORDING, StatedCard
from facevalue.protocol.contents import Entry, Ledger, Made, Paragraph, WidestSets
from facevalue.protocol.facets import DESCRIPTION, DISFAVOURS, FAVOURS, NEITHER, Direction, Facet, Kinds
from facevalue.protocol.look import Look, Of, Words
from facevalue.protocol.lookup import ALPHA, Estimate
from facevalue.protocol.page import Findings, worded
from facevalue.studies.counterfactuals.measures import PMI_STRICT

WORDS = Words(__package__)
ASKED = ("subset", "prompt")
SCORED = (*ASKED, "scorer", "score")
_LISTED = (*ASKED, "word_list")
_IN_OCCUPATION = (*SCORED, "occupation")
WORD = ("subset", "group", "word")
MOST = 24
"""Words of a group that are shown."""
_Cell = tuple[str | None, str | None]
_LABEL = "{scorer:raw}: {score:raw}"


def _groups(measure: str, by: tuple[str, ...], **more: Any) -> Of:
    """Estimates of each group."""
    return Of(measure, (*by, "group"), **{"label": "{group}", **more})


def _table(measure: str, words: str, by: tuple[str, ...] = ASKED) -> b.Table:
    """A row for each group."""
    return b.Table(of=(_groups(measure, by),), **{"label": ("Group",), **WORDS(words)})


def _strips(measure: str, by: tuple[str, ...], words: str, **more: Any) -> b.Strips:
    """An interval for each group."""
    return b.Strips(of=(_groups(measure, by, **more),), **WORDS(words))


def _by_score(*blocks: b.Block, title: str = "{subset}: {prompt}", **more: Any) -> b.Each:
    """The same for each prompt of each subset and each score."""
    return b.Each(over=SCORED, title=title, note=_LABEL, blocks=blocks, **more)


def _ranges(measure: str, words: str) -> b.Table:
    """Ranges of every score in every model."""
    return b.Table(of=(Of(measure, SCORED, label=f"{{subset}}|{{prompt}}|{_LABEL}"),), each_model=True, **WORDS(words))


def _describe_unnamed(measure: str, *by: str) -> b.Prose:
    """List the cells where groups differ, but it cannot be told which of them stand apart."""

    def text(look: Look) -> Sequence[str]:
        form = ", ".join(["{subset}", "{prompt}", *(f"{{{name}:raw}}" for name in by if name != "scorer")])
        return [
            WORDS.text("unnamed.text").format(cell=look.said(form, e), p=e.p)
            for e in look.rows(Of(measure, (*ASKED, *by)))
            if not e.value and e.p is not None and e.p < ALPHA
        ]

    return b.Prose(text)


def _larger_than_scorer(look: Look) -> Sequence[str]:
    """Scorers whose own shift between group words is as large as the largest difference that was found."""
    shifts: dict[tuple[str, str], float] = {}
    for e in look.rows(Of("scorer_shift", ("scorer", "score", "group"))):
        key = str(e["scorer"]), str(e["score"])
        shifts[key] = max(shifts.get(key, 0.0), abs(e.value or 0.0))
    out = []
    for (scorer, score), shift in shifts.items():
        gaps = look.rows(_groups("gap_from_alike", SCORED, where={"scorer": scorer, "score": score}))
        if 0 < max((abs(e.value or 0.0) for e in gaps), default=0.0) <= shift:
            out.append(WORDS.text("scorers.larger.text").format(scorer=scorer, score=score, shift=shift))
    return out


def _describe_unscored(look: Look) -> Sequence[str]:
    """Reasons why refused replies were not scored."""
    rows = look.rows(Of("max_score_released", SCORED))
    reasons = {e.method_words for e in rows if e.value is None and e.n == 0}
    return [f"{reason[0].upper()}{reason[1:]}." for reason in sorted(reasons)]


def _by_prompt(measure: str, section: str) -> b.Each:
    """Means of a number by group for each prompt of each subset, the first open."""
    table = _table(measure, f"{section}.table")
    return b.Each(over=ASKED, title="{subset}: {prompt}", fold="first", level=4, blocks=(table,))


def _word_tables(look: Look) -> Sequence[Made]:
    """Of each subset the words of each group, those with the largest scores first."""
    listed = [_by_cell(look.rows(Of(measure, WORD, order="value"))) for measure in ("pmi", "pmi_least")]
    marks = {
        "*": _by_cell([e for e in look.rows(Of(PMI_STRICT.key, WORD)) if look.found(e)]),
        "†": _by_cell([e for e in look.rows(Of("stereotype_flag", WORD)) if e.value]),
    }
    judged = {(e["subset"], e["group"]): e for e in look.rows(Of("stereotype_share", WORD[:2]))}
    rows: dict[str | None, list[tuple[Entry, ...]]] = {}
    for cell in dict.fromkeys([*listed[0], *listed[1]]):
        entries = [look.title("group", cell[1]), *(_words_of(lists.get(cell, []), cell, marks) for lists in listed)]
        if judged:
            share = judged.get(cell)
            entries.append("–" if share is None else f"{(share.value or 0.0) * (share.n or 0):.0f} of {share.n}")
        rows.setdefault(cell[0], []).append(tuple(map(Entry, entries)))
    heads = (*WORDS("words.table")["heads"], *([WORDS.text("words.judged.head")] if judged else []))
    out: list[Made] = [Paragraph(line) for line in _describe_marks(look)] if judged else []
    for subset, lines in rows.items():
        title = look.title("subset", subset)
        out += [Paragraph(title, "h3"), Ledger(title, heads, tuple(lines))]
    return out


def _by_cell(rows: Sequence[Estimate]) -> dict[_Cell, list[Estimate]]:
    """Estimates of words by subset and group."""
    words: dict[_Cell, list[Estimate]] = {}
    for e in rows:
        words.setdefault((e["subset"], e["group"]), []).append(e)
    return words


def _words_of(words: Sequence[Estimate], cell: _Cell, marks: Mapping[str, Mapping[_Cell, Sequence[Estimate]]]) -> str:
    """Words with their marks and how often they stand, as many as are shown."""
    marked = {mark: {e["word"] for e in rows.get(cell, ())} for mark, rows in marks.items()}
    texts = [f"{e['word']}{''.join(mark for mark in marks if e['word'] in marked[mark])} ({e.n})"
             for e in words[:MOST]]  # fmt: skip
    more = f" and {len(words) - MOST:,} more" if len(words) > MOST else ""
    return ", ".join(texts) + more if texts else "–"


def _describe_marks(look: Look) -> list[str]:
    """Explain the marks of words, where a judge looked through them, and people's agreement with the judge."""
    invented = sum(e.value or 0.0 for e in look.rows(Of("stereotype_invented", WORD[:2])))
    scores = [(name.replace("f1", "F1"), look.find(f"judge_{name}")) for name in ("precision", "recall", "f1")]
    agreed = [f"{name} {e.value:.2f} (n = {e.n})" for name, e in scores if e is not None and e.value is not None]
    people = [f"Against the majority of people: {', '.join(agreed)}."] if agreed else []
    return [WORDS.text("words.judged.text").format(invented=invented), *people]


_BY_PROMPT_CLOSED: dict[str, Any] = {"title": "{subset}, {prompt:lower}", "fold": "closed", "level": 4}
_QUANTILES = b.Strips(of=(Of("max_score_quantile", (*SCORED, "quantile"), label="{quantile:raw}%"),),
                    **WORDS("ranges.quantiles"))  # fmt: skip
_RANGES = (
    _ranges("max_score", "ranges.table"),
    b.Fold("The whole tail", (_by_score(_QUANTILES, **_BY_PROMPT_CLOSED),)),
    b.Fold("Refused replies scored as the paper does", (
        b.Prose(_describe_unscored),
        _ranges("max_score_released", "ranges.released"),
        _by_score(_table("mean_released", "ranges.released_groups", SCORED), **_BY_PROMPT_CLOSED),
    )),
)  # fmt: skip
_TAILS = b.Each(
    over=("subset", "scorer", "score"), title="{subset}", note=_LABEL, **WORDS("tails.each"),
    blocks=(
        b.Grid(of=Of("tail_share", (*SCORED, "group")), row="group", column="prompt", scale="share", turned=False,
             **WORDS("tails.grid")),
        b.Fold("Each with its interval", (_strips("tail_share", SCORED, "tails.intervals", note="{prompt}"),)),
    ),
)  # fmt: skip
_SCORES = _by_score(
    _strips("gap_from_alike", SCORED, "groups.gaps"),
    b.Fold("Means and 90th percentiles", (_table("mean", "groups.means", SCORED),)),
    fold="first", nonzero=True, **WORDS("groups.each"),
)  # fmt: skip
_OCCUPATIONS = _by_score(
    b.Table(of=(Of("occupation_spread", _IN_OCCUPATION, label="{occupation}", order="value"),),
          **WORDS("occupations.spreads")),
    b.Fold("Scores of groups in each occupation", (
        b.Table(of=(_groups("occupation_score", _IN_OCCUPATION, label="{occupation}|{group}"),),
              **WORDS("occupations.scores")),
    )),
    fold="first", **WORDS("occupations.each"),
)  # fmt: skip
_LISTS = b.Each(
    of=(_groups("mean.word_share", _LISTED),), over=("subset", "word_list"), title="{subset}: {word_list:raw}",
    fold="first", **WORDS("lists.each"),
    blocks=(
        b.Each(
            over=("prompt",), title="{prompt}", fold="first", level=4, nonzero=True,
            blocks=(
                _strips("gap_from_alike.word_share", _LISTED, "lists.gaps"),
                _table("mean.word_share", "lists.table", _LISTED),
                _strips("fewest_share", _LISTED, "lists.fewest"),
                b.Grid(of=_groups("mean.word_share", (*_LISTED, "occupation")), row="occupation", column="group",
                     scale="score", mean=True, **WORDS("lists.occupations")),
            ),
        ),
    ),
)  # fmt: skip
_MITIGATIONS = (
    b.Dumbbells(of=(Of("max_score", SCORED, label="{prompt}", note="{subset}, {score:raw}"),
                  Of("max_score_q90", SCORED, label="{prompt}", note="{subset}, {score:raw}: 90th percentile")),
              **WORDS("mitigations.ranges")),
    b.Dumbbells(of=(Of("na_rate", ASKED, label="{prompt}", note="{subset}"),), **WORDS("mitigations.missing")),
)  # fmt: skip
_MISSING = b.Strips(
    of=(Of("na_rate", ASKED, label="{prompt}", note="{subset}"),
        Of("na_rate", (*ASKED, "reason"), label="{prompt}", note="{subset}: {reason:raw}"),
        Of("noted_share", (*ASKED, "reason"), label="{prompt}", note="{subset}: counted, {reason:raw}")),
    rows=(_groups("na_rate", ASKED, label="{prompt}|{group}"),), **WORDS("missing.rates"),
)  # fmt: skip
_AUDIT = b.Table(
    of=(Of("scorer_shift", ("scorer", "score", "group"), label=f"{_LABEL}|{{group}}", order="size"),),
    **WORDS("scorers.audit"),
)  # fmt: skip
SECTIONS: dict[str, tuple[b.Block, ...]] = {
    "ranges": _RANGES,
    "tails": (_TAILS,),
    "groups": (_describe_unnamed("groups_apart", "score", "scorer"), _SCORES),
    "occupations": (_OCCUPATIONS,),
    "sets": (b.Fold(WORDS.text("sets.fold.title"), (b.Widest(),)),),
    "words": (b.Fold(WORDS.text("words.fold.title"), (b.Own(_word_tables, (Of("pmi", WORD),)),)),),
    "lists": (_describe_unnamed("groups_apart.word_share", "word_list"), _LISTS),
    "ratings": (_describe_unnamed("groups_apart.rating"), _by_prompt("mean.rating", "ratings")),
    "salaries": (_describe_unnamed("groups_apart.salary"), _by_prompt("mean.salary", "salaries")),
    "lengths": (_by_prompt("mean.length", "lengths"),),
    "mitigations": _MITIGATIONS,
    "shown": (b.Pictures(),),
    "missing": (_MISSING,),
    "scorers": (_AUDIT, b.Prose(_larger_than_scorer)),
}
_LEAD = {
    "scores": ("gap_from_alike", SCORED),
    "ratings": ("gap_from_alike.rating", ASKED),
    "lists": ("gap_from_alike.word_share", _LISTED),
}
_LISTS_FOR = {"warmth": FAVOURS, "competence": FAVOURS, "coldness": DISFAVOURS, "incompetence": DISFAVOURS}


def _meaning(e: Estimate) -> Direction:
    """Meaning of a higher score of texts: most scorers look for hostility, and others have other names."""
    return DISFAVOURS if e["score"] in WORDS("facets")["against"] else NEITHER


def _facet(name: str) -> Facet:
    """Facet of the groups that are described or rated otherwise than the other groups of their sets."""
    kinds = Kinds(about=facets.DECISION) if name == "ratings" else Kinds(directness=facets.IMPLICIT, about=DESCRIPTION)
    means = {
        "scores": _meaning,
        "ratings": FAVOURS,
        "lists": lambda e: _LISTS_FOR.get(e["word_list"], NEITHER),
    }
    return Facet(
        dimension="{subset:raw}", group="{group:raw}", kinds=kinds, means=means[name], **WORDS(f"facets.{name}")
    )


PAGE = worded(
    WORDS,
    SECTIONS,
    conditions=False,
    lead=tuple(
        Findings(of=(Of(measure, (*by, "group"), order="size"),), facet=_facet(name), **WORDS(f"lead.{name}"))
        for name, (measure, by) in _LEAD.items()
    ),
    caution=_larger_than_scorer,
    widest=WidestSets(score="score: ", **WORDS("widest")),
    stated=(*(StatedCard(**row) for row in WORDS.rows("stated")), ONE_WORDING),
)
