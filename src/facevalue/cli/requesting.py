"""Writing the requests of a run for somebody else to ask."""

from dataclasses import dataclass
from pathlib import Path
from typing import ClassVar

from facevalue.cli.exits import Exit
from facevalue.cli.output import Document, Output
from facevalue.protocol.protocol import Protocol
from facevalue.records.batches import FORMS
from facevalue.runs.preparation import prepare
from facevalue.runs.request_files import write_requests
from facevalue.runs.settings import RunSettings
from facevalue.shell_commands import shell_command
from facevalue.types import OptionValue


@dataclass(frozen=True)
class RequestsDocument(Document):
    """Requests that were written for somebody else to ask."""

    FORMAT: ClassVar[str] = "requests"
    run: str
    """Folder of the run that waits for the answers."""
    study: str
    model: str
    requests: int
    """Requests written."""
    answered: int
    """Requests that have an answer already."""
    files: tuple[str, ...]
    """In which they are."""


def requests(
    protocol: Protocol,
    options: dict[str, OptionValue],
    model: str,
    out: Path,
    form: str,
    sample: int | None,
    seed: int,
    exact: bool,
    interventions: tuple[str, ...],
    name: str | None,
    max_tokens: int | None = None,  # a study may have a setting of this name
) -> Output[RequestsDocument]:
    """Begin the folder and write the files."""
    settings = RunSettings(sample=sample, seed=seed, exact=exact, name=name)
    prepared = prepare(protocol.study(options), model, out, settings, interventions)
    written = write_requests(prepared.study, model, form, out, prepared.settings, max_tokens)
    if written.files:
        place = f"{len(written.files):,} files" if len(written.files) > 1 else "one file"
        text = [f"{written.requests:,} requests in the form of {FORMS[form].tool}, in {place}:"]
        text += [f"  {path}" for path in written.files]
        text += [f"Answers: {shell_command('import', 'ANSWERS', '--out', out)}"]
    else:
        text = [f"Nothing is left to ask: {written.answered:,} requests have an answer."]
    document = RequestsDocument(
        str(out), prepared.study.name, model, written.requests, written.answered, tuple(map(str, written.files))
    )
    return Output(document, text, Exit.DONE)
