"""HTML reports: one file that needs no network and runs no foreign code."""

import base64
import hashlib
import json
import re
import tomllib
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime
from functools import cache
from importlib.resources import files
from pathlib import Path
from typing import Any

import polars as pl
from jinja2 import Environment, PackageLoader, StrictUndefined
from markupsafe import Markup

from facevalue.measures.caveats import counted_caveats
from facevalue.measures.intervals import describe_method
from facevalue.measures.verdicts import Verdict
from facevalue.protocol.lookup import Estimate, EstimateIndex
from facevalue.report import formatting
from facevalue.report.blocks.content import (
    Bars,
    Content,
    Figure,
    HeatContent,
    Lines,
    PartContent,
    SectionContent,
    SideContent,
    StripsContent,
    TableCell,
    TableContent,
    TableHead,
    TextContent,
    data_uri,
)
from facevalue.report.data import ReportData
from facevalue.report.formatting import keep_on_line
from facevalue.report.page_builder import build_page, page_json
from facevalue.report.sections.checks import Card, CardStatus, kind_cautions, planted_bias_card
from facevalue.report.sections.findings import HEADS, table_rows
from facevalue.report.sections.first_screen import facts_of, in_a_line
from facevalue.report.sections.headline import Headline, HeadlineKind
from facevalue.runs.stored_run import StoredRun
from facevalue.store.files import write_whole

# Words that not everyone knows: what each means, and where a page explains it.


@dataclass(frozen=True, slots=True)
class Term:
    """A word of a page, what it means in plain language, and how it is written in texts."""

    name: str
    meaning: str
    written: str
    """Regular expression of the ways in which it is written, without regard to case."""

    @property
    def id(self) -> str:
        """Anchor of its definition."""
        return f"term-{re.sub(r'[^a-z0-9]+', '-', self.name.lower()).strip('-')}"


_FILE = files("facevalue.report").joinpath("templates", "glossary.toml")
TERMS = tuple(
    Term(entry["name"], " ".join(entry["meaning"].split()), entry["written"])
    for entry in tomllib.loads(_FILE.read_text(encoding="utf-8"))["term"]
)
"""Words that are explained where a section first uses them."""
_WRITTEN = "|".join(f"(?P<t{place}>{term.written})" for place, term in enumerate(TERMS)).replace("'", "(?:'|&#39;)")
_WORD = re.compile(rf"(?<![\w'-])(?:{_WRITTEN})(?![\w-])", re.IGNORECASE)
_OURS = re.compile(
    r'(?<!<blockquote tabindex="0">)(<p(?: class="[^"]*")?>|<th scope="col">)(.*?)(?=</p>|</th>)', re.DOTALL
)
"""Paragraphs and heads of tables that we wrote; replies stand in quotations."""
_TAG = re.compile(r"(<[^>]*>)")
_HEADING = re.compile(r"<(/?)h([34])\b")


def explain_terms(html: str) -> Markup:
    """A section with the first use of each term as a button that shows what it means.

    Examples
    --------
    >>> str(explain_terms("<p>A floor, a floor.</p>")).partition("<button ")[2]
    'type="button" class="term" popovertarget="term-noise-floor">floor</button>, a floor.</p>'
    """
    seen: set[str] = set()

    def mark_term(match: re.Match[str]) -> str:
        term = TERMS[int((match.lastgroup or "t0")[1:])]
        if term.id in seen:
            return match[0]
        seen.add(term.id)
        return f'<button type="button" class="term" popovertarget="{term.id}">{match[0]}</button>'

    def paragraph(match: re.Match[str]) -> str:
        pieces = _TAG.split(match[2])
        return match[1] + "".join(_WORD.sub(mark_term, p) if i % 2 == 0 else p for i, p in enumerate(pieces))

    return Markup(_OURS.sub(paragraph, html))  # noqa: S704 only buttons are added to what was escaped


