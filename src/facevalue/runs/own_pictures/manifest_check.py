"""Checks of a manifest: everything that a run would refuse, or take and should not, told at once, by row."""

import unicodedata
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from difflib import get_close_matches
from pathlib import Path

import numpy as np
import polars as pl

from facevalue.design import Block
from facevalue.errors import DataError, FaceValueError
from facevalue.protocol.protocol import Protocol
from facevalue.protocol.sources import own_manifest
from facevalue.protocol.study import LeftOut, Study
from facevalue.runs.checks import check_pictures, check_shown
from facevalue.runs.requests import stimulus_columns
from facevalue.stimuli.folders import nearest_file
from facevalue.stimuli.images import FileSource, image_files, noting
from facevalue.stimuli.manifest import read_manifest
from facevalue.stimuli.manifest_rows import (
    FORM,
    Column,
    Fault,
    Faults,
    ListedPersons,
    ManifestError,
    PicturesError,
    misspelled_columns,
    persons_of,
)
from facevalue.stimuli.pixels import ManyFacts, PictureFacts, facts_of, lookalikes
from facevalue.types import OptionValue

# What a run would take of pictures, and people should know: copies, turned and moving ones, odd sizes and colours.


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
    yield from faults.list_faults()


def _odd(facts: PictureFacts) -> Iterator[str]:
    """Oddities of a picture by itself."""
    if facts.is_turned:
        yield "turned by its EXIF, which models may or may not heed: save it upright, as by `mogrify -auto-orient`"
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
    faults.add_rows("the same picture under two identities", twice & (several > 1), frame["path"])
    faults.add_rows("the same picture several times", twice & (several == 1), frame["path"])


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
    faults.add_rows(f"of another size or shape than most of its {unit}", odd, texts)


# What a study would do with the pictures of a manifest: which it would show, in what, and why it would not others.


_MOST = 2**20  # stimuli of a block that are gone through; of more, so many drawn at random
_BATCH = 2**16


@dataclass(frozen=True)
class BlockUse:
    """A block of a study: how many of the user's pictures it shows, and its requests."""

    name: str
    pictures: int
    requests: int


@dataclass(frozen=True)
class ManifestUse:
    """Use that a study would make of the pictures of a manifest, with its usual settings.

    Attributes
    ----------
    pictures, used:
        Pictures in the manifest, and those of them that the study would show.
    blocks:
        Its blocks.
    sample:
        What would be sampled, such as "6 people with 25 questions each"; empty where the study does not say.
    unused:
        Pictures that it would not show, by reason.
    left_out:
        What the study says of what it leaves out.
    alone:
        The option that asks about the user's pictures alone, where the study has blocks that show none of them.
    """

    pictures: int
    used: int
    blocks: tuple[BlockUse, ...]
    sample: str
    unused: tuple[Fault, ...]
    left_out: tuple[LeftOut, ...]
    alone: str = ""

    @property
    def requests(self) -> int:
        """Requests about the user's pictures."""
        return sum(block.requests for block in self.blocks if block.pictures)

    @property
    def requests_about_others(self) -> int:
        """Requests about none of them: drawings, or nothing at all."""
        return sum(block.requests for block in self.blocks if not block.pictures)


def use_of(study: Study, frame: pl.DataFrame, protocol: Protocol) -> ManifestUse:
    """Find out which pictures of a manifest the trials of a study show; no picture is opened.

    `frame`: the manifest as it was read, whether the study keeps all of it or not.

    Raises
    ------
    DataError
        Nothing of the study can be shown.
    """
    check_shown(study)
    paths = set(frame["path"])
    blocks, used = [], set[str]()
    for number, block in enumerate(study.design.blocks):
        with noting() as noted:
            for levels in _stimuli(study, number, block):
                study.source.check(levels)
        of_block = {path for _, path in noted} & paths
        used |= of_block
        blocks.append(BlockUse(block.name, len(of_block), len(block) * study.repeats))
    precision = study.planned.precision
    sample = ""
    if precision is not None and precision.clusters:
        sample = precision.sample_of(precision.clusters, precision.items)
    unused = _reasons(frame, used, protocol.columns()) if len(used) < len(paths) else ()
    alone = _picture_setting(study, [block.pictures > 0 for block in blocks])
    return ManifestUse(len(paths), len(used), tuple(blocks), sample, unused, study.planned.left_out, alone)


def warning_of(study: Study, protocol: Protocol) -> str:
    """Warning that a study passes over pictures of its manifest; empty if it has none, or shows all of it."""
    file = str(study.options.get("manifest") or "")
    if not file or study.planned.unshown:
        return ""
    use = use_of(study, own_manifest(study.options, ()), protocol)
    if use.used == use.pictures:
        return ""
    many = f"{use.pictures - use.used:,} of the" if use.used else "None of the"
    says = " would not be shown" if use.used else " would be shown"
    which = f"{many} {use.pictures:,} pictures of {Path(file).name}{says}"
    return f"{which} with these settings: `facevalue manifest check` says why."


