"""Several devices, one process and one model each: `--device cuda:0,cuda:1`.

The requests about one stimulus go together to whichever process has least to do. Between the processes there are pipes
with lines of JSON, and the bytes of the pictures after the line that announces them: nothing that could be code. A
process ends when its pipe does, whatever it is doing, so none is left behind when this one is killed.
"""

import json
import os
import subprocess
import sys
import threading
from collections.abc import Iterable, Iterator, Mapping
from contextlib import suppress
from dataclasses import asdict, astuple, replace
from queue import Empty, SimpleQueue
from typing import Any, BinaryIO

from facevalue.errors import DataError, FaceValueError, ModelError
from facevalue.models.base import ModelOptions, by_stimulus
from facevalue.models.hf.adapter import CAPABILITIES, MOST_TOGETHER, HFModel
from facevalue.types import Image, Option, Question, Request, Response, Sampling, Status, Stimulus

_WAITING = 64
"""Stimuli that a process has at once: those that it works on together, and those that are there when it is done."""
_SECONDS = 10.0
"""A process that hasn't ended by then, once its pipe is closed, is killed."""

Header = dict[str, Any]


class HFDevices:
    """The same model on several devices, named with commas, with the replies of one. Threads are each one's."""

    def __init__(self, name: str, options: ModelOptions) -> None:
        self.name = name
        devices = [device_name.strip() for device_name in (options.device or "").split(",")]
        if "auto" in devices or not all(devices):
            raise ModelError(f"{options.device!r} is not a list of devices: write them as in cuda:0,cuda:1.")
        self._news: SimpleQueue[tuple[_Process, Header | None]] = SimpleQueue()
        self._jobs = 0
        self._processes: list[_Process] = []
        try:
            for device in devices:
                self._processes.append(_Process(device, self._news))
            for process in self._processes:
                process.send({"name": name, "options": asdict(replace(options, device=process.device))})
            while any(not process.settings for process in self._processes):
                process, header = self._news.get()
                _take(process, header)
        except BaseException:
            self.close()
            raise
        first = self._processes[0]
        self.notes: tuple[str, ...] = first.notes
        self.capabilities = replace(CAPABILITIES, images_per_request=first.images)
        for child in self._processes:
            if child.settings != first.settings:
                self.close()
                raise ModelError(f"{first.device} and {child.device} would not give the same answers: use one kind.")

    def settings(self) -> Mapping[str, str | int | float | bool]:
        """Settings, the same as with one device: the number of devices changes no answer."""
        return self._processes[0].settings

    def findings(self) -> Mapping[str, str | int | float | bool]:
        """Findings of the self-checks: the largest of each number, and the number of checks in all."""
        facts: dict[str, str | int | float | bool] = {}
        for process in self._processes:
            for name, value in process.findings.items():
                before = facts.get(name, 0)
                if isinstance(value, str) or isinstance(before, str):
                    facts[name] = max(str(before or ""), str(value), key=len)  # of whoever has seen more kinds
                else:
                    facts[name] = before + value if name == "self_checks" else max(before, value)
        return facts

    def respond(self, requests: Iterable[Request]) -> Iterator[Response]:
        """Answer requests, those about one stimulus in one process; in any order."""
        batches = by_stimulus(requests, MOST_TOGETHER)  # as one process would take them
        numbers: set[int] = set()
        batch = next(batches, None)
        while batch or numbers:
            idle = min(self._processes, key=lambda process: process.jobs)
            if batch and idle.jobs < _WAITING:
                self._jobs += 1
                numbers.add(self._jobs)
                idle.give(self._jobs, batch)
                batch = next(batches, None)
                continue
            process, header = self._news.get()
            header = _take(process, header)
            if header["job"] not in numbers:
                continue  # of a stream that was given up
            if "done" in header:
                numbers.remove(header["job"])
            else:
                yield _response(header["response"])

    def close(self) -> None:
        """End all processes."""
        for process in self._processes:
            process.hang_up()
        for process in self._processes:
            process.end()


