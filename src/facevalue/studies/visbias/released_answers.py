"""Released answers of the authors in tidy form: what a folder holds of them, checked, and read as answers of the study.

Files: `mcq.csv`, `mcq_counts.csv`, `yesno.csv`, `descriptions_MODEL.parquet`, `form.jsonl`, `stereotype_words.json`.
Any of them may be missing, and each may hold any of the models. docs/papers/reproduce.md lists the columns.
"""

import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl

from facevalue.answers import NA, NA_DTYPE
from facevalue.answers.categories import Route
from facevalue.answers.categories import words as folded
from facevalue.answers.form_fields import FIELDS
from facevalue.answers.json_fields import Read
from facevalue.errors import DataError, UnknownNameError
from facevalue.parquet import read_table
from facevalue.protocol.reproduction import parse_counts, parse_levels, read_columns, require_columns, unreadable_file
from facevalue.studies.visbias.parsing import CHOICES, attributes
from facevalue.studies.visbias.tables import choice_questions, genders, races

RACES, GENDERS = ({level.name: level.spellings for level in factor()} for factor in (races, genders))
QUESTIONS = {question.name: len(question.levels) for question in choice_questions()}
"""Questions of Table 5 and how many choices they have."""
_LETTERS = "ABCDEF"
_LINE = 1_000_000  # characters of one form


def choices(folder: Path) -> pl.DataFrame | None:
    """Answers to multiple-choice questions, counted: `choice` from 0, null a refusal; None without a file.

    Where a model is in both files, its single answers count.
    """
    keys = ["model", "race", "gender", "question", "choice"]
    tables = []
    single, counted = folder / "mcq.csv", folder / "mcq_counts.csv"
    if single.is_file():
        tables.append(
            read_columns(single, keys).group_by(keys, maintain_order=True).len("count").cast({"count": pl.Int64})
        )
    if counted.is_file():
        frame = read_columns(counted, [*keys, "count"])
        frame = frame.with_columns(parse_counts(frame, "count", counted).alias("count"))
        tables.append(frame if not tables else frame.join(tables[0], on="model", how="anti"))
    if not tables:
        return None
    frame = pl.concat(tables)
    frame = frame.with_columns(
        parse_levels(frame, "race", RACES),
        parse_levels(frame, "gender", GENDERS),
        parse_levels(frame, "question", {name: (name,) for name in QUESTIONS}),
    )
    letters = {letter: place for place, letter in enumerate(_LETTERS)} | {"X": -1}
    wrong = frame.filter(~pl.col("choice").str.to_uppercase().is_in(list(letters)))
    if wrong.height:
        raise UnknownNameError(f"choice in {folder.name}:", wrong["choice"][0], letters)
    place = pl.col("choice").str.to_uppercase().replace_strict(letters, return_dtype=pl.Int64)
    frame = frame.with_columns(choice=pl.when(place >= 0).then(place))
    options = pl.col("question").replace_strict(QUESTIONS, return_dtype=pl.Int64)
    beyond = frame.filter(pl.col("choice") >= options)
    if beyond.height:
        raise DataError(f"{folder.name}: {_LETTERS[beyond['choice'][0]]} is not a choice of {beyond['question'][0]!r}.")
    return frame


def yes_no(folder: Path) -> pl.DataFrame | None:
    """Counts of yes-no answers, `different_pairs` null where the model gave none; None without the file."""
    path = folder / "yesno.csv"
    if not path.is_file():
        return None
    numbers = ["yes", "no", "different_pairs"]
    frame = read_columns(path, ["model", "jailbreak", "attribute", *numbers])
    return frame.with_columns(parse_counts(frame, name, path).alias(name) for name in numbers)


def descriptions(folder: Path) -> dict[str, Path]:
    """Files of descriptions by model, as their names say."""
    files = sorted(folder.glob("descriptions_*.parquet"))
    return {path.stem.removeprefix("descriptions_"): path for path in files}


