"""Tokens of a reply against its text: however a text is split into tokens, and however a server shows those."""

import math
from collections.abc import Callable, Sequence
from itertools import accumulate, pairwise
from typing import Any

import pytest
from hypothesis import HealthCheck, assume, example, given, settings
from hypothesis import strategies as st

from facevalue.models._spelling import BYTES, HALF, Position, Spelling, join_texts, spelling, token_text
from facevalue.models._toplogprobs import OptionMass, option_probabilities, read_positions
from facevalue.types import Option, Sampling

patiently = settings(
    deadline=None, max_examples=60, suppress_health_check=[HealthCheck.too_slow, HealthCheck.filter_too_much]
)
END = b"</s>"
OPTIONS = (Option("", "né", "a"), Option("", "né idea", "b"), Option("", "日本", "c"), Option("(d)", "日", "d"))

Form = Callable[[Sequence[bytes], bytes], dict[str, Any]]
"""How a server shows a token, given those before it."""


def _text(raw: bytes) -> str:
    return raw.decode("utf-8", "replace")


def by_bytes(before: Sequence[bytes], token: bytes) -> dict[str, Any]:
    """As llama.cpp does: the text where it is whole, and the bytes."""
    return {"token": _text(token), "bytes": list(token)}


def by_escapes(before: Sequence[bytes], token: bytes) -> dict[str, Any]:
    """As OpenAI does, its bytes lost on the way."""
    try:
        return {"token": token.decode()}
    except UnicodeDecodeError:
        said = token.decode("ascii", "surrogateescape")
        return {"token": "bytes:" + "".join(f"\\x{ord(c) - 0xDC00:02x}" if ord(c) > 0xDC00 else c for c in said)}


def by_marks(before: Sequence[bytes], token: bytes) -> dict[str, Any]:
    """As servers do that decode each token by itself."""
    return {"token": _text(token)}


def by_nothing(before: Sequence[bytes], token: bytes) -> dict[str, Any]:
    """As vLLM 0.32 does (`_correct_decoded_token`): whole characters with the token that ends them."""
    said = _text(token)
    if said.endswith(HALF):
        said = _completed(list(before[-4:]), token)
    return {"token": said, "bytes": list(said.encode())}


def _completed(context: list[bytes], token: bytes) -> str:
    for many in range(1, len(context) + 1):
        near = context[-many:]
        full = _text(b"".join([*near, token]))
        if full.endswith(HALF):
            continue
        clean = len(near)
        while clean and _text(near[clean - 1]).endswith(HALF):
            clean -= 1
        return full.removeprefix(_text(b"".join(near[:clean])))
    return ""


def without_blanks(before: Sequence[bytes], token: bytes) -> dict[str, Any]:
    """As vLLM 0.32 does with tokenizers that put a blank before a word themselves."""
    entry = by_nothing(before, token)
    return {"token": entry["token"].removeprefix(" ")}


FORMS = [by_bytes, by_escapes, by_marks, by_nothing, without_blanks]
texts = st.text() | st.lists(st.sampled_from(["né", " idea", "日本", "日", "(d)", "“", "🙂", " ", "a", "b", ")"])).map(
    "".join
)


@st.composite
def split(draw: st.DrawFn, said: st.SearchStrategy[str] = texts) -> tuple[str, list[bytes]]:
    """A text, and its bytes cut anywhere."""
    text = draw(said)
    raw = text.encode("utf-8", "ignore")
    cuts = sorted(draw(st.sets(st.integers(1, max(1, len(raw) - 1)), max_size=24)))
    pieces = [raw[a:b] for a, b in pairwise([0, *cuts, len(raw)])]
    return raw.decode(), [piece for piece in pieces if piece]


def bare(text: str) -> str:
    """A text without blanks and without what is no character."""
    return "".join(c for c in text if c not in BYTES + HALF and not c.isspace())


def listed(form: Form, tokens: Sequence[bytes], others: Sequence[Sequence[tuple[bytes, float]]] = ()) -> list[Position]:
    """What is read of `logprobs` as a server shows them; the token taken has what the others leave."""
    content = []
    for place, token in enumerate(tokens):
        beside = others[place] if others else ()
        log = math.log(1 - math.fsum(p for _, p in beside))
        own = form(tokens[:place], token) | {"logprob": log}
        top = [form(tokens[:place], other) | {"logprob": math.log(p)} for other, p in beside]
        content.append(own | {"top_logprobs": [own, *top]})
    return read_positions({"content": content}) or []


def spelt(form: Form, tokens: Sequence[bytes], text: str, *, ended: bool = True) -> Spelling | None:
    return spelling(listed(form, tokens), text, ended=ended)


