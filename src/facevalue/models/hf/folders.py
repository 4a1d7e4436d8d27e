"""Folders of models on this machine, and what is checked alike of all that transformers loads."""

from collections.abc import Collection
from pathlib import Path
from typing import Any

from facevalue.errors import DependencyError, ModelError
from facevalue.models.hf.processors import first_line

LOCAL = {"local_files_only": True, "trust_remote_code": False}
"""Arguments by which nothing is downloaded, and no code that comes with a model is run."""


def packages() -> tuple[Any, Any]:
    """Import torch and transformers, or say what to install."""
    try:
        import torch  # noqa: PLC0415
        import transformers  # noqa: PLC0415
    except ImportError as error:
        raise DependencyError("torch with transformers", "hf") from error
    return torch, transformers


def configuration(folder: Path) -> Any:
    """Read what a folder says of its model."""
    try:
        return packages()[1].AutoConfig.from_pretrained(str(folder), **LOCAL)
    except Exception as error:  # transformers raises many kinds
        raise ModelError(f"The configuration of {folder} cannot be read: {first_line(error)}") from error


def check_complete(folder: Path, kind: str, missing: Collection[str]) -> None:
    """Raise a `ModelError` if a folder lacks weights: random numbers would stand in for them."""
    if missing:
        raise ModelError(f"{folder} lacks {len(missing)} of the {kind}'s weights, such as {min(missing)}.")


def check_weights(folder: Path, kind: str) -> None:
    """Raise a `ModelError` unless a folder holds the configuration and the weights of such a thing ("detector")."""
    if not folder.is_dir():
        raise ModelError(f"There is no folder {folder}: a {kind} is a folder with its config.json and weights.")
    if not (folder / "config.json").is_file():
        raise ModelError(f"{folder} holds no {kind}: there is no config.json in it.")
    if not any(folder.glob("*.safetensors")):
        raise ModelError(f"{folder} holds no weights: there is no .safetensors in it (pickles are never read).")
