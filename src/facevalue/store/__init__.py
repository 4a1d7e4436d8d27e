"""Store of runs: what the model said, and under which settings."""

from typing import TYPE_CHECKING

from facevalue.lazy_names import lazy_names

if TYPE_CHECKING:
    from facevalue.store.lease import RunLock
    from facevalue.store.manifest import Counts, RunManifest, Session, differences, read_manifest, write_manifest
    from facevalue.store.reader import read_responses, scan_responses
    from facevalue.store.schema import FORMAT, RESPONSES
    from facevalue.store.writer import ShardWriter

__all__ = [
    "FORMAT",
    "RESPONSES",
    "Counts",
    "RunLock",
    "RunManifest",
    "Session",
    "ShardWriter",
    "differences",
    "read_manifest",
    "read_responses",
    "scan_responses",
    "write_manifest",
]

__getattr__, __dir__ = lazy_names(
    __name__,
    {
        "facevalue.store.lease": ("RunLock",),
        "facevalue.store.manifest": (
            "Counts",
            "RunManifest",
            "Session",
            "differences",
            "read_manifest",
            "write_manifest",
        ),
        "facevalue.store.reader": ("read_responses", "scan_responses"),
        "facevalue.store.schema": ("FORMAT", "RESPONSES"),
        "facevalue.store.writer": ("ShardWriter",),
    },
)
