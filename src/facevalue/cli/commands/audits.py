"""Commands that ask a model, one study or a whole audit, and say how far that is."""

from pathlib import Path

import click

from facevalue.cli.command import Printing
from facevalue.cli.params import (
    CLUSTER,
    EXACT,
    MODEL,
    PATH_TEXT,
    PRICES,
    REFUSAL_WORDS,
    SAMPLE,
    SAMPLE_SEED,
    SIGHT,
    STOP_WHEN,
    STUDY_NAMES,
    WITH,
    NumberWithin,
    RunPlace,
    StudyGroup,
)


def _run_options() -> tuple[click.Parameter, ...]:
    return (
        click.Option(["--model"], required=True, type=MODEL, metavar="MODEL",
                     help="Model to ask: http://HOST/v1#NAME, openai/NAME, inspect/PROVIDER/NAME, hf/PATH_OR_ID, "
                     "replay/PATH, reference, reference/VARIANT or sim/default."),
        click.Option(["--out"], type=RunPlace(), metavar="RUN",
                     help="The run's folder, or a URL: s3://BUCKET/PREFIX, gs://, az:// or file://. "
                     "runs/STUDY-MODEL by default. An existing one is resumed."),
        SAMPLE,
        SAMPLE_SEED,
        EXACT,
        WITH,
        click.Option(["--preregister"], type=click.Path(path_type=Path, dir_okay=False),
                     help="A TOML file that declares families of tests and margins before the run."),
        click.Option(["--name"], metavar="LABEL",
                     help="What to call the run beside others; the model's name by default."),
        *PRICES,
        click.Option(["--max-cost"], type=NumberWithin(0, min_open=True),
                     help="Stop when the run has cost this much, earlier sessions included; needs both prices."),
        click.Option(["--max-invalid"], type=NumberWithin(0, 1), metavar="SHARE",
                     help="Stop if more than this share of the first 200 or more replies have no valid answer; by "
                     "default if most of them cannot be read. 1 goes on whatever they are."),
        STOP_WHEN,
        SIGHT,
        *reach_options(),
    )  # fmt: skip


def reach_options() -> tuple[click.Parameter, ...]:
    """Options of how a model is reached and held, the same in all commands that ask one."""
    from facevalue.models.base import EFFORTS  # noqa: PLC0415 - the list of commands needs no models

    return (
        click.Option(["--max-tokens"], type=click.IntRange(1),
                     help="Longest reply in tokens, thinking not counted; the study's own limit by default."),
        click.Option(["--reasoning-effort"], type=click.Choice(EFFORTS),
                     help="How much the model is to think before it replies; none stops models that can stop."),
        click.Option(["--reasoning-tokens"], type=click.IntRange(1),
                     help="Tokens it may spend thinking, besides the reply; 4096 where an effort is given."),
        click.Option(["--concurrency"], type=click.IntRange(1, 1024), default=16, show_default=True,
                     help="Maximum number of requests in flight."),
        click.Option(["--timeout"], type=NumberWithin(0, min_open=True), default=120.0, show_default=True,
                     help="Seconds until a request times out."),
        click.Option(["--retries"], type=click.IntRange(0, 50), default=5, show_default=True,
                     help="Maximum number of retries of a failed request."),
        click.Option(["--rpm"], type=NumberWithin(0, min_open=True), help="At most this many requests a minute."),
        click.Option(["--batch"], type=click.IntRange(1, 100_000), metavar="N",
                     help="inspect/PROVIDER/NAME: send N requests as one batch, which is answered later for less."),
        click.Option(["--model-arg", "-M", "model_args"], multiple=True, metavar="NAME=VALUE",
                     help="inspect/PROVIDER/NAME: an argument of the provider, such as region=eu-west-1; no key. "
                     "May be given again."),
        click.Option(["--tpm"], type=NumberWithin(0, min_open=True), help="At most this many tokens a minute."),
        REFUSAL_WORDS,
        *CLUSTER,
        click.Option(["--log"], type=click.Path(path_type=Path, dir_okay=False),
                     help="Append to this file what happens and when."),
        click.Option(["--dtype"], type=click.Choice(["float32", "bfloat16", "float16"]),
                     help="hf/: number format; the checkpoint's own on a GPU, float32 on a CPU by default."),
        click.Option(["--device"],
                     help="hf/: cpu, cuda, cuda:1; auto spreads a model over all GPUs, cuda:0,cuda:1 has one each."),
        click.Option(["--threads"], type=click.IntRange(1), help="hf/: CPU threads."),
        click.Option(["--tensor-parallel"], type=click.IntRange(1), metavar="GPUS",
                     help="vllm/: GPUs that share the model."),
        click.Option(["--compile"], is_flag=True, help="hf/: compile the model first; for long runs."),
    )  # fmt: skip


