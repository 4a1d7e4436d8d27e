"""Tables of the paper as data: identities (Table 6), activities (7), terms (5), questions (4.1-4.4, 11).

Content note: the identities and terms are those of the published protocol. Some are stereotypes or are not what the
groups themselves prefer; they are here to be measured, not endorsed.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cache, partial
from types import MappingProxyType

from facevalue.errors import UnknownNameError
from facevalue.untrusted_files import records, shipped

read = partial(shipped, __package__, "tables")
"""The tables of a file that comes with the study."""

GENDERS = ("male", "female")
PARADIGMS = ("factuality", "perception", "stereotype", "decision")
CONTRASTS = ("identity", "activity", "identity-activity", "portrait")
TRAITS = ("ability", "sociability", "morality", "agency", "status", "appearance")
"""The six dimensions that decisions are asked of, in the order of section 4.4."""


@dataclass(frozen=True, slots=True)
class IdentityKind:
    """A dimension of identity."""

    name: str
    """Level of the factor `dimension`: "physical traits"."""
    title: str
    """Name that Table 8 prints: "Physical Traits"."""
    axis: str
    """Name in the authors' files: "physical_traits"."""


@dataclass(frozen=True, slots=True)
class SocialIdentity:
    """An identity of Table 6."""

    name: str
    """Its descriptor without gender, in lower case; unique within its dimension."""
    dimension: str
    male: str | None = None
    """Its wording in pictures of men ("old man"); None where the authors' lists have none."""
    female: str | None = None
    aliases: tuple[str, ...] = ()
    """The authors' spellings of both wordings, the male first, where other letters stand in them ("male begger")."""


@dataclass(frozen=True, slots=True)
class Activity:
    """An activity of Table 7, with its kind of time: necessary, committed, contracted or free."""

    name: str
    time: str


@dataclass(frozen=True, slots=True)
class TermPair:
    """Two contrasting terms of Table 5, of high and low valence."""

    high: str
    low: str
    trait: str
    valenced: bool
    """True if the high term is the better one. Not so in politics."""

    @property
    def name(self) -> str:
        """Level of the factor `pair`: "friendly-unfriendly"."""
        return f"{self.high}-{self.low}"


@dataclass(frozen=True, slots=True)
class WordedQuestion:
    """A question with its two paraphrases."""

    paradigm: str
    name: str
    contrasts: tuple[str, ...]
    """The kinds of picture pair that it is asked of in this form."""
    wordings: tuple[str, str, str]
    """Templates of identity, activity, activity_1, activity_2, term, role ("cook") and a_role ("a cook")."""
    ours: tuple[int, ...] = ()
    """Numbers of the wordings that the paper does not print."""
    match: tuple[float, float, float] | None = None
    """Percent of cases in which all three, two, and no two answers to the wordings agree, by Llama 3.2 (Table 11); None
    for forms that it does not list."""
    released: Mapping[str, str] = field(default_factory=dict)
    """Wordings of the authors' code in place of wording 1, by contrast, where it differs."""


@cache
def dimensions() -> tuple[IdentityKind, ...]:
    """The eight dimensions, in the order of Table 6."""
    return records(IdentityKind, read("identities.toml")["dimension"])


@cache
def _table_6() -> Mapping[str, tuple[SocialIdentity, ...]]:
    rows = read("identities.toml")["dimension"]
    return {row["name"]: records(SocialIdentity, row["identities"], dimension=row["name"]) for row in rows}


@cache
def identities(dimension: str, gender: str | None = None) -> tuple[SocialIdentity, ...]:
    """The identities of a dimension, in the order of Table 6; with a gender, those with pictures of it.

    "Woman" and "man" of the dimension gender are both under "male", as in Table 8.
    """
    if dimension not in _table_6():
        raise UnknownNameError("dimension", dimension, _table_6())
    rows = _table_6()[dimension]
    return rows if gender is None else tuple(i for i in rows if _released_wording(i, gender) is not None)


