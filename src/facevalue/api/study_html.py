"""HTML of studies for notebooks: what is asked about which pictures."""

from collections.abc import Iterator, Mapping
from html import escape

import numpy as np

from facevalue.errors import FaceValueError
from facevalue.printable import html_table
from facevalue.protocol.study import Study
from facevalue.report.pictures import data_uri
from facevalue.runs.requests import RequestBuilder

_MOST, _HEIGHT = 4, 120  # pictures of a study, and their height in pixels
_LONGEST = 600  # characters of a prompt
_FACTORS = 3  # levels in a caption
_NAMES, _CUE = ("image", "identity", "set", "path", "ordering", "block"), ("attribute", "variation")


def study_html(study: Study) -> str:
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


def _pictures(study: Study) -> Iterator[tuple[str, str]]:
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


def _caption(study: Study, factors: Mapping[str, str | None]) -> str:
    """Caption of a picture: its cue, or the levels of its factors."""
    titles = study.about.titles
    levels = {name: level for name, level in factors.items() if level and name not in _NAMES}
    cue = levels.get("variation")
    captioned = {"variation": cue} if cue else {name: levels[name] for name in levels if name not in _CUE}
    return ", ".join(titles.get(name, {}).get(level, level) for name, level in list(captioned.items())[:_FACTORS])
