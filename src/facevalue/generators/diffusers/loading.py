"""Loading of a pipeline, with one clear sentence if it fails: safetensors alone, and no code that comes with it."""

import json
import logging
import re
import warnings
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from facevalue.errors import DependencyError, ModelError, UnknownNameError
from facevalue.models.hf.loading import DTYPES, chosen_device, near_paths
from facevalue.printable import first_line, quote

INDEX = "model_index.json"
"""File of a pipeline's folder that names its class and its components."""
_LARGEST_INDEX = 2**20  # bytes
_PICKLES = "*.bin", "*.pt", "*.pth", "*.ckpt"
_MISSING = re.compile(
    r"^(\S+)\s+\| MISSING|newly initialized(?: because the shapes did not\s+match)?: \['([^']+)", re.M
)
"""How transformers and diffusers report weights that a checkpoint lacks, for which they take random numbers."""


@dataclass(frozen=True, slots=True, eq=False)
class Pipelines:
    """Pipelines of one folder, which share their weights.

    `generate` makes pictures from texts, `edit` changes pictures; either may be None, and both may be the same object.
    `device` and `numbers`: where it computes, and in which number format.
    """

    generate: Any
    edit: Any
    folder: Path
    device: str
    numbers: str

    @property
    def distinct_pipelines(self) -> list[Any]:
        """Distinct pipelines, each once."""
        present = [pipeline for pipeline in (self.generate, self.edit) if pipeline is not None]
        return present[:1] if self.generate is self.edit else present


def load_pipelines(path: str, *, dtype: str | None = None, device: str | None = None) -> Pipelines:
    """Load a pipeline of a folder or of the hub ("black-forest-labs/FLUX.2-klein-4B").

    HF_HUB_OFFLINE=1 takes what was downloaded before. Without a `dtype` it is float32 on a CPU and bfloat16 elsewhere;
    without a `device` a GPU if there is one; "auto" spreads the components over all GPUs.
    """
    try:
        import accelerate  # noqa: F401, PLC0415 - diffusers puts weights on devices by it
        import diffusers  # noqa: PLC0415 - needed by those who make pictures only
        import torch  # noqa: PLC0415
        import transformers  # noqa: F401, PLC0415
    except ImportError as error:
        raise DependencyError("diffusers with torch, transformers and accelerate", "pictures") from error
    if dtype is not None and dtype not in DTYPES:
        raise UnknownNameError("number format", dtype, DTYPES)
    place = chosen_device(device)
    if place == "auto" and torch.cuda.device_count() < 2:
        place = chosen_device(None)  # there is nothing to spread it over
    numbers = dtype or ("float32" if place == "cpu" else "bfloat16")
    with quiet() as missing:
        folder = _folder(path)
        index = _index(folder, path)
        generates, edits = _classes(str(index["_class_name"]), path)
        kind = generates or edits
        options = {"device_map": "balanced"} if place == "auto" else {}
        try:
            loaded = kind.from_pretrained(
                str(folder),
                dtype=getattr(torch, numbers),
                use_safetensors=True,
                local_files_only=True,
                trust_remote_code=False,
                **options,
            )
            if missing:
                raise ModelError(f"{path} lacks some of the pipeline's weights, such as {missing[0]}.")
            if place != "auto":
                loaded.to(place)
        except ModelError:
            raise
        except Exception as error:  # safetensors, transformers, diffusers and accelerate each raise their own
            if out_of_memory(error):
                raise ModelError(
                    f"{path} doesn't fit into the memory of {place}: try device auto or dtype bfloat16."
                ) from error
            raise ModelError(f"The pipeline of {path} cannot be loaded: {first_line(error)}.") from error
        if edits is None or generates is None or edits is generates:
            return Pipelines(loaded if generates else None, loaded if edits else None, folder, place, numbers)
        editor = diffusers.AutoPipelineForImage2Image.from_pipe(loaded)
        return Pipelines(loaded, editor, folder, place, numbers)


@contextmanager
def quiet() -> Iterator[list[str]]:
    """Keep the bars and warnings of diffusers and transformers off the screen.

    Yields a list to which they add the weights that they say were missing from a checkpoint.
    """
    from diffusers.utils import logging as diffusers_logging  # noqa: PLC0415
    from transformers.utils import logging as transformers_logging  # noqa: PLC0415

    listener = _MissingWeights()
    before = [
        (library, library.get_verbosity(), library.is_progress_bar_enabled())
        for library in (diffusers_logging, transformers_logging)
    ]
    for library, _, _ in before:
        library.set_verbosity_warning()
        library.disable_default_handler()
        library.disable_progress_bar()
        library.add_handler(listener)
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            yield listener.weights
    finally:
        for library, level, bars in before:
            library.remove_handler(listener)
            library.enable_default_handler()
            library.set_verbosity(level)
            if bars:
                library.enable_progress_bar()


