"""Scoring: each distinct text once, whatever ends it; what a scorer leaves out is an error or a failure, never 0."""

import math
import os
import signal
import subprocess
import sys
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any, cast

import numpy as np
import polars as pl
import pytest

from facevalue.annotations import scores
from facevalue.annotations.scorers import LexicalHostility, Scoring
from facevalue.annotations.scoring import ScoringOutcome, score_texts
from facevalue.errors import DataError, RunError, UnknownNameError
from facevalue.store.journal import Journal

TEXTS = ["A calm person.", "An old fool!", "", "x" * 10**6, "A calm person.", "Ünïcödé \U0001f642", "a\nb\r\n\x00c"]


class Lengths:
    """Scores a text by its length, and by that modulo 7."""

    called, version, digest = "lengths", "1", "none"
    labels = ("length", "rest")

    def __init__(self, at_once: int = 3, ends_after: int | None = None, digest: str = "none") -> None:
        self.name = "lengths"
        self.at_once = at_once
        self.digest = digest
        self.asked: list[str] = []
        self._ends_after = ends_after

    def score(self, texts: Sequence[str]) -> Scoring:
        if self._ends_after is not None and len(self.asked) >= self._ends_after:
            raise DataError("The scorer broke.")
        self.asked += texts
        return self.made([float(len(text)) for text in texts])

    def made(self, lengths: list[float]) -> Scoring:
        return Scoring({"length": lengths, "rest": [length % 7 for length in lengths]})

    def close(self) -> None:
        pass


class Made(Lengths):
    """Gives what a function makes of the lengths."""

    def __init__(self, made: Callable[[list[float]], Scoring]) -> None:
        super().__init__()
        self._made = made

    def made(self, lengths: list[float]) -> Scoring:
        return self._made(lengths)


def pieces(texts: Sequence[str], size: int = 2) -> Callable[[], list[pl.Series]]:
    return lambda: [pl.Series(texts[at : at + size], dtype=pl.String) for at in range(0, len(texts), size)]


def table(folder: Path, texts: Sequence[str] = TEXTS) -> list[tuple[float | None, ...]]:
    """Scores of texts by the only scorer."""
    (kept,) = scores.read(folder)
    return kept.scores_of_texts(pl.Series(texts, dtype=pl.String)).rows()


def test_each_distinct_text_is_scored_once_and_known_ones_are_taken_from_before(tmp_path: Path) -> None:
    scorer = Lengths()
    assert score_texts(tmp_path, scorer, pieces(TEXTS)) == ScoringOutcome(6, 0, 6)
    assert sorted(scorer.asked) == sorted(set(TEXTS))
    again = Lengths()
    assert score_texts(tmp_path, again, pieces([*TEXTS, "new", "new"] * 2)) == ScoringOutcome(7, 6, 1)
    assert again.asked == ["new"]
    assert table(tmp_path) == [(float(len(text)), float(len(text) % 7)) for text in TEXTS]


@pytest.mark.parametrize("texts", [[], ["a"] * 1000, [""], ["x" * 10**6, "y" * 10**6]])
def test_no_texts_and_texts_that_are_all_alike_or_long_are_scored(tmp_path: Path, texts: list[str]) -> None:
    assert score_texts(tmp_path, Lengths(), pieces(texts)).done == len(set(texts))
    assert table(tmp_path, texts) == [(float(len(text)), float(len(text) % 7)) for text in texts]


def test_missing_texts_are_none(tmp_path: Path) -> None:
    assert score_texts(tmp_path, Lengths(), lambda: [pl.Series([None, "a", None], dtype=pl.String)]).texts == 1


@pytest.mark.parametrize(("at_once", "size"), [(1, 1), (2, 5), (1000, 1000)])
def test_scores_do_not_depend_on_batch_or_order(tmp_path: Path, at_once: int, size: int) -> None:
    texts = [f"A {word} text of {number} words." for number in range(20) for word in ("calm", "stupid", "foolish")]
    score_texts(tmp_path / "usual", LexicalHostility(), pieces(texts))

    class Batched(LexicalHostility):
        pass

    Batched.at_once = at_once
    score_texts(tmp_path / "other", Batched(), pieces(texts[::-1] + texts, size))
    assert table(tmp_path / "other", texts) == table(tmp_path / "usual", texts)


def test_what_came_before_a_scorer_broke_is_kept_and_the_next_call_goes_on(tmp_path: Path) -> None:
    with pytest.raises(DataError, match="The scorer broke"):
        score_texts(tmp_path, Lengths(ends_after=3), pieces(TEXTS, 100))
    again = Lengths()
    assert score_texts(tmp_path, again, pieces(TEXTS)) == ScoringOutcome(6, 3, 3)
    assert table(tmp_path) == [(float(len(text)), float(len(text) % 7)) for text in TEXTS]


