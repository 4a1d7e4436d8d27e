"""Lease of a run in object storage: one driver at a time, without trusting the clocks of machines."""

import contextlib
import hashlib
import json
import os
import secrets
import socket
import threading
import time
import uuid
from collections.abc import Callable
from pathlib import Path
from types import TracebackType
from typing import Any, Self

from filelock import FileLock, Timeout

from facevalue.errors import RunError
from facevalue.store.files import LOCK, make_folder, unwritable
from facevalue.store.objects import Objects, Tag

# Lock of a run folder: one process at a time writes it.


class RunLock:
    """An exclusive lock on a run folder, held within a `with` block.

    The system lets go of it when the process ends, however it ends; the file itself may stay and means nothing. Reading
    needs no lock.
    """

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        # Where the system has no such locks, a file that outlives its process is none: better an error.
        self._lock = FileLock(
            folder / LOCK, blocking=False, thread_local=False, fallback_to_soft=False, on_acquired=_sign
        )

    def __enter__(self) -> Self:
        make_folder(self._folder)
        path = self._folder / LOCK
        try:
            self._lock.acquire()
        except Timeout:
            holder = ""
            with contextlib.suppress(OSError, UnicodeError):  # Windows lets nobody read what is locked
                holder = path.read_text(encoding="ascii").strip()
            by = f"process {holder}" if holder else "another process"
            raise RunError(
                f"{self._folder} is being written by {by}. Wait for it, stop it, or name another folder."
            ) from None
        except OSError as error:
            raise unwritable(path, error) from error
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        with contextlib.suppress(OSError):
            self._lock.release()


def _sign(descriptor: int) -> None:
    """Write the process number for those who are refused."""
    os.ftruncate(descriptor, 0)
    os.write(descriptor, b"%d\n" % os.getpid())


LEASE = "lease.json"
TERM = 30.0
"""Seconds for which a lease that does not change is waited for before it is taken over."""


class Lease:
    """Held within a `with` block, and renewed every few seconds by a thread.

    Whoever wants a lease that another holds watches its tag on a clock of its own and takes it once it has not changed
    for the whole term, so that no clock is compared with another machine's; from a process of this machine that is
    dead, at once. Who loses it sees so in `lost`. A store that is away for a while costs no lease: two drivers would at
    worst ask a unit twice, and store it once.
    """

    def __init__(self, objects: Objects, note: Callable[[str], None]) -> None:
        self._objects = objects
        self._note = note
        self._term = TERM
        self._me = secrets.token_hex(8)
        self._count = 0
        self._tag: Tag = {}
        self._refused = False
        self._closing = threading.Event()
        self._thread = threading.Thread(target=self._keep, name="facevalue-lease", daemon=True)

    @property
    def lost(self) -> bool:
        """True if another process drives the run by now."""
        return self._refused

    def __enter__(self) -> Self:
        watched: Tag | None = None
        begun = since = time.monotonic()
        while True:
            stored = self._objects.get(LEASE)
            if stored is None:
                if time.monotonic() > begun + self._term:
                    raise RunError(f"{self._objects.url} does not show what is written there: no run can lie in it.")
                if not self._objects.create(LEASE, self._text()):
                    time.sleep(min(1.0, self._term / 10))
                continue  # read it back: its tag is needed
            holder, tag = _read(stored[0]), stored[1]
            if holder.get("holder") == self._me:
                self._tag = tag
                break
            free = bool(holder.get("released")) or _is_dead(holder)
            if free or (watched == tag and time.monotonic() >= since + self._term):
                self._objects.replace(LEASE, self._text(), tag)  # whoever is first has it
                continue
            if watched is None:
                holder_name = f"process {holder.get('pid')} on {holder.get('host')}"
                self._note(
                    f"{holder_name} was driving this run: waiting {self._term:g} s to see whether it still does."
                )
            elif watched != tag:
                raise RunError(
                    f"{self._objects.url} is being driven by process {holder.get('pid')} on {holder.get('host')}. "
                    "Wait for it, stop it, or name another prefix."
                )
            if watched != tag:
                watched, since = tag, time.monotonic()
            time.sleep(min(1.0, self._term / 10))
        self._thread.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._closing.set()
        self._thread.join()
        if not self.lost:
            try:
                self._objects.replace(LEASE, self._text(released=True), self._tag)
            except RunError:
                return  # it ends by itself

    def _keep(self) -> None:
        while not self._closing.wait(self._term / 5):
            try:
                self._renew()
            except RunError:
                continue  # the store is away

    def _renew(self) -> None:
        self._count += 1
        tag = self._objects.replace(LEASE, self._text(), self._tag)
        if tag is None:  # another's, or our own write whose confirmation was lost
            stored = self._objects.get(LEASE)
            if stored is None or _read(stored[0]).get("holder") != self._me:
                self._refused = True
                return
            tag = stored[1]
        self._tag = tag

    def _text(self, released: bool = False) -> bytes:
        facts: dict[str, Any] = {"holder": self._me, "host": socket.gethostname(), "machine": _machine()}
        facts |= {"pid": os.getpid(), "renewed": self._count}
        return json.dumps({**facts, **({"released": True} if released else {})}).encode()


def _read(data: bytes) -> dict[str, Any]:
    try:
        document = json.loads(data)
    except ValueError:
        return {}
    return document if isinstance(document, dict) else {}


def _machine() -> str:
    """Name this machine, its last start, its process numbers: names may be shared, and numbers begin anew."""
    marks = [socket.gethostname(), f"{uuid.getnode():x}"]
    with contextlib.suppress(OSError):
        marks += [Path("/proc/sys/kernel/random/boot_id").read_text(encoding="ascii").strip()]
        marks += [str(Path("/proc/self/ns/pid").readlink())]
    return hashlib.sha256(" ".join(marks).encode()).hexdigest()[:16]


def _is_dead(holder: dict[str, Any]) -> bool:
    """Return whether the holder was a process of this machine that no longer exists."""
    pid = holder.get("pid")
    if holder.get("machine") != _machine() or not isinstance(pid, int) or pid <= 0 or pid == os.getpid():
        return False
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return True
    except OSError:
        return False
    return False
