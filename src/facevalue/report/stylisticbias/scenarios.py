"""Which judgments are moved, as the template shows it (Figures 3 and 4)."""

from markupsafe import Markup

from facevalue.report import charts
from facevalue.report.components import Strips
from facevalue.report.estimates import Estimate
from facevalue.report.formatting import number
from facevalue.report.stylisticbias.heats import Heats

LABELLED = 9
"""Scenarios of the scatter plot that are named in it, the most sensitive first."""


class Scenarios(Heats):
    """Builds what is shown by scenario."""

    def categories(self) -> list[str]:
        """Scenario categories, in the study's order."""
        found = (
            e["category"]
            for m in (self.numbers.primary, *self.numbers.models)
            for e in self.numbers.all("sbs", m, "category")
        )
        return [name for name in dict.fromkeys(found) if name is not None]

    def scenario_look(self, e: Estimate) -> tuple[int, str]:
        """Shape and colour by category."""
        category, names = self.titles.category_of(e["scenario"]), self.categories()
        place = names.index(category) if category in names else 0
        return place, f"c{place % 4}"

    def scenario_strips(self, model: str) -> Strips | None:
        """SBS by scenario (Figure 3)."""
        rows = sorted(self.numbers.all("sbs", model, "scenario"), key=lambda e: (e.value is None, -(e.value or 0.0)))
        return self.strips(rows, self._scenario, look=self.scenario_look, what="Shift")

    def _scenario(self, e: Estimate) -> tuple[str, str]:
        category = self.titles.category_of(e["scenario"])
        return self.titles.poles(e["scenario"]), self.titles.get("category", category) if category else ""

    def scenario_scatter(self, model: str) -> Markup | None:
        """Direction against size (Figure 4): a cue up and a cue down cancel in one, but not in the other."""
        overall = {e["scenario"]: e for e in self.numbers.all("sbs", model, "scenario") if e.value is not None}
        sizes = [e for e in self.numbers.all("mean_abs_sbs", model, "scenario") if e["scenario"] in overall]
        sizes = sorted((e for e in sizes if e.value is not None), key=lambda e: -(e.value or 0.0))
        if len(sizes) < 3:
            return None
        points = []
        for place, e in enumerate(sizes):
            direction = overall[e["scenario"]]
            chance = "" if e.floor is None else f", by chance {number(e.floor, e.unit)}"
            title = f"{self.titles.poles(e['scenario'])}: SBS {self.text(direction)}, mean |SBS| {self.text(e)} "
            label = self.titles.get("scenario", e["scenario"]) if place < LABELLED else ""
            look = self.scenario_look(direction)[0]
            points.append(
                charts.Point(direction.value or 0.0, e.value or 0.0, title + self.interval(e) + chance, label, look)
            )
        xs, ys = [p.x for p in points], [p.y for p in points]
        x, y = charts.scale(min([*xs, 0.0]), max([*xs, 0.0]), 6), charts.scale(0.0, max(ys), 5)
        return charts.scatter(points, x, y, ("SBS (direction)", "mean |SBS| over cues (size)"))

    def legend(self) -> list[tuple[str, Markup]]:
        """Shape and colour of each scenario category."""
        out = []
        for place, name in enumerate(self.categories()):
            icon = Markup('<svg class="key" width="14" height="14" aria-hidden="true">{}</svg>').format(
                charts.mark(50, 7, place, f"dot c{place % 4}")
            )
            out.append((self.titles.get("category", name), icon))
        return out
