"""Judging and scoring of a run's replies by a model or a scorer."""

import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import polars as pl

from facevalue.annotations.group_lists import GroupWords
from facevalue.annotations.scorers import Scorer
from facevalue.annotations.scores import read
from facevalue.annotations.scoring import ScoringOutcome, score_texts
from facevalue.answers.sorting import TEXT_SLOT, Judge, Sorting
from facevalue.errors import DataError, SettingError, UnknownNameError
from facevalue.measures.definitions import key_of
from facevalue.measures.estimates import EstimateTable
from facevalue.measures.judges import (
    BY_JUDGE,
    BY_PEOPLE,
    JUDGE_SWAPPED,
    JUDGE_WITHOUT,
    JUDGED_BY,
    judge_agreement,
    judge_measures,
    majority_category,
    metric_of,
    moved_share,
)
from facevalue.models.base import Model
from facevalue.protocol.offers import JudgedWords
from facevalue.protocol.study import Scored, Study
from facevalue.runs.judgments import (
    AGAIN,
    Doubt,
    Doubts,
    JudgingOutcome,
    Judgments,
    WordsOutcome,
    ask,
    ask_words,
    judged_by,
    read_judgments,
)
from facevalue.runs.kept_estimates import take_estimates
from facevalue.runs.progress import Meter, Progress, Snapshot
from facevalue.runs.reviews.replies import read_people, sample_texts, table_of, texts_of
from facevalue.runs.stored_run import StoredRun, answers, rebuilt
from facevalue.studies.offers import lacking

# Estimates of a run's judge: its agreement with people, what people alone say, and its bias by group words.


AUDITED = 100
"""Texts of each sorting that are judged again, with their group words swapped and without them."""
Codes = Mapping[tuple[str, str], float]
_SEED = 0
_MOST = 40  # levels of a factor whose words are looked for
_TESTS = ("p", "q", "p_paper", "q_paper", "p_least", "family")


def group_words(study: Study) -> GroupWords:
    """Words for the groups of a study: wordings of the levels of its pictures' factors."""
    levels = {
        name: [study.about.titles.get(name, {}).get(x, x) for x in study.manifest[name].drop_nulls().unique()]
        for name in study.estimates.labels if name in study.manifest.columns
    }  # fmt: skip
    return GroupWords({name: sorted(listed) for name, listed in levels.items() if len(listed) <= _MOST})


def audit_judge(folder: Path, study: Study, doubts: Doubts, model: Model) -> JudgingOutcome:
    """Have the judge sort some of its texts again, with their group words swapped, and without them."""
    words, asked_again = group_words(study), []
    for sorting in study.reading.sortings:
        swaps = {doubt.text: words.swap_words(doubt.text) for doubt in doubts.texts if doubt.sorting == sorting}
        for text in sample_texts((text for text, swap in swaps.items() if swap is not None), AUDITED):
            changed = (change(text) for change in _changes(sorting, words).values())
            asked_again += [Doubt(sorting, text, again=True)]
            asked_again += [Doubt(sorting, other_text) for other_text in changed if other_text]
    return ask(folder, list(dict.fromkeys(asked_again)), model)


def _changes(sorting: Sorting, words: GroupWords) -> dict[str, Callable[[str], str | None]]:
    """Changes of group words, by measure; none leaves them out where they may tell columns beside a text apart."""
    changes: dict[str, Callable[[str], str | None]] = {JUDGE_SWAPPED: words.swap_words}
    return changes if sorting.template != TEXT_SLOT else {**changes, JUDGE_WITHOUT: words.mask_words}


def judge_rows(run: StoredRun, model: str) -> Iterator[pl.DataFrame]:
    """Estimates of the judge of a run, and of the texts that people sorted; none where nobody judged."""
    judgments = read_judgments(run.folder) if run.study.reading.sortings else None
    if judgments is None:
        return
    table = EstimateTable(run.study.name, model, run.study.estimates.labels)
    words = group_words(run.study)
    for sorting in run.study.reading.sortings:
        codes = _codes(sorting, judgments)
        _add_moved(table, sorting, codes, words)
        labels = read_people(run.folder, sorting)
        if labels:
            texts = list(dict.fromkeys(text for of_rater in labels.values() for text in of_rater))
            people = table_of(labels, texts)
            _add_agreement(table, sorting, codes, texts, people)
            majority = dict(zip(texts, majority_category(people).tolist(), strict=True))
            yield from _by_people(run, model, sorting, judgments.judge, majority)
    yield table.frame()


