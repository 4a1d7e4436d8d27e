"""What tests on a cluster need around them: a Ray cluster, an S3 server, a model that takes its time."""

import os
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import IO, NamedTuple

STUDY = ("stylisticbias", "--model", "nap/default", "--faces", "20", "--sample", "4000")
ROOT = Path(__file__).parents[2]
MODEL = '''"""The simulated model, slowly; it writes down who it is and how much it was asked.

NAP_TROUBLE is "raise", "give up", "crash" or "stall", and a trial: what happens when that is to be answered, each time,
or once where NAP_ONCE names a file. Until the file that NAP_UNTIL names is there, an answer takes a while.
"""
import os
import signal
import time
from pathlib import Path

from facevalue.errors import ModelError
from facevalue.models.sim import SimModel


class Nap(SimModel):
    def __init__(self):
        super().__init__("default")
        self.name = "nap/default"
        self._seconds = float(os.environ.get("NAP_SECONDS", "0"))
        self._debt = 0.0

    def respond(self, requests):
        log = Path(os.environ["NAP_LOG"]) / str(os.getpid())
        with log.open("ab", buffering=0) as file:
            for response in super().respond(requests):
                self._trouble(response.trial)
                if (until := os.environ.get("NAP_UNTIL")) and not Path(until).exists():
                    time.sleep(0.2)
                file.write(b".")
                yield response
                self._debt += self._seconds
                if self._debt > 0.05:
                    time.sleep(self._debt)
                    self._debt = 0.0

    def _trouble(self, trial):
        kind, _, at = os.environ.get("NAP_TROUBLE", "").rpartition(" ")
        if not kind or trial != int(at):
            return
        if once := os.environ.get("NAP_ONCE"):
            try:
                Path(once).touch(exist_ok=False)
            except FileExistsError:
                return
        if kind == "raise":
            raise RuntimeError("it stumbles")
        if kind == "give up":
            raise ModelError("it burns")
        if kind == "crash":
            os.kill(os.getpid(), signal.SIGSEGV)
        time.sleep(600)


def make(spec, options):
    return Nap()
'''


def installed(site: Path) -> Path:
    """Install the model `nap/default` as the package of somebody else."""
    info = site / "nap-1.0.dist-info"
    info.mkdir(parents=True)
    (site / "nap_module.py").write_text(MODEL)
    (info / "METADATA").write_text("Metadata-Version: 2.1\nName: nap\nVersion: 1.0\n")
    (info / "entry_points.txt").write_text("[facevalue.models]\nnap = nap_module:make\n")
    return site


def environment(place: Path, port: int, seconds: float) -> dict[str, str]:
    """Environment of cluster and drivers: the server, the model, and Ray as small machines need it."""
    (place / "asked").mkdir(exist_ok=True)
    path = [str(installed(place / "site")), str(ROOT / "src"), str(ROOT)]
    return {
        **os.environ,
        "PYTHONPATH": os.pathsep.join(path),
        "AWS_ENDPOINT_URL": f"http://127.0.0.1:{port}",
        "AWS_ALLOW_HTTP": "true",
        "AWS_ACCESS_KEY_ID": "test",
        "AWS_SECRET_ACCESS_KEY": "test",
        "AWS_REGION": "us-east-1",
        "FACEVALUE_CACHE": str(place / "cache"),
        "NAP_LOG": str(place / "asked"),
        "NAP_SECONDS": str(seconds),
        "RAY_raylet_start_wait_time_s": "300",
        "RAY_AUTH_MODE": "disabled",
        "RAY_USAGE_STATS_ENABLED": "0",
    }


def free_port() -> int:
    """A port that nothing listens on."""
    with socket.socket() as one:
        one.bind(("127.0.0.1", 0))
        port: int = one.getsockname()[1]
    return port


@contextmanager
def started(module: str, *args: str, env: dict[str, str]) -> Iterator[tuple[subprocess.Popen[str], str]]:
    """A server in a process of its own, and the first line that it says; it ends with the block."""
    process = subprocess.Popen(
        [sys.executable, "-m", module, *args],
        cwd=ROOT,
        env=env,
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
    )
    try:
        assert process.stdout is not None
        line = process.stdout.readline().strip()
        assert line, f"{module} did not start"
        yield process, line
    finally:
        assert process.stdin is not None
        process.stdin.close()
        try:
            process.wait(60)
        except subprocess.TimeoutExpired:
            process.kill()


def facevalue(*args: str, env: dict[str, str], log: IO[str]) -> subprocess.Popen[str]:
    """The command, in a process of its own."""
    return subprocess.Popen(
        [sys.executable, "-m", "facevalue", *args], env=env, cwd=ROOT, stdout=log, stderr=log, text=True
    )


def workers(place: Path) -> list[int]:
    """Processes alive in which the model was asked."""
    return [int(path.name) for path in (place / "asked").iterdir() if is_alive(int(path.name))]


def is_alive(pid: int) -> bool:
    """Whether a process runs, one that nobody has waited for not counted."""
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] != "Z"
    except OSError:
        return False


def kill(pid: int) -> None:
    """End a process at once."""
    try:
        os.kill(pid, signal.SIGKILL)
    except ProcessLookupError:
        return


def wait(until: Callable[[], object], seconds: float = 120.0) -> bool:
    """Wait for something to be so; whether it came to be."""
    deadline = time.monotonic() + seconds
    while not until():
        if time.monotonic() > deadline:
            return False
        time.sleep(0.05)
    return True


class Place(NamedTuple):
    """A cluster, what its drivers need, and where files go."""

    address: str
    env: dict[str, str]
    path: Path


class Driver:
    """The command in a process of its own."""

    def __init__(self, place: Place, name: str, config: str, *more: str) -> None:
        self._said = place.path / f"{name}.txt"
        file = place.path / f"{name}.toml"
        file.write_text(f"cpus = 0.5\n{config}\n")
        out = (place.path / name).as_uri()
        args = ("--out", out, "--cluster", place.address, "--cluster-config", str(file), *more)
        self.process = facevalue("run", *STUDY, *args, env=place.env, log=self._said.open("a"))

    def ends(self) -> int:
        return self.process.wait(240)

    @property
    def said(self) -> str:
        return " ".join(self._said.read_text().split())
