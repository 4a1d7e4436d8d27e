"""Studies: a package per published protocol; `build` makes a study from the user's settings."""

from facevalue.studies.registry import EXAMPLES, STUDIES, asked, available, build, names, protocol, published, register

__all__ = ["EXAMPLES", "STUDIES", "asked", "available", "build", "names", "protocol", "published", "register"]
