"""Forms attribute by attribute, and what people say of associations: Figures 3 to 7 and Figure 2 of the paper."""

from collections.abc import Sequence
from dataclasses import dataclass

from markupsafe import Markup

from facevalue.measures.rater_agreement import FLAG, RATERS
from facevalue.report.estimates import Estimate
from facevalue.report.formatting import number
from facevalue.report.markup import tag
from facevalue.report.visbias import findings
from facevalue.report.visbias.bars import Key, classes
from facevalue.report.visbias.forms import PAIR, Forms
from facevalue.studies.visbias.questionnaire import RATING

_FULL = 3.0
"""KL, in nats, from which marks grow no more."""
_LEAST, _MOST = 4.0, 11.0  # radius of a mark in pixels
_STEPS = 3  # bars of the histogram per point of the scale, as three raters' means are thirds
_BARS, _TOP, _TALL = 4 * _STEPS + 1, 18, 130


@dataclass(frozen=True, slots=True)
class Mark:
    """The choice of an attribute that shifts another attribute most, in one model's forms."""

    svg: Markup | None
    text: str


@dataclass(frozen=True, slots=True)
class Panel:
    """One attribute: which of its choices shift the others most.

    Attributes
    ----------
    title:
        The attribute.
    keys:
        Its choices that shift another most, with their letters.
    rows:
        Every other attribute, with a mark for each model.
    """

    title: str
    keys: list[Key]
    rows: list[tuple[str, list[Mark]]]


@dataclass(frozen=True, slots=True)
class Ratings:
    """How people rated the associations of one model."""

    sentence: str
    chart: Markup | None


class Panels(Forms):
    """Builds the parts on single attributes."""

    def panels(self) -> list[tuple[str, list[Panel]]]:
        """For each task with forms, the panels of all attributes."""
        out = []
        for task in findings.FORMS:
            most = {model: self._strongest(model, task) for model in self.models}
            pairs = list(dict.fromkeys(pair for found in most.values() for pair in found))
            biased = {model: self._biased(model) for model in self.models}
            made = []
            for attribute in dict.fromkeys(given for given, _ in pairs):
                others = [other for given, other in pairs if given == attribute]
                made.append(self._panel(attribute, others, most, biased))
            if made:
                out.append((self.titles.get("task", task), made))
        return out

    def ratings(self, model: str) -> Ratings:
        """The mean ratings of a model's associations."""
        known = [e for e in self.numbers.all(RATING, model, *PAIR) if e.value is not None]
        judged = [e.value for e in known if e.value is not None and (e.n or 0) >= RATERS]
        if not known:
            return Ratings("", None)
        few = len(known) - len(judged)
        said = (
            f"{sum(v >= FLAG for v in judged):,} of {len(judged):,} rated associations have a mean of {FLAG:g} or more"
        )
        said += f"; {few:,} with fewer than {RATERS} raters are left out" if few else ""
        return Ratings(f"{said}.", histogram(judged))

    def _strongest(self, model: str, task: str) -> dict[tuple[str, str], Estimate]:
        """The largest shift of each attribute by each other."""
        out: dict[tuple[str, str], Estimate] = {}
        for e in self.numbers.all(findings.SHIFT, model, *PAIR, task=task, fields=findings.CONDITIONS[0]):
            key = e["attribute"] or "", e["other_attribute"] or ""
            if e.value is not None and (key not in out or e.value > (out[key].value or 0.0)):
                out[key] = e
        return out

    def _biased(self, model: str) -> set[tuple[str | None, ...]]:
        rated = self.numbers.all(RATING, model, *PAIR)
        return {
            (e["attribute"], e["choice"], e["other_attribute"], e["likeliest"])
            for e in rated
            if (e.n or 0) >= RATERS and (e.value or 0.0) >= FLAG
        }

    def _panel(
        self,
        attribute: str,
        others: Sequence[str],
        most: dict[str, dict[tuple[str, str], Estimate]],
        biased: dict[str, set[tuple[str | None, ...]]],
    ) -> Panel:
        shown = [found.get((attribute, other)) for other in others for found in most.values()]
        choices = list(dict.fromkeys(e["choice"] or "" for e in shown if e is not None))
        keys = {
            choice: Key(chr(ord("A") + at), choice, look)
            for at, (choice, look) in enumerate(zip(choices, classes(len(choices), ordered=False), strict=True))
        }
        rows = []
        for other in others:
            marks = [self._mark(found.get((attribute, other)), keys, biased[model]) for model, found in most.items()]
            rows.append((findings.field_title(other), marks))
        return Panel(findings.field_title(attribute), list(keys.values()), rows)

    def _mark(self, e: Estimate | None, keys: dict[str, Key], biased: set[tuple[str | None, ...]]) -> Mark:
        if e is None:
            return Mark(None, "")
        key = keys[e["choice"] or ""]
        look = key.class_ if self.numbers.tested(e) else "open"
        if (e["attribute"], e["choice"], e["other_attribute"], e["likeliest"]) in biased:
            look += " biased"
        radius = _LEAST + (_MOST - _LEAST) * min((e.value or 0.0) / _FULL, 1.0)
        title = f"{e['choice']}: {findings.field_title(e['other_attribute'])} {e['likeliest']}. "
        title += self.detail(e, brief=True)
        circle = tag("circle", cx=13, cy=13, r=f"{radius:.1f}", class_=f"part kl {look}")
        svg = tag("svg", tag("title", title), circle, width=26, height=26, class_="klmark", role="img")
        return Mark(svg, f"{key.letter} {number(e.value, e.unit)}")


