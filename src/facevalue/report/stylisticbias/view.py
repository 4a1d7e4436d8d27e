"""From numbers to what the template shows: rows, strips and heat maps, with every text ready-made."""

from dataclasses import dataclass
from itertools import accumulate

from markupsafe import Markup

from facevalue.measures.verdicts import Verdict
from facevalue.report import charts
from facevalue.report.components import Lines, Strips, above_floor, verdict_icon
from facevalue.report.estimates import POOLED, Estimate
from facevalue.report.formatting import (
    DASH,
    NOT_MEASURABLE,
    group_key,
    number,
    points,
    worst_case,
)
from facevalue.report.stylisticbias.across_models import Models
from facevalue.report.stylisticbias.headline import cues
from facevalue.report.stylisticbias.heats import Heat, HeatRow, short
from facevalue.report.verdict import verdict_of
from facevalue.stimuli.drawn import FULL_BODY
from facevalue.stimuli.stylisticbias_folders import known_attribute
from facevalue.studies.stylisticbias.gaps import OTHERS

MOST_GAPS = 8
"""Cues shown of each two groups, those with the largest gap."""


@dataclass(frozen=True, slots=True)
class VsRow:
    """Variation strength of one dimension, in words."""

    model: str
    dimension: str
    value: str
    interval: str
    corrected: str
    corrected_interval: str
    floor: str
    verdict: str
    icon: Markup
    why: str
    share: str


