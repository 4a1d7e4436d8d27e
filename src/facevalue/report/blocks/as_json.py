"""Pages as JSON: sections, blocks and rows with their labels and numbers; what is not measurable is null."""

from collections.abc import Mapping
from typing import Any

from facevalue.measures.caveats import caveat_of
from facevalue.protocol.lookup import Estimate
from facevalue.report.blocks import content as ready
from facevalue.report.page_builder import Built

VERSION = 1
_NUMBERS = (
    "value", "low", "high", "level", "n", "clusters", "p", "q", "q_page", "page_low", "page_high", "page_level",
    "floor", "floor_high", "mde", "margin", "bound_low", "bound_high",
)  # fmt: skip
_WORDS = ("unit", "family", "kind", "verdict", "why", "method", "detail", "source")
"""Columns of an estimate that stand in the JSON under their own names."""

Data = dict[str, Any]


def page_json(page: Built) -> Data:
    """Content of a report about estimates, as JSON; see docs/reference/report.md."""
    answer = page.answer
    return {
        "facevalue_page": VERSION,
        "models": list(page.view.models),
        "headline": {
            "outcome": answer.verdict.value,
            "caveat": answer.caveat,
            "sentence": answer.sentence,
            "more": list(answer.more),
        },
        "strongest": [] if page.chart is None else list(map(content_json, page.chart.panels)),
        "next": [{"text": step.text, "section": step.anchor} for step in page.steps],
        "cards": [
            {"name": c.name, "title": c.title, "status": c.status.value, "value": c.value, "note": c.note,
             "lines": list(c.lines)}
            for c in page.cards
        ],
        "sections": [
            {"id": s.id, "title": s.title, "heading": s.heading, "blocks": list(map(content_json, s.contents))}
            for s in page.sections
        ],
        "interventions": [
            {"model": c.model, "intervention": c.title, "missing": c.missing, "tested": c.tested, "found": c.found}
            for c in page.changed
        ],
        "models_compared": page.differences_json,
    }  # fmt: skip


def content_json(content: ready.Content) -> Data:
    """A block, with everything in it."""
    return {"kind": content.kind, **_fields(content)}


def _fields(content: ready.Content) -> Data:
    match content:
        case ready.TextContent():
            return {"text": content.text, "how": content.how, "note": content.note}
        case ready.Facts():
            return {"items": list(content.items)}
        case ready.StripsContent():
            rows = [{"label": r.label, "note": r.note, **estimate_json(r.of)} for r in content.rows]
            return {"title": content.title, "first": content.first, "what": content.what, "rows": rows}
        case ready.Lines():
            rows = [{"texts": list(r.labels), **estimate_json(r.of)} for r in content.rows]
            return {"title": content.title, "heads": list(content.heads), "rows": rows}
        case ready.HeatContent():
            rows = [
                {"section": r.section, "label": r.label, "cells": [_estimate_or_none(c.of) for c in r.cells]}
                for r in content.rows
            ]
            columns = [title for title, _ in content.columns]
            return {"title": content.title, "first": content.first, "columns": columns, "rows": rows}
        case ready.GridContent():
            rows = [{"row": row, "column": column, **_row(cell)} for row, column, cell in content.values]
            return {"title": content.title, "scale": content.scale, "rows": rows}
        case ready.Bars():
            rows = [
                {"label": r.label, "parts": [{"part": name, **estimate_json(e)} for name, e in r.parts],
                 "beside": _estimate_or_none(r.of)}
                for r in content.rows
            ]  # fmt: skip
            return {
                "title": content.title,
                "what": content.what,
                "legend": {k.letter: k.text for k in content.keys},
                "rows": rows,
            }
        case ready.Figure():
            return {"title": content.title, "words": content.words, "rows": list(map(estimate_json, content.rows))}
        case ready.TableContent():
            table = [[_cell(cell) for cell in row] for row in content.rows]
            return {"title": content.title, "heads": [head.text for head in content.heads], "rows": table}
        case ready.Panels():
            return {
                "panels": [
                    {"title": p.title, "legend": {k.letter: k.text for k in p.keys}, "heads": list(p.heads),
                     "rows": [{"label": name, "marks": [text or None for _, text in marks]} for name, marks in p.rows]}
                    for p in content.panels
                ]
            }  # fmt: skip
        case ready.PictureRow():
            replies = [p.reply for p in content.pictures if p.reply]
            return {"title": content.title, "captions": [p.caption for p in content.pictures]} | (
                {"replies": replies} if replies else {}
            )
        case ready.AnswersContent():
            return {
                "answers": [
                    {"title": a.title, "finding": a.finding, "model": a.model, "prompt": a.prompt,
                     "options": list(a.options), "replies": [{"reply": s[2], "choice": s[3]} for s in a.sides]}
                    for a in content.items
                ]
            }  # fmt: skip
        case ready.PartContent():
            return {"title": content.title, "note": content.note, "blocks": list(map(content_json, content.contents))}
        case ready.SideContent():
            return {"blocks": list(map(content_json, content.contents))}


def estimate_json(e: Estimate) -> Data:
    """An estimate: measure, model, labels and numbers; null is not measurable, or not taken."""
    labels = {name: level for name, level in e.labels.items() if level is not None}
    return {
        "measure": e.measure,
        "model": e.model,
        "labels": labels,
        **{name: getattr(e, name) for name in (*_NUMBERS, *_WORDS)},
        "caveat": e.caveat,
    }


def _estimate_or_none(e: Estimate | None) -> Data | None:
    return None if e is None else estimate_json(e)


def _row(cell: Mapping[str, object]) -> Data:
    return {
        **{name: cell[name] for name in ("measure", "model", *_NUMBERS, *_WORDS) if name in cell},
        "caveat": caveat_of(str(cell.get("why") or "")),
    }


def _cell(cell: ready.TableCell) -> Data:
    text = "".join(piece for piece, _ in cell.marked) or cell.text
    return {"text": " ".join([text, cell.small, *cell.below]).strip(), "estimate": _estimate_or_none(cell.of)}
