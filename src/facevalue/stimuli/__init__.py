"""Stimuli: drawn portraits and scenes, and readers of image files."""

from facevalue.stimuli.base import Kind, Source
from facevalue.stimuli.images import FileSource
from facevalue.stimuli.manifest import read_manifest, write_manifest

__all__ = ["FileSource", "Kind", "Source", "read_manifest", "write_manifest"]
