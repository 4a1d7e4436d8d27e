"""Commands that have replies scored, sorted or rated: by a scorer, a model, people."""

from pathlib import Path

import click

from facevalue.cli.command import Printing
from facevalue.cli.options import PICTURES
from facevalue.cli.params import MODEL, SCORER, RunFolder

_FILE = click.Path(path_type=Path, dir_okay=False)
_RUN = click.Argument(["run"], type=RunFolder())

annotate = Printing(
    "annotate",
    "annotate:annotate",
    (
        _RUN,
        click.Option(["--scorer"], type=SCORER, default="lexical", show_default=True, metavar="SCORER",
                     help="lexical, hf-text/FOLDER, openai-moderation, judge/MODEL."),
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

review = Printing(
    "review",
    "review:review",
    (
        click.Argument(["run"], metavar="RUN|MADE", type=RunFolder()),
        click.Option(["--task"], type=click.Choice(["parse", "picture", "finding"]), default="parse",
                     show_default=True,
                     help="Is this what the reply means; does the picture show what it should; is the association a "
                     "stereotype?"),
        click.Option(["--out"], type=click.Path(path_type=Path),
                     help="Folder of the packets; with --collect, a table of what was said (.csv)."),
        click.Option(["--collect"], multiple=True, type=_FILE, metavar="FILE",
                     help="A rater's answers (.json), as the page saved them; repeat for each."),
        click.Option(["--sample"], type=click.IntRange(1),
                     help="Replies (200), pictures (100) or statements (as published) at most; of words, of each "
                     "group (50)."),
        click.Option(["--raters"], type=click.IntRange(1, 50), default=3, show_default=True,
                     help="Packets, each in an order of its own."),
        click.Option(["--instructions"], type=_FILE, help="A text file in place of the task's instructions."),
        click.Option(["--sorted", "sorting"], metavar="NAME",
                     help="parse: texts that a judge sorts, by [answer.judged.NAME]."),
        click.Option(["--texts", "score"], metavar="SCORER/LABEL",
                     help="parse: replies from each range of this score."),
        click.Option(["--naming"], metavar="WORD", default="",
                     help="With --texts: only replies that use this word of their group's name."),
        click.Option(["--threshold"], type=float, default=0.3, show_default=True,
                     help="Of replies of --texts: score from which the scorer counts as a rater who objects."),
        click.Option(["--least-kl"], type=float,
                     help="finding, of forms: pairs with a greater divergence, in nats; 1, as published."),
        click.Option(["--sample-seed", "seed"], type=click.IntRange(0), default=0, show_default=True,
                     help="Which are drawn."),
        PICTURES,
    ),
    """Have people review what RUN said, showed or found, each alone, and read what they say.

    \b
    facevalue review RUN --task parse --sample 200 --raters 3 --out packets
    facevalue review RUN --collect r1.json --collect r2.json --collect r3.json
    facevalue review MADE --task picture --out packets
    facevalue review RUN --task finding --out packets

    Packets do not tell who was shown, which model answered or how its reply was read, unless the task is about that.
    Answers are kept in RUN beside the model's, and stand in its report. They say how far people agree (Krippendorff's
    alpha, Fleiss' and Cohen's kappa), and of replies the precision and recall of the parser, or the judge, against
    what most people say.
    """,
)  # fmt: skip