@pytest.mark.parametrize("form", FORMS)
@patiently
@given(split(), st.booleans(), st.booleans())
@example(("“日本”", [b"\xe2", b"\x80", b"\x9c\xe6", b"\x97\xa5", b"\xe6\x9c", b"\xac\xe2", b"\x80\x9d"]), True, True)
def test_a_text_split_anywhere_is_that_of_its_tokens(
    form: Form, said: tuple[str, list[bytes]], closed: bool, stripped: bool
) -> None:
    text, tokens = said
    assume(tokens)
    found = spelt(form, [*tokens, END] if closed else tokens, text.strip() if stripped else text)
    assert found is not None
    read = join_texts(*(position.token for position in found.positions))
    if HALF not in read + text:
        assert bare(read).removesuffix("</s>") == bare(text).removesuffix("</s>")


@pytest.mark.parametrize("form", FORMS)
@patiently
@given(st.lists(st.binary(min_size=1, max_size=4), min_size=1, max_size=12), st.booleans())
@example([b"\xe2", b"\x80", b"z"], True)
@example([b"\xe2", b"\xc3", b"\xa9"], False)
def test_bytes_that_are_no_text_are_those_of_the_text_that_has_marks_for_them(
    form: Form, tokens: list[bytes], ended: bool
) -> None:
    if form in (by_nothing, without_blanks):  # vLLM shows nothing of a token that ends within a character
        tokens = [bytes([byte]) for token in tokens for byte in token]
    text = _text(b"".join(tokens))
    found = spelt(form, [*tokens, END] if ended else tokens, text, ended=ended)
    assert found is not None


@pytest.mark.parametrize("form", [by_bytes, by_escapes, by_nothing, without_blanks])
@patiently
@given(split(), split())
def test_tokens_of_another_text_are_found_out(
    form: Form, said: tuple[str, list[bytes]], other: tuple[str, list[bytes]]
) -> None:
    (_, tokens), (text, _) = said, other
    seen = [position.token for position in listed(form, tokens)]
    assume(seen)
    assume(all(bare(join_texts(*some)) != bare(text) for some in (seen, seen[:-1])))
    found = spelt(form, tokens, text)
    assert found is None or any(HALF in position.token for position in found.positions)  # of which nothing is read


def test_tokens_of_hidden_reasoning_are_found_out_wherever_they_differ() -> None:
    thought = [b"(a)", b" is tempting", b", but", b"</think>", b"(a)"]
    for form in FORMS:
        assert spelt(form, thought, "(a)") is None
        assert spelt(form, [b"(a)"], "(a) is what I say") is None
        assert spelt(form, [b"\xe2", b"\x80", b"(a)"], "(b)") is None or form is by_marks  # which then reads nothing


def test_an_empty_reply_consists_of_its_end() -> None:
    for form in FORMS:
        assert spelt(form, [END], "") is not None


def test_tokens_shown_by_their_numbers_are_not_read() -> None:
    """As `vllm serve --return-tokens-as-token-ids` does; the bytes beside alternatives spell the number."""
    number = {"token": "token_id:12", "logprob": -0.1, "bytes": list(b"token_id:12")}
    with pytest.raises(ValueError, match="numbers"):
        read_positions({"content": [number | {"bytes": [40], "top_logprobs": [number]}]})


@pytest.mark.parametrize("raw", [None, 3, "40", [300], [-1], ["a"], [1.5], [True]])
def test_bytes_that_are_none_are_not_read(raw: object) -> None:
    assert token_text(HALF, raw) in (HALF, "\x01")


def test_a_half_of_a_surrogate_pair_is_no_byte() -> None:
    assert token_text("\udce2", None) == HALF
    assert token_text("\ud83d", None) == HALF


# Probabilities


def read(
    form: Form, tokens: Sequence[bytes], others: Sequence[Sequence[tuple[bytes, float]]], ended: bool
) -> OptionMass:
    text = _text(b"".join(tokens))
    whole = [*tokens, END] if ended else tokens
    found = spelling(listed(form, whole, [*others, ()] if ended else others), text, ended=ended)
    assert found is not None
    return option_probabilities(OPTIONS, found.positions, Sampling(), ended=ended, blanks=found.blanks)


def blanks(form: Form, tokens: Sequence[bytes], others: object, ended: bool) -> bool:
    found = spelt(form, tokens, _text(b"".join(tokens)), ended=ended)
    assert found is not None
    return found.blanks


@st.composite
def replies(draw: st.DrawFn) -> tuple[list[bytes], list[list[tuple[bytes, float]]], bool]:
    """A reply, what else might have been said at each of its tokens, and whether it ended by itself."""
    piece = st.sampled_from(["né", "né idea", "日本", "日", "“né”", " 日", "(d)", "n", "é", " idea", "x", "“"])
    _, tokens = draw(split(st.lists(piece, min_size=1, max_size=3).map("".join)))
    raws = [
        b"n",
        b" n",
        "é".encode(),
        b"\xc3",
        b"\xa9",
        b"\xe6",
        b"\xe6\x97",
        b"\xa5",
        b"\x9c\xac",
        b" idea",
        b"x",
        b" ",
    ]
    others = []
    for token in tokens:
        beside = draw(st.lists(st.sampled_from([*raws, "日".encode(), "“".encode(), END]), max_size=4, unique=True))
        weights = [draw(st.floats(0.01, 1)) for _ in beside]
        others.append(
            [(raw, w / (1 + math.fsum(weights))) for raw, w in zip(beside, weights, strict=True) if raw != token]
        )
    return tokens, others, draw(st.booleans())


