"""Sections of StylisticBias's page: cues, groups, scenarios, base faces, concentration, models."""

from facevalue.protocol import blocks as b
from facevalue.protocol.look import Look, Of
from facevalue.protocol.page import Section
from facevalue.stimuli.drawn import FULL_BODY
from facevalue.studies.stylisticbias.folders import known_attribute

CUE = ("attribute", "variation")
_GROUP = ("dimension", "group")
CUES = Of("sbs", CUE, label="{variation}", note="{attribute}", order="value")
_CELLS = Of("sbs", (*CUE, *_GROUP))
_GAPS = Of("sbs_gap", (*CUE, *_GROUP, "other_group"), label="{variation}", note="{attribute}", order="size", most=8)
_KINDS = ("scenario", "category")
_POLES, _KIND = "{scenario:poles}", "{scenario:kind}"


def _framing(look: Look) -> str:
    """What fashion styles, which are shown full-body, are compared with; nothing if there is none."""
    if not any(known_attribute(e["attribute"] or "") in FULL_BODY for e in look.rows(CUES)):
        return ""
    e = look.one("framing_shift")
    if e is None:
        return (
            "Fashion styles are compared with the base face, as in the paper, which shows them full-body and the base "
            "head-and-shoulders: where the pictures do so, too, their shifts hold what the wider view does."
        )
    return (
        "Fashion styles are shown full-body, and compared with the same person full-body in plain clothes. That view "
        f"alone shifts the judgment by {look.value(e)} {look.interval(e)}, which is in no shift of theirs; in the "
        "paper, which has no such picture, it is in all of them."
    )


def _reversals(look: Look) -> str | list[str]:
    """Cues that shift one group significantly up and another significantly down, deepest first.

    The depth's interval alone is no evidence: with ten groups the outermost shifts differ in sign by chance.
    """
    signs: dict[tuple[str | None, ...], set[bool]] = {}
    labels = (*CUE, "dimension")
    for e in look.rows(_CELLS):
        if look.found(e):
            signs.setdefault(tuple(map(e.labels.get, labels)), set()).add((e.value or 0.0) > 0)
    form = "{variation:lower} ({attribute:lower}), by {dimension:lower}: depth {value}"
    deep = look.rows(Of("reversal_depth", labels, order="value"))
    said = [
        look.said(form, e)
        for e in deep
        if e.value is not None and len(signs.get(tuple(map(e.labels.get, labels)), ())) == 2
    ]
    return said[:12] or "No cue shifts one group of faces significantly up and another significantly down."


def _counted_gaps(look: Look) -> str:
    known = [e for e in look.rows(Of("sbs_gap", _GAPS.by)) if e.value is not None]
    found = sum(map(look.found, known))
    return (
        "How much further a cue moves the judgment of one group of faces than of another (Tables 4 to 6 of the paper), "
        "compared face against face. Where a group's base scores lie near 0 or 1, there is less room to move. Of "
        f"{len(known)} gaps, {found or 'none'} {'was' if found < 2 else 'were'} found to differ from zero."
    )


def _worst_case(look: Look) -> str:
    """What missing answers could have changed in the overall shift; nothing if none is missing, or all are."""
    rate, e = look.one("na_rate"), look.one("sbs")
    if rate is None or not rate.value or rate.value >= 1:
        return ""
    start = "Worst case: had every missing answer gone one way on the base faces and the other way on the variations, "
    if e is None or e.bound_low is None or e.bound_high is None:
        return f"{start}an overall shift could be off by up to {100 * min(2 * rate.value, 1.0):.1f} points."
    return (
        f"{start}the overall shift of {look.value(e)} would be in the range of {look.said('{bounds}', e)}. The same "
        f"for each cue is in the table of the strongest cues."
    )


