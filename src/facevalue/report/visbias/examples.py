"""From run folders to VisBias's examples: stored answers behind the findings, and sentences with marked words."""

import io
from collections.abc import Sequence

import numpy as np
import polars as pl
from PIL import Image as Picture
from PIL import UnidentifiedImageError

from facevalue.protocol.study import Study
from facevalue.report.data import PairExample, PromptExample
from facevalue.report.estimates import EstimateIndex
from facevalue.report.formatting import Titles, interval, number
from facevalue.report.pictures import smaller
from facevalue.report.stored_examples import said
from facevalue.report.visbias import findings
from facevalue.report.visbias.quoted import Sentence, sentence
from facevalue.runs.pictures import shown
from facevalue.runs.stored import StoredRun, answers
from facevalue.store import read_responses
from facevalue.types import Image

LONGEST, FORM_LONGEST = 480, 900
"""Longest side of a picture, and of a form, whose print is small, in pixels."""
_CHUNKS = 8
"""Chunks of a million answers that are searched."""
_PER_GROUP, _MOST_SENTENCES = 12, 160
_TASKS = ("mcq", "yesno", "description", "form", "text-form")

Row = dict[str, object]


def prompts(study: Study) -> tuple[PromptExample, ...]:
    """Every question of the tasks that are asked, once each; of comparisons both orders."""
    design = study.design
    out: list[PromptExample] = []
    titles = Titles(own=study.titles)
    tasks: set[str] = set()
    seen: set[str] = set()
    for block, offset in zip(design.blocks, design.offsets, strict=False):
        task = block.constants.get("task", block.name)
        if task in tasks:
            continue
        tasks.add(task)
        frame = design.trials(offset + np.arange(min(len(block), 2 * block.prompts)))
        keys = [name for name in ("question", "order") if name in frame.columns]
        for row, question in zip(frame.iter_rows(named=True), study.ask(frame), strict=True):
            known = " ".join([task, *(str(row[key]) for key in keys if row[key] is not None)])
            if known in seen:
                continue
            seen.add(known)
            asked = titles.get("question", row["question"]) if row.get("question") else ""
            note = "images swapped, wording turned round" if row.get("order") == "swapped" else ""
            title = ": ".join(filter(None, [titles.get("task", task), asked]))
            out.append(PromptExample(title, note, question.prompt, question.system))
    return tuple(out)


def examples(runs: Sequence[StoredRun], estimates: pl.DataFrame) -> list[PairExample]:
    """One answer of each task, from the clearest findings where there are any, and sentences with marked words."""
    run = runs[0]
    numbers = EstimateIndex(estimates, [run.model])
    pictures: dict[str, tuple[str, Row]] = {}
    sentences: dict[tuple[str, str, str], Sentence] = {}
    wanted = _words(numbers, run.model)
    for place, chunk in enumerate(answers(run)):
        if place >= _CHUNKS:
            break
        valid = chunk.filter(pl.col("na").is_null())
        for task in _TASKS:
            part = valid.filter(pl.col("task").cast(pl.String) == task)
            if task not in pictures and part.height:
                found = _telling(part, task, numbers, run)
                if found is not None:
                    pictures[task] = found
        if "species" in valid.columns and "species" not in pictures:
            beings = valid.filter(pl.col("species").is_not_null() & (pl.col("task").cast(pl.String) == "mcq"))
            if beings.height:
                pictures["species"] = "Negative control: a fictional being", beings.row(0, named=True)
        texts = valid.filter(pl.col("description").is_not_null())
        _quote(texts, [want for want in wanted if want not in sentences], sentences, run.model)
    shown = [_example(run, task, *pictures[task]) for task in (*_TASKS, "species") if task in pictures]
    return [*shown, *sentences.values()]


def _words(numbers: EstimateIndex, model: str) -> list[tuple[str, str, str]]:
    """Words of which a sentence is wanted: the clearest of each group."""
    counted: dict[tuple[str | None, str | None, str | None], int] = {}
    out = []
    for e in findings.marked(numbers, model):
        key = e["dimension"], e["group"], e["other_group"]
        counted[key] = counted.get(key, 0) + 1
        if counted[key] <= _PER_GROUP and e["dimension"] and e["group"] and e["word"]:
            out.append((e["dimension"], e["group"], e["word"]))
    return list(dict.fromkeys(out))[:_MOST_SENTENCES]


def _quote(
    texts: pl.DataFrame, wanted: Sequence[tuple[str, str, str]],
    sentences: dict[tuple[str, str, str], Sentence], model: str,
) -> None:  # fmt: skip
    for dimension, group, word in wanted:
        column = dimension.replace(" ", "_")
        if column not in texts.columns:
            continue
        own = texts.filter(pl.col(column).cast(pl.String) == group)["description"]
        own = own.filter(own.str.to_lowercase().str.contains(word, literal=True)).head(50)
        quoted = next((found for text in own if (found := sentence(text, word)) is not None), None)
        if quoted is not None:
            sentences[dimension, group, word] = Sentence(
                title=word, finding="", image=None, prompt="", options=(), answer=quoted, choice="", model=model,
                dimension=dimension, group=group, word=word,
            )  # fmt: skip


