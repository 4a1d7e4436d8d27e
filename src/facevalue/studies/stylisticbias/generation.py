"""The paper's image prompts, filled in: what a generator would be asked for each picture of a manifest."""

import polars as pl

from facevalue.errors import UnknownNameError
from facevalue.studies.stylisticbias.tables import (
    BASE_FACE,
    CLOTHING_VARIATION,
    FEATURE_VARIATION,
    attribute_titles,
    grid,
)

AGES = {"young": "young adult", "middle-aged": "middle-aged adult", "elderly": "elderly"}
"""Levels of the portraits in the paper's words (Table 9); other levels stand as they are."""


def generation_prompts(manifest: pl.DataFrame) -> pl.Series:
    """Fill the templates of Figures 9, 10 and 11 for each image.

    Parameters
    ----------
    manifest:
        With `attribute`, `variation` and `gender`; base faces also need `age`, `build` and `ethnicity`. Drawn portraits
        have no ethnicity: give them one, or leave their base faces out.

    Returns
    -------
    One prompt per row: Figure 9 for a base face, Figure 11 for a fashion style, Figure 10 for anything else. The last
    two are edits of the identity's base face, which goes with them as the reference image.

    Raises
    ------
    UnknownNameError
        A needed column is missing.

    Examples
    --------
    >>> cap = pl.DataFrame({"attribute": ["accessories"], "variation": ["cap"], "gender": ["female"]})
    >>> generation_prompts(cap)[0][-77:]
    'Accessories: Cap. Keep the face identity consistent with the reference image.'
    """
    needed = ["attribute", "variation", "gender"]
    if "attribute" in manifest.columns and manifest["attribute"].null_count():
        needed += ["age", "build", "ethnicity"]
    for name in needed:
        if name not in manifest.columns:
            raise UnknownNameError("manifest column", name, manifest.columns)
    titles = {(v.attribute, v.name): v.title for v in grid()}
    out = []
    for row in manifest.select(needed).iter_rows(named=True):
        attribute, variation = row["attribute"], row["variation"]
        if attribute is None:
            facts = {name: row[name] for name in ("build", "gender", "ethnicity")}
            out.append(BASE_FACE.format(age=AGES.get(row["age"], row["age"]), **facts))
            continue
        title = titles.get((attribute, variation), variation)
        if attribute == "fashion_style":
            out.append(CLOTHING_VARIATION.format(gender=row["gender"], fashion_style=title))
        else:
            key = attribute_titles().get(attribute, attribute)
            out.append(FEATURE_VARIATION.format(gender=row["gender"], feature_key=key, feature_value=title))
    return pl.Series("prompt", out, dtype=pl.String)
