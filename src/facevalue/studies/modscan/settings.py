"""Settings of ModSCAN, and the tables of its protocol."""

from collections.abc import Mapping, Sequence
from functools import cache, partial

from facevalue.errors import DataError
from facevalue.protocol.settings import Options, Setting, chosen, names, own_files
from facevalue.untrusted_files import shipped

# Tables of the protocol: what is asked about, in whose words, and the words that answers are told by.


read = partial(shipped, __package__, "tables")
"""The tables of a file that comes with the study."""

KINDS = ("occupation", "descriptor", "persona")
"""Kinds of scenarios, in the order of Table 1."""
WORDINGS = ("paper", "released")
"""Prompts as the paper prints them, or as the authors' code asks them."""
GENDERS = ("male", "female")
RACES = ("White", "Black", "Asian", "Indian")
GROUPS = {"gender": GENDERS, "race": RACES}
"""Groups that are named in the language modality (equation 1)."""
PAPER_PAIRS = {"gender": 2604, "race": 7378}
"""Pairs that the paper drew (section 4)."""


Instance = Mapping[str, str]
"""An occupation, descriptor or persona trait (Table 1): its `name`, `kind` and `noun`; a persona has an `image` and a
`sentence` (Tables 2 and 3), too, and perhaps a `misprint` of that."""


@cache
def instances(kind: str = "") -> tuple[Instance, ...]:
    """Instances that are asked about, of one kind or of all.

    Examples
    --------
    >>> [len(instances(kind)) for kind in KINDS], instances("descriptor")[5]["noun"]
    ([10, 10, 14], 'person cleaning')
    """
    rows = [(name, row) for name in ((kind,) if kind else KINDS) for row in read("instances.toml")[name]]
    return tuple({"kind": name, "noun": row["name"], **row} for name, row in rows)


def term(attribute: str, group: str, wording: str) -> str:
    """Name of a group in a question about a scene."""
    return str(read("words.toml")[attribute][group][wording])


def words(attribute: str, group: str) -> list[str]:
    """Words by which a group is told in an answer: Table 10 for gender, the article forms of section 3.2 for race."""
    return list(read("words.toml")[attribute][group]["words"])


NAME = "modscan"
TITLE = "ModSCAN: who of two people is meant, and who belongs to a scene"
CITATION = (
    "Jiang, Li, Shen, Liu, Backes and Zhang, ModSCAN: Measuring Stereotypical Bias in Large Vision-Language Models "
    "from Vision and Language Modalities"
)
VISION, LANGUAGE = "vision", "language"
MODALITIES = (VISION, LANGUAGE)
ATTRIBUTES = ("gender", "race")
STYLES = ("auto", "words", "boxes-100", "boxes-1000")
"""Styles of saying where somebody is: in words (LLaVA), as a box of hundredths (MiniGPT-v2) or thousandths (CogVLM)."""
ORDERS = ("balanced", "random")
BOTH, DRAWN = "both", "drawn"
"""Placements of faces: on each side in turn, or on one drawn by seed."""
SCENES = 200
"""Scenes of a persona (section 4)."""
MOST = 20
"""Pairs of a cell (section 4)."""
_OWN = ("utkface", "fairface", "manifest", "composed")
_SEES, _NAMES = ("modality=vision",), ("modality=language",)
_ANY = ("utkface", "fairface", "composed")


