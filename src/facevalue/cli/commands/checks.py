"""Commands that check runs, papers' figures, the instrument and this installation; corpora; and for scripts."""

from pathlib import Path

import click

from facevalue.cli.command import Printing
from facevalue.cli.params import CommandName, NamedRun, RunPlace, StudyName
from facevalue.printable import join_names

_FILE = click.Path(path_type=Path, dir_okay=False)

gate = Printing(
    "gate",
    "gate:check_gate",
    (
        click.Argument(["runs"], nargs=-1, required=True, metavar="[LABEL=]RUN|AUDIT...", type=NamedRun()),
        click.Option(["--limits"], required=True, type=_FILE, metavar="FILE.toml",
                     help="What is allowed: docs/how-to/gate.md."),
        click.Option(["--baseline"], multiple=True, type=NamedRun(), metavar="RUN|AUDIT",
                     help="What changes are taken against, on the same pictures. May be given several times."),
        click.Option(["--junit", "junit_file"], type=_FILE, metavar="FILE.xml", help="Also write JUnit XML."),
        click.Option(["--markdown", "markdown_file"], type=_FILE, metavar="FILE.md",
                     help="Also write a summary in Markdown; it is added to $GITHUB_STEP_SUMMARY."),
        click.Option(["--github"], is_flag=True,
                     help="Print annotations of GitHub Actions to stderr; done by itself where GITHUB_ACTIONS is set."),
        click.Option(["--allow-incomplete"], is_flag=True,
                     help="Let a run that has not ended lie within, by what was asked; else there is not enough data."),
    ),
    """Hold RUNS against limits: all lie within, some beyond, or nobody can tell yet.

    Intervals decide, never values alone: what lies within does so at 95%, what lies beyond at the level of all limits
    together. A limit that is about nothing is an error.

    Exits with 0 within, 1 for input that cannot be used, 3 beyond, 4 not measurable or not enough data to tell, as
    of a run that has not ended.
    """,
)  # fmt: skip

verify = Printing(
    "verify",
    "run_folders:verify",
    (click.Argument(["runs"], nargs=-1, required=True, metavar="RUN|AUDIT...", type=RunPlace()),),
    """Check runs and audits: settings, table of pictures and every shard by its digest, every row by the design.

    Names of each run the first file that is missing, damaged, or of another run.
    """,
)


def _reproduce_help() -> str:
    from facevalue.studies.offers import offering  # noqa: PLC0415 - studies are imported to ask them

    offers = {name: offer for name, protocol in offering("reproduce").items() if (offer := protocol.extras.reproduce)}
    released = join_names([name for name, offer in offers.items() if offer.released])
    checks = [f"{offer.checks} ({name})" for name, offer in offers.items() if offer.checks]
    return f"""Recompute what the paper of STUDY prints: {join_names(list(offers), "or")}.

    --data is the folder of {join_names([f"the released answers ({released})", *checks], "or")}.

    Exits with 0 if every cell is the same or differs for a known reason.
    """


reproduce = Printing(
    "reproduce",
    "instrument:reproduce",
    (
        click.Argument(["study"], type=StudyName("reproduce")),
        click.Option(["--data"], type=click.Path(path_type=Path),
                     help="Folder of the authors' data, for the studies named above."),
    ),
    _reproduce_help,
)  # fmt: skip

calibrate = Printing(
    "calibrate",
    "instrument:calibrate",
    (
        click.Argument(["study"], nargs=-1, type=StudyName()),
        click.Option(["--repetitions"], type=click.IntRange(1), default=10, show_default=True,
                     help="Audits per condition and size; two and a half times as many where nothing is planted."),
        click.Option(["--sizes"], default="1,2,4", show_default=True,
                     help="Sizes of an audit: how many times the smallest."),
        click.Option(["--out"], type=click.Path(path_type=Path, dir_okay=False), multiple=True,
                     help="Also write the tables here: .csv, or .md for people. May be given twice."),
        click.Option(["--keep"], type=click.Path(path_type=Path, file_okay=False),
                     help="Folder that keeps the audits: a calibration that was stopped resumes from it, and one with "
                     "more repetitions adds to it. Audits made by other code or libraries are not reused."),
        click.Option(["--processes"], type=click.IntRange(0, 64), default=2, show_default=True,
                     help="Audits that are made side by side."),
        click.Option(["--outside"], is_flag=True,
                     help="Let studies' files name files that are not below their own folders."),
    ),
    """Audit answers whose bias is known: false findings, coverage, and power beside a simple test.

    STUDY: published studies, or files of your own; stylisticbias by default.
    """,
)  # fmt: skip


corpus = Printing(
    "corpus",
    "corpus:corpus",
    (
        click.Argument(["files"], nargs=-1, required=True, metavar="FILE...", type=click.Path(path_type=Path)),
        click.Option(["--text", "column"], default="", metavar="COLUMN",
                     help="Column of the text, or of lists of turns (LLaVA's 'conversations'). Not for .txt."),
        click.Option(["--terms"], type=_FILE, help="Terms of your own, as TOML; those of ModSCAN by default."),
    ),
    """Count words of two genders in the texts of FILEs that name an occupation or a descriptor.

    FILEs are .jsonl or .txt (a text in each line), both also as .gz, .json (a list), or .parquet.

    The skew of each is |m / (m + f) - 1/2|, with an interval; N/A without a word of either gender.
    """,
)  # fmt: skip

doctor = Printing(
    "doctor",
    "doctor:doctor",
    (),
    """Look at this installation: versions, what a GPU allows, free disk, and which extras are missing.

    Exits with 1 if a package that FaceValue needs is missing or too old. Nothing is changed, and no network is used.
    """,
)


def _schema(command: tuple[str, ...]) -> None:
    from facevalue.cli.actions.schema import print_schema  # noqa: PLC0415 - only for this command

    print_schema(command)


schema = click.Command(
    "schema",
    callback=_schema,
    params=[click.Argument(["command"], nargs=-1, type=CommandName())],
    help="""Print the JSON Schema of what COMMAND prints with --json; without COMMAND, the commands that have one.

    \b
    facevalue schema measure
    facevalue schema manifest check
    """,
)
