"""Keys of packets: what their items are, kept in the run and from those who review it, so that answers can be read."""

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

import polars as pl

from facevalue.annotations.review_cards import Packet, checks_of
from facevalue.errors import DataError, RunError
from facevalue.parquet import parquet_bytes, read_metadata, read_table
from facevalue.seals import digest_of
from facevalue.store.files import make_folder, write_whole
from facevalue.store.lock import RunLock

FOLDER = Path("annotations", "reviews")
"""Where keys lie in a run folder."""
_TEXTS = pl.List(pl.String())
SCHEMA = pl.Schema(
    {
        "item": pl.String(), "choices": _TEXTS, "read": pl.String(), "labels": _TEXTS, "stratum": pl.String(),
        "trial": pl.UInt64(), "repeat": pl.Int64(),
    }
)  # fmt: skip
"""Items: answers that there are; what the reader (a parser, a judge) made of it, and the label that each answer stands
for ("" for none), where a reader is reviewed; its kind, of which the sample was drawn; and which reply it is."""
_FACTS, _SEAL = "facevalue.review", "facevalue.sha256"


@dataclass(frozen=True)
class ReviewKey:
    """What is known of a packet.

    Attributes
    ----------
    packet, task:
        Name of the packet, and what people do.
    items:
        A row per item (`SCHEMA`), checks of attention among them; of a reply that was drawn several times, or that
        several trials have alike, a row each time.
    sizes:
        How many there are of each kind, those that were not drawn included; empty where no reader is reviewed.
    of:
        What is reviewed, where that is not the whole of the run: "sorted" or "texts" to a name.
    """

    packet: str
    task: str
    items: pl.DataFrame
    sizes: Mapping[str, int] = field(default_factory=dict)
    of: Mapping[str, str] = field(default_factory=dict)

    @classmethod
    def of_packet(
        cls,
        packet: Packet,
        hidden: pl.DataFrame | None = None,
        sizes: Mapping[str, int] | None = None,
        of: Mapping[str, str] | None = None,
    ) -> "ReviewKey":
        """The key of a packet; `hidden`: what raters are not told, columns of `SCHEMA`."""
        checks = {q.item: q.choices for card in checks_of(packet) for q in card.questions}
        choices = {**packet.choices(), **checks}
        items = pl.DataFrame({"item": list(choices), "choices": [list(texts) for texts in choices.values()]})
        if hidden is not None:
            items = items.join(hidden, on="item", how="left", maintain_order="left")
        missing = [pl.lit(None, kind).alias(name) for name, kind in SCHEMA.items() if name not in items.columns]
        items = items.with_columns(missing).select(SCHEMA.names()).cast(SCHEMA)
        return cls(packet.name, packet.task, items, sizes or {}, of or {})

    def choices(self) -> dict[str, Sequence[str]]:
        """Answers that there are, by item."""
        return dict(self.items.select("item", "choices").iter_rows())


def keep_key(folder: Path, key: ReviewKey) -> None:
    """Keep the key of a packet in a run folder."""
    with RunLock(folder):
        path = _path(folder, key.packet)
        make_folder(path.parent)
        facts = json.dumps({"task": key.task, "sizes": dict(key.sizes), "of": dict(key.of)})
        write_whole(path, parquet_bytes(key.items, {_FACTS: facts, _SEAL: _digest(key.items, facts)}))


def read_key(folder: Path, packet: str) -> ReviewKey:
    """Read the key of a packet.

    Raises
    ------
    DataError
        The packet is not of this run.
    RunError
        The key was damaged.
    """
    path = _path(folder, packet)
    if not path.is_file():
        raise DataError(f"Packet {packet} is not of {folder}: collect its answers in the run that it was made of.")
    try:
        items, metadata = read_table(path).select(SCHEMA.names()).cast(SCHEMA), read_metadata(path)
        facts = metadata.get(_FACTS, "")
        if metadata.get(_SEAL) != _digest(items, facts):
            raise DataError("its content is not what was written")
        fields = json.loads(facts)
    except (OSError, ValueError, DataError, pl.exceptions.PolarsError) as error:
        reason = (str(error) or type(error).__name__).splitlines()[0]
        raise RunError(f"{path} cannot be read: {reason}. The same `facevalue review` writes it again.") from error
    return ReviewKey(packet, fields["task"], items, fields["sizes"], fields["of"])


def _path(folder: Path, packet: str) -> Path:
    return folder / FOLDER / f"{packet}.parquet"


def _digest(items: pl.DataFrame, facts: str) -> str:
    return digest_of(items.write_json().encode() + facts.encode())
