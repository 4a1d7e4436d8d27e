"""The released answers through the study itself: read as replies, parsed, and measured as any model's."""

import json
from pathlib import Path

import polars as pl
import pytest

from tests.reference import reference
from tests.studies.visbias.simulated import build, estimates, folders, read

RACES = {"latino": "hispanic", "ME": "middle eastern"}


def test_table_5_comes_out_of_the_released_choices(tmp_path: Path) -> None:
    released = pl.read_csv(reference("visbias", "mcq.csv")).filter(pl.col("model") == "gemini-1.5-pro")
    cells = [c for c in json.loads(reference("visbias", "expected.json").read_text()) if c["table"] == "5"]
    study = build(folder=str(folders(tmp_path)), task=["mcq"])
    occupation = pl.col("occupation").str.replace_all("_", " ", literal=True)
    race = pl.col("race").replace(RACES)
    letter = pl.when(pl.col("choice") == "X").then(pl.lit("I'm sorry, I can't say.")).otherwise("choice")
    number = pl.concat_str(pl.col("image_index").cast(pl.String), pl.lit(".jpg"))
    said = released.select(occupation, race, "gender", "question", letter.alias("said"), number.alias("file"))
    frame = study.design.trials(range(len(study.design))).with_columns(pl.col(pl.Enum).cast(pl.String))
    keyed = frame.with_columns(file=pl.col("image").str.split("/").list.last())
    keys = ["occupation", "race", "gender", "question", "file"]
    told = keyed.join(said, on=keys, how="left", maintain_order="left")
    assert told["said"].null_count() == 0
    found = estimates(study, read(study, told["said"].to_list())).filter(pl.col("measure") == "choice_divergence")
    known = {(row["group"], row["question"]): row["value"] for row in found.iter_rows(named=True)}
    names = {"Female": "female", "Male": "male", "Asian": "asian", "Black": "black", "Latine": "hispanic",
             "Hispanic": "hispanic", "ME": "middle eastern", "White": "white"}  # fmt: skip
    checked = 0
    for cell in cells:
        model, question = cell["column"].split("/")
        if model.startswith("gemini"):
            assert known[names[cell["row"]], question] == pytest.approx(cell["recomputed"], abs=2e-4)
            checked += 1
    assert checked >= 20
