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
    """Show how far RUN is: what is done, how fast, what failed where, and who drives it."""
    for line in _of_objects(Objects.at(run)) if isinstance(run, str) else _of_folder(run):
        say(line)
    return 0


def _of_objects(objects: Objects) -> Iterator[str]:
    run, _ = read_run(objects)
    units = len(listed_units(objects))
    told = _told(objects)
    yield f"{objects.url}: {run.study} on {run.model}"
    answered, rate = _number(told, "answered"), _number(told, "answers_per_second")
    done = run.counts.ok + run.counts.refused + run.counts.truncated if answered is None else answered
    yield f"{_share(done, run.counts.requests)}, {units:,} units stored"
    if run.end is not None:
        yield f"Complete since {run.end:%Y-%m-%d %H:%M} UTC."
    state = told.get("state")
    if state == "running" and rate:
        left = max(run.counts.requests - done, 0) / rate
        yield f"{rate:,.3g} answers/s, {duration(left)} to go"
    if (cost := _number(told, "cost")) is not None:
        yield f"cost of this session: {cost:,.2f}"
    for what, key in (
        ("workers", "workers_by_node"),
        ("failed requests", "failures_by_node"),
        ("lost workers", "units_lost_by_node"),
    ):
        if counts := _counts(told.get(key)):
            yield f"{what}: {counts}"
    if given_up := _number(told, "units_given_up"):
        yield f"units given up: {given_up:,.0f}; the same command tries them again"
    yield from _driver(told, state)


def _driver(told: Mapping[str, object], state: object) -> Iterator[str]:
    driver = told.get("driver")
    at = _time(told.get("at"))
    if not isinstance(driver, dict) or at is None:
        return
    ago = max((datetime.now(UTC) - at).total_seconds(), 0)
    who = f"process {driver.get('pid')} on {driver.get('host')}"
    if state != "running":
        yield f"Nobody drives it: {who} ended {duration(ago)} ago."
    elif ago > _SILENT:
        yield f"{who} drove it and was last heard of {duration(ago)} ago; the same command goes on."
    else:
        yield f"{who} drives it, last heard of {duration(ago)} ago."


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
            yield "Nobody drives it."
    except RunError as error:
        yield str(error).partition(". ")[0] + "."


def _share(done: float, requests: int) -> str:
    return f"{done:,.0f}/{requests:,} requests ({done / requests if requests else 1.0:.0%})"


def _told(objects: Objects) -> Mapping[str, object]:
    """What the driver last wrote; nothing if it is not to be understood."""
    found = objects.get(STATUS)
    try:
        told = json.loads(found[0]) if found is not None else {}
    except ValueError:
        return {}
    return told if isinstance(told, dict) else {}


def _number(told: Mapping[str, object], key: str) -> float | None:
    value = told.get(key)
    return value if isinstance(value, int | float) and not isinstance(value, bool) else None


def _time(value: object) -> datetime | None:
    try:
        return datetime.fromisoformat(str(value)).astimezone(UTC)
    except ValueError:
        return None


def _counts(value: object) -> str:
    if not isinstance(value, dict):
        return ""
    known = [(str(node), count) for node, count in value.items() if isinstance(count, int)]
    known.sort(key=lambda one: (-one[1], one[0]))
    rest = len(known) - _NODES
    return ", ".join(f"{node} {count:,}" for node, count in known[:_NODES]) + (f" and {rest} more" if rest > 0 else "")
