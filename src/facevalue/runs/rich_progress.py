"""Progress for people: a bar in a terminal, plain lines elsewhere, one changing line in notebooks."""

import sys
import time
from typing import Any

from rich.console import Console
from rich.markup import escape
from rich.progress import BarColumn, SpinnerColumn, TaskID, TextColumn
from rich.progress import Progress as RichBar

from facevalue.runs.progress import Progress, Snapshot
from facevalue.runs.settings import RunSummary
from facevalue.terminal import terminal

_EVERY = 10.0  # seconds between plain lines


class RichProgress:
    """Reports to standard error, so that standard output stays free for results."""

    def __init__(self, console: Console | None = None) -> None:
        self._console = console or terminal(stderr=True)
        self._bar: RichBar | None = None
        self._task = TaskID(0)
        self._printed = 0.0
        self._last: Snapshot | None = None

    def start(self, done: int, total: int) -> None:
        """Draw the bar, or print the first line."""
        if done:
            self.note(f"{done:,} of {total:,} requests are stored already.")
        self._printed = time.monotonic()
        if self._console.is_terminal:
            self._bar = RichBar(
                SpinnerColumn(),
                BarColumn(bar_width=24),
                TextColumn("{task.description}", markup=False),
                console=self._console,
                transient=True,
            )
            self._task = self._bar.add_task("starting", total=total, completed=done)
            self._bar.start()

    def update(self, now: Snapshot) -> None:
        """Move the bar; elsewhere print a line every ten seconds."""
        self._last = now
        if self._bar is not None:
            self._bar.update(self._task, completed=now.done, total=now.total, description=progress_line(now))
        elif time.monotonic() - self._printed >= _EVERY:
            self._printed = time.monotonic()
            self._print(progress_line(now))

    def note(self, message: str) -> None:
        """Print a line above the bar."""
        self._print(message)

    def finish(self, summary: RunSummary | None) -> None:
        """Remove the bar and print where things stand."""
        if self._bar is not None:
            self._bar.stop()
            self._bar = None
        if summary is not None:
            self._print(conclusion_line(summary))
        elif self._last is not None:
            self._print(progress_line(self._last))

    def _print(self, line: str) -> None:
        self._console.print(escape(line), soft_wrap=True, highlight=False)


def progress_line(now: Snapshot) -> str:
    """Progress of a run, in one line."""
    share = now.done / now.total if now.total else 1.0
    phrases = [
        f"{now.done:,}/{now.total:,} ({share:.0%})",
        f"{now.rate:,.3g}/s" if now.rate < 1e3 else f"{now.rate:,.0f}/s",
    ]
    if now.eta is not None and now.done < now.total:
        phrases.append(f"{duration(now.eta)} to go")
    if now.prompt_tokens or now.completion_tokens:
        phrases.append(f"{short(now.prompt_tokens)} + {short(now.completion_tokens)} tokens")
    if now.cost is not None:
        phrases.append(f"cost {now.cost:,.2f}")
    if now.na_rate is not None:
        phrases.append(f"N/A {now.na_rate:.1%}")
    if now.errors:
        phrases.append(f"{now.errors:,} failed")
    if now.where:
        phrases.append(now.where)
    return ", ".join(phrases)


def conclusion_line(summary: RunSummary) -> str:
    """Result of a session, in one line."""
    complete = summary.complete and not summary.errors
    head = "Complete" if complete else "Interrupted" if summary.interrupted else "Not complete"
    phrases = [f"{summary.asked:,} asked in {duration(summary.seconds)}"]
    if summary.skipped:
        phrases.append(f"{summary.skipped:,} stored before")
    if summary.na:
        phrases.append(f"{summary.na:,} without a valid answer")
    if summary.errors:
        phrases.append(f"{summary.errors:,} failed")
    if summary.cached is not None:
        phrases.append(f"{summary.cached:.0%} of prompt tokens from the cache")
    if summary.cost is not None:
        phrases.append(f"cost {summary.cost:,.2f}")
    return " ".join(filter(None, (f"{head}: {', '.join(phrases)}.", summary.enough)))


def duration(seconds: float) -> str:
    """Seconds in the units people use.

    Examples
    --------
    >>> duration(7.2), duration(75), duration(7_500), duration(200_000)
    ('7 s', '1 min 15 s', '2 h 5 min', '2 d 7 h')
    """
    total = round(seconds)
    for unit, large, small, small_seconds in ((86_400, "d", "h", 3_600), (3_600, "h", "min", 60), (60, "min", "s", 1)):
        if total >= unit:
            return f"{total // unit} {large} {total % unit // small_seconds} {small}"
    return f"{total} s"


def short(count: int) -> str:
    """A large count in three digits.

    Examples
    --------
    >>> short(950), short(12_345), short(3_200_000)
    ('950', '12.3k', '3.2M')
    """
    if count < 1_000:
        return str(count)
    return f"{count / 1e6:.3g}M" if count >= 999_500 else f"{count / 1e3:.3g}k"


_BAR = 24


def progress() -> Progress:
    """Progress for people wherever they are: `NotebookProgress` in Jupyter, `RichProgress` elsewhere."""
    shell = sys.modules["IPython"].get_ipython() if "IPython" in sys.modules else None
    return NotebookProgress() if hasattr(shell, "kernel") else RichProgress()


class NotebookProgress:
    """Reports below the cell, as plain text that Jupyter replaces."""

    def __init__(self) -> None:
        from IPython.display import display  # noqa: PLC0415 - there in notebooks alone

        self._display = display
        self._line: Any = None

    def start(self, done: int, total: int) -> None:
        """Show the line."""
        self._line = self._display({"text/plain": f"{done:,}/{total:,}"}, raw=True, display_id=True)

    def update(self, now: Snapshot) -> None:
        """Change the line."""
        full = round(_BAR * now.done / now.total) if now.total else _BAR
        self._change(f"{'█' * full}{'░' * (_BAR - full)} {progress_line(now)}")

    def note(self, message: str) -> None:
        """Add a line."""
        self._display({"text/plain": message}, raw=True)

    def finish(self, summary: RunSummary | None) -> None:
        """Say where things stand; an exception leaves the line as it was."""
        if summary is not None:
            self._change(conclusion_line(summary))

    def _change(self, text: str) -> None:
        if self._line is not None:
            self._line.update({"text/plain": text}, raw=True)
