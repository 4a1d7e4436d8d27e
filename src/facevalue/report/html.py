"""Renders a report as one file that needs no network and runs no foreign code."""

import base64
import hashlib
from functools import cache
from importlib.resources import files
from pathlib import Path

from jinja2 import Environment, PackageLoader, StrictUndefined
from markupsafe import Markup

from facevalue.report import formatting
from facevalue.report.checks import KINDS, planted, self_check
from facevalue.report.data import ReportData
from facevalue.report.drift import drift_card
from facevalue.report.estimates import POOLED, EstimateIndex
from facevalue.report.headline import Headline, Outcome
from facevalue.report.judged import how_judged
from facevalue.report.page import StudyPage
from facevalue.report.sections import page_of
from facevalue.stimuli.base import Kind
from facevalue.store.files import write_whole

_LAST = (("asked", "What was asked"), ("definitions", "Definitions"))


def render(data: ReportData) -> str:
    """Render a report as HTML.

    Parameters
    ----------
    data:
        Everything it shows; untrusted texts are escaped, untrusted pictures decoded and written anew.
    """
    page = page_of(data.study.name)
    numbers = EstimateIndex(data.estimates, [run.model for run in data.runs], page.reading)
    titles = formatting.Titles(page.wording(), data.titles)
    answer = page.headline(numbers, titles, numbers.primary)
    style = "".join(_asset(name) for name in ("style.css", *page.assets) if name.endswith(".css"))
    script = "".join(_asset(name) for name in ("script.js", *page.assets) if name.endswith(".js"))
    return _environment().get_template("report.html.j2").render(
        data=data,
        page=page,
        titles=titles,
        numbers=numbers,
        many=len(numbers.models) > 1,
        model=numbers.primary,
        answer=answer,
        verdict_class=_verdict_class(answer),
        who=_who(numbers),
        cards=[*page.cards(data, numbers, titles), *drift_card(numbers, data.runs), *self_check(data.runs)],
        judged=how_judged(data, numbers),
        cautions=_cautions(data),
        methods=_methods(numbers),
        sections=sections(page),
        style=Markup(style),  # noqa: S704 our own files
        script=Markup(script),  # noqa: S704 our own files
        policy=_policy(style, script),
        words=formatting,
        POOLED=POOLED,
        shown_setting=formatting.shown_setting,
        **page.context(data, numbers, titles),
    )  # fmt: skip


def sections(page: StudyPage) -> list[tuple[str, str]]:
    """Identifiers and titles of a page's sections, in order."""
    own = ((section.id, section.title) for section in page.sections)
    return [("answer", "Answer"), ("trust", "How far to trust it"), *own, *_LAST]


def write(path: Path, data: ReportData) -> None:
    """Render a report and put it in place whole or not at all.

    Parameters
    ----------
    path:
        Where; an older report there is replaced.
    data:
        Everything it shows.

    Raises
    ------
    RunError
        The folder is not writable, or the disk is full.
    """
    write_whole(path, render(data).encode())


@cache
def _environment() -> Environment:
    return Environment(
        loader=PackageLoader("facevalue.report"),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )


@cache
def _asset(name: str) -> str:
    return files("facevalue.report").joinpath("templates", name).read_text(encoding="utf-8")


def _policy(style: str, script: str) -> str:
    """A policy under which only our own style and script run, and nothing is fetched."""

    def digest(text: str) -> str:
        return "sha256-" + base64.b64encode(hashlib.sha256(text.encode()).digest()).decode("ascii")

    return (
        f"default-src 'none'; img-src data:; style-src '{digest(style)}'; script-src '{digest(script)}'; "
        "base-uri 'none'; form-action 'none'"
    )


def _verdict_class(answer: Headline) -> str:
    names = {
        Outcome.FOUND: "found",
        Outcome.EQUIVALENT: "equal",
        Outcome.NOTHING: "nothing",
        Outcome.DESCRIBED: "nothing",
    }
    return names.get(answer.verdict, "unknown")


def _who(numbers: EstimateIndex) -> str:
    models = numbers.plain
    if len(models) > 3:
        return f"{len(models)} models"
    return " and ".join(filter(None, [", ".join(models[:-1]), models[-1] if models else "no model"]))


def _cautions(data: ReportData) -> list[str]:
    """What must be read with the answer: about the pictures, and about models whose bias is known."""
    pictures = [] if data.kind is Kind.PHOTOGRAPHS else [KINDS[data.kind][1]]
    return [*pictures, *(card.note for card in planted(data.runs, data.kind))]


def _methods(numbers: EstimateIndex) -> list[str]:
    return sorted(set(numbers.frame["method"].drop_nulls().unique()) - {""})