def _codes(sorting: Sorting, judgments: Judgments) -> Codes:
    """Place of the category of each text of a sorting, -1 for none, by what was asked and the text."""
    places = {category: float(at) for at, category in enumerate(sorting.categories)}
    names = (sorting.name, f"{sorting.name}{AGAIN}")
    return {
        key: places.get(judgment.category or "", -1.0)
        for key, judgment in judgments.judgments.items() if key[0] in names
    }  # fmt: skip


def _add_moved(table: EstimateTable, sorting: Sorting, codes: Codes, words: GroupWords) -> None:
    definitions = judge_measures(sorting.name, sorting.categories)
    texts = [text for name, text in codes if name == f"{sorting.name}{AGAIN}"]
    if not texts:
        return

    def codes_of(name: str, changed: list[str | None]) -> np.ndarray:
        return np.array([codes.get((name, text or ""), np.nan) for text in changed])

    before, again = (codes_of(name, list(texts)) for name in (sorting.name, f"{sorting.name}{AGAIN}"))
    for kind, change in _changes(sorting, words).items():
        after = codes_of(sorting.name, [change(text) for text in texts])
        estimates, floor = moved_share(before, after, again)
        table.add(definitions[key_of(kind, sorting.name)], {}, replace(estimates, floor=floor))


def _add_agreement(
    table: EstimateTable, sorting: Sorting, codes: Codes, texts: Sequence[str], people: np.ndarray
) -> None:
    judge = np.array([codes.get((sorting.name, text), np.nan) for text in texts])
    judge = np.where(judge < 0, np.nan, judge)
    definitions = judge_measures(sorting.name, sorting.categories)
    checks = judge_agreement(judge, people, metric_of(sorting.categories), _SEED)
    for kind, estimates in checks.items():
        table.add(definitions[key_of(kind, sorting.name)], {}, estimates)


def _by_people(
    run: StoredRun, model: str, sorting: Sorting, judge: Judge, majority: Mapping[str, float]
) -> Iterator[pl.DataFrame]:
    """Estimates of the shares of categories in the texts that people sorted: by people alone, and by the judge.

    `majority`: place of the category that most people give each text; NaN where there is none.
    """
    hook = run.study.reading.judged
    assert hook is not None

    def people(which: Sorting, text: str) -> str | None:
        if text not in majority:
            return None
        place = majority[text] if which.name == sorting.name else np.nan
        return sorting.categories[int(place)] if np.isfinite(place) else ""

    def same_texts(which: Sorting, text: str) -> str | None:
        return (judge(which, text) or "") if text in majority else None

    ends = tuple(f"{sorting.name}_{category}" for category in sorting.categories)
    judges: Mapping[str, Judge] = {BY_PEOPLE: people, BY_JUDGE: same_texts}
    for name, sorted_by in judges.items():
        study = hook(sorted_by)
        is_sorted = pl.col(f"(unjudged_{sorting.name})") < 1  # a text that people sorted, or a list with one of them
        chunks = (chunk.filter(is_sorted) for chunk in answers(replace(run, study=study)))
        estimates = study.analyse({model: (chunk for chunk in chunks if chunk.height)})
        named = pl.concat_str("measure", "score", separator="_", ignore_nulls=True)
        is_share = pl.any_horizontal(named.str.ends_with(end) for end in ends)
        untested: dict[str, Any] = {column: pl.lit(None, estimates.schema[column]) for column in _TESTS}
        yield estimates.filter(is_share).with_columns(pl.lit(name).alias(JUDGED_BY), **untested)


Loading = Callable[[], AbstractContextManager[Model]]
"""Loads a judge where there is anything to judge, and closes it at the end if that is right."""


