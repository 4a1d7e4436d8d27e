"""How fast a training corpus is read and counted, and whether memory stays flat with its size.

Run with `python -m benchmarks.bench_corpus` (`make bench-corpus`). One core, in seconds of processor time, so that
other work on the machine matters less; conversations like LLaVA's, one text in twenty naming an occupation or
descriptor.
"""

import json
from collections import Counter
from pathlib import Path
from tempfile import TemporaryDirectory
from time import process_time

import numpy as np
import polars as pl
import pyarrow as pa
import pyarrow.parquet as pq

from benchmarks._harness import Result, at_least, at_most, finish, fresh, peak_mb
from facevalue.studies.modscan.corpus import GENDERS, builtin, corpus_texts

SIZES = (64, 256, 1024)
RATE, GROWTH = 50, 50
RECORDS = 20_000
FORMS = {"conversations": "JSON Lines, conversations", "text": "JSON Lines, texts", "parquet": "Parquet, texts"}


def sentences(count: int) -> list[str]:
    """Sentences of 25 words; every third has a word of a gender, every twentieth an instance."""
    rng = np.random.default_rng(1)
    letters = np.array(list("etaoinshrdlucmfwygpbvk"))
    known = np.array(["".join(rng.choice(letters, rng.integers(2, 9))) for _ in range(5_000)])
    drawn = rng.choice(known, (count, 25)).astype(object)
    gendered = ["he", "she", "his", "her", "man", "woman", "boy", "girl"]
    drawn[::3, 7] = [gendered[number % len(gendered)] for number in range(len(drawn[::3]))]
    instances = [instance for _, instance in builtin().instances]
    drawn[::20, 3] = [instances[number % len(instances)] for number in range(len(drawn[::20]))]
    return [" ".join(row) for row in drawn]


def write(folder: Path, form: str, megabytes: int) -> Path:
    """A file of about so many megabytes, the same records again and again."""
    said = sentences(RECORDS)
    if form == "parquet":
        path, table = folder / "corpus.parquet", pa.table({"text": said})
        with pq.ParquetWriter(path, table.schema, compression="zstd") as writer:
            for _ in range(megabytes * 10**6 // table.nbytes):
                writer.write_table(table)
        return path
    rows = (
        {
            "id": str(number),
            "conversations": [{"from": "human", "value": "<image>\nWhat is there?"}, {"from": "gpt", "value": text}],
        }
        if form == "conversations"
        else {"id": number, "text": text}
        for number, text in enumerate(said)
    )
    block = "".join(f"{json.dumps(row)}\n" for row in rows).encode()
    path = folder / "corpus.jsonl"
    with path.open("wb") as file:
        for _ in range(megabytes * 10**6 // len(block)):
            file.write(block)
    return path


def counted(path: str, column: str) -> tuple[float, float, int]:
    """Seconds of processor time, peak memory in MB, and how many words were found."""
    builtin().add(pl.Series(["a nurse"]))  # what is loaded when it is first needed
    start = process_time()
    counts, passed = builtin(), Counter[str]()
    for texts in corpus_texts(Path(path), column, passed):
        counts.add(texts)
    assert len(passed) == 1  # of records, none passed over
    return process_time() - start, peak_mb(), sum(counts.words[gender] for gender in GENDERS)


def main() -> None:
    """Measure, print, store."""
    results: list[Result] = []
    for form, name in FORMS.items():
        peaks = []
        for megabytes in SIZES:
            with TemporaryDirectory() as folder:
                path = write(Path(folder), form, megabytes)
                column = "conversations" if form == "conversations" else "text"
                took, peak, words = fresh(counted, str(path), column)
            assert words > 0
            peaks.append(peak)
            results.append(at_least(f"{name}: {megabytes} MB", megabytes / took, "MB/s", RATE))
            results.append(Result(f"{name}: {megabytes} MB, peak memory", peak, "MB"))
        more = f"{name}: more memory from {SIZES[0]} to {SIZES[-1]} MB"
        results.append(at_most(more, peaks[-1] - peaks[0], "MB", GROWTH))
    finish("corpus", "Training corpora: one core, processor time", results)


if __name__ == "__main__":
    main()
