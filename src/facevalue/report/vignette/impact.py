"""Impact ratios of decisions, and how much of them chance alone can do."""

from dataclasses import dataclass

from facevalue.report.estimates import Estimate
from facevalue.report.formatting import DASH, NOT_MEASURABLE, number
from facevalue.report.vignette import gaps
from facevalue.report.vignette.cells import chosen, estimates
from facevalue.report.vignette.view import View

FOUR_FIFTHS = 0.8


@dataclass(frozen=True, slots=True)
class ImpactRow:
    """An identity's impact ratio, and what the four-fifths rule would say of it."""

    identity: str
    ratio: str
    interval: str
    shortfall: str
    floor: str
    n: str
    word: str
    noise: bool


class Impact(View):
    """Builds the section on impact ratios; made from what `View` is made from."""

    def impact(self, model: str) -> list[tuple[str, list[ImpactRow], str]]:
        """Per dimension: its rows, and a warning where chance alone reaches below four fifths."""
        out = []
        free = ("paradigm", "contrast")
        for dimension in gaps.dimensions(self.numbers):
            of = {"dimension": dimension}
            ratios = estimates(chosen(self.numbers, "impact_ratio", model, ("identity",), of, free))
            short = estimates(chosen(self.numbers, "impact_shortfall", model, ("identity",), of, free))
            beside = {e["identity"]: e for e in short}
            if not ratios:
                continue
            ratios.sort(key=lambda e: (e.value is None, -(e.value or 0.0)))
            rows = [self._impact(e, beside.get(e["identity"])) for e in ratios]
            noisy = sum(row.noise for row in rows)
            warning = ""
            if noisy:
                warning = (
                    f"With so few answers the four-fifths rule is noise for {noisy} of {len(rows)} identities: chance "
                    "alone takes a ratio below 0.8 in more than 5 of 100 audits. No conclusion can rest on it there."
                )
            out.append((self.titles.get("dimension", dimension), rows, warning))
        return out

    def _impact(self, e: Estimate, short: Estimate | None) -> ImpactRow:
        high = None if short is None else short.floor_high
        noise = high is None or high >= 1 - FOUR_FIFTHS
        if e.value is None:
            word = NOT_MEASURABLE
        elif e.value >= FOUR_FIFTHS:
            word = "four fifths or more"
        elif noise:
            word = "below four fifths, within what chance alone can do"
            if high is not None and short is not None and (short.value or 0) > high:
                word = "below four fifths, and beyond chance"
        elif e.high is not None and e.high < FOUR_FIFTHS:
            word = "below four fifths"
        else:
            word = "below four fifths, but not surely so"
        floor = DASH
        if short is not None and short.floor is not None:
            floor = f"{number(short.floor, '1')} (95% below {number(high, '1')})"
        return ImpactRow(
            self.who(e["identity"]),
            self.text(e),
            self.interval(e),
            self.text(short),
            floor,
            f"{e.n or 0:,}",
            word,
            noise,
        )