def step_headings(html: str) -> Markup:
    """A section whose headings go down one level at a time, however deep its blocks say they are.

    Examples
    --------
    >>> step_headings("<h4>One</h4><h4>Two</h4><h3>Three</h3><h4>Four</h4>")
    Markup('<h3 class="minor">One</h3><h3 class="minor">Two</h3><h3>Three</h3><h4>Four</h4>')
    """
    has_third = False

    def heading(match: re.Match[str]) -> str:
        nonlocal has_third
        has_third |= match[2] == "3"
        if has_third:
            return match[0]
        return "</h3" if match[1] else '<h3 class="minor"'

    return Markup(_HEADING.sub(heading, html))  # noqa: S704 only levels of headings are changed


def finish_section(html: str) -> Markup:
    """A section as a page shows it."""
    return explain_terms(step_headings(html))


def definitions(html: str) -> Markup:
    """The definitions of the terms that a page's buttons show."""
    definition = Markup('<div popover id="{}" class="definition"><b>{}.</b> {}</div>')
    used = (term for term in TERMS if f'popovertarget="{term.id}"' in html)
    return Markup("\n").join(definition.format(term.id, term.name, term.meaning) for term in used)


# Sections that fold to their heading and one sentence.


_FIRST = re.compile(r"(?<=[.!?])\s+(?=[^a-z(])")
"""Where a sentence ends and the next one begins."""


@dataclass(frozen=True, slots=True)
class FoldedSection:
    """A section as it is shown: its heading and its sentence in sight, its contents below them when it is open."""

    id: str
    heading: str
    sentence: str
    contents: Sequence[Content]
    open: bool = False


def folds(sections: Sequence[SectionContent]) -> list[FoldedSection]:
    """FoldedSection sections, all but the first."""
    return [_fold(section, is_first=place == 0) for place, section in enumerate(sections)]


def _fold(section: SectionContent, *, is_first: bool) -> FoldedSection:
    """Take the sentence of a section from the text that it begins with; how much was found in it follows."""
    sentence, contents = "", list(section.contents)
    if contents and isinstance(contents[0], TextContent) and contents[0].how in ("lead", "empty"):
        sentence, *more = _FIRST.split(contents[0].text, maxsplit=1)
        contents[:1] = [replace(contents[0], text=text) for text in more]
    return FoldedSection(
        section.id, section.heading, f"{sentence} {count_findings(section.contents)}".strip(), contents, is_first
    )


def count_findings(contents: Sequence[Content]) -> str:
    """Sentence on the number of comparisons in which some contents show a difference; empty without comparisons."""
    estimates = {(e.measure, e.model, frozenset(e.labels.items())): e for c in contents for e in shown_in(c)}
    compared = [e for e in estimates.values() if e.verdict is not None]
    judged = [e for e in compared if e.verdict != Verdict.NOT_MEASURABLE]
    caveats = [e.caveat for e in judged if e.verdict == Verdict.DIFFERENCE]
    differing, unless = len(caveats), counted_caveats(caveats)
    if compared and not judged:
        return "No comparison can be judged."
    if len(judged) == 1:
        return f"A difference was found{unless}." if differing else "No difference was found in the one comparison."
    return f"A difference was found in {differing or 'none'} of {len(judged):,}{unless}." if judged else ""


def shown_in(content: Content) -> Iterator[Estimate]:
    """Go through the estimates that a content shows, each as often as it stands there."""
    match content:
        case StripsContent() | Lines() | Bars():
            yield from (row.of for row in content.rows if row.of is not None)
        case Figure():
            yield from content.rows
        case HeatContent() | TableContent():
            rows = content.rows if isinstance(content, TableContent) else [row.cells for row in content.rows]
            yield from (cell.of for cells in rows for cell in cells if cell.of is not None)
        case PartContent() | SideContent():
            for inner in content.contents:
                yield from shown_in(inner)
        case _:
            return


_GRAVE = (CardStatus.CAUTION, CardStatus.PROBLEM)
THUMBNAIL = 112
"""Longest side of a picture of the first screen in pixels."""
LAST = (("interventions", "Changes by interventions"), ("asked", "What was asked"), ("definitions", "Definitions"))
"""Sections that follow a study's own."""


def render(data: ReportData) -> str:
    """Render a report as HTML.

    `data`: everything it shows; untrusted texts are escaped, untrusted pictures decoded and written anew.
    """
    return _render_report("report.html.j2", data)


