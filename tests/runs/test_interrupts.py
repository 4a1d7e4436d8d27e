"""Signals within the process: when they raise, when they wait, and that the old handlers come back."""

import os
import signal
import threading
import time
from pathlib import Path

import pytest

from facevalue.runs import RunSettings, run
from facevalue.runs.progress import Interrupts
from facevalue.store import read_responses
from tests.runs.tiny import TinyModel, fails, for_a_while, tiny_study


def send(number: signal.Signals = signal.SIGINT) -> None:
    os.kill(os.getpid(), number)
    time.sleep(0.001)


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_outside_of_everything_a_signal_raises(number: signal.Signals) -> None:
    before = signal.getsignal(number)
    with pytest.raises(KeyboardInterrupt), Interrupts(1.0):
        send(number)
    assert signal.getsignal(number) is before


def test_shielded_it_waits_until_the_end() -> None:
    done = []

    def shielded() -> None:
        with Interrupts(1.0) as signals, signals.shield():
            send()
            done.append("to the end")

    with pytest.raises(KeyboardInterrupt):
        shielded()
    assert done == ["to the end"]


def test_draining_it_calls_back_once_and_then_raises() -> None:
    called = []

    def draining() -> None:
        with Interrupts(60.0) as signals, signals.draining(lambda: called.append(1)):
            send()
            called.append(2)
            send()

    with pytest.raises(KeyboardInterrupt):
        draining()
    assert called == [1, 2]


def test_draining_ends_when_it_has_taken_long_enough() -> None:
    def hangs() -> None:
        with Interrupts(0.05) as signals, signals.draining(lambda: None):
            send()
            threading.Event().wait(60)  # as a model does that waits for its server

    with pytest.raises(KeyboardInterrupt):
        hangs()


def test_when_all_is_over_nothing_raises() -> None:
    with Interrupts(0.05) as signals:
        with signals.draining(lambda: None):
            send()
        signals.over()
        send()
        time.sleep(0.2)


def test_another_thread_leaves_signals_alone() -> None:
    seen = []

    def work() -> None:
        with Interrupts(1.0):
            seen.append(signal.getsignal(signal.SIGINT))

    before = signal.getsignal(signal.SIGINT)
    thread = threading.Thread(target=work)
    thread.start()
    thread.join()
    assert seen == [before]


def test_ctrl_c_stores_what_came(tmp_path: Path) -> None:
    def presses() -> None:
        if len(model.asked) == 4:  # the fourth is entered before it is answered
            send()

    model = TinyModel(for_a_while(3, presses), ahead=3)
    summary = run(tiny_study(), model, tmp_path, RunSettings(grace=60))
    assert (summary.interrupted, summary.complete, summary.asked) == (True, False, 6)  # three were on their way
    assert read_responses(tmp_path)["trial"].to_list() == sorted(r.trial for r in model.asked)
    assert run(tiny_study(), TinyModel(), tmp_path).asked == 6


def test_a_keyboard_interrupt_from_within_the_model_stores_what_came(tmp_path: Path) -> None:
    summary = run(tiny_study(), TinyModel(for_a_while(5, fails(KeyboardInterrupt))), tmp_path)
    assert (summary.interrupted, summary.asked) == (True, 5)
    assert read_responses(tmp_path).height == 5


def test_a_run_in_another_thread(tmp_path: Path) -> None:
    done = []
    thread = threading.Thread(target=lambda: done.append(run(tiny_study(), TinyModel(), tmp_path)))
    thread.start()
    thread.join()
    assert done[0].complete