class _Process:
    """One device's process, seen from outside. What it says is put into `news`; None when it has ended."""

    def __init__(self, device: str, news: "SimpleQueue[tuple[_Process, Header | None]]") -> None:
        self.device = device
        self.jobs = 0
        self.images = 0
        self.settings: dict[str, str | int | float | bool] = {}
        self.findings: dict[str, str | int | float | bool] = {}
        self.notes: tuple[str, ...] = ()
        # In a session of its own: Ctrl-C reaches the run alone, which may want what is on its way.
        self._popen = subprocess.Popen(  # noqa: S603 - this interpreter and this module
            [sys.executable, "-P", "-m", __name__],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            start_new_session=True,
        )
        self._listener = threading.Thread(target=self._listen, args=(news,), daemon=True)
        self._listener.start()

    def _listen(self, news: "SimpleQueue[tuple[_Process, Header | None]]") -> None:
        assert self._popen.stdout is not None
        for line in self._popen.stdout:
            if line.endswith(b"\n"):
                news.put((self, json.loads(line)))
        news.put((self, None))

    def give(self, job: int, batch: list[Request]) -> None:
        """Hand over requests about one stimulus."""
        self.jobs += 1
        stimulus = batch[0].stimulus
        images: tuple[Image, ...] = ()
        problem = None
        try:
            images = stimulus.load()
        except (DataError, OSError) as error:
            problem = str(error)
        questions = {id(request.question): request.question for request in batch}
        places = {key: place for place, key in enumerate(questions)}
        header = {
            "job": job,
            "key": stimulus.key,
            "digest": stimulus.digest,
            "problem": problem,
            "images": [[image.media_type, len(image.data)] for image in images],
            "questions": [_question_as_json(question) for question in questions.values()],
            "requests": [
                [r.trial, r.repeat, r.seed, places[id(r.question)], astuple(r.sampling), r.exact, r.constrain]
                for r in batch
            ],
        }
        self.send(header, *(image.data for image in images))

    def send(self, header: Header, *blobs: bytes) -> None:
        """Send a line and what it announces; that the process has ended is heard from itself."""
        assert self._popen.stdin is not None
        with suppress(BrokenPipeError):
            self._popen.stdin.write(json.dumps(header).encode() + b"\n" + b"".join(blobs))
            self._popen.stdin.flush()

    def describe_end(self) -> str:
        """Say how it ended."""
        code = self._popen.wait(_SECONDS)
        return f"killed by signal {-code}" if code < 0 else f"exit status {code}"

    def hang_up(self) -> None:
        """Close its pipe."""
        assert self._popen.stdin is not None
        with suppress(BrokenPipeError):
            self._popen.stdin.close()

    def end(self) -> None:
        """Wait until it has ended."""
        try:
            self._popen.wait(_SECONDS)
        except subprocess.TimeoutExpired:
            self._popen.kill()
            self._popen.wait()
        self._listener.join()
        assert self._popen.stdout is not None
        self._popen.stdout.close()


def _take(process: _Process, header: Header | None) -> Header:
    """Record what a process says of itself."""
    if header is None:
        raise ModelError(
            f"The process of {process.device} ended ({process.describe_end()}); what it last wrote stands above. The "
            "same command goes on from what is stored."
        )
    process.findings = header.get("findings", process.findings)
    if "failed" in header:
        raise ModelError(f"{process.device}: {header['failed']}")
    if "settings" in header:
        process.settings, process.notes = header["settings"], tuple(header["notes"])
        process.images = header["images_per_request"]
    process.jobs -= "done" in header
    return header


def _question_as_json(question: Question) -> Header:
    """Put a question as JSON, without what only a study wants to know of it."""
    return asdict(replace(question, factors={}))


def _tuples(value: Any) -> Any:
    """Lists as the tuples that they were before JSON."""
    if isinstance(value, dict):
        return {name: _tuples(inner) for name, inner in value.items()}
    return tuple(map(_tuples, value)) if isinstance(value, list) else value


