"""Scenes without people that ModSCAN shows: the user's own, in a folder or a manifest, or drawn."""

from collections import Counter
from collections.abc import Sequence
from pathlib import Path

import numpy as np
import polars as pl

from facevalue.errors import DataError, SettingError
from facevalue.protocol.settings import Options, whole
from facevalue.protocol.settings import chosen as matching
from facevalue.protocol.sources import kind_of, own_manifest, root_of
from facevalue.protocol.study import LeftOut
from facevalue.stimuli.base import Kind, Source
from facevalue.stimuli.columns import Column
from facevalue.stimuli.drawn_workers import DrawnImages, TableDrawings
from facevalue.stimuli.folders import without_people
from facevalue.stimuli.images import FileSource
from facevalue.stimuli.noto.persona_scenes import persona_svg
from facevalue.stimuli.patterns import Levels, read_folder
from facevalue.studies.modscan.settings import SCENES, VISION, Selection, instances

PERSONA = "persona"
CHECK = ("dropped", "detector", "threshold")
"""Columns of scenes that were checked for people: how many were left out, by whom, and from which score."""
_SCENE = ("image", "path", PERSONA, "identity", "set")


def split_scenes(manifest: pl.DataFrame) -> tuple[pl.DataFrame, pl.DataFrame]:
    """Faces, or composed pairs of them; and scenes."""
    persona = pl.col(PERSONA).is_not_null() if PERSONA in manifest.columns else pl.lit(value=False)
    return manifest.filter(~persona), manifest.filter(persona)


def scene_source(options: Options, scenes: pl.DataFrame) -> Source:
    """Source that shows scenes."""
    if scenes["path"].null_count() < scenes.height:
        kind = Kind.SYNTHETIC if options["scenes"] else kind_of(options, Kind.SYNTHETIC)
        return FileSource(scenes, _place(options), kind)
    return drawn_scenes(scenes)


def drawn_scenes(scenes: pl.DataFrame) -> DrawnImages:
    """FaceValue's drawings of scenes; the number at the end of an image's name is the seed."""
    return DrawnImages(TableDrawings(scenes, ("image", PERSONA), _svg))


def _svg(image: str, persona: str) -> str:
    return persona_svg(persona, int(image.rpartition("/")[2]))


def _personas(chosen: Selection) -> list[str]:
    return [instance.name for instance in instances(PERSONA) if instance.name in chosen.instances]


def list_scenes(options: Options, chosen: Selection, columns: Sequence[Column]) -> pl.DataFrame:
    """The scenes that the settings name, so many of each persona; `columns`: what is read of a manifest.

    Raises
    ------
    DataError
        No scene is left, or they cannot be read.
    """
    personas = _personas(chosen)
    if not personas:
        raise DataError(
            "No scene is left: only persona traits have scenes, and none was chosen. Name some (--instances), or leave "
            "scenes out (--modality vision)."
        )
    listed = _listed_scenes(options, chosen, personas, columns)
    if listed is None:
        return _drawn_scenes(personas, chosen)
    most, sampled = _most_scenes(options, chosen, listed), []
    for at, name in enumerate(personas):
        scenes = listed.filter(pl.col(PERSONA) == name)
        rng = np.random.default_rng([chosen.scene_seed, at])
        sampled.append(scenes[np.sort(rng.permutation(scenes.height)[:most])])
    return pl.concat(sampled)


def _most_scenes(options: Options, chosen: Selection, scenes: pl.DataFrame) -> int:
    """Scenes of a persona at most: as many as were asked for; else the paper's of the user's own."""
    has_files = scenes.height and scenes["path"].null_count() < scenes.height
    return whole(options, "per_persona", 0) or (SCENES if has_files else chosen.scenes)


def _place(options: Options) -> Path:
    """The folder that paths of the user's own scenes are relative to."""
    return Path(str(options["scenes"])) if options["scenes"] else root_of(options)


def _drawn_scenes(personas: Sequence[str], chosen: Selection) -> pl.DataFrame:
    seeds = range(chosen.scene_seed * 1_000_000, chosen.scene_seed * 1_000_000 + chosen.scenes)
    rows = [(f"{name}/{seed}", None, name, f"{name}/{seed}", None) for name in personas for seed in seeds]
    return pl.DataFrame(rows, schema=dict.fromkeys(_SCENE, pl.String()), orient="row")


def _listed_scenes(
    options: Options, chosen: Selection, personas: Sequence[str], columns: Sequence[Column]
) -> pl.DataFrame | None:
    """The user's own scenes of these personas; of those that were checked the ones without people, and who looked.

    A run outlives the check, so that the manifest says what was left out. None where the user has no scenes.
    """
    folder, check = _place(options), str(options["people_check"])
    listed = split_scenes(own_manifest(options, columns))[1] if options["manifest"] else pl.DataFrame()
    if options["scenes"]:
        if listed.height:
            raise DataError("The manifest lists scenes: leave out --scenes, or list faces alone.")
        levels = {PERSONA: Levels({persona.name: () for persona in instances(PERSONA)})}
        listed = read_folder(folder, [f"{{{PERSONA}}}/{{n}}"], levels)
    elif listed.height:
        listed = listed.with_columns(_persona_names(listed[PERSONA]))
    elif check or (options["manifest"] and VISION not in chosen.modalities):
        raise SettingError(
            f"{'--people-check' if check else '--manifest'} has no effect: the manifest lists no scenes, which have a "
            f"{PERSONA!r}, such as geek."
        )
    else:
        return None
    frame = listed.filter(pl.col(PERSONA).is_in(personas)).select(_SCENE)
    if frame.is_empty():
        raise DataError(f"{options['scenes'] or options['manifest']}: has no scene of {', '.join(personas)}.")
    if not check:
        return frame
    clear = without_people(frame.rename({PERSONA: "scene"}), folder, Path(check))
    dropped = f"{clear.dropped:,} of {frame.height:,}"
    seals = dict(zip(CHECK, (dropped, clear.detector, clear.threshold), strict=True))
    return clear.table.rename({"scene": PERSONA}).with_columns(pl.lit(text).alias(name) for name, text in seals.items())


def _persona_names(spellings: pl.Series) -> pl.Series:
    """Personas in the names of Table 2, however they are spelled."""
    personas = [instance.name for instance in instances(PERSONA)]
    meant = {name: matching("persona trait", [name], personas)[0] for name in spellings.unique()}
    return spellings.replace_strict(meant, return_dtype=pl.String)


def lacking(options: Options, chosen: Selection, scenes: pl.DataFrame) -> tuple[LeftOut, ...]:
    """Personas of which there are fewer scenes than were asked for."""
    counts, most = Counter(scenes[PERSONA]), _most_scenes(options, chosen, scenes)
    return tuple(
        LeftOut(f"scenes of {name}", f"{counts[name]} of {most}.") for name in _personas(chosen) if counts[name] < most
    )
