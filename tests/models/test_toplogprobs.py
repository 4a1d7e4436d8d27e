"""Option probabilities read from a reply's top-k log-probabilities."""

import math
import random
from collections.abc import Mapping, Sequence
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from facevalue.models._spelling import Position
from facevalue.models._toplogprobs import OptionMass, option_probabilities, read_positions, visible_probabilities
from facevalue.types import Option, Sampling

AB = (Option("(a)", "competent", "f"), Option("(b)", "incompetent", "u"))


def position(taken: str, shares: Mapping[str, float]) -> Position:
    top = tuple((token, math.log(share) if share else -math.inf) for token, share in shares.items())
    return Position(taken, dict(top)[taken], top)


def mass(options: Sequence[Option], *positions: Position, ended: bool = True, **sampling: float) -> OptionMass:
    return option_probabilities(options, positions, Sampling(**sampling), ended=ended)  # type: ignore[arg-type]


def probs(options: Sequence[Option], *positions: Position, ended: bool = True, **sampling: float) -> tuple[float, ...]:
    return mass(options, *positions, ended=ended, **sampling).probs


def shares(position: Position, **sampling: float) -> dict[str, float]:
    return {token: share for token, share, _ in visible_probabilities(position, Sampling(**sampling))[0]}  # type: ignore[arg-type]


# A busy machine is no failure.
patiently = settings(deadline=None, max_examples=60, suppress_health_check=[HealthCheck.too_slow])


# Worked by hand


@pytest.mark.parametrize(
    ("token", "option"),
    [
        ("(a)", 0),
        (" (a)", 0),
        ("(A)", 0),
        (" (a", 0),
        ("a", 0),
        (" A", 0),
        ("a)", 0),
        ("**(a)**", 0),
        ('"(a)', 0),
        ("(a) competent", 0),
        ("A.", 0),
        ("competent", 0),
        (" Competent", 0),
        ("comp", 0),
        ("(b)", 1),
        ("Inc", 1),
        ("I", None),
        ("In", None),
        ("Apple", None),
        ("(c)", None),
        ("the", None),
        ("1", None),
        ("about", None),
        ("competently", None),
        ("(", None),
        ("", None),
        (" ", None),
    ],
)
def test_single_tokens(token: str, option: int | None) -> None:
    got = probs(AB, position("no!", {"no!": 0.5, token: 0.4}))
    assert got == pytest.approx([0.4 if i == option else 0.0 for i in range(2)])


def test_a_shared_first_token_is_walked_through() -> None:
    first = position("(", {"(": 0.8, "a": 0.1, "b": 0.05, "I": 0.05})
    second = position("a", {"a": 0.6, "b": 0.3, "c": 0.1})
    assert probs(AB, first, second) == pytest.approx((0.8 * 0.6 + 0.1, 0.8 * 0.3 + 0.05))


def test_a_branch_that_was_not_taken_and_is_open_stays_uncovered() -> None:
    first = position("(", {"(": 0.5, " (": 0.5})
    assert probs(AB, first, position("a", {"a": 1.0})) == pytest.approx((0.5, 0.0))


def test_blanks_and_marks_before_the_answer() -> None:
    path = [position("\n", {"\n": 1.0}), position("**", {"**": 1.0}), position("(b)", {"(b)": 0.7, "(a)": 0.3})]
    assert probs(AB, *path) == pytest.approx((0.3, 0.7))


def test_an_option_that_begins_like_anothers_label() -> None:
    options = (Option("(a)", "Black", "b"), Option("(b)", "Asian", "a"))
    ended = [position("A", {"A": 1.0}), position("", {"": 0.9, "sian": 0.1})]
    assert probs(options, *ended) == pytest.approx((0.9, 0.1))
    assert probs(options, position("A", {"A": 1.0})) == pytest.approx((1.0, 0.0))
    assert probs(options, position("A", {"A": 1.0}), ended=False) == (0.0, 0.0)


