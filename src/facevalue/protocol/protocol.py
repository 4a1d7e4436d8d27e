"""Protocol: a published or own study before its user's choices, and how it becomes a `Study`."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field

import polars as pl

from facevalue.errors import UnknownNameError
from facevalue.protocol.page import Page
from facevalue.protocol.settings import Setting
from facevalue.protocol.study import Study
from facevalue.types import OptionValue

Build = Callable[[Mapping[str, OptionValue], pl.DataFrame | None], Study]
"""From a value for each setting, and perhaps a stored table of stimuli, to the study."""


@dataclass(frozen=True, kw_only=True)
class Protocol:
    """A study that can be asked for.

    Attributes
    ----------
    name, title:
        For the user.
    settings:
        What it lets the user choose.
    page:
        What its report shows.
    build:
        Makes the study.
    """

    name: str
    title: str
    settings: tuple[Setting, ...] = ()
    page: Page = field(default_factory=Page)
    build: Build

    def options(self, given: Mapping[str, OptionValue]) -> dict[str, OptionValue]:
        """A value for each setting: the given ones, defaults for the others.

        Raises
        ------
        UnknownNameError
            There is no such setting.
        """
        defaults = {setting.name: setting.default for setting in self.settings}
        for name in given:
            if name not in defaults:
                raise UnknownNameError(f"setting of {self.name}", name, defaults)
        return {**defaults, **given}

    def study(self, given: Mapping[str, OptionValue] | None = None, manifest: pl.DataFrame | None = None) -> Study:
        """Make the study; settings that are not given take their defaults.

        Parameters
        ----------
        given:
            The user's choices.
        manifest:
            A stored table of stimuli, so that nothing is drawn or read anew.

        Raises
        ------
        UnknownNameError
            There is no such setting.
        """
        return self.build(self.options(given or {}), manifest)