@pytest.mark.slow
@pytest.mark.parametrize("form", [by_escapes, by_marks, by_nothing, without_blanks])
@patiently
@given(replies())
def test_no_form_overestimates_an_option_or_what_is_not_one(
    form: Form, reply: tuple[list[bytes], list[list[tuple[bytes, float]]], bool]
) -> None:
    """What a form leaves open is unseen: its bounds hold what all bytes say."""
    assume(form is not without_blanks or not blanks(form, *reply))  # otherwise nothing shows that blanks are missing
    known, shown_so = read(by_bytes, *reply), read(form, *reply)
    for ours, true in zip(shown_so.probs, known.probs, strict=True):
        assert ours <= true + known.unseen + 1e-9
        assert ours + shown_so.unseen >= true - 1e-9


def test_an_option_whose_characters_are_split_is_read() -> None:
    """In all forms that tell what the parts are."""
    tokens = [b"\xe6\x97", b"\xa5", b"\xe6", b"\x9c\xac"]
    others = [[(b"(d)", 0.2), (b"x", 0.1)], [], [(b"x", 0.25)], []]
    for form in (by_bytes, by_escapes, by_nothing):
        got = read(form, tokens, others, ended=True)
        assert got.probs == pytest.approx((0, 0, 0.7 * 0.75, 0.2))
        assert got.unseen == pytest.approx(0, abs=1e-9)
    assert read(by_marks, tokens, others, ended=True).unseen == pytest.approx(0.7)


def test_quotation_marks_split_before_an_option_are_read_through() -> None:
    tokens = [b"\xe2", b"\x80", b"\x9c", b"(d)", b"\xe2", b"\x80", b"\x9d"]
    for form in (by_bytes, by_escapes, by_nothing):
        assert read(form, tokens, [[] for _ in tokens], ended=True).probs == pytest.approx((0, 0, 0, 1))


def test_an_alternative_within_a_character_may_break_it() -> None:
    """vLLM shows "é" for what completes it, and "(d)" for what breaks it: which of the two can't be told."""
    tokens, others = [b"n", b"\xc3", b"\xa9"], [[], [], [(b"(d)", 0.3)]]
    assert read(by_bytes, tokens, others, ended=True).unseen == 0
    assert read(by_nothing, [b"\xe2", b"\x80", b"\x9c", b"(d)"], [[], [], [(b"(d)", 0.3)], []], ended=True).unseen == (
        pytest.approx(0.3)
    )


def test_parts_of_characters_that_look_alike_are_not_taken_for_one() -> None:
    """vLLM shows all of them as nothing."""
    got = read(by_nothing, [b"\xe6\x97", b"\xa5", b"x"], [[(b"\xc3", 0.4)], [], []], ended=True)
    assert got.probs == pytest.approx((0, 0, 0, 0))
    assert got.unseen == pytest.approx(0.4)


def test_where_blanks_are_not_shown_an_alternative_that_needs_to_know_is_unseen() -> None:
    options = (Option("", "no", "n"), Option("", "no idea", "i"))
    tokens, others = [b"no", b" way", b" out"], [[(b"x", 0.1)], [(b" idea", 0.3), (b".", 0.2)], []]
    for form, unseen in ((by_nothing, 0.0), (without_blanks, 0.9 * 0.8)):
        found = spelling(listed(form, [*tokens, END], [*others, []]), "no way out", ended=True)
        assert found is not None
        got = option_probabilities(options, found.positions, Sampling(), ended=True, blanks=found.blanks)
        assert got.unseen == pytest.approx(unseen if form is by_nothing else 0.9 * 0.3, abs=1e-9)
        assert list(accumulate(position.token for position in found.positions))[2] == "no way out"


def test_a_token_spelt_like_a_likelier_one_is_another() -> None:
    """SentencePiece has "a" and "▁a", and some servers show both as "a"; "( a)" is no option."""
    options = (Option("(a)", "x", "x"), Option("(b)", "y", "y"))
    first = Position("(", math.log(0.7), (("(", math.log(0.7)), ("(", math.log(0.2)), ("z", math.log(0.1))))
    second = Position("a", math.log(0.6), (("a", math.log(0.6)), ("b", math.log(0.3)), ("a", math.log(0.1))))
    got = option_probabilities(options, [first, second], Sampling(), ended=True)
    assert got.probs == pytest.approx((0.7 * 0.6, 0.7 * 0.3))
    assert got.unseen == pytest.approx(0.2 + 0.7 * 0.1)