@pytest.mark.parametrize("none", [math.nan, math.inf, None])
def test_no_number_is_a_failure_of_that_text_and_never_0(tmp_path: Path, none: float | None) -> None:
    def made(lengths: list[float]) -> Scoring:
        return Scoring({"length": [none if x == 14 else x for x in lengths], "rest": lengths})

    now = score_texts(tmp_path, Made(made), pieces(["A calm person.", "fine"]))
    assert (now.done, now.failed) == (2, 1)
    assert table(tmp_path, ["A calm person.", "fine"]) == [(None, 14.0), (4.0, 4.0)]
    (kept,) = scores.read(tmp_path)
    assert (kept.scored, kept.failed, kept.reasons) == (1, 1, {"no score of length": 1})
    assert score_texts(tmp_path, Lengths(), pieces(["A calm person."])).before == 1


def odd(spoil: Callable[[list[float]], Any]) -> Callable[[list[float]], Any]:
    """A scorer's answer, spoilt wherever a text of 3 characters is among those that are scored."""
    return lambda x: spoil(x) if 3.0 in x else Scoring({"length": x, "rest": x})


def raising(x: list[float]) -> Scoring:
    raise ValueError("out of luck")


def instead(value: object) -> Callable[[list[float]], Scoring]:
    return lambda x: Scoring({"length": x, "rest": [value if one == 3.0 else one for one in x]})  # type: ignore[misc]


@pytest.mark.parametrize(
    ("spoil", "why"),
    [
        (lambda x: Scoring({"length": x}), "lengths gave no scores for 'rest'"),
        (lambda x: Scoring({}), "lengths gave no scores for 'length'"),
        (lambda x: Scoring({"length": x, "rest": x[1:]}), "lengths gave 0 scores of 'rest' for 1 text"),
        (lambda x: Scoring({"length": x, "rest": [*x, 0.0]}), "lengths gave more than 1 scores of 'rest' for 1 text"),
        (lambda x: Scoring({"length": x, "rest": cast(Any, 7)}), "lengths gave 7 (int) as scores of 'rest'"),
        (lambda x: Scoring({"length": x, "rest": cast(Any, "abc")}), "lengths gave 'abc' (str) as scores of 'rest'"),
        (lambda x: Scoring({"length": x, "rest": x}, reasons=cast(Any, 7)), "lengths raised TypeError"),
        (lambda x: Scoring({"length": x, "rest": x}, unasked=cast(Any, None)), "lengths raised TypeError"),
        (lambda x: None, "lengths gave None, not a Scoring"),
        (raising, "lengths raised ValueError: out of luck"),
        (instead("0.5"), "lengths gave '0.5' (str) as a score of 'rest'"),
        (instead("\ud800"), "(str) as a score of 'rest'"),
        (instead(True), "lengths gave True (bool) as a score of 'rest'"),
        (instead([0.5]), "lengths gave [0.5] (list) as a score of 'rest'"),
        (instead(10**400), "(int) as a score of 'rest'"),
    ],
)
def test_an_odd_score_costs_its_own_text_alone_is_named_and_asked_again(
    tmp_path: Path, spoil: Callable[[list[float]], Any], why: str
) -> None:
    texts = ["a", "bb", "ccc", *("x" * size for size in range(4, 40))]
    scorer = Made(odd(spoil))
    scorer.at_once = 100
    now = score_texts(tmp_path, scorer, pieces(texts, 100))
    assert (now.done, now.failed, now.unasked) == (38, 0, 1)
    assert why in now.why
    assert "'ccc'" in now.why
    assert table(tmp_path, texts) == [(None, None) if x == "ccc" else (float(len(x)), float(len(x))) for x in texts]
    again = Lengths()
    assert score_texts(tmp_path, again, pieces(texts)) == ScoringOutcome(39, 38, 1)
    assert again.asked == ["ccc"]


@pytest.mark.parametrize("of", [np.float32, np.int64, int])
def test_numbers_of_any_kind_are_scores(tmp_path: Path, of: Callable[[float], Any]) -> None:
    def made(x: list[float]) -> Scoring:
        return Scoring({"length": np.array(x), "rest": [of(one) for one in x]})  # type: ignore[dict-item]

    score_texts(tmp_path, Made(made), pieces(["a", "bb"]))
    assert table(tmp_path, ["a", "bb"]) == [(1.0, 1.0), (2.0, 2.0)]


