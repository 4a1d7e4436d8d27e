"""Whatever tells what was found of a row tells the caveat of that row: pages, terminal, JSON, profile, viewer, packs.

Each finding is planted with a caveat of its own, so that a surface which tells a finding, or counts it, must hold these
very words.
"""

import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from html import unescape
from io import StringIO
from pathlib import Path
from typing import Any

import polars as pl
import pytest
from hypothesis import HealthCheck, Phase, assume, given, settings
from hypothesis import strategies as st
from rich.console import Console, RenderableType

import facevalue as fv
from facevalue.api.run import Report
from facevalue.cli.actions.compare import _text as compared_text
from facevalue.cli.actions.profile import _profile_text as profile_text
from facevalue.cli.actions.profile import document as profile_document
from facevalue.limits import gate
from facevalue.limits.limits_file import stated_limits
from facevalue.limits.wording import as_markdown, explain_gate
from facevalue.measures.caveats import MISSING_CAVEAT, caveat_of, with_caveat
from facevalue.measures.verdicts import FOUND, SHOWN
from facevalue.packing.contents import _readme
from facevalue.packing.formats import card_section, cyclonedx, eval_results, every_eval_ever, model_index
from facevalue.packing.packed_runs import PackedRun
from facevalue.report import summary
from facevalue.report.audit_page import StudyAnswer
from facevalue.report.collect import collect_report
from facevalue.report.comparison_page import comparison_page
from facevalue.report.data import ReportData
from facevalue.report.html import render, render_template, shown_in
from facevalue.report.page_builder import Built, build_page, page_json
from facevalue.report.profile.page import profile_answer
from facevalue.report.profile.page import render as render_profile
from facevalue.report.profile.profile import judged_profile
from facevalue.report.sections.findings import findings
from facevalue.runs.comparisons.cells import BECAME
from facevalue.runs.comparisons.comparison import RunComparison, compare_all
from facevalue.runs.comparisons.model_differences import ModelDifferences
from facevalue.runs.joined_runs import StudyRuns
from facevalue.runs.kept_estimates import take_estimates
from facevalue.runs.stored_run import ReplyTally, StoredRun
from facevalue.view import open_runs
from facevalue.view.cell import cell_of
from facevalue.view.estimates import EstimateRows
from facevalue.view.head import lead
from facevalue.view.open_runs import OpenedRuns

OPEN, SURE, UNSURE, ALIKE = "open", "sure", "unsure", "alike"
"""What is planted: nothing found; found; found, and equivalent, each with a caveat of its own."""
patterns = st.lists(st.sampled_from([OPEN, SURE, UNSURE, ALIKE]), min_size=1, max_size=7).filter(lambda p: UNSURE in p)
few = settings(
    max_examples=3, deadline=None, derandomize=True, phases=[Phase.explicit, Phase.generate],
    suppress_health_check=list(HealthCheck),
)  # fmt: skip


class Measured:
    """A run with its estimates."""

    def __init__(self, run: StoredRun, estimates: pl.DataFrame, tally: ReplyTally) -> None:
        self.run, self.estimates, self.tally = run, estimates, tally

    def data(self, planted: pl.DataFrame) -> ReportData:
        return collect_report([self.run], planted, {str(self.run.folder): self.tally}).data


@pytest.fixture(scope="module")
def runs(tmp_path_factory: pytest.TempPathFactory) -> list[StoredRun]:
    folder = tmp_path_factory.mktemp("runs")
    study = fv.study("stylisticbias", faces="2M,2F", attributes=["eyewear"], scenario=["polite"], seeds=["1"])
    return [
        fv.run(study, f"sim/{name}", folder / name, progress=False).stored
        for name in ("strong@1", "strong@2")
    ]  # fmt: skip


@pytest.fixture(scope="module")
def measured(runs: list[StoredRun]) -> Measured:
    run = runs[0]
    estimates, tallies = take_estimates([run])
    return Measured(run, estimates, tallies[str(run.folder)])


@pytest.fixture(scope="module")
def compared(runs: list[StoredRun]) -> RunComparison:
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("facevalue.protocol.kept_answers.JACKKNIFE_GROUPS", 4)
        return compare_all(runs)