def test_an_option_that_begins_another() -> None:
    options = (Option("", "no", "n"), Option("", "no idea", "d"))
    path = [position("No", {"No": 1.0}), position(" idea", {" idea": 0.6, ".": 0.3, " way": 0.1})]
    assert probs(options, *path) == pytest.approx((0.4, 0.6))


def test_a_reply_that_never_answers() -> None:
    assert probs(AB, position("I", {"I": 0.9, "(a)": 0.1}), position(" cannot", {" cannot": 1.0})) == pytest.approx(
        (0.1, 0.0)
    )


def test_numbers_as_options() -> None:
    options = tuple(Option("", str(n), str(n)) for n in (1, 2, 10))
    path = [position("1", {"1": 0.7, "2": 0.3}), position("0", {"0": 0.5, ".": 0.5})]
    assert probs(options, *path) == pytest.approx((0.35, 0.3, 0.35))


# Sampling


def test_temperature_one_is_what_the_server_says() -> None:
    listed = {"(a)": 0.5, "(b)": 0.2, "x": 0.1}
    got, beyond = visible_probabilities(position("x", listed), Sampling())
    assert {token: share for token, share, _ in got} == pytest.approx(listed)
    assert [token for token, _, own in got if own] == ["x"]
    assert beyond == pytest.approx(0.2)


def test_temperature_two_of_a_whole_distribution() -> None:
    got = shares(position("(a)", {"(a)": 0.81, "(b)": 0.09, "x": 0.1}), temperature=2)
    whole = 0.9 + 0.3 + math.sqrt(0.1)
    assert got["(a)"] == pytest.approx(0.9 / whole)


def test_temperature_zero_takes_the_likeliest() -> None:
    assert visible_probabilities(position("a", {"a": 0.4, "b": 0.5}), Sampling(temperature=0)) == (
        [("b", 1.0, False)],
        0.0,
    )
    assert shares(position("a", {"a": 0.3, "b": 0.3, "c": 0.1}), temperature=0) == {"a": 0.5, "b": 0.5}


def test_nucleus() -> None:
    got, beyond = visible_probabilities(position("a", {"a": 0.5, "b": 0.3, "c": 0.1}), Sampling(top_p=0.7))
    assert {token: share for token, share, _ in got} == pytest.approx({"a": 0.625, "b": 0.375})
    assert beyond == 0.0  # what lies beyond the nucleus is never drawn


def test_a_nucleus_that_reaches_beyond_the_top_k() -> None:
    got, beyond = visible_probabilities(position("a", {"a": 0.3, "b": 0.2}), Sampling(top_p=0.8))
    assert {token: share for token, share, _ in got} == pytest.approx({"a": 0.375, "b": 0.25})
    assert beyond == pytest.approx(0.375)


def test_where_the_nucleus_ends_is_not_known_at_another_temperature() -> None:
    _, beyond = visible_probabilities(
        position("a", {"a": 0.5, "b": 0.3, "c": 0.1}), Sampling(temperature=0.5, top_p=0.7)
    )
    assert 0.01 < beyond < 0.1


def test_the_token_taken_counts_even_beyond_the_top_k() -> None:
    got, beyond = visible_probabilities(Position("a", math.log(0.1), (("b", math.log(0.8)),)), Sampling())
    assert {token: share for token, share, _ in got} == pytest.approx({"a": 0.1, "b": 0.8})
    assert beyond == pytest.approx(0.1)


@patiently
@given(st.lists(st.floats(1e-6, 1), min_size=30, max_size=60), st.floats(0.1, 10.0), st.integers(2, 20))
def test_no_temperature_overestimates(weights: list[float], temperature: float, k: int) -> None:
    """What is read from the top k is never more than the whole distribution says, and what is missing never less."""
    whole = sorted((w / math.fsum(weights) for w in weights), reverse=True)
    entries, beyond = visible_probabilities(
        position("t0", {f"t{i}": p for i, p in enumerate(whole[:k])}), Sampling(temperature)
    )
    got = {token: share for token, share, _ in entries}
    scaled = [(p / whole[0]) ** (1 / temperature) for p in whole]
    for i in range(k):
        assert got[f"t{i}"] <= scaled[i] / math.fsum(scaled) + 1e-9
    if 1 - math.fsum(whole[:k]) > 1e-6:  # less than that is taken for rounding
        assert beyond >= math.fsum(scaled[k:]) / math.fsum(scaled) - 1e-9
    assert math.fsum(got.values()) + beyond == pytest.approx(1)


