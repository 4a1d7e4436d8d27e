"""Commands that read runs, and that have replies scored, sorted or rated."""

from pathlib import Path

import click

from facevalue.cli.command import Printing
from facevalue.cli.params import (
    MARGIN,
    MODEL,
    PICTURES,
    SCORER,
    MeasureName,
    NamedRun,
    NumberWithin,
    RunFolder,
    RunPlace,
)

_FILE = click.Path(path_type=Path, dir_okay=False)
_RUNS = click.Argument(["runs"], nargs=-1, required=True, metavar="[LABEL=]RUN...", type=NamedRun())

measure = Printing(
    "measure",
    "results:measure",
    (
        _RUNS,
        click.Option(["--out"], type=_FILE, help="Also write the estimates here (.csv, .parquet)."),
        click.Option(["--explain"], type=MeasureName(), metavar="MEASURE",
                     help="Explain a measure: equation, unit, source."),
        MARGIN,
    ),
    """Estimate from the answers in RUNS: every measure with n, interval and method.

    LABEL=RUN calls a run by another name, so that two runs of one model stand side by side: before=RUN1 after=RUN2.
    The estimates of a single run are kept in its folder as estimates.parquet.
    """,
)  # fmt: skip

report = Printing(
    "report",
    "results:report",
    (
        _RUNS,
        click.Option(["--out"], type=_FILE,
                     help="Where to write; report.html in the run folder by default, and beside a run in object "
                     "storage."),
        MARGIN,
        PICTURES,
    ),
    """Write the report of RUNS as one HTML file that needs no network. With --json, print the whole page as JSON, too.

    With several runs of one study, models are compared; LABEL=RUN calls a run by another name (before=RUN1 after=RUN2).
    Runs of one model that ask different parts of it are put together. What people say (`facevalue review`)
    are shown beside what they are about.
    """,
)  # fmt: skip

profile = Printing(
    "profile",
    "profile:profile",
    (
        click.Argument(["runs"], nargs=-1, required=True, metavar="[LABEL=]RUN|AUDIT...", type=NamedRun()),
        click.Option(["--out"], type=_FILE, help="Also write the profile here as one HTML file that needs no network."),
    ),
    """Set side by side what RUNS of several studies, and of one or several models, say of the same groups.

    For each group and kind of question: which way, how far, how sure, and how large a difference would have gone
    unnoticed; explicit beside implicit, pictures beside words, one person beside two, stereotype beside decision,
    models and interventions beside each other. Nothing is averaged. All leading tests of all studies are corrected
    together.
    """,
)

compare = Printing(
    "compare",
    "compare:compare",
    (
        click.Argument(["runs"], metavar="[LABEL=]RUN...", nargs=-1, required=True, type=NamedRun()),
        click.Option(["--pairs"], type=click.Choice(["first", "all"]), default="first", show_default=True,
                     help="Each run less the first one of its study, or each with each."),
        click.Option(["--margin"], type=NumberWithin(0, min_open=True),
                     help="Largest difference that would not matter, in the unit of the measure: smaller ones may be "
                     "called equivalent."),
        click.Option(["--out"], type=_FILE, help="Also write a page here (.html), or every cell (.csv)."),
    ),
    """Compare RUNS cell by cell: each less the first one of its study, by the measure that the study declares.

    RUNS are two or more, of one study or several: of models or versions, before and after a change, or about other
    pictures; an audit stands for all its runs. They are compared on the people, pictures or sets that all runs of a
    study were asked about, and all comparisons are judged together. Mean |delta|, RMSE and largest |delta| are above
    zero even if nothing differs: `chance` says how large.
    """,
)  # fmt: skip

trend = Printing(
    "trend",
    "profile:trend",
    (
        click.Argument(["places"], metavar="DIR|RUN...", nargs=-1, required=True, type=NamedRun()),
        click.Option(["--out"], type=_FILE, help="Also write a page here, an .html file."),
    ),
    """Say what drifted over the dates of runs, and what changed at one of them.

    DIR holds dated runs or audits of one model, or of versions of it: all runs below it are put together by study, in
    the order in which they began. Every cell, date and study is judged together: if nothing changed, anything is found
    in at most one of twenty histories.
    """,
)  # fmt: skip

export = Printing(
    "export",
    "results:export",
    (
        click.Argument(["run"], type=RunPlace()),
        click.Option(["--out"], required=True, type=_FILE, help="A .parquet, .csv or .jsonl file."),
    ),
    "Write one wide table of RUN: each reply that counts, with its factors, verbatim text and parsed answer.",
)

