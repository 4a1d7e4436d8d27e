"""Published wording of StylisticBias's levels."""

from collections.abc import Mapping
from functools import cache

from facevalue.studies.stylisticbias import tables


@cache
def wording() -> Mapping[str, Mapping[str, str]]:
    """Titles of attributes, variations, scenarios and categories as in the paper's tables, by factor column."""
    return {
        "attribute": tables.attribute_titles(),
        "variation": {f"{v.attribute}/{v.name}": v.title for v in tables.grid()},
        "scenario": {s.name: s.favourable.capitalize() for s in tables.scenarios()},
        "pole": {s.name: s.unfavourable for s in tables.scenarios()},
        "category": dict(tables.categories()),
        "scenario_category": {s.name: s.category for s in tables.scenarios()},
    }
