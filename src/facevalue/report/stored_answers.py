"""Stored answers that a page shows: examples behind findings, quoted sentences, whole sets."""

import io
from collections.abc import Callable, Iterator, Mapping, Sequence
from itertools import islice
from typing import Any

import numpy as np
import numpy.typing as npt
import polars as pl
from PIL import Image as Picture
from PIL import UnidentifiedImageError

from facevalue.protocol import Study
from facevalue.protocol.contents import Compared, Quoted, Wanted, WidestSets
from facevalue.protocol.contents import Gallery as Declared
from facevalue.protocol.look import Look, Of
from facevalue.protocol.lookup import Estimate
from facevalue.protocol.page import Page
from facevalue.report.blocks.content import smaller
from facevalue.report.blocks.view import View, fill_form, page_view
from facevalue.report.data import Album, AnyExample, Example, PairExample, Sentence, WholeSet
from facevalue.report.formatting import Titles, sentence
from facevalue.runs.pictures import load_shown
from facevalue.runs.reply_counts import reply_text
from facevalue.runs.stored_run import StoredRun, answers, first_valid
from facevalue.store import read_responses
from facevalue.store.reader import trials_stored
from facevalue.types import Image, Option


def find_compared(declared: Compared, runs: Sequence[StoredRun], view: View) -> list[Example]:
    """The strongest changes of each model, findings first, each on the unit closest to the mean."""
    answered = [run for run in runs if any(e.value is not None for e in view.rows(declared.of, run.model))]
    limit = max(1, declared.most // max(len(answered), 1))
    return [
        example
        for run in answered[: declared.most]
        for example in _of_model(declared, run, view.narrow(run.model))[:limit]
    ]


def _of_model(declared: Compared, run: StoredRun, view: View) -> list[Example]:
    of = declared.of
    strongest = sorted((e for e in view.rows(of) if e.value is not None), key=lambda e: not view.found(e))
    out = []
    for e in strongest[: declared.most]:
        levels = {name: e[name] for name in of.labels}
        same = view.narrow(bound=levels).rows(Of(of.measure, (*of.by, declared.within), order="size"))
        alike = [row for row in same if row.value is not None and np.sign(row.value) == np.sign(e.value or 0.0)]
        example = _changed_example(declared, run, view, alike[0]) if alike else None
        if example is not None:
            out.append(example)
    return out


def _changed_example(declared: Compared, run: StoredRun, view: View, e: Estimate) -> Example | None:
    study, within = run.study, e[declared.within] or ""
    levels = {name: e[name] or "" for name in declared.of.labels}
    bases = declared.bases(study.manifest, levels)
    numbers = _numbers(declared, study, levels, within, bases)
    if not numbers.size:
        return None
    stored = read_responses(run.folder, trials=numbers)
    factors = study.design.trials(stored["trial"].to_numpy())
    rows = pl.concat([factors, stored.drop("trial")], how="horizontal")
    rows = rows.with_columns(
        *study.answer(rows).select(declared.score, "na").get_columns(), pl.col("repeat").alias("reply")
    )
    judged = first_valid(rows, study.repeats).filter(pl.col(declared.score).is_not_null())
    chosen = closest_pair(declared, judged, bases, e.value or 0.0)
    if chosen is None:
        return None
    question = study.ask(factors.filter(pl.col("trial") == chosen["trial"]).head(1))[0]
    looks = [load_shown(run, int(chosen[name])) for name in ("trial_base", "trial")]
    base, variant = (look.images[0] if look.images else None for look in looks)
    texts = [
        reply_text(chosen[text], chosen[probs], question.options)
        for text, probs in (("text_base", "probs_base"), ("text", "probs"))
    ]
    attribute, variation = [*levels.values(), ""][:2]
    return Example(
        title=view.said(declared.title, e),
        base_image=base.data if base else None,
        variant_image=variant.data if variant else None,
        media_type=(variant or base or Image(b"", "image/png")).media_type,
        attribute=attribute,
        variation=variation,
        scenario=within,
        prompt=question.prompt,
        base_answer=texts[0],
        variant_answer=texts[1],
        base_phi=chosen["phi_base"],
        variant_phi=chosen["phi"],
        base_choice=_choice(declared, chosen[f"{declared.score}_base"], question.options),
        variant_choice=_choice(declared, chosen[declared.score], question.options),
        model=run.model,
        base_title=_base_title(declared, study, bases),
        no_picture=next((look.why for look in looks if not look.images), ""),
    )


def _base_title(declared: Compared, study: Study, bases: Sequence[str]) -> str:
    """Return the title of the stimuli without the change: that of a control, if they are one."""
    first = declared.of.labels[0]
    levels = study.manifest.filter(pl.col("image").is_in(list(bases)))[first].drop_nulls().unique()
    return next((title for level, title in declared.controls.items() if level in levels), declared.base)


def _numbers(
    declared: Compared, study: Study, levels: Mapping[str, str], within: str, bases: Sequence[str]
) -> npt.NDArray[np.int64]:
    """Trials about one change and its bases at one level within."""
    trials = []
    changed = pl.all_horizontal(pl.col(name) == level for name, level in levels.items()).fill_null(value=False)
    first, level = next(iter(levels.items()))
    for block, offset in zip(study.design.blocks, study.design.offsets, strict=False):
        if block.constants.get(first) not in (None, level, *declared.controls):
            continue
        local = np.arange(len(block), dtype=np.int64)
        frame = study.design.trials(local + offset, ["image", *levels, declared.within])
        keep = (pl.col(declared.within) == within) & (pl.col("image").is_in(list(bases)) | changed)
        trials.append(frame.filter(keep)["trial"].to_numpy().astype(np.int64))
    return np.concatenate(trials) if trials else np.zeros(0, dtype=np.int64)


def closest_pair(declared: Compared, judged: pl.DataFrame, bases: Sequence[str], shift: float) -> dict[str, Any] | None:
    """Two replies to one prompt about a unit's stimulus with and without the change, of the unit closest to a shift.

    Of units that are equally close, and of replies that tell the two stimuli equally well apart, the first trial is
    shown: the same answers give the same example, in whatever order they come.
    """
    base, varied = (judged.filter(pl.col("image").is_in(list(bases)) == b) for b in (True, False))
    unit = declared.unit
    scores = [frame.group_by(unit).agg(pl.col(declared.score).mean().alias("phi")) for frame in (base, varied)]
    units = scores[1].join(scores[0], on=unit, suffix="_base")
    keys = [name for name in (unit, *declared.same, "repeat") if name in judged.columns]
    columns = [*keys, "trial", "text", "probs", declared.score]
    replies = varied.select(columns).join(base.select(columns), on=keys, suffix="_base")
    distance = (pl.col("phi") - pl.col("phi_base") - shift).abs()
    told_apart = (
        pl.col(declared.score) - pl.col(f"{declared.score}_base")
    ).abs()  # so that the example says what happened
    pairs = units.join(replies, on=unit).sort(
        distance.round(12), -told_apart.round(12), "trial", "trial_base", "repeat"
    )
    return pairs.row(0, named=True) if pairs.height else None


def _choice(declared: Compared, score: float, options: Sequence[Option]) -> str:
    """The wording of the option that a reply chose, if any: the one that is scored has all the weight, or none."""
    if score not in (0.0, 1.0):
        return ""
    return next((o.text for o in options if (o.level == declared.option) == (score == 1.0)), "")


# Sets whose replies' scores lie farthest apart, each whole.


_CHUNKS = 8
"""Chunks of a million answers that are searched."""
_LONGEST, _SIDE = 280, 288
"""Characters of a reply, and pixels of a picture, that are kept."""


def find_widest(declared: WidestSets, run: StoredRun, view: View) -> list[WholeSet]:
    """The sets with the widest range of scores among the replies that share prompt and draw."""
    best = pl.DataFrame()
    for chunk in islice(answers(run), _CHUNKS):
        score = next((name for name in chunk.columns if name.startswith(declared.score)), None)
        if score is None:
            return []
        scored = chunk.filter(pl.col(score).is_not_null())
        keys = [
            name for name in (*declared.same, "draw", "repeat", "intervention", declared.unit) if name in scored.columns
        ]
        text = [pl.col(name).cast(pl.String) for name in keys if scored[name].dtype == pl.Enum]
        ranges = scored.with_columns(text).group_by(keys, maintain_order=True).agg(
            _range=pl.col(score).max() - pl.col(score).min(), _count=pl.len(), _trials=pl.col("trial"),
_who=pl.col(declared.member).cast(pl.String), _scores=pl.col(score),
            _said=pl.col(declared.text),
        ).filter((pl.col("_count") > 1) & (pl.col("_range") > 0))  # fmt: skip
        best = pl.concat([best, ranges], how="diagonal").sort("_range", descending=True, maintain_order=True)
        best = best.unique(declared.unit, keep="first", maintain_order=True).head(declared.most)
    return [_whole_set(declared, run, view, row) for row in best.iter_rows(named=True)]


def _whole_set(declared: WidestSets, run: StoredRun, view: View, row: dict[str, object]) -> WholeSet:
    def fill(name: str, _how: str) -> str | None:
        return None if row.get(name) is None else view.title(name, str(row[name]))

    replies = zip(*(row[f"_{name}"] for name in ("who", "scores", "said", "trials")), strict=True)
    return WholeSet(
        fill_form(declared.title, fill),
        tuple(
            (view.title(declared.member, member), score, _short(text), _stored_picture(run, trial))
            for member, score, text, trial in replies
        ),
        run.model,
    )


def _short(text: str) -> str:
    return text if len(text) <= _LONGEST else f"{text[: _LONGEST - 1]}…"


def _stored_picture(run: StoredRun, trial: int) -> bytes | None:
    images = load_shown(run, trial).images
    return smaller(images[0].data, _SIDE) if images else None


# Galleries: stimuli of a few units, one of each level.


def find_galleries(declared: Declared, run: StoredRun, titles: Titles) -> list[Album]:
    """The first unit of each level, with the first stimulus of each level of another factor."""
    manifest = run.study.manifest
    if declared.each not in manifest.columns:
        return []
    first = _first_trials(run)
    stimuli = manifest.filter(pl.col("image").is_in(list(first)))
    bases = stimuli.filter(pl.col(declared.each).is_null())
    bases = bases.unique(declared.by, keep="first", maintain_order=True) if declared.by in bases.columns else bases
    out = []
    for base in bases.head(declared.units).iter_rows(named=True):
        unit_rows = stimuli.filter(pl.col(declared.unit) == base[declared.unit])
        rows = unit_rows.unique(declared.each, keep="first", maintain_order=True).sort(
            pl.col(declared.each).is_not_null(),
            pl.col(declared.each).is_in(list(declared.last)).fill_null(value=False),
            maintain_order=True,
        )  # fmt: skip
        pictures = []
        for row in rows.iter_rows(named=True):
            look = load_shown(run, first[row["image"]])
            if look.images:
                pictures.append((_caption(declared, row, titles), look.images[0].data))
        if len(pictures) > 1:
            title = titles.get(declared.by, base[declared.by]) if base.get(declared.by) else base[declared.unit]
            out.append(Album(title, tuple(pictures)))
    return out


def _caption(declared: Declared, row: dict[str, str | None], titles: Titles) -> str:
    level = row[declared.each]
    if level is None:
        return declared.base
    if level in declared.controls:
        return declared.controls[level]

    def fill(name: str, _how: str) -> str | None:
        value = row.get(name)
        if value is None:
            return None
        return titles.variation(row.get("attribute"), value) if name == "variation" else titles.get(name, value)

    return fill_form(declared.caption, fill)


def _first_trials(run: StoredRun) -> dict[str, int]:
    """A trial about each stimulus that was asked about."""
    design = run.study.design
    stored = trials_stored(run.folder, design.size)
    _, places = np.unique(design.stimulus_numbers(stored), return_index=True)
    first = design.trials(stored[places], ["image"])
    return dict(first.select(pl.col("image").cast(pl.String), "trial").iter_rows())


_MODELS, _MOST = 6, 8
"""Models of which answers are shown, and answers of all of several together."""

"""Chunks of a million answers that are searched."""

Row = dict[str, object]


def find_wanted(choose: Callable[[Look], list[Wanted]], runs: Sequence[StoredRun], view: View) -> list[PairExample]:
    """An answer for each that is wanted; of several models fewer of each."""
    by_model = {
        model: wishes for model in dict.fromkeys(run.model for run in runs) if (wishes := choose(view.narrow(model)))
    }
    out: list[PairExample] = []
    for model, wishes in list(by_model.items())[:_MODELS]:
        examples = (
            example for run in runs if run.model == model for example in _find_pairs(run, wishes, view.narrow(model))
        )
        out += islice(examples, None if len(by_model) == 1 else max(2, _MOST // len(by_model)))
    return out


def _find_pairs(run: StoredRun, wishes: Sequence[Wanted], view: View) -> Iterator[PairExample]:
    rows: dict[int, Row] = {}
    seen: set[tuple[object, ...]] = set()
    for place, chunk in enumerate(answers(run)):
        if place >= _CHUNKS or len(rows) == len(wishes):
            break
        valid = chunk.filter(pl.col("na").is_null())
        for number, want in enumerate(wishes):
            if number in rows or not set(want.needs) <= set(valid.columns):
                continue
            row = _trial(valid, want, seen)
            if row is not None:
                rows[number] = row
                seen.add(_key(want, row))
    kinds: set[str] = set()
    for number in sorted(rows):
        kind = wishes[number].instead_of
        if kind in kinds:
            continue
        kinds |= {kind} - {""}
        yield _example(run, wishes[number], rows[number], view)


def _key(want: Wanted, row: Row) -> tuple[object, ...]:
    """Return a key that no two examples share; columns grouped together may be in any order."""
    return tuple(
        frozenset(row.get(name) for name in group) if isinstance(group, tuple) else row.get(group)
        for group in want.once
    )


def _trial(valid: pl.DataFrame, want: Wanted, seen: set[tuple[object, ...]]) -> Row | None:
    only = [pl.col(name).cast(pl.String) == level for name, level in want.only if name in valid.columns]
    same = valid.filter(want.rows, *only)
    if want.prefer is not None:
        same = same.sort(want.prefer, descending=True, maintain_order=True)
    rows = same.with_columns(**want.columns).iter_rows(named=True)
    return next((row for row in rows if not want.once or _key(want, row) not in seen), None)


def _example(run: StoredRun, want: Wanted, row: Row, view: View) -> PairExample:
    study, trial = run.study, int(str(row["trial"]))
    question = study.ask(study.design.trials([trial]))[0]
    replies = read_responses(run.folder, trial, trial)
    reply = replies.filter(pl.col("repeat") == row["reply"]).row(0, named=True)
    look = load_shown(run, trial)
    column, level = want.turned
    sides = _swap_persons(row) if column in row and row[column] == level else row
    left, right = (view.said_of_row(form, sides) for form in want.sides)
    return PairExample(
        title=view.said_of_row(want.title, row) or "An answer",
        finding=want.finding,
        image=_picture(look.images, want.longest),
        no_picture=look.why,
        prompt=question.prompt,
        options=tuple(option.wording for option in question.options),
        answer=reply_text(reply["text"], reply["probs"], question.options),
        choice=view.said_of_row(want.choice, row),
        model=run.model,
        left=left,
        right=right,
        longest=want.longest,
    )


def _swap_persons(row: Row) -> Row:
    """The row with its first and its second person in each other's place."""
    swapped = {"_1": "_2", "_2": "_1"}
    return {f"{name[:-2]}{swapped[name[-2:]]}" if name[-2:] in swapped else name: value for name, value in row.items()}


def _picture(images: tuple[Image, ...], longest: int) -> bytes | None:
    """Return what a trial showed: one picture, or two side by side; None if there is none to show."""
    if len(images) < 2:
        return smaller(images[0].data, longest) if images else None
    pictures = [smaller(image.data, longest) for image in images]
    return smaller(_join_pictures([picture for picture in pictures if picture is not None]), 2 * longest)


def _join_pictures(pictures: Sequence[bytes]) -> bytes | None:
    """Pictures side by side, of one height."""
    try:
        opened = [Picture.open(io.BytesIO(picture)).convert("RGB") for picture in pictures]
    except (UnidentifiedImageError, OSError):
        return None
    if not opened:
        return None
    height = min(image.height for image in opened)
    scaled = [image.resize((max(round(image.width * height / image.height), 1), height)) for image in opened]
    canvas = Picture.new("RGB", (sum(image.width for image in scaled) + 8 * (len(scaled) - 1), height), "white")
    left = 0
    for image in scaled:
        canvas.paste(image, (left, 0))
        left += image.width + 8
    out = io.BytesIO()
    canvas.save(out, "PNG")
    return out.getvalue()


def find_quotes(declared: Quoted, run: StoredRun, view: View) -> list[Sentence]:
    """A sentence for each of the clearest words of every group."""
    words = _words(declared, view.narrow(run.model))
    quotes: dict[tuple[str, str, str], Sentence] = {}
    for place, chunk in enumerate(answers(run)):
        if place >= _CHUNKS or len(quotes) == len(words):
            break
        if declared.text not in chunk.columns:
            continue
        texts = chunk.filter(pl.col("na").is_null() & pl.col(declared.text).is_not_null())
        for want in words:
            quoted = None if want in quotes else _find_quote(declared, texts, *want)
            if quoted is not None:
                dimension, group, word = want
                quotes[want] = Sentence(
                    title=word, finding="", image=None, prompt="", options=(), answer=quoted, choice="",
                    model=run.model, dimension=dimension, group=group, word=word,
                )  # fmt: skip
    return list(quotes.values())


def _words(declared: Quoted, view: View) -> list[tuple[str, str, str]]:
    """Words of which a sentence is wanted: the clearest of each group."""
    counted: dict[tuple[str | None, ...], int] = {}
    out = []
    for e in view.rows(declared.of):
        key = tuple(e[name] for name in declared.of.labels if name != declared.word)
        counted[key] = counted.get(key, 0) + 1
        dimension, group, word = (e[name] for name in ("dimension", "group", declared.word))
        if counted[key] <= declared.each and dimension and group and word:
            out.append((dimension, group, word))
    return list(dict.fromkeys(out))[: declared.most]


def _find_quote(declared: Quoted, texts: pl.DataFrame, dimension: str, group: str, word: str) -> str | None:
    column = dimension.replace(" ", "_")
    if column not in texts.columns:
        return None
    replies = texts.filter(pl.col(column).cast(pl.String) == group)[declared.text]
    replies = replies.filter(replies.str.to_lowercase().str.contains(word, literal=True)).head(50)
    return next((quote for text in replies if (quote := sentence(text, word)) is not None), None)


def examples(page: Page, runs: Sequence[StoredRun], view: View) -> list[AnyExample]:
    """Stored answers behind the findings, sentences with marked words, whole sets, and what was shown."""
    out: list[AnyExample] = []
    if isinstance(page.examples, Compared):
        out += find_compared(page.examples, runs, view)
    elif page.examples is not None:
        out += find_wanted(page.examples, runs, view)
    if page.quoted is not None:
        out += find_quotes(page.quoted, runs[0], view)
    if page.widest is not None:
        out += find_widest(page.widest, runs[0], view)
    if page.gallery is not None:
        out += find_galleries(page.gallery, runs[0], view.titles)
    return out


def view_of(page: Page, runs: Sequence[StoredRun], estimates: pl.DataFrame) -> View:
    """Estimates of runs as a page's own texts see them."""
    return page_view(page, estimates, runs[0].measures, runs[0].study.about.titles, [run.model for run in runs])
