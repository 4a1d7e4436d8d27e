"""Scores of texts that a run folder keeps: each distinct text once by each scorer, found again by its hash.

`annotations/NAME/` holds a header, which says whose scores they are, and files of scores. A file is whole or absent;
its name holds the digest of its bytes, and its metadata that of the header, so that neither damage nor a file of
another scorer passes for scores. Where a text has no score there is a reason instead.
"""

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from hashlib import blake2b
from pathlib import Path
from typing import TypeAlias

import numpy as np
import numpy.typing as npt
import polars as pl
import tomli_w

from facevalue.errors import DataError, RunError
from facevalue.parquet import parquet_bytes, read_metadata, read_table
from facevalue.seals import SHARD, check_shard, digest_of, sealed, unsealed
from facevalue.store.files import make_folder, write_whole
from facevalue.store.journal import left_over
from facevalue.untrusted_files import read_file, to_toml

ANNOTATIONS = Path("annotations")
"""Folder of scores and other annotations in a run folder, each in a folder of its own."""
HEADER = "scorer.toml"
Hashes: TypeAlias = npt.NDArray[np.uint64]

_OF = "facevalue.scorer"
_FORMAT = 1
_MOST = 2**20  # bytes of a header
_SCORE = "score: "  # before a label, in files


@dataclass(frozen=True)
class Scores:
    """Scores of the texts of a run by one scorer.

    Attributes
    ----------
    name:
        What they are called in the run: the name of their folder.
    scorer, version, digest:
        Who scored: what the user typed, its version, and a digest of its weights, list or file.
    labels:
        What is scored, such as "toxicity".
    folder:
        Where they lie.
    """

    name: str
    scorer: str
    version: str
    digest: str
    labels: tuple[str, ...]
    folder: Path

    def scores_of_texts(self, texts: pl.Series) -> pl.DataFrame:
        """Scores of texts, null where there is none: a column per label, in the order of the texts."""
        return self.scores_of_hashes(present(texts))

    def scores_of_hashes(self, hashes: pl.Series) -> pl.DataFrame:
        """The same by the texts' hashes (`present`)."""
        rows = hashes.alias("text").to_frame().join(self._table, on="text", how="left", maintain_order="left")
        return rows.select(pl.col(f"{_SCORE}{label}").alias(label) for label in self.labels)

    def knows(self, texts: pl.Series) -> pl.Series:
        """Return whether each text was scored, or failed; null for none."""
        return present(texts).is_in(self._table["text"].implode())

    @property
    def by(self) -> tuple[str, ...]:
        """Identity of scorer and labels, wherever its files lie: scores of two runs go together if this is the same."""
        return self.scorer.partition("/")[0], self.version, self.digest, *self.labels

    @property
    def hashes(self) -> Hashes:
        """Hashes of all texts that were scored or failed, in ascending order."""
        return self._table["text"].to_numpy()

    @property
    def scored(self) -> int:
        """Texts with a score for every label."""
        return self._table.height - self.failed

    @property
    def failed(self) -> int:
        """Texts that lack a score."""
        return int(self._table["reason"].is_not_null().sum())

    @property
    def cut(self) -> int:
        """Texts that are longer than what the scorer reads at once: scored in pieces, or in part."""
        return int(self._table["cut"].sum())

    @property
    def reasons(self) -> Mapping[str, int]:
        """Reasons why texts lack a score, with the number of texts each."""
        return Counter(self._table["reason"].drop_nulls().sort().to_list())

    @cached_property
    def _table(self) -> pl.DataFrame:
        digest = seal(self.folder)
        tables = [self._part(path, digest) for path in sorted(self.folder.iterdir()) if SHARD.fullmatch(path.name)]
        waiting = left_over(self.folder, digest, self.schema)  # what a killed process had no time to put into a file
        tables += [] if waiting is None else [waiting]
        return pl.concat([pl.DataFrame(schema=self.schema), *tables]).unique("text", keep="first").sort("text")

    def _part(self, path: Path, digest: str) -> pl.DataFrame:
        try:
            check_shard(path)
            if read_metadata(path).get(_OF) != digest:
                raise DataError("it is of another scorer")
            rows = read_table(path, self.schema.names()).cast(self.schema)
            values = rows.select(pl.col(pl.Float64).is_finite() | pl.col(pl.Float64).is_null())
            if rows.select("text", "cut").null_count().sum_horizontal().item() or not all(c.all() for c in values):
                raise DataError("it holds what no scorer gives")
        except (OSError, DataError, pl.exceptions.PolarsError) as error:
            reason = (str(error).splitlines() or [type(error).__name__])[0].rstrip(".")
            raise RunError(
                f"{path} cannot be used: {reason}. Remove it, and the same `facevalue annotate` scores its texts again."
            ) from error
        return rows

    @property
    def schema(self) -> pl.Schema:
        """Columns of the files."""
        labels = dict.fromkeys((f"{_SCORE}{label}" for label in self.labels), pl.Float64)
        return pl.Schema({"text": pl.UInt64, **labels, "reason": pl.String, "cut": pl.Boolean})


