"""Studies: what is asked. A package per published protocol; `build` makes one from the user's settings."""

from facevalue.studies.registry import STUDIES, build, protocol, register

__all__ = ["STUDIES", "build", "protocol", "register"]
