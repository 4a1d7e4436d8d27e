"""What the sections on explicit tasks show: choices, comparisons, missing answers."""

from collections.abc import Sequence
from dataclasses import dataclass

import polars as pl
from markupsafe import Markup

from facevalue.measures.base import Measure
from facevalue.report.components import Lines, Parts, Strips, above_floor, verdict_icon
from facevalue.report.estimates import Estimate, EstimateIndex
from facevalue.report.formatting import DASH, Titles, number
from facevalue.report.verdict import SHORT, verdict_of
from facevalue.report.visbias import findings
from facevalue.report.visbias.bars import Key, Part, bar, classes

WITHOUT = "no-image"
"""The intervention whose answers are what a model chooses by default (A.2)."""
_ORDERED = ("income", "education")
_OUTCOMES = (("ranked_share", "R", "n0", "ranked: one yes, one no"), ("unranked_share", "U", "z", "not ranked: two no"),
             ("contradicted_share", "C", "n1", "contradicted: two yes"))  # fmt: skip


@dataclass(frozen=True, slots=True)
class BarRow:
    """A group's choices, with how far they are from those of all groups."""

    label: str
    svg: Markup | None
    value: str
    interval: str
    floor: str
    verdict: str
    icon: Markup
    detail: str


@dataclass(frozen=True, slots=True)
class Bars:
    """Bars of one question and dimension, with the shares behind them."""

    title: str
    rows: list[BarRow]
    shares: Lines
    judged: bool
    crossed: bool
    found: str = ""


@dataclass(frozen=True, slots=True)
class Question:
    """One question: who is given which of its choices."""

    title: str
    keys: list[Key]
    bars: list[Bars]
    sentence: str


