"""Stimuli of both modalities: two faces in one picture, or a scene."""

from collections.abc import Collection, Mapping
from dataclasses import replace

from facevalue.stimuli.base import Kind, Source
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
            assert self._scenes is not None
            image = levels["image"]
            stimulus = self._scenes.stimulus(number, {"image": image})
            factors = {"image": image, "identity": image, "persona": levels["instance"]}
            return replace(stimulus, factors=factors)
        assert self._pairs is not None
        levels_of_pair = {**levels, "image": levels["image_1"]}
        factors = {
            "image": levels["pair"], "identity_1": levels["group_1"], "identity_2": levels["group_2"],
            "dimension": levels["attribute"], "cell": levels["cell"], "left": levels["left"],
        }  # fmt: skip
        return replace(self._pairs.stimulus(number, levels_of_pair), factors=factors)

    def check(self, levels: Mapping[str, list[str | None]]) -> None:
        """Look at every picture that is shown, or named by `image`, each once."""
        image_names = dict.fromkeys(image for name in ("image", "image_1", "image_2") for image in levels.get(name, ()))
        for source, own in ((self._pairs, False), (self._scenes, True)):
            images: list[str | None] = [image for image in image_names if image and (image in self._of_scenes) is own]
            if source is not None and images:
                source.check({"image": images})
