"""Stimuli of both modalities: two faces in one picture, or a scene."""

from collections.abc import Collection, Mapping
from dataclasses import replace

from facevalue.stimuli.base import Kind, Source
from facevalue.stimuli.mixed import check_images
from facevalue.types import Stimulus


class Shown:
    """Shows pairs of faces side by side, pairs that are composed already, and scenes.

    Factors of a pair name its two groups as simulators know two people: `identity_1`, `identity_2` and `dimension`.

    `pairs`, `scenes`: what shows them; None where there are none. `of_scenes`: images of scenes; all others are of
    faces.
    """

    def __init__(self, pairs: Source | None, scenes: Source | None, of_scenes: Collection[str]) -> None:
        self._pairs = pairs
        self._scenes = scenes
        self._of_scenes = frozenset(of_scenes)

    @property
    def kind(self) -> Kind:
        """What kind of pictures these are: that of the pairs, where there are some."""
        source = self._pairs or self._scenes
        return Kind.UNSTATED if source is None else source.kind

    def stimulus(self, number: int, levels: Mapping[str, str | None]) -> Stimulus:
        """Return what is shown at these levels; nothing is decoded or drawn before it is looked at."""
        if levels.get("image_1") is None:
            image = levels["image"]
            stimulus = self._of(of_scene=True).stimulus(number, {"image": image})
            factors = {"image": image, "identity": image, "persona": levels["instance"]}
            return replace(stimulus, factors=factors)
        levels_of_pair = {**levels, "image": levels["image_1"]}
        factors = {
            "image": levels["pair"], "identity_1": levels["group_1"], "identity_2": levels["group_2"],
            "dimension": levels["attribute"], "cell": levels["cell"], "left": levels["left"],
        }  # fmt: skip
        return replace(self._of(of_scene=False).stimulus(number, levels_of_pair), factors=factors)

    def check(self, levels: Mapping[str, list[str | None]]) -> None:
        """Look at every picture that is shown, or named by `image`, each once."""
        check_images(lambda image: self._of(of_scene=image in self._of_scenes), levels)

    def _of(self, *, of_scene: bool) -> Source:
        source = self._scenes if of_scene else self._pairs
        assert source is not None
        return source
