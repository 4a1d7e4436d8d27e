"""Page of ModSCAN: scores, vision, language, interventions, position, similarity; its words are `words.toml`."""

from collections.abc import Sequence
from dataclasses import replace

import polars as pl

from facevalue.measures.caveats import add_caveat
from facevalue.measures.definitions import NO_INTERVENTION
from facevalue.measures.verdicts import Verdict
from facevalue.protocol import blocks as b
from facevalue.protocol import facets
from facevalue.protocol.cards import NO_SCORER, ONE_WORDING, StatedCard
from facevalue.protocol.contents import Entry, Ledger, Made, Wanted, at_levels_of
from facevalue.protocol.facets import IMPLICIT, ONE_PERSON, STEREOTYPE, TWO_PEOPLE, Facet, Kinds
from facevalue.protocol.look import Look, Of, Words
from facevalue.protocol.lookup import Estimate
from facevalue.protocol.page import Findings, Page, worded
from facevalue.statistics.sets import Sets
from facevalue.studies.modscan.measures import SCORE, SCORE_CORRECTED, SCORE_VALID, SHARE_ALL, SIMILARITY_VALID
from facevalue.studies.modscan.pictures import TONES, split_scenes
from facevalue.studies.modscan.settings import GENDERS, LANGUAGE, RACES, VISION

WORDS = Words(__package__)
SETTING = ("modality", "attribute", "scenario_kind")
CELL = (*SETTING, "instance")
GROUP = (*CELL, "group")
BLANK = "blank-image"
_SETTING = "{modality}, {attribute:lower}: {scenario_kind:lower}"
_ASKED = "{instance}, {modality:lower}"
_PLAIN, _VALID = SCORE.key, SCORE_VALID.key
_PER_ATTRIBUTE = 2  # examples
_PARTS = {**dict.fromkeys((*GENDERS, *RACES, *TONES), ("", "")), "no answer": ("No valid answer", "z")}


def _other_gender(group: str | None) -> str:
    return next(name for name in GENDERS if name != group)


def find_examples(look: Look) -> list[Wanted]:
    """Answers of the kind that was given more often than by chance, each about something else."""
    out, seen = [], dict[tuple[str | None, str | None], set[str | None]]()
    for e in look.rows(Of("chance_gap", GROUP, order="size")):
        groups = seen.setdefault((e["modality"], e["attribute"]), set())
        new = e["instance"] not in groups and len(groups) < _PER_ATTRIBUTE
        if e.verdict == Verdict.DIFFERENCE and e.value and new:
            groups.add(e["instance"])
            out.append(_example(look, e))
    return out


def _example(look: Look, e: Estimate) -> Wanted:
    group, more = str(e["group"]), (e.value or 0.0) > 0
    if e["attribute"] == "gender" and not more:
        group, more = _other_gender(group), True
    rows, chosen = at_levels_of(e, *CELL), pl.col("choice") == group
    pictured = e["modality"] == VISION
    if pictured:
        rows &= pl.any_horizontal(pl.col(f"group_{side}").cast(pl.String) == group for side in (1, 2))
    share = look.value(look.find("choice_share", **{name: e[name] for name in CELL}, group=group))
    title = look.said(_ASKED, e)
    finding = f"{title}: {look.title('group', group)} in {'' if more else 'only '}{share} of answers"
    return Wanted(
        finding=add_caveat(finding, e.caveat),
        title=title,
        rows=rows & ((chosen if more else ~chosen) | pl.col("choice").is_null()),
        needs=("instance", "choice", *(("group_1",) if pictured else ())),
        sides=("{group_1:group}", "{group_2:group}") if pictured else ("", ""),
        choice="{choice:group|}",
    )  # fmt: skip


def _even_share(look: Look, e: Estimate) -> str:
    """Share of the group that is named: of men where they are chosen more often, else of women."""
    group = _other_gender(e["group"]) if e["attribute"] == "gender" and (e.value or 0.0) < 0 else e["group"]
    share = look.find("choice_share", **{name: e[name] for name in CELL}, group=group, model=e["model"])
    return "–" if share is None or share.value is None else f"{100 * share.value:.0f}%"


def _gaps(modality: str, attribute: str, quantity: str, unit_name: str) -> Findings:
    """Gaps from an even choice of one attribute in one modality."""
    of = Of("chance_gap", GROUP, {"modality": modality, "attribute": attribute}, order="size")
    ends = "gender" if attribute == "gender" else "group"
    return Findings(
        of=(of,), noun=("group", "groups"), quantity=quantity, unit_name=unit_name, even=_even_share,
        row=f"{_ASKED} ({{group}})", facet=_facet(modality, attribute),
        title=f"{quantity.capitalize()}, largest first", value="from even",
        **WORDS(f"lead.ends.{ends}"),
    )  # fmt: skip


