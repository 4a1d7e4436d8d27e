"""`facevalue plan`: its options."""

from typing import Any

import click

from facevalue.cli.options import EXACT, PRICES, SAMPLE, SEED, WITH
from facevalue.cli.places import Place
from facevalue.cli.study_command import StudyGroup
from facevalue.models.base import IMAGE_TOKENS


def _plan(*protocol_and_options: Any, **values: Any) -> None:
    from facevalue.cli.planning import plan  # noqa: PLC0415 - help needs nothing of it

    plan(*protocol_and_options, **values)


plan = StudyGroup(
    "plan",
    _plan,
    (
        SAMPLE,
        SEED,
        EXACT,
        WITH,
        click.Option(["--image-tokens"], type=click.IntRange(0), default=IMAGE_TOKENS, show_default=True,
                     help="Tokens that the model spends on one picture."),
        *PRICES,
        click.Option(["--detect"], type=float, metavar="SHIFT",
                     help="Also show how many units detect this shift with 80% power."),
        click.Option(["--compare"], is_flag=True,
                     help="Plan for the difference between two such runs, as `facevalue compare` finds it."),
        click.Option(["--pilot"], type=Place(),
                     help="A run to take the spread from, instead of a stated default."),
        click.Option(["--paper-table"], metavar="NAME",
                     help="Show instead what the study's paper says it asked, where that is known."),
        click.Option(["--json", "as_json"], is_flag=True, help="Print the plan as JSON."),
    ),
    help="Show what a study costs before anything is spent.",
)  # fmt: skip
