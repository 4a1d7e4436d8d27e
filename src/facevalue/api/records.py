"""Functions of the Python API for answers that others ask for: write_requests, import_records."""

from collections.abc import Sequence
from os import PathLike

from facevalue.api.calls import progress_of
from facevalue.api.run import Run
from facevalue.api.study import Study
from facevalue.api.study import study as study_of
from facevalue.arguments import check_arguments, checked_path
from facevalue.prompts.variants import Variant
from facevalue.protocol.protocol import Protocol
from facevalue.records.opening import open_records
from facevalue.runs import request_files
from facevalue.runs.begin import begin
from facevalue.runs.imported_runs import by_run, prepare_import
from facevalue.runs.preparation import prepare
from facevalue.runs.progress import Progress
from facevalue.runs.request_files import Requested
from facevalue.runs.settings import RunSettings
from facevalue.runs.stored_run import StoredRun


@check_arguments
def write_requests(
    study: str | PathLike[str] | Protocol | Study,
    model: str,
    folder: str | PathLike[str],
    *,
    form: str,
    sample: int | None = None,
    seed: int = 0,
    exact: bool = False,
    interventions: Sequence[str | Variant] = (),
    name: str | None = None,
    max_tokens: int | None = None,
) -> Requested:
    """Begin the folder of a run, and write what it asks as files for a batch.

    The same call writes what has no answer yet. `import_records` brings the answers in.

    Parameters
    ----------
    study, sample, seed, exact, interventions, name:
        As of `run`.
    model:
        Who will be asked, by the name it has there.
    folder:
        The run's.
    form:
        "openai" or "anthropic": a batch of that kind.
    max_tokens:
        Longest reply in tokens, thinking included; the study's own limit by default.

    Raises
    ------
    SettingError, RunError
        The form takes no such requests, or the folder was begun otherwise.

    Examples
    --------
    >>> import facevalue as fv
    >>> study = fv.study("stylisticbias", faces="1M,1F", attributes="eyewear", scenario="wealthy")
    >>> written = fv.write_requests(study, "gpt-4o", "runs/batch", form="openai")
    >>> written.requests, [path.name for path in written.files]
    (72, ['openai-001.jsonl'])
    """
    chosen = study if isinstance(study, Study) else study_of(study)
    settings = RunSettings(sample=sample, seed=seed, exact=exact, name=name)
    prepared = prepare(chosen.compiled, model, checked_path(folder), settings, interventions)
    return request_files.write_requests(
        prepared.study, model, form, checked_path(folder), prepared.settings, max_tokens
    )


@check_arguments
def import_records(
    *records: str | PathLike[str],
    folder: str | PathLike[str],
    name: str | None = None,
    refusal_words: Sequence[str] = (),
    outside: bool = False,
    allow_mismatch: bool = False,
    progress: bool | Progress = True,
) -> list[Run]:
    """Make runs of answers that another tool asked for, or fill one that `write_requests` began.

    Parameters
    ----------
    records:
        Logs of Inspect or folders of them, and results of batches.
    folder:
        The run's; of several models or studies, the folder that theirs go below.
    name:
        What the run is called beside others.
    refusal_words:
        Your own words for a refusal: a reply or an error that holds one is a refusal.
    outside:
        Whether a log may name files and folders of this machine, such as one's own pictures.
    allow_mismatch:
        Whether answers are taken that were asked of another model or with other seeds than the run's.
    progress:
        As of `run`.

    Returns
    -------
    A run for each model and study. What has no answer counts as missing; the same call with fuller records fills it in.

    Raises
    ------
    DataError, SettingError, RunError
        A record cannot be read, or is of something else than the folder.
    KeyboardInterrupt
        It was interrupted. What was read is stored, and the same call resumes.

    Examples
    --------
    >>> import facevalue as fv
    >>> fv.import_records("logs", folder="runs/imported", progress=False)
    Traceback (most recent call last):
    facevalue.errors.DataError: There is no file logs (recorded answers).
    """
    display = progress_of(progress)
    opened_records, notes = open_records([checked_path(record) for record in records])
    runs = []
    for place, group in by_run(opened_records, checked_path(folder), name).items():
        prepared, model = prepare_import(
            group, place, name, tuple(refusal_words), outside=outside, mismatched=allow_mismatch
        )
        summary = begin(prepared, model, display)
        if summary.interrupted:
            raise KeyboardInterrupt(f"{place} holds what was read: the same call resumes.")
        notes += model.warnings(resumed=summary.skipped > 0)
        runs.append(Run(StoredRun.open(place), summary))
    for note in notes:
        display.note(note)
    return runs
