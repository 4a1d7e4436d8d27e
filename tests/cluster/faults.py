"""`python -m tests.cluster.faults --out docs/results/cluster-faults.csv`: a run on Ray and S3, its processes killed.

Workers and drivers are killed at random moments while the S3 server refuses writes, loses confirmations, is slow and
starts anew. What is stored in the end is compared with a run of one process in which nothing happens.
"""

import argparse
import os
import random
import signal
import subprocess
import sys
import tempfile
import threading
import time
import urllib.request
from collections import Counter
from pathlib import Path

import polars as pl

from tests.cluster.places import environment, facevalue, free_port, is_alive, kill, started, wait, workers

STUDY = ("stylisticbias", "--model", "nap/default", "--faces", "40")
BUCKET = "runs"
KEY = ["trial", "repeat"]
_TIMELESS = ~pl.col("measure").str.starts_with("drift")
"""Drift compares answers by the time when they came, which no two runs share."""
CONFIG = "workers = [1, 2]\ncpus = 0.5\nattempts = 1000\n"
"""Kills are meant to be survived here, so that no unit is given up."""


class Trouble:
    """A cluster, a server, and what is done to them."""

    def __init__(self, place: Path, seed: int, sample: int) -> None:
        self.place, self.rng = place, random.Random(seed)
        self.study = (*STUDY, "--sample", str(sample))
        self.port = free_port()
        self.env = environment(place, self.port, seconds=0.004)
        self.counts: Counter[str] = Counter()
        self.slowest = 0.0
        self.log = (place / "said.txt").open("a")
        self.config = place / "cluster.toml"
        self.config.write_text(CONFIG)

    def session(self, address: str, kills: int, *, end: bool) -> bool:
        """One time the command is given; whether it ended by itself."""
        args = ("--out", f"s3://{BUCKET}/run", "--cluster", address, "--cluster-config", str(self.config))
        driver = facevalue("run", *self.study, *args, env=self.env, log=self.log)
        try:
            while kills and driver.poll() is None:
                assert wait(lambda: workers(self.place) or driver.poll() is not None), "no worker began to work"
                time.sleep(self.rng.uniform(0.2, 2.0))
                if alive := workers(self.place):
                    kill(self.rng.choice(alive))
                    self.counts["workers killed"] += 1
                    kills -= 1
            if end:
                assert driver.wait(600) in (0, 1)
                return driver.returncode == 0
            wait(lambda: workers(self.place) or driver.poll() is not None)
            time.sleep(self.rng.uniform(0.2, 2.0))
            if driver.poll() is not None:
                return driver.returncode == 0
            alive = workers(self.place)
            driver.kill()
            self.counts["drivers killed"] += 1
            began = time.monotonic()
            assert wait(lambda: not any(map(is_alive, alive)), 60), "workers outlive their driver"
            self.slowest = max(self.slowest, time.monotonic() - began)
            return False
        finally:
            driver.kill()
            driver.wait()

    def asked(self) -> int:
        """Answers that the model gave on the cluster."""
        return sum(path.stat().st_size for path in (self.place / "asked").iterdir())

    def fetched(self, name: str) -> Path:
        """The run as a folder, measured."""
        folder = self.place / name
        for command in (("fetch", f"s3://{BUCKET}/run", "--out", str(folder)), ("measure", str(folder))):
            assert facevalue(*command, env=self.env, log=self.log).wait(600) == 0, command
        return folder

    def alone(self) -> Path:
        """The same run in one process, in a folder, measured."""
        folder = self.place / "alone"
        env = {**self.env, "NAP_SECONDS": "0", "NAP_LOG": str(self.place)}
        for command in (("run", *self.study, "--out", str(folder)), ("measure", str(folder))):
            assert facevalue(*command, env=env, log=self.log).wait(600) == 0, command
        return folder


def stored(url: str, env: dict[str, str]) -> pl.DataFrame:
    """Every row of every unit, without the times."""
    code = (
        "import io, sys, polars as pl, obstore\n"
        "from facevalue.store.objects import Objects\n"
        "from facevalue.store.remote import listed_units\n"
        "objects = Objects.at(sys.argv[1])\n"
        "frames = [pl.read_parquet(io.BytesIO(objects.get(one.key)[0])) for one in listed_units(objects)]\n"
        "pl.concat(frames).write_parquet(sys.argv[2])\n"
    )
    with tempfile.NamedTemporaryFile(suffix=".parquet") as file:
        subprocess.run([sys.executable, "-c", code, url, file.name], env=env, check=True)
        return pl.read_parquet(file.name)


