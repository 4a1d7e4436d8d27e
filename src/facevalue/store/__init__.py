"""Store of runs: what the model said, and under which settings."""

from facevalue.store.lock import RunLock
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
