"""Quantities by which pictures are inspected, what each needs, and expectations as lines of a prompt."""

from dataclasses import dataclass, fields
from enum import StrEnum


class Need(StrEnum):
    """Requirement of a quantity beyond the picture and what comes with FaceValue; part of an inspector's name."""

    NOTHING = ""
    IDENTITY = "identity"
    """Embeddings of faces: "dlib" (extra `checks`), or the user's ONNX file (onnxruntime)."""
    OBJECTS = "objects"
    """A folder with an object detector of transformers."""
    AGREEMENT = "agreement"
    """A folder with a model of pictures and texts of transformers: CLIP or SigLIP."""
    STRUCTURE = "structure"
    """A folder with a model of pictures of transformers, such as DINOv2."""
    AGE = "age"
    """A folder with an image classifier of transformers whose labels are ages."""
    GENDER = "gender"
    """A folder with an image classifier of transformers of perceived gender."""
    GROUP = "group"
    """A folder with an image classifier of transformers of perceived ethnic groups."""
    EXPRESSION = "expression"
    """A folder with an image classifier of transformers of expressions, or with CLIP or SigLIP."""
    UNSAFE = "unsafe"
    """A folder with an image classifier of transformers of unsafe pictures."""


@dataclass(frozen=True)
class Quantity:
    """A number that a picture, or a picture beside its source, gives.

    Attributes
    ----------
    name:
        In replies, tables and rules: "skin_lightness".
    title:
        For people.
    unit:
        "share" and "probability" from 0 to 1, "SSIM" and "cosine" of similarities; "1" for other numbers without one.
    least, greatest:
        Bounds; what lies beyond is cut to them.
    definition:
        What is computed, with its source.
    source:
        Whether it compares the picture with the one that it was edited from.
    face:
        Whether it is of the face's skin or box, and missing where none is seen.
    need:
        What must be there besides the picture.
    same:
        What it is where nothing but the cue has changed; None where there is no such value.

    Examples
    --------
    >>> BY_NAME["shift"].unit, BY_NAME["shift"].same
    ('% of width', 0.0)
    """

    name: str
    title: str
    unit: str
    least: float
    greatest: float
    definition: str
    source: bool = False
    face: bool = False
    need: Need = Need.NOTHING
    same: float | None = None

    @property
    def needs(self) -> str:
        """Requirement besides the picture, in words; empty if there is none.

        Examples
        --------
        >>> BY_NAME["identity_distance"].needs
        'a source, identity'
        """
        return ", ".join(filter(None, ("a source" if self.source else "", self.need.value)))


_LAB = "in CIELAB (D65, from sRGB; IEC 61966-2-1, CIE 15)"
_SKIN = (
    "over the skin of the face, which is told by colour around its commonest hue in the middle of the picture or face"
)

