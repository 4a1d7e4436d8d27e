"""`facevalue status`: how far a run is, from any machine."""

import json
from collections.abc import Iterator, Mapping
from datetime import UTC, datetime
from pathlib import Path

import click
import polars as pl

from facevalue.cli.places import Place
from facevalue.errors import RunError
from facevalue.runs.rich_progress import duration
from facevalue.store.lock import RunLock
from facevalue.store.manifest import read_manifest
from facevalue.store.objects import Objects
from facevalue.store.reader import collected, scan_responses
from facevalue.store.remote import STATUS, listed_units, read_run
from facevalue.store.shards import shard_paths
from facevalue.terminal import say

_SILENT = 60.0  # seconds after which a driver that writes its status every few seconds may be dead
_NODES = 20  # named at most


@click.command()
@click.argument("run", type=Place())
def status(run: Path | str) -> int:
    """Show how far RUN is: what is done, how fast, what failed where, and which process runs it."""
    for line in _of_objects(Objects.at(run)) if isinstance(run, str) else _of_folder(run):
        say(line)
    return 0


def _of_objects(objects: Objects) -> Iterator[str]:
    run, _ = read_run(objects)
    units = len(listed_units(objects))
    status = _told(objects)
    yield f"{objects.url}: {run.study} on {run.model}"
    answered, rate = _number(status, "answered"), _number(status, "answers_per_second")
    replies = run.counts.ok + run.counts.refused + run.counts.truncated if answered is None else answered
    yield f"{_share(replies, run.counts.requests)}, {units:,} units stored"
    if run.end is not None:
        yield f"Complete since {run.end:%Y-%m-%d %H:%M} UTC."
    state = status.get("state")
    if state == "running" and rate:
        left = max(run.counts.requests - replies, 0) / rate
        yield f"{rate:,.3g} answers/s, {duration(left)} to go"
    if (cost := _number(status, "cost")) is not None:
        yield f"cost of this session: {cost:,.2f}"
    for label, key in (
        ("workers", "workers_by_node"),
        ("failed requests", "failures_by_node"),
        ("lost workers", "units_lost_by_node"),
    ):
        if counts := _counts(status.get(key)):
            yield f"{label}: {counts}"
    if given_up := _number(status, "units_given_up"):
        yield f"units given up: {given_up:,.0f}; the same command retries them"
    yield from _driver(status, state)


def _driver(status: Mapping[str, object], state: object) -> Iterator[str]:
    driver = status.get("driver")
    last = _time(status.get("at"))
    if not isinstance(driver, dict) or last is None:
        return
    ago = max((datetime.now(UTC) - last).total_seconds(), 0)
    process = f"process {driver.get('pid')} on {driver.get('host')}"
    if state != "running":
        yield f"Not running: {process} ended {duration(ago)} ago."
    elif ago > _SILENT:
        yield f"Perhaps ended: {process} has reported nothing for {duration(ago)}. Resume with the same command."
    else:
        yield f"Running: {process} reported {duration(ago)} ago."


def _of_folder(folder: Path) -> Iterator[str]:
    run = read_manifest(folder)
    yield f"{folder}: {run.study} on {run.model}"
    repeats = 1 if run.exact else len(run.seeds)
    answered = (pl.col("repeat") < repeats) & (pl.col("status") != "error")
    rows = scan_responses(folder).filter(answered).select(pl.len())
    yield _share(collected(folder, rows).item() if shard_paths(folder) else 0, run.counts.requests)
    if run.end is not None:
        yield f"Complete since {run.end:%Y-%m-%d %H:%M} UTC."
    try:
        with RunLock(folder):
            yield "Not running."
    except RunError as error:
        yield str(error).partition(". ")[0] + "."


def _share(replies: float, requests: int) -> str:
    return f"{replies:,.0f}/{requests:,} requests ({replies / requests if requests else 1.0:.0%})"


def _told(objects: Objects) -> Mapping[str, object]:
    """Read the status that the driver last wrote; empty if it cannot be understood."""
    stored = objects.get(STATUS)
    try:
        status = json.loads(stored[0]) if stored is not None else {}
    except ValueError:
        return {}
    return status if isinstance(status, dict) else {}


def _number(status: Mapping[str, object], key: str) -> float | None:
    value = status.get(key)
    return value if isinstance(value, int | float) and not isinstance(value, bool) else None


def _time(value: object) -> datetime | None:
    try:
        return datetime.fromisoformat(str(value)).astimezone(UTC)
    except ValueError:
        return None


def _counts(value: object) -> str:
    if not isinstance(value, dict):
        return ""
    counts = [(str(node), count) for node, count in value.items() if isinstance(count, int)]
    counts.sort(key=lambda pair: (-pair[1], pair[0]))
    rest = len(counts) - _NODES
    return ", ".join(f"{node} {count:,}" for node, count in counts[:_NODES]) + (f" and {rest} more" if rest > 0 else "")
