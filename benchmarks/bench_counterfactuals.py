"""How fast the pictures of counterfactual sets are listed, texts scored, and answers measured.

Run with `python -m benchmarks.bench_counterfactuals`, or with names of parts behind it: `list`, `lexical`, `words`,
`ranges`. What is listed has the numbers of SocialCounterfactuals, 170,832 images in 13,824 sets, its occupations made
up; texts and scores are drawn, of as many images.
"""

import sys
from collections.abc import Callable, Iterator, Mapping
from itertools import islice
from pathlib import Path
from tempfile import TemporaryDirectory
from time import perf_counter

import numpy as np
import polars as pl
import pyarrow as pa
import pyarrow.parquet as pq

from benchmarks._harness import Result, at_least, at_most, finish, fresh, peak_mb
from facevalue.annotations import scores
from facevalue.annotations.scorers import LexicalHostility
from facevalue.annotations.scoring import score_texts
from facevalue.answers import NA_DTYPE
from facevalue.measures.set_ranges import range_summary
from facevalue.protocol.study import Study
from facevalue.stimuli.counterfactual_datasets import SOCIAL_SUBSETS
from facevalue.stimuli.images import FileSource
from facevalue.stimuli.shards import read_shards
from facevalue.studies.counterfactuals.formulas import tail_shares
from facevalue.studies.counterfactuals.pictures import SetPictures, groups
from facevalue.studies.counterfactuals.settings import OPEN, SETTINGS
from facevalue.studies.counterfactuals.statistics import QUANTILES
from facevalue.studies.counterfactuals.texts import TextWords
from tests.studies.counterfactuals.answered import designed
from tests.studies.counterfactuals.published import PUBLISHED, published

IMAGES = 170_832
_TEXTS = 50_000  # that are made together
_VOCABULARY, _CHUNK = 50_000, 2**16
_SHARD = 2_500  # rows, about as many as in a published shard
_OPENINGS = ("A picture of a ", "A photo of a ", "An image of a ", "a ")
_STARTS = ("a_picture_of_", "a_photo_of_", "an_image_of_", "")


def _sets() -> Iterator[tuple[str, str, int, str]]:
    """Subset, file name, seed and what a caption begins with, of each set."""
    for subset, count in PUBLISHED.items():
        for number in range(count):
            start = _STARTS[number % 4] + subset.replace("-", "_")
            yield subset, f"{start}_occupation_{number % 156}", number, _OPENINGS[number % 4]


def write_shards(folder: str) -> None:
    """As published, of images that are 1,000 bytes each."""
    kind = pa.schema([("image", pa.struct([("bytes", pa.binary()), ("path", pa.string())])),
                      *((name, pa.string()) for name in ("caption", "counterfactual_set", "a1", "a2"))])  # fmt: skip
    rows = (
        {"image": {"bytes": bytes(1000), "path": None}, "caption": f"{said}{group} occupation {number % 156}",
         "counterfactual_set": f"{name}_0_{number}", "a1": None, "a2": None}
        for subset, name, number, said in _sets() for group in groups(subset)
    )  # fmt: skip
    shard = 0
    while some := list(islice(rows, _SHARD)):
        pq.write_table(pa.Table.from_pylist(some, kind), Path(folder, f"train-{shard:05}.parquet"), row_group_size=100)
        shard += 1


def write_files(folder: str) -> None:
    """As the authors' scripts write them, of empty images."""
    Path(folder, "images").mkdir()
    for subset in SOCIAL_SUBSETS:
        rows = []
        for own, name, number, said in _sets():
            if own != subset:
                continue
            row = {"seed": number, "p2p_threshold": 0.5, "cfg_scale": 9.5, "filename": name, "rank": 0}
            rows.append(row | {f"caption_{at}": f"{said}{g} occupation" for at, g in enumerate(groups(subset))})
            for at in range(len(groups(subset))):
                Path(folder, "images", f"{name}_0_{at}_{number}.jpg").touch()
        pl.DataFrame(rows).write_csv(Path(folder, f"metadata_{subset.replace('-', '_')}.csv"))


