"""Reports: one HTML file that holds the whole audit, the same as JSON, and a summary for the terminal."""

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
