"""What a run would take of pictures, and people should know: copies, turned and moving ones, odd sizes and colours."""

from collections.abc import Iterator, Sequence

import polars as pl

from facevalue.stimuli.faults import Fault, Faults
from facevalue.stimuli.lookalikes import lookalikes
from facevalue.stimuli.picture_facts import ManyFacts, PictureFacts

TINY = 16
"""Side in pixels below which a picture shows nothing that could be judged."""
AREA, SHAPE = 2.0, 1.25
"""How many times larger, or wider for its height, a picture is than others of its unit to be named."""
_FOR_PRINT = ("CMYK", "YCCK")


def warnings_of(frame: pl.DataFrame, of_study: pl.DataFrame, seen: ManyFacts) -> Iterator[Fault]:
    """Say what is to be known of pictures.

    `frame`: the manifest; `of_study`: what the study has of it; `seen`: facts of the pictures of `frame`, row by row.
    """
    faults, paths = Faults(), frame["path"].to_list()
    _add_unshowable(faults, frame, of_study, seen.facts)
    for row, (path, facts) in enumerate(zip(paths, seen.facts, strict=True), start=1):
        for oddity in _odd(facts):
            faults.add(oddity, row, path)
    _add_copies(faults, frame, pl.Series([facts.digest for facts in seen.facts], dtype=pl.UInt64))
    _add_lookalikes(faults, frame, seen)
    _add_sizes(faults, frame, seen.facts)
    yield from faults.listed()


def _odd(facts: PictureFacts) -> Iterator[str]:
    """What is unusual of a picture by itself."""
    if facts.turned:
        yield "turned by its EXIF, which models may or may not heed: --fix writes upright copies and a list of them"
    if facts.moves:
        yield "an animation: models see its first frame, or what their servers make of it"
    if facts.deep:
        yield "16 bits a channel: models see the upper 8 of them, or what their servers make of it; save it with 8"
    if facts.clear:
        yield "transparent in places: models see white there, or what their servers put; save it without transparency"
    if facts.mode in _FOR_PRINT:
        yield "in colours for print (CMYK): models may see other colours, or refuse it; save it in RGB"
    if 0 < min(facts.width, facts.height) < TINY:
        yield f"less than {TINY} pixels wide or high: there is nothing to judge"


def _add_unshowable(
    faults: Faults, frame: pl.DataFrame, of_study: pl.DataFrame, facts_of_rows: Sequence[PictureFacts]
) -> None:
    """Name pictures that the usual settings do not show and no settings could."""
    left_out = set(frame["image"]) - set(of_study["image"]) if "image" in of_study.columns else set()
    if len(left_out) == frame.height:
        return
    rows = zip(frame["image"], frame["path"], facts_of_rows, strict=True)
    for row, (image, path, facts) in enumerate(rows, start=1):
        if image in left_out and facts.problem:
            faults.add(f"not shown with the usual settings, and cannot be: {facts.problem}", row, path)


def _add_copies(faults: Faults, frame: pl.DataFrame, digest: pl.Series) -> None:
    """Name pictures whose files hold the same."""
    several = frame.select(who=pl.col("identity").n_unique().over(digest))["who"]
    twice = digest.is_duplicated() & (digest != 0)
    faults.where("the same picture under two identities", twice & (several > 1), frame["path"])
    faults.where("the same picture several times", twice & (several == 1), frame["path"])


def _add_lookalikes(faults: Faults, frame: pl.DataFrame, seen: ManyFacts) -> None:
    """Name pictures that are as good as identical, those of one unit apart.

    Between an edited picture and its base little is expected to differ, but not nothing.
    """
    rows = frame.select("path", "identity", "set").rows()
    for earlier, later in lookalikes(seen.views):
        if seen.facts[earlier].digest == seen.facts[later].digest:
            continue
        (path, identity, of_set), (other_path, other_identity, other_set) = rows[later], rows[earlier]
        same = "identity" if identity == other_identity else "set" if of_set is not None and of_set == other_set else ""
        alike = f"as good as identical to another picture of its {same}: can what differs be seen?"
        apart = "as good as identical to a picture of another identity"
        faults.add(alike if same else apart, later + 1, f"{path} and {other_path}")


def _add_sizes(faults: Faults, frame: pl.DataFrame, facts_of_rows: Sequence[PictureFacts]) -> None:
    """Name pictures that are much larger or of another shape than most of their set, or of their identity."""
    wide, high = (pl.Series([float(getattr(f, name)) for f in facts_of_rows]) for name in ("width", "height"))
    across = pl.Series([facts.turn >= 5 for facts in facts_of_rows])
    table = frame.select(unit=pl.coalesce("set", "identity"), path="path").with_columns(wide=wide, high=high)
    upright = table.with_columns(
        wide=pl.when(across).then("high").otherwise("wide"), high=pl.when(across).then("wide").otherwise("high")
    ).with_columns(area=pl.col("wide") * pl.col("high"), shape=pl.col("wide") / pl.col("high"))
    readable = pl.col("area") > 0
    usual = upright.with_columns(
        pl.col(name).filter(readable).median().over("unit").alias(f"usual {name}") for name in ("area", "shape")
    )
    far = [
        pl.max_horizontal(pl.col(name) / pl.col(f"usual {name}"), pl.col(f"usual {name}") / pl.col(name)) >= limit
        for name, limit in (("area", AREA), ("shape", SHAPE))
    ]
    odd = usual.select((readable & pl.any_horizontal(far)).alias("odd"))["odd"]
    texts = usual.select(
        pl.format("{} ({} x {})", "path", pl.col("wide").cast(pl.Int64), pl.col("high").cast(pl.Int64)).alias("text")
    )["text"]
    unit = "set" if frame["set"].null_count() < frame.height else "identity"
    faults.where(f"of another size or shape than most of its {unit}", odd, texts)
