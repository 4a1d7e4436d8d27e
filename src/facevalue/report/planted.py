"""What was planted in a model whose bias is known, beside what the audit found."""

from typing import NamedTuple

from facevalue.measures.caveats import add_caveat, counted_caveats
from facevalue.protocol.lookup import Estimate, EstimateIndex
from facevalue.protocol.offers import Demo
from facevalue.protocol.study import Study
from facevalue.report.blocks.content import SectionContent, TableCell, TableContent, TableHead, TextContent
from facevalue.report.formatting import interval, number

_SHOWN = 12


class PlantedEffect(NamedTuple):
    """A planted effect: what of, how large, and what was estimated."""

    title: str
    effect: float
    estimate: Estimate
    is_found: bool


def planted(offer: Demo, study: Study, numbers: EstimateIndex, model: str) -> list[PlantedEffect]:
    """Effects that were planted in these very pictures, the largest first."""
    truth = offer.planted(study).select(*offer.labels, "title", "planted")
    effects = {tuple(labels): (title, effect) for *labels, title, effect in truth.iter_rows()}
    rows = [
        PlantedEffect(*effects[key], e, numbers.moved(e))
        for e in numbers.all(offer.measure, model, *offer.labels)
        if (key := tuple(e[name] for name in offer.labels)) in effects
    ]
    return sorted(rows, key=lambda row: -abs(row.effect))


def counted(offer: Demo, rows: list[PlantedEffect]) -> str:
    """Say how many differences were found, with and without a planted effect."""
    outcomes = [[row.is_found for row in rows if bool(row.effect) is has_effect] for has_effect in (True, False)]
    caveats = counted_caveats(row.estimate.caveat for row in rows if row.is_found)
    return (
        f"Found: {sum(outcomes[0])} of {len(outcomes[0])} {offer.plural} with a planted effect, "
        f"{sum(outcomes[1])} of {len(outcomes[1])} without one{caveats}."
    )


def section(offer: Demo, rows: list[PlantedEffect]) -> SectionContent:
    """A table for the page."""
    heads = (TableHead(offer.heading[:1].upper() + offer.heading[1:]), TableHead("Planted", number=True),
             TableHead("Estimated [95% interval]", number=True), TableHead(""))  # fmt: skip
    table: list[tuple[TableCell, ...]] = []
    for row in rows[:_SHOWN]:
        e = row.estimate
        estimated = TableCell(number(e.value, e.written, signed=True), interval(e, signed=True), sort=e.value, of=e)
        effect = TableCell(number(row.effect, e.written, signed=True), sort=row.effect)
        table.append(
            (TableCell(row.title), effect, estimated, TableCell(add_caveat("found", e.caveat) if row.is_found else ""))
        )
    lead = TextContent(
        "The bias of this model was planted, so the truth is known: what was planted for these very pictures, and what "
        f"the audit found. {counted(offer, rows)}"
    )
    note = [TextContent(f"The {_SHOWN} largest of {len(rows)}.", "small")] if len(rows) > _SHOWN else []
    title = "Planted and found"
    return SectionContent("planted", title, title, [lead, TableContent(title, heads, table), *note])
