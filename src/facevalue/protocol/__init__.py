"""Protocols: what a study is, as data, and the engine that all studies share.

docs/explanation/design.md lists the modules in the order in which a study goes on: shown, asked, read, estimated, page,
paper.

>>> from facevalue.protocol import Ask, Portraits, Protocol, yes_or_no
>>> from facevalue.statistics import Estimand, Shift
>>> hiring = Protocol(
...     name="hiring",
...     title="Who is invited?",
...     stimuli=Portraits(cues={"tattoos": ("facial-tattoo",)}, people="4"),
...     ask=Ask(prompts=("Would you invite this person to an interview?",), reply=yes_or_no()),
...     estimands=(Estimand(Shift(), by=("variation",)),),
... )
>>> hiring.study().design.size
8
"""

from typing import TYPE_CHECKING

from facevalue.lazy_names import lazy_names

if TYPE_CHECKING:
    from facevalue.answers.sorting import Sorting
    from facevalue.prompts.variants import Variant
    from facevalue.protocol.asks import Ask
    from facevalue.protocol.blocks import Column, Each, Fold, Numbers, Pictures, Prose, StoredAnswers, Table
    from facevalue.protocol.charts import Strips
    from facevalue.protocol.contents import Wanted
    from facevalue.protocol.look import Of
    from facevalue.protocol.offers import Extras
    from facevalue.protocol.open_answers import Amount, Field, Fields, Salary, Text
    from facevalue.protocol.outside_scores import Outside, ScoredText
    from facevalue.protocol.own_pictures import DataSet, Edits
    from facevalue.protocol.page import Findings, Notes, Page, Section
    from facevalue.protocol.protocol import Protocol
    from facevalue.protocol.replies import choice, rating, yes_or_no
    from facevalue.protocol.settings import Setting
    from facevalue.protocol.side_by_side import Pairs
    from facevalue.protocol.stimuli import DrawnSets, Folder, Listed, Portraits, Rows, Stimuli
    from facevalue.protocol.structured_replies import Measurements, NamedList, RatedScales
    from facevalue.protocol.study import About, Changes, Draws, Estimated, LeftOut, Planned, Reading, Study, Watched
    from facevalue.protocol.toml_tables import read_texts
    from facevalue.statistics.precision import Precision, UnitSpread

__all__ = [
    "About",
    "Amount",
    "Ask",
    "Changes",
    "Column",
    "DataSet",
    "DrawnSets",
    "Draws",
    "Each",
    "Edits",
    "Estimated",
    "Extras",
    "Field",
    "Fields",
    "Findings",
    "Fold",
    "Folder",
    "LeftOut",
    "Listed",
    "Measurements",
    "NamedList",
    "Notes",
    "Numbers",
    "Of",
    "Outside",
    "Page",
    "Pairs",
    "Pictures",
    "Planned",
    "Portraits",
    "Precision",
    "Prose",
    "Protocol",
    "RatedScales",
    "Reading",
    "Rows",
    "Salary",
    "ScoredText",
    "Section",
    "Setting",
    "Sorting",
    "Stimuli",
    "StoredAnswers",
    "Strips",
    "Study",
    "Table",
    "Text",
    "UnitSpread",
    "Variant",
    "Wanted",
    "Watched",
    "choice",
    "rating",
    "read_texts",
    "yes_or_no",
]

__getattr__, __dir__ = lazy_names(
    __name__,
    {
        "facevalue.answers.sorting": ("Sorting",),
        "facevalue.prompts.variants": ("Variant",),
        "facevalue.protocol.asks": ("Ask",),
        "facevalue.protocol.blocks": (
            "Column",
            "Each",
            "Fold",
            "Numbers",
            "Pictures",
            "Prose",
            "StoredAnswers",
            "Table",
        ),
        "facevalue.protocol.charts": ("Strips",),
        "facevalue.protocol.own_pictures": ("DataSet", "Edits"),
        "facevalue.protocol.contents": ("Wanted",),
        "facevalue.statistics.precision": ("Precision", "UnitSpread"),
        "facevalue.protocol.look": ("Of",),
        "facevalue.protocol.structured_replies": ("Measurements", "NamedList", "RatedScales"),
        "facevalue.protocol.offers": ("Extras",),
        "facevalue.protocol.outside_scores": ("Outside", "ScoredText"),
        "facevalue.protocol.page": ("Findings", "Notes", "Page", "Section"),
        "facevalue.protocol.protocol": ("Protocol",),
        "facevalue.protocol.replies": ("choice", "rating", "yes_or_no"),
        "facevalue.protocol.settings": ("Setting",),
        "facevalue.protocol.side_by_side": ("Pairs",),
        "facevalue.protocol.stimuli": ("DrawnSets", "Folder", "Listed", "Portraits", "Rows", "Stimuli"),
        "facevalue.protocol.study": (
            "About",
            "Changes",
            "Draws",
            "Estimated",
            "LeftOut",
            "Planned",
            "Reading",
            "Study",
            "Watched",
        ),
        "facevalue.protocol.toml_tables": ("read_texts",),
        "facevalue.protocol.open_answers": ("Amount", "Field", "Fields", "Salary", "Text"),
    },
)