def _released_wording(identity: SocialIdentity, gender: str) -> str | None:
    if gender not in GENDERS:
        raise UnknownNameError("gender", gender, GENDERS)
    return identity.male if gender == "male" else identity.female


def wording(identity: SocialIdentity, gender: str) -> str:
    """Name of an identity in prompts, with its gender and without an article.

    Examples
    --------
    >>> [wording(one, "female") for one in identities("age")][2:4]
    ['old woman', 'young woman']
    """
    worded = _released_wording(identity, gender)
    if worded is None:
        names = [i.name for i in identities(identity.dimension, gender)]
        raise UnknownNameError(f"{gender} identity in {identity.dimension}", identity.name, names)
    return worded


def released_word(identity: SocialIdentity, gender: str) -> str:
    """Name of an identity in the authors' code: its file name in their spelling, hyphens read as blanks.

    Examples
    --------
    >>> [released_word(one, "male") for one in (*identities("religion")[1:2], *identities("physical traits")[23:24])]
    ['muslim man', 'clean shaven man']
    """
    spelling = dict(zip(GENDERS, identity.aliases, strict=False)).get(gender) or wording(identity, gender)
    return spelling.lower().replace("-", " ")


def title(identity: SocialIdentity) -> str:
    """An identity's name for people: as its wording writes it, without the gender.

    Examples
    --------
    >>> [title(one) for one in identities("religion")][1:3], title(identities("age")[7])
    (['Muslim', 'Mormon'], 'little')
    """
    for worded in (identity.male, identity.female):
        at = (worded or "").lower().find(identity.name)
        if worded is not None and at >= 0:
            return worded[at : at + len(identity.name)]
    return identity.name


@cache
def activities() -> tuple[Activity, ...]:
    """The 75 activities of Table 7, in its order."""
    return tuple(
        Activity(name, time["name"]) for time in read("activities.toml")["time"] for name in time["activities"]
    )


@cache
def times() -> Mapping[str, str]:
    """The four kinds of time and their titles, in the order of Table 7."""
    return MappingProxyType({time["name"]: time["title"] for time in read("activities.toml")["time"]})


@cache
def term_pairs() -> tuple[TermPair, ...]:
    """The 30 pairs of Table 5, in its order."""
    return tuple(
        TermPair(high, low, trait["name"], trait.get("valenced", True))
        for trait in read("terms.toml")["trait"]
        for high, low in trait["pairs"]
    )


@cache
def questions(paradigm: str | None = None, contrast: str | None = None) -> tuple[WordedQuestion, ...]:
    """The questions of sections 4.1-4.4 with the paraphrases of Table 11, of a paradigm or kind of picture pair."""
    for kind, name, allowed in (("paradigm", paradigm, PARADIGMS), ("contrast", contrast, CONTRASTS)):
        if name is not None and name not in allowed:
            raise UnknownNameError(kind, name, allowed)
    return tuple(
        question
        for question in records(WordedQuestion, read("questions.toml")["question"])
        if paradigm in (None, question.paradigm) and (contrast is None or contrast in question.contrasts)
    )


@cache
def overlaps(dimension: str) -> frozenset[frozenset[str]]:
    """Pairs of identities that describe much the same appearance, which A.2 filters out by hand (our list).

    Examples
    --------
    >>> frozenset({"cop", "police officer"}) in overlaps("socioeconomic")
    True
    """
    if dimension not in _table_6():
        raise UnknownNameError("dimension", dimension, _table_6())
    rows = read("overlaps.toml")["identities"]
    return frozenset(frozenset(row["pair"]) for row in rows if row["dimension"] == dimension)


@cache
def similar_activities() -> frozenset[frozenset[str]]:
    """Pairs of activities that one picture may show both of, so that neither is a wrong answer to the other (our list).

    A.3 draws the wrong options of factuality from activities that are not semantically similar.
    """
    return frozenset(frozenset(row["pair"]) for row in read("overlaps.toml")["activities"])
