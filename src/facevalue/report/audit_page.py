"""Page of an audit: the answer of each study first, linked to its full report, then what was asked and left out."""

import json
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from pathlib import Path

from facevalue import __version__
from facevalue.errors import DataError, RunError
from facevalue.measures.caveats import add_caveat
from facevalue.places import folder_or_url, is_url
from facevalue.printable import finite
from facevalue.protocol.study import LeftOut, by_reason
from facevalue.report import formatting
from facevalue.report.collect import report
from facevalue.report.html import render_template, thumbnails, verdict_class
from facevalue.report.page_builder import Built, build_page
from facevalue.report.profile import Profile, profile_of
from facevalue.report.profile.page import head, profile_tables
from facevalue.report.profile.page import profile_answer as sentences_of
from facevalue.report.sections.findings import upper
from facevalue.report.sections.first_screen import facts_of
from facevalue.report.sections.headline import HeadlineKind
from facevalue.runs.audits.folder import RUNS, AuditRecord
from facevalue.runs.audits.plan import budget_of
from facevalue.runs.settings import requests_saved
from facevalue.runs.storage.mirror import REPORT, publish_file
from facevalue.runs.stored_run import StoredRun
from facevalue.store.files import write_placed, write_whole

PROFILE = "profile.json"
THUMBNAIL = 96
"""Longest side of a picture in pixels."""


@dataclass(frozen=True, slots=True)
class StudyAnswer:
    """Answer of a study of an audit.

    Attributes
    ----------
    name, title, note:
        Of the study; the note says what readers should be prepared to see.
    report:
        Its full report, relative to the page; empty where none could be written.
    verdict, sentence, more:
        As its own page has them; where there is no page, the sentence says why.
    next_steps:
        What to do next: whether there is enough to decide by, and reasons to doubt.
    facts:
        How many people, pictures and answers there are, and when these were given.
    caveat:
        What else could explain all that was found; empty for nothing.
    kind:
        Class of the verdict in the style of pages.
    pictures:
        Up to three that were shown, as data.
    enough, saved:
        What was known when the rule to stop by ended its run, and how many requests were not asked for it.
    dealt:
        Those of them that went to the studies after it.
    is_measured:
        Whether any reply had a valid answer.
    """

    name: str
    title: str
    note: str
    report: str
    verdict: str
    sentence: str
    more: tuple[str, ...] = ()
    next_steps: tuple[str, ...] = ()
    facts: tuple[str, ...] = ()
    caveat: str = ""
    kind: str = "unknown"
    pictures: tuple[tuple[str, str], ...] = ()
    enough: str = ""
    saved: int = 0
    dealt: int = 0
    is_measured: bool = False

    @property
    def heading(self) -> str:
        """The verdict with its caveat, as a title."""
        return upper(add_caveat(self.verdict, self.caveat))


@dataclass(frozen=True, slots=True)
class AuditReport:
    """Report of an audit.

    Attributes
    ----------
    path:
        The page; one of an audit in object storage lies in the cache, and at its URL.
    answers:
        Of each study that was asked, those with findings at the level of all studies first.
    left_out:
        Studies that were not, and why.
    profile:
        What holds among all comparisons of all studies, judged at one level, in a few sentences; empty where no study
        has a valid answer.
    """

    path: Path
    answers: tuple[StudyAnswer, ...]
    left_out: tuple[LeftOut, ...]
    profile: tuple[str, ...] = ()

    @property
    def saved_requests(self) -> int:
        """Requests that were not asked, of any study, as enough was known without them."""
        return sum(answer.saved - answer.dealt for answer in self.answers)


def write_audit_report(place: Path | str, record: AuditRecord, runs: Mapping[str, StoredRun]) -> AuditReport:
    """Write the report of each study of an audit, and one page of all of them.

    Parameters
    ----------
    place:
        The audit's folder or URL.
    record:
        What is asked.
    runs:
        Its runs that have begun, by name, in order.
    """
    dealt = {study.name: study.dealt for study in record.studies}
    answers = tuple(replace(_answer(name, run), dealt=dealt.get(name, 0)) for name, run in runs.items())
    profile = _profile(answers, runs)
    answers = _order_studies(answers, profile)
    html = audit_page(record, answers, profile).encode()
    files = {REPORT: html} | ({} if profile is None else {PROFILE: _profile_json(profile).encode()})
    if is_url(place):
        mirror = next(iter(runs.values())).folder
        path = mirror.with_name(f"audit-{mirror.name}.html")
        write_whole(path, html)
    else:
        path = Path(place) / REPORT
    for name, data in files.items():
        write_placed(folder_or_url(place), name, data)
    return AuditReport(path, answers, record.left_out, () if profile is None else tuple(sentences_of(profile)))


def audit_page(record: AuditRecord, answers: Sequence[StudyAnswer], profile: Profile | None = None) -> str:
    """Render the page of an audit as HTML; texts of others are escaped."""
    return render_template(
        "audit.html.j2",
        further_style="profile.css",
        profile=None if profile is None else head(profile),
        sentences=[] if profile is None else sentences_of(profile),
        record=record,
        budget=budget_of(record.budget).text if record.budget else "",
        answers=answers,
        left_out=by_reason(record.left_out),
        generated=datetime.now(UTC),
        version=__version__,
        words=formatting,
    )


def _order_studies(answers: Sequence[StudyAnswer], profile: Profile | None) -> tuple[StudyAnswer, ...]:
    """Order studies: those with most findings at the level of all first, those without an answer last."""
    findings = Counter(cell.study for cell in profile.found_cells) if profile is not None else Counter()
    return tuple(sorted(answers, key=lambda answer: (not answer.is_measured, -findings[answer.name])))


def _answer(name: str, run: StoredRun) -> StudyAnswer:
    """Write the report of a run, and take its answer."""
    about = run.study.about
    try:
        data = report([run], run.folder / REPORT).data
    except (DataError, RunError) as error:
        kind = HeadlineKind.NOT_ANSWERED if run.facts.end is None else HeadlineKind.NOT_MEASURABLE
        return StudyAnswer(name, about.title, about.content_note, "", kind.value, str(error))
    if run.url:
        publish_file(run.url, run.folder / REPORT)
    page = build_page(data)
    return StudyAnswer(
        name,
        about.title,
        about.content_note,
        f"{RUNS}/{name}/{REPORT}",
        page.answer.verdict.value,
        page.answer.sentence,
        page.answer.more,
        tuple(_steps(page)),
        tuple(facts_of(data)),
        page.answer.caveat,
        verdict_class(page.answer),
        tuple(thumbnails(data, THUMBNAIL)),
        run.facts.enough,
        requests_saved(run),
        is_measured=any(facts.valid for facts in data.runs),
    )


def _profile(answers: Sequence[StudyAnswer], runs: Mapping[str, StoredRun]) -> Profile | None:
    """Profile of all studies on the same groups; None where none has a valid answer."""
    measured = [runs[answer.name] for answer in answers if answer.is_measured]
    return profile_of(measured) if measured else None


def _profile_json(profile: Profile) -> str:
    """The profile for machines, as docs/how-to/profile.md describes it."""
    return json.dumps(finite({"answer": sentences_of(profile)} | profile_tables(profile)), ensure_ascii=False, indent=1)


def _steps(page: Built) -> list[str]:
    return [f"{step.text} {step.title}" if step.text.endswith(":") else step.text for step in page.steps]