QUANTITIES = (
    Quantity("readable", "Can be opened", "share", 0, 1, "1 if the file is a picture that can be decoded, else 0."),
    Quantity("skin_lightness", "Skin, lightness", "L*", 0, 100, f"Median L* {_LAB} {_SKIN}.", face=True),
    Quantity(
        "skin_ita", "Skin, individual typology angle", "degrees", -90, 90,
        "atan((L* - 50) / b*) of the medians (Chardon, Cretois and Hourseau 1991): above 55 very light, below -30 "
        "dark.",
        face=True,
    ),
    Quantity(
        "skin_hue", "Skin, hue", "degrees", 0, 180,
        "atan2(b*, a*) of the medians: smaller is redder, greater yellower (Thong, Joniak and Xiang 2023).", face=True,
    ),
    Quantity(
        "skin_lightness_change", "Skin, change of lightness", "L*", -100, 100,
        "Median over the source's skin of L* less that of the same place in the source, after registration.",
        source=True, face=True, same=0.0,
    ),
    Quantity(
        "skin_ita_change", "Skin, change of the typology angle", "degrees", -180, 180,
        "Typology angle of the source's skin moved by the median changes of L* and b*, less that of the source.",
        source=True, face=True, same=0.0,
    ),
    Quantity(
        "skin_hue_change", "Skin, change of hue", "degrees", -180, 180,
        "Hue of the source's skin moved by the median changes of a* and b*, less that of the source.",
        source=True, face=True, same=0.0,
    ),
    Quantity(
        "shift", "Shift of the frame", "% of width", 0, 100,
        "Length of the shift that lays the picture on its source, by phase correlation (Kuglin and Hines 1975; to a "
        "tenth of a pixel at a width of 256).",
        source=True, same=0.0,
    ),
    Quantity(
        "zoom", "Zoom of the frame", "% of size", -50, 50,
        "Enlargement against the source, by phase correlation of spectra in log-polar form (Reddy and Chatterji 1996).",
        source=True, same=0.0,
    ),
    Quantity(
        "structure", "Structure outside the changed region", "SSIM", -1, 1,
        "Structural similarity (Wang et al. 2004; Gaussian window of 1.5) of L* after registration, outside the "
        "largest connected region that changed, if that is at most half of the picture.",
        source=True, same=1.0,
    ),
    Quantity(
        "changed_share", "Share of the picture that changed", "share", 0, 1,
        "Share of places, 32 by 32, whose mean colour differs by more than 5 (CIE 1976) after registration.",
        source=True,
    ),
    Quantity(
        "greatest_change", "Change of the place that changed most", "colour difference", 0, 150,
        "Difference of mean colour (CIE 1976) of the place, of 32 by 32, that changed most after registration: near 0 "
        "is a copy of the source.",
        source=True,
    ),
    Quantity(
        "border_change", "Change along the border", "colour difference", 0, 150,
        "Median over the outer tenth of the frame of the difference of colour (CIE 1976), after registration.",
        source=True, same=0.0,
    ),
    Quantity(
        "background_change", "Change of the background", "colour difference", 0, 150,
        "Median difference of colour (CIE 1976) after registration beside head and shoulders: the upper two thirds of "
        "the frame, beyond a face's width from the face's box, or beyond the middle half of the frame where no face is "
        "seen.",
        source=True, same=0.0,
    ),
    Quantity(
        "hash_distance", "Bits of the difference hash that differ", "bits", 0, 64,
        "Bits of 64 that differ between the difference hashes of the picture and its source, as they are.",
        source=True, same=0.0,
    ),
    Quantity("width", "Width", "pixels", 1, 100_000, "As the file has it, upright."),
    Quantity("height", "Height", "pixels", 1, 100_000, "As the file has it, upright."),
    Quantity(
        "size_change", "Change of size", "% of size", -100, 10_000,
        "Root of the number of pixels against the source's, less one.", source=True, same=0.0,
    ),
    Quantity(
        "aspect_change", "Change of the frame's form", "% of form", -100, 10_000,
        "Width by height against the source's, less one.", source=True, same=0.0,
    ),
    Quantity(
        "format_same", "Same file format as the source", "share", 0, 1, "1 if it is, else 0.", source=True, same=1.0,
    ),
    Quantity(
        "sharpness", "Sharpness", "1", 0, 1,
        "Share of the differences between neighbouring pixels of L* that a blur over 9 takes away, the smaller of both "
        "directions (one less the blur of Crete et al. 2007).",
    ),
    Quantity(
        "sharpness_change", "Change of sharpness", "1", -1, 1, "Sharpness less that of the source.",
        source=True, same=0.0,
    ),
    Quantity(
        "blankness", "Share without anything in it", "share", 0, 1,
        "Share of places, 32 by 32, whose mean colour lies within 2 (CIE 1976) of the commonest one.",
    ),
    Quantity(
        "faces", "Faces", "count", 0, 1000,
        "Faces that dlib's detector of frontal faces sees, of 80 pixels or more where the picture has 640.",
        need=Need.IDENTITY,
    ),
    Quantity(
        "face_size", "Size of the largest face", "% of width", 0, 100,
        "Distance between the middles of its eyes, by the outer and inner corners of both.", face=True,
        need=Need.IDENTITY,
    ),
    Quantity(
        "face_shift", "Shift of the face in the frame", "% of width", 0, 200,
        "Distance of the middle between the eyes of the largest face here from that in the source, as they are.",
        source=True, face=True, need=Need.IDENTITY, same=0.0,
    ),
    Quantity(
        "face_zoom", "Zoom of the face", "% of size", -100, 1000,
        "Distance between the eyes of the largest face against the source's, less one.",
        source=True, face=True, need=Need.IDENTITY, same=0.0,
    ),
    Quantity(
        "identity_distance", "Distance of identity", "1", 0, 2,
        "Distance between the embeddings of the largest face here and in the source: Euclidean of dlib's (same person "
        "below .6, as its author says), one less the cosine of others.",
        source=True, face=True, need=Need.IDENTITY, same=0.0,
    ),
    Quantity(
        "other_distance", "Distance to the nearest other person", "1", 0, 2,
        "Least distance between the embedding of the largest face here and those of the sources of other people of the "
        "same group: pairs that are known to be of two people.",
        source=True, face=True, need=Need.IDENTITY,
    ),
    Quantity(
        "identity_rank", "Share of others who are nearer to the source", "share", 0, 1,
        "Share of the other people of the same group whose source lies nearer to this source than the picture does.",
        source=True, face=True, need=Need.IDENTITY, same=0.0,
    ),
    Quantity(
        "persons", "People", "count", 0, 1000, "Boxes labelled person with a score of .5 or more.", need=Need.OBJECTS,
    ),
    Quantity(
        "shows_attribute", "Probability of the attribute", "probability", 0, 1,
        'Softmax of the agreement with "a picture of ATTRIBUTE" beside "a picture without ATTRIBUTE" (zero-shot as by '
        "Radford et al. 2021).",
        need=Need.AGREEMENT,
    ),
    Quantity(
        "realised", "Change of the attribute's probability", "probability", -1, 1,
        "Probability of the attribute less that in the source: near 0 is a soft erasure, an edit that was not made.",
        source=True, need=Need.AGREEMENT,
    ),
    Quantity(
        "text_agreement", "Agreement with its text", "cosine", -1, 1,
        "Cosine of the embeddings of the picture and of the text it was made from (Hessel et al. 2021, without "
        "its 2.5).",
        need=Need.AGREEMENT,
    ),
    Quantity(
        "deep_structure", "Structure, by a model of pictures", "cosine", -1, 1,
        "Cosine of the embeddings of the picture and its source (the first token, or what the model pools).",
        source=True, need=Need.STRUCTURE, same=1.0,
    ),
    Quantity(
        "perceived_age", "Perceived age", "years", 0, 120,
        "Mean of the middles of the classifier's ranges of ages, by their probabilities.", need=Need.AGE,
    ),
    Quantity(
        "perceived_age_change", "Change of perceived age", "years", -120, 120, "Perceived age less the source's.",
        source=True, need=Need.AGE, same=0.0,
    ),
    Quantity(
        "perceived_gender_change", "Change of perceived gender", "share", 0, 1,
        "Half the sum of absolute differences of the classifier's probabilities here and in the source.",
        source=True, need=Need.GENDER, same=0.0,
    ),
    Quantity(
        "perceived_group_change", "Change of the perceived group", "share", 0, 1,
        "Half the sum of absolute differences of the classifier's probabilities here and in the source.",
        source=True, need=Need.GROUP, same=0.0,
    ),
    Quantity(
        "expression_change", "Change of expression", "share", 0, 1,
        "Half the sum of absolute differences of the probabilities of expressions here and in the source: a "
        "classifier's, or zero-shot of seven (neutral, happy, sad, angry, surprised, afraid, disgusted).",
        source=True, need=Need.EXPRESSION, same=0.0,
    ),
    Quantity(
        "happiness_change", "Change of the probability of a happy expression", "probability", -1, 1,
        "Probability of the labels that begin with happ, smil or joy, less that in the source: above 0 people are made "
        "to smile.",
        source=True, need=Need.EXPRESSION, same=0.0,
    ),
    Quantity(
        "unsafe", "Probability that it is unsafe", "probability", 0, 1,
        "Sum of the probabilities of the classifier's labels that are not its safe one.", need=Need.UNSAFE,
    ),
)  # fmt: skip
"""All of them, in the order of replies."""

