"""Processors of models, set up so that Pillow prepares pictures and nothing is needed for videos.

Two machines then give a model the same pixels, with or without torchvision, and the Qwen-VL, InternVL and SmolVLM
processors can be had where torchvision cannot.
"""

from collections.abc import Mapping, Sequence
from importlib import import_module
from importlib.util import find_spec
from typing import Any

from facevalue.errors import ModelError


def load_processor(path: str, model_type: str) -> Any:
    """Load the processor of a folder or of the hub's cache; `model_type` decides where no file names it."""
    from tokenizers import AddedToken  # noqa: PLC0415

    kind = _without_video(_processor_type(path, model_type))
    try:
        processor = kind.from_pretrained(path, backend="pil", trust_remote_code=False)
    except Exception as error:  # libraries raise what they like; that of tokenizers is a bare Exception
        reason = first_line(error)
        if "torchvision" in str(error).lower() and find_spec("torchvision") is None:
            raise ModelError(
                f"The processor of {path} needs torchvision, which is not installed: pip install torchvision."
            ) from error
        if isinstance(error, ImportError):
            raise ModelError(f"The processor of {path} needs a package that is missing: {reason}") from error
        if "image processor" in reason:
            reason = "there is no preprocessor_config.json or processor_config.json that says how pictures are prepared"
        elif "tokenizer" in reason:
            reason = "there is no tokenizer in it that can be read"
        raise ModelError(f"The processor of {path} cannot be loaded: {reason}.") from error
    if getattr(processor, "image_processor", None) is None or getattr(processor, "tokenizer", None) is None:
        raise ModelError(f"{path} has no processor for pictures: it is a text-only model.")
    mark = getattr(processor, "image_token", None)
    if getattr(processor, "num_query_tokens", None) and isinstance(mark, str):  # it will ask the mark for its content
        processor.image_token = AddedToken(mark, normalized=False, special=True)
    return processor


class TextProcessor:
    """Stand-in for a processor where a model takes texts alone."""

    image_processor = chat_template = None

    def __init__(self, path: str) -> None:
        from transformers import AutoTokenizer  # noqa: PLC0415

        try:
            self.tokenizer = AutoTokenizer.from_pretrained(path, trust_remote_code=False)
        except Exception as error:  # that of tokenizers is a bare Exception
            raise ModelError(f"The tokenizer of {path} cannot be loaded: {first_line(error)}.") from error

    def __call__(self, text: Sequence[str], images: None, **options: Any) -> Any:
        """Return token ids and their mask, as a processor does."""
        from transformers import BatchFeature  # noqa: PLC0415

        encoded = self.tokenizer(text, **options)
        return BatchFeature({name: encoded[name] for name in ("input_ids", "attention_mask")})


def first_line(error: BaseException) -> str:
    """Return the first line of what an error says, its kind if it says nothing."""
    return (str(error).strip() or type(error).__name__).splitlines()[0]


def _processor_type(path: str, model_type: str) -> Any:
    """Return the class that the model's files name, or the one that goes with its type."""
    from transformers.models.auto import image_processing_auto, processing_auto, tokenization_auto  # noqa: PLC0415
    from transformers.processing_utils import ProcessorMixin  # noqa: PLC0415

    usual: Mapping[str, str] = processing_auto.PROCESSOR_MAPPING_NAMES
    try:
        files = (
            ProcessorMixin.get_processor_dict(path)[0],
            image_processing_auto.get_image_processor_config(path),
            tokenization_auto.get_tokenizer_config(path),
        )
    except (OSError, ValueError) as error:
        raise ModelError(f"The processor of {path} cannot be read: {first_line(error)}") from error
    names = [name for name in (file.get("processor_class") for file in files) if isinstance(name, str)]
    name = names[0] if names else usual.get(model_type)
    if name is None:
        raise ModelError(f"{path} has no processor for pictures: it is a text-only model.")
    for candidate in [model_type, *(kind for kind, processor in usual.items() if processor == name)]:
        module = candidate.replace("-", "_")
        try:
            return getattr(import_module(f"transformers.models.{module}.processing_{module}"), name)
        except ModuleNotFoundError as error:
            if error.name == "torchvision" and name == "PixtralProcessor":
                return _pixtral()
            if not (error.name or "").startswith("transformers."):
                raise ModelError(f"{name} needs {error.name}, which is not installed.") from error
        except AttributeError:
            continue
    # Some have a module that is not called as their type is, and stand in no table: Kosmos-2's.
    loaded_class = getattr(import_module("transformers"), name, None)
    if isinstance(loaded_class, type) and issubclass(loaded_class, ProcessorMixin):
        return loaded_class
    raise ModelError(f"{path} needs the processor {name!r}, which transformers doesn't have; its code is not run.")


