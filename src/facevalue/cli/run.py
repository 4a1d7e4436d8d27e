"""`facevalue run`: ask a model, and go on where an earlier run stopped."""

import re
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import click
from rich.console import Console

from facevalue.cli.plan import EXACT, PRICES, SAMPLE, SEED, WITH
from facevalue.cli.study_command import StudyGroup
from facevalue.models import Model, load
from facevalue.models.registry import ModelOptions
from facevalue.prompts.interventions import chosen
from facevalue.protocol.protocol import Protocol
from facevalue.protocol.study import Study
from facevalue.run import RichProgress, RunSettings, RunSummary
from facevalue.run import run as start
from facevalue.run.checks import check_options, check_shown
from facevalue.run.stored import StoredRun, answers
from facevalue.run.trials import TrialNumbers
from facevalue.store.lock import RunLock
from facevalue.studies.intervention_trials import intervened
from facevalue.terminal import terminal
from facevalue.types import OptionValue

INTERRUPTED = 130
_LARGE = 100_000  # requests: a whole study on a remote model can cost more than its user means to spend


def _run(
    protocol: Protocol,
    options: dict[str, OptionValue],
    model: str,
    out: Path | None,
    sample: int | None,
    seed: int,
    exact: bool,
    price_in: float | None,
    price_out: float | None,
    preregister: Path | None,
    interventions: tuple[str, ...],
    **reach: Any,
) -> int:
    done = chosen(interventions)
    study = intervened(protocol.study(options), done)
    declared = None
    if preregister is not None:
        from facevalue.measures.preregistration import read_preregistration  # noqa: PLC0415 - slow to import

        declared = read_preregistration(preregister, [m.name for m in study.measures], study.labels, study.renamed)
    folder = out or default_folder(protocol.name, model, [one.name for one in done])
    settings = RunSettings(
        sample=sample, seed=seed, exact=exact, preregistration=declared, price_in=price_in, price_out=price_out
    )
    _check_early(study, folder, settings)
    asked = load(model, ModelOptions(**reach))
    try:
        return execute(study, asked, folder, settings)
    finally:
        asked.close()


def _check_early(study: Study, folder: Path, settings: RunSettings) -> None:
    """Raise now what `start` would say only after a model has been loaded, which can take minutes."""
    check_shown(study)
    numbers = TrialNumbers(study.design.size)
    if settings.sample is not None:
        numbers = TrialNumbers.of(study.sample(settings.sample, settings.seed, 1 if settings.exact else study.repeats))
    if settings.exact:
        check_options(study, numbers)
    if folder.exists():
        with RunLock(folder):
            pass


def execute(study: Study, model: Model, folder: Path, settings: RunSettings) -> int:
    """Run, and say in a few lines how it went.

    Returns
    -------
    Exit status: 0 when everything was asked, 1 when nothing valid came back or requests failed, 130 when interrupted.
    """
    console = terminal(stderr=True)
    requests = study.design.size * (1 if settings.exact else study.repeats)
    if settings.sample is None and requests > _LARGE and not model.name.startswith("sim/"):
        console.print(
            f"{requests:,} requests. A pilot is cheaper: --sample 20000. Ctrl-C is safe; the same command resumes.",
            style="yellow",
        )
    summary = start(study, model, folder, settings, RichProgress(console))
    if summary.interrupted:
        console.print("The same command resumes.")
        return INTERRUPTED
    if summary.requests and not _valid(folder, summary):
        _say(console, "No reply had a valid answer: nothing is measurable. Look at the replies:", "yellow")
        _say(console, f"  facevalue export {folder} --to replies.csv", "yellow")
        return 1
    if summary.errors:
        _say(console, "The same command asks again what failed.", "yellow")
        return 1
    _say(console, f"Report: facevalue report {folder}")
    return 0


def _valid(folder: Path, summary: RunSummary) -> bool:
    """Whether any reply of the run, this session's or an earlier one's, has a valid answer."""
    if summary.asked - summary.errors - summary.na > 0:
        return True
    if not summary.skipped:
        return False
    return any(chunk["na"].is_null().any() for chunk in answers(StoredRun.open(folder)))


def _say(console: Console, line: str, style: str = "") -> None:
    console.print(line, style=style, markup=False, highlight=False, soft_wrap=True)


def default_folder(study: str, model: str, interventions: Sequence[str] = ()) -> Path:
    """Where a run goes unless the user says: runs/STUDY-MODEL, with +INTERVENTION for each one.

    Examples
    --------
    >>> default_folder("stylisticbias", "http://127.0.0.1:8000/v1#Qwen/Qwen3-VL").as_posix()
    'runs/stylisticbias-Qwen-Qwen3-VL'
    >>> default_folder("stylisticbias", "sim/default", ["cipher"]).as_posix()
    'runs/stylisticbias-sim-default+cipher'
    """
    name = model.rpartition("#")[2] if "#" in model else model
    done = "".join(f"+{one}" for one in interventions)[:80]
    return Path("runs") / f"{study}-{re.sub(r'[^A-Za-z0-9._-]+', '-', name).strip('-.')[:80]}{done}"


run = StudyGroup(
    "run",
    _run,
    (
        click.Option(["--model"], required=True, metavar="MODEL",
                     help="Who is asked: http://HOST/v1#NAME, openai/NAME, hf/PATH_OR_ID, replay/PATH, reference, "
                     "reference/VARIANT or sim/default."),
        click.Option(["--out"], type=click.Path(path_type=Path, file_okay=False),
                     help="The run's folder; runs/STUDY-MODEL by default. An existing one is resumed."),
        SAMPLE,
        SEED,
        EXACT,
        WITH,
        click.Option(["--preregister"], type=click.Path(path_type=Path, dir_okay=False),
                     help="A TOML file that declares families of tests and margins before the run."),
        *PRICES,
        click.Option(["--concurrency"], type=click.IntRange(1, 1024), default=16, show_default=True,
                     help="Most requests in flight at once."),
        click.Option(["--timeout"], type=click.FloatRange(0, min_open=True), default=120.0, show_default=True,
                     help="Seconds until a request counts as hung."),
        click.Option(["--retries"], type=click.IntRange(0, 50), default=5, show_default=True,
                     help="How often a failed request is sent again."),
        click.Option(["--rpm"], type=click.FloatRange(0, min_open=True), help="At most this many requests a minute."),
        click.Option(["--tpm"], type=click.FloatRange(0, min_open=True), help="At most this many tokens a minute."),
        click.Option(["--dtype"], type=click.Choice(["float32", "bfloat16", "float16"]),
                     help="hf/: number format; the checkpoint's own on a GPU, float32 on a CPU by default."),
        click.Option(["--device"],
                     help="hf/: cpu, cuda, cuda:1; auto spreads a model over all GPUs, cuda:0,cuda:1 has one on each."),
        click.Option(["--threads"], type=click.IntRange(1), help="hf/: CPU threads."),
        click.Option(["--compile"], is_flag=True, help="hf/: compile the model first; for long runs."),
    ),
    help="Ask a model. The same command resumes.",
)  # fmt: skip
