"""Studies: what is asked. A package per published protocol; `load` builds one from the user's settings."""

from facevalue.studies.base import Setting, Study, StudyEntry
from facevalue.studies.registry import STUDIES, build, entry

__all__ = ["STUDIES", "Setting", "Study", "StudyEntry", "build", "entry"]