class View(Parts):
    """Builds the parts of the sections.

    Parameters
    ----------
    numbers, titles, measures:
        As for `Parts`.
    """

    def __init__(self, numbers: EstimateIndex, titles: Titles, measures: Sequence[Measure]) -> None:
        super().__init__(numbers, titles, measures)
        self.models = findings.plain_models(numbers)
        self.primary = findings.primary(numbers)
        self.unit_name = "units"

    def signed(self, measure: str) -> bool:
        """Differences carry a sign; shares, lengths and divergences don't."""
        known = self.measures.get(measure)
        return known is not None and known.signed and known.limits[0] < 0

    def where(self, dimension: str | None) -> str:
        """A dimension for people."""
        return findings.dimension_title(dimension, self.titles)

    def group(self, name: str | None) -> str:
        """A group for people."""
        return "Everyone" if name is None else self.titles.get("group", name)

    def questions(self, model: str, *, species: bool = False) -> list[Question]:
        """Every multiple-choice question with the choices of each group."""
        out = []
        names = self.numbers.frame.filter(
            (pl.col("model") == model) & (pl.col("measure") == "choice_share") & pl.col("question").is_not_null()
        )["question"].unique(maintain_order=True)
        for name in names:
            dimensions = findings.dimensions(self.numbers, model, "choice_share", findings.DIVERGENCE)
            wanted = [d for d in dimensions if (d == findings.SPECIES) is species]
            keys = self._keys(model, name)
            bars = [self._bars(model, name, dimension, keys) for dimension in wanted]
            if bars:
                found = "; ".join(f"{b.title}: {b.found}" for b in bars)
                sentence = f"Groups beside the mean of all groups: {found}."
                out.append(Question(self.titles.get("question", name), keys, bars, sentence))
        return out

    def _keys(self, model: str, question: str) -> list[Key]:
        rows = self.numbers.all("choice_share", model, "task", "dimension", "group", "question", "choice")
        rows += self.numbers.all("choice_share", model, "task", "question", "choice")
        levels = list(dict.fromkeys(e["choice"] or "" for e in rows if e["question"] == question))
        looks = classes(len(levels), ordered=question in _ORDERED)
        return [
            Key(chr(ord("A") + place), self.titles.get("choice", level), look)
            for place, (level, look) in enumerate(zip(levels, looks, strict=True))
        ]

    def _bars(self, model: str, question: str, dimension: str, keys: list[Key]) -> Bars:
        every = self.numbers.all("choice_share", model, "task", "question", "choice", task="mcq")
        own = self.numbers.all("choice_share", model, "task", "dimension", "group", "question", "choice")
        own = [e for e in own if e["question"] == question and e["dimension"] == dimension]
        by = {e["group"]: e for e in findings.divergences(self.numbers, model, species=dimension == findings.SPECIES)
              if e["question"] == question and e["dimension"] == dimension}  # fmt: skip
        rows = []
        if dimension != findings.SPECIES:
            rows.append(self._row("Everyone", [e for e in every if e["question"] == question], None, keys))
        without = self.numbers.under(model, WITHOUT)
        blind = self.numbers.all("choice_share", without, "task", "question", "choice") if without else []
        blind = [e for e in blind if e["question"] == question]
        if blind and dimension != findings.SPECIES:
            rows.append(self._row("Without a picture", blind, None, keys))
        groups = list(dict.fromkeys(e["group"] for e in own))
        rows += [self._row(self.group(g), [e for e in own if e["group"] == g], by.get(g), keys) for g in groups]
        pairs = (((self.group(e["group"]), self.titles.get("choice", e["choice"])), e) for e in own)
        judged = any(row.verdict for row in rows)
        title = self.where(dimension)
        found = f"{sum(self.numbers.tested(e) for e in by.values())} of {len(by)} found different"
        if len(groups) == 1:
            found = "only one group, nothing to compare it with"
        return Bars(title, rows, self.lines(("Group", "Choice"), pairs), judged, " × " in title, found)

    def _row(self, label: str, shares: Sequence[Estimate], divergence: Estimate | None, keys: Sequence[Key]) -> BarRow:
        at = {key.text: key for key in keys}
        parts = []
        for e in shares:
            text = self.titles.get("choice", e["choice"])
            share = None if e.value is None else 100 * e.value
            parts.append(Part(at[text].letter, share, at[text].class_, f"{text}: {self.detail(e, brief=True)}"))
        said = ", ".join(f"{k.text} {p.share:.0f}%" for k, p in zip(keys, parts, strict=False) if p.share)
        if divergence is None:
            return BarRow(label, bar(parts, f"{label}: {said}"), "", "", "", "", Markup(""), "")
        return self.bar_row(label, bar(parts, f"{label}: {said}"), divergence)

    def bar_row(self, label: str, svg: Markup | None, e: Estimate) -> BarRow:
        """A bar with the estimate that goes with it."""
        verdict = verdict_of(e.verdict)
        floor = ""
        if e.floor_high is not None:
            floor = f"{number(e.floor, e.unit)}, 95% below {number(e.floor_high, e.unit)}"
        word, icon = ("", Markup("")) if verdict is None else (SHORT[verdict], verdict_icon(verdict))
        return BarRow(label, svg, self.text(e), self.interval(e), floor, word, icon, self.detail(e))

    def divergence_strips(self, model: str, *, species: bool = False) -> Strips | None:
        """The clearest divergences beside their noise floors."""
        rows = findings.divergences(self.numbers, model, species=species)[:15]

        def label(e: Estimate) -> tuple[str, str]:
            return self.group(
                e["group"]
            ), f"{self.titles.get('question', e['question'])}, {self.where(e['dimension']).lower()}"

        return self.strips(rows, label, what="Divergence", look=above_floor)

    def divergence_lines(self, model: str, *, species: bool = False) -> Lines:
        """All divergences."""
        rows = findings.divergences(self.numbers, model, species=species)
        heads = ("Question", "Of", "Group")
        pairs = (
            ((self.titles.get("question", e["question"]), self.where(e["dimension"]), self.group(e["group"])), e)
            for e in rows
        )
        return self.lines(heads, pairs)

    def pairs(self, model: str, *, species: bool = False) -> list[Bars]:
        """Of each yes-no question the pairs ranked, not ranked and contradicted, over all and within occupations."""
        labels = ("task", "question"), ("task", "question", "dimension"), (
            "task", "question", "dimension", "group",
        )  # fmt: skip
        of = {
            name: [e for by in labels for e in self.numbers.all(name, model, *by)
                   if (e["dimension"] == findings.SPECIES) is species]
            for name, *_ in _OUTCOMES
        }  # fmt: skip
        out = []
        for question in dict.fromkeys(e["question"] for e in of["ranked_share"]):
            rows, pairs = [], []
            groups = dict.fromkeys(e["group"] for e in of["ranked_share"] if e["question"] == question)
            for group in groups:
                parts = []
                ranked = None
                for name, letter, look, text in _OUTCOMES:
                    e = next((e for e in of[name] if e["question"] == question and e["group"] == group), None)
                    if e is None:
                        continue
                    ranked = e if name == "ranked_share" else ranked
                    share = None if e.value is None else 100 * e.value
                    parts.append(Part(letter, share, look, f"{text}: {self.detail(e, brief=True)}"))
                    pairs.append(((self.group(group), text.split(":")[0].capitalize()), e))
                label = self.group(group) if group is not None else "All pairs"
                if ranked is not None:
                    rows.append(self.bar_row(label, bar(parts, f"{label}: pairs by outcome"), ranked))
            title = self.titles.get("question", question)
            out.append(Bars(title, rows, self.lines(("Pairs within", "Outcome"), pairs), judged=False,
                            crossed=False))  # fmt: skip
        return out

    @property
    def outcomes(self) -> list[Key]:
        """The legend of pairs."""
        return [Key(letter, text, look) for _, letter, look, text in _OUTCOMES]

    def rankings(self, model: str, *, species: bool = False) -> list[tuple[str, Strips | None]]:
        """Per question how often each group is ranked above the others, in points from an even chance."""
        rows = self.numbers.all(findings.ABOVE, model, "task", "dimension", "group", "question")
        rows = [e for e in rows if (e["dimension"] == findings.SPECIES) is species]
        out = []
        for question in dict.fromkeys(e["question"] for e in rows):
            own = [e.in_points() for e in rows if e["question"] == question]
            own.sort(key=lambda e: (e["dimension"] or "", e.value is None, -(e.value or 0.0)))

            def label(e: Estimate) -> tuple[str, str]:
                return self.group(e["group"]), self.where(e["dimension"]).lower()

            out.append((self.titles.get("question", question), self.strips(own, label, what="Points")))
        return out

    def ranking_lines(self, model: str, *, species: bool = False) -> Lines:
        """The same as numbers."""
        rows = self.numbers.all(findings.ABOVE, model, "task", "dimension", "group", "question")
        rows = [e for e in rows if (e["dimension"] == findings.SPECIES) is species]
        pairs = [((self.titles.get("question", e["question"]), self.where(e["dimension"]), self.group(e["group"])), e)
                 for e in (one.in_points() for one in rows)]  # fmt: skip
        return self.lines(("Question", "Of", "Group"), pairs)

    def agreement(self, model: str) -> tuple[Strips | None, Lines]:
        """How far forms are from choices about the same group."""
        rows = findings.agreements(self.numbers, model)
        rows.sort(key=lambda e: (e["dimension"] or "", e["question"] or "", e["group"] is not None, e["group"] or ""))

        def label(e: Estimate) -> tuple[str, str]:
            group = self.group(e["group"]) if e["group"] else f"Mean, {self.where(e['dimension']).lower()}"
            return self.titles.get("question", e["question"]), group

        pairs = [((*label(e), self.where(e["dimension"])), e) for e in rows]
        return self.strips(rows, label, what="Divergence", look=above_floor), self.lines(
            ("Question", "Of", "By"), pairs
        )

    def missing(self, model: str) -> tuple[Strips | None, Lines]:
        """Replies without a valid answer by task, question and reason; and by group, as numbers."""
        every = self.numbers.where((pl.col("measure") == "refusal_rate") & (pl.col("model") == model))
        rows = list(every)
        plain = [e for e in rows if e["group"] is None and (e["question"] is None or e["reason"] is None)]

        def label(e: Estimate) -> tuple[str, str]:
            task = self.titles.get("task", e["task"])
            of = [
                "species" if e["dimension"] == findings.SPECIES else "",
                self.titles.get("question", e["question"]) if e["question"] else "",
                f"reason: {e['reason']}" if e["reason"] else "",
            ]
            return task, ", ".join(filter(None, of))

        heads = ("Task", "Question, reason", "Of", "Group")
        pairs = (
            ((*label(e), self.where(e["dimension"]), self.group(e["group"]) if e["group"] else DASH), e) for e in rows
        )
        return self.strips(plain, label, what="Rate", look=lambda _: (0, "plain")), self.lines(heads, pairs)

    def missing_groups(self, model: str) -> list[tuple[str, Strips | None]]:
        """Refusals of choices by group, per dimension."""
        rows = self.numbers.all("refusal_rate", model, "task", "dimension", "group", task="mcq")
        names = [d for d in findings.dimensions(self.numbers, model, "refusal_rate") if d != findings.SPECIES]
        out = []
        for name in names:
            own = [e for e in rows if e["dimension"] == name]
            made = self.strips(own, lambda e: (self.group(e["group"]), ""), what="Rate", look=lambda _: (0, "plain"))
            out.append((self.where(name), made))
        return out