view = Printing(
    "view",
    "view:view",
    (
        click.Argument(["runs"], nargs=-1, required=True, metavar="[LABEL=]RUN|AUDIT|URL...", type=NamedRun()),
        click.Option(["--port"], type=click.IntRange(0, 65535), default=0, metavar="PORT",
                     help="Port on this machine; any that is free by default."),
        click.Option(["--no-browser"], is_flag=True, help="Only print the address."),
        click.Option(["--export", "folder"], type=click.Path(path_type=Path, file_okay=False), metavar="DIR",
                     help="Write the pages into a new folder instead, which any static server shows; those of small "
                     "runs open from disk."),
        click.Option(["--public"], is_flag=True,
                     help="Leave out of the folder pictures that may not be shown to anybody: all but drawings and "
                     "those whose list says so (column `public`)."),
        PICTURES,
    ),
    """Look at RUNS in the browser: from every number to the pictures and words behind it.

    Estimates, what each face, set or pair adds to them, every answer with its picture, prompt and reply, missing
    answers by reason, and runs side by side. Only this machine can open the address, and only with its token. Ctrl-C
    ends it. A run that goes on is shown as far as it is.
    """,
)  # fmt: skip

show = Printing(
    "show",
    "view:show",
    (
        click.Argument(["run"], type=RunPlace()),
        click.Option(["--trial", "number"], required=True, type=click.IntRange(0), metavar="N",
                     help="Number of the trial, as the viewer and `facevalue export` have it."),
        PICTURES,
    ),
    "Show a trial of RUN: what was shown and asked, every reply, and what it counts as.",
)  # fmt: skip

attention = Printing(
    "attention",
    "attention:attention",
    (
        click.Argument(["run"], type=RunPlace()),
        click.Option(["--trials"], required=True, metavar="12,40", help="Trial numbers, as in `facevalue export`."),
        click.Option(["--model"], type=MODEL, metavar="hf/PATH", help="Another local model than that of the run."),
        click.Option(["--word", "words"], multiple=True, metavar="WORD",
                     help="Also the attention to this word of the prompt, by head; repeat for each."),
        click.Option(["--out"], type=click.Path(path_type=Path, file_okay=False),
                     help="Where to write; the folder `attention` of the run, whose maps the viewer shows, if not "
                     "named."),
        PICTURES,
    ),
    """Show where a local model looks in the pictures of some trials of RUN.

    For each trial: the mean attention from the answer to the picture, how much of it each head gives, and for each
    option a map of what is relevant for it, as arrays (.npz) and as pictures; for pairs also the share of each side.
    """,
)  # fmt: skip

pack = Printing(
    "pack",
    "results:pack",
    (
        click.Argument(["runs"], nargs=-1, metavar="RUN|AUDIT...", type=RunPlace()),
        click.Option(["--to"], type=click.Path(path_type=Path), metavar="DIR|FILE.zip", help="Where the pack goes."),
        click.Option(["--verify"], type=click.Path(path_type=Path, exists=True), metavar="PACK",
                     help="Check that no file of a pack was changed."),
        click.Option(["--organization"], default="not stated", metavar="NAME",
                     help="Who asked, for forms that say so."),
        click.Option(["--limits"], type=_FILE, metavar="FILE.toml",
                     help="Also hold the runs against these limits, as `facevalue gate` does, and pack what becomes of "
                     "each."),
        click.Option(["--baseline"], multiple=True, type=NamedRun(), metavar="RUN|AUDIT",
                     help="What changes are taken against, as of `facevalue gate`. May be given several times."),
    ),
    """Pack all that RUNS or an audit rest on, to hand it on: reports, estimates, definitions, settings, digests.

    In forms that others' tools read: Every Eval Ever, CycloneDX, Croissant, RO-Crate, model-index, a section for a
    model card, impact ratios of NYC Local Law 144, and a map of clauses. Answers and pictures stay where they are.
    """,
)  # fmt: skip


_RUN = click.Argument(["run"], type=RunFolder())

annotate = Printing(
    "annotate",
    "readings:annotate",
    (
        _RUN,
        click.Option(["--scorer"], type=SCORER, default="lexical", show_default=True, metavar="SCORER",
                     help="lexical, lexicon/FILE, hf-text/FOLDER, openai-moderation, judge/MODEL."),
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
    "readings:judge",
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
    "readings:review",
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
