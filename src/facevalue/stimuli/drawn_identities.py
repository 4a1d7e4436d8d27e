"""Drawn identities of VIGNETTE (Table 6): how each is drawn, and why the others are not."""

from collections.abc import Mapping
from dataclasses import dataclass
from types import MappingProxyType

from facevalue.errors import UnknownNameError

GENDERS: tuple[str, ...] = ("male", "female")


@dataclass(frozen=True, slots=True)
class Look:
    """How an identity differs from the base person of its gender.

    `change` is an attribute of a portrait and its value; `gender` the one drawn, where the identity is one; `sign` a
    name in `drawn_signs.SIGNS`; `occupation` one of the Noto artwork, and then nothing else is set. Drawn for `genders`
    only.
    """

    change: tuple[str, str] | None = None
    age: str = "young"
    skin_tone: str = ""
    build: str = "normal"
    gender: str = ""
    sign: str = ""
    occupation: str = ""
    genders: tuple[str, ...] = GENDERS


def _hair(kind: str, value: str) -> Look:
    return Look((f"hair_{kind}", value))


_MEN, _WOMEN = ("male",), ("female",)
LOOKS: Mapping[str, Mapping[str, Look]] = MappingProxyType(
    {
        "ability": {
            "wheelchair": Look(sign="wheelchair"),
            "glasses": Look(("eyewear", "thick-rimmed")),
            "blind": Look(sign="white cane"),
        },
        "age": {"old": Look(age="elderly"), "young": Look(), "middle aged": Look(age="middle-aged")},
        "gender": {"woman": Look(gender="female", genders=_MEN), "man": Look(gender="male", genders=_MEN)},
        "nationality": {},
        "physical traits": {
            "fat": Look(build="obese"),
            "thin": Look(build="thin"),
            "blonde": _hair("color", "blonde"),
            "pierced": Look(("piercings", "multiple")),
            "bald": _hair("length", "bald"),
            "black-haired": _hair("color", "black"),
            "brown-haired": _hair("color", "brown"),
            "bearded": Look(("facial_hair", "full-beard"), genders=_MEN),
            "clean-shaven": Look(("facial_hair", "clean-shaven"), genders=_MEN),
            "short-haired": _hair("length", "short"),
            "brown-skinned": Look(skin_tone="monk-07"),
            "dark-skinned": Look(skin_tone="monk-09"),
            "light-skinned": Look(skin_tone="monk-04"),
            "pale-skinned": Look(skin_tone="monk-01"),
            "acne-covered": Look(("skin_irregularities", "acne")),
            "redheaded": _hair("color", "red"),
            "gray-haired": _hair("color", "gray"),
            "long-haired": _hair("length", "long"),
            "tattooed": Look(("tattoos", "facial-tattoo")),
        },
        "race": {},
        "religion": {
            "muslim": Look(("accessories", "headscarf"), genders=_WOMEN),
            "jewish": Look(sign="skullcap", genders=_MEN),
            "sikh": Look(sign="turban", genders=_MEN),
            "christian": Look(sign="cross"),
        },
        "socioeconomic": {
            "doctor": Look(occupation="health-worker"),
            "chef": Look(occupation="cook"),
            "teacher": Look(occupation="teacher"),
            "clerk": Look(occupation="office-worker"),
            "painter": Look(occupation="artist"),
            "police officer": Look(occupation="police-officer"),
            "scientist": Look(occupation="scientist"),
            "mechanic": Look(occupation="mechanic"),
            "rockstar": Look(occupation="singer"),
            "construction worker": Look(occupation="construction-worker"),
            "pilot": Look(occupation="pilot"),
            "farmer": Look(occupation="farmer"),
            "firefighter": Look(occupation="firefighter"),
        },
    }
)
"""What is drawn: per dimension, in the order of Table 6, the look of each identity."""


def _all(reason: str, *names: str) -> dict[str, str]:
    return dict.fromkeys(names, reason)


_TASTE = "Looks good or bad only in somebody's eyes; a drawing of it would be a caricature."
_CARICATURE = "A drawing of it would be a caricature of people."
_NO_CHILD = "The portraits are of adults; a child in another style would be told apart by the style."
_NO_SIGN = "No plain sign shows it; a costume would be a caricature."
_NO_FIGURE = "The artwork has no such figure."
_WEALTH = "What people own cannot be seen in them without a caricature."
_HEALTH = "Health cannot be seen in a drawn person."
_HAIR = "The portraits have no such hair."

