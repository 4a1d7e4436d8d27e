"""Folders of models on this machine."""

from pathlib import Path

from facevalue.errors import ModelError


def check_weights(folder: Path, kind: str) -> None:
    """Raise a `ModelError` unless a folder holds the configuration and the weights of such a thing ("detector")."""
    if not folder.is_dir():
        raise ModelError(f"There is no folder {folder}: a {kind} is a folder with its config.json and weights.")
    if not (folder / "config.json").is_file():
        raise ModelError(f"{folder} holds no {kind}: there is no config.json in it.")
    if not any(folder.glob("*.safetensors")):
        raise ModelError(f"{folder} holds no weights: there is no .safetensors in it (pickles are never read).")