def listed(folder: str) -> tuple[float, float, float]:
    """Seconds for a list, seconds for the same from a stored manifest with its source, and MB."""
    pictures = SetPictures()
    options = pictures.with_paths({one.name: one.default for one in SETTINGS} | {"social": folder})
    start = perf_counter()
    table = pictures.table(options)
    took = perf_counter() - start
    assert table.height == IMAGES
    assert not pictures.left_out_of(table)
    start = perf_counter()
    assert len(pictures.sets(table).identities) == sum(PUBLISHED.values())
    pictures.source(table, options)
    return took, perf_counter() - start, peak_mb()


def shown(folder: str) -> tuple[float, float]:
    """Milliseconds to an image of a shard that is one row group, one after the other; and MB."""
    root = Path(folder)
    rows = read_shards(root, ["caption"]).with_columns(image="path")
    images = FileSource(rows, root)
    start = perf_counter()
    for image in rows["image"][-1_000:]:
        images.stimulus(0, {"image": image})
    return (perf_counter() - start), peak_mb()


def write_one_group(folder: str) -> None:
    """600 MB that don't compress."""
    rng = np.random.default_rng(1)
    images = pa.array([rng.bytes(30_000) for _ in range(20_000)], pa.binary())
    table = pa.table({"image": images, "caption": [""] * len(images)})
    pq.write_table(table, Path(folder, "one.parquet"), row_group_size=len(images))


def planned() -> float:
    """Seconds to list the paper's pictures, of which the numbers are known."""
    start = perf_counter()
    assert sum(published(subset).height for subset in PUBLISHED) == IMAGES
    return perf_counter() - start


def _list() -> list[Result]:
    results = []
    for what, write in (("Parquet shards", write_shards), ("flat files", write_files)):
        with TemporaryDirectory() as folder:
            fresh(write, folder)  # a process of its own: a child begins with its parent's peak memory
            took, again, memory = fresh(listed, folder)
        results += [
            at_most(f"{IMAGES:,} images listed from {what}", took, "s", 20.0),
            at_most(f"{what}: the same from a stored manifest", again, "s", 1.0),
            at_most(f"{what}: memory", memory, "MB", 500.0),
        ]
    with TemporaryDirectory() as folder:
        fresh(write_one_group, folder)
        each, memory = fresh(shown, folder)
    results += [
        Result("an image of 30 kB, of a row group of 600 MB", each, "ms"),
        at_most("memory for it", memory, "MB", 500.0),
    ]
    return [*results, at_most("the paper's images, to plan", fresh(planned), "s", 1.0)]


def _texts(count: int) -> Iterator[pl.Series]:
    """Texts of sixty words, no two alike, a few of the words hostile."""
    rng = np.random.default_rng(1)
    words = np.array([f"word{number}" for number in range(8_000)] + ["fool", "stupid"], dtype=object)
    for start in range(0, count, _TEXTS):
        drawn = words[rng.integers(0, len(words), (min(_TEXTS, count - start), 60))]
        yield pl.Series([" ".join(row) for row in drawn], dtype=pl.String)


def scored(count: int) -> tuple[float, float, float]:
    """Texts a second that `lexical` scores and stores, those that are found again, and MB."""
    start = perf_counter()
    assert sum(map(len, _texts(count))) == count
    making = perf_counter() - start
    with TemporaryDirectory() as folder:
        start = perf_counter()
        score_texts(Path(folder), LexicalHostility(), lambda: _texts(count))  # it goes through the texts twice
        took = perf_counter() - start - 2 * making
        start = perf_counter()
        (kept,) = scores.read(Path(folder))
        assert sum(kept.scores_of_texts(texts).drop_nulls().height for texts in _texts(count)) == count
        return count / took, count / (perf_counter() - start - making), peak_mb()


