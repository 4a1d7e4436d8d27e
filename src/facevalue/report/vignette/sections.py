"""The sections besides those on single dimensions: overview, facts, models, missing answers."""

from collections.abc import Sequence
from dataclasses import dataclass

import polars as pl
from markupsafe import Markup

from facevalue.report.components import Lines, Strips, above_floor, verdict_icon
from facevalue.report.estimates import Estimate
from facevalue.report.formatting import DASH, number
from facevalue.report.verdict import SHORT, verdict_of
from facevalue.report.vignette import gaps
from facevalue.report.vignette.cells import cells, chosen, estimates
from facevalue.report.vignette.grids import Grid, grid
from facevalue.report.vignette.impact import Impact
from facevalue.report.vignette.profile import PARADIGMS
from facevalue.report.vignette.variants import Variants
from facevalue.report.vignette.view import contrast_of

_FACTS = pl.col("paradigm") == "factuality"


@dataclass(frozen=True, slots=True)
class OverviewRow:
    """One dimension and question: what was found."""

    model: str
    dimension: str
    asked: str
    tested: int
    found: int
    up: str
    down: str
    spread: str
    interval: str
    floor: str
    verdict: str
    icon: Markup


class Sections(Impact, Variants):
    """Builds what the sections show; made from what `View` is made from."""

    def overview(self) -> list[OverviewRow]:
        """Every model, dimension and question."""
        rows = []
        models = dict.fromkeys([self.numbers.primary, *self.numbers.models])
        for dimension in gaps.dimensions(self.numbers):
            for paradigm, question in gaps.ASKED:
                for model in models:
                    own = gaps.gaps(self.numbers, model, dimension, paradigm, question)
                    if own:
                        rows.append(
                            self._overview(own, gaps.spread(self.numbers, model, dimension, paradigm, question))
                        )
        return rows

    def _overview(self, own: Sequence[Estimate], spread: Estimate | None) -> OverviewRow:
        known = [e for e in own if e.value is not None]
        moved = gaps.found(self.numbers, known)

        def side(*, up: bool) -> str:
            rows = sorted((e for e in moved if ((e.value or 0) > 0) == up), key=lambda e: -abs(e.value or 0.0))[:3]
            shares = ((e, gaps.share(self.numbers, e)) for e in rows)
            said = (f"{self.who(e['identity'])} {self.text(share)}" for e, share in shares)
            return ", ".join(said) or DASH

        verdict = None if spread is None else verdict_of(spread.verdict)
        floor = DASH
        if spread is not None and spread.floor_high is not None:
            floor = f"{number(spread.floor, spread.unit)} (95% below {number(spread.floor_high, spread.unit)})"
        first = own[0]
        return OverviewRow(
            model=first.model,
            dimension=self.titles.get("dimension", first["dimension"]),
            asked=gaps.asked_title(first["paradigm"] or "", first["question"], self.titles),
            tested=len(known),
            found=len(moved),
            up=side(up=True),
            down=side(up=False),
            spread=self.text(spread),
            interval=self.interval(spread),
            floor=floor,
            verdict=DASH if verdict is None else SHORT[verdict],
            icon=Markup("") if verdict is None else verdict_icon(verdict),
        )

    def spread_strips(self, model: str) -> Strips | None:
        """How far the identities of each dimension are apart, beside what chance alone shows."""
        rows = []
        for dimension in gaps.dimensions(self.numbers):
            found = (gaps.spread(self.numbers, model, dimension, p, q) for p, q in gaps.ASKED)
            rows += [e for e in found if e is not None]
        rows.sort(key=lambda e: (e["paradigm"] != "decision", -(e.value or 0.0)))

        def label(e: Estimate) -> tuple[str, str]:
            asked = gaps.asked_title(e["paradigm"] or "", e["question"], self.titles)
            return self.titles.get("dimension", e["dimension"]), asked.split(": ")[-1]

        return self.strips(rows, label, what="Spread", look=above_floor)

    def _rates(self, measure: str, model: str, *by: str) -> list[Estimate]:
        frame = chosen(self.numbers, measure, model, by, {}, ("paradigm", "contrast"))
        return estimates(frame)

    def error_strips(self, model: str) -> Strips | None:
        """Errors by dimension, of each kind."""
        rows = [
            e
            for measure in ("error_rate", "swapped_rate", "both_rate", "none_rate")
            for e in sorted(self._errors(measure, model), key=lambda e: e["dimension"] or "")
        ]
        kinds = {
            "error_rate": "all errors",
            "swapped_rate": "the wrong person",
            "both_rate": "both",
            "none_rate": "nobody",
        }

        def label(e: Estimate) -> tuple[str, str]:
            words = [
                kinds[e.measure],
                self.titles.get("question", e["question"]) if e["question"] else "",
                contrast_of(e),
            ]
            return self.titles.get("dimension", e["dimension"]), ", ".join(filter(None, words))

        return self.strips(rows, label, what="Rate", look=lambda _: (0, "plain"))

    def _errors(self, measure: str, model: str) -> list[Estimate]:
        frame = chosen(self.numbers, measure, model, ("dimension",), {}, ("paradigm", "contrast", "question"))
        return estimates(frame.filter(_FACTS))

    def activity_strips(self, model: str) -> Strips | None:
        """Errors by activity, most first."""
        rows = self._rates("error_rate", model, "activity") or self._rates("error_rate", model, "activity", "dimension")
        rows.sort(key=lambda e: (e.value is None, -(e.value or 0.0)))

        def label(e: Estimate) -> tuple[str, str]:
            where = self.titles.get("dimension", e["dimension"]) if e["dimension"] else ""
            return self.doing(e["activity"] or ""), ", ".join(filter(None, [where, contrast_of(e)]))

        return self.strips(rows[:80], label, what="Errors", look=lambda _: (0, "plain"))

    def error_lines(self, model: str) -> Lines:
        """Errors by question, identity and kind."""
        rows = []
        for measure in ("error_rate", "swapped_rate", "both_rate", "none_rate"):
            free = ("paradigm", "contrast", "question", "dimension", "identity")
            frame = chosen(self.numbers, measure, model, (), {}, free)
            named = pl.col("identity").is_not_null() | pl.col("question").is_not_null()
            for e in estimates(frame.filter(_FACTS, named)):
                who = self.who(e["identity"]) if e["identity"] else "everyone"
                where = self.titles.get("dimension", e["dimension"]) if e["dimension"] else "all"
                asked = self.titles.get("question", e["question"]) if e["question"] else "all"
                rows.append(((who, where, asked, self.title(measure), contrast_of(e) or DASH), e))
        rows.sort(key=lambda row: (row[0][3], row[0][1], -(row[1].value or 0.0)))
        return self.lines(("Identity", "Dimension", "Question", "What", "Pictures"), rows)

    def model_scores(self) -> list[tuple[str, Grid]]:
        """Per paradigm: normalised score, identity by model (Figures 4 and 5)."""
        out = []
        for paradigm in PARADIGMS:
            parts = [
                chosen(self.numbers, "normalised_score", m, ("identity", "dimension"), {"paradigm": paradigm})
                for m in self.numbers.models
            ]
            frame = pl.concat(parts) if parts else pl.DataFrame()
            if not frame.height:
                continue
            # Levels of different dimensions may have one name, so rows are named by both.
            key = pl.concat_str("identity", pl.lit("\n"), "dimension")
            frame = frame.with_columns(key.alias("identity"))
            middle = frame["value"].mean()
            neutral = middle if paradigm == "factuality" and isinstance(middle, float) else 50.0
            order = frame.group_by("identity", maintain_order=True).agg(pl.col("value").mean().alias("mean"))
            rows = []
            for level in order.sort("mean", descending=True, nulls_last=True)["identity"]:
                who, dimension = level.split("\n")
                rows.append((level, f"{self.who(who)} ({self.titles.get('dimension', dimension).lower()})"))
            found = cells(frame, "identity", "model", neutral=neutral, titled=self.budget.titled)
            title = f"Normalised score, identity by model: {self.titles.get('paradigm', paradigm).lower()}"
            made = grid(title, "Identity", rows, [(m, m) for m in self.numbers.models], found, turned=False)
            if made is not None:
                out.append((self.titles.get("paradigm", paradigm), made))
        return out

    def paradigms(self) -> Lines:
        """Correlations between paradigms, over identities."""
        rows = []
        for model in self.numbers.models:
            for measure in ("paradigm_pearson", "paradigm_spearman"):
                frame = chosen(self.numbers, measure, model, ("paradigm", "other_paradigm"), {}, ("dimension",))
                for e in estimates(frame):
                    where = self.titles.get("dimension", e["dimension"]) if e["dimension"] else "all"
                    two = (self.titles.get("paradigm", e[name]) for name in ("paradigm", "other_paradigm"))
                    pair = " and ".join(two)
                    rows.append(((pair, where, self.title(measure), model), e))
        return self.lines(("Paradigms", "Dimension", "What", "Model"), rows)

    def agreement(self) -> Lines:
        """Correlations between models."""
        rows = []
        for model in self.numbers.models:
            for measure in ("model_pearson", "model_spearman"):
                frame = chosen(self.numbers, measure, model, ("other_model",), {}, ("paradigm", "dimension"))
                for e in estimates(frame):
                    where = self.titles.get("dimension", e["dimension"]) if e["dimension"] else "all"
                    pair = f"{model} and {e['other_model']}"
                    rows.append(((pair, self.titles.get("paradigm", e["paradigm"]), where, self.title(measure)), e))
        return self.lines(("Models", "Paradigm", "Dimension", "What"), rows)

    def neither_strips(self, model: str) -> Strips | None:
        """Answers that name both people, or neither, where that was offered: they choose nobody."""
        free = ("paradigm", "contrast", "question")
        rows = []
        for measure in ("both_rate", "none_rate"):
            frame = chosen(self.numbers, measure, model, ("dimension",), {}, free)
            summed = (pl.col("paradigm") != "decision") | pl.col("question").is_null()
            rows += estimates(frame.filter(~_FACTS, summed, pl.col("paradigm") != "stereotype"))
        rows.sort(key=lambda e: (e["dimension"] or "", e["paradigm"] or "", e["question"] or ""))

        def label(e: Estimate) -> tuple[str, str]:
            asked = self.titles.get("question", e["question"]) if e["question"] else "decisions"
            words = ["both" if e.measure == "both_rate" else "none", asked, contrast_of(e)]
            return self.titles.get("dimension", e["dimension"]), ", ".join(filter(None, words))

        return self.strips(rows, label, what="Rate", look=lambda _: (0, "plain"))

    def missing_strips(self, model: str) -> Strips | None:
        """Replies without a valid answer, by dimension and paradigm."""
        rows = estimates(chosen(self.numbers, "na_rate", model, (), {}, ("paradigm", "dimension", "contrast")))

        def label(e: Estimate) -> tuple[str, str]:
            where = self.titles.get("dimension", e["dimension"]) if e["dimension"] else "All"
            note = [self.titles.get("paradigm", e["paradigm"]) if e["paradigm"] else "", contrast_of(e)]
            return where, ", ".join(filter(None, note))

        return self.strips(rows, label, what="Rate", look=lambda _: (0, "plain"))

    def missing_lines(self, model: str) -> Lines:
        """The same by identity, most first."""
        free = ("paradigm", "dimension", "contrast")
        rows = estimates(chosen(self.numbers, "na_rate", model, ("identity",), {}, free))
        rows.sort(key=lambda e: (e.value is None, -(e.value or 0.0)))
        pairs = (
            (
                (
                    self.who(e["identity"]),
                    self.titles.get("dimension", e["dimension"]) if e["dimension"] else "all",
                    self.titles.get("paradigm", e["paradigm"]) if e["paradigm"] else "all",
                ),
                e,
            )
            for e in rows[:400]
        )
        return self.lines(("Identity in the picture", "Dimension", "Paradigm"), pairs)
