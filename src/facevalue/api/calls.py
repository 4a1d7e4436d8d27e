"""Functions of the Python API that make runs: model, run, open_run, write_requests, import_records."""

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import replace
from inspect import signature
from os import PathLike, fspath
from pathlib import Path
from typing import Any

from facevalue.api.run import Run
from facevalue.api.study import Study, rehearse, study
from facevalue.api.study import study as study_of
from facevalue.arguments import check_arguments, checked_path
from facevalue.errors import DataError, ModelError, RunError, UnknownNameError
from facevalue.models.base import EFFORTS, Model, ModelOptions, argument_texts, checked_model
from facevalue.models.function import FunctionModel
from facevalue.models.registry import load
from facevalue.places import is_url
from facevalue.prompts.variants import Variant
from facevalue.protocol.protocol import Protocol
from facevalue.records.opening import open_records
from facevalue.runs import outside_runs
from facevalue.runs.audits.folder import describe_unasked, runs_of
from facevalue.runs.outside_runs import Requested, by_run, prepare_import
from facevalue.runs.preparation import prepare
from facevalue.runs.progress import Progress, SilentProgress, check_progress
from facevalue.runs.rich_progress import progress as for_people
from facevalue.runs.runner import begin
from facevalue.runs.settings import RunSettings, StopRule
from facevalue.runs.storage.mirror import own_folder
from facevalue.runs.stored_run import StoredRun
from facevalue.types import Question


@check_arguments
def model(
    spec: str | Callable[[Question], str],
    *,
    concurrency: int = 16,
    timeout: float = 120.0,
    retries: int = 5,
    rpm: float | None = None,
    tpm: float | None = None,
    dtype: str | None = None,
    device: str | None = None,
    threads: int | None = None,
    compile: bool = False,
    max_tokens: int | None = None,
    reasoning_effort: str | None = None,
    reasoning_tokens: int | None = None,
    batch: int | None = None,
    model_args: Mapping[str, Any] | None = None,
    refusal_words: Sequence[str] = (),
) -> Model:
    """Load a model, or reach one.

    Parameters
    ----------
    spec:
        http://HOST/v1#NAME, openai/NAME, inspect/PROVIDER/NAME, hf/PATH_OR_ID, vllm/NAME, replay/PATH, reference,
        reference/VARIANT or sim/default, or the name of a registered one. Or a function from `Question` to text, which
        sees no picture.
    concurrency, timeout, retries, rpm, tpm:
        How to reach a server: requests at once, seconds until one counts as hung, how often it is sent again, and
        budgets of requests and tokens a minute.
    dtype, device, threads, compile:
        How to load a model on this machine (hf/).
    max_tokens:
        Longest reply of a server's model, what it thinks not counted; the study's own limit by default.
    reasoning_effort, reasoning_tokens:
        How much such a model is to think before it replies ("none", "minimal", "low", "medium", "high", "xhigh"), and
        how many tokens it may spend on that.
    batch:
        Requests that are sent together as a batch, which is answered later for less (inspect/PROVIDER/NAME).
    model_args:
        Arguments of such a provider, by its names for them; no keys.
    refusal_words:
        Your own words for a refusal: a reply or an error of a server that holds one is a refusal.

    Raises
    ------
    UnknownNameError
        No such kind of model.
    ModelError, DependencyError
        It cannot be reached or loaded as asked, or needs a package that is not installed.

    Examples
    --------
    >>> import facevalue as fv
    >>> fv.model("sim/default").capabilities.probabilities
    'full'
    >>> fv.model(lambda question: question.options[0].label).name
    'function/lambda'
    """
    if not isinstance(spec, str):
        return _of_function(spec)
    if reasoning_effort is not None and reasoning_effort not in EFFORTS:
        raise UnknownNameError("reasoning effort", reasoning_effort, EFFORTS)
    reach = ModelOptions(concurrency, timeout, retries, rpm, tpm, dtype, device, threads, compile, batch=batch)
    thinking = replace(reach, reasoning_effort=reasoning_effort, reasoning_tokens=reasoning_tokens)
    arguments = argument_texts(dict(model_args or {}))
    return load(
        spec, replace(thinking, max_tokens=max_tokens, model_args=arguments, refusal_words=tuple(refusal_words))
    )


