"""Makings by workers of a cluster: what each needs to make a generator, an editor and an album of its own."""

import json
from dataclasses import dataclass, field

from facevalue.errors import SettingError
from facevalue.generators.base import GeneratorOptions
from facevalue.generators.registry import DRAWN, kind_of, load
from facevalue.protocol.making import existing_paths
from facevalue.protocol.making_study import MADE_FOR, picture_plan
from facevalue.protocol.settings import defaults
from facevalue.protocol.study import Study
from facevalue.runs.making_model import EarlierPictures, PictureModel, earlier_pictures
from facevalue.runs.mirror import mirrored
from facevalue.runs.prepared_making import check_abilities
from facevalue.stimuli.base import Kind, Source
from facevalue.store.album import album_at
from facevalue.store.manifest import CHOICES
from facevalue.store.objects import Objects
from facevalue.store.outcome_notes import OutcomeNotes
from facevalue.studies.offers import making_offer


@dataclass(frozen=True, slots=True)
class MakingJob:
    """Who makes and edits pictures, and where they go.

    Attributes
    ----------
    place:
        URL of the pictures.
    generator, editor:
        Names of both; no editor where the generator edits, too.
    generator_options, editor_options:
        How to reach or load them.
    """

    place: str
    generator: str
    generator_options: GeneratorOptions = field(default_factory=GeneratorOptions)
    editor: str | None = None
    editor_options: GeneratorOptions = field(default_factory=GeneratorOptions)

    @property
    def name(self) -> str:
        """What both are called together."""
        return " + ".join(dict.fromkeys(filter(None, (self.generator, self.editor))))

    @property
    def kinds(self) -> tuple[Kind | None, Kind | None]:
        """What kind of pictures both make, which must be known before a worker has loaded them."""
        return kind_of(self.generator), kind_of(self.editor or self.generator)

    def check(self, study: Study) -> None:
        """Refuse what workers on other machines cannot do.

        Raises
        ------
        SettingError
            Pictures lie on this machine, or are drawn for a study that is a file.
        """
        if existing_paths(study.manifest):
            raise SettingError("Pictures that exist lie on this machine: edit them without --cluster.")
        if DRAWN in (self.generator, self.editor) and making_offer(str(study.options[MADE_FOR])) is None:
            raise SettingError("Workers of a cluster have no drawings of a study that is a file: leave out --cluster.")

    def model(self, study: Study, run: str) -> PictureModel:
        """The model of one worker; `run` is the URL of the making's run.

        Raises
        ------
        ModelSpecError, UnknownNameError
            There is no such generator or editor, or it cannot make or edit what is wanted.
        """
        drawings = _drawings(study) if DRAWN in (self.generator, self.editor) else None
        generator = load(self.generator, self.generator_options, drawings)
        editor = generator if self.editor is None else load(self.editor, self.editor_options, drawings)
        check_abilities(picture_plan(study), generator, editor)

        def earlier() -> EarlierPictures:
            return earlier_pictures(mirrored(run), {})

        notes = OutcomeNotes(Objects.at(run))
        return PictureModel(study.manifest, generator, editor, album_at(self.place), earlier, notes)


def _drawings(study: Study) -> Source | None:
    """FaceValue's drawings of what a study has made, whose plan is put together again."""
    offer, texts = making_offer(str(study.options[MADE_FOR])), study.options[CHOICES]
    if offer is None or not isinstance(texts, list):
        raise SettingError(f"Nothing is known of the pictures of {study.options[MADE_FOR]}.")
    choices = {name: json.loads(value) for name, _, value in (str(text).partition("=") for text in texts)}
    return offer.plan({**defaults(offer.settings), **choices}).drawn
