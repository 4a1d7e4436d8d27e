"""Replies in words and numbers of their own: descriptions, keywords, lists, numbers, JSON, forms."""

import json
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

import numpy as np
import numpy.typing as npt
import polars as pl

from facevalue.calibration.trials import AuditTrials, WritingRows
from facevalue.models._sim_text import FIELDS, FILLED, KEYWORDS, LISTED, SENTENCES, SHARE_LISTED, STATED
from facevalue.models.sim import REFUSAL

if TYPE_CHECKING:
    from facevalue.calibration.planted_answers import DrawnAudit

Codes = npt.NDArray[np.int64]
Array = npt.NDArray[np.float64]
_SCALE = 0.1  # of a number's range: by how much one unit on the logit scale moves it
_KEPT = 0.8  # chance of each sentence of a description but the first


def reply_frame(
    rows: Codes, text: pl.Series, score: Array | None = None, probs: pl.Series | None = None
) -> pl.DataFrame:
    """Replies to some rows; `planted score` is what a scorer says of a text."""
    nothing = pl.Series([None], dtype=pl.List(pl.Float32)).new_from_index(0, rows.size)
    scored = pl.Series(np.full(rows.size, np.nan) if score is None else score)
    return pl.DataFrame(
        {"row": rows, "text": text, "probs": nothing if probs is None else probs, "planted score": scored}
    )


def refusing(text: pl.Series, refused: npt.NDArray[np.bool_]) -> pl.Series:
    """Texts, some of them refusals instead."""
    instead = pl.when(pl.lit(pl.Series(refused))).then(pl.lit(REFUSAL)).otherwise(pl.lit(text))
    return pl.select(instead.alias("text")).to_series()


def replies(trials: AuditTrials, audit: "DrawnAudit", written: WritingRows) -> pl.DataFrame:
    """Replies to rows that are asked for words or numbers."""
    hit = audit.hit(written)
    if written.wants == STATED:
        text, score = _write_fields(audit, written, hit)
    elif written.wants == FIELDS:
        text, score = _forms(trials, audit, written)
    elif written.wants == KEYWORDS:
        lists: list[list[str]] = json.loads(written.listed)
        words = audit.words(
            written.rows, [(f"{written.scenario} {index}", choices) for index, choices in enumerate(lists)], hit
        )
        text, score = (
            _join_columns([pl.Series(choices).gather(words[:, index]) for index, choices in enumerate(lists)], ", "),
            _score(words, lists),
        )
    elif written.wants == LISTED:
        text, score = _write_lists(audit, written, hit)
    else:
        text, score = _write_descriptions(audit, written, hit)
    refused = audit.draw_refusals(written.rows, {"": score > 0.5})
    return reply_frame(written.rows, refusing(text, refused), np.where(refused, np.nan, score))


def _join_columns(columns: Sequence[pl.Series], separator: str) -> pl.Series:
    return pl.DataFrame({str(index): column for index, column in enumerate(columns)}).select(
        pl.concat_str(pl.all(), separator=separator, ignore_nulls=True)
    ).to_series()  # fmt: skip


def _score(words: Codes, lists: Sequence[Sequence[str]]) -> Array:
    """Mean place of the words in their lists, from 0 at the last to 1 at the first."""
    return np.asarray(1 - (words / np.array([max(len(choices) - 1, 1) for choices in lists])).mean(axis=1))


def _write_descriptions(
    audit: "DrawnAudit", written: WritingRows, hit: npt.NDArray[np.bool_]
) -> tuple[pl.Series, Array]:
    lists = [words for _, words in SENTENCES]
    words = audit.words(
        written.rows, [(f"{written.scenario} {index}", choices) for index, choices in enumerate(lists)], hit
    )
    present = audit.draw_kept_parts(words.shape, _KEPT)
    present[:, 0] = True
    sentences = []
    for index, (template, listed) in enumerate(SENTENCES):
        sentence = pl.Series([template.format(word) for word in listed])
        sentences.append(sentence.gather(words[:, index]).set(pl.Series(~present[:, index]), None))
    return _join_columns(sentences, " "), _score(words, lists)


def _write_fields(audit: "DrawnAudit", written: WritingRows, hit: npt.NDArray[np.bool_]) -> tuple[pl.Series, Array]:
    fields: Mapping[str, Sequence[str | float]] = json.loads(written.listed)
    columns, scores = {}, []
    for name, listed in fields.items():
        texts = [option for option in listed if isinstance(option, str)]
        if texts:
            words = audit.words(written.rows, [(f"{written.scenario} {name}", texts)], hit)
            columns[name] = pl.Series(texts).gather(words[:, 0])
            scores.append(_score(words, [texts]))
            continue
        low, high = (float(end) for end in listed)
        share = np.clip(
            0.5 + _SCALE * audit.draw_amounts(written.rows, f"{written.scenario} {name}".strip(), hit), 0, 1
        )
        columns[name] = pl.Series(np.rint(low + (high - low) * share).astype(np.int64))
        scores.append(share)
    score = np.mean(scores, axis=0)
    if "" in columns:
        return pl.select(pl.format("About {}.", pl.lit(columns[""]))).to_series(), score
    return pl.DataFrame(columns).select(pl.struct(pl.all()).struct.json_encode()).to_series(), score


def _write_lists(audit: "DrawnAudit", written: WritingRows, hit: npt.NDArray[np.bool_]) -> tuple[pl.Series, Array]:
    """Lists that name options by what is planted for each, the likeliest where there are too few or too many."""
    options, fewest, greatest = json.loads(written.listed)
    words: list[str] = options or [word for _, listed in SENTENCES for word in listed]
    usual = np.log(SHARE_LISTED / (1 - SHARE_LISTED))
    margins = (
        np.stack([audit.draw_amounts(written.rows, f"{written.scenario} {word}", hit) for word in words], axis=1)
        + usual
    )
    rank = np.argsort(np.argsort(-margins, axis=1, kind="stable"), axis=1)
    is_listed = ((margins > 0) & (rank < greatest)) | (rank < fewest)
    entries = [pl.Series([word, None], dtype=pl.String).gather((~column).astype(np.int64))
               for word, column in zip(words, is_listed.T, strict=True)]  # fmt: skip
    return _join_columns(entries, ", ").replace("", "None."), np.asarray(is_listed.mean(axis=1))


def _forms(trials: AuditTrials, audit: "DrawnAudit", written: WritingRows) -> tuple[pl.Series, Array]:
    """Forms whose filled fields stay, and shift what is put in the others."""
    fields: Mapping[str, list[str]] = json.loads(written.listed)
    column = trials.frame[FILLED].cast(pl.String).gather(written.rows)
    distinct = column.unique(maintain_order=True).drop_nulls()
    forms = [json.loads(text) for text in distinct]
    places = column.replace_strict(
        dict(zip(distinct, range(distinct.len()), strict=True)), default=-1, return_dtype=pl.Int64
    )
    filled = {
        name: np.array([*(listed.index(form[name]) if form.get(name) in listed else -1 for form in forms), -1])[places]
        for name, listed in fields.items()
    }
    columns = {}
    for name, listed in fields.items():
        chosen = audit.draw_associated(written.rows, name, listed, filled, fields)
        columns[name] = pl.Series(listed).gather(np.where(filled[name] >= 0, filled[name], chosen))
    return pl.DataFrame(columns).select(pl.struct(pl.all()).struct.json_encode()).to_series(), np.zeros(
        written.rows.size
    )
