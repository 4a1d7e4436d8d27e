"""Whether the way of asking matters: picture or text, position or name, paraphrases, order and side."""

from dataclasses import dataclass

import polars as pl
from markupsafe import Markup

from facevalue.report import charts
from facevalue.report.components import Lines, Strips
from facevalue.report.estimates import Estimate
from facevalue.report.formatting import DASH
from facevalue.report.vignette.cells import chosen, estimates
from facevalue.report.vignette.view import View, where
from facevalue.studies.vignette.tables import questions


@dataclass(frozen=True, slots=True)
class MatchRow:
    """How often three wordings get the same answer, beside the published rates."""

    asked: str
    rates: list[tuple[str, str, str]]


class Variants(View):
    """Builds the section on variants; made from what `View` is made from."""

    def shift_strips(self, measure: str, model: str) -> tuple[Strips | None, Lines]:
        """How identities move between two ways of asking, largest shift first."""
        free = ("paradigm", "contrast", "question", "dimension", "trait")
        rows = estimates(chosen(self.numbers, measure, model, ("identity",), {}, free))
        rows.sort(key=lambda e: (e.value is None, -abs(e.value or 0.0)))

        def label(e: Estimate) -> tuple[str, str]:
            return self.who(e["identity"]), where(self, e)

        return self.strips(rows[:40], label, what="Points"), self.lines(
            ("Identity", "Where"), ((label(e), e) for e in rows)
        )

    def positional(self, model: str) -> list[tuple[str, str, Markup]]:
        """Positional against identity answers: title, correlation in words, plot (Figure 11)."""
        free = ("paradigm", "contrast", "question", "dimension", "trait")
        shifts = chosen(self.numbers, "positional_shift", model, ("identity",), {}, free)
        keys = ["paradigm", "contrast", "question", "dimension", "trait"]
        named = chosen(self.numbers, "selection_frequency", model, ("identity",), {}, free)
        both = shifts.join(named, on=[*keys, "identity"], nulls_equal=True, suffix="_named", maintain_order="left")
        out = []
        r = estimates(chosen(self.numbers, "positional_correlation", model, (), {}, free))
        for key, part in both.group_by(keys, maintain_order=True):
            points = self._points(part)
            if len(points) < 3:
                continue
            ends = [v for p in points for v in (p.x, p.y)]
            over = charts.scale(min(ends), max(ends), 6)
            own = next((e for e in r if tuple(e[k] for k in keys) == key), None)
            title = ", ".join(
                self.titles.get(n, v) for n, v in zip(keys, key, strict=True) if v is not None and n != "contrast"
            )
            words = f"r = {self.text(own)} {self.interval(own)}" if own is not None else ""
            out.append(
                (title, words, charts.scatter(points, over, over, ("S by name, %", "S by position, %"), diagonal=True))
            )
        return out

    def _points(self, part: pl.DataFrame) -> list[charts.Point]:
        rows = [r for r in part.iter_rows(named=True) if r["value"] is not None and r["value_named"] is not None]
        rows.sort(key=lambda r: -abs(r["value"]))
        return [
            charts.Point(
                r["value_named"], r["value_named"] + r["value"],
                f"{self.who(r['identity'])}: {r['value_named']:.1f}% by name, "
                f"{r['value_named'] + r['value']:.1f}% by position",
                self.who(r["identity"]) if place < 8 else "", 0,
            )
            for place, r in enumerate(rows)
        ]  # fmt: skip

    def matches(self, model: str) -> list[MatchRow]:
        """Match rates of three wordings, beside those of Table 11."""
        out = []
        names = ("full_match", "partial_match", "all_different")
        published = _table_11()
        found = {m: estimates(chosen(self.numbers, m, model, ("paradigm",), {}, ("question",))) for m in names}
        for e in found["full_match"]:
            paper = published.get((e["paradigm"] or "", e["question"]))
            rates = []
            for place, name in enumerate(names):
                own = next(
                    (x for x in found[name] if (x["paradigm"], x["question"]) == (e["paradigm"], e["question"])), None
                )
                printed = DASH if paper is None else f"{paper[place]:g}%"
                rates.append((self.text(own), self.interval(own), printed))
            asked = self.titles.get("paradigm", e["paradigm"])
            if e["question"]:
                asked += f": {self.titles.get('question', e['question'])}"
            out.append(MatchRow(asked, rates))
        return out

    def side_strips(self, model: str) -> Strips | None:
        """Choices of the first option and of the left half, by paradigm: how far from a half."""
        names = {"first_option_share": "first option", "left_share": "left half"}
        rows = [e for m in names for e in estimates(chosen(self.numbers, m, model, (), {}, ("paradigm",)))]
        return self.strips(
            rows, lambda e: (self.titles.get("paradigm", e["paradigm"]) if e["paradigm"] else "All", names[e.measure]),
            what="Share", zero=False, look=lambda _: (0, "plain"),
        )  # fmt: skip


def _table_11() -> dict[tuple[str, str | None], tuple[float, float, float]]:
    """Full, partial and no match in percent, by paradigm and question (null where a paradigm has only one)."""
    return {
        (q.paradigm, q.name if q.paradigm in ("factuality", "perception") else None): (
            q.match.full,
            q.match.partial,
            q.match.different,
        )
        for q in questions()
        if q.match is not None
    }
