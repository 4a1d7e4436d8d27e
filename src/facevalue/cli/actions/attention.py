"""`facevalue attention`: where a local model looked when it answered, as arrays and as maps over the pictures."""

import io
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

import click
import numpy as np
import polars as pl
from markupsafe import Markup

from facevalue.cli.output import Output, WrittenFiles
from facevalue.csv_text import csv_bytes
from facevalue.errors import DataError, RunError, UnknownNameError
from facevalue.report.formatting import html_element
from facevalue.report.sections.checks import KINDS
from facevalue.runs.attention_maps import FOLDER, write_map
from facevalue.runs.pictures import NO_PICTURE, load_shown
from facevalue.runs.requests import RequestBuilder
from facevalue.runs.stored_run import StoredRun
from facevalue.stimuli.base import Kind
from facevalue.store import read_responses
from facevalue.store.files import make_folder, write_whole
from facevalue.types import Question, Stimulus

if TYPE_CHECKING:
    from PIL.Image import Image

    from facevalue.models.hf.attention import Attended, PictureHalves

MOST_TRIALS = 100
_LOCAL = "hf/"
NOTES = (
    "A map of attention is no explanation of cause. It shows where a model looked; other attention may give the same "
    "answer, and what a model looks at need not be what decides.",
    "A side is half of the picture, not the outline of a person; where two pictures of different widths were put side "
    "by side, their border is not in the middle. 'Even' is the share that a side would have if every part of the "
    "picture that was shown had the same.",
    "Probability: that a reply begins with the option as the prompt writes it. Other ways to write it, which a run's "
    "exact probabilities count, are left out.",
)
_CROSSING = (
    "This model looks at pictures in some of its layers alone, and at nothing else there: the attention shown is that "
    "of these layers."
)
_COLUMNS = ("model", "trial", "map", "option", "probability", "on_pictures", "on_word", "left", "right", "share_left",
            "share_right", "even_left", "even_right", "files")  # fmt: skip
_STYLE = (
    "body{font:15px/1.45 system-ui,sans-serif;max-width:70rem;margin:2rem auto;padding:0 1rem;color:#222}"
    "img{max-width:100%;display:block;margin:.6rem 0}table{border-collapse:collapse;margin:.6rem 0}"
    "td,th{border-bottom:1px solid #ccc;padding:.2rem .8rem .2rem 0;text-align:left}"
    "pre{white-space:pre-wrap;background:#f4f4f4;padding:.6rem}.note{border-left:4px solid #886;padding-left:.8rem}"
)


@dataclass(frozen=True, slots=True)
class _ShownTrial:
    """A trial with its question and pictures, to be put to the model again."""

    trial: int
    question: Question
    stimulus: Stimulus
    pictures: "list[Image]"
    pair: bool
    people: tuple[str, str]  # left, right; empty where the study doesn't say

    @property
    def halves(self) -> bool:
        return self.pair and len(self.pictures) in (1, 2)


@dataclass(frozen=True, slots=True)
class _AttentionMap:
    """One map of a trial, and what the index says of it."""

    name: str
    option: str
    probability: float | None
    sides: "PictureHalves | None"
    on_pictures: float | None
    files: tuple[str, ...]
    on_word: "np.typing.NDArray[np.float32] | None" = None  # by layer and head; NaN where the prompt has not the word


