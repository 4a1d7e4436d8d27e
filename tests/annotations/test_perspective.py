"""Stored results of the Perspective API: read in every layout, found by text, and missing where the file lacks them."""

import csv
import json
from pathlib import Path
from typing import Any

import pytest

from facevalue.annotations.loading import load_scorer
from facevalue.annotations.perspective import ABSENT, ATTRIBUTES, PerspectiveScorer
from facevalue.errors import DataError, UnknownNameError


def result(*values: float | None, names: tuple[str, ...] = ATTRIBUTES) -> dict[str, Any]:
    """A reply of the API."""
    spans = [{"begin": 0, "end": 3, "score": {"value": 0.99, "type": "PROBABILITY"}}]
    return {
        "attributeScores": {
            name.upper(): {"spanScores": spans, "summaryScore": {"value": value, "type": "PROBABILITY"}}
            for name, value in zip(names, values, strict=False)
        },
        "languages": ["en"],
    }


def lines(path: Path, *records: object) -> Path:
    path.write_text("".join(json.dumps(record) + "\n" for record in records))
    return path


def scored(path: Path, *texts: str) -> dict[str, list[float | None]]:
    return {name: list(values) for name, values in PerspectiveScorer(path).score(texts).scores.items()}


def test_one_result_a_line_is_found_by_its_text_and_others_are_not_in_the_file(tmp_path: Path) -> None:
    path = lines(
        tmp_path / "kept.jsonl",
        {"text": " A calm person.\n", **result(0.1, 0.2)},
        {"comment": {"text": "What a fool."}, **result(0.9, None)},
        {"text": "A calm person.", **result(0.5, 0.5)},
    )
    scorer = PerspectiveScorer(path)
    found = scorer.score(["What a fool.", "Unknown.", "A calm person."])
    assert found.scores == {"toxicity": [0.9, None, 0.1], "severe_toxicity": [None, None, 0.2]}
    assert found.reasons == {1: ABSENT}
    assert (scorer.name, scorer.called, scorer.labels) == (
        "perspective/kept.jsonl", "perspective", ("toxicity", "severe_toxicity"),
    )  # fmt: skip


def generations(folder: Path, *more: dict[str, object]) -> None:
    """Texts as the authors keep them: a row per picture, a column per prompt and seed."""
    rows = [
        {"filename": "a_picture_of_a_doctor", "rank": 0, "im_index": at, "im_seed": 11, "subject": "doctor",
         "keywords_0": f"calm, kind {at}", "keywords_1": f"old {at}"}
        for at in (1, 2)
    ]  # fmt: skip
    with (folder / "generations.csv").open("w", newline="") as file:
        writer = csv.DictWriter(file, list(rows[0]))
        writer.writeheader()
        writer.writerows([*rows, *more])


BASE = {"filename": "a_picture_of_a_doctor", "rank": 0, "im_seed": 11, "subject": "doctor"}


def test_the_authors_lines_find_their_texts_in_the_file_beside(tmp_path: Path) -> None:
    generations(tmp_path)
    path = lines(
        tmp_path / "perspective_api_all.jsonl",
        {**BASE, "im_index": 1, "scores": {"keywords_0": result(0.1, *[0.0] * 6, 0.7), "keywords_1": result(0.2)}},
        {**BASE, "im_index": 2, "scores": {"keywords_0": result(0.3)}},
    )
    found = scored(path, "calm, kind 1", "old 1", "calm, kind 2", "old 2")
    assert found["toxicity"] == [0.1, 0.2, 0.3, None]
    assert found["flirtation"] == [0.7, None, None, None]
    assert set(found) == set(ATTRIBUTES)
    before = PerspectiveScorer(path).digest
    generations(tmp_path, {**BASE, "im_index": 3})
    assert PerspectiveScorer(path).digest != before


def test_the_authors_csv_finds_its_texts_in_the_file_beside(tmp_path: Path) -> None:
    generations(tmp_path)
    with (tmp_path / "perspective_api_all.csv").open("w", newline="") as file:
        writer = csv.writer(file)
        writer.writerow([*BASE, "im_index", "prompt", "scores", *(name.upper() for name in ATTRIBUTES)])
        writer.writerow([*BASE.values(), 2, "keywords_1", "{'attributeScores': {}}", *[0.5] * 7, 0.25])
        writer.writerow([*BASE.values(), 1, "keywords_1", "{}", *[""] * 8])
    found = scored(tmp_path / "perspective_api_all.csv", "old 2", "old 1")
    assert found == {name: [0.25 if name == "flirtation" else 0.5, None] for name in ATTRIBUTES}


def test_a_csv_with_texts_needs_nothing_beside(tmp_path: Path) -> None:
    path = tmp_path / "kept.csv"
    path.write_text('text,toxicity,INSULT,other\n"A calm, kind person.",0.125,0.5,7\nNo score.,,nan,7\n')
    found = PerspectiveScorer(path).score(["A calm, kind person.", "No score."])
    assert found.scores == {"toxicity": [0.125, None], "insult": [0.5, None]}
    assert found.reasons == {}


def test_labels_are_chosen_by_name(tmp_path: Path) -> None:
    path = lines(tmp_path / "kept.jsonl", {"text": "a", **result(0.1, 0.2)})
    assert load_scorer(f"perspective/{path}", ["severe_toxicity"]).labels == ("severe_toxicity",)
    with pytest.raises(UnknownNameError, match=r"label of perspective/kept.jsonl 'flirtation'"):
        load_scorer(f"perspective/{path}", ["flirtation"])


@pytest.mark.parametrize(
    ("content", "said"),
    [
        ('{"text": "a"}\n', "holds no scores"),
        ('{"text": "a", "attributeScores": {"TOXICITY": {"summaryScore": {"value": 1.5}}}}\n', "holds no scores"),
        ('{"text": "a", "attributeScores": {"TOXICITY": 3}}\n', "holds no scores"),
        ('{"text": "a"}\n{"text": "a", "attrib', "line 2 is not valid JSON"),
        ('{"text": "a"}\n[1]\n', "line 2 is no JSON object"),
        ('{"text": "\xff"}\n', "not UTF-8"),
        ("", "neither JSON Lines nor a CSV"),
        ("text,other\na,1\n", "holds no scores"),
        ("prompt,toxicity,filename\nkeywords_0,0.5,a\n", "holds scores without texts"),
    ],
)
def test_files_without_scores_are_named(tmp_path: Path, content: str, said: str) -> None:
    path = tmp_path / "kept"
    path.write_bytes(content.encode("latin-1"))
    with pytest.raises(DataError, match=said):
        PerspectiveScorer(path)


def test_texts_beside_that_do_not_go_with_the_scores_are_refused(tmp_path: Path) -> None:
    path = lines(tmp_path / "p.jsonl", {**BASE, "im_index": 1, "scores": {"keywords_0": result(0.1)}})
    generations(tmp_path, {**BASE, "im_index": 1, "keywords_0": "other", "keywords_1": "other"})
    with pytest.raises(DataError, match="several texts for one picture and prompt"):
        PerspectiveScorer(path)
    (tmp_path / "generations.csv").write_text("a,b\n1,2\n")
    with pytest.raises(DataError, match="is not what p"):
        PerspectiveScorer(path)
