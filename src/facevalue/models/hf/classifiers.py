"""Text classifiers and object detectors of transformers, from a folder on this machine."""

from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
from PIL.Image import Image

from facevalue.errors import ModelError, UnknownNameError
from facevalue.models.classifiers import Classified
from facevalue.models.hf.adapter import fingerprint
from facevalue.models.hf.loading import LOCAL, check_complete, check_weights, configuration, packages, silence
from facevalue.models.hf.processors import first_line

PERSON = "person"


class HFDetector:
    """Any object detector that transformers loads: DETR, RT-DETR, YOLOS, D-FINE and others.

    Nothing is downloaded, only weights in safetensors are read, and no code that comes with them is run. Pictures are
    looked at one by one: beside a larger one a picture would be padded, which changes what some detectors see.
    """

    def __init__(self, folder: Path) -> None:
        torch, transformers = packages()
        from transformers.models.auto import modeling_auto  # noqa: PLC0415

        _check(folder)
        with silence():
            config = configuration(folder)
            if config.model_type not in modeling_auto.MODEL_FOR_OBJECT_DETECTION_MAPPING_NAMES:
                raise ModelError(f"{folder} is a model of type {config.model_type!r}, which detects no objects.")
            if getattr(config, "use_pretrained_backbone", False):
                config.use_pretrained_backbone = False  # all weights are in the folder; others would be downloaded
            try:
                self._processor = transformers.AutoImageProcessor.from_pretrained(str(folder), backend="pil", **LOCAL)
                model, loading = transformers.AutoModelForObjectDetection.from_pretrained(
                    str(folder), config=config, use_safetensors=True, output_loading_info=True, **LOCAL
                )
            except Exception as error:  # a missing package of a backbone, damaged weights, a strange processor
                raise ModelError(f"The detector in {folder} cannot be loaded: {first_line(error)}") from error
        check_complete(folder, "detector", loading["missing_keys"])
        labels = {int(number): str(label) for number, label in config.id2label.items()}
        self._person = {number for number, label in labels.items() if label.strip().lower() == PERSON}
        if not self._person:
            raise UnknownNameError(f"label of the detector in {folder}", PERSON, list(labels.values()))
        self._model = model.eval().to("cuda" if torch.cuda.is_available() else "cpu")
        self._name = folder.resolve().name

    @property
    def name(self) -> str:
        """The folder's name."""
        return self._name

    def persons(self, pictures: Iterable[Image]) -> Iterator[list[float]]:
        """Score of each box that is detected as a person; one picture after the other."""
        import torch  # noqa: PLC0415

        for picture in pictures:
            inputs = self._processor(images=picture.convert("RGB"), return_tensors="pt").to(self._model.device)
            with torch.inference_mode():
                seen = self._model(**inputs)
            (detected,) = self._processor.post_process_object_detection(
                seen, threshold=0.0, target_sizes=[(picture.height, picture.width)]
            )
            pairs = zip(detected["scores"].tolist(), detected["labels"].tolist(), strict=True)
            scores = [score for score, label in pairs if label in self._person]
            if wrong := next((score for score in scores if not 0 <= score <= 1), None):
                raise ModelError(f"{self._name} gives a score of {wrong}; its weights are damaged.")
            yield scores


def _check(folder: Path) -> None:
    check_weights(folder, "detector")
    if not (folder / "preprocessor_config.json").is_file() and not (folder / "processor_config.json").is_file():
        raise ModelError(f"{folder} has no preprocessor_config.json, which says how pictures are prepared.")


Array = npt.NDArray[np.float64]

_DIGITS = 6
"""Decimals of a score: beyond them lies how a processor happens to sum."""
_UNKNOWN = 512
"""Tokens that are read at once where neither the model nor its tokenizer has a limit."""
_LIMIT = 10**6  # what says that there is none is larger
_ROWS, _STEP = 32, 64
"""Texts that a GPU reads together, and what their lengths in tokens are rounded up to."""