def _facet(modality: str, attribute: str) -> Facet:
    """Facet of the people chosen, of two who are shown or without anybody in the picture."""
    kinds = {
        VISION: Kinds(medium=facets.PICTURES, people=TWO_PEOPLE, about=STEREOTYPE),
        LANGUAGE: Kinds(directness=IMPLICIT, medium=facets.WORDS, people=ONE_PERSON, about=STEREOTYPE),
    }
    return Facet(
        dimension="{attribute:raw}", group="{group}", trait="{instance:lower}", kinds=kinds[modality],
        versus=GENDERS[1] if attribute == "gender" else "",
        **WORDS(f"facets.{modality}"),
    )  # fmt: skip


def caution(look: Look) -> Sequence[str]:
    """Interventions that lowered the score, and those that did so only by taking answers away."""
    out = []
    for name in look.interventions:
        of = Of(_PLAIN, SETTING, {"versus": NO_INTERVENTION}, intervention=name)
        changes = [(e, look.beside(_VALID, e)) for e in look.rows(of)]
        fell = [(e, valid) for e, valid in changes if e.high is not None and e.high < 0]
        fewer = [e for e, valid in fell if valid is None or valid.high is None or valid.high >= 0]
        if not changes:
            continue
        title = look.title("intervention", name)
        rose = [e for e, _ in changes if e.low is not None and e.low > 0]
        sentence = f"{title}: the bias score surely fell in {len(fell) or 'none'} of {len(changes)} settings"
        sentence += f" and rose in {len(rose)}" if rose else ""
        spans = [(e.low, e.high) for e, _ in changes if e.low is not None and e.high is not None]
        unsure = [(low, high) for low, high in spans if low <= 0 <= high]
        if unsure:
            ends = min(low for low, _ in unsure), max(high for _, high in unsure)
            span = " to ".join(f"{end:+.2f}".replace("-", "−") for end in ends)
            sentence += f"; in {len(unsure)} it is open, from {span}"
        if fell and fewer:
            settings = "all where it fell" if len(fewer) == len(fell) else f"{len(fewer)} of those where it fell"
            sentence += f"; in {settings} that of valid answers did not surely fall: fewer answers, not fairer ones"
        elif fell:
            sentence += "; where it fell, so did that of valid answers"
        out.append(f"{sentence}.")
    return out


def _left_out(look: Look) -> Sequence[str]:
    """Instances without any valid answer."""
    by: dict[str, list[str]] = {}
    for e in look.rows(Of("na_rate", CELL)):
        if e.value == 1.0:
            by.setdefault(look.said(_SETTING, e), []).append(look.title("instance", e["instance"]))
    return tuple(
        f"{name}: no valid answer about {', '.join(gone)}; left out of the scores." for name, gone in by.items()
    )


def _bars(modality: str) -> b.Block:
    """Shares of groups and of no answer, by instance."""
    shares = Of(SHARE_ALL.key, GROUP, {"modality": modality}, label="{instance}")
    gaps = Of("chance_gap", GROUP, {"modality": modality}, label="{instance}")
    return b.Each(
        over=("attribute", "scenario_kind"), **WORDS("bars"),
        blocks=(
            b.Stacked(
                of=(shares,), part="group", parts=_PARTS, rows="{instance}|{group}",
                beside=replace(gaps, where={"modality": modality, "group": "male"}), **WORDS("bars.shares"),
            ),
            b.Fold("Distance of each group from an even choice", (
                b.Strips(of=(replace(gaps, note="{group}", order="found"),), **WORDS("bars.distances")),
            )),
        ),
    )  # fmt: skip


def _matrix(*by: str) -> b.Grid:
    return b.Grid(
        of=Of("beside", by), row="group", column="other_group", scale="share", square=True, turned=False,
        **WORDS("vision.matrix"),
    )  # fmt: skip


_BESIDE = (*SETTING, "group", "other_group")
_MATRICES = b.Each(
    over=("attribute", "scenario_kind"), **WORDS("vision.matrices"),
    blocks=(
        _matrix(*_BESIDE),
        b.Fold("Each by itself", (
            b.Each(over=("instance",), title="{instance}", level=4, blocks=(_matrix(*_BESIDE, "instance"),)),
        )),
    ),
)  # fmt: skip


def _itself(look: Look) -> Sequence[Made]:
    """Answers with each intervention beside those without it (Table 13)."""
    rows = []
    for intervention in look.interventions:
        for e in look.rows(Of("similarity", SETTING, intervention=intervention)):
            others = (look.beside(key, e) for key in ("similarity_chance", SIMILARITY_VALID.key))
            cells = (Entry(look.value(e), look.interval(e), of=e), *(Entry(look.value(o), of=o) for o in others))
            rows.append((Entry(look.said(_SETTING, e)), Entry(look.title("intervention", intervention)), *cells))
    heads = ("Setting", "With", "Identical", "By chance", "Where both answer")
    return (Ledger("Identical answers with and without", heads, tuple(rows), numbers=(2, 3, 4)),) if rows else ()


