"""Commands about a whole audit: all studies of one model."""

from pathlib import Path

import click

from facevalue.cli.command import Printing
from facevalue.cli.commands.ask import reach_options
from facevalue.cli.options import EXACT, PRICES, SAMPLE_SEED, SIGHT, STOP_WHEN, WITH
from facevalue.cli.params import MODEL, PATH_TEXT, STUDY_NAMES, NumberWithin, RunPlace


class _AuditCommand(Printing):
    """`audit`, whose options of how a model is reached take imports."""

    def get_params(self, ctx: click.Context) -> list[click.Parameter]:
        """List all options."""
        if not any(param.name == "max_tokens" for param in self.params):
            self.params[-1:-1] = reach_options()
        return super().get_params(ctx)

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        """Refuse studies that are not named by an option, as `facevalue run` takes them."""
        if studies := self.make_parser(ctx).parse_args([*args])[1]:
            raise click.UsageError(
                f"audit takes studies by an option: --studies {','.join(studies)} (a file of settings by --config).",
                ctx,
            )
        return super().parse_args(ctx, args)


audit = _AuditCommand(
    "audit",
    "audit:audit",
    (
        click.Option(["--model"], type=MODEL, metavar="MODEL", help="Model to ask, as of `facevalue run`."),
        click.Option(["--budget"], metavar="20usd|2h|200000",
                     help="What all studies may take together: money at your prices, hours at the rate of a pilot, or "
                     "requests. Without one, a pilot is taken."),
        click.Option(["--studies"], type=STUDY_NAMES, metavar="NAME|FILE.toml,...",
                     help="Ask only these: names of studies, and files of your own; all by default."),
        click.Option(["--images"], type=PATH_TEXT, metavar="FOLDER|MANIFEST",
                     help="Show your own pictures: their list, or a folder with it; drawn people by default."),
        click.Option(["--config"], type=click.Path(path_type=Path, dir_okay=False), metavar="FILE.toml",
                     help="A file with any of these options, prices of models, and settings of single studies."),
        click.Option(["--out"], type=RunPlace(), metavar="AUDIT",
                     help="The audit's folder, or a URL; audits/MODEL by default. An existing one goes on."),
        click.Option(["--plan"], is_flag=True, help="Show what would be asked, and what it detects; ask nothing."),
        click.Option(["--pilot"], type=RunPlace(), metavar="AUDIT",
                     help="Another audit, or a run, to take spread, tokens and speed from, instead of a pilot."),
        click.Option(["--rate"], type=NumberWithin(0, min_open=True), metavar="PER_SECOND",
                     help="Requests a second, for a budget of hours; that of the pilot by default."),
        click.Option(["--temperature"], type=NumberWithin(0), help="Of all studies; each has its own by default."),
        EXACT,
        WITH,
        SAMPLE_SEED,
        *PRICES,
        click.Option(["--max-invalid"], type=NumberWithin(0, 1), metavar="SHARE",
                     help="Stop a study if more than this share of the first 200 or more replies have no valid answer; "
                     "by default if most of them cannot be read."),
        STOP_WHEN,
        SIGHT,
        click.Option(["--outside"], is_flag=True,
                     help="Let studies' files name files that are not below their own folders."),
    ),
    """Ask a model every study that the pictures allow, within one budget; ends with one page: AUDIT/report.html.

    \b
    facevalue audit --model http://127.0.0.1:8000/v1#NAME
    facevalue audit --model http://127.0.0.1:8000/v1#NAME --budget 200000
    facevalue audit --plan --budget 200000

    The budget is dealt out so that the largest effect that any study may miss is smallest. Without one, a pilot of each
    study is taken, and it is said what larger samples detect. The same command goes on where it was stopped.
    """,
)  # fmt: skip
