"""What a server of pictures says that it takes: the OpenAPI document of those built on FastAPI.

Such servers (vLLM-Omni, SGLang) drop parameters that they do not know without a word. So the document is asked for
first, and what is not in it is refused here.
"""

from collections.abc import Mapping
from typing import NamedTuple

from facevalue.generators.images_requests import PATHS

DOCUMENT = "/openapi.json"
_MEDIA = ("application/json", "multipart/form-data", "application/x-www-form-urlencoded")
_REFERENCE = "#/components/schemas/"


class Taken(NamedTuple):
    """What one path takes.

    `offered`: whether there is such a path. `names`: its parameters; None where any may be sent, or it is not known.
    """

    offered: bool = True
    names: frozenset[str] | None = None


def taken(document: Mapping[str, object]) -> dict[str, Taken]:
    """Return what each path of `PATHS` takes by a server's OpenAPI document; empty if it knows none of them.

    Examples
    --------
    >>> body = {"content": {"application/json": {"schema": {"properties": {"prompt": {}, "seed": {}}}}}}
    >>> by_path = taken({"paths": {"/v1/images/generations": {"post": {"requestBody": body}}}})
    >>> sorted(by_path["/images/generations"].names), by_path["/images/edits"].offered
    (['prompt', 'seed'], False)
    """
    paths = _mapping(document.get("paths"))
    operations = {path: next((paths[name] for name in paths if name.endswith(path)), None) for path in PATHS}
    if not any(operations.values()):
        return {}
    return {
        path: Taken(operation is not None, _names(document, _mapping(_mapping(operation).get("post"))))
        for path, operation in operations.items()
    }


def _names(document: Mapping[str, object], operation: Mapping[str, object]) -> frozenset[str] | None:
    content = _mapping(_mapping(operation.get("requestBody")).get("content"))
    media = next((_mapping(content[kind]) for kind in _MEDIA if kind in content), {})
    schema = _resolved(document, _mapping(media.get("schema")))
    properties = _mapping(schema.get("properties"))
    anything = schema.get("additionalProperties", False) is not False
    return None if anything or not properties else frozenset(properties)


def _resolved(document: Mapping[str, object], schema: Mapping[str, object]) -> Mapping[str, object]:
    """Return the schema that a body refers to, alone or as the only one of several that all hold."""
    every = schema.get("allOf")
    if isinstance(every, list) and len(every) == 1:
        schema = _mapping(every[0])
    reference = schema.get("$ref")
    if not isinstance(reference, str):
        return schema
    schemas = _mapping(_mapping(document.get("components")).get("schemas"))
    return _mapping(schemas.get(reference.removeprefix(_REFERENCE)))


def _mapping(value: object) -> Mapping[str, object]:
    return value if isinstance(value, dict) else {}
