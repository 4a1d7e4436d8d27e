"""Running a study from the command line, and resuming it."""

from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

from rich.console import Console

from facevalue.api.rehearsed import rehearse
from facevalue.cli.log_file import logged
from facevalue.errors import SettingError
from facevalue.models import Model, load
from facevalue.models.base import ModelOptions
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


def run(
    protocol: Protocol,
    options: dict[str, OptionValue],
    model: str,
    out: Path | str | None,
    preregister: Path | None,
    interventions: tuple[str, ...],
    log: Path | None,
    cluster: str | None,
    cluster_config: Path | None,
    **values: Any,
) -> int:
    """Prepare, load, ask, and say how it went: the exit status."""
    settings = RunSettings(**{name: values.pop(name) for name in _OF_RUN})
    with logged(log):
        target = _cluster(cluster, cluster_config, out)
        prepared = prepare(protocol.study(options), model, out, settings, interventions, preregister)
        rehearse(protocol, prepared.study, exact=settings.exact, declared=prepared.settings.preregistration)
        if target is not None:
            from facevalue.cluster.begin import begin_on_cluster  # noqa: PLC0415 - only where it is asked for

            return _ran(prepared, model, partial(begin_on_cluster, prepared, model, ModelOptions(**values), target))
        loaded = load(model, ModelOptions(**values))
        try:
            return execute(prepared, loaded)
        finally:
            loaded.close()


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


def execute(prepared: Prepared, model: Model) -> int:
    """Run in this process, and say in a few lines how it went."""
    return _ran(prepared, model.name, partial(begin, prepared, model))


def _ran(prepared: Prepared, model: str, begin: Callable[[Progress], RunSummary]) -> int:
    console = terminal(stderr=True)
    if warning := prepared.warning(model):
        _say(console, warning, "yellow")
    if cost := prepared.cost():
        _say(console, cost)
    folder = prepared.folder
    summary = begin(RichProgress(console))
    if summary.interrupted:
        console.print("The same command resumes.")
        return INTERRUPTED
    if summary.stopped:
        _say(console, "Resume with the same command and another limit.", "yellow")
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
    """Return whether any reply of the run, of this session or an earlier one, has a valid answer."""
    if summary.asked - summary.errors - summary.na > 0:
        return True
    if not summary.skipped:
        return False
    return any(chunk["na"].is_null().any() for chunk in answers(StoredRun.open(folder), failed=True))


def _say(console: Console, line: str, style: str = "") -> None:
    console.print(line, style=style, markup=False, highlight=False, soft_wrap=True)
