"""An audit that goes on long enough to be killed, for a process of its own."""

from pathlib import Path

from facevalue.runs.audits.audit import ModelAudit
from facevalue.runs.audits.plan import Rates
from facevalue.runs.audits.settings import AuditSettings
from facevalue.runs.audits.studies import AuditWishes
from facevalue.runs.preparation import Prepared
from facevalue.runs.progress import SilentProgress
from facevalue.runs.runner import begin
from facevalue.runs.settings import RunSummary
from facevalue.types import Request, Response, Status
from tests.runs.tiny import TinyModel


def answer(request: Request) -> Response:
    """A reply that depends on the request and nothing else."""
    text = "Yes" if (request.trial * 7 + request.seed) % 3 else "No"
    return Response(request.trial, request.repeat, Status.OK, text, None, 10, 2, 1.0)


def audited(folder: Path, files: tuple[str, ...], delay: float = 0.0) -> bool:
    """Ask an audit, each study's requests written to a file beside the folder; whether all was asked."""
    settings = AuditSettings.from_wishes("tiny", AuditWishes(files), "700", Rates())

    def ask(prepared: Prepared) -> RunSummary:
        log = folder.with_name(f"{Path(prepared.folder).name}.log")
        return begin(prepared, TinyModel(answer, delay=delay, log=log, ahead=8), SilentProgress())

    return ModelAudit(settings, folder).ask(ask).complete


def main(folder: Path, files: tuple[str, ...]) -> None:
    """Ask slowly."""
    audited(folder, files, delay=0.008)
