"""Functions of the Python API for what no rule reads in replies: annotate, judge, and reviews by people."""

from collections.abc import Callable, Sequence
from contextlib import closing, nullcontext
from os import PathLike
from pathlib import Path

from facevalue.annotations.model_scorers import load_scorer
from facevalue.annotations.scorers import LEXICAL
from facevalue.api.calls import own_model, progress_of, writable_run
from facevalue.api.run import Run
from facevalue.arguments import check_arguments, checked_path
from facevalue.errors import ModelError
from facevalue.measures.rater_agreement import THRESHOLD
from facevalue.models.base import Model, ModelOptions
from facevalue.models.registry import load
from facevalue.runs.judging import annotate_with
from facevalue.runs.judging import judge as judge_run
from facevalue.runs.progress import Progress
from facevalue.runs.reviews.packets import RATERS, CollectedReview, ReviewSettings, collect, packet_for, write_review
from facevalue.types import Question


@check_arguments
def annotate(
    run: Run | str | PathLike[str],
    scorer: str = LEXICAL,
    *,
    name: str | None = None,
    prompts: Sequence[str] = (),
    labels: Sequence[str] = (),
    rubric: str | PathLike[str] | None = None,
    concurrency: int = 16,
    progress: bool | Progress = True,
) -> Run:
    """Have a scorer score the open replies of a run, each different text once, and return the run with its scores.

    The scores are kept in the run folder, beside those of other scorers. The same call goes on where it was stopped.

    Parameters
    ----------
    run:
        A run, or its folder.
    scorer:
        "lexical", "lexicon/FILE", "hf-text/FOLDER", "openai-moderation" or "judge/MODEL"; see
        docs/how-to/scorers.md.
    name:
        What the scores are called; the scorer's own name by default.
    prompts:
        Replies to these prompts alone; all by default.
    labels:
        Which of its labels the scorer scores; its usual ones by default.
    rubric:
        A text file that tells "judge/MODEL" what to rate by a number.
    concurrency:
        Most requests at once, where the scorer is behind a server.
    progress:
        Whether to show how far it is, or where to report it.

    Raises
    ------
    DataError
        The replies of the run are none that a scorer reads.
    UnknownNameError, SettingError, DependencyError
        There is no such scorer, or it cannot be loaded as asked.
    ModelError
        Some texts have no score yet; those that have are kept, and the same call goes on.

    Examples
    --------
    >>> import facevalue as fv
    >>> study = fv.study("counterfactuals", sets=2, prompt="keywords")
    >>> run = fv.run(study, "sim/default", "runs/described", progress=False)
    >>> fv.annotate(run, progress=False).estimates()["scorer"].drop_nulls().unique().to_list()
    ['lexical']
    """
    path = None if rubric is None else checked_path(rubric)
    display = progress_of(progress)
    opened = writable_run(run)
    options = ModelOptions(concurrency=concurrency)
    scored = annotate_with(
        opened.stored, lambda: load_scorer(scorer, tuple(labels), path, options), display, name or "", tuple(prompts)
    )
    if scored.outcome.unasked:
        raise ModelError(f"{scored.outcome.unasked:,} texts were not scored ({scored.outcome.why}): call again.")
    return _reopen(opened)


@check_arguments
def judge(run: Run | str | PathLike[str], model: str | Model | Callable[[Question], str]) -> Run:
    """Have a model sort what no rule sorts in the replies of a run, and return the run with its judgments.

    Each different text is sorted once, into the categories of the study; with them, some of the texts are sorted again
    with their words for groups swapped, to see how far these words alone move the judge. The judgments are kept in the
    run folder, and the same call asks again only what has no answer.

    Parameters
    ----------
    run:
        A run, or its folder.
    model:
        Who judges, as `fv.run` takes it.

    Raises
    ------
    DataError
        The replies of the run are none that a judge sorts, or another judge has judged them.
    ModelError
        It cannot be reached, or some texts have no judgment yet; those that have are kept, and the same call goes on.

    Examples
    --------
    >>> import facevalue as fv
    >>> study = fv.study("visbias", task="form", forms=2)
    >>> run = fv.run(study, "sim/default", "runs/forms", progress=False)
    >>> fv.judge(run, "sim/default").complete
    True
    """
    opened = writable_run(run)
    outcome = judge_run(
        opened.stored, lambda: closing(load(model)) if isinstance(model, str) else nullcontext(own_model(model))
    )
    if outcome.unanswered_count:
        reason = f" ({outcome.reason})" if outcome.reason else ""
        raise ModelError(f"{outcome.unanswered_count:,} requests have no answer{reason}: call again.")
    return _reopen(opened)