@check_arguments
def run(
    study: str | PathLike[str] | Protocol | Study,
    model: str | Model | Callable[[Question], str],
    folder: str | PathLike[str] | None = None,
    *,
    sample: int | None = None,
    seed: int = 0,
    exact: bool = False,
    interventions: Sequence[str | Variant] = (),
    preregister: str | PathLike[str] | None = None,
    price_in: float | None = None,
    price_out: float | None = None,
    max_cost: float | None = None,
    max_invalid: float | None = None,
    stop_when: str | None = None,
    sight_check: bool = True,
    name: str | None = None,
    progress: bool | Progress = True,
) -> Run:
    """Ask a model, or go on where an earlier run stopped: the same call with the same folder resumes.

    Parameters
    ----------
    study:
        What is asked.
    model:
        Who answers: what `model` takes or returns, such as a function from `Question` to text, or an object of one's
        own with the methods of `Model`.
    folder:
        Where the run goes, a folder or a URL (s3://BUCKET/PREFIX, gs://, az://, file://); runs/STUDY-MODEL by default.
    sample, seed:
        Requests wanted, and which sample; all by default.
    exact:
        Read the probability of every option once, instead of drawing replies.
    interventions:
        Done to every request a second time, so that the change is estimated: names (no-image, blank-image, cipher, sr,
        debiasing), TOML files, or interventions.
    preregister:
        A TOML file that declares families of tests and margins before the run.
    price_in, price_out:
        Price of a million tokens of prompts and of replies, in any currency.
    max_cost:
        Stop when the run, earlier calls included, has cost this much; needs both prices. `Run.summary.stopped` says so.
    max_invalid:
        Stop if more than this share of the first 200 or more replies have no valid answer. By default if most of them
        cannot be read; 1 goes on whatever they are.
    stop_when:
        Rule by which the run stops once enough is known: "decided" (each comparison that leads is found, or equivalent
        within the declared margin) or "width<0.02" (their intervals are narrower). Its tests and intervals are then
        those that hold however often one looks. `Run.summary.enough` says what was known.
    sight_check:
        Whether the model is first asked about a few pictures made on the spot (12 requests, once), which tell whether
        it sees what it is shown.
    name:
        What the run is called beside others, such as "before"; the model's name by default. No answer hangs on it.
    progress:
        Whether to show how far it is, or where to report it.

    Raises
    ------
    RunError
        The folder belongs to a run with other settings, or cannot be written.
    ModelError, DataError
        The model cannot do what the study needs; a picture is missing or unreadable.
    KeyboardInterrupt
        It was interrupted. What was answered is stored, and the same call resumes.

    Examples
    --------
    >>> import facevalue as fv
    >>> study = fv.study("stylisticbias", faces="1M,1F", attributes="eyewear")
    >>> fv.run(study, "sim/default", "runs/mine", exact=True, progress=False)
    Run('runs/mine', study='stylisticbias', model='sim/default', answered=600, requests=600)
    """
    chosen = study if isinstance(study, Study) else _study(study)
    ready = None if isinstance(model, str) else own_model(model)
    spec = model if isinstance(model, str) else checked_model(ready).name
    settings = RunSettings(
        sample=sample,
        seed=seed,
        exact=exact,
        price_in=price_in,
        price_out=price_out,
        max_cost=max_cost,
        max_invalid=max_invalid,
        sight=sight_check,
        name=name,
        stop_when=None if stop_when is None else StopRule.from_text(stop_when),
    )
    out = None if folder is None else place_of(folder)
    declared = None if preregister is None else checked_path(preregister)
    prepared = prepare(chosen.compiled, spec, out, settings, interventions, declared)
    rehearse(chosen.protocol, prepared.study, exact=exact, declared=prepared.settings.preregistration)
    display = progress_of(progress)
    answering = load(spec) if ready is None else ready
    try:
        if warning := prepared.warning(answering.name):
            display.note(warning)
        if cost := prepared.cost():
            display.note(cost)
        summary = begin(prepared, answering, display)
    finally:
        if ready is None:
            answering.close()
    if summary.interrupted:
        raise KeyboardInterrupt(f"{prepared.folder} holds what was answered: the same call resumes.")
    pictures = own_folder(chosen.compiled.options)  # its user has just named it
    return Run(StoredRun.open(prepared.folder, pictures=pictures, protocol=chosen.protocol), summary)