def _question(header: Header) -> Question:
    sampling = header["sampling"] and Sampling(**header["sampling"])
    fields = {name: _tuples(value) for name, value in header.items()}
    options = tuple(Option(**option) for option in fields["options"])
    return Question(**fields | {"sampling": sampling, "options": options})


def _response(fields: list[Any]) -> Response:
    trial, repeat, status, text, probs, *rest = fields
    return Response(trial, repeat, Status(status), text, None if probs is None else tuple(probs), *rest)


def _requests(header: Header, blobs: list[bytes]) -> list[Request]:
    """Put requests together again."""
    images = tuple(Image(data, kind) for data, (kind, _) in zip(blobs, header["images"], strict=True))

    def load() -> tuple[Image, ...]:
        if header["problem"] is not None:
            raise DataError(header["problem"])
        return images

    stimulus = Stimulus(header["key"], header["digest"], {}, load)
    questions = [_question(packed) for packed in header["questions"]]
    return [
        Request(trial, repeat, seed, stimulus, questions[place], Sampling(*sampling), exact, constrain)
        for trial, repeat, seed, place, sampling, exact, constrain in header["requests"]
    ]


class _Waiting:
    """The requests of a job, when there is one, and of all others that are there when they are wanted.

    They are numbered anew: a stream that was given up may have had the same trials.
    """

    def __init__(self, jobs: "SimpleQueue[tuple[Header, list[bytes]]]") -> None:
        self._jobs = jobs
        self._of: dict[int, tuple[int, int]] = {}
        self._left: dict[int, int] = {}
        self._count = 0

    def __iter__(self) -> Iterator[Request]:
        header, blobs = self._jobs.get()
        while True:
            requests = _requests(header, blobs)
            self._left[header["job"]] = len(requests)
            for number, request in enumerate(requests, self._count):
                self._of[number] = header["job"], request.trial
                yield request._replace(trial=number)
            self._count += len(requests)
            try:
                header, blobs = self._jobs.get_nowait()
            except Empty:
                return

    def match_response(self, response: Response) -> tuple[int, Response, bool]:
        """Return which job a response is of, the response with its own number, and whether the job is done."""
        job, trial = self._of.pop(response.trial)
        self._left[job] -= 1
        return job, response._replace(trial=trial), not self._left[job]


def _heard(source: BinaryIO, jobs: "SimpleQueue[tuple[Header, list[bytes]]]") -> None:
    """Put aside what comes through the pipe; end the process when it is closed, whatever it is doing."""
    while (line := source.readline()).endswith(b"\n"):
        header = json.loads(line)
        jobs.put((header, [source.read(size) for _, size in header.get("images", ())]))
    os._exit(0)


def main() -> None:
    """Be one device's process: a model, requests from standard input, responses to standard output."""
    out = os.fdopen(os.dup(1), "wb")
    os.dup2(2, 1)  # what libraries print must not come between the lines

    def say(**header: Any) -> None:
        out.write(json.dumps(header).encode() + b"\n")
        out.flush()

    jobs: SimpleQueue[tuple[Header, list[bytes]]] = SimpleQueue()
    source = os.fdopen(os.dup(0), "rb")  # one of its own: Python wants to close standard input when it ends
    threading.Thread(target=_heard, args=(source, jobs), daemon=True).start()
    findings: Mapping[str, Any] = {}
    try:
        first, _ = jobs.get()
        model = HFModel(first["name"], ModelOptions(**first["options"]))
        images = model.capabilities.images_per_request
        say(settings=dict(model.settings()), notes=model.notes, images_per_request=images)
        while True:
            waiting = _Waiting(jobs)
            try:
                for response in model.respond(waiting):
                    job, answer, is_done = waiting.match_response(response)
                    say(job=job, response=answer)
                    if is_done:
                        findings = dict(model.findings())
                        say(job=job, done=True, findings=findings)
            finally:
                findings = dict(model.findings())
    except FaceValueError as error:
        say(failed=str(error), findings=dict(findings))


if __name__ == "__main__":
    main()
