"""The paper's images, of which no more is known than sets and groups."""

from itertools import product

import polars as pl

from facevalue.stimuli.counterfactual_datasets import ATTRIBUTES, SOCIAL_SUBSETS

PUBLISHED = {"race-gender": 7936, "physical-gender": 5052, "physical-race": 836}
"""Sets of each subset (Table 5)."""


def published(subset: str) -> pl.DataFrame:
    """List the paper's images of a subset, of which no more is known than sets and groups."""
    first, second = SOCIAL_SUBSETS[subset]
    attributes = pl.DataFrame(list(product(ATTRIBUTES[first], ATTRIBUTES[second])), [first, second], orient="row")
    sets = pl.DataFrame({"set": [str(number) for number in range(PUBLISHED[subset])]})
    frame = sets.join(attributes, how="cross").with_columns(group=pl.concat_str(first, second, separator=" "))
    return frame.with_columns(
        image=pl.concat_str("set", "group", separator="/"),
        path=pl.lit(None, pl.String),
        subset=pl.lit(subset),
        occupation=pl.lit(None, pl.String),
    )
