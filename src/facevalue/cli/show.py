"""`facevalue show`: a trial as the viewer's page has it, in the terminal."""

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import ClassVar

from rich.console import RenderableType
from rich.text import Text

from facevalue.cli.output import Document, Output
from facevalue.printable import printable
from facevalue.runs.in_place import opened_in_place
from facevalue.runs.stored_run import StoredRun
from facevalue.view.open_runs import RunState
from facevalue.view.trial import ReplyRow, Trial, trial_of


@dataclass(frozen=True)
class ShowDocument(Document):
    """A trial, whole."""

    FORMAT: ClassVar[str] = "show"
    run: str
    """Folder or URL."""
    study: str
    model: str
    trial: Trial
    """As the viewer has it; sources of pictures are names under a viewer's address."""


def show(run: Path | str, number: int, pictures: Path | None) -> Output[ShowDocument]:
    """Show a trial of a run."""
    stored = opened_in_place(run, pictures) if isinstance(run, str) else StoredRun.open(run, pictures=pictures)
    trial = trial_of(RunState(stored, 0), number)
    return Output(ShowDocument(stored.place, stored.study.name, stored.model, trial), _text(stored, trial))


def _text(run: StoredRun, trial: Trial) -> Iterator[RenderableType]:
    yield Text(f"{run.place}: trial {trial.trial:,} of {run.study.name} on {run.model}", style="bold")
    for name, level in trial.factors.items():
        yield _line(name.replace("_", " "), level)
    for picture in trial.pictures:
        size = "" if picture.width is None else f" ({picture.width} x {picture.height})"
        yield _line("picture", f"{picture.caption}{size}")
    if trial.no_picture:
        yield _line("picture", trial.no_picture)
    for turn in trial.turns:
        yield _quote_text(turn.role, turn.text)
    if trial.system:
        yield _quote_text("system", trial.system)
    yield _quote_text("prompt", trial.prompt)
    if trial.options:
        yield _line("options", "; ".join(trial.options))
    for reply in trial.replies:
        yield from _reply(reply)
    for judged in trial.judged:
        yield _line(judged.by, judged.text)
    for check in trial.checks:
        yield _line("check", check)
    for attention_map in trial.attention:
        yield _line("map", attention_map.caption)


def _reply(reply: ReplyRow) -> Iterator[Text]:
    cut = f" … and {reply.cut:,} more characters" if reply.cut else ""
    yield _quote_text(f"reply {reply.repeat}, {reply.status}", f"{reply.reply}{cut}")
    if reply.probs is not None:
        yield _line("  options", ", ".join(f"{of.option}: {of.share:.1%}" for of in reply.probs))
    counted = f"no valid answer: {reply.why}" if reply.answer is None else reply.answer
    yield _line("  counts as", counted)
    if reply.error:
        yield _line("  error", reply.error)


def _line(label: str, text: str) -> Text:
    return Text.assemble((f"{printable(label)}: ", "dim"), printable(text))


def _quote_text(label: str, text: str) -> Text:
    """A text of others, every line of it set in."""
    return Text.assemble((f"{printable(label)}:", "dim"), *(f"\n  {line}" for line in printable(text).split("\n")))