# What is not seen


def test_what_was_not_listed_is_unseen() -> None:
    got = mass(AB, position("(a)", {"(a)": 0.6, "(b)": 0.3, "Sorry": 0.07}))
    assert got.probs == pytest.approx((0.6, 0.3))
    assert got.unseen == pytest.approx(0.03)
    assert got.other_mass == pytest.approx(0.07)


def test_a_listed_token_that_begins_no_option_is_seen() -> None:
    got = mass(AB, position("(a)", {"(a)": 0.1, "Sorry": 0.6, "The": 0.3}))
    assert got.unseen == pytest.approx(0, abs=1e-9)
    assert got.other_mass == pytest.approx(0.9)


def test_an_open_branch_that_was_not_taken_is_unseen() -> None:
    first = position("(", {"(": 0.5, " (": 0.4, "Sorry": 0.1})
    got = mass(AB, first, position("a", {"a": 0.8, "x": 0.2}))
    assert got.probs == pytest.approx((0.4, 0.0))
    assert got.unseen == pytest.approx(0.4)
    assert got.other_mass == pytest.approx(0.2)


def test_what_is_unseen_further_on_counts_as_often_as_it_is_reached() -> None:
    got = mass(AB, position("(", {"(": 0.5, "Sorry": 0.5}), position("a", {"a": 0.6, "b": 0.2}))
    assert got.probs == pytest.approx((0.3, 0.1))
    assert got.unseen == pytest.approx(0.5 * 0.2)


def test_nothing_is_unseen_after_the_answer_is_clear() -> None:
    got = mass(AB, position("(a)", {"(a)": 1.0}), position(" as", {" as": 0.1}))
    assert got == OptionMass((1.0, 0.0), 0.0)


def test_a_reply_cut_off_while_it_was_open_is_unseen() -> None:
    cut = position("(", {"(": 0.7, "(b)": 0.3})
    assert mass(AB, cut, ended=False).unseen == pytest.approx(0.7)
    assert mass(AB, cut, ended=True).unseen == pytest.approx(0)  # "(" was the whole reply, and is no option


def test_a_part_of_a_character_is_unseen() -> None:
    options = (Option("", "是", "yes"), Option("", "否", "no"))
    got = mass(options, position("是", {"是": 0.5, "\N{REPLACEMENT CHARACTER}": 0.4, "Sorry": 0.1}))
    assert got.probs == pytest.approx((0.5, 0.0))
    assert got.unseen == pytest.approx(0.4)


def test_equally_likely_beginnings_are_unseen_even_without_temperature() -> None:
    got = mass(AB, position("(", {"(": 0.5, " (": 0.5}), position("a", {"a": 1.0}), temperature=0)
    assert got == OptionMass((0.5, 0.0), 0.5)


def test_a_position_without_any_probability_is_unseen() -> None:
    assert mass(AB, position("a", {"a": 0.0, "b": 0.0})) == OptionMass((0.0, 0.0), 1.0)


# Properties

TOKENS = st.sampled_from(
    ["(", " (", "(a", "(a)", "a", "A", "b", " b", "(b", ")", "", " ", "I", "comp", "incompetent", "x", "\n", "é", "**"]
)


@st.composite
def positions_(draw: st.DrawFn) -> list[Position]:
    path = []
    for _ in range(draw(st.integers(1, 5))):
        logs = draw(st.dictionaries(TOKENS, st.floats(-20, 0) | st.just(-9999.0) | st.just(-math.inf), min_size=1))
        total = math.log(max(1.0, math.fsum(math.exp(v) for v in logs.values())))
        top = tuple((token, log - total) for token, log in logs.items())
        path.append(Position(*draw(st.sampled_from(top)), top))
    return path