def test_a_scorer_of_which_no_score_can_count_is_asked_a_few_times_and_quoted(tmp_path: Path) -> None:
    scorer = Made(raising)
    scorer.at_once = 1000
    with pytest.raises(DataError, match=r"No score of 20 texts in a row can count\. The last: .*out of luck, for 'x"):
        score_texts(tmp_path, scorer, pieces(["x" * size for size in range(1, 1000)], 1000))
    assert len(scorer.asked) < 5_000


def test_what_came_before_a_scorer_went_wrong_for_good_is_kept(tmp_path: Path) -> None:
    texts = ["x" * size for size in range(1, 200)]
    scorer = Made(lambda x: raising(x) if max(x) > 50 else Scoring({"length": x, "rest": x}))
    scorer.at_once = 10
    with pytest.raises(DataError, match="No score of 100 texts in a row"):
        score_texts(tmp_path, scorer, pieces(texts, 1000))
    assert score_texts(tmp_path, Lengths(), pieces(texts)).before == 50


def test_what_could_not_be_asked_is_not_stored_and_is_tried_again(tmp_path: Path) -> None:
    def made(lengths: list[float]) -> Scoring:
        return Scoring({"length": [*lengths], "rest": [*lengths]}, unasked={0: "HTTP 500"})

    now = score_texts(tmp_path, Made(made), pieces(["a", "bb"]))
    assert (now.done, now.unasked, now.why) == (1, 1, "HTTP 500")
    assert table(tmp_path, ["a", "bb"]) == [(None, None), (2.0, 2.0)]
    assert score_texts(tmp_path, Lengths(), pieces(["a", "bb"])) == ScoringOutcome(2, 1, 1)


def test_texts_in_pieces_and_reasons_are_counted(tmp_path: Path) -> None:
    def made(lengths: list[float]) -> Scoring:
        return Scoring({"length": [None, 1.0], "rest": [None, 1.0]}, {0: "empty"}, cut=[1])

    now = score_texts(tmp_path, Made(made), pieces(["a", "bb"]))
    (kept,) = scores.read(tmp_path)
    assert (now.failed, now.cut) == (kept.failed, kept.cut) == (1, 1)
    assert kept.reasons == {"empty": 1}


def test_another_scorer_under_one_name_is_refused_and_under_another_stands_beside(tmp_path: Path) -> None:
    score_texts(tmp_path, Lengths(), pieces(TEXTS))
    with pytest.raises(DataError, match=r"The scores called 'lengths' are of lengths .* digest none.* another --name"):
        score_texts(tmp_path, Lengths(digest="other"), pieces(TEXTS))
    score_texts(tmp_path, Lengths(digest="other"), pieces(TEXTS), "second")
    assert [one.name for one in scores.read(tmp_path)] == ["lengths", "second"]


def test_a_broken_file_is_named_and_once_removed_its_texts_are_scored_again(tmp_path: Path) -> None:
    score_texts(tmp_path, Lengths(), pieces(TEXTS))
    (part,) = (tmp_path / "annotations" / "lengths").glob("part-*")
    part.write_bytes(part.read_bytes()[:100])
    with pytest.raises(RunError, match=part.name):
        score_texts(tmp_path, Lengths(), pieces(TEXTS))
    part.unlink()
    assert score_texts(tmp_path, Lengths(), pieces(TEXTS)) == ScoringOutcome(6, 0, 6)