def planted(table: pl.DataFrame, pattern: Sequence[str], caveat: str = "unless cause {} explains it") -> pl.DataFrame:
    """A table of which each row that is compared is as the pattern says, in turns."""
    verdicts, whys = [], []
    is_compared = table.select(pl.col("verdict").is_not_null() & pl.col("low").is_not_null()).to_series()
    for at, (compared, verdict, why) in enumerate(zip(is_compared, table["verdict"], table["why"], strict=True)):
        kind = pattern[at % len(pattern)]
        alone = caveat.format(f"({at})")
        verdicts.append(
            verdict if not compared
            else {OPEN: "inconclusive", ALIKE: "equivalent within the margin"}.get(kind, "difference found")
        )  # fmt: skip
        whys.append(
            why if not compared
            else {
                OPEN: "Nothing.", SURE: FOUND, UNSURE: with_caveat(FOUND, "Found", alone, "It may."),
                ALIKE: with_caveat(SHOWN, "Ruled out", alone, "It may."),
            }[kind]
        )  # fmt: skip
    out = table.with_columns(pl.Series("verdict", verdicts, pl.String), pl.Series("why", whys, pl.String))
    if "caveat" in table.columns:
        out = out.with_columns(pl.Series("caveat", list(map(caveat_of, whys))))
    is_found = pl.col("verdict") == "difference found"
    numbers = {"margin": 0.01, "q_page": 0.001}
    known = {name: value for name, value in numbers.items() if name in table.columns}
    return out.with_columns(pl.when(is_found).then(pl.lit(value)).otherwise(name).alias(name)
                            for name, value in known.items())  # fmt: skip


def printed(shown: RenderableType | Iterator[RenderableType], width: int = 4000) -> str:
    out = StringIO()
    console = Console(file=out, width=width, no_color=True)
    for each in shown if isinstance(shown, Iterator) else [shown]:
        console.print(each)
    return out.getvalue()


def told(text: str, caveats: Sequence[str]) -> None:
    """Every caveat stands in the text, and no other one."""
    plain = unescape(text)
    missing = [caveat for caveat in caveats if caveat not in plain]
    assert not missing, f"{len(missing)} of {len(caveats)} caveats are not told, such as {missing[0]!r}: {plain[:600]}"


def of_findings(page: Built) -> list[str]:
    """Caveats of all that the first screen tells or counts."""
    comparisons = page.comparisons.of_model()
    of_same = [e for c in comparisons if c.coarser is None for e in c.equivalences]
    of_found = findings([*comparisons, *page.comparisons.without_answer(page.view.model)])
    return [e.caveat for e in (*(e for _, e in of_found), *of_same) if e.caveat]


def in_json(document: Any) -> Iterator[Mapping[str, Any]]:
    """Every row of a document that has a verdict and its reason."""
    if isinstance(document, Mapping):
        if "verdict" in document and "why" in document:
            yield document
        for value in document.values():
            yield from in_json(value)
    elif isinstance(document, (list, tuple)):
        for value in document:
            yield from in_json(value)


# What is planted is found where nothing is shortened


@few
@given(patterns)
def test_the_first_screen_and_all_that_repeats_it(measured: Measured, pattern: list[str]) -> None:
    data = measured.data(planted(measured.estimates, pattern))
    page = build_page(data)
    caveats = of_findings(page)
    assume(caveats)
    told(page.answer.sentence, caveats)
    told(Report(Path("report.html"), data)._repr_html_(), caveats)  # notebooks
    member = PackedRun("run", measured.run, data.estimates, measured.tally, data)
    told(card_section([member]), caveats)
    told(" ".join(" ".join(row) for row in _kinds(page)), [c for c in caveats if c in " ".join(_moved(page))])


def _kinds(page: Built) -> list[tuple[str, ...]]:
    from facevalue.report.sections.findings import table_rows

    return table_rows(page.comparisons)


def _moved(page: Built) -> list[str]:
    return [e.caveat for comparison in page.comparisons.of_model() for e in comparison.differences]


@few
@given(patterns)
def test_every_row_of_the_page_and_its_json(measured: Measured, pattern: list[str]) -> None:
    data = measured.data(planted(measured.estimates, pattern))
    page = build_page(data)
    contents = [content for section in page.sections for content in section.contents]
    contents += [] if page.chart is None else page.chart.panels
    shown = {e.caveat for content in contents for e in shown_in(content) if e.caveat}
    assert shown
    told(render(data), sorted(shown))
    document = page_json(page)
    rows = list(in_json(document))
    assert any(row["caveat"] for row in rows)
    assert all(row["caveat"] == caveat_of(row["why"]) for row in rows)


@pytest.mark.parametrize("width", [4000, 72])
def test_the_terminal_explains_every_mark_of_a_caveat(measured: Measured, width: int) -> None:
    table = planted(measured.estimates, [UNSURE, SURE])
    page = build_page(measured.data(table))
    text = " ".join(printed(summary(table, measured.run.measures, page=page.page), width).split())
    told(text, of_findings(page))
    assert "difference found" in text
    assert "* unless cause" in text


