"""What the sections show of each dimension: charts, tables and matrices, ready-made."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import polars as pl

from facevalue.measures.base import Measure
from facevalue.report.components import Lines, Parts, Strips
from facevalue.report.estimates import Estimate, EstimateIndex
from facevalue.report.formatting import Titles
from facevalue.report.vignette import gaps
from facevalue.report.vignette.cells import Budget, cells, chosen, ordered
from facevalue.report.vignette.grids import Cell, Grid, grid
from facevalue.report.vignette.profile import Profile, profile

CONTRASTS = {
    "identity": "two identities in one activity",
    "identity-activity": "two identities in two activities",
    "activity": "one identity in two activities: which activity",
}
_SHORT = {"identity": "one activity", "identity-activity": "two activities", "activity": "one identity twice"}


@dataclass(frozen=True, slots=True)
class Table:
    """A grid with what it is counted from: `share`, `difference` or `right`."""

    grid: Grid
    scale: str


@dataclass(frozen=True, slots=True)
class Group:
    """One question about a dimension: an interval plot, its numbers and its tables."""

    title: str
    lead: str
    strips: Strips | None
    lines: Lines | None
    tables: list[Table]


@dataclass(frozen=True, slots=True)
class Dimension:
    """Everything about one dimension."""

    id: str
    title: str
    sentence: str
    groups: list[Group]
    profile: Profile | None


class View(Parts):
    """Builds the parts of the sections on dimensions.

    Parameters
    ----------
    numbers, titles, measures:
        As for `Parts`.
    budget:
        How much the tables may say.
    """

    def __init__(self, numbers: EstimateIndex, titles: Titles, measures: Sequence[Measure], budget: Budget) -> None:
        super().__init__(numbers, titles, measures)
        self.budget = budget

    def who(self, identity: str | None) -> str:
        """An identity's wording: its own, as it stands in the tables."""
        return gaps.who(identity, self.titles)

    def doing(self, activity: str) -> str:
        """An activity's wording."""
        return self.titles.known("activity", activity) or activity

    def dimensions(self, model: str) -> Iterator[Dimension]:
        """All dimensions, in the order of the estimates."""
        for place, name in enumerate(gaps.dimensions(self.numbers)):
            groups = [*self._choices(model, name), *self._stereotypes(model, name), *self._facts(model, name)]
            found = profile(self, model, name)
            yield Dimension(
                f"d{place + 1}", self.titles.get("dimension", name), self._sentence(model, name), groups, found
            )

    def _sentence(self, model: str, dimension: str) -> str:
        parts = []
        for paradigm, question in gaps.ASKED:
            rows = [e for e in gaps.gaps(self.numbers, model, dimension, paradigm, question) if e.value is not None]
            if rows:
                title = gaps.asked_title(paradigm, question, self.titles).replace(": ", ", ").lower()
                parts.append(f"{title}: {len(gaps.found(self.numbers, rows))} of {len(rows)}")
        return f"Identities found different from an even choice: {'; '.join(parts)}." if parts else ""

    def _choices(self, model: str, dimension: str) -> Iterator[Group]:
        for paradigm, question in gaps.ASKED:
            rows = gaps.gaps(self.numbers, model, dimension, paradigm, question)
            strips = self.strips(rows, lambda e: (self.who(e["identity"]), ""), what="Points")
            lines = self.lines(("Identity",), (((self.who(e["identity"]),), e) for e in rows)) if rows else None
            order = [e["identity"] or "" for e in rows]
            tables = [
                *self._heatmaps(model, dimension, paradigm, question, order),
                *self._questions(model, dimension, paradigm, question, order),
                *self._matrix(model, dimension, paradigm, question, order),
            ]
            if rows or tables:
                title = gaps.asked_title(paradigm, question, self.titles)
                yield Group(title, _LEADS.get(paradigm, ""), strips, lines, tables)

    def _shares(self, model: str, dimension: str, paradigm: str, question: str | None, *by: str) -> pl.DataFrame:
        fixed = {"dimension": dimension, "paradigm": paradigm, "question": question}
        return chosen(self.numbers, "selection_frequency", model, by, fixed, ("contrast", "trait"))

    def _heatmaps(
        self, model: str, dimension: str, paradigm: str, question: str | None, order: Sequence[str]
    ) -> Iterator[Table]:
        frame = self._shares(model, dimension, paradigm, question, "identity", "activity")
        overall = self._shares(model, dimension, paradigm, question, "identity")
        fixed: dict[str, str | None] = {"dimension": dimension, "paradigm": paradigm, "question": question}
        odds = chosen(self.numbers, "log_odds", model, ("identity", "activity"), fixed, ("contrast", "trait"))
        right = paradigm == "factuality"
        for contrast, words in CONTRASTS.items():
            if contrast != "identity" and not self.budget.contrasts:
                continue
            same = gaps.two_people() if contrast == "identity" else pl.col("contrast") == contrast
            part, whole = frame.filter(same), overall.filter(same)
            level = 100.0 if right else self._even(model, dimension, paradigm, question, contrast)
            means = {r["identity"]: r for r in whole.iter_rows(named=True)}
            found = self._cells(part, level, odds.filter(same))
            rows = order if contrast == "identity" and order else _by_mean(part, means)
            columns = sorted(part["activity"].unique())
            column = None
            if means:
                whole = whole.with_columns(pl.lit("all").alias("activity"))
                tested = self._tested(whole, model, fixed, ("identity",))
                own = self._cells(tested, level, None)
                column = ("all", {who: cell for (who, _), cell in own.items()})
            what = "Right answers" if right else "Chosen"
            made = grid(
                f"{what} in % of {words}, identity by activity", "Identity",
                [(r, self.who(r)) for r in rows], [(c, self.doing(c)) for c in columns], found, whole_column=column,
            )  # fmt: skip
            if made is not None:
                yield Table(made, "right" if right else "share")

    def _cells(
        self, frame: pl.DataFrame, neutral: float, odds: pl.DataFrame | None, column: str = "activity"
    ) -> dict[tuple[str, str], Cell]:
        return cells(frame, "identity", column, neutral=neutral, odds=odds, titled=self.budget.titled)

    def _tested(
        self, frame: pl.DataFrame, model: str, fixed: dict[str, str | None], by: tuple[str, ...]
    ) -> pl.DataFrame:
        """Shares with what is said of their distance from an even choice: over pictures, not over answers."""
        keys, said = ["contrast", *by], ["q_page", "verdict"]
        gap = chosen(self.numbers, "selection_gap", model, by, fixed, ("contrast", "trait")).select(*keys, *said)
        return frame.drop(said).join(gap, on=keys, how="left", nulls_equal=True, maintain_order="left")

    def _even(self, model: str, dimension: str, paradigm: str, question: str | None, contrast: str) -> float:
        """What colours are counted from: how often two who are alike would be chosen."""
        labels = {"dimension": dimension, "paradigm": paradigm, "question": question, "contrast": contrast}
        of = Estimate("", model, {k: level for k, level in labels.items() if level is not None})
        return gaps.even(self.numbers, of)

    def _questions(
        self, model: str, dimension: str, paradigm: str, question: str | None, order: Sequence[str]
    ) -> Iterator[Table]:
        """Where several questions are taken together: each by itself."""
        if question is not None:
            return
        fixed: dict[str, str | None] = {"dimension": dimension, "paradigm": paradigm}
        frame = chosen(
            self.numbers, "selection_frequency", model, ("identity", "question"), fixed, ("contrast", "trait")
        )
        frame = self._tested(frame.filter(gaps.two_people()), model, fixed, ("identity", "question"))
        columns = frame["question"].unique(maintain_order=True).to_list()
        level = self._even(model, dimension, paradigm, None, "identity")
        made = grid(
            "Chosen in %, identity by question", "Identity", [(r, self.who(r)) for r in order or _by_mean(frame, {})],
            [(c, self.titles.get("question", c)) for c in columns],
            self._cells(frame, level, None, "question"), turned=False,
        )  # fmt: skip
        if made is not None and len(columns) > 1:
            yield Table(made, "share")

    def _matrix(
        self, model: str, dimension: str, paradigm: str, question: str | None, order: Sequence[str]
    ) -> Iterator[Table]:
        fixed = {"dimension": dimension, "paradigm": paradigm, "question": question}
        by = ("identity", "other_identity")
        frame = chosen(self.numbers, "paircomp", model, by, fixed, ("contrast", "trait")).filter(gaps.two_people())
        names = list(order) or sorted({*frame["identity"], *frame["other_identity"]})
        found = self._cells(frame, 0.0, None, "other_identity")
        made = grid(
            "PairComp: the identity of the row, beside the identity of the column, is chosen so many points more often "
            "than beside others",
            "chosen ↓ beside →", [(n, self.who(n)) for n in names], [(n, self.who(n)) for n in names], found,
            signed=True,
        )  # fmt: skip
        if made is not None:
            yield Table(made, "difference")

    def _stereotypes(self, model: str, dimension: str) -> Iterator[Group]:
        fixed = {"dimension": dimension}
        free = ("paradigm", "contrast")
        traits = chosen(self.numbers, "polarity", model, ("identity", "trait"), fixed, free)
        pairs = chosen(self.numbers, "polarity", model, ("identity", "question"), fixed, (*free, "trait"))
        overall = chosen(self.numbers, "polarity", model, ("identity",), fixed, free)
        means = {r["identity"]: r for r in overall.iter_rows(named=True)}
        rows = [(r, self.who(r)) for r in _by_mean(traits if traits.height else pairs, means)]
        own = self._cells(overall.with_columns(pl.lit("all").alias("activity")), 0.0, None)
        column = ("all", {who: cell for (who, _), cell in own.items()}) if means else None
        tables = []
        for frame, by, what in ((traits, "trait", "trait"), (pairs, "question", "pair of terms")):
            names = frame[by].unique(maintain_order=True).to_list()
            made = grid(
                f"Polarity in points, identity by {what}", "Identity", rows,
                [(n, self.titles.get(by, n)) for n in names], self._cells(frame, 0.0, None, by),
                whole_column=column, signed=True, turned=len(names) > 8,
            )  # fmt: skip
            if made is not None:
                tables.append(Table(made, "difference"))
        if tables:
            lead = (
                "How much more often an identity is named for the favourable term of a pair than for the unfavourable "
                "one. In politics neither term is the better one."
            )
            yield Group("Stereotypes: polarity by trait", lead, None, None, tables)

    def _facts(self, model: str, dimension: str) -> Iterator[Group]:
        tables = list(self._heatmaps(model, dimension, "factuality", None, ()))
        if tables:
            lead = "How often the model says rightly who does what. Orange: errors."
            yield Group("Factuality: who is seen doing what", lead, None, None, tables)

    def left_out(self) -> str:
        """What was left out for the size of the page; empty if nothing."""
        out = []
        if not self.budget.contrasts:
            out.append("Tables of pictures with two activities, or of one identity twice, are left out for size.")
        if not self.budget.titled:
            out.append("Only marked cells say more when pointed at, for size.")
        if len(self.budget.models) < len(self.numbers.models):
            out.append(
                f"Tables are those of {self.budget.models[0]}; the others' are in the reports of their own runs."
            )
        return " ".join([*out, "The table of estimates has everything."]) if out else ""


_LEADS = {
    "decision": (
        "Dot: points above or below an even choice; bar: 95% interval over pictures; shaded: where 95 of 100 "
        "would lie without any preference."
    ),
    "perception": (
        "Points above or below an even choice. To be named more often is no advantage where difficulty or hate is "
        "asked."
    ),
}


def _by_mean(frame: pl.DataFrame, means: dict[str, dict[str, object]]) -> list[str]:
    own = dict(frame.group_by("identity").agg(pl.col("value").mean()).iter_rows())

    def size(identity: str) -> float | None:
        value = means[identity]["value"] if identity in means else own.get(identity)
        return value if isinstance(value, float) else None

    return ordered(own, size)


def contrast_of(e: Estimate) -> str:
    """The kind of picture in a few words; empty for all kinds."""
    return _SHORT.get(e["contrast"] or "", e["contrast"] or "")


def where(view: View, e: Estimate) -> str:
    """What an estimate is of besides its identity: dimension, paradigm, question, kind of picture if another one."""
    names = [view.titles.get(n, level) for n in ("dimension", "paradigm", "question") if (level := e[n])]
    other = "" if e["contrast"] in (None, "identity", "portrait") else contrast_of(e)
    return ", ".join(filter(None, [*names, other]))
