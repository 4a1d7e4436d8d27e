"""Page of StylisticBias: cues, groups, scenarios, base faces, concentration, models; its words are `words.toml`."""

from collections.abc import Mapping
from dataclasses import replace

import polars as pl

from facevalue.measures.caveats import add_caveat, counted_caveats
from facevalue.protocol import blocks as b
from facevalue.protocol.cards import NO_SCORER, ONE_WORDING
from facevalue.protocol.contents import Compared, Gallery
from facevalue.protocol.facets import FAVOURS, STEREOTYPE, Facet, Kinds
from facevalue.protocol.look import Look, Of, Words
from facevalue.protocol.page import Findings, worded
from facevalue.statistics.rivals import OTHERS
from facevalue.stimuli.drawings.portraits import CONTROL, FULL_BODY
from facevalue.studies.stylisticbias import measures as m
from facevalue.studies.stylisticbias import tables
from facevalue.studies.stylisticbias.folders import known_attribute
from facevalue.studies.stylisticbias.pictures import FacePictures

WORDS = Words(__package__)
CUE = ("attribute", "variation")
CUES = Of("shift", CUE, label="{variation}", note="{attribute}", order="value")
_GROUP = ("dimension", "group")
_CELLS = Of("shift", (*CUE, *_GROUP))
_GAP = (*CUE, *_GROUP, "other_group")
_KINDS = ("scenario", "category")
_POLES, _KIND = "{scenario:poles}", "{scenario:kind}"
_SCENARIOS = Of("shift", ("scenario",), label=_POLES)
_BASE = {CONTROL[0]: "Full body, plain clothes"}


def _framing(look: Look) -> str:
    """Sentence on the baseline of fashion styles, which are shown full-body; empty if there is none."""
    if not any(known_attribute(e["attribute"] or "") in FULL_BODY for e in look.rows(CUES)):
        return ""
    e = look.find("framing_shift")
    if e is None:
        return WORDS.text("cues.framing.unmeasured")
    return WORDS.text("cues.framing.measured").format(shift=f"{look.value(e)} {look.interval(e)}")


def _reversals(look: Look) -> str | list[str]:
    """Cues that shift one group significantly up and another significantly down, deepest first.

    The depth's interval alone is no evidence: with ten groups the outermost shifts differ in sign by chance.
    """
    signs: dict[tuple[str | None, ...], set[bool]] = {}
    caveats: dict[tuple[str | None, ...], str] = {}
    labels = (*CUE, "dimension")
    for e in look.rows(_CELLS):
        if look.found(e):
            cue = tuple(map(e.labels.get, labels))
            signs.setdefault(cue, set()).add((e.value or 0.0) > 0)
            caveats[cue] = caveats.get(cue) or e.caveat
    deepest = [
        add_caveat(look.said(WORDS.text("groups.reversal.row"), e), caveats[tuple(map(e.labels.get, labels))])
        for e in look.rows(Of("reversal_depth", labels, order="value"))
        if e.value is not None and len(signs.get(tuple(map(e.labels.get, labels)), ())) == 2
    ]
    return deepest[:12] or WORDS.text("groups.reversal.none")


def _counted_gaps(look: Look) -> str:
    gaps = [e for e in look.rows(Of("shift_gap", _GAP)) if e.value is not None]
    caveats = [e.caveat for e in gaps if look.found(e)]
    count = len(caveats)
    amount = f"{len(gaps)} gaps, {count or 'none'} {'was' if count < 2 else 'were'}"
    return WORDS.text("groups.counted.text").format(amount=amount, caveats=counted_caveats(caveats))


def _worst_case(look: Look) -> str:
    """Sentence on changes of the overall shift by missing answers; empty if none is missing, or all are."""
    rate, e = look.find("na_rate"), look.find("shift")
    if rate is None or not rate.value or rate.value >= 1:
        return ""
    texts = WORDS("missing.worst")
    if e is None or e.bound_low is None or e.bound_high is None:
        return f"{texts['start']} {texts['unbounded'].format(points=100 * min(2 * rate.value, 1.0))}"
    return f"{texts['start']} {texts['bounded'].format(shift=look.value(e), bounds=look.said('{bounds}', e))}"