def attention(
    run: Path | str, trials: str, model: str | None, words: Sequence[str], out: Path | None, pictures: Path | None
) -> Output[WrittenFiles]:
    """Show where a local model looks in the pictures of some trials of a run."""
    opened = StoredRun.open(run, pictures=pictures)
    if out is None and opened.url:
        raise click.UsageError("A run in object storage is not written to: say where the maps go (--out DIR).")
    folder = out or opened.folder / FOLDER
    numbers = _numbers(trials, opened)
    path = _path(model, opened)
    trials_shown = list(_shown_trials(opened, numbers))
    once = dict[str, str]()  # words are found in any case
    for word in words:
        once.setdefault(word.casefold(), word)
    words = list(once.values())
    from facevalue.models.hf.attention import AttentionReader, find_word  # noqa: PLC0415 - torch takes seconds to import
    from facevalue.models.hf.loading import DTYPES, load_model  # noqa: PLC0415

    prompts = [trial.question.prompt for trial in trials_shown]
    for word in words:
        if not word.strip() or not any(any(find_word(word, prompt)) for prompt in prompts):
            raise UnknownNameError("word of these prompts", word, re.findall(r"[^\W\d_]+", " ".join(prompts)))
    dtype = opened.facts.model_settings.get("dtype") if model is None else None
    reader = AttentionReader(load_model(path, dtype=str(dtype) if dtype in DTYPES else None))
    make_folder(folder)
    name, written = f"{_LOCAL}{path}", []
    for trial in trials_shown:
        try:
            attention_maps = reader.read_attention(trial.pictures, trial.question, words)
        except DataError as error:
            raise DataError(f"Trial {trial.trial}: {error}") from error
        written.append((trial, _write_maps(folder, trial, attention_maps, name)))
    write_whole(folder / "index.csv", _table(name, written))
    write_whole(folder / "index.html", _page(opened, name, written).encode())
    files = {trial.trial: [file for heat_map in maps for file in heat_map.files] for trial, maps in written}
    lines = [f"Trial {trial}: {', '.join(names)}" for trial, names in files.items()]
    paths = [
        folder / "index.html",
        folder / "index.csv",
        *(folder / name for names in files.values() for name in names),
    ]
    document = WrittenFiles(tuple(map(str, paths)))
    return Output(document, [*lines, f"All of them: {folder / 'index.html'}"])


def _numbers(text: str, run: StoredRun) -> list[int]:
    """Return the trials that were asked for, each once; all have a stored response."""
    try:
        numbers = list(dict.fromkeys(int(number) for number in text.split(",")))
    except ValueError:
        raise click.BadParameter(f"{text!r}: write numbers, such as 12,40", param_hint="--trials") from None
    if len(numbers) > MOST_TRIALS:
        raise click.BadParameter(f"{len(numbers)} trials: at most {MOST_TRIALS} at a time", param_hint="--trials")
    for number in numbers:
        if not 0 <= number < run.study.design.size:
            raise RunError(f"There is no trial {number}: {run.folder} has trials 0 to {run.study.design.size - 1:,}.")
        if not read_responses(run.folder, number, number).height:
            raise RunError(
                f"Trial {number} was not asked in {run.folder}: `facevalue export` lists those that were, in the "
                "column trial."
            )
    return numbers


def _path(model: str | None, run: StoredRun) -> str:
    """Return where the model's weights are."""
    spec = model or run.facts.model
    if spec.startswith(_LOCAL) and spec != _LOCAL:
        return spec.removeprefix(_LOCAL)
    if model is not None:
        raise click.BadParameter(
            f"{model!r}: attention can only be read from local models: hf/PATH", param_hint="--model"
        )
    raise RunError(
        f"{run.folder} asked {run.model}, whose attention cannot be read here: name a local model with "
        "--model hf/PATH. The maps are then that model's."
    )


def _shown_trials(run: StoredRun, numbers: Sequence[int]) -> Iterator[_ShownTrial]:
    """Yield the question and pictures of each trial."""
    from facevalue.models.hf.adapter import decode_pictures  # noqa: PLC0415

    study = run.study
    asking = RequestBuilder(study, run.facts.exact)
    for number in numbers:
        if (reason := load_shown(run, number).why) not in ("", NO_PICTURE):
            raise RunError(f"Trial {number}: {reason}.")
        chunk = asking.chunk(np.array([number]), np.ones((1, 1), dtype=np.bool_))
        for _, _, stimulus in asking.stimuli(chunk):
            pictures = decode_pictures(stimulus)
            if not pictures:
                raise DataError(f"Trial {number} shows no picture, so there is nothing to look at.")
            levels = study.design.trials([number]).row(0, named=True)
            pair = _paired_factors(levels)
            yield _ShownTrial(number, chunk.questions[0], stimulus, pictures, bool(pair), _people(run, number, pair))


def _paired_factors(levels: Mapping[str, object]) -> list[str]:
    """Return the factors of which a pair has two levels, `NAME_1` and `NAME_2`; none for a single picture."""
    names = [name.removesuffix("_1") for name in levels if name.endswith("_1")]
    return [name for name in names if levels[f"{name}_1"] is not None and levels.get(f"{name}_2") is not None]


