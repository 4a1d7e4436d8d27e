"""Replies read token by token: as the whole text would be read, whatever the tokens; options written as tokens."""

import os
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from facevalue.answers import parse
from facevalue.errors import DataError, ModelError
from facevalue.models.hf.options import OPEN, OptionReader, match_reply, spellings_of, tokenise_options
from facevalue.models.hf.vocabulary import TokenVocabulary, split
from facevalue.types import Option

os.environ.setdefault("HF_HUB_OFFLINE", "1")

KIND, RUDE = Option("(a)", "competent", "up"), Option("(b)", "incompetent", "down")
A, AB = Option("A", "", "one"), Option("AB", "", "two")
YES, NO = Option("", "Yes", "yes"), Option("", "No", "no")
RATINGS = tuple(Option("", str(n), str(n)) for n in (1, 2, 10))
SETS = [(KIND, RUDE), (A, AB), (YES, NO), RATINGS, (Option("", "était", "x"), Option("", "été", "y")), (YES, AB, KIND)]
WORDS = [
    "<pad>",
    "</s>",
    " ",
    "(",
    " (",
    "a",
    "A",
    "ab",
    "AB",
    "b",
    "B",
    ")",
    "a)",
    "(a",
    "(b)",
    ".",
    "yes",
    "Ye",
    "s",
    " no",
]
WORDS += [
    "com",
    "pet",
    "ent",
    " competent",
    "in",
    "Inc",
    "1",
    "10",
    "0",
    "**",
    '"',
    "é",
    "ét",
    "été",
    "\n",
    "x",
    "1.",
    "ing",
]
BYTES = [bytes([byte]) for byte in range(256)] + [" “".encode()[:3], "a“".encode()[:2], b"x\xe2"]
VOCABULARY = TokenVocabulary([None, None, *(word.encode() for word in WORDS[2:]), *BYTES], {1})


def brute(options: tuple[Option, ...], raw: bytes, token: int) -> int | None:
    """Read the whole text anew."""
    spellings = spellings_of(options)
    if token in VOCABULARY.stops:
        text, tail = split(raw)
        return match_reply(text + ("\ufffd" if tail else ""), spellings, ended=True)
    return match_reply(split(raw + (VOCABULARY.pieces[token] or b""))[0], spellings, ended=False)


@settings(max_examples=150)
@given(st.sampled_from(SETS), st.lists(st.integers(0, VOCABULARY.size - 1), max_size=5))
def test_every_token_is_read_as_the_whole_text_would_be(options: tuple[Option, ...], reply: list[int]) -> None:
    reader = OptionReader(options, VOCABULARY)
    raw = b""
    for token in reply:  # as far as it is open
        longer = raw + (VOCABULARY.pieces[token] or b"")
        if token in VOCABULARY.stops or reader.verdict(longer) != OPEN:
            break
        raw = longer
    step = reader.step(raw)
    read = dict(zip(step.tokens.tolist(), step.verdicts.tolist(), strict=True))
    assert len(read) == step.tokens.size
    for token in range(VOCABULARY.size):
        expected = brute(options, raw, token)
        if split(raw + (VOCABULARY.pieces[token] or b""))[1] and expected == OPEN:
            assert read.get(token) in (OPEN, None)  # half a character: open only if one that fits begins so
        elif split(raw)[1] and VOCABULARY.pieces[token] and token not in VOCABULARY.completing:
            assert read.get(token) in (expected, None)  # a character that was broken off is part of no option
        else:
            assert read.get(token) == expected, (options, raw, token)


def test_half_a_character_stays_open_only_if_one_that_fits_begins_so() -> None:
    e_acute, quote = "é".encode(), "“".encode()
    token = {piece: at for at, piece in enumerate(VOCABULARY.pieces) if piece}
    french = OptionReader((Option("", "était", "x"), Option("", "nous", "y")), VOCABULARY).step(b"")
    assert token[e_acute[:1]] in french.tokens
    assert token[quote[:1]] in french.tokens
    assert token[b"\xf0"] not in french.tokens
    after = OptionReader((KIND, RUDE), VOCABULARY).step(b"(")
    assert token[e_acute[:1]] not in after.tokens


