"""Prompts for an image generator: those of the paper for faces and variations (Figures 9 to 11, Table 9)."""

from itertools import product

import polars as pl

from facevalue.errors import UnknownNameError
from facevalue.studies.stylisticbias.tables import GENDERS, attribute_titles, grid

BASE_FACE = (
    "Photorealistic studio portrait of an average-looking {build} build {age} {gender} person with {ethnicity} "
    "facial features. Front-facing, neutral expression, head-and-shoulders framing. Bare face with uncovered "
    "ears, hair tucked behind ears, no earrings, no jewelry, no accessories, no glasses, no headwear. Plain white"
    " studio backdrop, soft even lighting, no dramatic shadows.\n\nNatural skin texture with visible pores, minor"
    " blemishes, slight facial asymmetry, real-world imperfections, non-model appearance, realistic proportions. "
    "Documentary-style photography, not fashion, not advertising."
)
"""Figure 9, verbatim: the prompt for a base face."""

FEATURE_VARIATION = (
    "A portrait photograph of the same {gender} as the reference image, facing the camera, neutral expression. "
    "Plain white background, even studio lighting. {feature_key}: {feature_value}. Keep the face identity "
    "consistent with the reference image."
)
"""Figure 10, verbatim: the prompt for a variation other than clothing."""

CLOTHING_VARIATION = (
    "Generate a full-body portrait photograph of a {gender}, standing in neutral pose, facing camera. Wearing "
    "{fashion_style} clothing/outfit. Same face and facial features as the reference image to maintain identity "
    "consistency. Plain white background, even studio lighting, professional photography style. Show the complete body "
    "from head to feet wearing the specified fashion style. Keep the face identity consistent with the reference image."
)
"""Figure 11, verbatim: the prompt for a fashion style."""
AGES = {"young": "young adult", "middle-aged": "middle-aged adult", "elderly": "elderly"}
"""Levels of the portraits in the paper's words (Table 9); other levels stand as they are."""
ETHNICITIES = ("Asian", "African", "European", "Middle Eastern", "Latino")
BUILDS = ("thin", "normal", "obese")


def published_prompts(portraits: bool = False) -> pl.DataFrame:
    """Image prompts for one face of each of the 90 configurations of Table 9, base faces first.

    The paper draws its 500 faces from these configurations; how many from each is not published.

    Returns one row per picture: `image`, `identity`, `attribute` and `variation` (null for a base face), `gender`,
    `age`, `build`, `ethnicity`, `judged` ("kept", or the pass of Appendix C.1 that drops the picture before the
    judgment), `reference` (the image that goes with the prompt; null for a base face), `figure` and `prompt`.
    """
    rows: list[tuple[str | None, ...]] = []
    for gender, age, ethnicity, build in product(GENDERS, AGES, ETHNICITIES, BUILDS):
        who = "-".join((gender, age, ethnicity.lower().replace(" ", "-"), build))
        facts = (who, gender, age, build, ethnicity)
        rows.append((who, None, None, "kept", None, "9", *facts))
        for v in () if portraits else grid():
            if gender in v.fate:
                figure = "11" if v.attribute == "fashion_style" else "10"
                image = f"{who}/{v.attribute}={v.name}"
                rows.append((image, v.attribute, v.name, v.fate[gender], who, figure, *facts))
    names = ("image", "attribute", "variation", "judged", "reference", "figure")
    people = ("identity", "gender", "age", "build", "ethnicity")
    frame = pl.DataFrame(rows, schema=dict.fromkeys((*names, *people), pl.String), orient="row")
    frame = frame.sort(pl.col("attribute").is_not_null(), maintain_order=True)
    frame = frame.with_columns(generation_prompts(frame))
    return frame.select(
        "image", "identity", "attribute", "variation", *people[1:], "judged", "reference", "figure", "prompt"
    )


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
            out.append(BASE_FACE.format(age=AGES.get(row["age"], row["age"]), **facts))
            continue
        title = titles.get((attribute, variation), variation)
        if attribute == "fashion_style":
            out.append(CLOTHING_VARIATION.format(gender=row["gender"], fashion_style=title))
        else:
            key = attribute_titles().get(attribute, attribute)
            out.append(FEATURE_VARIATION.format(gender=row["gender"], feature_key=key, feature_value=title))
    return pl.Series("prompt", out, dtype=pl.String)
