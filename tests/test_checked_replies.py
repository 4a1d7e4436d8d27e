"""Replies that cannot count: each an error of its own request, and of no other."""

import math
from collections.abc import Callable, Iterable, Iterator
from decimal import Decimal
from fractions import Fraction
from typing import Any

import numpy as np
import polars as pl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from facevalue.checked_replies import LONGEST, ReplyCheck, checked_response, of_file
from facevalue.errors import DataError, ModelError
from facevalue.store.schema import RESPONSES
from facevalue.types import Option, Question, Request, Response, Sampling, Status, Stimulus

OPTIONS = (Option("(a)", "left", "l"), Option("(b)", "right", "r"))
STIMULUS = Stimulus("s", "d", {}, tuple)


def request(trial: int = 0, options: tuple[Option, ...] = OPTIONS) -> Request:
    return Request(trial, 0, 1, STIMULUS, Question("Who?", options), Sampling(), exact=False)


def reply(trial: Any = 0, **fields: Any) -> Response:
    return Response(trial, 0, Status.OK, "(a)")._replace(**fields)


class Answers:
    """Yields what a function makes of each request: replies, or anything else."""

    name = "odd"

    def __init__(self, of: Callable[[Request], Iterable[Any]]) -> None:
        self._of = of
        self.asked: list[int] = []

    def respond(self, requests: Iterable[Request]) -> Iterator[Response]:
        for one in requests:
            self.asked.append(one.trial)
            yield from self._of(one)


def passed(of: Callable[[Request], Iterable[Any]], count: int = 9) -> tuple[list[Response], list[str]]:
    notes: list[str] = []
    return list(ReplyCheck(Answers(of), notes.append).respond(map(request, range(count)))), notes


class Hostile:
    """Raises whatever is done with it."""

    def __repr__(self) -> str:
        raise ValueError

    def __float__(self) -> float:
        raise KeyError

    def __index__(self) -> int:
        raise MemoryError

    def __eq__(self, other: object) -> bool:
        raise ZeroDivisionError

    __hash__ = None  # type: ignore[assignment]


ODD: dict[str, tuple[Any, str]] = {
    "negative tokens": (reply(4, prompt_tokens=-1), "prompt_tokens are -1 (int)"),
    "tokens beyond 32 bits": (reply(4, completion_tokens=2**32), "completion_tokens are 4294967296"),
    "tokens as text": (reply(4, prompt_tokens="12"), "prompt_tokens are '12' (str)"),
    "tokens of a fraction": (reply(4, prompt_tokens=12.0), "prompt_tokens are 12.0 (float)"),
    "tokens that are true": (reply(4, prompt_tokens=True), "prompt_tokens are True (bool)"),
    "tokens true to NumPy": (reply(4, prompt_tokens=np.True_), "prompt_tokens are"),
    "a text that is a number": (reply(4, text=7), "text is 7 (int)"),
    "a text in bytes": (reply(4, text=b"(a)"), "text is b'(a)' (bytes)"),
    "a list of texts": (reply(4, text=["(a)"]), "text is ['(a)'] (list)"),
    "100 MB of text": (reply(4, text="x" * 10**8), "100,000,000 characters"),
    "half of a character": (reply(4, text="a\ud83d"), "half of a character"),
    "neither text nor probabilities": (reply(4, text=None), "neither text nor probabilities"),
    "no status": (reply(4, status=None), "status is None"),
    "an unknown status": (reply(4, status="fine"), "status is 'fine' (str)"),
    "a number as status": (reply(4, status=0), "status is 0 (int)"),
    "NaN": (reply(4, probs=(math.nan, 0.5)), "no probabilities"),
    "infinite probabilities": (reply(4, probs=(math.inf, 0.5)), "no probabilities"),
    "a probability above 1": (reply(4, probs=(1.5, 0.0)), "no probabilities"),
    "a negative probability": (reply(4, probs=(1.0, -0.1)), "no probabilities"),
    "probabilities above 1 together": (reply(4, probs=(0.75, 0.75)), "sum to 1.5"),
    "a probability too few": (reply(4, probs=(0.5,)), "1 probabilities, and its question 2 options"),
    "a probability too many": (reply(4, probs=(0.5, 0.25, 0.25)), "more than 2 probabilities"),
    "probabilities without end": (reply(4, probs=iter(lambda: 0.0, 1.0)), "more than 2 probabilities"),
    "probabilities by option": (reply(4, probs={"(a)": 0.5, "(b)": 0.5}), "probs are {"),
    "probabilities as text": (reply(4, probs="10"), "probs are '10' (str)"),
    "texts as probabilities": (reply(4, probs=("0.5", "0.5")), "no probabilities"),
    "one probability": (reply(4, probs=0.5), "probs are 0.5 (float)"),
    "booleans as probabilities": (reply(4, probs=(True, False)), "no probabilities"),
    "negative latency": (reply(4, latency_ms=-1.0), "latency_ms is -1.0"),
    "a latency that is no number": (reply(4, latency_ms=math.nan), "latency_ms is nan"),
    "no latency": (reply(4, latency_ms=None), "latency_ms is None"),
    "None": (None, "it is None"),
    "a dict": ({"trial": 4, "repeat": 0, "status": "ok", "text": "(a)"}, "it is {"),
    "a tuple": (tuple(reply(4)), "it is (4, 0,"),
    "a text": ("(a)", "it is '(a)' (str)"),
    "an error": (ValueError("no"), "it is ValueError('no')"),
    "what raises when looked at": (reply(4, text=Hostile()), "Hostile"),
    "tokens that raise": (reply(4, prompt_tokens=Hostile()), "Hostile"),
    "probabilities that raise": (reply(4, probs=(Hostile(), 0.5)), "no probabilities"),
}  # fmt: skip


