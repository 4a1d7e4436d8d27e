"""Object detectors of transformers, from a folder on this machine."""

from collections.abc import Iterable, Iterator
from pathlib import Path

from PIL.Image import Image

from facevalue.errors import ModelError, UnknownNameError
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

    def scores(self, pictures: Iterable[Image]) -> Iterator[float]:
        """Highest score among what is detected as a person, 0 where nothing is; one picture after the other."""
        for persons in self.persons(pictures):
            yield max(persons, default=0.0)

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