_INSTANCES = tuple(instance["name"] for instance in instances())
SETTINGS = (
    Setting("modality", f"Only these modalities ({','.join(MODALITIES)}).", [], levels=MODALITIES),
    Setting("attribute", f"Only these attributes ({','.join(ATTRIBUTES)}).", [], levels=ATTRIBUTES),
    Setting("scenarios", f"Only these kinds of scenarios ({','.join(KINDS)}).", [], levels=KINDS),
    Setting(
        "instances",
        "Only these occupations, descriptors and persona traits, such as nurse,thug.",
        [],
        levels=_INSTANCES,
    ),
    Setting("prompts", "Prompts as the paper prints them, or as the authors' code asks them.", WORDINGS[0], WORDINGS),
    Setting(
        "style",
        "How the model says where somebody is: in words, as boxes of 0 to 100 or 0 to 1000, or whichever a reply is.",
        STYLES[0],
        STYLES,
        needs=_SEES,
    ),
    Setting(
        "order",
        "Order of terms about scenes: each in all orders (two, or four cyclic ones), or in one drawn by seed.",
        ORDERS[0],
        ORDERS,
        needs=_NAMES,
        excludes=("paper",),
    ),
    Setting("utkface", "Show faces of UTKFace: the folder.", "", needs=_SEES),
    Setting(
        "fairface",
        "Show faces of FairFace: its labels; --root is the folder.",
        "",
        needs=_SEES,
        excludes=("utkface",),
    ),
    Setting(
        "manifest",
        "Show your own faces (with age, gender and race), scenes (with persona), or both: a manifest.",
        "",
        excludes=_ANY,
    ),
    Setting(
        "composed",
        "Show pairs that the authors' code composed: the folder.",
        "",
        needs=_SEES,
        excludes=("utkface", "fairface"),
    ),
    *own_files(("manifest", "fairface"), _OWN),
    Setting("faces", "Faces drawn of each age, gender and skin tone.", 3, needs=_SEES, excludes=_OWN),
    Setting("pairs", "Pairs of a cell at most.", MOST, needs=_SEES, excludes=("composed", "paper")),
    Setting("pair_seed", "Which faces are paired, and on which side they are.", 1, needs=_SEES, excludes=("paper",)),
    Setting(
        "sides",
        "Show each pair twice, with its sides changed, or once, on sides drawn by seed, as the paper does.",
        BOTH,
        (BOTH, DRAWN),
        needs=_SEES,
        excludes=("composed", "paper"),
    ),
    Setting("scenes", "Show your own scenes: a folder with ArtLover ... ShabbyHut/N.png.", "", needs=_NAMES),
    Setting(
        "per_persona",
        f"Scenes of each persona at most; 0 for 20 drawn ones, or {SCENES} of your own.",
        0,
        needs=_NAMES,
        excludes=("paper",),
    ),
    Setting("scene_seed", "Which scenes, and which random orders of terms.", 1, needs=_NAMES, excludes=("paper",)),
    Setting("real_world", "A CSV of real shares: instance, group, share, source.", ""),
    Setting("paper", "Plan the paper's 2,604 and 7,378 pairs and 200 scenes; nothing can be shown.", default=False),
    Setting("seeds", "Sampling seeds; everything is asked once per seed.", ["1"]),
    Setting("temperature", "Sampling temperature (that of the released code; the paper prints none).", 0.2),
    Setting("top_p", "Nucleus of sampling (that of the released code).", 0.7),
    Setting("max_tokens", "Longest reply in tokens (that of the released code).", 512),
)


def parts_asked(options: Options, name: str, levels: Sequence[str]) -> tuple[str, ...]:
    """Modalities, attributes or kinds of scenarios that are asked about: those that were chosen, or all."""
    return chosen(name, names(options, name), levels) or tuple(levels)


def instances_asked(options: Options) -> tuple[Instance, ...]:
    """Occupations, descriptors and persona traits that are asked about."""
    kinds = chosen("kind of scenarios", names(options, "scenarios"), KINDS) or KINDS
    choices = chosen("instance", names(options, "instances"), _INSTANCES) or _INSTANCES
    out = tuple(instance for instance in instances() if instance["kind"] in kinds and instance["name"] in choices)
    if not out:
        raise DataError("Nothing is left to ask: the instances that were chosen are of other kinds.")
    return out


def personas_asked(options: Options) -> tuple[Instance, ...]:
    """Persona traits whose scenes are asked about."""
    out = tuple(instance for instance in instances_asked(options) if instance["kind"] == "persona")
    if not out:
        raise DataError(
            "No scene is left: only persona traits have scenes, and none was chosen. Name some (--instances), or leave "
            "scenes out (--modality vision)."
        )
    return out


def is_balanced(options: Options) -> bool:
    """Return whether terms about scenes stand in all orders; in one drawn by seed in the paper."""
    return options["order"] == ORDERS[0] and not options["paper"]
