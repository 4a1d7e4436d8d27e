"""Study: a protocol with its settings chosen, rehearsed where it is short, and shown in notebooks."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from html import escape
from os import PathLike, fspath
from typing import TYPE_CHECKING

import numpy as np
import polars as pl

from facevalue import studies
from facevalue.arguments import check_arguments
from facevalue.errors import FaceValueError, UnknownNameError
from facevalue.models.base import IMAGE_TOKENS
from facevalue.printable import html_table
from facevalue.prompts.variants import Variant
from facevalue.protocol import study as compiled_study
from facevalue.protocol.protocol import Protocol
from facevalue.protocol.settings import to_setting_type
from facevalue.protocol.toml_tables import find_variants
from facevalue.protocol.variants import add_interventions
from facevalue.report.blocks.content import data_uri
from facevalue.runs.plan import Plan
from facevalue.runs.plan import plan as make_plan
from facevalue.runs.requests import RequestBuilder
from facevalue.store.files import ROOTS
from facevalue.types import OptionValue

if TYPE_CHECKING:
    from facevalue.measures.families import Preregistration


def rehearse(
    protocol: Protocol, study: "compiled_study.Study", *, exact: bool = False, declared: "Preregistration | None" = None
) -> None:
    """Rehearse a declared study, as of `report.rehearsal.rehearse`.

    The published ones are not, as what they declare is tested with the package: even a few of their answers have so
    many estimates that it takes seconds.
    """
    if not protocol.is_published:
        from facevalue.report import rehearsal  # noqa: PLC0415 - slow to import

        rehearsal.rehearse(protocol, study, exact=exact, declared=declared)


class Study:
    """A protocol with its settings chosen: what `run` asks. Made by `study`, never by hand.

    Examples
    --------
    >>> import facevalue as fv
    >>> study = fv.study("stylisticbias", faces="1M,1F", attributes="eyewear")
    >>> study
    Study('stylisticbias', trials=600, seeds=3, pictures=6, faces='1M,1F', attributes=['eyewear'])
    >>> study.title
    'StylisticBias: one face, one attribute changed. Which cue moves the judgment, and how far?'
    """

    def __init__(self, protocol: Protocol, compiled: compiled_study.Study) -> None:
        self.protocol = protocol
        """The declaration."""
        self.compiled = compiled
        """What the engine makes of declaration and settings; may change from version to version."""

    @property
    def name(self) -> str:
        """Short name.

        Examples
        --------
        >>> import facevalue as fv
        >>> fv.study("visbias", task="mcq").name
        'visbias'
        """
        return self.compiled.name

    @property
    def title(self) -> str:
        """Title for people.

        Examples
        --------
        >>> import facevalue as fv
        >>> fv.study("vignette").title
        'VIGNETTE: two people in one picture. Who is seen, thought capable, stereotyped, chosen?'
        """
        return self.compiled.about.title

    @property
    def settings(self) -> dict[str, OptionValue]:
        """Settings with their values; the one that leaves pictures out is among them where it does.

        Examples
        --------
        >>> import facevalue as fv
        >>> fv.study("stylisticbias", seeds=[7]).settings["seeds"]
        ['7']
        """
        options = self.compiled.options
        return {setting.name: options[setting.name] for setting in self.protocol.settings if setting.name in options}

    @property
    def trials(self) -> int:
        """Requests of the whole study, each asked once per seed.

        Examples
        --------
        >>> import facevalue as fv
        >>> fv.study("stylisticbias", faces="1M,1F", attributes="eyewear").trials
        600
        """
        return self.compiled.design.size

    @property
    def pictures(self) -> pl.DataFrame:
        """One row per picture, with its factors.

        Examples
        --------
        >>> import facevalue as fv
        >>> fv.study("stylisticbias", faces="1M,1F", attributes="eyewear").pictures["identity"].n_unique()
        2
        """
        return self.compiled.manifest

    @property
    def measures(self) -> pl.DataFrame:
        """One row per measure, and per score where it is of several: name, score, title, equation, unit and source.

        Examples
        --------
        >>> import facevalue as fv
        >>> fv.study("stylisticbias").measures["name"].head(2).to_list()
        ['mean', 'shift']
        """
        columns = ("name", "score", "title", "equation", "unit", "source")
        rows = [{name: getattr(measure, name) for name in columns} for measure in self.compiled.estimates.measures]
        return pl.DataFrame(rows, schema=dict.fromkeys(columns, pl.String))

    @check_arguments
    def plan(
        self,
        *,
        sample: int | None = None,
        seed: int = 0,
        exact: bool = False,
        interventions: Sequence[str | Variant] = (),
        image_tokens: int = IMAGE_TOKENS,
        price_in: float | None = None,
        price_out: float | None = None,
    ) -> Plan:
        """Work out what a run takes, before anything is spent.

        Parameters
        ----------
        sample, seed, exact, interventions:
            As `run` takes them.
        image_tokens:
            Tokens that the model spends on one picture.
        price_in, price_out:
            Price of a million tokens of prompts and of replies, in any currency.

        Examples
        --------
        >>> import facevalue as fv
        >>> study = fv.study("stylisticbias", faces="1M,1F", attributes="eyewear")
        >>> study.plan(exact=True, price_in=2, price_out=8)
        Plan('stylisticbias', requests=600, pictures=6, prompt_tokens=385,493, completion_tokens=2,400, cost=0.79)
        """
        intervened_study = add_interventions(self.compiled, find_variants(interventions))
        rehearse(self.protocol, intervened_study, exact=exact)
        return make_plan(
            intervened_study, sample=sample, seed=seed, exact=exact, image_tokens=image_tokens, price_in=price_in,
            price_out=price_out,
        )  # fmt: skip

    def __repr__(self) -> str:
        defaults: Mapping[str, OptionValue] = {setting.name: setting.default for setting in self.protocol.settings}
        changed = {
            name: value
            for name, value in self.settings.items() if value != defaults.get(name) and name not in ROOTS
        }  # fmt: skip
        facts = [repr(self.name), f"trials={self.trials}", f"seeds={self.compiled.repeats}"]
        facts += [f"pictures={self.pictures.height}"]
        return f"Study({', '.join([*facts, *(f'{name}={value!r}' for name, value in changed.items())])})"

    def _repr_html_(self) -> str:

        return study_html(self.compiled)


@check_arguments
def study(
    protocol: str | PathLike[str] | Protocol,
    /,
    *,
    outside: bool = False,
    **settings: str | float | bool | Iterable[str | int] | PathLike[str],
) -> Study:
    """Choose what to ask.

    Parameters
    ----------
    protocol:
        The name of a study, the path of a study of one's own (a TOML file), or a `Protocol`.
    outside:
        Whether a study's file may name files that are not below its own folder.
    **settings:
        The study's own, named as on the command line with underscores; each has a default.

    Raises
    ------
    UnknownNameError
        No such study or setting, or no such value of one; the nearest names are suggested.
    DataError
        A value of the wrong type.

    Examples
    --------
    >>> import facevalue as fv
    >>> fv.study("stylisticbias", faces="2M,2F", attributes=["eyewear", "tattoos"])
    Study('stylisticbias', trials=1600, seeds=3, pictures=16, faces='2M,2F', attributes=['eyewear', 'tattoos'])
    >>> fv.study("stylisticbias", grid="keep")
    Traceback (most recent call last):
        ...
    facevalue.errors.UnknownNameError: Unknown grid 'keep'. Did you mean 'kept'? Known: all, kept.
    """
    declared = protocol if isinstance(protocol, Protocol) else studies.protocol(fspath(protocol), outside=outside)
    by_name = {setting.name: setting for setting in declared.settings}
    for name in settings:
        if name not in by_name:
            raise UnknownNameError(f"setting of {declared.name}", name, by_name)
    options = {name: to_setting_type(by_name[name], value) for name, value in settings.items()}
    return Study(declared, declared.study(options))


_MOST, _HEIGHT = 4, 120  # pictures of a study, and their height in pixels
_LONGEST = 600  # characters of a prompt
_FACTORS = 3  # levels in a caption
_NAMES, _CUE = ("image", "identity", "set", "path", "ordering", "block"), ("attribute", "variation")


def study_html(study: compiled_study.Study) -> str:
    """A study: its title, pictures from all over its design, its first question, and how much it asks."""
    first = study.ask(study.design.trials([0]))[0]
    cut = first.prompt if len(first.prompt) <= _LONGEST else f"{first.prompt[:_LONGEST]} ..."
    note = f"<p><em>{escape(study.about.content_note)}</em></p>" if study.about.content_note else ""
    figures = "".join(
        f'<figure style="display:inline-block;margin:0 8px 0 0"><img src="{uri}" style="height:{_HEIGHT}px" '
        f'alt="{escape(caption)}"><figcaption>{escape(caption)}</figcaption></figure>'
        for caption, uri in _pictures(study)
    )
    size = f"{study.design.size:,} questions"
    facts = {"requests": f"{size} x {study.repeats} seeds", "pictures": f"{study.manifest.height:,}"}
    return (
        f"<h4>{escape(study.about.title)}</h4>{note}{figures}"
        f'<blockquote style="white-space:pre-wrap">{escape(cut)}</blockquote>{html_table(facts)}'
    )


def _pictures(study: compiled_study.Study) -> Iterator[tuple[str, str]]:
    """Captions and data URIs of a few pictures; none of those that cannot be read."""
    design = study.design
    stimuli = np.unique(np.linspace(0, design.stimulus_offsets[-1] - 1, _MOST).astype(np.int64))
    block = np.searchsorted(design.stimulus_offsets, stimuli, side="right") - 1
    prompts = np.array([each_block.prompts for each_block in design.blocks], dtype=np.int64)
    trials = design.offsets[block] + (stimuli - design.stimulus_offsets[block]) * prompts[block]
    builder = RequestBuilder(study, exact=False)
    try:
        for _, _, stimulus in builder.stimuli(builder.chunk(trials, np.ones((trials.size, 1), dtype=np.bool_))):
            for image in stimulus.load():
                if uri := data_uri(image.data):
                    yield _caption(study, stimulus.factors), uri
    except FaceValueError:  # a run says what is wrong with a picture
        return


def _caption(study: compiled_study.Study, factors: Mapping[str, str | None]) -> str:
    """Caption of a picture: its cue, or the levels of its factors."""
    titles = study.about.titles
    levels = {name: level for name, level in factors.items() if level and name not in _NAMES}
    cue = levels.get("variation")
    captioned = {"variation": cue} if cue else {name: levels[name] for name in levels if name not in _CUE}
    return ", ".join(titles.get(name, {}).get(level, level) for name, level in list(captioned.items())[:_FACTORS])
