"""Reports: one HTML file that holds the whole audit, the same as JSON, and a summary for the terminal."""

from typing import TYPE_CHECKING

from facevalue.lazy_names import lazy_names

if TYPE_CHECKING:
    from facevalue.report.data import (
        Album,
        DataStatement,
        Example,
        PairExample,
        PromptExample,
        ReportData,
        RunFacts,
        Sentence,
        StudyFacts,
    )
    from facevalue.report.html import as_json, render, write, write_json
    from facevalue.report.terminal import summary

__all__ = [
    "Album",
    "DataStatement",
    "Example",
    "PairExample",
    "PromptExample",
    "ReportData",
    "RunFacts",
    "Sentence",
    "StudyFacts",
    "as_json",
    "render",
    "summary",
    "write",
    "write_json",
]

__getattr__, __dir__ = lazy_names(
    __name__,
    {
        "facevalue.report.data": (
            "Album",
            "DataStatement",
            "Example",
            "PairExample",
            "PromptExample",
            "ReportData",
            "RunFacts",
            "Sentence",
            "StudyFacts",
        ),
        "facevalue.report.html": ("as_json", "render", "write", "write_json"),
        "facevalue.report.terminal": ("summary",),
    },
)