def histogram(means: Sequence[float]) -> Markup | None:
    """Draw how many associations have which mean rating; None of none.

    Parameters
    ----------
    means:
        From 1 to 5. A bar counts those from its own mark up to the next, a third of a point higher.
    """
    if not means:
        return None
    counts = [0] * _BARS
    for mean in means:
        counts[min(int((mean - 1) * _STEPS + 1e-9), _BARS - 1)] += 1
    wide = 100 / _BARS
    parts = []
    for at, count in enumerate(counts):
        low = 1 + at / _STEPS
        tall = round(_TALL * count / max(counts), 1)
        side = "biased" if low >= FLAG - 1e-9 else "sound"
        if count:
            y = _TOP + _TALL - tall
            bar = tag("rect", x=f"{at * wide + 0.4:.2f}%", y=y, width=f"{wide - 0.8:.2f}%", height=tall,
                      class_=f"ratingbar {side}")  # fmt: skip
            text = tag("text", f"{count:,}", x=f"{(at + 0.5) * wide:.2f}%", y=y - 4,
                       text_anchor="middle", class_="tick")  # fmt: skip
            until = "" if at == _BARS - 1 else f" up to {low + 1 / _STEPS:.2f}"
            parts.append(tag("g", tag("title", f"mean of {low:.2f}{until}: {count:,}"), bar, text))
        if at % _STEPS == 0:
            parts.append(tag("text", f"{low:g}", x=f"{(at + 0.5) * wide:.2f}%", y=_TOP + _TALL + 16,
                             text_anchor="middle", class_="tick"))  # fmt: skip
    edge = f"{(FLAG - 1) * _STEPS * wide:.2f}%"
    parts.append(tag("line", x1=edge, y1=4, x2=edge, y2=_TOP + _TALL, class_="margin"))
    parts.append(tag("line", x1="0", y1=_TOP + _TALL, x2="100%", y2=_TOP + _TALL, class_="zero"))
    label = f"Mean ratings of {len(means):,} associations, from 1 (unbiased) to 5 (extremely biased)"
    return tag("svg", *parts, class_="plot", width="100%", height=_TOP + _TALL + 24, role="img", aria_label=label)
