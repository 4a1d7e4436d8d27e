"""Studies: a package per published protocol; `build` makes a study from the user's settings.

The packages have the same files, in the order in which a study goes on: `pictures` (shown), `design`, `prompts`
(asked), `parsing` (read), `aggregate`, `analysis`, `measures` (taken), `page` with `words.toml`, and `reproduce` with
`tables/published.toml` (paper). docs/how-to/add-a-protocol.md says what each holds.
"""

from facevalue.studies.registry import (
    DECLARED,
    EXAMPLES,
    MAKING,
    STUDIES,
    available,
    build,
    file_text,
    find_protocol,
    names,
    protocol,
    protocol_of_run,
    register,
)

__all__ = [
    "DECLARED",
    "EXAMPLES",
    "MAKING",
    "STUDIES",
    "available",
    "build",
    "file_text",
    "find_protocol",
    "names",
    "protocol",
    "protocol_of_run",
    "register",
]