def first_screen(data: ReportData) -> str:
    """Render what stands first in a report, as a page of its own without scripts."""
    return _render_report("first_screen_alone.html.j2", data)


def _render_report(template: str, data: ReportData) -> str:
    ready_page = build_page(data)
    numbers, cautions = ready_page.view.numbers, cautions_of(data)
    return render_template(
        template,
        data=data,
        generated=data.generated,
        page=ready_page.page,
        titles=ready_page.view.titles,
        answer=ready_page.answer,
        passages=ready_page.passages,
        verdict_class=verdict_class(ready_page.answer),
        who=_model_names(numbers),
        question=data.question,
        about=ready_page.page.asked(ready_page.view) if callable(ready_page.page.asked) else ready_page.page.asked,
        facts=facts_of(data),
        prompt=in_a_line(data.question.prompt) if data.question else "",
        thumbnails=thumbnails(data, THUMBNAIL),
        chart=ready_page.chart,
        steps=ready_page.steps,
        compared=(HEADS, [] if ready_page.chart is None else table_rows(ready_page.comparisons)),
        grave=[card for card in ready_page.cards if card.status in _GRAVE and card.note not in cautions],
        fine=[card for card in ready_page.cards if card.status not in _GRAVE],
        judged=ready_page.judged,
        cautions=cautions,
        methods=_methods(numbers),
        floored=set(numbers.frame.filter(pl.col("floor").is_not_null())["measure"].unique()),
        folded=folds(ready_page.sections),
        trust=_trust(ready_page.cards),
        glossary=TERMS,
        changed=ready_page.changed,
        many=len(ready_page.view.models) > 1,
        between=data.between,
        reference=data.names.get(data.between.first, data.between.first),
        differences=ready_page.differences,
        sections=[
            ("trust", "How far to trust it"),
            *((section.id, section.title) for section in ready_page.sections),
            *_models(data),
            *LAST,
        ],
        words=formatting,
        shown_setting=formatting.shown_setting,
    )  # fmt: skip


def thumbnails(data: ReportData, longest: int) -> list[tuple[str, str]]:
    """Pictures beside a study's question as small data URIs, each with its caption; `longest`: side in pixels."""
    pictures = data.question.pictures if data.question else ()
    return [(caption, uri) for caption, picture in pictures if (uri := data_uri(picture, longest)) is not None]


def render_template(template: str, *, further_style: str = "", **values: Any) -> str:
    """Render a template with the style and script of all pages; untrusted texts are escaped.

    `further_style`: a file of more style.
    """
    style = _asset("style.css") + (_asset(further_style) if further_style else "")
    script = _asset("script.js")
    html = environment().get_template(template).render(
        **values,
        style=Markup(style),  # noqa: S704 our own files
        script=Markup(script),  # noqa: S704 our own files
        policy=_content_policy(style, script),
    )  # fmt: skip
    return html.replace("<!--definitions-->", definitions(html), 1)


def write(path: Path, data: ReportData) -> None:
    """Render a report and put it in place whole or not at all.

    `path`: where; an older report there is replaced. `data`: everything it shows.
    """
    write_whole(path, render(data).encode())


def as_json(data: ReportData) -> str:
    """Content of a report about estimates, as JSON; see docs/reference/report.md."""
    return json.dumps(page_json(build_page(data)), ensure_ascii=False, allow_nan=False, indent=1)


def write_json(path: Path, data: ReportData) -> None:
    """Write the JSON of a report, whole or not at all."""
    write_whole(path, as_json(data).encode())


