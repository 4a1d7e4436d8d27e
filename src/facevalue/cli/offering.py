"""Offers of studies beyond the common commands, and the error for a study that lacks one."""

from collections.abc import Sequence

import click

from facevalue import studies
from facevalue.protocol import Protocol


def offering(command: str, *, all_packages: bool = False) -> dict[str, Protocol]:
    """The studies that offer a command, by name; those of other packages too if they shall be imported.

    Examples
    --------
    >>> list(offering("questionnaire"))
    ['visbias', 'counterfactuals']
    """
    known = studies.available()[0] if all_packages else studies.STUDIES
    return {name: one for name, one in known.items() if command in one.extras.commands}


def example(command: str) -> str:
    """The name of a study that offers a command."""
    return next(iter(offering(command)))


def offered(study: str, command: str, what: str) -> Protocol:
    """Look up a study that must offer a command."""
    found = studies.protocol(study)
    if command not in found.extras.commands:
        raise click.UsageError(lacking(found.name, command, what))
    return found


def lacking(study: str, command: str, what: str) -> str:
    """Say that a study does not offer a command, and which do.

    Examples
    --------
    >>> lacking("visbias", "prompts", "image prompts")
    'visbias offers no image prompts; stylisticbias, vignette and modscan do.'
    """
    others = list(offering(command, all_packages=True))
    return f"{study} offers no {what}; {listed(others)} {'do' if len(others) > 1 else 'does'}."


def listed(names: Sequence[str], word: str = "and") -> str:
    """Names as people list them.

    Examples
    --------
    >>> listed(["a", "b", "c"]), listed(["a"], "or")
    ('a, b and c', 'a')
    """
    return f" {word} ".join(filter(None, (", ".join(names[:-1]), names[-1])))