run = StudyGroup(
    "run", "running:run", _run_options, help="Ask a model; the same command resumes a run that was stopped."
)

status = Printing(
    "status",
    "run_folders:status",
    (click.Argument(["run"], metavar="RUN|AUDIT", type=RunPlace()),),
    "Show how far a run is, or each of an audit: what is done, how fast, what failed where, which process runs it.",
)

fetch = Printing(
    "fetch",
    "run_folders:fetch",
    (
        click.Argument(["run"], metavar="URL"),
        click.Option(["--out", "folder"], required=True, type=click.Path(path_type=Path, file_okay=False),
                     help="A new folder."),
    ),
    """Bring the run under URL into a new folder, which is a run folder like any other.

    Of pictures that `make` put there it brings the pictures and their list, too.
    """,
)  # fmt: skip


def _requests_options() -> tuple[click.Parameter, ...]:
    return (
        click.Option(["--model"], required=True, metavar="NAME",
                     help="Model that will be asked, by the name it has there."),
        click.Option(["--form"], required=True, type=click.Choice(["openai", "anthropic"]),
                     help="A batch of OpenAI's or Anthropic's kind."),
        click.Option(["--out"], required=True, type=click.Path(path_type=Path, file_okay=False), metavar="RUN",
                     help="The run's folder. What an existing one has answers to is not written again."),
        SAMPLE,
        SAMPLE_SEED,
        EXACT,
        WITH,
        click.Option(["--name"], metavar="LABEL",
                     help="What to call the run beside others; the model's name by default."),
        click.Option(["--max-tokens"], type=click.IntRange(1),
                     help="Longest reply in tokens, thinking included; the study's own limit by default."),
    )  # fmt: skip


requests = StudyGroup(
    "requests",
    "running:requests",
    _requests_options,
    help="Write a study's requests as files for a batch; `import` brings the answers into the run.",
)

import_ = Printing(
    "import",
    "running:import_records",
    (
        click.Argument(["records"], metavar="FILE|FOLDER...", nargs=-1, required=True,
                       type=click.Path(path_type=Path)),
        click.Option(["--out"], required=True, type=click.Path(path_type=Path, file_okay=False), metavar="RUN",
                     help="The run's folder; of several models, the folder that theirs go below."),
        click.Option(["--name"], metavar="LABEL",
                     help="What to call the run beside others; the model's name by default."),
        REFUSAL_WORDS,
        click.Option(["--outside"], is_flag=True,
                     help="Let the record name files and folders of this machine, such as your own pictures."),
        click.Option(["--allow-mismatch"], is_flag=True,
                     help="Take answers that were asked of another model or with other seeds than the run's."),
    ),
    """Make a run folder of answers that another tool asked for, or fill one that `requests` began.

    \b
    inspect eval facevalue/stylisticbias -T faces=20 --model openai/NAME
    facevalue import logs/LOG.eval --out runs/stylisticbias-NAME

    FILE is a log of Inspect or the results of a batch (OpenAI's or Anthropic's kind). What has no answer counts as
    missing; the same command with a fuller record fills it in.
    """,
)  # fmt: skip


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