@cache
def environment() -> Environment:
    """Templates of reports, with every text escaped."""
    environment = Environment(
        loader=PackageLoader("facevalue.report"),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    environment.filters["readable"] = finish_section
    environment.filters["unbroken"] = keep_on_line
    return environment


@cache
def _asset(name: str) -> str:
    """Style or script of reports."""
    return files("facevalue.report").joinpath("templates", name).read_text(encoding="utf-8")


def _content_policy(style: str, script: str) -> str:
    """A policy under which only our own style and script run, and nothing is fetched."""

    def digest(text: str) -> str:
        return "sha256-" + base64.b64encode(hashlib.sha256(text.encode()).digest()).decode("ascii")

    return (
        f"default-src 'none'; img-src data:; style-src '{digest(style)}'; script-src '{digest(script)}'; "
        "base-uri 'none'; form-action 'none'"
    )


def verdict_class(answer: Headline) -> str:
    """Class of an answer in the style of pages."""
    names = {
        HeadlineKind.FOUND: "found",
        HeadlineKind.EQUIVALENT: "equal",
        HeadlineKind.NOTHING: "nothing",
        HeadlineKind.TOO_FEW: "nothing",
        HeadlineKind.DESCRIBED: "nothing",
    }
    return names.get(answer.verdict, "unknown")


def _model_names(numbers: EstimateIndex) -> str:
    models = numbers.plain
    if len(models) > 3:
        return f"{len(models)} models"
    return " and ".join(filter(None, [", ".join(models[:-1]), models[-1] if models else "no model"]))


def _trust(cards: Sequence[Card]) -> str:
    """Number of checks with a warning, and their titles, in words."""
    grave = [card.title for card in cards if card.status in _GRAVE]
    warned = f"{len(grave)} of {len(cards)} checks {'has' if len(grave) == 1 else 'have'} a warning"
    return (
        f"{warned}: {'; '.join(grave)}.".replace("?.", "?") if grave else f"None of {len(cards)} checks has a warning."
    )


def _models(data: ReportData) -> list[tuple[str, str]]:
    """The section that compares models, where there are several."""
    between = data.between.others or data.between.why_none
    return [("between-models", "Differences between models")] if between else []


def cautions_of(data: ReportData) -> list[str]:
    """Return notes that must be read with the answer: on the pictures, and on models whose bias is known."""
    return [*kind_cautions([data.kind]), *(card.note for card in planted_bias_card(data.runs, data.kind))]


def _methods(numbers: EstimateIndex) -> list[str]:
    pairs = numbers.frame.select("method", "detail").unique().iter_rows()
    return sorted({describe_method(*pair) for pair in pairs} - {""})


# Plain pages: an answer and sections of the blocks that all pages are made of, such as of runs that are compared.


@dataclass(frozen=True, slots=True)
class PlainPage:
    """A page of its own."""

    title: str
    subject: str
    """What it is of, after the title."""
    kicker: str
    """Kind of answer, such as "Difference found"."""
    answer: str
    more: Sequence[str]
    """What stands below the answer, smaller."""
    sections: Sequence[FoldedSection]
    kind: str = "nothing"
    """Style of the answer: "found", "equal" or "nothing"."""
    notes: Sequence[str] = ()
    """What readers should be prepared to see, or must know beside the answer."""
    generated: datetime = field(default_factory=lambda: datetime.now(UTC))


def write_page(path: Path, page: PlainPage) -> None:
    """Write a page as one HTML file that needs no network."""
    write_whole(path, render_page(page).encode())


def render_page(page: PlainPage) -> str:
    """HTML of a page; texts are escaped."""
    return render_template("plain_page.html.j2", page=page, generated=page.generated)


def page_cautions(runs: Sequence[StoredRun]) -> list[str]:
    """Cautions for readers of a page on runs of one study: its content, and what to know of its pictures."""
    note = runs[0].study.about.content_note
    return [*([note] if note else []), *kind_cautions(run.study.source.kind for run in runs)]


def text_table(
    title: str, heads: Sequence[str], rows: Sequence[Sequence[str]], *, numbers: bool = True
) -> TableContent:
    """A table of texts; columns after the first hold numbers, if they all look so and `numbers` may be in it."""
    are_numbers = [numbers and at > 0 and all(_is_number(row[at]) for row in rows) for at in range(len(heads))]
    return TableContent(
        title,
        tuple(TableHead(head, number=number, sort=False) for head, number in zip(heads, are_numbers, strict=True)),
        [tuple(TableCell(text) for text in row) for row in rows],
    )


def _is_number(text: str) -> bool:
    return text[:1] in "+−–[0123456789" or not text
