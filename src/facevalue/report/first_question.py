"""Question for the first screen: one that is stored, and the pictures that it was asked about."""

from collections.abc import Callable, Mapping, Sequence

import numpy as np
import numpy.typing as npt
import polars as pl

from facevalue.design.design import Design
from facevalue.errors import FaceValueError
from facevalue.protocol import Study
from facevalue.protocol.contents import Compared, QuotedQuestions
from facevalue.protocol.lookup import Estimate
from facevalue.protocol.page import Page
from facevalue.report.blocks.content import smaller
from facevalue.report.blocks.view import View, fill_form
from facevalue.report.data import AnyExample, AskedQuestion, PairExample, PromptExample
from facevalue.report.formatting import Titles
from facevalue.report.sections.findings import list_comparisons, upper
from facevalue.runs.pictures import load_shown
from facevalue.runs.stored_run import StoredRun
from facevalue.statistics.group_choices import UNIT_COLUMNS
from facevalue.statistics.sets import OTHER_PATH
from facevalue.store.reader import trials_stored

# Questions that a page quotes, verbatim.


def questions(declared: QuotedQuestions, study: Study, titles: Titles) -> tuple[PromptExample, ...]:
    """The first questions of each kind of block, one of each combination of levels."""
    design = study.design
    out: list[PromptExample] = []
    kinds: set[str] = set()
    for block, offset in zip(design.blocks, design.offsets, strict=False):
        kind = block.constants.get(declared.block, block.name if declared.block else "")
        if kind in kinds or len(out) >= declared.most:
            continue
        kinds.add(kind)
        frame = design.trials(offset + np.arange(min(len(block), declared.span * block.prompts)))
        keys = [name for name in declared.by if name in frame.columns]
        frame = frame.unique(keys, keep="first", maintain_order=True) if keys else frame.head(2)
        for name, level, limit in declared.few:
            if name in frame.columns:
                of = (pl.col(name).cast(pl.String) == level).fill_null(value=False)
                frame = pl.concat([frame.filter(~of), frame.filter(of).head(limit)])
        for row, question in zip(frame.iter_rows(named=True), study.ask(frame), strict=True):

            def fill(name: str, manner: str, row: dict[str, object] = row, kind: str = kind) -> str | None:
                level = kind if name == "block" else row.get(name)
                if level is None:
                    return None
                if any(word.startswith(f"{name}=") for word in declared.words):
                    return declared.words.get(f"{name}={level}", "")
                column = manner if manner not in ("", "lower", "poles") else name
                text = titles.poles(str(level)) if manner == "poles" else titles.get(column, str(level))
                return text.lower() if manner == "lower" else text

            out.append(
                PromptExample(
                    fill_form(declared.title, fill), fill_form(declared.note, fill), question.prompt, question.system
                )
            )
    return tuple(out)


MOST, _SIDE = 4, 112
"""Pictures that are shown, and their longest side in pixels; a few kilobytes each."""
_SEARCHED = 20_000
"""Trials among which one is looked for that asks what the finding is of."""
_AT_ONCE = 500_000
"""Trials that are looked through at a time."""
_APART = ("image", "path", OTHER_PATH, "identity", *UNIT_COLUMNS, "face_1", "face_2", "seed")

Stimulus = Mapping[str, str | None]


def question_of(
    page: Page,
    run: StoredRun,
    view: View,
    examples: Callable[[], Sequence[AnyExample]],
    trials: npt.NDArray[np.int64] | None = None,
    rows_of: Callable[[int], pl.DataFrame] | None = None,
) -> AskedQuestion | None:
    """A stored question about what the clearest finding is of, or the first one; None where none was answered.

    `examples`: what finds stored answers that the page shows. The first with a picture serves where pictures are no
    sets. `trials`, `rows_of`: those with a stored row, and what is stored of one, where that is known.
    """
    study = run.study
    trials = trials_stored(run.folder, study.design.size) if trials is None else trials
    if not trials.size:
        return None
    clearest = _clearest(page, view)
    first = _trials_by_picture(run, trials, clearest)
    rows = _choose_stimuli(page, run, clearest, first)
    alone = len(rows) < 2 or rows[0].get(UNIT_COLUMNS[-1]) is not None  # both people of a pair are on one picture
    candidates = examples() if alone else ()
    pair = next((e for e in candidates if isinstance(e, PairExample) and e.image is not None), None)
    if pair is not None:
        sides = " and ".join(filter(None, (pair.left, pair.right)))
        return AskedQuestion(pair.prompt, ((upper(sides), pair.image or b""),))
    number = first[str(rows[-1]["image"])] if rows else int(trials[0])
    prompt = study.ask(study.design.trials([number]))[0].prompt
    numbers = [first[str(row["image"])] for row in rows] or [number]
    pictures: list[tuple[str, bytes]] = []
    reason = ""
    for caption, trial in zip(_captions(rows, clearest, view.titles, _controls(page)) or [""], numbers, strict=True):
        look = load_shown(run, trial, rows_of(trial) if rows_of else None)
        reason = look.why
        small = [picture for image in look.images if (picture := smaller(image.data, _SIDE)) is not None]
        pictures += [(caption if at == 0 else "", picture) for at, picture in enumerate(small)]
    return AskedQuestion(prompt, tuple(pictures[:MOST]), "" if pictures else reason)