SAMPLINGS = st.builds(
    Sampling, st.sampled_from([0.0, 1.0]) | st.floats(0.01, 10), st.just(1.0) | st.floats(0.01, 1), st.just(16)
)


@patiently
@given(positions_(), SAMPLINGS, st.booleans())
def test_probabilities_are_probabilities(path: list[Position], sampling: Sampling, ended: bool) -> None:
    got = option_probabilities(AB, path, sampling, ended=ended)
    assert all(p >= 0 for p in (*got.probs, got.unseen, got.other_mass))
    assert math.fsum((*got.probs, got.unseen, got.other_mass)) == pytest.approx(1)


@patiently
@given(positions_(), SAMPLINGS, st.booleans(), st.randoms(use_true_random=False))
def test_the_order_of_the_alternatives_is_irrelevant(
    path: list[Position], sampling: Sampling, ended: bool, rng: random.Random
) -> None:
    mixed = [p._replace(top=tuple(rng.sample(p.top, len(p.top)))) for p in path]
    assert option_probabilities(AB, path, sampling, ended=ended) == option_probabilities(
        AB, mixed, sampling, ended=ended
    )


@patiently
@given(positions_(), SAMPLINGS, st.booleans())
def test_the_order_of_the_options_is_irrelevant(path: list[Position], sampling: Sampling, ended: bool) -> None:
    forth = option_probabilities(AB, path, sampling, ended=ended)
    back = option_probabilities(AB[::-1], path, sampling, ended=ended)
    assert forth.probs == pytest.approx(back.probs[::-1], abs=1e-12)
    assert forth.unseen == pytest.approx(back.unseen, abs=1e-12)


@patiently
@given(st.floats(0.01, 0.98), st.floats(0.01, 0.99))
def test_tokenisations_agree(answered: float, share: float) -> None:
    """However "(a)" is cut into tokens, its probability is the same."""
    a, b, other = answered * share, answered * (1 - share), 1 - answered
    rest = position(")", {")": 1.0})
    one = probs(AB, position("(a)", {"(a)": a, "(b)": b, "x": other}))
    two = probs(AB, position("(a", {"(a": a, "(b": b, "x": other}), rest)
    three = probs(AB, position("(", {"(": answered, "x": other}), position("a", {"a": share, "b": 1 - share}), rest)
    other_two = probs(AB, position("(", {"(": answered, "x": other}), position("a)", {"a)": share, "b)": 1 - share}))
    assert one == pytest.approx((a, b))
    assert two == pytest.approx(one)
    assert three == pytest.approx(one)
    assert other_two == pytest.approx(one)


# What servers send


def entry(token: Any = "(", logprob: Any = -0.1, top: Any = ()) -> dict[str, Any]:
    alternatives = [{"token": t, "logprob": p} for t, p in top] if isinstance(top, tuple | list) else top
    return {"token": token, "logprob": logprob, "top_logprobs": alternatives}


@pytest.mark.parametrize(
    "logprobs",
    [None, {}, {"content": None}, {"content": []}, [], 3, {"content": [entry()]}, {"content": [entry(top=None)]}],
)
def test_no_logprobs(logprobs: object) -> None:
    assert read_positions(logprobs) is None


@pytest.mark.parametrize(
    "content",
    [
        "text",
        ["("],
        [entry(token=None)],
        [entry(logprob="0")],
        [entry(logprob=True)],
        [entry(logprob=math.nan)],
        [entry(logprob=0.5)],
        [entry(top="(")],
        [entry(top=[(1, 2)])],
    ],
)
def test_wrong_logprobs(content: object) -> None:
    with pytest.raises(ValueError, match="log"):
        read_positions({"content": content})


def test_logprobs_a_hair_above_zero() -> None:
    assert read_positions({"content": [entry(logprob=1e-7, top=[("(", 1e-7)])]}) == [Position("(", 0.0, (("(", 0.0),))]