def _telling(part: pl.DataFrame, task: str, numbers: EstimateIndex, run: StoredRun) -> tuple[str, Row] | None:
    """An answer to show of a task, and what it stands behind."""
    if task == "mcq":
        return _chosen(part, numbers, run)
    if task == "yesno":
        people = part.filter(pl.col("species_1").is_null()) if "species_1" in part.columns else part
        yes = people.filter(pl.col("weight") > 0.5)
        shown = yes if yes.height else people
        return ("A comparison", shown.row(0, named=True)) if shown.height else None
    titles = {"description": "A description", "form": "A form, as a picture", "text-form": "A form, as text"}
    return titles[task], part.row(0, named=True)


def _chosen(part: pl.DataFrame, numbers: EstimateIndex, run: StoredRun) -> tuple[str, Row] | None:
    """A choice that a group is given more often than everyone, from the clearest divergence of people."""
    people = part.filter(pl.col("species").is_null()) if "species" in part.columns else part
    every = {
        (e["question"], e["choice"]): e.value
        for e in numbers.all("choice_share", run.model, "task", "question", "choice")
    }
    titles = Titles(own=run.study.titles)
    for e in findings.divergences(numbers, run.model)[:20]:
        column = (e["dimension"] or "").replace(" ", "_")
        if column not in people.columns:
            continue
        own = numbers.all("choice_share", run.model, "task", "dimension", "group", "question", "choice")
        shares = [
            s for s in own if (s["dimension"], s["group"], s["question"]) == (e["dimension"], e["group"], e["question"])
        ]
        top = max(
            shares, key=lambda s: (s.value or 0.0) - (every.get((s["question"], s["choice"])) or 0.0), default=None
        )
        if top is None:
            continue
        of = (pl.col(column).cast(pl.String) == e["group"]) & (pl.col("question").cast(pl.String) == e["question"])
        rows = people.filter(of)
        same = rows.filter(pl.col("choice") == top["choice"]) if rows["choice"].is_not_null().any() else rows
        if same.height:
            asked, group = titles.get("question", e["question"]), titles.get("group", e["group"])
            mean = number(every.get((top["question"], top["choice"])), "share")
            what = titles.get("choice", top["choice"])
            finding = (
                f"{asked}: {what} for {number(top.value, top.unit)} {interval(top)} of {group}, {mean} of everyone"
            )
            return finding, same.row(0, named=True)
    return ("A choice", people.row(0, named=True)) if people.height else None


def _example(run: StoredRun, task: str, finding: str, row: Row) -> PairExample:
    study, trial = run.study, int(str(row["trial"]))
    question = study.ask(study.design.trials([trial]))[0]
    replies = read_responses(run.folder, trial, trial)
    reply = replies.filter(pl.col("repeat") == row["reply"]).row(0, named=True)
    titles, look = Titles(own=study.titles), shown(run, trial)
    chosen = str(row["choice"]) if task in ("mcq", "species") and row.get("choice") is not None else ""
    about = [str(row[name]) for name in ("race", "skin_tone", "gender", "species", "occupation") if row.get(name)]
    sides = [_who(row, part) for part in ("_1", "_2")] if task == "yesno" else ["", ""]
    left, right = reversed(sides) if row.get("order") == "swapped" else sides
    title = titles.get("task", "mcq" if task == "species" else task)
    asked = f": {titles.get('question', str(row['question']))}" if row.get("question") else ""
    return PairExample(
        title=f"{title}{asked}{', ' if about else ''}{', '.join(titles.get('group', name) for name in about)}",
        finding=finding,
        image=_picture(look.images, FORM_LONGEST if task == "form" else LONGEST),
        no_picture=look.why,
        prompt=question.prompt,
        options=tuple(f"{option.label} {option.text}".strip() for option in question.options),
        answer=said(reply["text"], reply["probs"], question.options),
        choice=titles.get("choice", chosen) if chosen else "",
        model=run.model,
        left=left,
        right=right,
    )


def _who(row: Row, part: str) -> str:
    names = [row.get(f"{name}{part}") for name in ("race", "skin_tone", "gender", "species", "occupation")]
    return ", ".join(str(name) for name in names if name)


def _picture(shown: tuple[Image, ...], longest: int) -> bytes | None:
    """What a trial showed: one picture, or two side by side; None if there is none to show."""
    if len(shown) < 2:
        return smaller(shown[0].data, longest) if shown else None
    parts = [smaller(image.data, longest) for image in shown]
    return smaller(_beside([part for part in parts if part is not None]), 2 * longest)


def _beside(parts: Sequence[bytes]) -> bytes | None:
    """Pictures side by side, of one height."""
    try:
        opened = [Picture.open(io.BytesIO(part)).convert("RGB") for part in parts]
    except (UnidentifiedImageError, OSError):
        return None
    if not opened:
        return None
    height = min(image.height for image in opened)
    scaled = [image.resize((max(round(image.width * height / image.height), 1), height)) for image in opened]
    whole = Picture.new("RGB", (sum(image.width for image in scaled) + 8 * (len(scaled) - 1), height), "white")
    at = 0
    for image in scaled:
        whole.paste(image, (at, 0))
        at += image.width + 8
    out = io.BytesIO()
    whole.save(out, "PNG")
    return out.getvalue()
