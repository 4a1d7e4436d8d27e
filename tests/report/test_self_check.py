"""The card of the self-check: the largest difference over all sessions, as stored."""

from collections.abc import Mapping
from datetime import UTC, datetime

import pytest

from facevalue.report.collect import _self_check
from facevalue.report.data import SelfCheckFacts
from facevalue.report.html import render
from facevalue.report.sections.checks import CardStatus, self_check
from facevalue.store.manifest import Session
from tests.report import made


def session(findings: Mapping[str, float]) -> Session:
    return Session(datetime(2026, 11, 20, tzinfo=UTC), None, 3, {}, findings)


def test_sessions_are_put_together() -> None:
    one = {"self_checks": 3, "largest_difference": 2e-7, "tolerance": 1e-4, "largest_undecided": 0.1}
    two = {"self_checks": 4, "largest_difference": 5e-7, "tolerance": 1e-4}
    assert _self_check([session(one), session({}), session(two)]) == SelfCheckFacts(7, 5e-7, 1e-4)
    assert _self_check([session({}), session({"largest_undecided": 0.1})]) is None
    assert _self_check([]) is None


def test_the_card_has_difference_tolerance_and_count() -> None:
    (card,) = self_check([made.run(self_check=SelfCheckFacts(12, 4.21e-7, 1e-4)), made.run("model-b")])
    assert (card.status, card.value, card.lines) == (CardStatus.OK, "4.2e-07, tolerance 0.0001", ())
    assert "12 drawn at random" in card.note


@pytest.mark.parametrize("wrong", [2e-4, float("inf")])
def test_a_difference_above_the_tolerance_is_a_problem(wrong: float) -> None:
    runs = [
        made.run(self_check=SelfCheckFacts(3, 0.01, 0.05)),
        made.run("model-b", self_check=SelfCheckFacts(1, wrong, 1e-4)),
    ]
    (card,) = self_check(runs)
    assert card.status is CardStatus.PROBLEM
    assert card.value == f"{wrong:.2g}, tolerance 0.0001 at worst"
    assert card.lines == (
        "model-a: 0.01; tolerance 0.05; questions: 3",
        f"model-b: {wrong:.2g}; tolerance 0.0001; questions: 1",
    )


def test_tokens_from_a_servers_cache_are_told_where_they_are_known() -> None:
    assert "from the server's cache" not in render(made.data())
    assert "(48% from the server's cache)" in render(made.data(runs=(made.run(cached=0.4801),)))


def test_only_reports_of_models_that_were_checked_have_it() -> None:
    assert self_check([made.run()]) == []
    plain = render(made.data())
    checked = render(made.data(runs=(made.run(self_check=SelfCheckFacts(12, 4.2e-7, 1e-4)),)))
    assert "Self-check of the local model" not in plain
    assert "Self-check of the local model" in checked