@pytest.mark.parametrize("kind", ODD)
def test_an_odd_reply_is_an_error_of_its_request_alone_and_quoted(kind: str) -> None:
    odd, says = ODD[kind]
    answers, notes = passed(lambda one: [odd if one.trial == 4 else reply(one.trial)])
    assert [answer.trial for answer in answers] == list(range(9))
    assert [answer.trial for answer in answers if answer.status is not Status.OK] == [4]
    assert answers[4].status is Status.ERROR
    assert says in (answers[4].error or "")
    assert len(answers[4].error or "") < 400
    (note,) = notes
    assert "Trial 4, repeat 0" in note
    assert says in note


FINE: dict[str, Response] = {
    "NumPy's numbers": reply(
        np.int64(4), prompt_tokens=np.int32(7), latency_ms=np.float32(2), probs=np.array([0.5, 0.5])
    ),
    "NumPy's text": reply(4, text=np.str_("(a)")),
    "a status as text": reply(4, status="ok"),
    "exact numbers": reply(4, probs=(Fraction(1, 2), Decimal("0.5"))),
    "16 bits": reply(4, probs=tuple(np.array([0.25, 0.7505], dtype=np.float16))),
    "a rounding error": reply(4, probs=(1.0000001, -1e-9)),
    "NUL and all of Unicode": reply(4, text="\0\x1b[2J\U0010ffff\u202e"),
    "the longest text": reply(4, text="x" * LONGEST),
    "whole numbers as latency": reply(4, latency_ms=3),
    "an error that is no text": reply(4, error=ValueError("why")),
}


@pytest.mark.parametrize("kind", FINE)
def test_what_can_count_is_plain_data_afterwards(kind: str) -> None:
    answers, notes = passed(lambda one: [FINE[kind] if one.trial == 4 else reply(one.trial)])
    assert not notes
    answer = answers[4]
    assert answer.status is Status.OK
    plain = (int, str, float, tuple, Status, type(None))
    assert all(type(value) in plain for value in answer)
    assert all(type(value) is float and 0 <= value <= 1 for value in answer.probs or ())


@pytest.mark.slow  # importing torch takes seconds
def test_numbers_of_torch_count() -> None:
    torch = pytest.importorskip("torch")
    odd = reply(
        torch.tensor(0), prompt_tokens=torch.tensor(7), probs=torch.tensor([0.5, 0.25]), latency_ms=torch.tensor(1.5)
    )
    assert checked_response(odd, request()) == reply(0, prompt_tokens=7, probs=(0.5, 0.25), latency_ms=1.5)


@pytest.mark.parametrize(
    "more",
    [[reply(2)], [reply(99)], [reply(2)._replace(repeat=1)], [reply("x")], [reply(None)], [reply([])], [reply(2.0)],
     [reply(True)], [reply(Hostile())], [None], [{}], [reply(-1)._replace(repeat=-1)], [reply(2**80)]],
    ids=["doubled", "another trial", "another repeat", "text", "no trial", "list", "float", "bool", "hostile", "none",
         "dict", "negative", "beyond 64 bits"],
)  # fmt: skip
def test_a_reply_to_nothing_that_is_open_is_left_out_and_quoted(more: list[Any]) -> None:
    answers, notes = passed(lambda one: [reply(one.trial), *(more if one.trial == 5 else [])])
    assert [answer.trial for answer in answers] == list(range(9))
    assert {answer.status for answer in answers} == {Status.OK}
    (note,) = notes
    assert "which was not asked or was answered before" in note


def test_the_first_of_two_replies_counts() -> None:
    answers, _ = passed(lambda one: [reply(one.trial, text="first"), reply(one.trial, text="second")])
    assert {answer.text for answer in answers} == {"first"}


def test_a_request_without_a_reply_has_none() -> None:
    answers, notes = passed(lambda one: [reply(one.trial)] if one.trial % 2 else [])
    assert [answer.trial for answer in answers] == [1, 3, 5, 7]
    assert not notes


@pytest.mark.parametrize("kind", [ValueError, SystemExit, RecursionError, MemoryError, StopAsyncIteration])
@pytest.mark.parametrize("after", [False, True])
def test_a_model_that_raises_loses_what_it_had_taken_and_is_asked_the_rest(
    kind: type[BaseException], after: bool
) -> None:
    def raising(one: Request) -> Iterator[Response]:
        if after or one.trial != 5:
            yield reply(one.trial)
        if one.trial == 5:
            raise kind("out of luck\nand more")

    answers, notes = passed(raising)
    assert [answer.trial for answer in answers] == list(range(9))
    assert [answer.trial for answer in answers if answer.status is Status.ERROR] == ([] if after else [5])
    assert f"odd raised {kind.__name__}: out of luck" in notes[0]


