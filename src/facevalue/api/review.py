"""Functions of the Python API for people who review a run: write packets, read what they say."""

from collections.abc import Sequence
from os import PathLike
from pathlib import Path

from facevalue.api.calls import writable_run
from facevalue.api.run import Run
from facevalue.arguments import check_arguments, checked_path
from facevalue.measures.rater_agreement import THRESHOLD
from facevalue.runs.review import RATERS, CollectedReview, ReviewSettings, collect, packet_for, write_review


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
    from facevalue.report.found_statements import found_statements  # noqa: PLC0415 - templates take their time

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