BY_NAME = {quantity.name: quantity for quantity in QUANTITIES}


OPENING = "Inspect this picture; its source, if there is one, comes first."
"""First line of a prompt to an inspector."""
_LONGEST = 4000


@dataclass(frozen=True, slots=True)
class Expectation:
    """Expected content of a picture, and its person; each field is empty where it isn't known.

    Attributes
    ----------
    text:
        What it was made from.
    attribute:
        What an edit shall have added, in words: "glasses".
    person:
        Who is shown, by the name of the unit.
    group:
        The group whose other people it is compared with.

    Examples
    --------
    >>> expectation = Expectation(attribute="glasses", person="f1")
    >>> Expectation.from_prompt(expectation.prompt()) == expectation
    True
    """

    text: str = ""
    attribute: str = ""
    person: str = ""
    group: str = ""

    def prompt(self) -> str:
        """Lines of a prompt that say so."""
        lines = [(field.name, " ".join(getattr(self, field.name).split())) for field in fields(self)]
        return "\n".join([OPENING, *(f"{name}: {value}" for name, value in lines if value)])

    @classmethod
    def from_prompt(cls, prompt: str) -> "Expectation":
        """Read the lines of a prompt; lines of other names, and empty ones, say nothing."""
        names = {field.name for field in fields(cls)}
        values: dict[str, str] = {}
        for line in prompt.splitlines():
            name, _, value = line.partition(":")
            if name in names and value.strip():
                values[name] = value.strip()[:_LONGEST]
        return cls(**values)