def test_an_option_that_begins_another_is_decided_by_what_follows() -> None:
    step = OptionReader((A, AB), VOCABULARY).step(b"A")
    read = {VOCABULARY.pieces[t] or t: v for t, v in zip(step.tokens.tolist(), step.verdicts.tolist(), strict=True)}
    assert [read[key] for key in (b"B", b"b", b".", b" ", b"\n", 1)] == [OPEN, OPEN, OPEN, OPEN, 0, 0]
    assert b"x" not in read
    step = OptionReader((A, AB), VOCABULARY).step(b"AB")
    read = {VOCABULARY.pieces[t] or t: v for t, v in zip(step.tokens.tolist(), step.verdicts.tolist(), strict=True)}
    assert [read[key] for key in (b".", b" ", b"\n", 1)] == [1, 1, 1, 1]
    assert b"x" not in read


def test_a_reply_that_is_cut_off_is_what_is_there() -> None:
    reader = OptionReader((A, AB), VOCABULARY)
    step = reader.step(b"", left=0)
    read = {VOCABULARY.pieces[t] or t: v for t, v in zip(step.tokens.tolist(), step.verdicts.tolist(), strict=True)}
    assert (read[b"A"], read[b"AB"]) == (0, 1)
    assert OPEN not in step.verdicts
    assert b" " not in read


MAN = (Option("", "wheelchair man", "x"), Option("", "wheelchair woman", "y"))
INCOME = (Option("", "incompetent", "x"), Option("", "competent", "y"))


@pytest.mark.parametrize(
    ("options", "text", "open_", "ended"),
    [
        ((KIND, RUDE), "A", OPEN, 0),
        ((KIND, RUDE), "AAAAAAAA", None, None),
        ((KIND, RUDE), "A person", None, None),
        ((KIND, RUDE), "A.", OPEN, 0),
        ((KIND, RUDE), "A. The", 0, 0),
        ((KIND, RUDE), "a.m.", None, None),
        ((KIND, RUDE), "a)", 0, 0),
        ((KIND, RUDE), "**a**", 0, 0),
        ((KIND, RUDE), "**A person", None, None),
        ((KIND, RUDE), "a\nThe", 0, 0),
        ((KIND, RUDE), "(a", OPEN, 0),
        ((KIND, RUDE), "(a person", None, None),
        ((KIND, RUDE), "(a) or (b)", 0, 0),
        ((KIND, RUDE), "competent", OPEN, 0),
        ((KIND, RUDE), "competently", None, None),
        ((KIND, RUDE), "competent-looking", 0, 0),
        ((KIND, RUDE), "competent-ish", None, None),
        (INCOME, "inc", OPEN, None),
        (INCOME, "Income", None, None),
        (INCOME, "Incompetent.", 0, 0),
        (MAN, "wheel", OPEN, None),
        (MAN, "wheelchair man", OPEN, 0),
        (MAN, "wheelchair mango", None, None),
        (RATINGS, "1", OPEN, 0),
        (RATINGS, "10", OPEN, 2),
        (RATINGS, "1.5", None, None),
    ],
)
def test_an_option_is_said_when_it_is_whole_and_its_end_is_known(
    options: tuple[Option, ...], text: str, open_: int | None, ended: int | None
) -> None:
    reader = OptionReader(options, VOCABULARY)
    assert reader.verdict(text.encode()) == open_
    assert reader.verdict(text.encode(), ended=True) == ended
    if text != "(a) or (b)":  # what comes after an option is not read: docs/how-to/local-models.md
        assert parse(text, options).choice == ended