def present(texts: pl.Series) -> pl.Series:
    """Hash each text: 64 bits of BLAKE2b of its UTF-8, the same in every version; null for none.

    Examples
    --------
    >>> present(pl.Series(["A calm person.", None])).to_list()
    [2615035479088863511, None]
    """
    existing = texts.drop_nulls()
    raw = b"".join([blake2b(text.encode(), digest_size=8).digest() for text in existing])
    hashes = pl.Series(np.frombuffer(raw, "<u8"), dtype=pl.UInt64)
    return hashes if len(existing) == len(texts) else hashes.gather(_places(texts.is_not_null()))


def _places(is_present: pl.Series) -> pl.Series:
    """Number of each present row among these; null for others."""
    return pl.select(pl.when(is_present).then(is_present.cum_sum() - 1)).to_series().cast(pl.UInt32)


def columns(scores: Sequence[Scores], texts: pl.Series) -> pl.DataFrame:
    """Scores of texts by several scorers: a column `score: NAME/LABEL` for each label of each."""
    hashes = present(texts) if scores else texts
    return pl.DataFrame(
        [
            column.alias(f"score: {scored.name}/{column.name}")
            for scored in scores
            for column in scored.scores_of_hashes(hashes)
        ]
    )


def read(folder: Path) -> list[Scores]:
    """Read the scores of the texts of a run folder, in the order of the scorers' names; files are read when needed."""
    place = folder / ANNOTATIONS
    return [_read(path.parent) for path in sorted(place.glob(f"*/{HEADER}"))]


def _read(folder: Path) -> Scores:
    path = folder / HEADER
    try:
        header = to_toml(unsealed(read_file(path, _MOST, "header of scores"), str(path)), str(path))
    except DataError as error:
        raise RunError(str(error)) from None
    form, labels = header.get("format"), header.get("labels")
    if form != _FORMAT:
        raise RunError(f"{path} has format {form!r}; this FaceValue reads {_FORMAT}. Use the one that wrote it.")
    scorer, version, digest = (header.get(name) for name in ("scorer", "version", "digest"))
    written = (scorer, version, digest, *labels) if isinstance(labels, list) and labels else (None,)
    if not all(isinstance(text, str) for text in written):
        raise RunError(f"{path} is not as FaceValue writes it. Remove {folder}, and annotate the run again.")
    return Scores(folder.name, str(scorer), str(version), str(digest), tuple(dict.fromkeys(labels or ())), folder)


def seal(folder: Path) -> str:
    """Digest of the header, by which files and journals say whose scores they hold."""
    return digest_of((folder / HEADER).read_bytes())


def begin(scores: Scores) -> None:
    """Write the header of scores that are new."""
    facts = {name: getattr(scores, name) for name in ("scorer", "version", "digest")}
    make_folder(scores.folder)
    document = {"format": _FORMAT, **facts, "labels": list(scores.labels)}
    write_whole(scores.folder / HEADER, sealed(tomli_w.dumps(document).encode()))


def add(scores: Scores, rows: pl.DataFrame) -> Path:
    """Store rows of `Scores.schema` in a file of their own."""
    data = parquet_bytes(rows, {_OF: seal(scores.folder)})
    numbers = (int(match[1]) for path in scores.folder.iterdir() if (match := SHARD.fullmatch(path.name)))
    name = f"part-{max(numbers, default=0) + 1:08d}-{digest_of(data)}.parquet"
    write_whole(scores.folder / name, data)
    return scores.folder / name
