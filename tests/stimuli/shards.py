"""Shards as the library `datasets` writes them: an image is a struct of bytes and path, and metadata say so."""

import io
import json
from collections.abc import Mapping, Sequence
from pathlib import Path

import PIL.Image
import pyarrow as pa
import pyarrow.parquet as pq

Row = Mapping[str, str | bytes | None]
_STRUCT = pa.struct([("bytes", pa.binary()), ("path", pa.string())])


def png(number: int) -> bytes:
    """A small picture, another one for each number."""
    file = io.BytesIO()
    PIL.Image.new("RGB", (8, 8), (number % 256, number // 256 % 256, 0)).save(file, "PNG")
    return file.getvalue()


def write_shard(path: Path, rows: Sequence[Row], *, group: int = 100, plain: bool = False) -> Path:
    """Write rows with an `image` and texts; `plain` ones have bytes alone as their image."""
    images = [row["image"] for row in rows]
    image = (
        pa.array(images, pa.binary())
        if plain
        else pa.array([{"bytes": data, "path": f"{at}.png"} for at, data in enumerate(images)], _STRUCT)
    )
    names = [name for name in rows[0] if name != "image"]
    columns = {"image": image} | {name: pa.array([row[name] for row in rows], pa.string()) for name in names}
    features = {"image": {"_type": "Image"}} | {name: {"dtype": "string", "_type": "Value"} for name in names}
    said = {"huggingface": json.dumps({"info": {"features": features}})}
    path.parent.mkdir(parents=True, exist_ok=True)
    pq.write_table(pa.table(columns).replace_schema_metadata(said), path, row_group_size=group)
    return path