def _picture_setting(study: Study, shows: Sequence[bool]) -> str:
    """The setting whose levels tell blocks that show the user's pictures from those that do not, as an option."""
    facts = [block.constants for block in study.design.blocks]
    for name in study.options:
        if not all(name in constants for constants in facts):
            continue
        levels: dict[bool, dict[str, None]] = {True: {}, False: {}}
        for constants, shows_any in zip(facts, shows, strict=True):
            levels[shows_any][constants[name]] = None
        if levels[True] and levels[False] and levels[True].keys().isdisjoint(levels[False]):
            return f"--{name.replace('_', '-')} {','.join(levels[True])}"
    return ""


def _stimuli(study: Study, number: int, block: Block) -> Iterator[dict[str, list[str | None]]]:
    """Levels of a block's stimuli, in batches."""
    stimuli = np.arange(block.stimuli, dtype=np.int64)
    if stimuli.size > _MOST:
        stimuli = np.sort(np.random.default_rng(0).choice(stimuli.size, _MOST, replace=False))
    columns = stimulus_columns(study)
    for start in range(0, stimuli.size, _BATCH):
        firsts = study.design.offsets[number] + stimuli[start : start + _BATCH] * block.prompts
        yield study.design.trials(firsts).select(columns).to_dict(as_series=False)


def _reasons(frame: pl.DataFrame, used: set[str], columns: Sequence[Column]) -> tuple[Fault, ...]:
    """Reasons why pictures are not shown, as far as rows tell: empty values, and levels unknown to the study."""
    factors = [column for column in columns if column.name not in FORM]
    present = [column.name for column in factors if column.name in frame.columns]
    unused = ~frame["path"].is_in(list(used))
    kinds = frame.filter(unused).select(present or "path").unique(maintain_order=True)
    reasons: dict[str, list[int]] = {}
    for number, levels in enumerate(kinds.iter_rows(named=True)):
        reasons.setdefault(_reason(levels, factors), []).append(number)
    kind_of_row = frame.join(kinds.with_row_index("kind"), on=present or "path", how="left", nulls_equal=True,
                             maintain_order="left")["kind"]  # fmt: skip
    faults = Faults()
    for reason, numbers in reasons.items():
        faults.add_rows(f"not shown: {reason}", unused & kind_of_row.is_in(numbers), frame["path"])
    return tuple(faults.list_faults())


def _reason(levels: Mapping[str, str | None], columns: Sequence[Column]) -> str:
    if columns and all(levels.get(column.name) is None for column in columns):
        return f"it has none of {', '.join(column.name for column in columns)}"
    for column in columns:
        if column.needed and column.name in levels and levels[column.name] is None:
            return f"{column.name!r} is empty"
    for column in columns:
        level, spellings = levels.get(column.name), column.levels()
        accepted = [*spellings, *(text for texts in spellings.values() for text in texts)]
        if level is not None and accepted and not column.role and level.casefold() not in map(str.casefold, accepted):
            near = get_close_matches(level, accepted, n=1, cutoff=0.6)
            return f"the study knows no {column.name} {level!r}{f'; is {near[0]!r} meant?' if near else ''}"
    return "there is nothing to compare it with"


MOST_HINTS = 20
"""Missing files for which the nearest one is looked for."""
MOST_LEVELS = 10_000
"""Columns with more levels than this are not searched for two spellings of one."""


@dataclass
class CheckedManifest:
    """Faults and facts of a manifest that was checked."""

    pictures: int = 0
    persons: ListedPersons | None = None
    """How many it names, if the file could be read."""
    columns: list[str] = field(default_factory=list)
    """Its factors."""
    faults: list[Fault] = field(default_factory=list)
    """Why a run would refuse it."""
    warnings: list[Fault] = field(default_factory=list)
    """What a run would take, and people should know."""
    use: ManifestUse | None = None
    """What the study would ask about them; None where it does not take the manifest, or none was named."""


def check_manifest(
    path: Path, protocol: Protocol | None = None, root: Path | None = None, *, pictures: bool = True
) -> CheckedManifest:
    """Read a manifest and its pictures as a run of the study with its usual settings does, or as any study would.

    `pictures`: whether they are looked at, too.
    """
    out = CheckedManifest()
    columns = protocol.columns() if protocol is not None else ()
    try:
        frame = read_manifest(path, root=root, columns=columns)
    except ManifestError as error:
        out.faults = list(error.faults)
        return out
    except DataError as error:
        out.faults = [Fault(str(error).rstrip("."))]
        return out
    out.pictures, out.persons = frame.height, persons_of(frame, columns)
    out.columns = frame.columns[4:]
    study = None
    if protocol is not None:
        try:
            study = study_of(protocol, path, root)
            out.use = use_of(study, frame, protocol)
            out.faults += _explain_unused(out.use, protocol)
        except ManifestError as error:
            out.faults += error.faults
        except FaceValueError as error:
            out.faults += list(_empty(frame, columns)) or [Fault(str(error).rstrip("."))]
    question = out.persons.question if out.persons is not None else ""
    out.warnings = [*([Fault(question)] if question else []), *_columns(frame, columns), *_spellings(frame)]
    if out.use is not None and out.use.used:
        out.warnings += out.use.unused
    if pictures:
        place = root if root is not None else path.parent
        out.faults += _unshowable(frame, study, place)
        images = frame if study is None else study.manifest
        seen = facts_of(image_files(frame, place), frame["path"].to_list())
        out.warnings += warnings_of(frame, images, seen)
    return out