@check_arguments
def open_run(
    folder: str | PathLike[str],
    *,
    pictures: str | PathLike[str] | None = None,
    protocol: Protocol | None = None,
    name: str | None = None,
) -> Run:
    """Open a run folder, or a run in object storage.

    Parameters
    ----------
    folder:
        Where it is. What is new under a URL is brought into the cache first.
    pictures:
        The folder with the user's own pictures. A run folder may come from a stranger: the one it names is not read.
    protocol:
        What it is a run of, if that is neither published nor registered.
    name:
        What to call it beside others; its own name or its model's by default.

    Raises
    ------
    RunError
        It is none, is damaged, or was made by another version of the study.

    Examples
    --------
    >>> import facevalue as fv
    >>> fv.open_run("runs/first").complete
    True
    """
    picture_folder = None if pictures is None else checked_path(pictures)
    if picture_folder is not None and not picture_folder.is_dir():
        raise DataError(f"There is no folder {picture_folder} with pictures.")
    stored = StoredRun.open(place_of(folder), pictures=picture_folder, protocol=protocol)
    return Run(stored if name is None else stored.rename(name))


def writable_run(run: Run | str | PathLike[str]) -> Run:
    """A run whose folder can be written to.

    Raises
    ------
    RunError
        It lies in object storage.
    """
    opened = run if isinstance(run, Run) else open_run(run)
    if url := opened.stored.url:
        raise RunError(
            f"{url}: runs in object storage are annotated, judged and reviewed where they were made, or once fetched."
        )
    return opened


def place_of(folder: str | PathLike[str]) -> Path | str:
    """A folder or URL as it was named."""
    name = fspath(folder)
    return name if is_url(name) else checked_path(name)


def stored_runs(
    places: Iterable[Run | str | PathLike[str]], below: Callable[[Path | str], Iterable[str]] = runs_of
) -> Iterator[StoredRun]:
    """Runs, and those in folders; `below`: names the runs in a folder, by default those of an audit."""
    for place in places:
        if isinstance(place, Run):
            yield place.stored
        else:
            yield from (StoredRun.open(place_of(run)) for run in below(place_of(place)))


def unasked_of(places: Iterable[Run | str | PathLike[str]]) -> tuple[str, ...]:
    """Studies that each audit among some places has not begun, a sentence each."""
    return describe_unasked(place_of(place) for place in places if not isinstance(place, Run))


def progress_of(progress: bool | Progress) -> Progress:
    """Receiver of progress: people, nobody, or an object of the caller's own."""
    if not isinstance(progress, bool):
        check_progress(progress)
        return progress
    return for_people() if progress else SilentProgress()


def _study(protocol: str | PathLike[str] | Protocol) -> Study:
    return study(protocol)


def own_model(model: Model | Callable[[Question], str]) -> Model:
    """A model of one's own: an object as it is, or a function."""
    return _of_function(model) if callable(model) and not hasattr(model, "respond") else checked_model(model)


def _of_function(function: Callable[[Question], str]) -> FunctionModel:
    if isinstance(function, type):
        raise ModelError(f"{function.__name__} is a class: pass an instance, {function.__name__}(...).")
    with suppress(ValueError):  # some functions written in C do not say what they take
        try:
            signature(function).bind(None)
        except TypeError as error:
            raise ModelError(f"A function as a model is called with one question, and this one: {error}.") from None
    return FunctionModel(function)


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
    return outside_runs.write_requests(prepared.study, model, form, checked_path(folder), prepared.settings, max_tokens)


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
