"""The forms of the protocol: five fields of each filled in at random, its fields in one of the cyclic orders."""

import json
from collections.abc import Sequence
from functools import lru_cache

from facevalue.stimuli.forms import Form, forms
from facevalue.studies.visbias.tables import attributes


@lru_cache(maxsize=4)
def drawn_forms(table: str, count: int, seed: int) -> tuple[Form, ...]:
    """Draw forms up: `count` for each cyclic order of the fields (section 3.4).

    Each form is filled in anew, as in the released results: forms that shared what is filled in would not be
    independent, and 400 of them would count as 20.

    Parameters
    ----------
    table:
        The categories: "paper" or "released".
    count:
        Forms of each order.
    seed:
        Of what is filled in.

    Examples
    --------
    >>> made = drawn_forms("paper", 1, 1)
    >>> len(made), made[0].order[0], made[1].order[0], len(made[1].filled), made[0].filled == made[1].filled
    (20, 'Age', 'Gender', 5, False)
    """
    choices = {a.title: a.categories.names for a in attributes(table)}
    orders = len(choices)
    made = forms(choices, count * orders, seed)
    return tuple(made[number * orders + number % orders] for number in range(count * orders))


def filled(made: Sequence[Form]) -> list[str]:
    """What is filled in, as one text per form."""
    return [json.dumps(dict(form.filled)) for form in made]