def _rates(measure: str, title: str) -> b.Strips:
    return b.Strips(
        of=(
            Of(measure, label="All replies"),
            Of(measure, _GROUP, label="{group}", note="{dimension}"),
            Of(measure, ("attribute",), label="{attribute}", note="Attribute changed"),
        ),
        title=title, empty=f"{title}: not measurable.", **WORDS("missing.rates"),
    )  # fmt: skip


_BY_GROUP = b.Heat(
    of=_CELLS, row="{variation}", section="{attribute}", column="{group}", band="{dimension}", whole=Of("shift", CUE),
    **WORDS("groups.table"),
)  # fmt: skip
SECTIONS: dict[str, tuple[b.Block, ...]] = {
    "cues": (
        b.Strips(of=(CUES,), rows=(replace(CUES, order="size"),), key=True, **WORDS("cues.shifts")),
        b.Prose(_framing, small=True),
        b.Pictures(**WORDS("cues.pictures")),
        b.StoredAnswers(**WORDS("cues.answers")),
    ),
    "groups": (
        replace(
            _BY_GROUP, tools=True, legend=True, rows="{variation}|{dimension}|{group}", **WORDS("groups.shifts"),
        ),
        b.Each(of=(_CELLS,), over=(), blocks=(b.Prose(_reversals),), **WORDS("groups.reversals")),
        b.Each(
            of=(Of("shift_gap", _GAP),), over=(*_GROUP, "other_group"), order="found", fold="first",
            intro=_counted_gaps, blocks=(
                b.Strips(
                    of=(Of("shift_gap", _GAP, label="{variation}", note="{attribute}", order="size", most=8),),
                    **WORDS("groups.gap"),
                ),
            ),
            **WORDS("groups.gaps"),
        ),
        b.Numbers(
            of=(Of("shift_gap", _GAP, label="{variation}|{dimension}|{group} less {other_group:lower}"),),
            **WORDS("groups.all_gaps"),
        ),
        b.Heat(
            of=Of("shift_over_groups", ("attribute", "dimension")), row="{attribute}", column="{dimension}",
            **WORDS("groups.even_weights"),
        ),
        b.Many((b.PerModel("The table of {model} alone", (_BY_GROUP,)),)),
    ),
    "scenarios": (
        b.Strips(
            of=(replace(_SCENARIOS, note=_KIND, order="value"),), kinds=_KINDS, rows=(_SCENARIOS,),
            **WORDS("scenarios.shifts"),
        ),
        b.Scatter(
            x=_SCENARIOS, y="mean_abs_shift", label="{scenario}", kinds=_KINDS,
            rows=(replace(_SCENARIOS, measure="mean_abs_shift"),), **WORDS("scenarios.sizes"),
        ),
        b.Heat(
            of=Of("shift", ("attribute", "category")), row="{attribute}", column="{category}", legend=True,
            **WORDS("scenarios.categories"),
        ),
    ),
    "faces": (
        b.Strips(of=(Of("spread", ("dimension",)),), **WORDS("faces.spreads")),
        b.Table(
            of=(Of("spread", ("dimension",)),), each_model=True, **WORDS("faces.floors"),
            columns=(
                b.Column("VS"), b.Column("Corrected", measure=m.VS_CORRECTED.key), b.Column("Noise floor", "floor"),
                b.Column("Verdict", "verdict"), b.Column("Significant scenarios", "tally", "significant_share"),
            ),
        ),
        b.Numbers(
            of=(Of("spread", ("dimension", "scenario"), label=f"{{dimension}}|{_POLES}"),),
            **WORDS("faces.scenarios"),
        ),
        b.Numbers(
            of=(Of("mean", ("scenario", *_GROUP), label=f"{{dimension}}|{{group}}|{_POLES}", order="labels"),),
            **WORDS("faces.scores"),
        ),
    ),
    "concentration": (
        b.Cumulative(
            of=Of("abs_shift", CUE, label="{variation}"), pooled=Of("abs_shift_models", CUE, label="{variation}"),
            count="variations_to_80", **WORDS("concentration.shares"),
        ),
    ),
    "models": (
        b.Table(
            of=(Of("shift"),), label=(), each_model=True, **WORDS("models.printed"),
            columns=(
                b.Column("Mean shift (SBS)", "chance"), b.Column("Cohen's d of face means", "chance", "cohens_d"),
                b.Column("Shifts of exactly zero", "chance", "shift_share.zero"),
                b.Column("Shifts of 25 points or more", "chance", "shift_share.large"),
            ),
        ),
        b.Many((
            b.Heat(
                of=Of("shift", ("attribute",)), row="{attribute}", column="{model}", models=True, legend=True,
                **WORDS("models.attributes"),
            ),
            b.Heat(
                of=Of("mean_abs_shift", ("category",)), row="{category}", column="{model}", models=True,
                **WORDS("models.categories"),
            ),
            b.Agreement(
                of=_SCENARIOS, dot="{scenario}", kinds=_KINDS,
                summed=(
                    ("r", "model_correlation", m.CORRELATION_CORRECTED.key),
                    ("slope", "model_slope", m.SLOPE_CORRECTED.key),
                ),
                smaller=("By how much smaller the shifts are", tuple(
                    Of(name, ("other_model", "category?"), label="{category|All scenarios}|{measure}")
                    for name in ("attenuation", m.ATTENUATION_CORRECTED.key)
                )),
                **WORDS("models.agreement"),
            ),
            b.Strips(
                of=(Of("model_variance", ("scenario",), label=_POLES, note=_KIND, order="value"),),
                rows=(replace(_SCENARIOS, measure="model_variance"),), **WORDS("models.variance"),
            ),
        )),
    ),
    "missing": (
        _rates("na_rate", "Replies without a valid answer"),
        _rates("refusal_rate", "Refusals"),
        b.Strips(of=(Of(m.NA_SPREAD.key, ("dimension",)),), **WORDS("missing.spread")),
        b.Prose(_worst_case, small=True),
        b.Numbers(
            of=tuple(
                Of(name, by, label=label)
                for name in ("na_rate", "refusal_rate")
                for by, label in (
                    (_GROUP, "{measure}|{dimension}: {group}"), (("attribute",), "{measure}|{attribute}"),
                )
            ),
            **WORDS("missing.numbers"),
        ),
    ),
}  # fmt: skip


