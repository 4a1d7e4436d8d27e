"""Settings of VIGNETTE, read and checked."""

from collections.abc import Mapping, Sequence

from facevalue.protocol.settings import Setting, chosen, names, own_files, seed_setting, temperature_setting
from facevalue.studies.vignette.tables import CONTRASTS, GENDERS, PARADIGMS, activities, dimensions, identities
from facevalue.types import OptionValue

NAME = "vignette"
TITLE = "VIGNETTE: two people in one picture. Who is seen, thought capable, stereotyped, chosen?"
CITATION = (
    "Raj, Wei, Caliskan, Anastasopoulos and Zhu, VIGNETTE: Socially Grounded Bias Evaluation for Vision-Language Models"
)
WORDINGS = ("1", "2", "3")
REFERENCES = ("identity", "position")
SHOWN = ("picture", "text")
PROMPTS = ("paper", "two-options", "released")
PAPER, TWO, RELEASED = PROMPTS
"""Sources of questions and options: the paper's by A.3, the paper's by 4.2, those of the authors' code."""

OWN = ("manifest", "folder", "pata")
"""Settings that show pictures which are not drawn."""


def _identities() -> list[str]:
    """The identities of all dimensions."""
    return list(dict.fromkeys(i.name for d in dimensions() for i in identities(d.name)))


def _activities() -> list[str]:
    """The activities."""
    return [activity.name for activity in activities()]


SETTINGS = (
    Setting("paradigm", "Only these paradigms (factuality,perception,stereotype,decision).", [], levels=PARADIGMS),
    Setting(
        "dimension",
        "Only these dimensions (ability,age,gender,nationality,race,religion ...).",
        [],
        levels=lambda: [d.name for d in dimensions()],
    ),
    Setting(
        "contrast", "Only these picture pairs (identity,activity,identity-activity,portrait).", [], levels=CONTRASTS
    ),
    Setting("gender", "Only pairs of this gender (male,female).", [], levels=GENDERS),
    Setting(
        "identity", "Only these identities (old,young,doctor ...); at least two of a dimension.", [], levels=_identities
    ),
    Setting("activity", "Only these activities (cooking,programming ...).", [], levels=_activities),
    Setting(
        "drawings",
        "What is shown: the part of the study that FaceValue can draw, or nothing (plans, text, simulated models).",
        "drawn",
        ("drawn", "none"),
        excludes=OWN,
    ),
    Setting(
        "people", "How many different people are drawn as each identity, 1 to 5.", 4, excludes=(*OWN, "drawings=none")
    ),
    Setting("manifest", "Show your own pictures instead: a CSV, JSONL or Parquet manifest.", ""),
    Setting(
        "folder",
        "Show the authors' pictures: the folder with individual_images, or with paired pictures.",
        "",
        excludes=OWN[:1],
    ),
    Setting("pata", "Show PATA's photographs: its list of scene_race_gender_age|URL lines.", "", excludes=OWN[:2]),
    *own_files(OWN, OWN),
    Setting("pairs", "Most picture pairs of two identities where there are several pictures of each.", 20, needs=OWN),
    Setting(
        "reference", "What options name: the identities, left and right (position), or both in turn.", ["identity"]
    ),
    Setting("wording", "Wordings of the questions: 1 is the paper's, 2 and 3 its paraphrases (Table 11).", ["1"]),
    Setting("shown", "Show the picture, ask without it (text), or both in turn.", ["picture"], levels=SHOWN),
    Setting(
        "roles",
        "The authors' role questions (a JSON file) instead of FaceValue's own.",
        "",
        needs=("paradigm=decision",),
    ),
    Setting("overlaps", "Pairs of overlapping identities (beautiful, attractive).", "keep", ("keep", "drop")),
    Setting(
        "prompts",
        "The paper's, where questions about people offer both and none too (A.3); the same with the two people alone "
        "(4.2, two-options); or those of the authors' code (released; its role questions by --roles).",
        PAPER,
        PROMPTS,
    ),
    seed_setting(1),
    temperature_setting(0.7),
    Setting("shuffle_seed", "Which shuffle of options, sides and wrong options.", 1),
)


Chosen = Mapping[str, tuple[str, ...]]
"""Names of the tables that were chosen, by setting; none is everything."""


def selection(
    options: Mapping[str, OptionValue], shown_identities: Sequence[str] = (), shown_activities: Sequence[str] = ()
) -> Chosen:
    """The names that were chosen; of the user's own pictures, among the identities and activities that they show."""
    allowed: dict[str, Sequence[str]] = {
        "paradigm": PARADIGMS,
        "dimension": [] if shown_identities else [d.name for d in dimensions()],
        "contrast": CONTRASTS,
        "gender": GENDERS,
        "identity": shown_identities or _identities(),
        "activity": shown_activities or _activities(),
        "wording": WORDINGS,
        "reference": REFERENCES,
        "shown": SHOWN,
    }
    first = {"wording": ("1",), "reference": ("identity",), "shown": ("picture",)}
    return {name: chosen(name, names(options, name), of) or first.get(name, ()) for name, of in allowed.items()}
