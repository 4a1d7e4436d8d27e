"""Scoring of a run's replies: each distinct text once, and with them the sentences of the scorer's audit."""

import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import replace
from typing import NamedTuple

import polars as pl

from facevalue.annotations.scorers import Scorer
from facevalue.annotations.scores import read
from facevalue.annotations.scoring import ScoringOutcome, score_texts
from facevalue.errors import DataError, SettingError, UnknownNameError
from facevalue.protocol.study import Scored, Study
from facevalue.runs.progress import Meter, Progress, Snapshot
from facevalue.runs.stored_run import StoredRun, answers, rebuilt
from facevalue.studies.offers import lacking

_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]{0,59}")
_TAKEN = ("judge", "judged-words", "people", "ratings")
"""What lies in `annotations` beside scores."""
PROMPT = "prompt"


class ScoredRun(NamedTuple):
    """Outcome of having a scorer score the replies of a run.

    Attributes
    ----------
    scorer, name:
        The scorer, and what its scores are called.
    outcome:
        How many texts were scored now and before.
    missing:
        Texts without a score, by the reason.
    moved:
        Of each label the largest shift that the words of a group alone make: label, group, shift, low, high.
    """

    scorer: str
    name: str
    outcome: ScoringOutcome
    missing: Mapping[str, int]
    moved: pl.DataFrame


def annotate_with(
    run: StoredRun, load: Callable[[], Scorer], progress: Progress, name: str = "", prompts: Sequence[str] = ()
) -> ScoredRun:
    """Have a scorer, which is loaded and closed here, score the replies of a run; see `annotate`.

    Raises
    ------
    DataError
        The run holds nothing that a scorer reads.
    """
    folder = run.folder
    if run.study.reading.scored is None:
        noun = run.study.extras.annotate
        if not noun:
            raise DataError(f"{folder}: {lacking(run.study.name, 'annotate', 'replies that a scorer reads')}")
        raise DataError(f"{folder} ({run.study.name}) has no {noun}; a scorer reads these, and nothing else.")
    scorer = load()
    try:
        called = checked_name(name or scorer.called)
        outcome = annotate(run, scorer, progress, called, prompts)
    finally:
        scorer.close()
    (scores,) = (scores for scores in read(folder) if scores.name == called)
    from facevalue.measures.judges import audit_of_run, largest_shift  # noqa: PLC0415 - scipy.stats takes a second to import

    moved = largest_shift(audit_of_run(scores, run.study.reading.scored.groups))
    columns = ("label", "group", "shift", "low", "high")
    return ScoredRun(scorer.name, called, outcome, scores.reasons, moved.select(columns))


def annotate(
    run: StoredRun, scorer: Scorer, progress: Progress, name: str = "", prompts: Sequence[str] = ()
) -> ScoringOutcome:
    """Score the replies of a run that have no scores by this scorer yet.

    Parameters
    ----------
    run:
        An opened run.
    scorer:
        Who scores.
    progress:
        Where to report to.
    name:
        What the scores are called; the scorer's own name for them by default.
    prompts:
        Replies to these prompts alone; all by default.
    """
    plain = rebuilt(replace(run, scores=()), run.facts.options)
    scored = plain.reading.scored
    if scored is None:
        raise DataError(f"{run.folder} ({plain.name}) has no replies that a scorer reads.")
    checked_name(name or scorer.called)
    open_replies = scored.read & (
        pl.col(PROMPT).cast(pl.String).is_in(_prompts(plain, scored, prompts)) if prompts else True
    )

    def texts() -> Iterator[pl.Series]:
        from facevalue.measures.judges import audit_texts  # noqa: PLC0415 - scipy.stats takes a second to import

        yield pl.Series(audit_texts(scored.groups), dtype=pl.String)
        for chunk in answers(replace(run, study=plain), columns=()):
            replies = chunk.filter(open_replies)
            yield from (replies[name] for name in scored.texts)

    meter, begun = Meter(), False

    def show_progress(now: ScoringOutcome) -> None:
        nonlocal begun
        if not begun:
            progress.start(0, now.texts - now.before)
            begun = True
        tried, total = now.done + now.unasked, now.texts - now.before
        rate = meter.rate(tried)
        left = (total - tried) / rate if rate else None
        progress.update(Snapshot(tried, total, rate, left, 0, 0, None, tried, now.failed, now.unasked))

    try:
        return score_texts(run.folder, scorer, texts, name, show_progress)
    finally:
        progress.finish(None)


def checked_name(name: str) -> str:
    """A name for scores, which is that of their folder."""
    if not _NAME.fullmatch(name) or name in _TAKEN:
        raise SettingError(
            f"Scores cannot be called {name[:80]!r}: give them a --name of letters, digits, '.', '_' and '-', and "
            f"not {' or '.join(_TAKEN)}."
        )
    return name


def _prompts(study: Study, scored: Scored, prompts: Sequence[str]) -> list[str]:
    """Prompts, checked: the replies to them are read."""
    firsts = [int(start) + at for start, block in zip(study.design.offsets, study.design.blocks, strict=False)
              for at in range(block.prompts)]  # fmt: skip
    names = study.design.trials(firsts).filter(scored.read)[PROMPT].cast(pl.String).unique(maintain_order=True)
    for prompt in prompts:
        if prompt not in names:
            raise UnknownNameError("prompt with open replies", prompt, names)
    return list(prompts)
