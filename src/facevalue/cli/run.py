"""`facevalue run`: running a study, and resuming it."""

from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click
from rich.console import Console

from facevalue.cli.log_file import logged
from facevalue.cli.places import Place
from facevalue.cli.plan import EXACT, PRICES, SAMPLE, SEED, WITH
from facevalue.cli.study_command import StudyGroup
from facevalue.errors import SettingError
from facevalue.models import Model, load
from facevalue.models.base import EFFORTS, ModelOptions
from facevalue.protocol.protocol import Protocol
from facevalue.runs import Progress, RichProgress, RunSettings, RunSummary
from facevalue.runs.begin import begin
from facevalue.runs.failures import failures
from facevalue.runs.prepared import Prepared, prepare
from facevalue.runs.stored import StoredRun, answers
from facevalue.terminal import terminal
from facevalue.types import OptionValue

if TYPE_CHECKING:
    from facevalue.cluster.settings import ClusterSettings

INTERRUPTED = 130
_OF_RUN = ("sample", "seed", "exact", "price_in", "price_out", "max_cost", "max_invalid", "name")


def _run(
    protocol: Protocol,
    options: dict[str, OptionValue],
    model: str,
    out: Path | str | None,
    preregister: Path | None,
    interventions: tuple[str, ...],
    log: Path | None,
    cluster: str | None,
    cluster_config: Path | None,
    **given: Any,
) -> int:
    settings = RunSettings(**{name: given.pop(name) for name in _OF_RUN})
    with logged(log):
        where = _cluster(cluster, cluster_config, out)
        prepared = prepare(protocol.study(options), model, out, settings, interventions, preregister)
        if protocol.build is None:
            from facevalue.report.rehearsal import rehearse  # noqa: PLC0415 - slow to import

            rehearse(protocol, prepared.study, exact=settings.exact, declared=prepared.settings.preregistration)
        if where is not None:
            from facevalue.cluster.begin import begin_on_cluster  # noqa: PLC0415 - only where it is asked for

            return _ran(prepared, model, partial(begin_on_cluster, prepared, model, ModelOptions(**given), where))
        asked = load(model, ModelOptions(**given))
        try:
            return execute(prepared, asked)
        finally:
            asked.close()


def _cluster(address: str | None, config: Path | None, out: Path | str | None) -> "ClusterSettings | None":
    if address is None:
        if config is not None:
            raise SettingError("--cluster-config is about a cluster: say which one with --cluster.")
        return None
    if not isinstance(out, str):
        raise SettingError(
            "--cluster needs a place that every node can write to: --out s3://BUCKET/PREFIX (or gs://, az://), or "
            "file:///FOLDER on a disk that they share."
        )
    from facevalue.cluster.settings import read_settings  # noqa: PLC0415

    return read_settings(address, config)


def execute(run: Prepared, model: Model) -> int:
    """Run in this process, and say in a few lines how it went."""
    return _ran(run, model.name, partial(begin, run, model))


def _ran(run: Prepared, model: str, begin: Callable[[Progress], RunSummary]) -> int:
    console = terminal(stderr=True)
    if warning := run.warning(model):
        _say(console, warning, "yellow")
    if cost := run.cost():
        _say(console, cost)
    folder = run.folder
    summary = begin(RichProgress(console))
    if summary.interrupted:
        console.print("The same command resumes.")
        return INTERRUPTED
    if summary.stopped:
        _say(console, "The same command with another limit goes on.", "yellow")
    if summary.errors:
        _say(console, failures(summary.errors, summary.asked, summary.failure), "yellow")
        if summary.errors == summary.requests:
            return 1
    if summary.requests and not _valid(folder, summary):
        _say(console, "No reply had a valid answer: nothing is measurable. Look at the replies:", "yellow")
        _say(console, f"  facevalue export {folder} --to replies.csv", "yellow")
        return 1
    _say(console, f"Report: facevalue report {folder}")
    return 0 if summary.complete and not summary.errors else 1