class _MissingWeights(logging.Handler):
    """Listener to what libraries log, for weights that a checkpoint lacks."""

    def __init__(self) -> None:
        super().__init__(logging.WARNING)
        self.weights: list[str] = []

    def emit(self, record: logging.LogRecord) -> None:
        self.weights += [first or second for first, second in _MISSING.findall(record.getMessage())]


def out_of_memory(error: BaseException) -> bool:
    """Return whether an error says that a device has run out of memory."""
    import torch  # noqa: PLC0415

    if isinstance(error, torch.OutOfMemoryError | MemoryError):
        return True
    return isinstance(error, RuntimeError) and ("out of memory" in str(error) or "can't allocate memory" in str(error))


def _folder(path: str) -> Path:
    """Folder of a pipeline's files: the one named, or its place in the hub's cache."""
    import diffusers  # noqa: PLC0415

    folder = Path(path).expanduser()
    if folder.is_dir():
        return folder
    if path.count("/") != 1 or path.startswith((".", "/", "~")) or path.endswith("/"):
        raise ModelError(f"There is no folder {path}.{near_paths(folder)} Ids of the hub are written OWNER/MODEL.")
    try:
        return Path(diffusers.DiffusionPipeline.download(path, use_safetensors=True, trust_remote_code=False))
    except Exception as error:  # of the hub's client, of the network, of files that are not there
        raise ModelError(
            f"{path} cannot be had from the hub or its cache ({first_line(error)}), and there is no folder of that "
            f"name.{near_paths(folder)}"
        ) from error


def _index(folder: Path, path: str) -> Mapping[str, Any]:
    """Return what a folder says of its pipeline: of classes that diffusers and transformers have, in safetensors."""
    from diffusers import pipelines  # noqa: PLC0415

    file = folder / INDEX
    if not file.is_file():
        nested = sorted(entry.parent.name for entry in folder.glob(f"*/{INDEX}"))
        hint = f" There is one in {nested[0]!r}." if nested else ""
        if not hint and (folder / "config.json").is_file():
            hint = " It has a config.json, as a single model has: a pipeline is a folder of several."
        raise ModelError(f"{path} holds no pipeline: there is no {INDEX} in it.{hint}")
    try:
        if file.stat().st_size > _LARGEST_INDEX:
            raise ValueError(f"it has more than {_LARGEST_INDEX:,} bytes")
        index = json.loads(file.read_text(encoding="utf-8"))
        if not isinstance(index, dict) or "_class_name" not in index:
            raise ValueError("it names no class")
    except (ValueError, OSError, RecursionError) as error:
        raise ModelError(f"The {INDEX} of {path} cannot be read: {first_line(error)}.") from error
    components = {name: entry for name, entry in index.items() if isinstance(entry, list) and name != "_class_name"}
    libraries = {name: entry[0] for name, entry in components.items() if len(entry) == 2 and entry[0] is not None}
    stray = [
        library
        for library in libraries.values()
        if not isinstance(library, str) or not (library in ("diffusers", "transformers") or hasattr(pipelines, library))
    ]
    if stray or not isinstance(index["_class_name"], str):
        raise ModelError(
            f"{path} brings code of its own ({quote((stray or [index['_class_name']])[0])}), which is never run: "
            "use a pipeline of diffusers."
        )
    for name in libraries:
        if any(any((folder / name).glob(kind)) for kind in _PICKLES) and not any((folder / name).glob("*.safetensors")):
            raise ModelError(
                f"{path} holds the weights of its {name} as pickles, which are never read: save it as safetensors."
            )
    return index


def _classes(name: str, path: str) -> tuple[Any, Any]:
    """Return the classes by which a pipeline of a class makes pictures and changes them; None where it can't."""
    import diffusers  # noqa: PLC0415
    from diffusers.pipelines import auto_pipeline  # noqa: PLC0415

    from facevalue.generators.diffusers.calls import PROMPT, SOURCE, missing_input, parameters  # noqa: PLC0415

    tables = auto_pipeline.AUTO_TEXT2IMAGE_PIPELINES_MAPPING, auto_pipeline.AUTO_IMAGE2IMAGE_PIPELINES_MAPPING
    family = next((family for table in tables for family, kind in table.items() if kind.__name__ == name), None)
    if family is not None:
        generates, edits = (table.get(family) for table in tables)
        return generates, edits
    kind = getattr(diffusers, name, None)
    if not isinstance(kind, type) or not issubclass(kind, diffusers.DiffusionPipeline):
        raise ModelError(
            f"{path} is a pipeline of the class {quote(name)}, which diffusers {diffusers.__version__} has not."
        )
    takes = parameters(kind)
    if PROMPT not in takes or (lacks := missing_input(kind)):
        lacks = lacks if PROMPT in takes else "something else than a text"
        raise ModelError(f"{path} is a {name}: it needs {lacks}, and makes no picture from a text or a source picture.")
    return (None, kind) if SOURCE in takes else (kind, None)
