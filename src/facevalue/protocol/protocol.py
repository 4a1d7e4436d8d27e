"""Protocol: a published or own study before its user's choices, and how it becomes a `Study`."""

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field, replace
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

from facevalue.errors import DataError, FaceValueError, UnknownNameError, error_place
from facevalue.places import is_url
from facevalue.protocol.offers import Extras, Later, Recomputed
from facevalue.protocol.settings import (
    EXCLUDE,
    EXCLUSION,
    Options,
    Setting,
    check_together,
    defaults,
    seed_setting,
    temperature_setting,
)
from facevalue.types import OptionValue

if TYPE_CHECKING:  # help of a study has its protocol, and neither Polars nor NumPy
    import polars as pl

    from facevalue.measures.definitions import Measure
    from facevalue.prompts.variants import Variant
    from facevalue.protocol.asks import Ask
    from facevalue.protocol.page import Page
    from facevalue.protocol.stimuli import Stimuli
    from facevalue.protocol.study import Changes, Reading, Study, Watched
    from facevalue.statistics.estimand import Estimand
    from facevalue.statistics.sets import Sets
    from facevalue.stimuli.manifest_rows import Column

Build = Callable[[Mapping[str, OptionValue], "pl.DataFrame | None"], "Study"]
"""From a value for each setting, and perhaps a stored table of stimuli, to the study."""