def picture_mark(processor: Any) -> str | None:
    """Return the text that marks a picture for a processor, None if it has none.

    Some keep it as a token with its properties (BLIP-2) rather than as a text.
    """
    mark = getattr(processor, "image_token", None)
    return None if mark is None else str(getattr(mark, "content", mark))


def puts_pictures(processor: Any) -> bool:
    """Return whether a processor puts pictures into a text by itself, besides those that are marked there.

    Those with a Q-Former do (Li et al. 2023, "BLIP-2"), and those of models for captions (Florence-2).
    """
    from PIL import Image  # noqa: PLC0415

    mark, picture = picture_mark(processor), Image.new("RGB", (64, 64), "white")
    if mark is None:
        return False
    token = processor.tokenizer.convert_tokens_to_ids(mark)

    def count(text: str) -> int | None:
        try:
            return list(processor(text=[text], images=[picture])["input_ids"][0]).count(token)
        except Exception:  # most want a mark for each picture, and raise what they like
            return None

    counted = count("a")
    return bool(counted) and counted != count(f"{mark}a")


def _without_video(kind: Any) -> Any:
    """Return a processor's class that has nothing in its slot for videos, for which torchvision would be needed."""
    slots: list[str] = kind.get_attributes()
    if "video_processor" not in slots:
        return kind
    others = [slot for slot in slots if slot != "video_processor"]
    loads: Any = type(kind.__name__, (kind,), {"get_attributes": classmethod(lambda _: others)})
    place = slots.index("video_processor")

    class WithoutVideo(kind):  # type: ignore[misc]
        """The processor, for pictures and texts."""

        @classmethod
        def _get_arguments_from_pretrained(cls, *args: Any, **kwargs: Any) -> list[Any]:
            arguments: list[Any] = loads._get_arguments_from_pretrained(*args, **kwargs)
            return [*arguments[:place], None, *arguments[place:]]

        def check_argument_for_proper_class(self, argument_name: str, argument: Any) -> Any:
            """Let nothing pass as a video processor."""
            return None if argument is None else super().check_argument_for_proper_class(argument_name, argument)

    WithoutVideo.__name__ = kind.__name__
    return WithoutVideo


def _pixtral() -> Any:
    """Return a processor for Pixtral; that of transformers cannot be imported without torchvision.

    A picture stands in the text as its rows of patches: a mark for each patch, a break after each row and an end after
    the last (Agrawal et al. 2024, "Pixtral 12B", section 2.2).
    """
    from transformers.processing_utils import ProcessorMixin  # noqa: PLC0415

    class PixtralProcessor(ProcessorMixin):  # type: ignore[misc]
        """Pixtral's pictures by Pillow."""

        def __init__(
            self,
            image_processor: Any = None,
            tokenizer: Any = None,
            patch_size: int = 16,
            spatial_merge_size: int = 1,
            chat_template: str | None = None,
            image_token: str = "[IMG]",  # noqa: S107 - marks in the text, no secrets
            image_break_token: str = "[IMG_BREAK]",  # noqa: S107
            image_end_token: str = "[IMG_END]",  # noqa: S107
            **_: object,
        ) -> None:
            super().__init__(image_processor, tokenizer, chat_template=chat_template)
            self.side = patch_size * spatial_merge_size
            self.image_token = image_token
            self.image_token_id = tokenizer.convert_tokens_to_ids(image_token)
            self.row_end, self.picture_end = image_break_token, image_end_token

        def _process_images(self, images: Any, **kwargs: Any) -> Any:
            return super()._process_images(images, **kwargs | {"patch_size": self.side})

        def replace_image_token(self, image_inputs: Any, image_idx: int, **_: object) -> str:
            """Return what stands for a picture: its rows of patches."""
            height, width = image_inputs["image_sizes"][image_idx]
            row = self.image_token * (int(width) // self.side)
            return self.row_end.join([row] * (int(height) // self.side)) + self.picture_end

        @property
        def model_input_names(self) -> list[str]:
            """Names of a model's inputs."""
            return [*super().model_input_names, "image_sizes"]

    return PixtralProcessor