def _people(run: StoredRun, number: int, pair: list[str]) -> tuple[str, str]:
    """Return who is on the left and on the right, where the study's answers say so."""
    column = run.study.extras.left_first
    if not pair or not column:
        return "", ""
    responses = read_responses(run.folder, number, number).select(run.study.reading.columns)
    factors = run.study.design.trials(np.full(responses.height, number))
    row = run.study.answer(pl.concat([factors, responses], how="horizontal")).row(0, named=True)
    if row[column] is None:
        return "", ""
    first, second = (", ".join(str(factors.row(0, named=True)[f"{name}_{n}"]) for name in pair) for n in (1, 2))
    return (first, second) if row[column] else (second, first)


def _write_maps(folder: Path, trial: _ShownTrial, attended: "Attended", model: str) -> list[_AttentionMap]:
    """Write a trial's arrays and pictures."""
    from facevalue.models.hf import overlays  # noqa: PLC0415
    from facevalue.models.hf.attention import sides  # noqa: PLC0415

    def shares(values: "np.typing.NDArray[np.float32]") -> "PictureHalves | None":
        return sides(values, attended.regions, len(trial.pictures)) if trial.halves else None

    def save(name: str, title: str, values: "np.typing.NDArray[np.float32]") -> tuple[str, ...]:
        names = []
        for number, picture in enumerate(trial.pictures):
            which = f"-picture-{number + 1}" if len(trial.pictures) > 1 else ""
            inside, small = attended.regions.picture == number, overlays.fit_picture(picture)
            heat = overlays.spread(values[inside], attended.regions.boxes[inside], small.size)
            names.append(f"trial-{trial.trial}-{name}{which}.png")
            write_map(folder / names[-1], overlays.overlay(small, heat, title), model)
        return tuple(names)

    crossing = attended.regions.crossing
    share = None if crossing else float(attended.mean.sum())  # else all of it, in the layers that look at pictures
    layers = "all layers that look at it" if crossing else "all layers"
    maps = [
        _AttentionMap("attention", "", None, shares(attended.mean), share, save(
            "attention", f"Trial {trial.trial}: mean attention of the answer, {layers}, all heads", attended.mean)),
    ]  # fmt: skip
    if not crossing:
        title = f"Trial {trial.trial}: attention of the answer to the picture, by head"
        file = f"trial-{trial.trial}-heads.png"
        write_map(folder / file, overlays.heads(attended.by_head, title), model)
        maps.append(_AttentionMap("heads", "", None, None, share, (file,)))
    for number, (word, by_head) in enumerate(attended.words.items(), 1):
        title = f'Trial {trial.trial}: attention of the answer to "{word[:40]}", by head'
        file = "" if np.isnan(by_head).any() else f"trial-{trial.trial}-word-{number}.png"
        if file:
            write_map(folder / file, overlays.heads(by_head, title), model)
        maps.append(_AttentionMap("word", word, None, None, None, (file,) if file else (), by_head))
    for number, option in enumerate(attended.options, 1):
        title = f"Trial {trial.trial}: relevancy for option {number}, {option.label[:40]}"
        files = save(f"relevancy-{number}", title, option.relevancy)
        maps.append(_AttentionMap("relevancy", option.label, option.probability, shares(option.relevancy), None, files))
    buffer = io.BytesIO()
    np.savez_compressed(
        buffer,
        boxes=attended.regions.boxes,
        picture=attended.regions.picture,
        attention=attended.attention,
        mean=attended.mean,
        by_layer=attended.by_layer,
        by_head=attended.by_head,
        options=np.array([option.label for option in attended.options]),
        probability=np.array([option.probability for option in attended.options]),
        relevancy=np.stack([option.relevancy for option in attended.options]),
        words=np.array([*attended.words], dtype=str),
        by_word=np.array([*attended.words.values()]),
    )
    write_whole(folder / f"trial-{trial.trial}.npz", buffer.getvalue())
    return maps


