"""Model by model, and models against each other, as the template shows it (Table 7, Figures 5, 7 and 8)."""

from dataclasses import dataclass

from markupsafe import Markup

from facevalue.report import charts
from facevalue.report.components import Lines, Strips, above_floor
from facevalue.report.estimates import POOLED, Estimate
from facevalue.report.formatting import NOT_MEASURABLE, number
from facevalue.report.stylisticbias.heats import Heat
from facevalue.report.stylisticbias.scenarios import Scenarios


@dataclass(frozen=True, slots=True)
class ModelPair:
    """Two models: a title, how far they agree in words, their scenarios as a plot, and attenuation by category."""

    title: str
    words: str
    plot: Markup
    smaller: Lines


class Models(Scenarios):
    """Builds what is shown by model."""

    def model_rows(self) -> list[tuple[str, list[tuple[str, str, str]]]]:
        """Table 7: per model (value, interval, floor) of each measure."""
        out = []
        names = [*self.numbers.models, *([POOLED] if self.numbers.pooled else [])]
        for model in names:
            cells = []
            for measure in ("sbs", "cohens_d", "zero_share", "large_share"):
                e = self.numbers.one(measure, model)
                floor = ""
                noise = self.numbers.size(e) if e is not None and measure == "sbs" else e
                if noise is not None and noise.floor is not None:
                    floor = f"by chance {number(noise.floor, noise.unit)}, up to {number(noise.floor_high, noise.unit)}"
                    if measure == "sbs":
                        floor = f"noise floor ±{number(noise.floor_high, noise.unit)}"
                missing = "not defined for the mean over models" if model == POOLED else NOT_MEASURABLE
                cells.append((self.text(e), self.interval(e) if e is not None else missing, floor))
            out.append((model, cells))
        return out

    def model_sizes(self) -> Heat | None:
        """Mean |SBS| by scenario category and model (Figure 5)."""
        found = [e for model in self.numbers.models for e in self.numbers.all("mean_abs_sbs", model, "category")]
        return self.heat(found, "category", "model", self.numbers.models)

    def model_pairs(self) -> list[ModelPair]:
        """Figure 8, for each two models."""
        out = []
        models = self.numbers.models
        for i, one in enumerate(models):
            for other in models[i + 1 :]:
                found = self._pair(one, other)
                if found is not None:
                    out.append(found)
        return out

    def _pair(self, one: str, other: str) -> ModelPair | None:
        mine = {e["scenario"]: e for e in self.numbers.all("sbs", one, "scenario") if e.value is not None}
        theirs = {e["scenario"]: e for e in self.numbers.all("sbs", other, "scenario") if e.value is not None}
        points = [
            charts.Point(
                a.value or 0.0, b.value or 0.0, f"{self.titles.poles(s)}: {self.text(a)} and {self.text(b)}",
                self.titles.get("scenario", s), self.scenario_look(a)[0],
            )
            for s, a in mine.items() if (b := theirs.get(s)) is not None
        ]  # fmt: skip
        if len(points) < 3:
            return None
        ends = [v for p in points for v in (p.x, p.y)]
        both = charts.scale(min(ends), max(ends), 6)
        slope = self.numbers.one("model_slope", other, other_model=one)
        loud = sorted(points, key=lambda p: -abs(p.x) - abs(p.y))[:7]
        kept = [p if p in loud else charts.Point(p.x, p.y, p.title, "", p.group) for p in points]
        line = None if slope is None else slope.value
        plot = charts.scatter(kept, both, both, (one, other), line=line)
        words = "; ".join(
            self._agreement(
                name, *(self.numbers.one(f"{measure}{end}", a, other_model=b) for end in ("", "_corrected"))
            )
            for name, measure, a, b in (("r", "model_correlation", one, other), ("slope", "model_slope", other, one))
        )
        return ModelPair(f"{other} against {one}", words, plot, self._smaller(other, one))

    def _agreement(self, name: str, published: Estimate | None, corrected: Estimate | None) -> str:
        if published is None or published.value is None:
            return f"{name} {(published and published.method) or NOT_MEASURABLE}"
        text = f"{name} = {self.text(published)}"
        if published.floor_high is not None:
            text += f" (by chance up to {number(published.floor_high, published.unit)} either way)"
        if corrected is not None and corrected.value is not None:
            text += f", without the part of chance {self.text(corrected)} {self.interval(corrected)}"
        return text

    def _smaller(self, model: str, other: str) -> Lines:
        """By how much smaller the first model's shifts are than the other's, by category (Figure 8)."""
        found: list[Estimate] = []
        for measure in ("attenuation", "attenuation_corrected"):
            found += self.numbers.all(measure, model, other_model=other)
            found += self.numbers.all(measure, model, "category", other_model=other)

        def labels(e: Estimate) -> tuple[str, str]:
            return self.titles.get("category", e["category"]) if e["category"] else "All scenarios", self.title(
                e.measure
            )

        return self.lines(("Scenarios", "Measure"), ((labels(e), e) for e in found))

    def variance_strips(self) -> Strips | None:
        """Disagreement between models by scenario (Figure 7)."""
        rows = sorted(
            self.numbers.all("model_variance", POOLED, "scenario"), key=lambda e: (e.value is None, -(e.value or 0.0))
        )
        return self.strips(rows, self._scenario, what="Variance", look=above_floor)
