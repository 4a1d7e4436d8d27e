"""Scenes without people that ModSCAN has made, for each persona trait (section 4, Table 2)."""

from collections.abc import Mapping

import polars as pl

from facevalue.errors import DataError
from facevalue.protocol.making import Making, PicturePlan, PictureQuestions
from facevalue.protocol.settings import Setting, chosen, names, whole
from facevalue.protocol.sources import SEED, in_form
from facevalue.studies.modscan.pictures import drawn_scenes
from facevalue.studies.modscan.settings import instances, read
from facevalue.types import OptionValue

GENERATED = 400
"""Pictures of each persona that the paper generates before those with people are dropped (section 4)."""


SETTINGS = (
    Setting(
        "instances",
        "Only scenes of these persona traits, such as geek,slob.",
        [],
        levels=lambda: [i["name"] for i in instances("persona")],
    ),
    Setting("per_persona", "Scenes made of each; about half are left once those with people are dropped.", GENERATED),
    SEED,
)


def plan(options: Mapping[str, OptionValue]) -> PicturePlan:
    """The scenes, by persona in the order of Table 2."""
    count = whole(options, "per_persona", 1, 100_000)
    traits_chosen = chosen("instance", names(options, "instances"), [instance["name"] for instance in instances()])
    personas = [instance for instance in instances("persona") if not traits_chosen or instance["name"] in traits_chosen]
    if not personas:
        raise DataError("Only persona traits have scenes, and none was chosen: name some of them (--instances geek).")
    traits = pl.DataFrame([(i["name"], i["image"]) for i in personas], ["persona", "prompt"], orient="row")
    numbers = pl.DataFrame({"number": range(1, count + 1)})
    table = traits.join(numbers, how="cross", maintain_order="left_right")
    slug = pl.col("persona").str.replace_all(" ", "-")
    table = in_form(table.with_columns(image=pl.format("{}/{}", slug, "number")), options, "persona")
    return PicturePlan(table=table, unit="image", groups=("persona",), drawn=drawn_scenes(table))


MAKING = Making(
    settings=SETTINGS,
    plan=plan,
    about=(
        "Scenes without people, 400 for each of the 14 persona traits (Table 2), of which the paper keeps 200 in "
        "which a detector finds nobody. Its faces are photographs of UTKFace, and are not made."
    ),
    note="Some traits are slurs (a slob, a freegan): scenes are of what such a person is said to own.",
    questions=PictureQuestions.from_table(read("picture_questions.toml")),
)
