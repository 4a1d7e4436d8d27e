"""Stored results of Google's Perspective API, found by text. The service ends with 2026 and is not called.

What is read: JSON Lines with a result in each line (`attributeScores.NAME.summaryScore.value`) and its text beside it
(`text`, or `comment.text` as in a request); the files of "Uncovering Bias in Large Vision-Language Models at Scale with
Counterfactuals" (`perspective_api_*.jsonl`, one result per prompt under `scores`, and `perspective_api_*.csv`), whose
texts lie in `generations.csv` beside them; any CSV with a text and a column per attribute.
"""

import hashlib
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import polars as pl

from facevalue.annotations.scorers import Scoring, chosen_labels
from facevalue.annotations.scores import present
from facevalue.errors import DataError
from facevalue.given import check_file, to_json, to_text

ATTRIBUTES = (
    "toxicity", "severe_toxicity", "identity_attack", "insult", "profanity", "threat", "sexually_explicit",
    "flirtation",
)  # fmt: skip
"""What the paper requested; a file may hold others."""
ABSENT = "not in the file"
GENERATIONS = "generations.csv"
"""The authors' texts: a row per picture, a column per prompt and seed."""

_TEXTS = ("text", "comment_text", "comment", "response", "reply", "generation")
_PICTURE = ("filename", "rank", "im_index", "im_seed", "model_name")
"""Columns by which a row of the authors' results finds its row of texts, as far as both have them."""
_LINE = 16 * 2**20  # bytes of a line
_BLOCK = 50_000  # results that are put away together
_OWN = ("text", "prompt", *_PICTURE)


class PerspectiveScorer:
    """`perspective/FILE`: scores that the API gave once; a text that the file lacks has none."""

    called, version, at_once = "perspective", "1", 50_000

    def __init__(self, path: Path, labels: Sequence[str] = ()) -> None:
        check_file(path, "results of the Perspective API")
        self.name = f"perspective/{path.name}"
        generations = path.parent / GENERATIONS
        self._table, apart = _table(path, generations)
        all_labels = [name for name in self._table.columns if name != "text"]
        self.labels = chosen_labels(self.name, all_labels, labels or all_labels)
        self.digest = _digest([path, generations] if apart else [path])

    def score(self, texts: Sequence[str]) -> Scoring:
        """Look texts up, white space around them left out."""
        keys = present(pl.Series("text", texts, dtype=pl.String).str.strip_chars()).alias("text")
        marked = self._table.with_columns(there=True)
        rows = keys.to_frame().join(marked, on="text", how="left", maintain_order="left")
        absent = rows["there"].is_null().arg_true().to_list()
        return Scoring({label: rows[label].to_list() for label in self.labels}, dict.fromkeys(absent, ABSENT))

    def close(self) -> None:
        """Nothing to let go of."""


def _table(path: Path, generations: Path) -> tuple[pl.DataFrame, bool]:
    """Scores by the text's hash, the first of each text; and whether texts lie in the file beside."""
    with path.open("rb") as file:
        is_json = file.read(4096).lstrip(b"\xef\xbb\xbf \t\r\n").startswith(b"{")
    tables, apart = [], False
    for frame in _of_lines(path) if is_json else [_of_csv(path)]:
        texts = frame
        if texts["text"].null_count() == texts.height and texts["prompt"].null_count() == 0:
            texts, apart = _joined(texts, path, generations), True
        texts = texts.drop("prompt", *(name for name in _PICTURE if name in texts.columns)).drop_nulls("text")
        tables.append(texts.with_columns(present(texts["text"].str.strip_chars()).alias("text")))
    table = pl.concat(tables, how="diagonal") if tables else pl.DataFrame(schema={"text": pl.UInt64})
    names = [name for name in table.columns if name != "text" and table[name].count()]
    if not names:
        raise DataError(
            f"{path} holds no scores: each line of JSON has attributeScores.NAME.summaryScore.value and a text, or a "
            "CSV a column per attribute, such as toxicity, and the text."
        )
    ours = [name for name in ATTRIBUTES if name in names]
    chosen = table.select("text", *ours, *sorted(set(names) - set(ours)))
    return chosen.unique("text", keep="first", maintain_order=True), apart


