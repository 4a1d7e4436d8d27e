"""Ratings of words in a file of the user's, and the mean of those in a text."""

from pathlib import Path

import pytest

from facevalue.annotations.lexicon import read_ratings
from facevalue.annotations.model_scorers import load_scorer
from facevalue.annotations.scorers import RatedWords
from facevalue.errors import DataError, UnknownNameError

RATINGS = "Word\tValence\tArousal\nkind\t0.9\t0.3\nFool\t0.1\t0.5\n\nhard work\t0.6\t0.7\n"


@pytest.fixture
def path(tmp_path: Path) -> Path:
    (tmp_path / "vad.tsv").write_text(RATINGS)
    return tmp_path / "vad.tsv"


def test_a_text_has_the_mean_of_its_rated_words_each_as_often_as_it_occurs(path: Path) -> None:
    scoring = RatedWords(path).score(
        ["A KIND man, so kind, to a fool!", "It is hard work.", "hard  WORK", "", "Kinder."]
    )
    valence, arousal = scoring.scores["valence"], scoring.scores["arousal"]
    assert valence == [pytest.approx((0.9 + 0.9 + 0.1) / 3), None, 0.6, None, None]
    assert arousal == [pytest.approx((0.3 + 0.3 + 0.5) / 3), None, 0.7, None, None]
    assert scoring.reasons == dict.fromkeys((1, 3, 4), "no word in it is rated")


def test_scores_do_not_hang_on_the_texts_beside(path: Path) -> None:
    texts = ["kind", "fool", "A kind fool", "nobody", "hard work"]
    together = RatedWords(path).score(texts).scores["valence"]
    assert together == [RatedWords(path).score([text]).scores["valence"][0] for text in texts]


def test_who_scores_says_its_file_and_another_rating_is_another_scorer(path: Path, tmp_path: Path) -> None:
    scorer = load_scorer(f"lexicon/{path}", ["arousal"])
    assert (scorer.name, scorer.called, scorer.labels) == ("lexicon/vad.tsv", "vad", ("arousal",))
    assert set(scorer.score(["kind"]).scores) == {"arousal"}
    (tmp_path / "vad.csv").write_text("word,valence,arousal\nhard work,.6,.7\nkind,.9,.3\nfool,.1,.5\n")
    assert RatedWords(tmp_path / "vad.csv").digest == scorer.digest
    (tmp_path / "vad.csv").write_text("word,valence,arousal\nhard work,.6,.7\nkind,.9,.3\nfool,.2,.5\n")
    assert RatedWords(tmp_path / "vad.csv").digest != scorer.digest
    with pytest.raises(UnknownNameError, match=r"Unknown label of lexicon/vad.tsv 'valance'. Did you mean 'valence'"):
        load_scorer(f"lexicon/{path}", ["valance"])


def test_two_columns_without_names_are_rated_by_the_name_of_the_file(tmp_path: Path) -> None:
    (tmp_path / "Warmth.txt").write_text("kind\t1\ncold\t-1\n")
    assert read_ratings(tmp_path / "Warmth.txt").to_dict(as_series=False) == {
        "word": ["kind", "cold"], "warmth": [1.0, -1.0],
    }  # fmt: skip


@pytest.mark.parametrize(
    ("content", "message"),
    [
        ("word,valence\nkind,high", r"r\.csv, line 2: a row holds word, valence, all .* not 'kind, high'\."),
        ("word,valence\nkind,0.9,0.1", r"line 2: a row holds word, valence"),
        ("word,valence\nkind", r"line 2: .* not 'kind'"),
        ("word,valence\nkind,nan", r"line 2: "),
        ("word,valence\nkind,0.9\nfool,1_000", r"r\.csv, line 3: .* not 'fool, 1_000'"),
        ("word,valence\n,0.5", r"line 2: "),
        ("word,valence\nkind,0.9\n\nKind ,0.8", r"line 4: 'Kind' was rated otherwise before"),
        ("word,valence,arousal\nkind,0.9", r"line 2: a row holds word, valence, arousal"),
        ("word\nkind", r"r\.csv: ratings of words have a column of words"),
        ("word,valence,valence\nkind,1,1", r"r\.csv: ratings of words"),
        ("word,valence\n", r"r\.csv: ratings of words .* and rows"),
        ("", r"r\.csv: ratings of words"),
        ('word,valence\n"' + "x" * 200_000, r"line 2: "),
    ],
)  # fmt: skip
def test_what_is_no_rating_is_one_sentence(content: str, message: str, tmp_path: Path) -> None:
    (tmp_path / "r.csv").write_text(content)
    with pytest.raises(DataError, match=message):
        read_ratings(tmp_path / "r.csv")
