"""Studies: what is asked. A package per published protocol; `build` makes one from the user's settings."""

from facevalue.studies.registry import STUDIES, available, build, names, protocol, register

__all__ = ["STUDIES", "available", "build", "names", "protocol", "register"]