@dataclass(frozen=True, slots=True)
class JudgedTexts:
    """Outcome of judging the texts of a run.

    Attributes
    ----------
    texts:
        Different texts that no rule settles.
    judge:
        Who was asked; empty if there is nothing to judge.
    requests:
        Requests of this call.
    outcome:
        What the judge said of all these texts.
    audited:
        What it said of some of them again, with their words for groups swapped or taken out; None without that audit.
    """

    texts: int
    judge: str = ""
    requests: int = 0
    outcome: JudgingOutcome | None = None
    audited: JudgingOutcome | None = None

    @property
    def unanswered_count(self) -> int:
        """Requests of this call without an answer; the next call asks them again."""
        if self.outcome is None:
            return 0
        again = self.audited.failed if self.audited else 0
        return again + self.requests - (sum(self.outcome.verdicts.values()) - self.outcome.before)

    @property
    def reason(self) -> str:
        """Reason why one of these has no answer; empty if that is unknown."""
        outcomes = [outcome for outcome in (self.outcome, self.audited) if outcome is not None]
        return next((outcome.reason for outcome in outcomes if outcome.reason), "")


@dataclass(frozen=True, slots=True)
class JudgedLists:
    """Outcome of judging the lists of words of a run.

    Attributes
    ----------
    lists, words:
        Lists, and words in them.
    times:
        Number of times that each list is judged.
    judge, requests, outcome:
        As those of `JudgedTexts`.
    stereotypes, invented:
        Words of the lists that the judge calls stereotypes, and words that it invented, which are not used.
    """

    lists: int
    words: int
    times: int
    judge: str = ""
    requests: int = 0
    outcome: WordsOutcome | None = None
    stereotypes: int = 0
    invented: int = 0

    @property
    def unanswered_count(self) -> int:
        """Requests of this call without an answer; the next call asks them again."""
        return 0 if self.outcome is None else self.lists * self.times - len(self.outcome.replies)

    @property
    def reason(self) -> str:
        """Reason why one of these has no answer; empty if that is unknown."""
        return (self.outcome.why if self.outcome else "") or ""


def judge(run: StoredRun, load: Loading) -> JudgedTexts | JudgedLists:
    """Have a model sort what no rule sorts, and keep what it says in the run folder.

    `run`: an opened run. `load`: loads the judge, if there is anything to judge.

    Raises
    ------
    DataError
        The replies of the run hold nothing that a judge may sort.
    """
    folder = run.folder
    if (offer := run.study.extras.word_lists) is not None:
        return _judged_lists(run, offer, load)
    if run.study.reading.judged is None:
        noun = run.study.extras.judge
        if not noun:
            raise DataError(f"{folder}: {lacking(run.study.name, 'judge', 'replies that a judge may sort')}")
        raise DataError(f"{folder} ({run.study.name}) has no {noun}; a judge sorts what these say, and nothing else.")
    doubts = texts_of(run)
    texts = list(doubts.texts)
    if not texts:
        return JudgedTexts(0)
    audited = None
    with load() as judging:
        outcome = ask(folder, texts, judging)
        if run.study.reading.sortings:
            audited = audit_judge(folder, run.study, doubts, judging)
    return JudgedTexts(len(texts), judging.name, len(texts) - outcome.before, outcome, audited)


def _judged_lists(run: StoredRun, offer: JudgedWords, load: Loading) -> JudgedLists:
    estimates, _ = take_estimates([run])
    lists = offer.lists(estimates.filter(pl.col("intervention").is_null()))
    words, times = sum(len(word_list.words) for word_list in lists), len(offer.seeds)
    if not lists:
        return JudgedLists(0, 0, times)
    with load() as judging:
        outcome = ask_words(run.folder, lists, offer, judging)
    stored = judged_by([run.folder])
    flags = [flagged for word_list in lists if (flagged := stored(word_list)) is not None]
    stereotypes = sum(count > 0 for flagged in flags for count in flagged.times.values())
    invented = sum(len(flagged.invented) for flagged in flags)
    requests = len(lists) * times - outcome.before
    return JudgedLists(len(lists), words, times, judging.name, requests, outcome, stereotypes, invented)


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
            yield from (replies[name].explode() if replies[name].dtype == pl.List else replies[name]
                        for name in scored.texts)  # fmt: skip

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
