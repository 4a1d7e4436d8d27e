"""Answers to packets: what pages save is read, and what cannot count is refused in words."""

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from facevalue.annotations.review_answers import failed_checks, packet_of, read_answers, seal_of
from facevalue.annotations.review_cards import (
    CardQuestion,
    Packet,
    ReviewCard,
    checks_of,
    is_check,
    order_cards,
    right_answer,
)
from facevalue.errors import DataError
from facevalue.runs.reviews.outcomes import ReviewKey, count_answers

CHOICES = ("(a) kind", "(b) cruel", "Cannot be told")
PACKET = Packet(
    "parse",
    "What does it say?",
    ("Read.",),
    tuple(
        ReviewCard((CardQuestion("Which?", f"r-{n:010x}", choices=CHOICES),), (("Reply", f"It is {n}."),))
        for n in range(30)
    ),
)
KEY = ReviewKey.of_packet(PACKET).choices()
ITEMS = [item for item in KEY if not is_check(item)]
Change = Callable[[dict[str, Any]], Any]


def saved(folder: Path, answers: dict[str, int], rater: str = "r1", change: Change | None = None) -> Path:
    """What the page of a rater saves."""
    document: dict[str, Any] = {
        "format": "facevalue-review", "version": 1, "packet": PACKET.name, "task": "parse", "rater": rater,
        "seconds": 90, "answers": answers, "seal": seal_of(PACKET.name, rater, 90, answers),
    }  # fmt: skip
    if change is not None:
        change(document)
    path = folder / f"review-{rater}.json"
    path.write_text(json.dumps(document), encoding="utf-8")
    return path


def read(*paths: Path) -> list[tuple[Any, ...]]:
    return read_answers(paths, PACKET.name, KEY).rows()


def test_answers_of_several_raters_are_read_whole_or_in_part(tmp_path: Path) -> None:
    files = [saved(tmp_path, {ITEMS[0]: 2, ITEMS[1]: 3}), saved(tmp_path, {ITEMS[0]: 1}, "r2")]
    assert packet_of(files[0]) == PACKET.name
    assert read(*files) == [
        (f"{PACKET.name}-r1", ITEMS[0], 2, 90.0), (f"{PACKET.name}-r1", ITEMS[1], 3, 90.0),
        (f"{PACKET.name}-r2", ITEMS[0], 1, 90.0),
    ]  # fmt: skip
    notes = list(count_answers(read_answers(files, PACKET.name, KEY), KEY).notes)
    assert notes == ["r1 answered 2 of 30 questions.", "r2 answered 1 of 30 questions."]


@pytest.mark.parametrize(
    ("change", "problem"),
    [
        (lambda d: d.update(packet="0123456789"), f"'packet' is {PACKET.name}, not '0123456789'"),
        (lambda d: d.update(format="review"), "'format' is 'facevalue-review'"),
        (lambda d: d.update(version=True), "'version' is 1"),
        (lambda d: d.update(rater="<b>"), "'rater' is a rater's name"),
        (lambda d: d.update(rater=["r1"]), "'rater' is a rater's name"),
        (lambda d: d.update(seconds=-1), "'seconds' is a number of whole seconds"),
        (lambda d: d.update(seconds=float("nan")), "'seconds' is a number of whole seconds"),
        (lambda d: d.update(answers=[1]), "'answers' is an object"),
        (lambda d: d["answers"].update({"r-x": 1}), "'r-x' is not an item of this packet"),
        (lambda d: d["answers"].update({ITEMS[0]: 4}), f"the answer to {ITEMS[0]} is a number from 1 to 3, not 4"),
        (lambda d: d["answers"].update({ITEMS[0]: True}), "a number from 1 to 3, not True"),
        (lambda d: d["answers"].update({ITEMS[0]: 1}), "the file was changed after it was saved"),
        (lambda d: d["answers"].pop(ITEMS[1]), "the file was changed after it was saved"),
        (lambda d: d.pop("seal"), "the file was changed after it was saved"),
    ],
)  # fmt: skip
def test_a_file_that_was_changed_or_is_another_is_refused(tmp_path: Path, change: Change, problem: str) -> None:
    with pytest.raises(DataError, match=r"^review-r1\.json: ") as caught:
        read(saved(tmp_path, {ITEMS[0]: 2, ITEMS[1]: 3}, change=change))
    assert problem in str(caught.value)
    assert len(str(caught.value)) < 300


def test_a_rater_is_read_once(tmp_path: Path) -> None:
    one = saved(tmp_path, {ITEMS[0]: 2})
    copy = tmp_path / "copy.json"
    copy.write_bytes(one.read_bytes())
    with pytest.raises(DataError, match=r"copy\.json: 'r1' has answered before, in review-r1\.json"):
        read(one, copy)


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        ("", "is not valid JSON"),
        ("[" * 100_000, "is nested too deeply"),
        ('"a"', "holds no answers"),
        ("{}", "does not say of which packet it is"),
        ('{"packet": "../../etc"}', "does not say of which packet it is"),
        ("[]", "holds no answers"),
        ("packet,item,rating", "is not valid JSON"),
        ('{"packet": ' + "1" * 5_000 + "}", "is not valid JSON"),
    ],
)
def test_hostile_files_are_one_sentence(tmp_path: Path, text: str, problem: str) -> None:
    path = tmp_path / "x.json"
    path.write_text(text, encoding="utf-8")
    with pytest.raises(DataError, match=problem):
        packet_of(path)


def test_files_that_are_too_large_or_too_many_are_not_read(tmp_path: Path) -> None:
    path = tmp_path / "x.json"
    path.write_bytes(b" " * (10 * 2**20 + 1))
    with pytest.raises(DataError, match="larger than 10 MiB"):
        packet_of(path)
    with pytest.raises(DataError, match="201 files are given"):
        read(*[path] * 201)
    with pytest.raises(DataError, match="There is no file"):
        packet_of(tmp_path / "absent.json")


def test_raters_who_do_not_read_are_left_out(tmp_path: Path) -> None:
    checks = [item for item in KEY if is_check(item)]
    assert len(checks) == 2 == len(checks_of(PACKET))  # one to twenty cards
    right = {item: right_answer(item, KEY[item]) for item in checks}
    wrong = {item: number % 3 + 1 for item, number in right.items()}
    half = {checks[0]: right[checks[0]], checks[1]: wrong[checks[1]]}
    files = [
        saved(tmp_path, {ITEMS[0]: 1, **answers}, rater)
        for rater, answers in (("r1", right), ("r2", wrong), ("r3", half), ("r4", {}))
    ]
    answers = read_answers(files, PACKET.name, KEY)
    assert failed_checks(answers, KEY).select("checks", "failed").rows() == [(2, 0), (2, 2), (2, 1), (0, 0)]
    counts = count_answers(answers, KEY)
    assert counts.raters["counts"].to_list() == [True, False, False, True]
    assert counts.answers["item"].unique().to_list() == [ITEMS[0]]
    assert any("who got 2 of 2 checks of attention wrong" in note for note in counts.notes)


def test_each_rater_has_an_order_of_their_own_and_the_same_again() -> None:
    one, again, two = (order_cards(PACKET, rater) for rater in ("r1", "r1", "r2"))
    assert one == again != two
    assert sorted(card.items for card in one) == sorted(card.items for card in two)
