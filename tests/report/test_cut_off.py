"""Replies that were cut off before an answer: the card of the page, and the facts of its first screen."""

from dataclasses import replace

import pytest

from facevalue.report.data import RunFacts
from facevalue.report.sections.checks import CardStatus, cut_off
from facevalue.report.sections.first_screen import facts_of
from tests.report import made

FACTS = RunFacts("m", asked=110, errors=10, planned=110, valid=70, cut=20)


@pytest.mark.parametrize(
    ("cut", "status"), [(20, CardStatus.PROBLEM), (5, CardStatus.CAUTION), (4, CardStatus.NOTE), (0, None)]
)
def test_the_card_counts_them_among_the_replies(cut: int, status: CardStatus | None) -> None:
    cards = cut_off([replace(FACTS, cut=cut)])
    assert [card.status for card in cards] == ([] if status is None else [status])
    if cards:
        assert cards[0].value == f"{cut}.0% ({cut} of 100)"


def test_of_several_models_the_worst_leads() -> None:
    (card,) = cut_off([replace(FACTS, cut=0), replace(FACTS, model="n", cut=1), FACTS])
    assert card.value == "20.0% (20 of 100) at worst"
    assert card.lines == ("n: 1.0% (1 of 100)", "m: 20.0% (20 of 100)")


def test_the_first_screen_says_when_they_are_many() -> None:
    (many,) = (line for line in facts_of(made.data(runs=(FACTS,))) if line.startswith("m:"))
    assert many.endswith(", 20 replies cut off before an answer")
    (few,) = (line for line in facts_of(made.data(runs=(replace(FACTS, cut=4),))) if line.startswith("m:"))
    assert "cut off" not in few
