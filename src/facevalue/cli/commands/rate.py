"""Commands that have replies scored, sorted or rated: by a scorer, a model, people."""

from pathlib import Path

import click

from facevalue.cli.command import Printing
from facevalue.cli.params import MODEL, SCORER, RunFolder

_FILE = click.Path(path_type=Path, dir_okay=False)
_RUN = click.Argument(["run"], type=RunFolder())

annotate = Printing(
    "annotate",
    "annotate:annotate",
    (
        _RUN,
        click.Option(["--scorer"], type=SCORER, default="lexical", show_default=True, metavar="SCORER",
                     help="lexical, hf-text/FOLDER, perspective/FILE, openai-moderation, judge/MODEL."),
        click.Option(["--name"], default="", metavar="NAME",
                     help="Name to keep the scores under; use another for each scorer."),
        click.Option(["--prompt"], multiple=True, metavar="PROMPT",
                     help="Replies to this prompt alone; repeat for each."),
        click.Option(["--labels"], default="", metavar="A,B", help="Which labels the scorer shall score."),
        click.Option(["--rubric"], type=_FILE, help="Text file that tells judge/MODEL what to rate by a number."),
        click.Option(["--concurrency"], type=click.IntRange(1, 1024), default=16, show_default=True,
                     help="Maximum number of requests in flight, where the scorer is behind a server."),
    ),
    """Have SCORER score the open replies of RUN, each different text once.

    The scores are kept in RUN and used by `measure`, `report` and other commands. The same command goes on where it was
    stopped; another scorer's scores stand beside these.
    """,
)  # fmt: skip

judge = Printing(
    "judge",
    "judge:judge",
    (
        _RUN,
        click.Option(["--model"], required=True, type=MODEL, metavar="MODEL",
                     help="Model that judges: http://HOST/v1#NAME, openai/NAME or sim/NAME."),
        click.Option(["--concurrency"], type=click.IntRange(1, 1024), default=16, show_default=True,
                     help="Maximum number of requests in flight."),
    ),
    """Have MODEL sort what no rule sorts, and keep its verdicts in RUN for `measure`, `report` and other commands.

    Of own studies: open texts, each different one once, into the categories of [answer.judged]. Up to 100 with words
    for groups are judged again, with these swapped and without them, to see how far these words move MODEL.

    Of visbias: texts in forms that no rule sorts into a category, each different text once.

    Of counterfactuals: words that a group's texts have more often than others'; which are stereotypes?

    The same command retries failures.
    """,
)  # fmt: skip

questionnaire = Printing(
    "questionnaire",
    "questionnaire:questionnaire",
    (
        _RUN,
        click.Option(["--out"], type=_FILE,
                     help="The questionnaire (.html or .csv); with --ratings, the judged pairs (.csv)."),
        click.Option(["--least-kl"], type=float,
                     help="Ask about pairs with a greater divergence, in nats; 1, as published."),
        click.Option(["--most"], type=click.IntRange(min=1),
                     help="Ask about at most this many pairs, or words of a group, the strongest."),
        click.Option(["--ratings"], multiple=True, type=_FILE, help="A rater's file, filled in; repeat for each."),
        click.Option(["--texts"], metavar="SCORER/LABEL",
                     help="Have people sort replies from each range of this score."),
        click.Option(["--sorted", "sorting"], metavar="NAME",
                     help="Have people sort texts as a judge does, by [answer.judged.NAME]."),
        click.Option(["--naming"], metavar="WORD", default="",
                     help="With --texts: only replies that use this word of their group's name."),
        click.Option(["--threshold"], type=float, default=0.3, show_default=True,
                     help="With --texts and --ratings: score from which the scorer counts as a rater who objects."),
        click.Option(["--sample-seed", "seed"], type=click.IntRange(0), default=0, show_default=True,
                     help="Of pictures that were made: which are looked at, and in which order."),
    ),
    """Have people rate what RUN associates, says or made, or read their ratings.

    \b
    facevalue questionnaire RUN --out statements.html
    facevalue questionnaire RUN --ratings ann.csv --ratings bo.csv
    facevalue questionnaire RUN --texts lexical/hostility --out texts.csv
    facevalue questionnaire RUN --sorted tone --out texts.csv
    facevalue questionnaire MADE --out pictures.html

    Ratings are kept in RUN, in place of those given before, and stand in its report.
    Of forms (visbias), without a pair above --least-kl, the strongest above their noise floor are asked about (20, or
    --most). Of words (counterfactuals), the 50 that are most a group's (or --most) of each group. Of replies
    with scores, five of each fifth of the score and subset; their ratings say how far people agree, and the scorer with
    them (Fleiss' kappa). Of pictures that `facevalue make` made (MADE), 100 (or --most), each group by its share: are
    they what was asked for? The ratings say how many are fine, of whom, beside what the paper printed.
    """,
)  # fmt: skip
