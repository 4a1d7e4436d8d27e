"""Settings of StylisticBias."""

from facevalue.protocol.settings import Setting, own_files, seed_setting, temperature_setting
from facevalue.studies.stylisticbias.tables import attribute_titles, grid, scenarios

NAME = "stylisticbias"
TITLE = "StylisticBias: one face, one attribute changed. Which cue moves the judgment, and how far?"
CITATION = (
    "Kolli, Cavelius, Nikeghbal, Dalal and Diesner, StylisticBias: A Few Human Visual Cues Drive Most Social Biases in "
    "MLLMs (arXiv 2606.20527)"
)
NOTE = (
    "This study asks a model to judge people by their looks, and shows stereotyped judgments. Nothing in it is true of "
    "the people shown or of anyone."
)

OWN = ("manifest", "folders")
"""Settings that show pictures which are not drawn."""


SETTINGS = (
    Setting(
        "faces",
        "Base faces to draw: 274M,226F as in the paper, or a number to split evenly.",
        "274M,226F",
        excludes=OWN,
    ),
    Setting("manifest", "Judge your own images instead: a CSV, JSONL or Parquet manifest.", ""),
    Setting(
        "folders", "Judge the authors' images: the folder with their *_metadata.json files.", "", excludes=("manifest",)
    ),
    *own_files(OWN, OWN),
    Setting("faces_seed", "Which faces are drawn.", 1, excludes=OWN),
    Setting(
        "grid",
        "Variations to judge: the 34 that the paper keeps, or all 55 it lists (Table 10). Cues of your own are "
        "judged in any case.",
        "kept",
        ("kept", "all"),
    ),
    Setting(
        "fashion_base",
        "What a fashion style, shown full-body, is compared with: the same person full-body in plain clothes, or the "
        "head-and-shoulders base as in the paper.",
        "full-body",
        ("full-body", "portrait"),
    ),
    Setting(
        "attributes",
        "Only these attributes (hair_color,eyewear ...); all by default.",
        [],
        levels=attribute_titles,
    ),
    Setting(
        "variations",
        "Only these variations (full-beard,sunglasses ...); all by default.",
        [],
        levels=lambda: dict.fromkeys(v.name for v in grid()),
    ),
    Setting(
        "scenario",
        "Only these scenarios (wealthy,trustworthy ...); all 25 by default.",
        [],
        levels=lambda: [s.name for s in scenarios()],
    ),
    Setting(
        "prompts", "The paper's wording (Figure 12), or that of the released code.", "paper", ("paper", "released")
    ),
    seed_setting(1, 2, 3),
    temperature_setting(0.2),
)