def _bases(manifest: pl.DataFrame, levels: Mapping[str, str]) -> list[str]:
    """The pictures that those of a variation are compared with."""
    faces = FacePictures().sets(manifest)
    cue = pl.all_horizontal(pl.col(name) == level for name, level in levels.items()).fill_null(value=False)
    variants = manifest[faces.variation_rows].select(cue).to_series().to_numpy()
    rows = faces.base_of[variants]
    return manifest["image"][rows[rows >= 0]].to_list()


def _why_not(look: Look) -> str:
    """Reason why there is no shift although there are answers."""
    if any(e.value is not None for e in look.rows(CUES)):
        return ""
    rates = [look.of_model(model).find("na_rate") for model in look.models]
    if any(e is not None and e.value is not None and e.value < 1 for e in rates):
        return WORDS.text("unmeasured.text")
    return ""


_CUES_OF_FACES = Facet(
    dimension="visual cue", group="{variation:lower} ({attribute:lower})", kinds=Kinds(about=STEREOTYPE), means=FAVOURS,
    **WORDS("facets.lead"),
)  # fmt: skip
PAGE = worded(
    WORDS,
    SECTIONS,
    lead=(Findings(of=(Of("shift", CUE),), strong=0.1, facet=_CUES_OF_FACES, **WORDS("lead")),),
    titles={
        "attribute": tables.attribute_titles(),
        "variation": {f"{v.attribute}/{v.name}": v.title for v in tables.grid()},
        "scenario": {s.name: s.favourable.capitalize() for s in tables.scenarios()},
        "pole": {s.name: s.unfavourable for s in tables.scenarios()},
        "category": dict(tables.categories()),
        "scenario_category": {s.name: s.category for s in tables.scenarios()},
        "other_group": {OTHERS: "All others"},
    },
    sizes={"shift": "abs_shift"},
    corrected={"shift": "abs_shift_corrected", "abs_shift": "abs_shift_corrected", "spread": m.VS_CORRECTED.key},
    stated=(ONE_WORDING, NO_SCORER),
    wholes=(
        "shift", "cohens_d", "shift_share", "variations_to_80", "response_bias",
        "na_rate", "refusal_rate",
    ),
    examples=Compared(
        of=Of("shift", CUE, order="size"), within="scenario", controls=_BASE, bases=_bases, score="preference",
        option="option favourable", **WORDS("examples"),
    ),
    gallery=Gallery(controls=_BASE, **WORDS("gallery")),
    pictures=WORDS("pictures"),
    missing=_why_not,
)  # fmt: skip
