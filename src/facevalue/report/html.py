"""HTML reports: one file that needs no network and runs no foreign code."""

import base64
import hashlib
import json
from collections.abc import Sequence
from functools import cache
from importlib.resources import files
from pathlib import Path
from typing import Any

import polars as pl
from jinja2 import Environment, PackageLoader, StrictUndefined
from markupsafe import Markup

from facevalue.measures.intervals import describe_method
from facevalue.protocol.lookup import EstimateIndex
from facevalue.report import formatting, glossary
from facevalue.report.blocks.as_json import page_json
from facevalue.report.built import built
from facevalue.report.checks import Card, CardStatus, kind_cautions, planted
from facevalue.report.compared_table import HEADS, table_rows
from facevalue.report.data import ReportData
from facevalue.report.first_facts import facts_of, in_a_line
from facevalue.report.folds import folds
from facevalue.report.headline import Headline, HeadlineKind
from facevalue.report.markup import unbroken
from facevalue.report.pictures import data_uri
from facevalue.store.files import write_whole

_GRAVE = (CardStatus.CAUTION, CardStatus.PROBLEM)
THUMBNAIL = 112
"""Longest side of a picture of the first screen in pixels."""
LAST = (("interventions", "Changes by interventions"), ("asked", "What was asked"), ("definitions", "Definitions"))
"""Sections that follow a study's own."""


def render(data: ReportData) -> str:
    """Render a report as HTML.

    `data`: everything it shows; untrusted texts are escaped, untrusted pictures decoded and written anew.
    """
    return _rendered("report.html.j2", data)


def first_screen(data: ReportData) -> str:
    """Render what stands first in a report, as a page of its own without scripts."""
    return _rendered("first_screen_alone.html.j2", data)


def _rendered(template: str, data: ReportData) -> str:
    ready_page = built(data)
    numbers, cautions = ready_page.view.numbers, cautions_of(data)
    return rendered(
        template,
        data=data,
        generated=data.generated,
        page=ready_page.page,
        titles=ready_page.view.titles,
        answer=ready_page.answer,
        passages=ready_page.passages,
        verdict_class=verdict_class(ready_page.answer),
        who=_who(numbers),
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
        glossary=glossary.TERMS,
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


def rendered(template: str, *, further_style: str = "", **values: Any) -> str:
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
    return html.replace("<!--definitions-->", glossary.definitions(html), 1)


def write(path: Path, data: ReportData) -> None:
    """Render a report and put it in place whole or not at all.

    `path`: where; an older report there is replaced. `data`: everything it shows.
    """
    write_whole(path, render(data).encode())


def as_json(data: ReportData) -> str:
    """Everything that a report shows of estimates, as JSON; see docs/reference/report.md."""
    return json.dumps(page_json(built(data)), ensure_ascii=False, allow_nan=False, indent=1)


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
    environment.filters["readable"] = glossary.readable
    environment.filters["unbroken"] = unbroken
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


def _who(numbers: EstimateIndex) -> str:
    models = numbers.plain
    if len(models) > 3:
        return f"{len(models)} models"
    return " and ".join(filter(None, [", ".join(models[:-1]), models[-1] if models else "no model"]))


def _trust(cards: Sequence[Card]) -> str:
    """Say how many checks have a warning, and which."""
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
    return [*kind_cautions([data.kind]), *(card.note for card in planted(data.runs, data.kind))]


def _methods(numbers: EstimateIndex) -> list[str]:
    pairs = numbers.frame.select("method", "detail").unique().iter_rows()
    return sorted({describe_method(*pair) for pair in pairs} - {""})