def _rates(measure: str, title: str) -> b.Strips:
    return b.Strips(
        of=(
            Of(measure, label="All replies"),
            Of(measure, _GROUP, label="{group}", note="{dimension}"),
            Of(measure, ("attribute",), label="{attribute}", note="Attribute changed"),
        ),
        first="Whose picture", what="Rate", title=title, numbers="", empty=f"{title}: not measurable.",
    )  # fmt: skip


SECTIONS = (
    Section(
        "cues",
        "Strongest cues",
        (
            b.Strips(
                of=(CUES,), first="Cue", what="Shift", title="Signed bias shift (SBS) by cue", key=True,
                lead="How far each change of one visual cue moved the judgment of the same face.",
                empty="No shift is measurable.", heads=("Cue", "Attribute"),
                rows=(Of("sbs", CUE, label="{variation}", note="{attribute}", order="size"),),
            ),
            b.Prose(_framing, small=True),
            b.Pictures(
                "Faces and cues",
                "What was shown: one face of each gender with an example of each attribute (Figure 13 of the paper).",
            ),
            b.Answers(
                "Examples",
                "Single faces, chosen to show what a shift looks like. One face proves nothing; judge by the chart "
                "above.",
            ),
        ),
        heading="The strongest cues",
    ),
    Section(
        "groups",
        "Cues by group",
        (
            b.Heat(
                of=_CELLS, row="{variation}", section="{attribute}", column="{group}", band="{dimension}",
                whole=Of("sbs", CUE), whole_title=("All faces", "All"), corner="Cue", tools=True, legend=True,
                title="Shift by cue and group",
                lead=(
                    "The same shifts for each group of faces (Table 12 of the paper). Read along a row: a cue that "
                    "helps one group and not another."
                ),
                note=(
                    "The column of all faces has its q-values within the family of cues, the others within the family "
                    "of all cells of the table."
                ),
                numbers="The numbers behind this table", heads=("Cue", "Dimension", "Group"),
                rows=(Of("sbs", _CELLS.by, label="{variation}|{dimension}|{group}"),),
                empty=(
                    "The pictures have no group to compare: the manifest names no identity factor with two levels, or "
                    "nothing is measurable."
                ),
            ),
            b.Each(
                of=(_CELLS,), over=(), title="Cues that change sides", blocks=(
                    "One group of faces shifts significantly up (q < .05 in the table above) and another significantly "
                    "down. The depth is the smaller of the two opposite shifts; with many groups it is too large on "
                    "average.",
                    b.Prose(_reversals),
                ),
            ),
            b.Each(
                of=(Of("sbs_gap", _GAPS.by),), over=(*_GROUP, "other_group"), order="found", fold="first",
                heading="Gaps between groups", intro=_counted_gaps,
                title="{dimension}: {group} less {other_group:lower}", note="the largest",
                blocks=(b.Strips(of=(_GAPS,), first="Cue", what="Gap", title="Gap in SBS", numbers=""),),
            ),
            b.Numbers(
                of=(Of("sbs_gap", _GAPS.by, label="{variation}|{dimension}|{group} less {other_group:lower}"),),
                title="All gaps", heads=("Cue", "Dimension", "Gap"),
            ),
            b.Heat(
                of=Of("sbs_over_groups", ("attribute", "dimension")), row="{attribute}", column="{dimension}",
                corner="Attribute", title="SBS averaged over the groups of a dimension", numbers="",
                fold="Attributes, every group weighing the same (Table 3 of the paper)",
            ),
            b.Many((
                b.PerModel("The table of {model} alone", (
                    b.Heat(
                        of=_CELLS, row="{variation}", section="{attribute}", column="{group}", band="{dimension}",
                        whole=Of("sbs", CUE), whole_title=("All faces", "All"), corner="Cue",
                        title="Shift by cue and group", numbers="",
                    ),
                )),
            )),
        ),
    ),
    Section(
        "scenarios",
        "Scenarios",
        (
            b.Strips(
                of=(Of("sbs", ("scenario",), label=_POLES, note=_KIND, order="value"),), first="Scenario", what="Shift",
                kinds=_KINDS, title="Signed bias shift (SBS) by scenario",
                lead="Which judgments are moved, over all cues. The first word of a pair is the favourable one.",
                numbers="The numbers behind the scenarios", heads=("Scenario",), empty="No shift is measurable.",
                rows=(Of("sbs", ("scenario",), label=_POLES),),
            ),
            b.Scatter(
                x=Of("sbs", ("scenario",), label=_POLES), y="mean_abs_sbs", label="{scenario}", kinds=_KINDS,
                names=("SBS (direction)", "mean |SBS| over cues (size)"), heading="Direction and size",
                lead=(
                    "Cues that pull up and cues that pull down cancel in the direction (SBS), but not in the size "
                    "(mean |SBS| over cues): a scenario in the middle and high up is sensitive both ways. Point at a "
                    "dot for intervals and for what chance alone would show."
                ),
                numbers="The sizes", rows=(Of("mean_abs_sbs", ("scenario",), label=_POLES),), heads=("Scenario",),
            ),
            b.Heat(
                of=Of("sbs", ("attribute", "category")), row="{attribute}", column="{category}", corner="Attribute",
                heading="Attributes by kind of scenario", legend=True, title="SBS by attribute and scenario category",
                numbers="",
            ),
        ),
    ),
    Section(
        "faces",
        "Base faces",
        (
            b.Strips(
                of=(Of("vs", ("dimension",)),), first="Dimension", what="VS", numbers="",
                title="Variation strength (VS) by dimension",
                lead=(
                    "Variation strength: the spread of the preference score between groups, averaged over scenarios "
                    "(Tables 2 and 11 of the paper). A spread is never zero, even without any difference; the shaded "
                    "band is what chance alone shows, and a hollow dot is not a difference found."
                ),
                empty="Not measurable: the pictures have no group to compare, or base faces have no valid answer.",
            ),
            b.Table(
                of=(Of("vs", ("dimension",)),), title="VS and its noise floor", label=("Dimension",), each_model=True,
                columns=(
                    b.Column("VS"), b.Column("Corrected", measure="vs_corrected"), b.Column("Noise floor", "floor"),
                    b.Column("Verdict", "verdict"), b.Column("Significant scenarios", "tally", "significant_share"),
                ),
                note=(
                    "Corrected: without the part that chance adds; it may be zero where the spread is no larger than "
                    "that. Noise floor: mean, and the value that 95 of 100 audits without any difference stay below. "
                    "The number of significant scenarios is a count of tests (q < .05); a tally of tests has no "
                    "interval."
                ),
            ),
            b.Numbers(
                of=(Of("vs_scenario", ("dimension", "scenario"), label=f"{{dimension}}|{_POLES}"),),
                title="Spread between groups, scenario by scenario", heads=("Dimension", "Scenario"),
            ),
            b.Numbers(
                of=(Of("phi", ("scenario", *_GROUP), label=f"{{dimension}}|{{group}}|{_POLES}", order="labels"),),
                title="Preference score of base faces by group", heads=("Dimension", "Group", "Scenario"),
            ),
        ),
        heading="Base faces: who is judged well before any cue",
    ),
    Section(
        "concentration",
        "Concentration",
        (
            b.Cumulative(
                of=Of("abs_sbs", CUE, label="{variation}"), pooled=Of("abs_sbs_models", CUE, label="{variation}"),
                count="variations_to_80", noun="cues", total="|SBS|",
                note="The names of the cues, strongest first, are in the table of the strongest cues.",
            ),
        ),
        heading="Concentration: do a few cues do most of it?",
    ),
    Section(
        "models",
        "Models",
        (
            b.Table(
                of=(Of("sbs"),), title="Table 7 of the paper", label=(), each_model=True,
                columns=(
                    b.Column("Mean shift (SBS)", "chance"),
                    b.Column("Cohen's d of face means", "chance", "cohens_d"),
                    b.Column("Shifts of exactly zero", "chance", "zero_share"),
                    b.Column("Shifts of 0.25 or more", "chance", "large_share"),
                ),
                note=(
                    "Zero and large shifts depend on how many replies stand behind a score; compare them with what "
                    "chance alone would show for the same number."
                ),
                empty="Not measurable.",
            ),
            b.Many((
                b.Heat(
                    of=Of("sbs", ("attribute",)), row="{attribute}", column="{model}", models=True, corner="Attribute",
                    heading="Attribute profiles", legend=True, title="SBS by attribute and model", numbers="",
                ),
                b.Heat(
                    of=Of("mean_abs_sbs", ("category",)), row="{category}", column="{model}", models=True,
                    corner="Category", heading="Kinds of scenario", numbers="",
                    title="Mean |SBS| by scenario category and model",
                    lead=(
                        "Size of the shifts whatever their direction: mean |SBS| of single cues in single scenarios "
                        "(Figure 5 of the paper). It is never zero; what chance alone shows is in each cell's tooltip."
                    ),
                ),
                b.Agreement(
                    of=Of("sbs", ("scenario",), label=_POLES), dot="{scenario}", kinds=_KINDS,
                    heading="Do the models agree on which scenarios move?",
                    lead=(
                        "Each dot is a scenario (Figure 8 of the paper). All of them rest on the same faces and base "
                        "pictures, so that dots can fall into a line by chance: correlation and slope stand beside "
                        "what such faces show without any effect, and beside values without the part of chance, which "
                        "have an interval over faces. Nothing is said where the shifts of either model are within "
                        "noise."
                    ),
                    summed=(
                        ("r", "model_correlation", "model_correlation_corrected"),
                        ("slope", "model_slope", "model_slope_corrected"),
                    ),
                    smaller=(
                        "By how much smaller the shifts are",
                        tuple(
                            Of(name, ("other_model", "category?"), label="{category|All scenarios}|{measure}")
                            for name in ("attenuation", "attenuation_corrected")
                        ),
                    ),
                    smaller_heads=("Scenarios", "Measure"),
                ),
                b.Strips(
                    of=(Of("model_variance", ("scenario",), label=_POLES, note=_KIND, order="value"),),
                    first="Scenario", what="Variance", heading="Where they disagree",
                    title="Variance between models by scenario", heads=("Scenario",),
                    lead=(
                        "Variance of SBS between models, in 10⁻⁴. Within the shaded band chance alone explains it "
                        "(hollow dots)."
                    ),
                    rows=(Of("model_variance", ("scenario",), label=_POLES),),
                ),
            )),
        ),
        heading="Model by model", alone="The model as a whole",
    ),
    Section(
        "missing",
        "Answers missing",
        (
            _rates("na_rate", "Replies without a valid answer"),
            _rates("refusal_rate", "Refusals"),
            b.Strips(
                of=(Of("na_spread", ("dimension",)),), first="Between the groups of", what="Spread", numbers="",
                title="Spread of missing answers between groups",
            ),
            b.Prose(_worst_case, small=True),
            b.Numbers(
                of=tuple(
                    of
                    for name in ("na_rate", "refusal_rate")
                    for of in (
                        Of(name, _GROUP, label="{measure}|{dimension}: {group}"),
                        Of(name, ("attribute",), label="{measure}|{attribute}"),
                    )
                ),
                title="The numbers behind these charts", heads=("Measure", "Whose picture"),
            ),
        ),
        heading="Answers missing, by group",
        each_model=True,
        lead=(
            "Refusing to judge some people more often than others is a finding of its own. A missing answer is never "
            "counted as zero. Worrying: a difference found in the spread between groups, two groups of one kind whose "
            "intervals do not overlap, or a rate of 5% or more in any group."
        ),
    ),
)  # fmt: skip
