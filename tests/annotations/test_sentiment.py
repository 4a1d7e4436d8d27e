"""VADER by sentence and as published."""

import json
import sys

import polars as pl
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st
from vaderSentiment.vaderSentiment import SentimentIntensityAnalyzer

from facevalue.annotations import counts, sentiment
from facevalue.annotations import sentiment as vader
from facevalue.errors import DependencyError, UnknownNameError
from tests.reference import reference

# Words that the rules know, among ordinary ones: negations, degree words, parts of phrases, capitals, marks.
WORDS = [
    *("good", "bad", "great", "horrible", "love", "GOOD", "BAD", "great!", "bad??", "(good),", "'love'", ":)", ":("),
    *("no", "not", "never", "so", "this", "without", "doubt", "least", "at", "or", "nor", "Not", "isn't"),
    *("very", "VERY", "barely", "extremely", "incredible", "kind", "sort", "just", "enough", "of"),
    *("the", "bomb", "yeah", "right", "bus", "stop", "to", "die", "for", "kiss", "death", "beating", "heart"),
    *("desk", "hat", "a", "I", "!!!", "????", "\U0001f600", "x\U0001f60d"),
]


PACKAGE = SentimentIntensityAnalyzer()


@given(st.lists(st.sampled_from(WORDS), min_size=1, max_size=9))
@example(["no", "good"])
@example(["never", "so", "good"])
@example(["a", "the", "kiss", "of", "death"])
@example(["desk", "sort", "of", "good"])
@example(["NOT", "GOOD"])
def test_a_sentence_has_the_scores_of_the_package(words: list[str]) -> None:
    sentence = " ".join(words)
    ours = sentiment._sentences(pl.Series([sentence, "a GOOD desk"])).row(0, named=True)
    theirs = PACKAGE.polarity_scores(sentence)
    assert {name: ours[name] for name in ("neg", "neu", "pos")} == pytest.approx(
        {name: theirs[name] for name in ("neg", "neu", "pos")}, abs=0.00051
    )
    assert ours["compound"] == pytest.approx(theirs["compound"], abs=0.000051)


def test_but_weighs_by_place() -> None:
    """Half before, one and a half after. The package scales the first of two words with equal ratings instead."""
    found = sentiment._sentences(pl.Series(["A horrible desk but a good hat"])).row(0, named=True)
    lexicon = vader.lexicon().valence
    down, up = 1 - 0.5 * lexicon["horrible"], 1 + 1.5 * lexicon["good"]
    assert (found["neg"], found["pos"]) == pytest.approx((down / (down + up + 5), up / (down + up + 5)))


def test_a_text_has_the_mean_of_its_sentences() -> None:
    parts = sentiment.score(pl.DataFrame({"said": ["A good hat.", "A bad desk."]}), "said")
    whole = sentiment.score(pl.DataFrame({"said": ["A good hat. A bad desk."]}), "said")
    assert whole["sentences"].to_list() == [2]
    for name in sentiment.SCORES:
        assert whole[name][0] == pytest.approx(parts[name].mean())


def test_length_alone_does_not_move_a_score() -> None:
    once, often = sentiment.score(
        pl.DataFrame({"said": ["A good hat.", " ".join(["A good hat."] * 50)]}), "said"
    ).rows()
    assert often[:-1] == pytest.approx(once[:-1])


def test_missing_texts_have_no_sentiment() -> None:
    found = sentiment.score(pl.DataFrame({"said": [None, " ", "good"]}), "said")
    assert found["pos"].to_list() == [None, None, 1.0]
    assert found["sentences"].to_list() == [None, None, 1]


def test_no_texts_give_no_rows() -> None:
    nothing = pl.DataFrame({"said": [], "group": []}, schema={"said": pl.String, "group": pl.String})
    assert sentiment.score(nothing, "said").schema == sentiment.score(pl.DataFrame({"said": ["a"]}), "said").schema
    assert sentiment.concatenated_sentiment(nothing, "said", "group").height == 0


@settings(max_examples=30)
@given(st.lists(st.none() | st.text(max_size=30) | st.just("A good hat. No!"), max_size=8), st.integers(1, 40))
def test_any_text_is_scored_within_bounds_whatever_the_pieces(said: list[str | None], size: int) -> None:
    frame = pl.DataFrame({"said": said}, schema={"said": pl.String})
    whole = sentiment.score(frame, "said")
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(counts, "PIECE", size)
        assert sentiment.score(frame, "said").equals(whole)
    shares = whole.drop_nulls()
    assert shares.select(pl.sum_horizontal("neg", "neu", "pos")).to_series().to_list() == pytest.approx(
        [1.0] * len(shares)
    )
    assert shares["compound"].is_between(-1, 1).all()


def test_a_missing_package_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "vaderSentiment", None)
    vader.lexicon.cache_clear()
    with pytest.raises(DependencyError, match=r"pip install '\.\[text\]' in a checkout of FaceValue"):
        sentiment.score(pl.DataFrame({"said": ["good"]}), "said")


def test_joined_texts_take_a_word_in_its_first_context() -> None:
    """The artefact of the published figures: "good" is negated throughout, because it was so at first."""
    said = ["It is not good.", "A good hat.", "A good tie."]
    frame = pl.DataFrame({"said": said, "group": "x"})
    forwards = sentiment.concatenated_sentiment(frame, "said", "group")
    backwards = sentiment.concatenated_sentiment(frame.reverse(), "said", "group")
    assert forwards["pos"][0] == 0 < forwards["neg"][0]
    assert backwards["neg"][0] == 0 < backwards["pos"][0]


def test_an_unknown_group_column_is_named() -> None:
    with pytest.raises(UnknownNameError, match="rase"):
        sentiment.concatenated_sentiment(pl.DataFrame({"said": ["a"], "race": ["b"]}), "said", "rase")


def test_sentiment_of_the_released_descriptions_is_that_published() -> None:
    """Table 7, as shares of a thousand that are printed as percentages."""
    frame = pl.read_parquet(reference("visbias", "descriptions_gpt-4o.parquet"))
    expected = [e for e in json.loads(reference("visbias", "expected.json").read_text()) if e["table"] == "7"]
    found = {}
    for column in ("gender", "race"):
        for row in sentiment.concatenated_sentiment(frame, "text", column).iter_rows(named=True):
            found[row[column]] = row
    assert len(expected) == 11
    for cell in expected:
        group, name = cell["column"].split("/")
        printed = round(100 * round(found[group][name], 3), 1)
        assert printed == pytest.approx(cell["value"], abs=cell["tolerance"]), cell["column"]
