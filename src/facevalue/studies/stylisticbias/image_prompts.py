"""Prompts for an image generator: those of the paper for faces and variations (Figures 9 to 11, Table 9)."""

from itertools import product

import polars as pl

from facevalue.errors import UnknownNameError
from facevalue.studies.stylisticbias.tables import GENDERS, attribute_titles, grid, read

_TABLES = read("image_prompts.toml")
BASE_FACE, FEATURE_VARIATION, CLOTHING_VARIATION = (str(_TABLES[name]) for name in ("base_face", "feature", "clothing"))
"""Figures 9, 10 and 11, verbatim: the prompts for a base face, for a fashion style, and for any other variation."""


def published_prompts(portraits: bool = False) -> pl.DataFrame:
    """Image prompts for one face of each of the 90 configurations of Table 9, base faces first.

    The paper draws its 500 faces from these configurations; how many from each is not published.

    Returns one row per picture: `image`, `identity`, `attribute` and `variation` (null for a base face), `gender`,
    `age`, `build`, `ethnicity`, `judged` ("kept", or the pass of Appendix C.1 that drops the picture before the
    judgment), `reference` (the image that goes with the prompt; null for a base face), `figure` and `prompt`.
    """
    configurations = product(GENDERS, _TABLES["ages"], _TABLES["ethnicities"], _TABLES["builds"])
    faces = pl.DataFrame(list(configurations), ["gender", "age", "ethnicity", "build"], orient="row")
    looks = pl.col("ethnicity").str.to_lowercase().str.replace(" ", "-")
    faces = faces.with_columns(identity=pl.concat_str("gender", "age", looks, "build", separator="-"))
    bases = faces.with_columns(image="identity", judged=pl.lit("kept"), figure=pl.lit("9"))
    fates = [(v.attribute, v.name, gender, fate) for v in grid() for gender, fate in v.fate.items()]
    variations = pl.DataFrame(fates, ["attribute", "variation", "gender", "judged"], orient="row")
    figure = pl.when(pl.col("attribute") == "fashion_style").then(pl.lit("11")).otherwise(pl.lit("10"))
    varied = faces.join(variations, on="gender", maintain_order="left_right").with_columns(
        image=pl.format("{}/{}={}", "identity", "attribute", "variation"), reference="identity", figure=figure
    )
    frame = pl.concat([bases, varied.clear() if portraits else varied], how="diagonal")
    columns = ("image", "identity", "attribute", "variation", "gender", "age", "build", "ethnicity", "judged")
    return frame.with_columns(generation_prompts(frame)).select(*columns, "reference", "figure", "prompt")


def generation_prompts(manifest: pl.DataFrame) -> pl.Series:
    """Fill the templates of Figures 9, 10 and 11 for each image, by its `attribute`, `variation` and `gender`.

    Base faces also need `age`, `build` and `ethnicity`, which drawn portraits don't have.

    Returns one prompt per row: Figure 9 for a base face, Figure 11 for a fashion style, Figure 10 for anything else.
    The last two are edits of the identity's base face, which goes with them as the reference image.

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
            out.append(BASE_FACE.format(age=_TABLES["ages"].get(row["age"], row["age"]), **facts))
            continue
        title = titles.get((attribute, variation), variation)
        if attribute == "fashion_style":
            out.append(CLOTHING_VARIATION.format(gender=row["gender"], fashion_style=title))
        else:
            key = attribute_titles().get(attribute, attribute)
            out.append(FEATURE_VARIATION.format(gender=row["gender"], feature_key=key, feature_value=title))
    return pl.Series("prompt", out, dtype=pl.String)