def test_what_a_model_raises_to_end_the_run_ends_it() -> None:
    def raising(one: Request) -> Iterator[Response]:
        if one.trial == 0:
            raise DataError("no picture")
        yield reply(one.trial)

    with pytest.raises(DataError, match="no picture"):
        passed(raising)
    with pytest.raises(KeyboardInterrupt):
        passed(lambda one: (_ for _ in ()).throw(KeyboardInterrupt))


@pytest.mark.parametrize("responses", [None, 7, "(a)"])
def test_what_is_no_stream_of_responses_is_one_sentence(responses: Any) -> None:
    class Single(Answers):
        def respond(self, requests: Iterable[Request]) -> Any:
            return responses

    check = ReplyCheck(Single(lambda one: []))
    if responses == "(a)":
        assert list(check.respond([request()])) == []
    else:
        with pytest.raises(ModelError, match=r"odd raised TypeError.*not iterable"):
            list(check.respond([request()]))


@pytest.mark.parametrize(
    "odd",
    [lambda one: [reply(one.trial, text=7)], lambda one: [reply(one.trial + 10**6, text="7 (int)")], lambda one: [7]],
)
def test_a_model_of_which_no_reply_can_count_is_asked_no_more_and_quoted(odd: Callable[[Request], list[Any]]) -> None:
    model = Answers(odd)
    with pytest.raises(ModelError, match=r"20 replies of odd in a row cannot count. The last: .*(7 \(int\)|1000019)"):
        list(ReplyCheck(model).respond(map(request, range(4400))))
    assert len(model.asked) == 20


def test_one_that_could_at_first_is_asked_a_hundred_more() -> None:
    model = Answers(lambda one: [reply(one.trial, text="(a)" if one.trial < 50 else None)])
    with pytest.raises(ModelError, match="100 replies of odd in a row"):
        list(ReplyCheck(model).respond(map(request, range(4400))))
    assert len(model.asked) == 150


def test_errors_that_a_model_tells_of_itself_end_nothing() -> None:
    answers, notes = passed(lambda one: [reply(one.trial, status=Status.ERROR, text=None, error="no luck")], 500)
    assert len(answers) == 500
    assert not notes


ANY = st.one_of(
    st.none(), st.booleans(), st.integers(), st.floats(), st.text(), st.binary(), st.lists(st.floats(), max_size=3),
    st.tuples(st.floats(0, 1), st.floats(0, 1)), st.sampled_from(list(Status)), st.dictionaries(st.text(), st.none()),
    st.just(Hostile()), st.complex_numbers(), st.characters(categories=["Cs"]),
)  # fmt: skip


@settings(max_examples=50)
@given(st.lists(ANY, min_size=9, max_size=9), st.booleans())
def test_whatever_comes_a_file_can_hold_what_passes(fields: list[Any], right: bool) -> None:
    if right:
        fields[:2] = [0, 0]
    (answer,) = [*ReplyCheck(Answers(lambda one: [Response(*fields)])).respond([request()]), None][:1]
    if answer is None:
        return
    assert answer[:2] == (0, 0)
    frame = pl.DataFrame([{**answer._asdict(), "request": 1}], schema=RESPONSES)
    assert of_file(frame.lazy()).collect().rows() == frame.rows() or answer.status is Status.ERROR


def stored(**columns: Any) -> pl.DataFrame:
    row = {**reply()._asdict(), "probs": None, "request": 1, **columns}
    return pl.DataFrame([{**row, "status": None if row["status"] is None else str(row["status"])}], schema=RESPONSES)


@pytest.mark.parametrize(
    ("columns", "says"),
    [
        ({"status": None}, "no status"),
        ({"text": None}, "neither text nor probabilities"),
        ({"probs": [math.nan, 0.5]}, "no probabilities"),
        ({"probs": [1.5, 0.0]}, "no probabilities"),
        ({"probs": [-0.5, 0.0]}, "no probabilities"),
        ({"probs": [None, 0.5]}, "no probabilities"),
        ({"probs": [0.75, 0.75]}, "no probabilities"),
        ({"text": "x" * (4 * LONGEST + 1)}, "too long"),
    ],
)
def test_a_stored_row_that_cannot_count_is_a_failed_request(columns: dict[str, Any], says: str) -> None:
    rows = of_file(pl.concat([stored(**columns), stored(repeat=1)]).lazy()).collect()
    assert rows.schema == RESPONSES
    assert rows["status"].to_list() == ["error", "ok"]
    assert rows["text"].to_list() == [None, "(a)"]
    assert says in rows["error"][0]
    assert rows["probs"].to_list() == [None, None]


@pytest.mark.parametrize("name", ["trial", "repeat"])
def test_a_stored_row_of_no_request_is_left_out(name: str) -> None:
    assert of_file(stored(**{name: None}).lazy()).collect().is_empty()