def _explain_unused(use: ManifestUse, protocol: Protocol) -> Sequence[Fault]:
    """Reasons why a study whose trials show none of the pictures is not the one that was meant."""
    return () if use.used else (Fault(f"{protocol.name} would ask about none of these pictures"), *use.unused)


def _empty(frame: pl.DataFrame, columns: Sequence[Column]) -> Iterator[Fault]:
    """Columns that the study needs and that hold nothing; or that none of its columns holds anything."""
    filled = {name for name in frame.columns if frame[name].null_count() < frame.height}
    for column in columns:
        if column.needed and column.name in frame.columns and column.name not in filled:
            yield Fault(f"the column {column.name!r} ({column.meaning}) is empty in all rows")
    factors = [column.name for column in columns if column.name not in FORM]
    if factors and filled.isdisjoint(factors) and not any(column.needed for column in columns):
        yield Fault(f"nothing says what the pictures show: fill in some of {', '.join(factors)}")


def _unshowable(frame: pl.DataFrame, study: Study | None, root: Path) -> list[Fault]:
    """Pictures that cannot be shown: those of the study, or all where there is none."""
    try:
        if study is not None:
            check_pictures(study)
        else:
            FileSource(frame, root).check({"image": frame["image"].to_list()})
    except PicturesError as error:
        return [*_elsewhere(frame, root), *_by_row(error.problems, frame, root)]
    except FaceValueError as error:
        return [Fault(str(error).rstrip("."))]
    return []


def study_of(protocol: Protocol, path: Path, root: Path | None = None) -> Study:
    """Make the study with its usual settings and a manifest, as a run does."""
    options: dict[str, OptionValue] = {"manifest": str(path), **({"root": str(root)} if root else {})}
    return protocol.study(options)


def _elsewhere(frame: pl.DataFrame, root: Path) -> Iterator[Fault]:
    """The folder that paths are meant from, if that is not the one that they are read from."""
    path = frame["path"][0]
    if (root / path).exists():
        return
    for folder in (Path(), root.parent):
        if folder.resolve() != root.resolve() and (folder / path).is_file():
            yield Fault(f"paths are read from {root}, and are meant from {folder}: add --root {folder}")
            return


def _by_row(problems: Mapping[str, str], frame: pl.DataFrame, root: Path) -> list[Fault]:
    """Pictures that cannot be shown, by what is wrong with them; those of pairs are known by their path."""
    faults, rest, hints, paths = Faults(), dict(problems), MOST_HINTS, frozenset(frame["path"])
    for number, (image, path) in enumerate(frame.select("image", "path").iter_rows(), start=1):
        wrong = rest.get(image) or rest.get(path)
        if wrong is not None:
            near = nearest_file(root, path, paths) if hints > 0 and not (root / path).exists() else ""
            hints -= bool(near)
            text = f"{path}; is {near} meant?" if near else path
            faults.add(wrong.removeprefix(f"{path}: ").rstrip("."), number, text)
    return faults.list_faults()


def _columns(frame: pl.DataFrame, columns: tuple[Column, ...]) -> Iterator[Fault]:
    for name, meant in misspelled_columns(columns, frame.columns).items():
        yield Fault(f"the column {name!r} is read as a factor of its own; is {meant!r} meant?")
    names = [column.name for column in columns if column.name not in FORM]
    if names and not any(frame[name].null_count() < frame.height for name in frame.columns[4:]):
        yield Fault(f"no factors: pictures cannot be compared by anything. The study knows {', '.join(names)}")


def _spellings(frame: pl.DataFrame) -> Iterator[Fault]:
    """Levels that differ in case, blanks or the way in which their letters are stored."""
    for name in frame.columns:
        levels = [] if name in ("image", "path") else frame[name].drop_nulls().unique(maintain_order=True).to_list()
        spelled: dict[str, list[str]] = {}
        for level in levels[:MOST_LEVELS]:
            spelled.setdefault(" ".join(unicodedata.normalize("NFKC", level).casefold().split()), []).append(level)
        for same in spelled.values():
            if len(same) > 1:
                faults = Faults()
                written = " and ".join(map(repr, same))
                faults.add_rows(
                    f"{name!r} has {written}, which count as different", frame[name].is_in(same[1:]), frame[name]
                )
                yield from faults.list_faults()
