"""Identity: how far the face of a picture is from that of its source, by itself and beside other people of its group.

Embeddings err by group and by cue: drawn glasses alone move dlib's by .4 to .6, where .6 is its author's limit between
people. A rank among others of the same group needs no limit.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import numpy.typing as npt
import polars as pl

from facevalue.errors import DataError, ModelError
from facevalue.inspection.expectation import Expectation
from facevalue.inspection.faces import Embedding, Face, FaceReader
from facevalue.inspection.per_picture import PerPicture
from facevalue.inspection.views import Box, PictureView
from facevalue.parquet import read_table
from facevalue.printable import first_line

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
    def of(cls, table: pl.DataFrame) -> "Peers":
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
        return cls.of(table)

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