class HFTextClassifier:
    """Any text classifier that transformers loads: RoBERTa, BERT, DeBERTa, DistilBERT and others.

    Nothing is downloaded, only weights in safetensors are read, and no code that comes with them is run. A text longer
    than the model's window is read in pieces, which overlap a little; its scores are the highest of any piece. On a CPU
    texts are read one by one; on a GPU always `_ROWS` together, padded to fixed lengths, so that a text's scores do not
    hang on what is beside it.
    """

    def __init__(self, folder: Path) -> None:
        torch, transformers = packages()
        from transformers.models.auto import modeling_auto  # noqa: PLC0415

        check_weights(folder, "text classifier")
        place = str(folder)
        with silence():
            config = configuration(folder)
            if config.model_type not in modeling_auto.MODEL_FOR_SEQUENCE_CLASSIFICATION_MAPPING_NAMES:
                raise ModelError(f"{folder} is a model of type {config.model_type!r}, which classifies no texts.")
            try:
                self._tokenizer = transformers.AutoTokenizer.from_pretrained(place, **LOCAL)
                model, loading = transformers.AutoModelForSequenceClassification.from_pretrained(
                    place, config=config, dtype=torch.float32, use_safetensors=True, output_loading_info=True, **LOCAL
                )
            except Exception as error:  # a missing package, damaged weights, a strange tokenizer
                raise ModelError(f"The text classifier in {folder} cannot be loaded: {first_line(error)}") from error
        check_complete(folder, "classifier", loading["missing_keys"])
        if not self._tokenizer.is_fast:
            raise ModelError(f"{folder} has no tokenizer.json, without which long texts cannot be cut into pieces.")
        self.labels = tuple(str(config.id2label[at]) for at in range(config.num_labels))
        if len(set(self.labels)) < len(self.labels):
            raise ModelError(f"{folder} has two labels of one name: {', '.join(self.labels)}.")
        self.name, self.digest = folder.resolve().name, fingerprint(folder)
        self._applied = _function(config)
        self._window = _window(model, self._tokenizer, config)
        self._model = model.eval().to("cuda" if torch.cuda.is_available() else "cpu")
        padded = self._tokenizer.pad_token_id is not None and config.pad_token_id is not None
        self._together = padded and self._model.device.type != "cpu"
        self.at_once = 2048 if self._together else 32

    def scores(self, texts: Sequence[str]) -> Classified:
        """Score texts: probabilities, or plain outputs where the configuration asks for these; not finite if none."""
        pieces = [self._pieces(text) for text in texts]
        owner = np.repeat(np.arange(len(texts)), [len(pieces_of_text) for pieces_of_text in pieces])
        flat = [piece for pieces_of_text in pieces for piece in pieces_of_text]
        best = np.full((len(texts), len(self.labels)), -np.inf)
        with silence():
            for places, logits in self._read(flat):
                np.maximum.at(best, owner[places], self._applied(logits))  # a NaN stays one
        rounded = np.round(best, _DIGITS)
        cut = frozenset(at for at, pieces_of_text in enumerate(pieces) if len(pieces_of_text) > 1)
        return Classified({label: rounded[:, at].tolist() for at, label in enumerate(self.labels)}, cut)

    def _pieces(self, text: str) -> list[dict[str, list[int]]]:
        """A text as the model takes it, in pieces that fit its window; none where the tokenizer makes nothing of it."""
        encoded = self._tokenizer(
            text, truncation=True, max_length=self._window, stride=self._window // 8, return_overflowing_tokens=True
        )
        names = [name for name in self._tokenizer.model_input_names if name in encoded]
        return [{name: encoded[name][at] for name in names} for at, ids in enumerate(encoded["input_ids"]) if ids]

    def _read(self, pieces: Sequence[dict[str, list[int]]]) -> Iterator[tuple[list[int], Array]]:
        """Places of pieces, and their logits."""
        import torch  # noqa: PLC0415

        step = _STEP if self._together else 1
        lengths = [-(-len(piece["input_ids"]) // step) * step for piece in pieces]
        order = sorted(range(len(pieces)), key=lambda at: lengths[at])
        for places in self._groups(order, lengths):
            if self._together:
                rows = [pieces[at] for at in [*places, *places[:1] * (_ROWS - len(places))]]
                length = min(lengths[places[0]], self._window)
                padded = self._tokenizer.pad(
                    rows, padding="max_length", max_length=length, padding_side="right", return_tensors="pt"
                )
            else:
                padded = {name: torch.tensor([ids]) for name, ids in pieces[places[0]].items()}
            with torch.inference_mode():
                seen = self._model(**{name: ids.to(self._model.device) for name, ids in padded.items()})
            yield places, seen.logits[: len(places)].double().cpu().numpy()

    def _groups(self, order: Sequence[int], lengths: Sequence[int]) -> Iterator[list[int]]:
        """Pieces of one length, `_ROWS` at most; each by itself where they are read one by one."""
        limit, group = _ROWS if self._together else 1, list[int]()
        for at in order:
            if group and (len(group) == limit or lengths[at] != lengths[group[0]]):
                yield group
                group = []
            group.append(at)
        if group:
            yield group


def _function(config: Any) -> Any:
    """Function from logits to scores that the configuration names; else the one of transformers' own pipeline."""
    usual = "sigmoid" if config.num_labels == 1 else "softmax"
    kinds = {
        "regression": "none",
        "multi_label_classification": "sigmoid",
        "single_label_classification": "sigmoid" if config.num_labels == 1 else "softmax",
    }
    function = getattr(config, "function_to_apply", None) or kinds.get(config.problem_type or "", usual)
    functions = {"none": lambda x: x, "sigmoid": _sigmoid, "softmax": _softmax}
    if function not in functions:
        raise ModelError(
            f"The configuration applies {function!r} to what the model gives: known are {', '.join(functions)}."
        )
    return functions[function]


def _sigmoid(logits: Array) -> Array:
    small = np.exp(-np.abs(logits))
    return np.where(logits >= 0, 1 / (1 + small), small / (1 + small))


def _softmax(logits: Array) -> Array:
    powers = np.exp(logits - logits.max(axis=1, keepdims=True))
    return np.asarray(powers / powers.sum(axis=1, keepdims=True))


def _window(model: Any, tokenizer: Any, config: Any) -> int:
    """Most tokens that the model reads at once: RoBERTa and its kin count their positions from 2, and not from 0."""
    places = getattr(config, "max_position_embeddings", None)
    tables = [table for name, table in model.named_modules() if name.endswith("position_embeddings")]
    first = next((table.padding_idx + 1 for table in tables if getattr(table, "padding_idx", None) is not None), 0)
    limits = [tokenizer.model_max_length, places - first if places else None]
    return min((int(limit) for limit in limits if limit and 0 < limit < _LIMIT), default=_UNKNOWN)
