"""`facevalue verify`: integrity of run folders."""

from pathlib import Path

import click

from facevalue.cli.places import Place
from facevalue.runs.mirror import mirrored
from facevalue.runs.stored import StoredRun
from facevalue.runs.verify import verify as check
from facevalue.terminal import say


@click.command()
@click.argument("runs", nargs=-1, required=True, type=Place())
def verify(runs: tuple[Path | str, ...]) -> int:
    """Check RUNS: settings, table of pictures and every shard by its digest, every row by the design.

    Ends with an error at the first file that is missing, damaged, or of another run.
    """
    status = 0
    for run in runs:
        if isinstance(run, str):
            mirrored(run, again=True)
        sound = check(StoredRun.open(run))
        note = "" if sound.digests else " Its format has no digests: damage that leaves a file readable is not seen."
        for line in sound.odd:
            say(f"{line} `facevalue run` sets them aside and asks again.", err=True)
            status = 1
        state = "whole" if sound.odd else "sound"
        say(f"{run}: {state}. {sound.replies:,} replies that count in {sound.shards:,} shards.{note}")
    return status