def _of_lines(path: Path) -> Iterator[pl.DataFrame]:
    rows: list[dict[str, Any]] = []
    with path.open("rb") as file:
        for number, line in enumerate(iter(lambda: file.readline(_LINE), b""), 1):
            place = f"{path}, line {number}"
            if not line.strip():
                continue
            record = to_json(to_text(line, place), place)
            if not isinstance(record, dict):
                raise DataError(f"{place} is no JSON object.")
            rows.extend(_results(record))
            if len(rows) >= _BLOCK:
                yield _framed(rows)
                rows = []
    if rows:
        yield _framed(rows)


def _framed(rows: Sequence[Mapping[str, Any]]) -> pl.DataFrame:
    names = dict.fromkeys([*_OWN, *(name for row in rows for name in row)])
    kinds = {name: pl.String() if name in _OWN else pl.Float64() for name in names}
    return pl.DataFrame({name: [row.get(name) for row in rows] for name in names}, schema=kinds)


def _results(record: Mapping[str, Any]) -> Iterator[dict[str, Any]]:
    """The results in a line, each with its text, or the prompt and picture by which that is found."""
    if "attributeScores" in record:
        yield {"text": _text(record), **_values(record)}
    scores = record.get("scores")
    for prompt, result in scores.items() if isinstance(scores, dict) else ():
        if isinstance(result, dict):
            picture = {name: str(record[name]) for name in _PICTURE if record.get(name) is not None}
            text = record.get(prompt)
            yield {"text": text if isinstance(text, str) else None, "prompt": prompt, **picture, **_values(result)}


def _text(record: Mapping[str, Any]) -> str | None:
    comment = record.get("comment")
    if isinstance(comment, dict):
        record = {**record, "comment": comment.get("text")}
    return next((record[name] for name in _TEXTS if isinstance(record.get(name), str)), None)


def _values(result: Mapping[str, Any]) -> dict[str, float | None]:
    values: dict[str, float | None] = {}
    attributes = result.get("attributeScores")
    for name, attribute in attributes.items() if isinstance(attributes, dict) else ():
        summary = attribute.get("summaryScore") if isinstance(attribute, dict) else None
        value = summary.get("value") if isinstance(summary, dict) else None
        is_score = isinstance(value, int | float) and 0 <= value <= 1
        if (label := str(name).lower()) not in _OWN:
            values[label] = float(value) if is_score and value is not None else None
    return values


def _of_csv(path: Path) -> pl.DataFrame:
    frame = _csv(path)
    attributes = {name: name.lower() for name in frame.columns if name.lower() in ATTRIBUTES}
    text = next((name for name in _TEXTS if name in frame.columns), None)
    scores = (pl.col(name).cast(pl.Float64, strict=False).alias(label) for name, label in attributes.items())
    return frame.select(
        (pl.col(text) if text else pl.lit(None, pl.String)).alias("text"),
        (pl.col("prompt") if "prompt" in frame.columns else pl.lit(None, pl.String)).alias("prompt"),
        *(name for name in _PICTURE if name in frame.columns),
        *(pl.when(score.is_between(0, 1)).then(score) for score in scores),
    )


def _csv(path: Path) -> pl.DataFrame:
    try:
        return pl.read_csv(path, infer_schema=False, glob=False)
    except (OSError, pl.exceptions.PolarsError) as error:
        reason = (str(error).splitlines() or ["it is damaged"])[0]
        raise DataError(f"{path} is neither JSON Lines nor a CSV that can be read: {reason}.") from None


def _joined(results: pl.DataFrame, path: Path, generations: Path) -> pl.DataFrame:
    """The authors' results with their texts."""
    if not generations.is_file():
        raise DataError(f"{path} holds scores without texts: put the authors' {GENERATIONS} into the same folder.")
    texts = _csv(generations)
    shared = [name for name in _PICTURE if name in texts.columns and name in results.columns and results[name].count()]
    prompts = [name for name in results["prompt"].unique(maintain_order=True) if name in texts.columns]
    if not shared or not prompts:
        raise DataError(
            f"{generations} is not what {path.name} was made of: no column names a picture and a prompt of it."
        )
    long = texts.unpivot(prompts, index=shared, variable_name="prompt", value_name="text")
    if long.select(*shared, "prompt").is_duplicated().any():
        raise DataError(f"{generations} has several texts for one picture and prompt: {path.name} does not say which.")
    return results.drop("text").join(long, on=[*shared, "prompt"], how="left", maintain_order="left")


def _digest(paths: Sequence[Path]) -> str:
    out = hashlib.sha256()
    for path in paths:
        with path.open("rb") as file:
            out.update(hashlib.file_digest(file, "sha256").digest())
    return out.hexdigest()