@few
@given(patterns)
def test_a_profile_tells_the_caveat_of_what_holds(measured: Measured, pattern: list[str]) -> None:
    table = planted(measured.estimates, pattern)

    class Together(StudyRuns):
        def judge_estimates(self, shares: pl.DataFrame) -> pl.DataFrame:
            return table

    profile = judged_profile([Together((measured.run,), (table,), (measured.tally,))], {})
    caveats = [cell.caveat for cell in (*profile.found_cells, *profile.on_page) if cell.caveat]
    assume(caveats)  # a pattern may plant none on what a profile compares
    told(
        " ".join(profile_answer(profile)), [c.caveat for c in profile.found_cells if c.caveat and c.column is not None]
    )
    told(render_profile(profile), caveats)
    told(printed(profile_text(profile, None)), caveats)
    rows = profile_document(profile, None).comparisons
    assert {row.caveat for row in rows if row.verdict.startswith("found")} >= set(caveats)
    assert all(row.caveat in row.text for row in rows)


@few
@given(patterns)
def test_the_viewer_tells_it_in_every_row(measured: Measured, pattern: list[str]) -> None:
    table = planted(measured.estimates, pattern)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(open_runs, "_take_estimates", lambda _: (table, measured.tally))
        state = OpenedRuns([measured.run]).state_of_run("0")
        view = state.view
        rows = EstimateRows(view)
        viewed = rows.rows(rows.by_clearness().head(40))
        first = lead(state)
        unsure = next(row for row in viewed if row.caveat)
        own = cell_of(state, unsure.key)
    assert [row.caveat for row in viewed] == list(map(caveat_of, rows.by_clearness().head(40)["why"]))
    told(" ".join(first.sentences), of_findings(build_page(measured.data(table))))
    assert own.row.caveat == unsure.caveat
    assert any(step.title == "Verdict" and unsure.caveat in step.text for step in own.steps)


@few
@given(patterns)
def test_a_gate_tells_it_of_what_is_beyond_and_of_what_is_allowed(measured: Measured, pattern: list[str]) -> None:
    table = planted(measured.estimates, pattern)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(gate, "take_estimates", lambda _: (table, {str(measured.run.folder): measured.tally}))
        gates = [gate.gate([measured.run], stated_limits([{"findings": allowed}])) for allowed in (0, 1000)]
    assume(any(gates[0].cells["caveat"]))
    for decided in gates:
        told_cells = decided.cells if decided.within else decided.cells.filter(pl.col("outcome") != "within")
        caveats = [caveat for caveat in told_cells["caveat"] if caveat]
        told(explain_gate(decided), caveats)
        told(as_markdown(decided), caveats)


@few
@given(patterns)
def test_packs_tell_it_in_every_form(measured: Measured, pattern: list[str]) -> None:
    table = planted(measured.estimates, pattern)
    member = PackedRun("run", measured.run, table, measured.tally, measured.data(table))
    caveats = [caveat for row in member.findings if (caveat := caveat_of(row["why"]))]
    told(_readme([member], [], set(), ""), caveats)
    told(eval_results([member], "2026-01-01"), caveats)
    told(json.dumps(cyclonedx([member], "2026-01-01")), caveats)
    told(json.dumps(every_eval_ever(member, "us", 0)), caveats)
    told(model_index([member]), [caveat_of(row["why"]) for row in member.leading[:20]])


@few
@given(patterns)
def test_comparisons_tell_it_in_words_tables_and_json(
    compared: RunComparison, measured: Measured, pattern: list[str]
) -> None:
    pair = compared.pairs[0]
    cells = planted(pair.agreement.cells, pattern)
    became = pl.Series("became", [BECAME[at % len(BECAME)] for at in range(cells.height)])
    agreement = replace(pair.agreement, cells=cells.with_columns(became))
    comparison = replace(compared, pairs=(replace(pair, agreement=agreement),))
    caveats = [caveat for caveat in agreement.differing["caveat"] if caveat]
    page = comparison_page(comparison)
    told(page.answer, caveats)
    told(render_template("plain_page.html.j2", page=page, generated=page.generated), caveats)
    told(printed(compared_text(comparison, None)), caveats)
    assert all(row["caveat"] == caveat_of(row["why"]) for row in in_json(agreement.json()["cells"]))
    data = replace(measured.data(measured.estimates), between=ModelDifferences("a", {"b": agreement}))
    told(build_page(data).answer.sentence, caveats)


def test_a_caveat_of_all_that_was_found_stands_in_the_title(measured: Measured) -> None:
    page = build_page(measured.data(planted(measured.estimates, [UNSURE], MISSING_CAVEAT)))
    answer = page.answer
    assert answer.title == f"difference found, {MISSING_CAVEAT}"
    assert page_json(page)["headline"]["caveat"] == MISSING_CAVEAT
    assert "surely" not in answer.sentence
    shown = StudyAnswer("a", "A", "", "", answer.verdict.value, answer.sentence, caveat=answer.caveat)
    assert shown.heading == f"Difference found, {MISSING_CAVEAT}"
    mixed = build_page(measured.data(planted(measured.estimates, [UNSURE, SURE], MISSING_CAVEAT)))
    assert mixed.answer.title == "difference found"
    assert not any("Enough to act" in step.text or "Confirm" in step.text for step in page.steps)
