"""From what the user types to an adapter; each adapter is imported only when asked for."""

from dataclasses import dataclass

from facevalue.errors import ModelError, UnknownNameError
from facevalue.models.base import Model


@dataclass(frozen=True, slots=True)
class ModelOptions:
    """How to reach a model: nothing here changes what it says.

    Attributes
    ----------
    concurrency:
        Most requests in flight at once.
    timeout:
        Seconds until a request counts as hung.
    retries:
        How often a failed request is sent again.
    rpm, tpm:
        Budget of requests and tokens a minute; None for no budget.
    """

    concurrency: int = 16
    timeout: float = 120.0
    retries: int = 5
    rpm: float | None = None
    tpm: float | None = None


def load(spec: str, options: ModelOptions | None = None) -> Model:
    """Return the adapter for a model.

    Parameters
    ----------
    spec:
        "sim/NAME"; "http://HOST/v1#MODEL" or "https://..." for any OpenAI-compatible server; "openai/MODEL";
        "replay/PATH" for recorded answers.
    options:
        How to reach it.

    Raises
    ------
    UnknownNameError
        There is no such kind of model.
    ModelError
        The address is incomplete, or a key is missing.
    DataError
        Recorded answers are not there, or damaged.
    """
    options = options or ModelOptions()
    if spec.startswith(("http://", "https://", "openai/")):
        from facevalue.models.openai import OpenAIModel  # noqa: PLC0415 - imported when asked for

        return OpenAIModel(spec, options)
    kind, _, name = spec.partition("/")
    if kind == "sim" and name:
        from facevalue.models.sim import SimModel  # noqa: PLC0415

        return SimModel(name)
    if kind == "replay" and name:
        from facevalue.models.replay import ReplayModel  # noqa: PLC0415

        return ReplayModel(name)
    if not name and kind in ("sim", "openai", "replay"):
        raise ModelError(f"{spec!r} names no model: write {kind}/{'PATH' if kind == 'replay' else 'NAME'}.")
    raise UnknownNameError(
        "model", spec, ["sim/default", "replay/PATH", "http://HOST/v1#MODEL", "https://HOST/v1#MODEL", "openai/MODEL"]
    )