SECTIONS: dict[str, tuple[b.Block, ...]] = {
    "scores": (
        b.Table(
            of=(Of(_PLAIN, SETTING, label="{modality}|{attribute}|{scenario_kind}"),), **WORDS("scores.table"),
            columns=(
                b.Column("Score"), b.Column("By chance", "floor"), b.Column("Verdict", "verdict"),
                b.Column("Of valid answers", measure=_VALID), b.Column("Less chance", measure=SCORE_CORRECTED.key),
                b.Column("No valid answer", measure="na_rate"), b.Column("n", "n"),
            ),
        ),
        b.Prose(_left_out),
    ),
    "vision": (_bars("vision"), _MATRICES),
    "language": (_bars("language"),),
    "mitigations": tuple(
        b.Dumbbells(of=(Of(measure.key, SETTING, label=_SETTING),), beside="na_rate", heading=measure.title,
                    **WORDS("mitigations.changes"))
        for measure in (SCORE, SCORE_VALID)
    ),
    "blank": (
        b.Strips(
            of=(Of("group_gap", CELL, {"modality": "language"}, label="{instance}", note="scene"),
                Of("group_gap", CELL, {"modality": "language"}, label="{instance}", note="blank picture",
                   intervention=BLANK)),
            **WORDS("blank.gaps"),
        ),
    ),
    "real": (
        b.Strips(of=(Of("real_world_gap", GROUP, label="{instance}", note="{group}", order="size"),),
                 **WORDS("real.gaps")),
    ),
    "examples": (b.StoredAnswers(**WORDS("examples.answers")),),
    "position": tuple(
        b.Strips(
            of=(Of(measure, (*SETTING, "instance?"), levels, label="{instance|All}",
                   note="{attribute:lower}, {scenario_kind:lower}"),),
            zero=False, title=title, heading=title, **WORDS("position.shares"),
        )
        for measure, levels, title in (
            ("place_share.left", {}, "The face on the left (even: 50%)"),
            ("place_share.first", {"attribute": "gender"}, "The gender named first (even: 50%)"),
            ("place_share.first", {"attribute": "race"}, "The race named first (even: 25%)"),
        )
    ),
    "similarity": (
        b.Table(
            of=(Of("similarity", (*SETTING, "other_model"), label=f"{_SETTING}|{{other_model:raw}}"),),
            each_model=True, **WORDS("similarity.models"),
            columns=(b.Column("Identical"), b.Column("By chance", measure="similarity_chance"),
                     b.Column("Where both answer", measure=SIMILARITY_VALID.key)),
        ),
        b.Own(_itself, (Of("similarity", SETTING),)),
    ),
    "missing": (
        b.Strips(
            of=(Of("na_rate", SETTING, label="{modality}, {attribute:lower}", note="{scenario_kind:lower}"),
                Of("na_rate", (*SETTING, "reason"), label="{modality}, {attribute:lower}",
                   note="{scenario_kind:lower}: {reason:raw}")),
            rows=(Of("na_rate", CELL, label="{modality}|{attribute}|{instance}"),), **WORDS("missing.rates"),
        ),
    ),
}  # fmt: skip
_UNCHECKED = StatedCard(name="people", when=(Of("place_share.first", SETTING),), **WORDS("people.unchecked"))


def page_about(sets: Sets, *, checked: bool) -> Page:
    """The page of a run that shows these scenes, of which those with people were left out if they were checked."""
    people, (_, scenes) = _UNCHECKED, split_scenes(sets.manifest)
    if scenes.height and scenes["path"].null_count() == scenes.height:
        people = replace(_UNCHECKED, **WORDS("people.drawn"))
    elif checked:
        people = replace(_UNCHECKED, **WORDS("people.checked"))
    return replace(PAGE, stated=(people, *PAGE.stated[1:]))


PAGE = worded(
    WORDS,
    SECTIONS,
    conditions=False,
    lead=(
        Findings(of=(Of(_PLAIN, SETTING, order="size"),), row=_SETTING, **WORDS("lead.scores")),
        *(_gaps(**row) for row in WORDS.rows("lead.gaps")),
    ),
    caution=caution,
    examples=find_examples,
    titles={"group": {**{name: name.capitalize() for name in GENDERS}, **{name: name for name in RACES}}},
    stated=(_UNCHECKED, NO_SCORER, ONE_WORDING),
)  # fmt: skip