def _reopen(run: Run) -> Run:
    """The run with what its folder holds now."""
    return Run(run.stored.reopen(), run.summary)


@check_arguments
def review(
    run: Run | str | PathLike[str],
    task: str,
    out: str | PathLike[str],
    *,
    sample: int | None = None,
    raters: int = RATERS,
    seed: int = 0,
    sorting: str | None = None,
    score: str | None = None,
    naming: str = "",
    least_kl: float | None = None,
    instructions: str | PathLike[str] | None = None,
) -> tuple[Path, ...]:
    """Write packets for people who review a run, each alone: a sample of its replies, pictures or findings.

    Parameters
    ----------
    run:
        A run, or its folder; of pictures also a folder that `make` filled.
    task:
        "parse" (what a reply means), "picture" (what it shows), "finding" (whether an association is a stereotype).
    out:
        Folder of the packets, outside of the run: the key of what raters must not know lies there.
    sample:
        Replies (200), pictures (100) or statements at most.
    raters:
        How many people; each has an order of their own.
    seed:
        Draws the same sample again.
    sorting, score, naming:
        Of "parse": texts that a judge sorts, by name; replies with this score, "SCORER/LABEL"; of these only those with
        this word of their group.
    least_kl:
        Of "finding", for forms: the least divergence that is asked about, in nats.
    instructions:
        A text file in place of the task's instructions.

    Returns
    -------
    The pages that were written, one for each rater.

    Raises
    ------
    DataError
        The run holds nothing of the kind.
    SettingError
        Settings do not go together, such as `least_kl` with replies.
    UnknownNameError
        There is no such task, sorting or score.

    Examples
    --------
    >>> import facevalue as fv
    >>> study = fv.study("stylisticbias", faces="1M,1F", attributes="eyewear")
    >>> run = fv.run(study, "sim/default", "runs/asked", sample=60, progress=False)
    >>> [path.name for path in fv.review(run, "parse", "packets", sample=20)]
    ['rater-1.html', 'rater-2.html', 'rater-3.html']
    """
    settings = ReviewSettings(
        task=task, sample=sample, seed=seed, sorting=sorting, score=score, naming=naming, least_kl=least_kl,
        instructions=None if instructions is None else checked_path(instructions),
    )  # fmt: skip
    stored = writable_run(run).stored
    from facevalue.report.collect import found_statements  # noqa: PLC0415 - templates take their time

    packet, key, _ = packet_for(stored, settings, lambda: found_statements([stored]))
    return write_review(stored, packet, key, checked_path(out), raters)


@check_arguments
def collect_review(
    run: Run | str | PathLike[str], files: Sequence[str | PathLike[str]], *, threshold: float = THRESHOLD
) -> CollectedReview:
    """Read what people said of a packet, and keep it in the run.

    Parameters
    ----------
    run:
        The run that the packet was made of, or its folder.
    files:
        What pages saved, all of one packet.
    threshold:
        Score from which a scorer counts as a rater who objects.

    Returns
    -------
    How far people agree (`agreement`), who is left out (`counts`), and by task: precision and recall of the parser or
    judge (`reader`), shares that are as asked for (`pictures`), statements (`rated`, `findings`).

    Raises
    ------
    DataError
        A file is of another packet, was changed, or holds what cannot count; it says where.

    Examples
    --------
    >>> import facevalue as fv
    >>> study = fv.study("stylisticbias", faces="1M,1F", attributes="eyewear")
    >>> run = fv.run(study, "sim/default", "runs/asked", sample=60, progress=False)
    >>> fv.collect_review(run, ["r1.json"])
    Traceback (most recent call last):
    facevalue.errors.DataError: There is no file r1.json (answers).
    """
    return collect(writable_run(run).stored, [checked_path(path) for path in files], threshold)