LEFT_OUT: Mapping[str, Mapping[str, str]] = MappingProxyType(
    {
        "ability": {
            **_all(_HEALTH, "athletic", "healthy", "ill"),
            "psoriasis": "The portraits have no such skin.",
            "disabled": "Disability has many forms and no picture of its own.",
            "crippled": "A slur; a drawing of it would be a caricature.",
            "down syndrome": "A drawing of a face with Down syndrome would be a caricature.",
        },
        "age": {
            **_all(_NO_CHILD, "child", "teenager", "little", "adolescent"),
            "college student": "Would be the same drawing as 'young'.",
            "adult": "Every drawn person is an adult.",
        },
        "gender": {},
        "nationality": _all(
            "A nationality cannot be seen in a face, and costumes would be caricatures.",
            "pakistani", "irish", "american", "african", "chinese", "british", "vietnamese", "hispanic", "mongolian",
            "mexican", "filipino", "korean", "indian", "french", "thai", "german", "middle eastern",
            "native american", "japanese", "italian", "iraqi", "greek", "russian", "european", "eskimo", "scottish",
        ),
        "physical traits": {
            **_all(_TASTE, "beautiful", "ugly", "cute", "handsome", "attractive", "unattractive"),
            **_all("Height cannot be seen in a person drawn to the chest.", "tall", "short"),
            **_all("Would be the same drawing as 'fat'.", "large", "obese"),
            "underweight": "Would be the same drawing as 'thin'.",
            "brunette": "Would be the same drawing as 'brown-haired'.",
            "acne-ridden": "Would be the same drawing as 'acne-covered'.",
            "white": "A skin tone is drawn, not a race.",
            **_all(_CARICATURE, "hunchback", "disfigured"),
            **_all("The portraits have no such build.", "fit", "muscular"),
            **_all(_HAIR, "spiky-haired", "curly-haired", "dreadlocked"),
        },
        "race": _all(
            "A race is not a skin tone; drawn faces that stood for races would be caricatures.",
            "caucasian", "spanish", "white american", "black", "moroccan", "argentinian", "egyptian", "indonesian",
            "brazilian", "bengali", "nepali", "aboriginal", "indigenous", "asian",
        ),
        "religion": {
            **_all(_NO_SIGN, "mormon", "jain", "zoroastrian", "taoist", "hindu", "buddhist"),
            **_all(_CARICATURE, "satanist", "wiccan"),
            "muslim": "Only the headscarf that many women wear is drawn.",
            "jewish": "Only the skullcap that many men wear is drawn.",
            "sikh": "Only the turban that many men wear is drawn.",
        },
        "socioeconomic": {
            **_all("Would be the same drawing as 'doctor'.", "physician", "nurse"),
            "cop": "Would be the same drawing as 'police officer'.",
            "professor": "Would be the same drawing as 'teacher'.",
            **_all("Would be the same drawing as 'mechanic'.", "handyman", "plumber", "electrician"),
            "laborer": "Would be the same drawing as 'construction worker'.",
            **_all(
                _NO_FIGURE,
                "commander", "actor", "journalist", "bartender", "tennis player", "delivery", "waiter", "umpire",
                "pastor", "lawyer", "fisherman", "engineer", "athlete", "fashion model", "coal mines", "clown",
                "janitor", "maid", "sports player", "soldier", "trash collector",
            ),
            **_all(_WEALTH, "poverty stricken", "rich", "wealthy", "poor", "beggar"),
            **_all(_CARICATURE, "mafia", "hillbilly", "ghetto", "thug"),
            **_all("Where people live cannot be seen in them.", "countryside", "urban", "rural"),
        },
    }
)  # fmt: skip
"""What is not drawn, with the reason. Where an identity is in `LOOKS` too, this holds for the other gender."""

_MALE_ONLY = ("handsome", "bearded", "clean-shaven")
"""Physical traits that Table 6 has for men alone."""


def drawable(gender: str, dimension: str) -> tuple[str, ...]:
    """Return the identities of a dimension that are drawn.

    Both identities of the dimension gender stand under "male", as in Table 8.
    """
    _known(gender, dimension)
    return tuple(name for name, look in LOOKS[dimension].items() if gender in look.genders)


def left_out(gender: str, dimension: str) -> Mapping[str, str]:
    """Return the identities of Table 6 that are not drawn, each with a sentence that says why."""
    drawn = drawable(gender, dimension)
    return {
        name: reason
        for name, reason in LEFT_OUT[dimension].items()
        if name not in drawn and not (gender == "female" and name in _MALE_ONLY)
    }


def _known(gender: str, dimension: str) -> None:
    if gender not in GENDERS:
        raise UnknownNameError("gender", gender, GENDERS)
    if dimension not in LOOKS:
        raise UnknownNameError("dimension", dimension, LOOKS)
