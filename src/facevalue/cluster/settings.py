"""Settings of a cluster: its address, and what a worker needs, from a TOML file."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from facevalue.protocol.toml_tables import TomlTable, lines_of
from facevalue.untrusted_files import read_file, to_text, to_toml

_MOST_BYTES = 2**20
_MOST_WORKERS = 10_000


@dataclass(frozen=True, slots=True)
class ClusterSettings:
    """Settings of workers: where they run, and what each of them needs."""

    address: str = "auto"
    """"auto" for the cluster that this machine belongs to, "local" for one of its own, "ray://HOST:PORT" or
    "HOST:PORT"."""
    workers: tuple[int, int] | None = None
    """Fewest and most workers; None for one per GPU of the cluster where they need any, else one per node."""
    gpus: float | None = None
    """GPUs of a worker; a fraction lets several share one. None for 1 with hf/ and vllm/ models where there are any."""
    cpus: float = 1.0
    attempts: int = 3
    """How often a unit is tried whose worker dies or fails."""
    start_seconds: float = 300.0
    """How long to wait for the fewest workers to get their places; what they load may take longer."""
    silent_seconds: float = 120.0
    """A worker that gives no sign of life for so long counts as dead."""
    stalled_seconds: float = 1800.0
    """A worker whose model answers nothing for so long is replaced."""
    runtime_env: Mapping[str, Any] = field(default_factory=dict)
    """Ray's runtime environment of the workers."""


def read_settings(address: str, path: Path | None) -> ClusterSettings:
    """Settings of a cluster; the defaults where no file is given."""
    if path is None:
        return ClusterSettings(address)
    text, name = to_text(read_file(path, _MOST_BYTES, "a cluster's settings"), path.name), path.name
    table = TomlTable(name, lines_of(text), (), to_toml(text.encode(), name))
    defaults = ClusterSettings()
    positive = ("cpus", "start_seconds", "silent_seconds", "stalled_seconds")
    table.check_keys("workers", "gpus", "attempts", *positive, "runtime_env")
    for key in positive:
        if table.number(key, getattr(defaults, key)) <= 0:
            raise table.error(f"{key!r} is a number above 0.", key)
    gpus = table.number("gpus") if "gpus" in table else None
    if gpus is not None and (gpus < 0 or (gpus > 1 and gpus != int(gpus))):
        raise table.error("'gpus' is a whole number, or a share of one GPU.", "gpus")
    if (attempts := table.whole_number("attempts", defaults.attempts)) < 1:
        raise table.error("'attempts' is a whole number from 1.", "attempts")
    return ClusterSettings(
        address=address,
        workers=_workers(table) if "workers" in table else None,
        gpus=gpus,
        attempts=attempts,
        runtime_env=dict(table.table("runtime_env", needed=False).document()),
        **{key: table.number(key, getattr(defaults, key)) for key in positive},
    )


def _workers(table: TomlTable) -> tuple[int, int]:
    value = table.document()["workers"]
    bounds = value if isinstance(value, list) else [value, value]
    if len(bounds) != 2 or not all(isinstance(bound, int) and 1 <= bound <= _MOST_WORKERS for bound in bounds):
        raise table.error("'workers' is a number of them, or the fewest and the most: [1, 16].", "workers")
    if bounds[0] > bounds[1]:
        raise table.error(
            f"'workers' are at least {bounds[0]}, at most {bounds[1]}: write the fewest first.", "workers"
        )
    return bounds[0], bounds[1]
