"""Texts to words: what each way of cutting does, and that nothing depends on the pieces."""

import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

from facevalue.annotations import counts
from facevalue.annotations.counts import Tokeniser
from facevalue.errors import DataError, UnknownNameError
from tests.reference import reference


def cut(text: str, tokeniser: Tokeniser) -> list[str]:
    return counts.tokens(pl.Series([text]), tokeniser)["token"].to_list()


def test_marked_keeps_tokens_without_letters_and_strips_what_ends_a_text() -> None:
    assert cut("A café — 24/7.  Answer 12: ", Tokeniser.MARKED) == ["a", "caf", "", "", "answer"]


def test_stereotype_loses_hyphens_so_that_such_entries_never_match() -> None:
    assert cut("Dark-skinned, café — 7", Tokeniser.STEREOTYPE) == ["darkskinned", "café", "7"]


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("The woman’s DARK-skinned face", ["the", "woman", "dark-skinned", "face"]),
        ("he's, isn't; rock 'n' roll", ["he", "isn't", "rock", "n", "roll"]),
        ("ﬁne café", ["fine", "café"]),
        ("non‑breaking — dash", ["non-breaking", "dash"]),
        ("…!?", []),
    ],
)
def test_words_are_whole_words(text: str, expected: list[str]) -> None:
    assert cut(text, Tokeniser.WORDS) == expected


@given(st.lists(st.none() | st.text(max_size=40), max_size=12), st.sampled_from(list(Tokeniser)), st.integers(1, 60))
def test_pieces_change_nothing(said: list[str | None], tokeniser: Tokeniser, size: int) -> None:
    column = counts.checked_texts(pl.DataFrame({"said": said}, schema={"said": pl.String}), "said")
    whole = counts.tokens(column, tokeniser)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(counts, "PIECE", size)
        parts = [
            counts.tokens(piece, tokeniser).with_columns(pl.col("row") + start)
            for start, piece in counts.text_pieces(column)
        ]
    assert sum(len(part) for part in parts) == len(whole)
    if parts:
        assert pl.concat(parts).rows() == whole.rows()


def test_lengths_count_marks_and_clitics_as_tokens() -> None:
    said = ['He said: "3,000 at 10:30, isn\'t it?" (Dr. No)', "well-lit—bright... e.g. red/blue"]
    found = counts.token_lengths(pl.DataFrame({"said": said}), "said")
    assert found["characters"].to_list() == [45, 32]
    # He said : " 3,000 at 10:30 , is n't it ? " ( Dr . No )  |  well-lit—bright ... e.g . red/blue
    assert found["tokens"].to_list() == [18, 5]


def test_blank_and_missing_texts_have_no_length() -> None:
    found = counts.token_lengths(pl.DataFrame({"said": ["", " \n\t", None, "a"]}), "said")
    assert found.rows() == [(None, None), (None, None), (None, None), (1, 1)]


def test_a_column_without_any_text_is_missing_throughout() -> None:
    assert counts.token_lengths(pl.DataFrame({"said": [None, None]}), "said")["tokens"].to_list() == [None, None]


def test_a_huge_text_is_cut_at_the_limit() -> None:
    found = counts.token_lengths(pl.DataFrame({"said": ["word " * 400_000, "a b"]}), "said")
    assert found["characters"].to_list() == [counts.LIMIT, 3]
    assert found["tokens"].to_list() == [counts.LIMIT // 5, 2]


@pytest.mark.parametrize("values", [[1, 2], [["a"], ["b"]], [b"a", b"b"]])
def test_what_is_no_text_is_refused(values: list[object]) -> None:
    with pytest.raises(DataError, match="should hold texts"):
        counts.checked_texts(pl.DataFrame({"said": values}), "said")


def test_an_unknown_column_is_named() -> None:
    with pytest.raises(UnknownNameError, match="Did you mean 'said'"):
        counts.checked_texts(pl.DataFrame({"said": ["a"]}), "sayd")


def test_lengths_of_the_released_descriptions_are_those_published() -> None:
    """Table 1 divides the totals by the nominal 11,200 descriptions; our tokens are near NLTK's."""
    frame = pl.read_parquet(reference("visbias", "descriptions_gpt-4o.parquet"))
    total = counts.token_lengths(frame, "text").sum()
    assert total["characters"][0] / 11_200 == pytest.approx(610.6, abs=0.05)
    assert total["tokens"][0] / 11_200 == pytest.approx(109.1474, abs=0.05)
