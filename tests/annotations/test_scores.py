"""Stored scores: found by the text's hash, of one scorer, and never taken from a damaged file."""

from pathlib import Path

import polars as pl
import pytest

from facevalue.annotations import scores
from facevalue.annotations.scores import ANNOTATIONS, HEADER, Scores
from facevalue.errors import RunError

LABELS = ("toxicity", "insult")


def stored(folder: Path, name: str = "tox", **facts: str) -> Scores:
    """Scores that have begun."""
    told = {"scorer": "hf-text/tox", "version": "1", "digest": "abc", **facts}
    made = Scores(name, told["scorer"], told["version"], told["digest"], LABELS, folder / ANNOTATIONS / name)
    scores.begin(made)
    return made


def add(kept: Scores, texts: dict[str, tuple[float | None, float | None, str | None]], cut: bool = False) -> Path:
    """Store some; the file they are in."""
    before = set(kept.folder.iterdir())
    hashes = scores.present(pl.Series(list(texts), dtype=pl.String))
    rows = [(key, *values, cut) for key, values in zip(hashes, texts.values(), strict=True)]
    scores.add(kept, pl.DataFrame(rows, schema=kept.schema, orient="row"))
    (path,) = set(kept.folder.iterdir()) - before
    return path


def test_scores_are_found_by_text_in_any_order_and_null_where_there_is_none(tmp_path: Path) -> None:
    add(stored(tmp_path), {"a": (0.1, 0.2, None), "b": (None, None, "NaN")})
    add(stored(tmp_path), {"": (0.5, 0.0, None)}, cut=True)
    (found,) = scores.read(tmp_path)
    texts = pl.Series(["b", "unknown", None, "a", "a", ""])
    assert found.scores_of_texts(texts).rows() == [
        (None, None),
        (None, None),
        (None, None),
        (0.1, 0.2),
        (0.1, 0.2),
        (0.5, 0.0),
    ]
    assert (found.scored, found.failed, found.cut, found.reasons) == (2, 1, 1, {"NaN": 1})
    assert scores.columns([found], texts).columns[0] == "score: tox/toxicity"
    assert scores.columns([], texts).shape == (0, 0)


def test_scores_without_any_text_are_scores_of_none(tmp_path: Path) -> None:
    found = stored(tmp_path)
    assert found.scores_of_texts(pl.Series(["a", None], dtype=pl.String)).rows() == [(None, None), (None, None)]
    assert (found.scored, found.failed, found.cut) == (0, 0, 0)


def test_texts_of_any_kind_have_hashes_of_their_own(tmp_path: Path) -> None:
    texts = pl.Series(["", " ", "a", "A", "é", "e\u0301", "x" * 10**6, "x" * (10**6 + 1)])
    assert scores.present(texts).n_unique() == len(texts)
    assert scores.present(pl.Series([None, None], dtype=pl.String)).to_list() == [None, None]


def test_what_lies_in_annotations_but_has_no_header_is_no_scores(tmp_path: Path) -> None:
    stored(tmp_path)
    (tmp_path / ANNOTATIONS / "judge").mkdir()
    assert [one.name for one in scores.read(tmp_path)] == ["tox"]
    assert scores.read(tmp_path / "elsewhere") == []


def test_a_flipped_bit_is_found_and_the_file_named(tmp_path: Path) -> None:
    path = add(stored(tmp_path), {"a": (0.1, 0.2, None)})
    data = bytearray(path.read_bytes())
    data[len(data) // 2] ^= 1
    path.write_bytes(data)
    with pytest.raises(RunError, match=f"{path.name} cannot be used: its content is not what was written"):
        scores.read(tmp_path)[0].scores_of_texts(pl.Series(["a"]))


def test_a_file_of_another_scorer_passes_for_none_of_this(tmp_path: Path) -> None:
    theirs = add(stored(tmp_path / "theirs", digest="other"), {"a": (0.9, 0.9, None)})
    mine = stored(tmp_path)
    theirs.rename(mine.folder / theirs.name)
    with pytest.raises(RunError, match="it is of another scorer"):
        scores.read(tmp_path)[0].scores_of_texts(pl.Series(["a"]))


@pytest.mark.parametrize("value", [float("nan"), float("inf")])
def test_what_is_no_number_is_no_score(tmp_path: Path, value: float) -> None:
    add(stored(tmp_path), {"a": (value, 0.2, None)})
    with pytest.raises(RunError, match="holds what no scorer gives"):
        scores.read(tmp_path)[0].scores_of_texts(pl.Series(["a"]))


def test_a_header_that_was_edited_is_refused(tmp_path: Path) -> None:
    path = stored(tmp_path).folder / HEADER
    path.write_text(path.read_text().replace("abc", "abd"))
    with pytest.raises(RunError, match="not as FaceValue wrote it"):
        scores.read(tmp_path)


@pytest.mark.parametrize(
    ("header", "said"),
    [
        ('format = 2\nlabels = ["a"]', "has format 2"),
        ("labels = []", "has format None"),
        ('format = 1\nlabels = "abc"', "not as FaceValue writes it"),
        ('format = 1\nlabels = [1]\nscorer = "a"\nversion = "1"\ndigest = ""', "not as FaceValue writes it"),
        ("format = ", "not valid TOML"),
    ],
)
def test_a_header_of_another_kind_is_one_sentence(tmp_path: Path, header: str, said: str) -> None:
    place = tmp_path / ANNOTATIONS / "tox"
    place.mkdir(parents=True)
    (place / HEADER).write_text(header)
    with pytest.raises(RunError, match=said):
        scores.read(tmp_path)


def test_a_text_that_was_stored_twice_counts_once(tmp_path: Path) -> None:
    kept = stored(tmp_path)
    add(kept, {"a": (0.1, 0.2, None)})
    add(kept, {"a": (0.1, 0.2, None), "b": (0.3, 0.4, None)})
    (found,) = scores.read(tmp_path)
    assert found.scored == 2
    assert found.scores_of_texts(pl.Series(["a", "b"])).rows() == [(0.1, 0.2), (0.3, 0.4)]