def test_scores_are_stored_as_they_come(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("facevalue.annotations.scoring._ROWS", 4)
    score_texts(tmp_path, Lengths(2), pieces([str(number) for number in range(20)]))
    assert len(list((tmp_path / "annotations" / "lengths").glob("part-*"))) == 5


def test_each_batch_of_a_slow_scorer_is_stored_before_the_next_and_small_files_become_one(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("facevalue.annotations.scoring._EVERY", 0.0)
    monkeypatch.setattr("facevalue.annotations.scoring._FILES", 4)
    texts, kept = [str(number) for number in range(26)], []

    class Slow(Lengths):
        def score(self, texts: Sequence[str]) -> Scoring:
            kept.append(scores.read(tmp_path)[0].scored)
            return super().score(texts)

    score_texts(tmp_path, Slow(2), pieces(texts))
    assert kept == list(range(0, 26, 2))
    assert len(list((tmp_path / "annotations" / "lengths").glob("part-*"))) == 4
    assert table(tmp_path, texts) == [(float(len(text)), float(len(text) % 7)) for text in texts]


def test_what_a_killed_process_left_is_read_with_the_scores_that_are_stored(tmp_path: Path) -> None:
    score_texts(tmp_path, Lengths(), pieces(["one"]))
    (stored,) = scores.read(tmp_path)
    row = pl.DataFrame([(scores.present(pl.Series(["three"]))[0], 5.0, 5.0, None, False)], stored.schema, orient="row")
    Journal(stored.folder, scores.seal(stored.folder)).append(row)
    (read,) = scores.read(tmp_path)
    assert read.scored == 2
    assert read.scores_of_texts(pl.Series(["one", "three"])).rows()[1] == (5.0, 5.0)
    assert score_texts(tmp_path, Lengths(), pieces(["one", "three"])).before == 2
    (after,) = scores.read(tmp_path)
    assert (after.scored, len(list(after.folder.glob(".journal")))) == (2, 0)


KILLED = """
import itertools, os, signal, sys
from pathlib import Path
import polars as pl
from facevalue.annotations import scores, scoring
from facevalue.store import files
from tests.annotations.test_scoring import Lengths, pieces

scoring._ROWS = 4
left = int(sys.argv[2])

def counted(real):
    def call(*given, **named):
        global left
        left -= 1
        if not left:
            os.kill(os.getpid(), signal.SIGKILL)
        return real(*given, **named)
    return call

os.fsync, Path.replace, Path.open = counted(os.fsync), counted(Path.replace), counted(Path.open)
print(scoring.score_texts(Path(sys.argv[1]), Lengths(2), pieces([f"text {n}" for n in range(40)])).before)
"""
"""Scores forty texts, and dies at a given step of writing."""


def killed(folder: Path, step: int) -> int:
    """Texts that were scored before, if the process lived."""
    done = subprocess.run(
        [sys.executable, "-c", KILLED, str(folder), str(step)], capture_output=True, text=True, check=False
    )
    assert done.returncode in (0, -signal.SIGKILL), done.stderr
    return int(done.stdout) if done.returncode == 0 else -1


def check_killed(folder: Path, steps: Sequence[int]) -> int:
    """Kill it at each of these steps in turn, then let it live: how many kills there were."""
    texts, kills, before = [f"text {number}" for number in range(40)], 0, 0
    for step in steps:
        kills += killed(folder, step) < 0
        found = scores.read(folder)
        assert not found or found[0].scored >= before
        before = found[0].scored if found else 0
    again = Lengths()
    now = score_texts(folder, again, pieces(texts))
    assert before <= now.before == 40 - len(again.asked)  # what was in the journal is there, too
    assert table(folder, texts) == [(float(len(text)), float(len(text) % 7)) for text in texts]
    rows = [pl.read_parquet(path, glob=False) for path in folder.glob("annotations/lengths/part-*")]
    assert not pl.concat(rows)["text"].is_duplicated().any()
    return kills


@pytest.mark.skipif(os.name != "posix", reason="signals")
def test_killed_at_any_step_nothing_that_is_stored_is_lost_or_scored_twice(tmp_path: Path) -> None:
    assert check_killed(tmp_path, [1, 3, 6, 9, 14]) >= 4


@pytest.mark.slow
@pytest.mark.skipif(os.name != "posix", reason="signals")
def test_killed_a_hundred_times_the_table_is_the_same(tmp_path: Path) -> None:
    kills = sum(check_killed(tmp_path / str(part), range(part + 1, part + 8)) for part in range(16))
    assert kills >= 100


@pytest.mark.parametrize(
    ("text", "score"),
    [
        ("A kind person.", 0.0),
        ("What a FOOL he is", 0.2),
        ("That fool’s dog", 1 / 3),
        ("An idiot, a moron.", 0.5),
        ("Foolishness and idiotically", 0.0),
        ("ｉｄｉｏｔ", 1.0),
        ("", None),
        ("?!", None),
    ],
)
def test_lexical_hostility_is_the_share_of_words_on_the_list(text: str, score: float | None) -> None:
    found = LexicalHostility().score([text])
    assert found.scores["hostility"][0] == (None if score is None else pytest.approx(score))
    assert found.reasons == ({0: "no word in it"} if score is None else {})


def test_lexical_hostility_has_no_word_of_a_group_and_is_blind_to_them() -> None:
    said = ["The Black man in the picture looks tired.", "The obese woman in the picture looks tired."]
    assert LexicalHostility().score(said).scores["hostility"] == [0.0, 0.0]


def test_a_label_that_a_scorer_does_not_have_names_those_it_has() -> None:
    with pytest.raises(UnknownNameError, match=r"label of lexical 'toxicity'.*hostility"):
        LexicalHostility(["toxicity"])
