"""Whether an identity can be shown in a picture, from a person's label and a model's (A.2)."""

from typing import Literal

from facevalue.errors import UnknownNameError

Label = Literal["Yes", "No", "Ambiguous"]
LABELS: tuple[Label, ...] = ("Yes", "No", "Ambiguous")


def visually_representative(human: str, model: str) -> Label:
    """The final label of an identity by the deterministic rules of A.2.

    Where both agree, their label, but Yes where both say Ambiguous; Yes overrides Ambiguous; No overrides Yes. The
    paper says nothing about No against Ambiguous: here No wins, which is the cautious reading and what the labels that
    the authors released have ("smart person": GPT-4o Maybe, human No, final No).

    Parameters
    ----------
    human, model:
        "Yes", "No" or "Ambiguous".

    Returns
    -------
    "Yes" or "No".

    Raises
    ------
    UnknownNameError
        Another label.

    Examples
    --------
    >>> visually_representative("Ambiguous", "Yes"), visually_representative("No", "Yes")
    ('Yes', 'No')
    """
    for label in (human, model):
        if label not in LABELS:
            raise UnknownNameError("label", label, LABELS)
    return "No" if "No" in (human, model) else "Yes"