def _table(model: str, written: Sequence[tuple[_ShownTrial, Sequence[_AttentionMap]]]) -> bytes:
    """Return one row per map, without those of heads, as CSV."""
    rows = []
    for trial, maps in written:
        for heat_map in maps:
            if heat_map.name == "heads":
                continue
            sides = heat_map.sides
            shares = (sides.left, sides.right, sides.even_left, sides.even_right) if sides else (None,) * 4
            on_word = None if heat_map.on_word is None else float(heat_map.on_word.mean())
            numbers = [None if x is None or np.isnan(x) else f"{x:.6g}" for x in
                       (heat_map.probability, heat_map.on_pictures, on_word, *shares)]  # fmt: skip
            people = [text or None for text in trial.people]
            rows.append((model, str(trial.trial), heat_map.name, heat_map.option or None, *numbers[:3], *people,
                         *numbers[3:], " ".join(heat_map.files) or None))  # fmt: skip
    return csv_bytes(pl.DataFrame(rows, schema=dict.fromkeys(_COLUMNS, pl.String), orient="row"))


def _page(run: StoredRun, model: str, written: Sequence[tuple[_ShownTrial, Sequence[_AttentionMap]]]) -> str:
    """Return the index for people: what was asked, how likely each option was, whom the model looked at."""
    kind = run.study.source.kind
    notes = [run.study.about.content_note, "" if kind is Kind.PHOTOGRAPHS else KINDS[kind][1], *NOTES]
    body = [
        html_element("h1", f"Where {model} looks"),
        html_element("p", f"{run.study.about.title} ({run.folder.name})"),
        *(html_element("p", note, class_="note") for note in notes if note),
        *(element for trial, maps in written for element in _section(trial, maps)),
    ]
    policy = Markup("<meta http-equiv=\"Content-Security-Policy\" content=\"default-src 'none'; img-src 'self'; "
                    "style-src 'unsafe-inline'\">")  # fmt: skip
    head = Markup("").join(
        [Markup('<meta charset="utf-8">'), policy, html_element("title", "Attention"), html_element("style", _STYLE)]
    )
    page = html_element("html", html_element("head", head), html_element("body", *body), lang="en")
    return f"<!doctype html>\n{page}\n"


def _section(trial: _ShownTrial, maps: Sequence[_AttentionMap]) -> Iterator[Markup]:
    yield html_element("h2", f"Trial {trial.trial}")
    yield html_element("pre", trial.question.prompt)
    if any(trial.people):
        yield html_element("p", f"Left: {trial.people[0]}. Right: {trial.people[1]}.")
    columns = ["map", "option", "probability", *(["left (even)", "right (even)"] if trial.halves else [])]
    rows = [html_element("tr", *(html_element("th", name) for name in columns))]
    for heat_map in maps:
        if heat_map.name in ("heads", "word"):
            continue
        cells = [
            heat_map.name,
            heat_map.option,
            "" if heat_map.probability is None else f"{heat_map.probability:.3g}",
        ]
        if trial.halves and heat_map.sides:
            sides = heat_map.sides
            cells += [_percent(sides.left, sides.even_left), _percent(sides.right, sides.even_right)]
        rows.append(html_element("tr", *(html_element("td", cell) for cell in cells)))
    yield html_element("table", *rows)
    share = next((heat_map.on_pictures for heat_map in maps if heat_map.on_pictures is not None), None)
    noun = "picture" if len(trial.pictures) == 1 else "pictures"
    yield html_element("p", _CROSSING if share is None else f"{share:.1%} of the answer's attention is on the {noun}.")
    yield from (html_element("p", _describe_word(of.option, of.on_word)) for of in maps if of.on_word is not None)
    for file in (file for heat_map in maps for file in heat_map.files):
        yield Markup('<img src="{}" alt="{}">').format(file, file.removesuffix(".png"))


def _describe_word(word: str, by_head: "np.typing.NDArray[np.float32]") -> str:
    """Return how far the answer attends to a word, and which head most; layers and heads count from 1."""
    if np.isnan(by_head).any():
        return f"“{word}” is not in this prompt."
    layer, head = np.unravel_index(by_head.argmax(), by_head.shape)
    return (
        f"{by_head.mean():.1%} of the answer's attention is on “{word}”, as the mean of layers and heads that look at "
        f"the text; most in layer {layer + 1}, head {head + 1}: {by_head.max():.1%}."
    )


def _percent(share: float, even: float) -> str:
    return f"none ({even:.1%})" if np.isnan(share) else f"{share:.1%} ({even:.1%})"
