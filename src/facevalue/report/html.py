"""Renders a report as one file that needs no network and runs no foreign code."""

import base64
import hashlib
from collections.abc import Iterable
from functools import cache
from importlib.resources import files
from pathlib import Path

from jinja2 import Environment, PackageLoader, StrictUndefined
from markupsafe import Markup

from facevalue.report import words
from facevalue.report.data import Example, ReportData
from facevalue.report.headline import Headline, Outcome, headline
from facevalue.report.judged import how_judged
from facevalue.report.numbers import POOLED, Numbers
from facevalue.report.pictures import data_uri
from facevalue.report.trust import KINDS, cards
from facevalue.report.view import View
from facevalue.stimuli.base import Kind
from facevalue.store.files import write_whole

SECTIONS = (
    ("answer", "Answer"),
    ("trust", "How far to trust it"),
    ("cues", "Strongest cues"),
    ("groups", "Cues by group"),
    ("scenarios", "Scenarios"),
    ("faces", "Base faces"),
    ("concentration", "Concentration"),
    ("models", "Models"),
    ("missing", "Answers missing"),
    ("asked", "What was asked"),
    ("definitions", "Definitions"),
)
"""Identifiers and titles of the sections, in order."""
_MOST_EXAMPLES = 12


def render(data: ReportData) -> str:
    """Render a report as HTML.

    Parameters
    ----------
    data:
        Everything it shows; untrusted texts are escaped, untrusted pictures decoded and written anew.
    """
    numbers = Numbers(data.estimates, [run.model for run in data.runs])
    titles = words.Titles(data.study.name, data.titles)
    view = View(numbers, titles, data.study.measures)
    answer = headline(numbers, titles, numbers.primary)
    style, script = _asset("style.css"), _asset("script.js")
    return _environment().get_template("report.html.j2").render(
        data=data,
        view=view,
        titles=titles,
        numbers=numbers,
        model=numbers.primary,
        answer=answer,
        verdict_class=_verdict_class(answer),
        who=_who(numbers),
        cards=cards(data, numbers, titles),
        judged=how_judged(data, numbers),
        kind_note=_kind_note(data.kind),
        examples=[_example(e, titles) for e in data.examples[:_MOST_EXAMPLES]],
        methods=_methods(numbers),
        sections=SECTIONS,
        style=Markup(style),  # noqa: S704 our own file
        script=Markup(script),  # noqa: S704 our own file
        policy=_policy(style, script),
        words=words,
        POOLED=POOLED,
        shown_setting=words.shown_setting,
    )  # fmt: skip


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
    names = {Outcome.FOUND: "found", Outcome.EQUIVALENT: "equal", Outcome.NOTHING: "nothing"}
    return names.get(answer.verdict, "unknown")


def _who(numbers: Numbers) -> str:
    models = numbers.models
    if len(models) > 3:
        return f"{len(models)} models"
    return " and ".join(filter(None, [", ".join(models[:-1]), models[-1] if models else "no model"]))


def _kind_note(kind: Kind) -> str:
    return "" if kind is Kind.PHOTOGRAPHS else KINDS[kind][1]


def _example(example: Example, titles: words.Titles) -> dict[str, object]:
    shift = None
    if example.base_phi is not None and example.variant_phi is not None:
        shift = example.variant_phi - example.base_phi
    return {
        "it": example,
        "base": data_uri(example.base_image),
        "variant": data_uri(example.variant_image),
        "cue": titles.variation(example.attribute, example.variation),
        "attribute": titles.get("attribute", example.attribute),
        "scenario": titles.poles(example.scenario),
        "base_phi": _phi(example.base_phi),
        "variant_phi": _phi(example.variant_phi),
        "shift": words.NOT_MEASURABLE if shift is None else words.number(shift, "probability", signed=True),
    }


def _phi(value: float | None) -> str:
    return words.NOT_MEASURABLE if value is None else words.number(value, "probability")


def _methods(numbers: Numbers) -> list[str]:
    found: Iterable[str | None] = (e.method for e in numbers.everything())
    return sorted({method for method in found if method})
