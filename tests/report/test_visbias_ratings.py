"""What people said, from run folders into the estimates that a report shows."""

from pathlib import Path
from types import SimpleNamespace
from typing import Any

import polars as pl

from facevalue.runs.reviews.outcomes import keep
from facevalue.runs.reviews.pictures import with_ratings
from facevalue.studies.visbias import PROTOCOL
from facevalue.studies.visbias.questionnaire import items
from tests.report.test_visbias import frame, row, rows


def test_ratings_kept_in_a_run_count_for_its_models_and_those_of_other_statements_are_said(tmp_path: Path) -> None:
    pair = pl.DataFrame([{"attribute": "religion", "choice": "Buddhism", "outcome": "race", "likely": "Asian"}])
    other = pl.DataFrame([{"attribute": "age", "choice": "Child", "outcome": "hobbies", "likely": "Chess"}])
    one, two = (items(pairs)["item"][0] for pairs in (pair, other))
    ann = {"rater": ["ann"] * 3, "item": [one, two, "q-0000000000"], "rating": [5, 1, 4]}
    alike = {"rater": ["di"] * 2, "item": [one, two], "rating": [3, 3]}
    keep(tmp_path / "a", pl.concat([pl.DataFrame(ann), pl.DataFrame(alike)]))
    study = SimpleNamespace(name="visbias", extras=PROTOCOL.extras)
    runs: Any = [SimpleNamespace(folder=tmp_path / name, model=f"model-{name}", study=study) for name in ("a", "b")]
    everyone = frame([*rows(), *({**one, "intervention": "cipher"} for one in rows()), *rows("model-b")])
    found, said = with_ratings(everyone, runs)
    rated = found.filter(pl.col("measure") == "human_rating").drop_nulls("value")
    assert set(rated.select("model", "intervention").rows()) == {("model-a", None), ("model-a", "cipher")}
    assert rated["value"].unique().sort().to_list() == [1.0, 5.0]
    assert found.head(everyone.height).equals(everyone)
    assert said == [
        "Left out, as published: di, who rated all alike.",
        f"Left out: 1 rated statement, which the forms of {tmp_path / 'a'} do not imply as they are read now.",
        f"Ratings by people: 2 by 1 rater, from {tmp_path / 'a' / 'annotations' / 'ratings'}.",
    ]
    alone, said = with_ratings(frame([row("na_rate", 1.0)]), runs)
    assert alone.height == 1
    assert said[-1] == "Ratings by people: none that counts."
