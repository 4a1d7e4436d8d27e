"""Models of pictures alone, from a folder on this machine: classifiers, encoders, and those that also read texts."""

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
from PIL.Image import Image

from facevalue.errors import ModelError
from facevalue.models.hf.adapter import fingerprint
from facevalue.models.hf.loading import LOCAL, check_complete, check_weights, configuration, packages, silence
from facevalue.models.hf.processors import first_line

Array = npt.NDArray[np.float64]


class _Loaded:
    """A model and what prepares pictures for it; nothing is downloaded, and no code that comes with it is run."""

    kind = ""
    """What such a model is, for people."""

    def __init__(self, folder: Path, device: str | None = None) -> None:
        torch, transformers = packages()
        check_weights(folder, self.kind)
        place = str(folder)
        with silence():
            config = configuration(folder)
            try:
                self._prepare = transformers.AutoImageProcessor.from_pretrained(place, backend="pil", **LOCAL)
                model, loading = self._class(transformers, config, folder).from_pretrained(
                    place, dtype=torch.float32, use_safetensors=True, output_loading_info=True, **LOCAL
                )
            except ModelError:
                raise
            except Exception as error:  # damaged weights, a strange processor
                raise ModelError(f"The {self.kind} in {folder} cannot be loaded: {first_line(error)}") from error
        check_complete(folder, self.kind, [name for name in loading["missing_keys"] if "pooler" not in name])
        usual = "cuda" if torch.cuda.is_available() else "cpu"
        self._model = model.eval().to(device or usual)
        self._pools = not loading["missing_keys"]
        self.config, self.name, self.digest = config, folder.resolve().name, fingerprint(folder)

    def _class(self, transformers: Any, config: Any, folder: Path) -> Any:
        raise NotImplementedError

    def _pixels(self, picture: Image) -> Any:
        return self._prepare(images=picture.convert("RGB"), return_tensors="pt").to(self._model.device)

    def _unit(self, output: Any) -> Array:
        """An output as vectors of unit length."""
        rows = getattr(output, "pooler_output", output)
        vectors = np.asarray(rows.double().cpu().numpy())
        return np.asarray(vectors / np.maximum(np.linalg.norm(vectors, axis=-1, keepdims=True), 1e-12))


class HFPictureClassifier(_Loaded):
    """Any classifier of pictures that transformers loads: ViT, Swin, ConvNeXt and others."""

    kind = "classifier of pictures"

    def _class(self, transformers: Any, config: Any, folder: Path) -> Any:
        from transformers.models.auto import modeling_auto  # noqa: PLC0415

        if config.model_type not in modeling_auto.MODEL_FOR_IMAGE_CLASSIFICATION_MAPPING_NAMES:
            raise ModelError(f"{folder} is a model of type {config.model_type!r}, which classifies no pictures.")
        return transformers.AutoModelForImageClassification

    @property
    def labels(self) -> tuple[str, ...]:
        """Labels of the classifier."""
        return tuple(str(self.config.id2label[at]) for at in range(self.config.num_labels))

    def probabilities(self, picture: Image) -> Array:
        """Probability of each label, in their order."""
        import torch  # noqa: PLC0415

        with torch.inference_mode():
            logits = self._model(**self._pixels(picture)).logits[0].double()
        chances = np.asarray(logits.softmax(-1).cpu().numpy())
        if not np.isfinite(chances).all():
            raise ModelError(f"{self.name} gives no probabilities; its weights are damaged.")
        return chances


class HFPictureEncoder(_Loaded):
    """Any model of pictures that transformers loads, such as DINOv2, for one vector a picture."""

    kind = "model of pictures"

    def _class(self, transformers: Any, config: Any, folder: Path) -> Any:
        if hasattr(config, "text_config"):
            raise ModelError(f"{folder} is a model of type {config.model_type!r}, of pictures and texts.")
        return transformers.AutoModel

    def vector(self, picture: Image) -> Array:
        """Vector of a picture, of unit length: the pooled output, or that of the first token."""
        import torch  # noqa: PLC0415

        with torch.inference_mode():
            output = self._model(**self._pixels(picture))
        pooled = getattr(output, "pooler_output", None) if self._pools else None
        return self._unit(output.last_hidden_state[:, 0] if pooled is None else pooled.flatten(1))[0]


class HFPictureText(_Loaded):
    """A model with one space for pictures and texts: CLIP or SigLIP."""

    kind = "model of pictures and texts"

    def __init__(self, folder: Path, device: str | None = None) -> None:
        super().__init__(folder, device)
        import transformers  # noqa: PLC0415

        with silence():
            try:
                self._tokenizer: Callable[..., Any] = transformers.AutoTokenizer.from_pretrained(str(folder), **LOCAL)
            except Exception as error:  # that of tokenizers is a bare Exception
                raise ModelError(f"The tokenizer of {folder} cannot be loaded: {first_line(error)}") from error
        text = getattr(self.config, "text_config", None)
        self.tokens = int(getattr(text, "max_position_embeddings", 77))
        self.scale = float(self._model.logit_scale.detach().exp())

    def _class(self, transformers: Any, config: Any, folder: Path) -> Any:
        if config.model_type not in ("clip", "siglip", "siglip2", "metaclip_2"):
            raise ModelError(f"{folder} is a model of type {config.model_type!r}, not CLIP or SigLIP.")
        return transformers.AutoModel

    def vector(self, picture: Image) -> Array:
        """A picture, as a vector of unit length."""
        import torch  # noqa: PLC0415

        with torch.inference_mode():
            return self._unit(self._model.get_image_features(**self._pixels(picture)))[0]

    def texts(self, texts: Sequence[str]) -> tuple[Array, int]:
        """Texts as vectors of unit length, and how many of them were cut to what the model reads."""
        import torch  # noqa: PLC0415

        lengths = [len(ids) for ids in self._tokenizer(list(texts))["input_ids"]]
        padded = self._tokenizer(
            list(texts), padding="max_length", truncation=True, max_length=self.tokens, return_tensors="pt"
        )
        names = ("input_ids", "attention_mask") if self.config.model_type != "siglip" else ("input_ids",)
        inputs = {name: padded[name].to(self._model.device) for name in names if name in padded}
        with torch.inference_mode():
            vectors = self._unit(self._model.get_text_features(**inputs))
        return vectors, sum(length > self.tokens for length in lengths)
