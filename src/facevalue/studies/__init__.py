"""Studies: a package per published protocol; `build` makes a study from the user's settings."""

from facevalue.studies.registry import (
    DECLARED,
    EXAMPLES,
    STUDIES,
    asked,
    available,
    build,
    file_text,
    names,
    protocol,
    published,
    register,
)

__all__ = [
    "DECLARED",
    "EXAMPLES",
    "STUDIES",
    "asked",
    "available",
    "build",
    "file_text",
    "names",
    "protocol",
    "published",
    "register",
]
