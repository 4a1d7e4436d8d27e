"""Functions of the Python API for what no rule reads in replies: annotate, judge."""

from collections.abc import Callable, Sequence
from contextlib import closing, nullcontext
from os import PathLike

from facevalue.annotations.model_scorers import load_scorer
from facevalue.annotations.scorers import LEXICAL
from facevalue.api.calls import own_model, progress_of, writable_run
from facevalue.api.run import Run
from facevalue.arguments import check_arguments, checked_path
from facevalue.errors import ModelError
from facevalue.models.base import Model, ModelOptions
from facevalue.models.registry import load
from facevalue.runs.annotation import annotate_with
from facevalue.runs.judging import judge as judge_run
from facevalue.runs.progress import Progress
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
        "lexical", "hf-text/FOLDER", "openai-moderation" or "judge/MODEL"; see docs/how-to/scorers.md.
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
