"""What the section on forms shows: which choice shifts which attribute, as table and drawing; how fields were read."""

from collections.abc import Sequence
from dataclasses import dataclass

from markupsafe import Markup

from facevalue.measures.rater_agreement import FLAG, RATERS
from facevalue.report.components import Lines, verdict_icon
from facevalue.report.estimates import Estimate
from facevalue.report.formatting import DASH, count, number, share_of_chance
from facevalue.report.markup import tag
from facevalue.report.verdict import SHORT, verdict_of
from facevalue.report.visbias import findings
from facevalue.report.visbias.bars import Key, Part, bar
from facevalue.report.visbias.texts import Texts
from facevalue.report.visbias.view import BarRow
from facevalue.studies.visbias.questionnaire import AGREEMENT, RATING

MOST_FOUND, MOST_OTHERS, MOST_DRAWN = 150, 20, 14
"""Associations in the table, found and not, and in the drawing."""
_PUBLISHED = 1.0
"""KL from which the paper gives a pair to raters."""
_ROW, _LEFT, _RIGHT = 40, 40, 60
_CUT = 22
PAIR = ("attribute", "choice", "other_attribute", "likeliest")
_LOOKS = {"exact": "o0", "form": "o1", "synonym": "o2", "range": "o3", "judge": "n1"}
_UNREAD = ("n2", "n4", "n5", "n3", "n0", "z")
_CONDITIONS = {
    "completed": "Fields that the model filled in",
    "prefilled": "Fields that were filled in at random beforehand",
}


@dataclass(frozen=True, slots=True)
class ShiftRow:
    """One choice that shifts one attribute."""

    attribute: str
    choice: str
    outcome: str
    likely: str
    share: str
    value: str
    interval: str
    floor: str
    q: str
    n: str
    verdict: str
    icon: Markup
    human: str
    found: bool
    published: bool


@dataclass(frozen=True, slots=True)
class Graph:
    """The attribute graph of one task and kind of condition."""

    title: str
    note: str
    tested: int
    found: int
    above: int
    rows: list[ShiftRow]
    drawing: Markup | None
    rated: bool
    empty: str


@dataclass(frozen=True, slots=True)
class FormPart:
    """Everything about forms of one task."""

    title: str
    graphs: list[Graph]
    routes: BarRow | None
    keys: list[Key]
    fields: Lines
    kept: str


class Forms(Texts):
    """Builds the parts on forms."""

    def forms(self, model: str) -> list[FormPart]:
        """Each task that was asked."""
        out = []
        for task in findings.FORMS:
            graphs = [graph for c in findings.CONDITIONS if (graph := self._graph(model, task, c)) is not None]
            routes = self.numbers.all("field_share", model, "route", task=task)
            if not graphs and not routes:
                continue
            row, keys = self._routes(routes)
            fields = self.numbers.all("field_share", model, "route", "attribute", task=task)
            lines = [(("all fields", e["route"] or ""), e) for e in routes]
            lines += [((findings.field_title(e["attribute"]), e["route"] or ""), e) for e in fields]
            kept = self.numbers.one("kept_share", model, task=task)
            text = "" if kept is None else f"{self.text(kept)} {self.interval(kept)}"
            table = self.lines(("Field", "How it was read"), lines)
            out.append(FormPart(self.titles.get("task", task), graphs, row, keys, table, text))
        return out

    def agreement_of_raters(self, model: str) -> str:
        """How far the human raters agree; empty if nobody rated."""
        e = next((e for e in self.numbers.all(AGREEMENT, model)), None)
        if e is None:
            return ""
        return f"Krippendorff's alpha of the raters: {number(e.value, e.unit)} {self.interval(e)}."

    def _graph(self, model: str, task: str, condition: str) -> Graph | None:
        rows = findings.shifts(self.numbers, model, task, condition)
        if not rows:
            return None
        known = [e for e in rows if e.value is not None]
        found = [e for e in known if self.numbers.tested(e)]
        others = [e for e in known if not self.numbers.tested(e)][:MOST_OTHERS]
        likely = {_pair(e): e for e in self.numbers.all("likely_share", model, *PAIR, task=task, fields=condition)}
        human = {_pair(e): e for e in self.numbers.all(RATING, model, *PAIR)}
        shown = [*found[:MOST_FOUND], *others]
        left = len(found) - MOST_FOUND
        note = f"{left:,} more were found; the table of estimates has them all." if left > 0 else ""
        return Graph(
            _CONDITIONS[condition],
            note,
            len(known),
            len(found),
            sum((e.value or 0.0) > _PUBLISHED for e in known),
            [self._shift(e, likely.get(_pair(e)), human.get(_pair(e))) for e in shown],
            drawing(found[:MOST_DRAWN]),
            bool(human),
            "" if known else self.interval(rows[0]),
        )

    def _shift(self, e: Estimate, likely: Estimate | None, human: Estimate | None) -> ShiftRow:
        verdict = verdict_of(e.verdict)
        floor = DASH if e.floor_high is None else f"{number(e.floor, e.unit)}, 95% below {number(e.floor_high, e.unit)}"
        word, icon = (DASH, Markup("")) if verdict is None else (SHORT[verdict], verdict_icon(verdict))
        return ShiftRow(
            findings.field_title(e["attribute"]),
            e["choice"] or DASH,
            findings.field_title(e["other_attribute"]),
            e["likeliest"] or DASH,
            DASH if likely is None else f"{self.text(likely)} {self.interval(likely)}",
            self.text(e),
            self.interval(e),
            floor,
            share_of_chance(e.q),
            count(e.n),
            word,
            icon,
            _human(human),
            self.numbers.tested(e),
            (e.value or 0.0) > _PUBLISHED,
        )

    def _routes(self, rows: Sequence[Estimate]) -> tuple[BarRow | None, list[Key]]:
        """How open fields came to their categories as one bar."""
        if not rows:
            return None, []
        order = [*_LOOKS, *(e["route"] or "" for e in rows if e["route"] not in _LOOKS)]
        by = {e["route"]: e for e in rows}
        keys: list[Key] = []
        parts = []
        unread = 0
        for name in order:
            e = by.get(name)
            if e is None:
                continue
            look = _LOOKS.get(name)
            if look is None:
                look, unread = _UNREAD[unread % len(_UNREAD)], unread + 1
            letter = chr(ord("A") + len(keys) % 26)
            share = None if e.value is None else 100 * e.value
            keys.append(Key(letter, f"{name} ({self.text(e)})", look))
            parts.append(Part(letter, share, look, f"{name}: {self.detail(e, brief=True)}"))
        label = "How open fields came to their categories"
        row = BarRow("Open fields", bar(parts, label), "", "", "", "", Markup(""), "")
        return row, keys