@dataclass(frozen=True, kw_only=True)
class Protocol:
    """A study that can be asked for: what is shown, asked and estimated, or how to build it where that does not say it.

    Attributes
    ----------
    name, title, version:
        For the user; results of different versions are not mixed.
    citation, content_note:
        The paper it is from, if any; what readers should be prepared to see.
    needs, left_out:
        What the user brings, such as pictures; what of the paper it does not have. For the list of studies.
    settings:
        What it lets the user choose. Without `build` they follow from the declaration.
    stimuli, ask, estimands:
        What is shown, what is asked about it, what is estimated of the answers.
    estimands_of:
        Lists the estimands of a table of pictures, where they depend on which groups it has.
    measures:
        Definitions of measures in the words and with the sources of a paper, in place of ours of the same names.
    lead:
        Families of tests that the page's answer is about; all by default.
    shared_labels:
        Whether estimates of groups have the labels `dimension`, `group` and `other_group`, whatever the factor; else
        each factor of the pictures is a label of its own.
    tasks:
        Several questions of different kinds, by name, in place of `ask`.
    variants:
        Ways in which everything is asked a second time, such as in another wording, or without the picture: their
        changes are estimated.
    presets:
        Fields that another level of the setting `prompts` replaces, such as the question in the words of a paper's
        code.
    columns:
        Makes what it reads of a manifest of the user's own pictures; by default that follows from `stimuli`.
    counted_by:
        Columns by which plans count: those of pictures in blocks of their own, those of prompts in all of them.
    seeds, temperature, max_tokens:
        How replies are drawn, by default.
    reasks:
        How often a question is asked again whose reply cannot be read.
    titles:
        Wording of levels for people, by factor.
    page, page_of:
        Makes what its report shows, perhaps of a table of pictures; by default that follows from `estimands`, or is
        every measure.
    changes, reading, watched:
        How interventions change what is asked, how else replies are read, and what is watched in the answers; what
        `tasks` say by default.
    text:
        The file that it was read from, in canonical form; runs keep it. Empty for protocols in Python.
    build:
        Makes the study, where stimuli, ask and estimands do not say it.
    declaration:
        From a value for each setting to fields that are imported when a study is made, such as `stimuli`, `ask` and
        `estimands`: help needs none.
    extras:
        What it offers beside.

    Examples
    --------
    Who is invited to an interview, with and without a tattoo?

    >>> from facevalue.protocol import Ask, Portraits, yes_or_no
    >>> from facevalue.statistics import Estimand, Shift
    >>> hiring = Protocol(
    ...     name="hiring",
    ...     title="Who is invited?",
    ...     stimuli=Portraits(cues={"tattoos": ("facial-tattoo",)}, people="4"),
    ...     ask=Ask(prompts=("Would you invite this person to an interview?",), reply=yes_or_no()),
    ...     estimands=(Estimand(Shift(), by=("variation",)),),
    ... )
    >>> [setting.name for setting in hiring.settings]
    ['people', 'people_seed', 'seeds', 'temperature']
    """

    name: str
    title: str
    version: int = 1
    citation: str = ""
    content_note: str = ""
    needs: str = ""
    left_out: str = ""
    settings: tuple[Setting, ...] = ()
    stimuli: "Stimuli | None" = None
    ask: "Ask | None" = None
    tasks: "Mapping[str, Ask]" = field(default_factory=dict)
    estimands: "tuple[Estimand, ...]" = ()
    estimands_of: "Callable[[Sets], Iterable[Estimand]] | None" = None
    measures: "tuple[Measure, ...]" = ()
    lead: tuple[str, ...] = ()
    shared_labels: bool = False
    variants: "tuple[Variant, ...]" = ()
    presets: Mapping[str, Mapping[str, Any]] = field(default_factory=dict)
    columns: "Callable[[], tuple[Column, ...]]" = tuple
    counted_by: tuple[str, ...] = ()
    seeds: tuple[int, ...] = (1,)
    temperature: float = 1.0
    max_tokens: int = 16
    reasks: int = 0
    titles: Mapping[str, Mapping[str, str]] = field(default_factory=dict)
    page: "Callable[[], Page] | None" = None
    page_of: "Callable[[Sets], Page] | None" = None
    changes: "Changes | None" = None
    reading: "Reading | None" = None
    watched: "Watched | None" = None
    text: str = ""
    build: Build | None = None
    declaration: "Callable[[Options], Mapping[str, Any]] | None" = None
    extras: Extras = field(default_factory=Extras)

    def __post_init__(self) -> None:
        if self.variants:
            from facevalue.protocol.variants import check_variants  # noqa: PLC0415 - slow to import

            check_variants(self)
        if self.is_published:
            self._offer_exclusion()
            return
        if self.stimuli is None or (self.ask is None and not self.tasks):
            raise DataError(f"The study {self.name!r} says neither what is shown and asked nor how to build it.")
        if self.ask is not None and self.tasks:
            raise DataError(f"The study {self.name!r} asks one question, and several tasks besides: make it a task.")
        if not self.estimands and self.estimands_of is None:
            raise DataError(f"The study {self.name!r} estimates nothing: add an estimand, in a file [[estimand]].")
        if self.columns is tuple:
            from facevalue.protocol.compiler import columns_of  # noqa: PLC0415 - it needs Polars

            columns = partial(columns_of, self.stimuli, list(self.asks.values()), self.estimands)
            object.__setattr__(self, "columns", columns)
        levels = {"task": tuple(self.tasks)} if self.tasks else {}
        for factor in (factor for ask in self.asks.values() for factor in ask.named_factors):
            levels[factor.name] = tuple(dict.fromkeys((*levels.get(factor.name, ()), *factor.levels)))
        chosen = list(levels)
        if not self.settings:
            choices = (Setting(name, f"Only these levels of {name}.", [], levels=levels[name]) for name in chosen)
            draws = (ask.draws for ask in self.asks.values() if isinstance(ask.draws, Setting))
            sampling = (*dict.fromkeys(draws), seed_setting(*self.seeds), temperature_setting(self.temperature))
            object.__setattr__(self, "settings", (*self.stimuli.settings, *choices, *sampling))
        self._offer_exclusion()
        names = [setting.name for setting in self.settings]
        for name in chosen:
            if names.count(name) > 1:
                place = next((place for ask in self.asks.values() if (place := ask.place_of(name))), "")
                with error_place(place):
                    raise DataError(f"No factor can be called {name!r}, which is a setting of the study. Rename it.")

    def _offer_exclusion(self) -> None:
        """Let pictures that failed their checks be left out of a list of the user's own."""
        names = [setting.name for setting in self.settings]
        if "manifest" in names and EXCLUDE not in names:
            object.__setattr__(self, "settings", (*self.settings, EXCLUSION))

    @property
    def asks(self) -> "Mapping[str, Ask]":
        """Questions by the name of their task; one that stands alone has none."""
        return {"": self.ask} if self.ask is not None else self.tasks

    def options(self, given: Mapping[str, OptionValue]) -> dict[str, OptionValue]:
        """A value for each setting: the given ones, defaults for the others."""
        options = defaults(self.settings)
        for name in given:
            if name not in options:
                raise UnknownNameError(f"setting of {self.name}", name, options)
        return {**options, **given}

    def study(self, given: Mapping[str, OptionValue] | None = None, manifest: "pl.DataFrame | None" = None) -> "Study":
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
        DataError
            The pictures or settings don't make a study, or one of these has no effect beside the others.
        """
        options = self.options(given or {})
        if manifest is None and is_url(options.get("manifest")):
            from facevalue.store.remote import brought_list  # noqa: PLC0415 - help needs nothing of it

            options["manifest"] = str(brought_list(str(options["manifest"])))
        if manifest is not None:
            return self._build_study(options, manifest)
        options = _with_kind(options)
        try:
            return self._build_checked(options)
        except FaceValueError as error:
            place = self._place_of_mistake(options, str(error))
            error.args = (f"{place}: {error}",) if place else error.args
            raise

    def _place_of_mistake(self, options: Mapping[str, OptionValue], mistake: str) -> str:
        """Place in the narrowing file of a setting without which this is no mistake; empty if there is none."""
        for setting in self.settings:
            if setting.published is not None and options[setting.name] == setting.default:
                try:
                    self._build_checked({**options, setting.name: setting.published})
                except FaceValueError as error:
                    if str(error) == mistake:
                        continue
                return setting.place
        return ""

    def _build_checked(self, options: Mapping[str, OptionValue]) -> "Study":
        check_together(self.settings, options)
        return self._build_study(options, None)

    def _build_study(self, options: Mapping[str, OptionValue], manifest: "pl.DataFrame | None") -> "Study":
        # Nothing left out is no setting: runs are alike whether or not it was stated.
        options = {name: value for name, value in options.items() if name != EXCLUDE or value}
        if self.build is not None:
            study = self.build(options, manifest)
            return replace(study, extras=self.extras, page=study.page or self.page)
        from facevalue.protocol.compiler import compile_study  # noqa: PLC0415 - it needs this module

        protocol = self._complete(options)
        study = compile_study(protocol, options, manifest)
        if not protocol.variants:
            return study
        from facevalue.protocol.variants import in_variants  # noqa: PLC0415 - it needs this module

        return in_variants(protocol, study, options)

    @property
    def is_published(self) -> bool:
        """True if its parts are in a package of their own (`published`), and tested there."""
        return self.build is not None or self.declaration is not None

    def _complete(self, options: Options) -> "Protocol":
        """The protocol with all of its fields, and those that a preset replaces."""
        protocol = self if self.declaration is None else replace(self, declaration=None, **self.declaration(options))
        preset = str(options.get("prompts", ""))
        return replace(protocol, **protocol.presets[preset]) if preset in protocol.presets else protocol


def published(package: str, extras: Extras, **facts: Any) -> Protocol:
    """A protocol whose parts are in the modules of its package that each published one has, imported when asked for.

    They are `build` of `study`, unless `facts` have a `declaration`, `COLUMNS` of `pictures`, `PAGE` of `page`, and of
    what it offers `CALIBRATION`, `MAKING` and, unless `extras` says otherwise, `reproduce`. `facts`: whatever else a
    `Protocol` says of itself.
    """
    extras = replace(
        extras,
        calibrate=Later(package, "calibration").CALIBRATION,
        making=Later(package, "making").MAKING,
        reproduce=extras.reproduce or Recomputed(Later(package, "reproduce").reproduce),
    )
    return Protocol(
        build=None if "declaration" in facts else Later(package, "study").build,
        columns=Later(package, "pictures").COLUMNS,
        page=Later(package, "page").PAGE,
        extras=extras,
        **facts,
    )


def _with_kind(options: dict[str, OptionValue]) -> dict[str, OptionValue]:
    """The settings with the kind of pictures that a list of made ones states, where the user states none."""
    if options.get("kind") != "unstated" or not options.get("manifest"):
        return options
    from facevalue.stimuli.manifest import made_kind  # noqa: PLC0415 - it needs Polars

    return {**options, "kind": made_kind(Path(str(options["manifest"]))).value}