def bucket(port: int) -> None:
    """Make the bucket."""
    sign = "AWS4-HMAC-SHA256 Credential=test/20260101/us-east-1/s3/aws4_request"
    asked = urllib.request.Request(f"http://127.0.0.1:{port}/{BUCKET}", method="PUT", headers={"Authorization": sign})
    urllib.request.urlopen(asked, timeout=30).close()


def run(place: Path, seed: int, sessions: int, kills: int, sample: int) -> dict[str, float]:
    """Everything once; what happened and what came of it."""
    trouble = Trouble(place, seed, sample)
    door = place / "door.txt"
    door.touch()
    server = ("--port", str(trouble.port), "--log", str(door), "--fail", "0.05", "--slow", "0.1", "--seed", str(seed))
    over = threading.Event()
    with (
        started("tests.cluster.s3_server", *server, env=trouble.env) as (s3, _),
        started("tests.cluster.ray_head", env=trouble.env) as (_, address),
    ):
        bucket(trouble.port)

        def restart() -> None:
            while not over.wait(trouble.rng.uniform(15, 30)):
                os.kill(s3.pid, signal.SIGUSR1)

        thread = threading.Thread(target=restart, daemon=True)
        thread.start()
        for number in range(sessions):
            done = trouble.session(address, kills, end=False)
            print(f"session {number + 1}: {dict(trouble.counts)}", flush=True)
            assert not done, "the run was over before its last kill: give it more requests"
        while not trouble.session(address, 0, end=True):
            print("once more", flush=True)
        over.set()
        thread.join()
        rows, cloud = stored(f"s3://{BUCKET}/run", trouble.env), trouble.fetched("fetched")
        folder = trouble.alone()
    return compared(trouble, rows, cloud, folder, door)


def compared(trouble: Trouble, rows: pl.DataFrame, cloud: Path, alone: Path, door: Path) -> dict[str, float]:
    """What was stored beside what one process stored."""
    said = Counter(door.read_text().split())
    answers = pl.concat([pl.read_parquet(path) for path in sorted((alone / "responses").glob("*.parquet"))])
    same = [name for name in answers.columns if name in rows.columns and name not in ("latency_ms", "at")]
    good = rows.filter(pl.col("status") != "error").sort(KEY)
    unlike = good.select(same).join(answers.select(same), on=same, how="anti", nulls_equal=True)
    ours, theirs = (pl.read_parquet(path / "estimates.parquet").filter(_TIMELESS) for path in (cloud, alone))
    assert ours.height == theirs.height
    other = sum(one != two for one, two in zip(map(repr, ours.rows()), map(repr, theirs.rows()), strict=True))
    asked = trouble.asked()
    return {
        "workers killed": trouble.counts["workers killed"],
        "drivers killed": trouble.counts["drivers killed"],
        "restarts of the server": said["restarted"],
        "writes refused": said["refused"],
        "writes done but not confirmed": said["unconfirmed"],
        "writes delayed": said["delayed"],
        "requests": answers.height,
        "answers lost": answers.join(good, on=KEY, how="anti").height,
        "answers stored twice": good.height - good.unique(KEY).height,
        "answers unlike those of one process": unlike.height,
        "estimates, drift over time left out": theirs.height,
        "estimates unlike those of one process": other,
        "answers asked again": asked - good.height,
        "seconds until workers of a killed driver had ended, at most": round(trouble.slowest, 1),
    }


BAD = (
    "answers lost",
    "answers stored twice",
    "answers unlike those of one process",
    "estimates unlike those of one process",
)


def main() -> int:
    """Run, print and write the table; the exit status says whether everything held."""
    parser = argparse.ArgumentParser(prog="python -m tests.cluster.faults")
    parser.add_argument("--out", type=Path)
    parser.add_argument("--seed", type=int, default=2)
    parser.add_argument("--sessions", type=int, default=20, help="drivers that are killed")
    parser.add_argument("--kills", type=int, default=2, help="workers killed in each of them")
    parser.add_argument("--sample", type=int, default=50_000)
    given = parser.parse_args()
    with tempfile.TemporaryDirectory() as place:
        found = run(Path(place), given.seed, given.sessions, given.kills, given.sample)
        if any(found[name] for name in BAD):
            print(Path(place, "said.txt").read_text()[-5000:])
    table = pl.DataFrame({"what": list(found), "count": [f"{value:g}" for value in found.values()]})
    print(table)
    if given.out is not None:
        table.write_csv(given.out)
    return int(any(found[name] for name in BAD))


if __name__ == "__main__":
    sys.exit(main())