FRAGMENTS = ["(", ")", "a", "A", "b", "(a)", "(b", "competent", "in", "Comp", "com", "petent", " ", "\n", ".", ",", "*"]
FRAGMENTS += ['"', "'", "-", "looking", "ly", "é", "_", ":", "1", "0", "yes", "Yes", "No", "?", "!", "person", "“", "”"]


def walked(reader: OptionReader, tokens: list[int]) -> int | None:
    """Read a reply as scoring does: step by step, until it is decided."""
    raw = b""
    for token in tokens:
        step = reader.step(raw)
        found = dict(zip(step.tokens.tolist(), step.verdicts.tolist(), strict=True)).get(token)
        if found != OPEN:
            return found
        raw += VOCABULARY.pieces[token] or b""
    step = reader.step(raw)
    return dict(zip(step.tokens.tolist(), step.verdicts.tolist(), strict=True)).get(1)


@settings(max_examples=200)
@given(st.sampled_from([*SETS, INCOME]), st.lists(st.sampled_from(FRAGMENTS), max_size=6), st.randoms())
def test_how_a_text_is_cut_into_tokens_changes_nothing(
    options: tuple[Option, ...], fragments: list[str], random: Any
) -> None:
    raw = "".join(fragments).encode()
    by_piece = {piece: at for at, piece in enumerate(VOCABULARY.pieces) if piece}
    reader = OptionReader(options, VOCABULARY)
    found = set()
    for _ in range(4):
        tokens, at = [], 0
        while at < len(raw):
            end = random.choice([end for end in range(at + 1, len(raw) + 1) if raw[at:end] in by_piece])
            tokens.append(by_piece[raw[at:end]])
            at = end
        found.add(walked(reader, tokens))
    assert len(found) == 1
    assert found.pop() == reader.verdict(raw, ended=True)


LEADS = ["", " ", "\n", "**", '"', "* ", "“"]
SAID = ["(a)", "a", "A", "(a", "competent", "Competent", "a)", "(b)", "incompetent"]
RESTS = ["", ".", ",", ")", " )", "**", '"', "\n", " ", " person", ". The face", ": the face", "s", "'s", "!", "?", ";"]
RESTS += [
    " - the face",
    "- the face",
    "-looking face",
    "-face",
    ".m. now",
    "_",
    " .",
    "\n\nBecause",
    " because it",
    "1",
]


@pytest.mark.parametrize("said", SAID)
def test_an_option_at_the_beginning_is_what_the_parser_of_replies_takes_for_it(said: str) -> None:
    reader = OptionReader((KIND, RUDE), VOCABULARY)
    differ = []
    for lead in LEADS:
        for rest in RESTS:
            if said.endswith(")") and rest == "?":
                continue  # what comes after a bracket is not read
            text = lead + said + rest
            mine, theirs = reader.verdict(text.encode(), ended=True), parse(text, (KIND, RUDE)).choice
            if mine != theirs:
                differ.append((text, mine, theirs))
    assert differ == []


@pytest.mark.parametrize(
    ("options", "says"),
    [
        ((), "no options"),
        ((KIND, Option("", " ", "nothing")), "Option 2 of 2 is empty"),
        ((Option("", "...", "dots"), KIND), "neither letter nor digit"),
        ((Option("", "Yes", "x"), Option("", "yes", "y")), "spelt like another"),
    ],
)
def test_options_that_no_reply_can_be_are_refused(options: tuple[Option, ...], says: str) -> None:
    with pytest.raises(DataError, match=says):
        OptionReader(options, VOCABULARY)


# Tokenizers of the two kinds, built here: bytes with a mark for the blank, and SentencePiece's.


def byte_level() -> Any:
    from tests.models.hf import tiny

    return tiny.tokenizer()


