"""Reports: one HTML file that holds the whole audit, and a summary for the terminal."""

from facevalue.report.data import (
    DataStatement,
    Example,
    Gallery,
    PairExample,
    PromptExample,
    ReportData,
    RunFacts,
    StudyFacts,
)
from facevalue.report.html import render, write
from facevalue.report.terminal import summary

__all__ = [
    "DataStatement",
    "Example",
    "Gallery",
    "PairExample",
    "PromptExample",
    "ReportData",
    "RunFacts",
    "StudyFacts",
    "render",
    "summary",
    "write",
]
