"""Requests that failed are missing answers like any other: compared by group, in every rate and in every worst case."""

from collections.abc import Callable, Iterable, Iterator
from pathlib import Path

import polars as pl
import pytest
from polars.testing import assert_frame_equal

import facevalue as fv
from facevalue.measures.caveats import MISSING_CAVEAT, caveat_column
from facevalue.measures.cells import MISSING_GAP, MISSING_SHARE
from facevalue.models import load
from facevalue.report.collect import gather_report
from facevalue.report.page_builder import build_page
from facevalue.runs.joined_runs import estimate
from facevalue.runs.stored_run import StoredRun
from facevalue.store.reader import collected
from facevalue.types import Request, Response, Status
from tests.golden.cases import RUNS, unpacked

FAST = ("stylisticbias-sampled", "vignette-places", "gras", "tasks", "pairs", "caption-assistant")

Withheld = Callable[[Request], bool]


@pytest.fixture(scope="module")
def runs(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return unpacked(tmp_path_factory.mktemp("golden"))


def _estimates(run: StoredRun, monkeypatch: pytest.MonkeyPatch, status: Status) -> pl.DataFrame:
    """Estimates of a run of which every seventh trial was withheld, with this status."""
    read = collected

    def withheld(folder: Path, rows: pl.LazyFrame) -> pl.DataFrame:
        is_withheld = pl.col("trial") % 7 == 0
        chunk = read(folder, rows)
        return chunk.with_columns(
            pl.when(is_withheld).then(pl.lit(status.value, chunk["status"].dtype)).otherwise("status").alias("status"),
            *(pl.when(~is_withheld).then(name).alias(name) for name in ("text", "probs")),
        )

    monkeypatch.setattr("facevalue.runs.stored_run.collected", withheld)
    estimates, tallies = estimate([run])
    (tally,) = tallies.values()
    assert tally.na[status.value] >= tally.asked / 8
    return estimates


@pytest.mark.parametrize(
    "name",
    [name if name in FAST else pytest.param(name, marks=pytest.mark.slow) for name in RUNS if "with" not in name],
)
def test_a_failed_request_counts_as_a_refusal_does_in_all_but_the_rates_of_refusals(
    runs: Path, monkeypatch: pytest.MonkeyPatch, name: str
) -> None:
    run = StoredRun.open(runs / name)
    tables = []
    for status in (Status.REFUSED, Status.ERROR):
        with monkeypatch.context() as patched:
            table = _estimates(run, patched, status)
        is_refusal = pl.concat_str("measure", "score", ignore_nulls=True).str.contains("refusal")
        tables.append(table.filter(~is_refusal, _of_all(table)))
    assert tables[0].height > 0
    judged = ["q", "q_page", "page_low", "page_high", "page_level", "mde", "verdict", "why"]  # one page has more tests
    shuffled = ["low", "high", "se", "p", "p_least"]  # and deals other labels
    is_gap = pl.col("measure") == MISSING_GAP.name
    assert_frame_equal(*(table.filter(~is_gap).drop(judged) for table in tables))
    assert_frame_equal(*(table.filter(is_gap).drop(judged, shuffled) for table in tables))


def _of_all(table: pl.DataFrame) -> pl.Expr:
    """Rows of all reasons together, where a table has any by reason."""
    return pl.col("reason").is_null() if "reason" in table.columns else pl.lit(value=True)


class Withholding:
    """A model of which some requests fail."""

    def __init__(self, spec: str, is_withheld: Withheld, error: str = "HTTP 400: computer says no") -> None:
        self._model, self._is_withheld, self._error = load(spec), is_withheld, error
        self.name, self.capabilities = self._model.name, self._model.capabilities
        self.settings, self.close = self._model.settings, self._model.close

    def respond(self, requests: Iterable[Request]) -> Iterator[Response]:
        asked = list(requests)
        by_key = {request[:2]: request for request in asked}
        for response in self._model.respond(asked):
            if self._is_withheld(by_key[response[:2]]):
                yield Response(response.trial, response.repeat, Status.ERROR, error=self._error)
            else:
                yield response


def _women(request: Request) -> bool:
    return request.stimulus.factors["gender"] == "female" and (request.trial * 2654435761) % 2**32 < 0.43 * 2**32


@pytest.fixture(scope="module")
def withheld(tmp_path_factory: pytest.TempPathFactory) -> fv.Run:
    """A run of which 43% of the questions about women failed."""
    study = fv.study("stylisticbias", faces="15M,15F", attributes=["eyewear"], scenario=["wealthy"], seeds=["1"])
    return fv.run(study, Withholding("sim/strong", _women), tmp_path_factory.mktemp("withheld") / "run", progress=False)


def test_who_gets_no_answer_is_found_whatever_the_reason(withheld: fv.Run) -> None:
    estimates = withheld.estimates()
    shares = estimates.filter(measure=MISSING_SHARE.name, dimension="gender")
    of_women = shares.filter(pl.col("prompt").is_null(), group="female")
    by_reason = dict(of_women.select("reason", "value").iter_rows())
    assert by_reason[None] == pytest.approx(by_reason["error"], abs=0.02) == pytest.approx(0.43, abs=0.06)
    gap = estimates.filter(
        pl.col("reason").is_null(), measure=MISSING_GAP.name, dimension="gender", group="female"
    ).row(0, named=True)
    assert gap["value"] == pytest.approx(0.43, abs=0.06)
    assert (gap["verdict"], gap["q_page"] < 0.05) == ("difference found", True)
    rates = estimates.filter(measure="na_rate", dimension="gender", group="female")
    assert rates["value"].to_list() == pytest.approx([0.43], abs=0.06)


def test_what_failed_requests_could_overturn_is_found_with_unless(withheld: fv.Run) -> None:
    estimates = withheld.estimates().filter(~pl.col("measure").is_in([MISSING_SHARE.name, MISSING_GAP.name]))
    bounded = estimates.filter(pl.col("bound_low").is_not_null())
    assert bounded.height > 0
    assert (bounded["bound_low"] < bounded["value"]).any()
    open_to_missing = bounded.filter(
        pl.col("verdict") == "difference found", (pl.col("bound_low") < 0) & (pl.col("bound_high") > 0)
    )
    assert open_to_missing.select((caveat_column() == MISSING_CAVEAT).all()).item()


def test_the_page_says_it_first_and_no_card_calls_refusals_fine(withheld: fv.Run) -> None:
    page = build_page(gather_report([withheld.stored]).data)
    cards = {card.name: card for card in page.cards}
    assert cards["refusal_rate"].status == "caution"
    assert "refusals in a form that is not known may be among them" in cards["refusal_rate"].note
    assert cards["na_rate"].status in ("caution", "problem")
    assert cards["unanswered"].status == "caution"
    assert "Female: left without a reply" in page.answer.sentence


def test_a_gate_on_missing_answers_counts_them(withheld: fv.Run) -> None:
    held = fv.gate(withheld, [{"measure": "missing_share", "at_most": 0.1}])
    assert str(held.outcome) == "beyond"
    assert any("requests failed and count as missing answers." in note for note in held.notes)