def _lexical() -> list[Result]:
    count = 1_000_000
    scoring, finding, memory = fresh(scored, count, cores=2)
    return [
        at_least(f"{count:,} texts scored and stored by lexical hostility", scoring, "texts/s", 20_000),
        Result("their scores found again", finding, "texts/s"),
        at_most("memory", memory, "MB", 1_000),
    ]


def _study(share: float) -> Study:
    """Ten open prompts with three replies each, about a share of the sets."""
    frames = [
        published(subset)
        .filter(pl.col("set").cast(pl.Int64) < count * share)
        .with_columns(
            image=pl.concat_str(pl.lit(subset), "image"),
            set=pl.concat_str(pl.lit(subset), "set"),
            occupation=pl.format("occupation {}", pl.col("set").cast(pl.Int64) % 156),
        )
        for subset, count in PUBLISHED.items()
    ]
    return designed(pl.concat(frames, how="diagonal"), list(OPEN)[:10])


def texts_measured(share: float) -> tuple[float, float, int]:
    """Seconds, MB and replies: words of groups and of lists, lengths and refusals, of replies of 60 bytes."""
    study, rng = _study(share), np.random.default_rng(1)
    design = study.design
    known = [f"w{number:05d}" for number in range(_VOCABULARY)]
    listed = list(TextWords().flags)
    known[: len(listed)] = listed
    odds = 1 / (np.arange(_VOCABULARY) + 20) ** 1.05
    drawn = rng.choice(_VOCABULARY, (200_000, 10), p=odds / odds.sum())
    pool = pl.Series([" ".join(known[at] for at in row) for row in drawn])

    def chunks() -> Iterator[pl.DataFrame]:
        for start in range(0, design.size, _CHUNK):
            trial = np.arange(start, min(start + _CHUNK, design.size))
            said = pool.gather(rng.integers(0, pool.len(), trial.size))
            read = {"open": pl.lit(10.0), "mass": pl.lit(1.0), "na": pl.lit(None, NA_DTYPE)}
            yield design.trials(trial).with_columns(said.alias("text"), repeat=pl.lit(0, pl.UInt8), **read)

    start = perf_counter()
    study.analyse({"model": chunks()})
    return perf_counter() - start, peak_mb(), design.size


def scores_measured() -> tuple[float, int]:
    """Seconds and scores: ranges, their tails and floors, and the groups of the largest."""
    rng = np.random.default_rng(1)
    shapes = [(sets, len(groups(subset)), 3) for subset, sets in PUBLISHED.items() for _ in range(11)]
    took, size = 0.0, 0
    for shape in shapes:
        scores = rng.beta(0.3, 6.0, shape)
        start = perf_counter()
        range_summary(scores, 0, QUANTILES)
        tail_shares(scores, 0)
        took, size = took + perf_counter() - start, size + scores.size
    return took, size


def _words() -> list[Result]:
    found = [fresh(texts_measured, share, cores=2) for share in (0.25, 0.5, 1.0)]
    took, memory, replies = found[-1]
    return [
        *(Result(f"words and lists of {size:,} replies", own, "s") for own, _, size in found[:-1]),
        at_most(f"words and lists of {replies:,} replies", took, "s", 120.0),
        at_most("times as long as half as many", took / found[-2][0], "times", 2.5),
        at_most("memory", memory, "MB", 2000.0),
    ]


def _ranges() -> list[Result]:
    took, scores = fresh(scores_measured, cores=2)
    return [at_most(f"ranges, tails and floors of {scores:,} scores", took, "s", 20.0)]


PARTS: Mapping[str, tuple[str, Callable[[], list[Result]]]] = {
    "list": ("listing of pictures", _list),
    "lexical": ("lexical hostility of texts", _lexical),
    "words": ("words of texts", _words),
    "ranges": ("ranges of scores", _ranges),
}


def main() -> None:
    """Measure, print, store: each part in a file of its own."""
    for name in sys.argv[1:] or PARTS:
        title, measure = PARTS[name]
        finish(f"counterfactuals-{name}", f"Counterfactual sets: {title}", measure())


if __name__ == "__main__":
    main()