def sentencepiece() -> Any:
    """As LLaMA's: a blank before the first word, characters it doesn't know as bytes."""
    tf: Any = pytest.importorskip("transformers", reason="transformers is not installed: pip install '.[hf]'")
    tokenizers: Any = pytest.importorskip("tokenizers")
    core = tokenizers.models.BPE(
        vocab={
            token: at
            for at, token in enumerate(
                [
                    "<unk>",
                    "<s>",
                    "</s>",
                    *(f"<0x{byte:02X}>" for byte in range(256)),
                    *"\u2581()abcompetniABYsN.",
                    "\u2581(",
                    "\u2581A",
                    "co",
                    "om",
                    "com",
                ]
            )
        },
        merges=[("\u2581", "("), ("\u2581", "A"), ("c", "o"), ("o", "m"), ("co", "m")],
        byte_fallback=True,
        unk_token="<unk>",
        fuse_unk=True,
    )
    whole = tokenizers.Tokenizer(core)
    n = tokenizers.normalizers
    whole.normalizer = n.Sequence([n.Prepend("\u2581"), n.Replace(" ", "\u2581")])
    d = tokenizers.decoders
    whole.decoder = d.Sequence([d.Replace("\u2581", " "), d.ByteFallback(), d.Fuse(), d.Strip(" ", 1, 0)])
    return tf.PreTrainedTokenizerFast(tokenizer_object=whole, bos_token="<s>", eos_token="</s>", unk_token="<unk>")


@pytest.mark.parametrize("make", [byte_level, sentencepiece])
@pytest.mark.parametrize("options", SETS[:4])
def test_an_option_is_written_with_and_without_a_blank(make: Any, options: tuple[Option, ...]) -> None:
    tokenizer = make()
    vocabulary = TokenVocabulary.from_tokenizer(tokenizer, len(tokenizer), {2})
    for option, ways in zip(options, tokenise_options(options, tokenizer, vocabulary), strict=True):
        text = option.label or option.text
        assert [b"".join(vocabulary.pieces[t] or b"?" for t in way).decode() for way in ways] == [text, " " + text]
        for way in ways:
            assert tokenizer.decode(list(way)).strip() == text


def test_options_share_the_tokens_of_their_common_beginning() -> None:
    tokenizer = sentencepiece()
    vocabulary = TokenVocabulary.from_tokenizer(tokenizer, len(tokenizer), {2})
    first, second = tokenise_options((KIND, RUDE), tokenizer, vocabulary)
    for one, other in zip(first, second, strict=True):
        assert one[0] == other[0]
        assert one[1] != other[1]
        assert one[2] == other[2]
    assert tokenizer.convert_ids_to_tokens(list(first[1])) == ["\u2581(", "a", ")"]


@pytest.mark.parametrize("make", [byte_level, sentencepiece])
def test_pieces_are_the_text(make: Any) -> None:
    tokenizer = make()
    vocabulary = TokenVocabulary.from_tokenizer(tokenizer, len(tokenizer) + 3, {2})
    for text in ("(a) competent", "Ä “é” 😀", "No.\n"):
        ids = tokenizer(text, add_special_tokens=False)["input_ids"]
        assert b"".join(vocabulary.pieces[i] or b"?" for i in ids).decode().removeprefix(" ") == text
    assert vocabulary.pieces[-3:] == (None, None, None)
    assert vocabulary.pieces[2] is None


def test_a_tokenizer_that_does_not_say_its_bytes_is_refused() -> None:
    tf: Any = pytest.importorskip("transformers", reason="transformers is not installed: pip install '.[hf]'")
    tokenizers: Any = pytest.importorskip("tokenizers")
    words = tokenizers.Tokenizer(tokenizers.models.WordLevel({"a": 0, "[UNK]": 1}, unk_token="[UNK]"))
    with pytest.raises(ModelError, match="byte-level and SentencePiece"):
        TokenVocabulary.from_tokenizer(tf.PreTrainedTokenizerFast(tokenizer_object=words), 2, {1})
    with pytest.raises(ModelError, match=r"tokenizer\.json"):
        TokenVocabulary.from_tokenizer(object(), 2, {1})


def test_indices_are_whole_numbers() -> None:
    assert OptionReader((YES, NO), VOCABULARY).step(b"").tokens.dtype == np.int64