class View(Models):
    """Builds the sections of the page that show estimates; made from what `Parts` is made from."""

    def cue_strips(self, model: str) -> Strips | None:
        """Every variation, strongest shift up to strongest shift down."""
        rows = sorted(cues(self.numbers, model), key=lambda e: (e.value is None, -(e.value or 0.0)))
        return self.strips(rows, self._cue, what="Shift")

    def cue_lines(self, model: str) -> Lines:
        """The numbers behind the cues."""
        rows = cues(self.numbers, model)
        return self.lines(("Cue", "Attribute"), ((self._cue(e), e) for e in rows))

    def framing_words(self, model: str) -> str:
        """What fashion styles, which are shown full-body, are compared with; empty if there is none."""
        if not any(known_attribute(e["attribute"] or "") in FULL_BODY for e in cues(self.numbers, model)):
            return ""
        e = self.numbers.one("framing_shift", model)
        if e is None:
            return (
                "Fashion styles are compared with the base face, as in the paper, which shows them full-body and the "
                "base head-and-shoulders: where the pictures do so, too, their shifts hold what the wider view does."
            )
        return (
            "Fashion styles are shown full-body, and compared with the same person full-body in plain clothes. That "
            f"view alone shifts the judgment by {self.text(e)} {self.interval(e)}, which is in no shift of theirs; in "
            "the paper, which has no such picture, it is in all of them."
        )

    def _cue(self, e: Estimate) -> tuple[str, str]:
        return self.titles.variation(e["attribute"], e["variation"]), self.titles.get("attribute", e["attribute"])

    def grid(self, model: str) -> Heat | None:
        """Table 12: variation by group."""
        found = self.numbers.all("sbs", model, "attribute", "variation", "dimension", "group")
        if not found:
            return None
        overall = {
            (e["attribute"], e["variation"]): e for e in self.numbers.all("sbs", model, "attribute", "variation")
        }
        columns = self._groups(found)
        bands = [("All", 1)]
        bands += [(self.titles.get("dimension", d), sum(c[0] == d for c in columns)) for d in dict(columns)]
        heads = [("All faces", "All")] + [
            (self.titles.get("group", g), short(self.titles.get("group", g))) for _, g in columns
        ]
        by_cell = {(e["attribute"], e["variation"], e["dimension"], e["group"]): e for e in found}
        keys = list(overall) or list(dict.fromkeys((e["attribute"], e["variation"]) for e in found))
        rows = []
        for attribute, variation in keys:
            whole = overall.get((attribute, variation))
            cells = [self._cell(whole), *(self._cell(by_cell.get((attribute, variation, d, g))) for d, g in columns)]
            section = self.titles.get("attribute", attribute)
            size = abs(whole.value) if whole is not None and whole.value is not None else -1.0
            rows.append(HeatRow(section, self.titles.variation(attribute, variation), cells, size))
        return Heat(bands, heads, rows, "Cue")

    def grid_lines(self, model: str) -> Lines:
        """The numbers behind Table 12."""
        found = self.numbers.all("sbs", model, "attribute", "variation", "dimension", "group")
        labels = (
            ((self._cue(e)[0], self.titles.get("dimension", e["dimension"]), self.titles.get("group", e["group"])), e)
            for e in found
        )
        return self.lines(("Cue", "Dimension", "Group"), labels)

    def reversals(self, model: str) -> list[tuple[str, str, str]]:
        """Cues that shift one group significantly up and another significantly down: (cue, dimension, depth).

        The depth's interval alone is no evidence: with ten groups the outermost shifts differ in sign by chance.
        """
        signs: dict[tuple[str | None, str | None, str | None], set[bool]] = {}
        for e in self.numbers.all("sbs", model, "attribute", "variation", "dimension", "group"):
            if self.numbers.tested(e):
                signs.setdefault((e["attribute"], e["variation"], e["dimension"]), set()).add((e.value or 0.0) > 0)
        rows = [
            e
            for e in self.numbers.all("reversal_depth", model, "attribute", "variation", "dimension")
            if e.value is not None and len(signs.get((e["attribute"], e["variation"], e["dimension"]), ())) == 2
        ]
        rows.sort(key=lambda e: -(e.value or 0.0))
        return [
            (
                self.titles.cue(e["attribute"], e["variation"]),
                self.titles.get("dimension", e["dimension"]),
                f"{self.text(e)} {self.interval(e)}",
            )
            for e in rows[:12]
        ]

    def gaps(self, model: str) -> list[tuple[str, Strips]]:
        """Gaps between groups (Tables 4 to 6): who is compared with whom, and the cues with the largest gaps."""
        by: dict[tuple[str, str, str], list[Estimate]] = {}
        for e in self._gaps(model):
            by.setdefault((e["dimension"] or "", e["group"] or "", e["other_group"] or ""), []).append(e)
        out = []
        for (dimension, _, _), rows in sorted(by.items(), key=lambda item: -sum(map(_found, item[1]))):
            rows.sort(key=lambda e: -abs(e.value or 0.0))
            strips = self.strips(rows[:MOST_GAPS], self._cue, what="Gap")
            if strips is not None:
                out.append((f"{self.titles.get('dimension', dimension)}: {self._contrast(rows[0])}", strips))
        return out

    def gap_words(self, model: str) -> str:
        """How many gaps were found."""
        known = [e for e in self._gaps(model) if e.value is not None]
        found = sum(map(_found, known))
        verb = "was" if found < 2 else "were"
        return f"Of {len(known)} gaps, {found or 'none'} {verb} found to differ from zero."

    def gap_lines(self, model: str) -> Lines:
        """The numbers behind the gaps."""
        rows = (
            ((self._cue(e)[0], self.titles.get("dimension", e["dimension"]), self._contrast(e)), e)
            for e in self._gaps(model)
        )
        return self.lines(("Cue", "Dimension", "Gap"), rows)

    def _gaps(self, model: str) -> list[Estimate]:
        return self.numbers.all("sbs_gap", model, "attribute", "variation", "dimension", "group", "other_group")

    def _contrast(self, e: Estimate) -> str:
        other = "all others" if e["other_group"] == OTHERS else self.titles.get("group", e["other_group"]).lower()
        return f"{self.titles.get('group', e['group'])} less {other}"

    def dimensions(self) -> list[str]:
        """Dimensions in the order of the estimates."""
        found = (
            e["dimension"]
            for m in (self.numbers.primary, *self.numbers.models)
            for e in self.numbers.all("vs", m, "dimension")
        )
        return [d for d in dict.fromkeys(found) if d is not None]

    def vs_strips(self, model: str) -> Strips | None:
        """Variation strength by dimension, with the share of scenarios that differ significantly."""
        share = {e["dimension"]: e for e in self.numbers.all("significant_share", model, "dimension")}

        def label(e: Estimate) -> tuple[str, str]:
            s = share.get(e["dimension"])
            if s is None or s.value is None or s.n is None:
                note = f"significance {NOT_MEASURABLE}"
            else:
                note = f"significant in {round(s.value * s.n)} of {s.n} scenarios"
            return self.titles.get("dimension", e["dimension"]), note

        return self.strips(self.numbers.all("vs", model, "dimension"), label, what="VS", look=above_floor)

    def vs_rows(self) -> list[VsRow]:
        """Variation strength of every model and dimension: value, corrected value, floor, verdict."""
        models = [*self.numbers.models, *([POOLED] if self.numbers.pooled else [])]
        return [self._vs_row(e) for model in models for e in self.numbers.all("vs", model, "dimension")]

    def _vs_row(self, e: Estimate) -> VsRow:
        corrected = self.numbers.corrected(e)
        share = self.numbers.one("significant_share", e.model, dimension=e["dimension"] or "")
        verdict = verdict_of(e.verdict)
        noise = f"{number(e.floor, e.unit)}, 95% below {number(e.floor_high, e.unit)}"
        tally = NOT_MEASURABLE
        if share is not None and share.value is not None and share.n is not None:
            tally = f"{round(share.value * share.n)} of {share.n} scenarios"
        return VsRow(
            model=e.model,
            dimension=self.titles.get("dimension", e["dimension"]),
            value=self.text(e),
            interval=self.interval(e),
            corrected=self.text(corrected),
            corrected_interval=self.interval(corrected) if corrected is not None else "",
            floor=DASH if e.floor_high is None else noise,
            verdict=DASH if verdict is None else verdict.value,
            icon=Markup("") if verdict is None else verdict_icon(verdict),
            why=e.why or "",
            share=tally,
        )

    def vs_lines(self, model: str) -> Lines:
        """Spread between groups, scenario by scenario (Table 11)."""
        found = self.numbers.all("vs_scenario", model, "dimension", "scenario")
        rows = (((self.titles.get("dimension", e["dimension"]), self.titles.poles(e["scenario"])), e) for e in found)
        return self.lines(("Dimension", "Scenario"), rows)

    def phi_lines(self, model: str) -> Lines:
        """Preference scores of base faces by group and scenario."""
        found = self.numbers.all("phi", model, "scenario", "dimension", "group")
        rows = (
            (
                (
                    self.titles.get("dimension", e["dimension"]),
                    self.titles.get("group", e["group"]),
                    self.titles.poles(e["scenario"]),
                ),
                e,
            )
            for e in sorted(
                found,
                key=lambda e: (
                    e["dimension"] or "",
                    e["scenario"] or "",
                    group_key(e["dimension"] or "", e["group"] or ""),
                ),
            )
        )
        return self.lines(("Dimension", "Group", "Scenario"), rows)

    def concentration(self, model: str) -> Markup | None:
        """Cumulative |SBS| (Figure 2)."""
        measure = "abs_sbs_models" if model == POOLED else "abs_sbs"
        rows = [e for e in self.numbers.all(measure, model, "attribute", "variation") if e.value is not None]
        rows.sort(key=lambda e: -(e.value or 0.0))
        total = sum(e.value or 0.0 for e in rows)
        if len(rows) < 2 or total <= 0:
            return None
        shares = [running / total for running in accumulate(e.value or 0.0 for e in rows)]
        titles = [
            f"{i + 1}. {self._cue(e)[0]}: |SBS| {self.text(e)}; {s:.0%} so far"
            for i, (e, s) in enumerate(zip(rows, shares, strict=True))
        ]
        steps = self.numbers.one("variations_to_80", model)
        reached = (None, None, None) if steps is None else (steps.value, steps.low, steps.high)
        return charts.cumulative(shares, titles, reached)

    def concentration_words(self, model: str) -> str:
        """The count of Figure 2 in a sentence."""
        e = self.numbers.one("variations_to_80", model)
        if e is None or e.value is None:
            return "How concentrated the shifts are is not measurable."
        total = len(cues(self.numbers, model))
        averaged = ", averaged over the models" if model == POOLED else ""
        text = f"{self.text(e)} {self.interval(e)} of {total} cues make up 80% of the total |SBS|{averaged}."
        if e.floor is not None:
            chance = number(round(e.floor, 1), e.unit)
            text += f" Without any effect it would be about {chance}: fewer than that is concentration."
        return text

    def worst_case_words(self, model: str) -> str:
        """What missing answers could have changed in the overall shift; empty if none is missing, or all are."""
        rate = self.numbers.one("na_rate", model)
        if rate is None or not rate.value or rate.value >= 1:
            return ""
        e = self.numbers.one("sbs", model)
        if e is None or not e.has_bounds:
            most = points(min(2 * rate.value, 1.0))
            return (
                "Worst case: had every missing answer gone one way on the base faces and the other way on the "
                f"variations, an overall shift could be off by up to {most} points."
            )
        return (
            f"Worst case: had every missing answer gone one way on the base faces and the other way on the variations, "
            f"the overall shift of {self.text(e)} would be in the range of {worst_case(e, signed=True)}. "
            "The same for each cue is in the table of the strongest cues."
        )

    def spread_strips(self, model: str) -> Strips | None:
        """How far the rates of missing answers differ between groups, beside their floor."""
        rows = self.numbers.all("na_spread", model, "dimension")
        title = self.titles.get
        return self.strips(rows, lambda e: (title("dimension", e["dimension"]), ""), what="Spread", look=above_floor)

    def missing_lines(self, model: str) -> Lines:
        """The numbers behind N/A and refusals."""
        pairs = []
        for measure in ("na_rate", "refusal_rate"):
            known = self.measures.get(measure)
            title = known.title if known else measure
            for e in self.numbers.all(measure, model, "dimension", "group"):
                whose = f"{self.titles.get('dimension', e['dimension'])}: {self.titles.get('group', e['group'])}"
                pairs.append(((title, whose), e))
            pairs += [
                ((title, self.titles.get("attribute", e["attribute"])), e)
                for e in self.numbers.all(measure, model, "attribute")
            ]
        return self.lines(("Measure", "Whose picture"), pairs)

    def missing_strips(self, measure: str, model: str) -> Strips | None:
        """N/A or refusals by group and by attribute."""
        overall = self.numbers.one(measure, model)
        found = self.numbers.all(measure, model, "dimension", "group")
        order = self._groups(found)
        groups = sorted(found, key=lambda e: order.index((e["dimension"] or "", e["group"] or "")))
        by_attribute = self.numbers.all(measure, model, "attribute")
        rows = [*([overall] if overall is not None else []), *groups, *by_attribute]

        def label(e: Estimate) -> tuple[str, str]:
            if e["group"] is not None:
                return self.titles.get("group", e["group"]), self.titles.get("dimension", e["dimension"])
            if e["attribute"] is not None:
                return self.titles.get("attribute", e["attribute"]), "Attribute changed"
            return "All replies", ""

        return self.strips(rows, label, what="Rate", look=lambda _: (0, "plain"))


def _found(e: Estimate) -> bool:
    return verdict_of(e.verdict) is Verdict.DIFFERENCE
