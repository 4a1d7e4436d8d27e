"""Studies: what is asked. A package per published protocol; `build` makes one from the user's settings."""

from facevalue.studies.registry import STUDIES, asked, available, build, names, protocol, published, register

__all__ = ["STUDIES", "asked", "available", "build", "names", "protocol", "published", "register"]
