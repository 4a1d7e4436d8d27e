"""Commands that ask a model, and say how far that is."""

from pathlib import Path

import click

from facevalue.cli.command import Printing
from facevalue.cli.options import CLUSTER, EXACT, PRICES, REFUSAL_WORDS, SAMPLE, SAMPLE_SEED, SIGHT, STOP_WHEN, WITH
from facevalue.cli.params import MODEL, NumberWithin, RunPlace
from facevalue.cli.study_command import StudyGroup


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
    "status:status",
    (click.Argument(["run"], metavar="RUN|AUDIT", type=RunPlace()),),
    "Show how far a run is, or each of an audit: what is done, how fast, what failed where, which process runs it.",
)

fetch = Printing(
    "fetch",
    "fetch:fetch",
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
    "requesting:requests",
    _requests_options,
    help="Write a study's requests as files for a batch; `import` brings the answers into the run.",
)

import_ = Printing(
    "import",
    "importing:import_records",
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