def drawing(rows: Sequence[Estimate]) -> Markup | None:
    """Draw the associations: choices on the left, what they shift on the right, wider lines for larger shifts.

    Parameters
    ----------
    rows:
        Associations, largest first; None is drawn of fewer than two.
    """
    if len(rows) < 2:
        return None
    left = list(dict.fromkeys((e["attribute"], e["choice"]) for e in rows))
    right = list(dict.fromkeys((e["other_attribute"], e["likeliest"]) for e in rows))
    right.sort(key=lambda node: _middle(node, rows, left))
    height = _ROW * max(len(left), len(right)) + 6
    places = [
        {node: (at + 0.5) * (height - 6) / len(nodes) for at, node in enumerate(nodes)} for nodes in (left, right)
    ]
    largest = max(e.value or 0.0 for e in rows)
    parts = []
    for e in rows:
        y1, y2 = places[0][e["attribute"], e["choice"]], places[1][e["other_attribute"], e["likeliest"]]
        width = round(1 + 5 * (e.value or 0.0) / largest, 1)
        said = f"{findings.association(e)}, {number(e.value, e.unit)} nat"
        line = tag("line", x1=f"{_LEFT}%", y1=f"{y1:.1f}", x2=f"{_RIGHT}%", y2=f"{y2:.1f}", stroke_width=width,
                   class_="edge")  # fmt: skip
        parts.append(tag("g", tag("title", said), line))
    for nodes, x, anchor in ((places[0], f"{_LEFT - 1}%", "end"), (places[1], f"{_RIGHT + 1}%", "start")):
        for (attribute, choice), y in nodes.items():
            title = findings.field_title(attribute)
            parts.append(tag("text", _cut(title), x=x, y=f"{y - 3:.1f}", text_anchor=anchor, class_="tick"))
            parts.append(tag("text", _cut(choice or ""), x=x, y=f"{y + 11:.1f}", text_anchor=anchor, class_="node"))
    label = (
        f"{len(rows)} associations from choices on the left to attributes on the right; the table has their numbers."
    )
    return tag("svg", *parts, class_="plot", width="100%", height=height, role="img", aria_label=label)


def _middle(
    node: tuple[str | None, str | None], rows: Sequence[Estimate], left: Sequence[tuple[str | None, str | None]]
) -> float:
    """Where on the other side the lines of a node begin, so that few of them cross."""
    places = [left.index((e["attribute"], e["choice"])) for e in rows if (e["other_attribute"], e["likeliest"]) == node]
    return sum(places) / len(places)


def _cut(text: str) -> str:
    return text if len(text) <= _CUT else f"{text[: _CUT - 1]}…"


def _pair(e: Estimate) -> tuple[str | None, ...]:
    return e["attribute"], e["choice"], e["other_attribute"], e["likeliest"]


def _human(e: Estimate | None) -> str:
    if e is None or e.value is None:
        return "not rated"
    said = "too few raters" if (e.n or 0) < RATERS else "biased" if e.value >= FLAG else "not biased"
    return f"{said}, mean {number(e.value, e.unit)} of 5 ({count(e.n)} raters)"