def _clearest(page: Page, view: View) -> Estimate | None:
    """Estimate of which the page speaks first."""
    comparisons = list_comparisons(page, view)
    comparison = next(
        (comparison for comparison in comparisons if comparison.differences), next(iter(comparisons), None)
    )
    return None if comparison is None else next(iter(comparison.differences or comparison.rows))


def _trials_by_picture(run: StoredRun, trials: npt.NDArray[np.int64], e: Estimate | None) -> dict[str, int]:
    """A stored trial about each picture, one that asks what the finding is of if there is one.

    Empty where trials are not about one picture each.
    """
    design = run.study.design
    try:
        frame = design.trials(_first_of_each_stimulus(design, trials), ["image"])
        if "image" not in frame.columns:
            return {}
        first = dict(frame.select(pl.col("image").cast(pl.String), "trial").iter_rows())
        asked_of = design.trials(trials[:: max(trials.size // _SEARCHED, 1)])
    except (FaceValueError, KeyError, pl.exceptions.PolarsError):
        return {}
    levels = {} if e is None else {name: e[name] for name in e.labels if name in asked_of.columns}
    prompt_levels = {name: level for name, level in levels.items() if name not in run.study.manifest.columns}
    same = [pl.col(name).cast(pl.String) == level for name, level in prompt_levels.items()]
    fitting = asked_of.filter(*same) if same and "image" in asked_of.columns else asked_of.clear()
    return first | dict(fitting.reverse().select(pl.col("image").cast(pl.String), "trial").iter_rows())


def _first_of_each_stimulus(design: Design, trials: npt.NDArray[np.int64]) -> npt.NDArray[np.int64]:
    """The first trial about each stimulus, in the order of stimuli; some trials at a time, as there may be millions."""
    firsts, numbers = [trials[:0]], [trials[:0]]
    for start in range(0, trials.size, _AT_ONCE):
        batch = trials[start : start + _AT_ONCE]
        stimuli, places = np.unique(design.stimulus_numbers(batch), return_index=True)
        firsts.append(batch[places])
        numbers.append(stimuli)
    _, places = np.unique(np.concatenate(numbers), return_index=True)
    return np.concatenate(firsts)[places]


def _choose_stimuli(page: Page, run: StoredRun, e: Estimate | None, first: Mapping[str, int]) -> list[Stimulus]:
    """Rows of the manifest to show: a unit's base and what was changed, or levels of a set; the changed one last.

    Of several bases that is shown with which the study compares what was changed: a portrait, or the whole figure.
    """
    manifest, together = run.study.manifest, run.study.asked_together
    if not first or "image" not in manifest.columns:
        return []
    stimuli = manifest.filter(pl.col("image").cast(pl.String).is_in(list(first)))
    if not stimuli.height:
        return []
    levels = {} if e is None else {name: e[name] for name in e.labels if name in stimuli.columns}
    same = [pl.col(name).cast(pl.String) == level for name, level in levels.items()]
    about = stimuli.filter(*same) if same else stimuli
    row = next((about if about.height else stimuli).head(1).iter_rows(named=True))
    unit = next((name for name in together if name in stimuli.columns and row[name] is not None), "")
    if not unit:
        return [row]
    peers = stimuli.filter(pl.col(unit) == row[unit], pl.col("image") != row["image"])
    factors = [name for name in stimuli.columns if name not in _APART and name != unit]
    lost = [name for name in factors if row[name] is not None]
    bases = peers.filter(pl.any_horizontal(pl.col(name).is_null() for name in lost)) if lost else peers.clear()
    if isinstance(page.examples, Compared):
        compared_with = page.examples.bases(manifest, {name: row.get(name) or "" for name in page.examples.of.labels})
        bases = peers.filter(pl.col("image").cast(pl.String).is_in(compared_with))
    if bases.height:
        return [next(bases.head(1).iter_rows(named=True)), row]
    return [*peers.head(MOST - 1).iter_rows(named=True), row]


def _controls(page: Page) -> Mapping[str, str]:
    """Names of second bases, by their level of what is changed."""
    return page.examples.controls if isinstance(page.examples, Compared) else {}


def _captions(rows: Sequence[Stimulus], e: Estimate | None, titles: Titles, controls: Mapping[str, str]) -> list[str]:
    """Caption of each picture: the levels in which pictures differ; those of the finding, if they differ in these."""
    names = [name for name in (rows[0] if rows else {}) if name not in _APART]
    differing = [name for name in names if len({row[name] for row in rows}) > 1]
    of_finding = [name for name in differing if e is not None and e[name] is not None]
    columns = [name for name in of_finding or differing if not (name == "attribute" and "variation" in differing)]

    def caption(row: Stimulus) -> str:
        if control := next((controls[level] for level in row.values() if level is not None and level in controls), ""):
            return control
        texts = [
            titles.cue(row.get("attribute"), level) if name == "variation" else titles.get(name, level)
            for name in columns if (level := row[name]) is not None
        ]  # fmt: skip
        return upper(", ".join(texts)) or ("Unchanged" if columns else "")

    return [caption(row) for row in rows]