def _valid(folder: Path | str, summary: RunSummary) -> bool:
    """Whether any reply of the run, this session's or an earlier one's, has a valid answer."""
    if summary.asked - summary.errors - summary.na > 0:
        return True
    if not summary.skipped:
        return False
    return any(chunk["na"].is_null().any() for chunk in answers(StoredRun.open(folder), failed=True))


def _say(console: Console, line: str, style: str = "") -> None:
    console.print(line, style=style, markup=False, highlight=False, soft_wrap=True)


run = StudyGroup(
    "run",
    _run,
    (
        click.Option(["--model"], required=True, metavar="MODEL",
                     help="Model to ask: http://HOST/v1#NAME, openai/NAME, hf/PATH_OR_ID, replay/PATH, reference, "
                     "reference/VARIANT or sim/default."),
        click.Option(["--out"], type=Place(), metavar="RUN",
                     help="The run's folder, or a URL: s3://BUCKET/PREFIX, gs://, az:// or file://. "
                     "runs/STUDY-MODEL by default. An existing one is resumed."),
        SAMPLE,
        SEED,
        EXACT,
        WITH,
        click.Option(["--preregister"], type=click.Path(path_type=Path, dir_okay=False),
                     help="A TOML file that declares families of tests and margins before the run."),
        click.Option(["--name"], metavar="LABEL",
                     help="What to call the run beside others; the model's name by default."),
        *PRICES,
        click.Option(["--max-cost"], type=click.FloatRange(0, min_open=True),
                     help="Stop when the run has cost this much, earlier sessions included; needs both prices."),
        click.Option(["--max-invalid"], type=click.FloatRange(0, 1), metavar="SHARE",
                     help="Stop if more than this share of the first 200 or more replies have no valid answer."),
        click.Option(["--max-tokens"], type=click.IntRange(1),
                     help="Longest reply in tokens, thinking not counted; the study's own limit by default."),
        click.Option(["--reasoning-effort"], type=click.Choice(EFFORTS),
                     help="How much the model is to think before it replies; none stops models that can stop."),
        click.Option(["--reasoning-tokens"], type=click.IntRange(1),
                     help="Tokens it may spend thinking, besides the reply; 4096 where an effort is given."),
        click.Option(["--concurrency"], type=click.IntRange(1, 1024), default=16, show_default=True,
                     help="Maximum number of requests in flight."),
        click.Option(["--timeout"], type=click.FloatRange(0, min_open=True), default=120.0, show_default=True,
                     help="Seconds until a request times out."),
        click.Option(["--retries"], type=click.IntRange(0, 50), default=5, show_default=True,
                     help="Maximum number of retries of a failed request."),
        click.Option(["--rpm"], type=click.FloatRange(0, min_open=True), help="At most this many requests a minute."),
        click.Option(["--tpm"], type=click.FloatRange(0, min_open=True), help="At most this many tokens a minute."),
        click.Option(["--cluster"], metavar="ADDRESS",
                     help="Have a Ray cluster ask: auto, ray://HOST:PORT, HOST:PORT, or local for one of its own."),
        click.Option(["--cluster-config"], type=click.Path(path_type=Path, dir_okay=False),
                     help="A TOML file: workers = [FEWEST, MOST], gpus and cpus of each, runtime_env and more."),
        click.Option(["--log"], type=click.Path(path_type=Path, dir_okay=False),
                     help="Append to this file what happens and when."),
        click.Option(["--dtype"], type=click.Choice(["float32", "bfloat16", "float16"]),
                     help="hf/: number format; the checkpoint's own on a GPU, float32 on a CPU by default."),
        click.Option(["--device"],
                     help="hf/: cpu, cuda, cuda:1; auto spreads a model over all GPUs, cuda:0,cuda:1 has one each."),
        click.Option(["--threads"], type=click.IntRange(1), help="hf/: CPU threads."),
        click.Option(["--tensor-parallel"], type=click.IntRange(1), metavar="GPUS",
                     help="vllm/: GPUs that share the model."),
        click.Option(["--compile"], is_flag=True, help="hf/: compile the model first; for long runs."),
    ),
    help="Ask a model. The same command resumes.",
)  # fmt: skip