def texts(path: Path) -> pl.DataFrame:
    """Descriptions of one model: `race`, `gender`, `text`, in the order of the release."""
    try:
        frame = read_table(path)
    except (pl.exceptions.PolarsError, OSError) as error:
        raise unreadable_file(path, error) from None
    require_columns(path, frame, ("race", "gender", "text"))
    if frame["text"].dtype != pl.String or frame.is_empty():
        raise DataError(f"{path.name} holds no texts.")
    frame = frame.sort("row") if "row" in frame.columns else frame
    return frame.select(parse_levels(frame, "race", RACES), parse_levels(frame, "gender", GENDERS), "text")


def forms(folder: Path) -> dict[str, list[dict[str, list[str]]]]:
    """Completed forms by model: attribute to categories. Empty without the file."""
    path = folder / "form.jsonl"
    if not path.is_file():
        return {}
    out: dict[str, list[dict[str, list[str]]]] = {}
    try:
        with path.open(encoding="utf-8") as file:
            number = 0
            while line := file.readline(_LINE):
                number += 1
                if not line.strip():
                    continue
                row = json.loads(line)
                if not isinstance(row, dict) or not isinstance(row.get("model"), str):
                    raise DataError(f"{path.name}, line {number}: no form with a `model`.")
                fields = {
                    name: [str(value) for value in (values if isinstance(values, list) else [values])]
                    for name, values in row.items()
                    if name not in ("model", "sample", "shift")
                }
                out.setdefault(row["model"], []).append(fields)
    except (OSError, UnicodeDecodeError, json.JSONDecodeError, RecursionError) as error:
        raise DataError(f"{path.name} cannot be read, line {number}: {error}.") from None
    return out


def as_answers(
    choices: pl.DataFrame | None, texts: pl.DataFrame | None, forms: Sequence[Mapping[str, Sequence[str]]]
) -> pl.DataFrame:
    """A model's released answers as the study reads replies (`parsing`); which photograph each is about is not told."""
    tables = []
    if choices is not None:
        options = pl.col("question").replace_strict(QUESTIONS, return_dtype=pl.Int64)
        weights = (
            pl.when(options > at).then(pl.col("choice").eq(at).cast(pl.Float64)).alias(name)
            for at, name in enumerate(CHOICES)
        )
        replies = choices[np.repeat(np.arange(choices.height), choices["count"].fill_null(0))]
        tables.append(replies.select("race", "gender", "question", *weights, task=pl.lit("mcq")))
    if texts is not None:
        tables.append(texts.select("race", "gender", description="text", task=pl.lit("description")))
    if forms:
        rows = [{"fields": _fields(form)} for form in forms]
        if not any(row["fields"] for row in rows):
            raise DataError("The forms of form.jsonl have none of the paper's fields.")
        fields = pl.DataFrame({"fields": rows}, schema={"fields": FIELDS})
        tables.append(fields.select(
            pl.col("fields").struct.json_encode(), task=pl.lit("form"), form=pl.int_range(pl.len()).cast(pl.String),
        ))  # fmt: skip
    columns = dict.fromkeys(("race", "gender", "question", "description", "fields", "form"), pl.String())
    answers = pl.concat([pl.DataFrame(schema=columns), *tables], how="diagonal")
    refused = (pl.col("task") == "mcq") & pl.col(CHOICES[0]).is_null() if choices is not None else pl.lit(value=False)
    return answers.with_columns(
        image=pl.concat_str("race", "gender", separator=" "), repeat=pl.lit(0), weight=pl.when(~refused).then(1.0),
        mass=(~refused).cast(pl.Float64), na=pl.when(refused).then(pl.lit(NA.REFUSED, NA_DTYPE)),
    )  # fmt: skip


def _fields(form: Mapping[str, Sequence[str]]) -> list[dict[str, Any]]:
    """Fields of a released form; which were filled in beforehand is not told."""
    reading = {"state": "value", "read": Read.JSON.value, "route": Route.EXACT.value, "prefilled": False}
    by_key = {key: field for field in attributes("released") for key in (field.title, *field.keys)}
    return [
        {**reading, "attribute": by_key[key].name,
         "categories": [by_key[key].categories.forms.get(folded(value), value) for value in values]}
        for key, values in form.items()
        if key in by_key
    ]  # fmt: skip
