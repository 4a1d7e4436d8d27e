"""Objects: created once, replaced only as known, and errors that pass or are told in one sentence."""

import os
import time
from collections.abc import Callable, Iterator
from itertools import count
from pathlib import Path
from typing import Any

import obstore
import pytest
from obstore.exceptions import (
    AlreadyExistsError,
    GenericError,
    PermissionDeniedError,
    PreconditionError,
    UnauthenticatedError,
)
from obstore.store import MemoryStore

from facevalue.errors import FaceValueError, RunError, SettingError
from facevalue.places import is_url
from facevalue.store import objects as module
from facevalue.store.lease import Lease
from facevalue.store.objects import Objects, checked_url
from tests.models.raw_server import Line, RawServer
from tests.store.faulty import URL, Faulty


@pytest.fixture(params=["memory", "file"])
def objects(request: pytest.FixtureRequest, tmp_path: Path) -> Objects:
    if request.param == "memory":
        return Objects(URL, MemoryStore())
    return Objects.at((tmp_path / "a run").as_uri(), make=True)


def test_an_object_is_created_once(objects: Objects) -> None:
    assert objects.create("responses/a", b"first")
    assert not objects.create("responses/a", b"second")
    found = objects.get("responses/a")
    assert found is not None
    assert found[0] == b"first"
    assert objects.list("responses") == [objects.head("responses/a")]
    assert (objects.head("responses/b"), objects.get("b")) == (None, None)
    assert objects.tail("responses/a", 5, 2) == b"st"


def test_an_object_is_replaced_only_if_it_is_the_one_that_is_known(objects: Objects) -> None:
    objects.create("run.json", b"one")
    first = objects.get("run.json")
    assert first is not None
    second = objects.replace("run.json", b"two", first[1])
    assert second is not None
    assert objects.replace("run.json", b"another's", first[1]) is None
    now = objects.get("run.json")
    assert now == (b"two", second)


def test_a_listing_names_what_lies_in_a_folder_and_nothing_else(objects: Objects) -> None:
    assert objects.list("responses") == []
    for key in ("responses/b", "responses/a", "responsesx", "run.json"):
        objects.create(key, b"12")
    assert [(one.key, one.size) for one in objects.list("responses")] == [("responses/a", 2), ("responses/b", 2)]


def test_errors_that_pass_are_ridden_out_and_lost_confirmations_store_nothing_twice(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(time, "sleep", lambda seconds: None)
    faulty = Faulty(MemoryStore(), share=0.4, seed=3)
    created = [faulty.create(f"responses/{i}", b"x") for i in range(100)]
    assert faulty.failed > 30
    assert len(faulty.list("responses")) == 100
    assert 0 < created.count(False) < 40, "written, but the confirmation was lost"


class Failing(Objects):
    """Whose store raises one error whatever it is asked."""

    def __init__(self, error: Exception, url: str = "s3://bucket/run") -> None:
        super().__init__(url, MemoryStore())
        self._raised = error
        self.tries = 0

    def _ask(self, key: str, action: str, call: Any, patience: float | None = None, **otherwise: Any) -> Any:
        def fail() -> None:
            self.tries += 1
            raise self._raised

        return super()._ask(key, action, fail, patience, **otherwise)


@pytest.mark.parametrize(
    ("error", "says"),
    [
        (PermissionDeniedError("403 Forbidden"), "No permission to write s3://bucket/run/a: check the credentials"),
        (GenericError("<Code>AccessDenied</Code>"), "No permission to write s3://bucket/run/a"),
        (UnauthenticatedError("401"), "does not take the credentials in the environment"),
        (GenericError("<Code>SignatureDoesNotMatch</Code>"), "does not take the credentials in the environment"),
        (GenericError("<Code>RequestTimeTooSkewed</Code>"), "The clock of this machine is wrong"),
        (
            GenericError("invalid peer certificate: UnknownIssuer"),
            "The certificate of the store is not one to be",
        ),
        (FileNotFoundError("<Code>NoSuchBucket</Code>"), "There is no bucket bucket"),
    ],
)
def test_what_will_not_pass_is_told_at_once(error: Exception, says: str) -> None:
    failing = Failing(error)
    with pytest.raises(RunError, match=says) as told:
        failing.create("a", b"")
    assert failing.tries == 1
    assert "\n" not in str(told.value)


def test_a_store_that_does_not_answer_is_given_up_in_the_end(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "_FIRST", 0.3)
    failing = Failing(GenericError("Error performing PUT\n\nDebug source: kind: Connect"))
    with pytest.raises(RunError, match="Cannot write s3://bucket/run/a: the store cannot be reached"):
        failing.create("a", b"")
    assert failing.tries > 1


@pytest.mark.parametrize(
    ("url", "says"),
    [
        ("s4://bucket/run", "is not one of s3://, gs://, az://, file://"),
        ("s3://bucket", "names no prefix: write s3://BUCKET/PREFIX"),
        ("s3:///run", "names no prefix"),
        ("s3:/bucket/run", "names no prefix: write s3://BUCKET/PREFIX"),
        ("file://run", "three slashes"),
        ("s3://buc\tket/run", "holds control characters"),
        ("s3://bucket/r\run", "holds control characters"),
        ("s3://[::1/run", "is not a URL"),
        ("s3://bucket:99999/run", "names no bucket and prefix that there can be"),
        (f"s3://{'a' * 300}/run", "names no bucket and prefix that there can be"),
        ("s3://bucket/../other", "names no bucket and prefix that there can be"),
        ("s3://KEY:SECRET@bucket/run", "^s3://bucket/run was given with more than a name"),
        ("s3://bucket/run?X-Amz-Signature=SECRET", "^s3://bucket/run was given with more than a name"),
    ],
)
def test_a_url_that_names_no_place_is_refused_without_repeating_secrets(url: str, says: str) -> None:
    with pytest.raises(SettingError, match=says) as told:
        checked_url(url)
    assert "SECRET" not in str(told.value)


@pytest.mark.parametrize("text", ["s3://bucket/run", "s3:/bucket/run", "S3:/bucket/run", "gs:/b/r", "file:/runs/first"])
def test_a_url_that_lost_a_slash_is_no_folder(text: str) -> None:
    assert is_url(text)
    assert not is_url(text.replace(":/", "_"))
    assert checked_url("file:/runs/first/") == "file:///runs/first"


def test_an_address_without_encryption_needs_a_word(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("AWS_ENDPOINT_URL", "http://127.0.0.1:9")
    monkeypatch.delenv("AWS_ALLOW_HTTP", raising=False)
    with pytest.raises(SettingError, match="set AWS_ALLOW_HTTP=true"):
        Objects.at("s3://bucket/run")


@pytest.mark.skipif(os.name != "posix" or os.geteuid() == 0, reason="root may write everywhere")
def test_a_folder_that_cannot_be_written_is_named(tmp_path: Path) -> None:
    tmp_path.chmod(0o500)
    with pytest.raises(FaceValueError, match="Cannot write"):
        Objects.at((tmp_path / "run").as_uri(), make=True)


def refusing(monkeypatch: pytest.MonkeyPatch, name: str, error: Exception, times: int, *, after: bool = False) -> None:
    """Have a function of obstore refuse so many times, without doing it or after it was done."""
    real, left = getattr(obstore, name), [times]

    def refuse(*arguments: Any, **how: Any) -> Any:
        if left[0]:
            left[0] -= 1
            if after:
                real(*arguments, **how)
            raise error
        return real(*arguments, **how)

    monkeypatch.setattr(obstore, name, refuse)


CONFLICT = AlreadyExistsError("409 Conflict: ConditionalRequestConflict")


@pytest.mark.parametrize("after", [False, True])
@pytest.mark.parametrize("error", [CONFLICT, PreconditionError("412 Precondition Failed")])
def test_a_refusal_to_create_or_replace_is_not_believed_before_the_object_was_looked_at(
    monkeypatch: pytest.MonkeyPatch, error: Exception, after: bool
) -> None:
    monkeypatch.setattr(module, "_PAUSE", 0)
    store = Objects(URL, MemoryStore())
    refusing(monkeypatch, "put", CONFLICT if isinstance(error, PreconditionError) else error, 2 - after, after=after)
    assert store.create("run.json", b"ours") is not after
    found = store.get("run.json")
    assert found is not None
    assert found[0] == b"ours"
    refusing(monkeypatch, "put", error, 2 - after, after=after)
    tag = store.replace("run.json", b"ours, too", found[1])
    assert (b"ours, too", tag) == store.get("run.json")
    assert store.replace("run.json", b"theirs", found[1]) is None


def test_a_store_that_refuses_what_is_not_there_is_given_up_in_one_sentence(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "_PAUSE", 0)
    monkeypatch.setattr(module, "_FIRST", 0.1)
    refusing(monkeypatch, "put", CONFLICT, 10**9)
    store, start = Objects(URL, MemoryStore()), time.monotonic()
    for _ in range(20):  # what follows, such as putting things in order, waits no more
        with pytest.raises(RunError, match="the store refuses, though nothing has changed there"):
            store.create("a", b"ours")
    assert time.monotonic() - start < 1


@pytest.mark.parametrize("error", [CONFLICT, GenericError("status code: 503 Service Unavailable")])
def test_a_store_that_can_be_read_and_takes_no_write_is_told_soon(
    monkeypatch: pytest.MonkeyPatch, error: Exception
) -> None:
    monkeypatch.setattr(module, "_FIRST", 0.2)
    refusing(monkeypatch, "put", error, 10**9)
    store, start = Objects(URL, MemoryStore()), time.monotonic()
    with pytest.raises(RunError, match=r"Cannot write memory://bucket/run/lease\.json: "):
        Lease(store, print).__enter__()
    assert time.monotonic() - start < 5


@pytest.mark.parametrize(
    "text",
    [
        *(f"Server returned non-2xx status code: {code}" for code in (401, 402, 405, 411, 413, 422, 501, 507)),
        "Generic LocalFileSystem error: Unable to copy data to file: No space left on device (os error 28)",
    ],
)
def test_a_refusal_that_will_not_pass_is_told_at_once_in_the_middle_of_a_run_too(
    monkeypatch: pytest.MonkeyPatch, text: str
) -> None:
    store = Objects(URL, MemoryStore())
    store.create("first", b"")
    refusing(monkeypatch, "put", GenericError(text), 10**9)
    start = time.monotonic()
    with pytest.raises(RunError, match="Cannot write"):
        store.create("a", b"ours")
    assert time.monotonic() - start < 1


class Changing:
    """A result of obstore whose bytes are changed on the way."""

    def __init__(self, found: Any, change: Callable[[bytes], bytes]) -> None:
        self.meta = found.meta
        self._data = change(bytes(found.bytes()))

    def stream(self) -> Iterator[bytes]:
        yield self._data[:3]
        yield self._data[3:]


@pytest.mark.parametrize(
    "change", [lambda data: data[:-1], lambda data: b"", lambda data: data + b"x", lambda data: b"X" + data[1:]]
)
def test_what_was_cut_or_changed_on_its_way_is_read_again(
    monkeypatch: pytest.MonkeyPatch, change: Callable[[bytes], bytes]
) -> None:
    monkeypatch.setattr(time, "sleep", lambda seconds: None)
    store, real, left = Objects(URL, MemoryStore()), obstore.get, [2]
    store.create("a", b"whole")

    def get(*arguments: Any) -> Any:
        left[0] -= 1
        return Changing(real(*arguments), change if left[0] >= 0 else bytes)

    def check(data: bytes) -> None:
        if data != b"whole":
            raise RunError("It is damaged.")

    monkeypatch.setattr(obstore, "get", get)
    found = store.get("a", check)
    assert found is not None
    assert found[0] == b"whole"
    left[0] = 10**9
    monkeypatch.setattr(module, "PATIENCE", 0)
    with pytest.raises(RunError, match=r"It is damaged|Cannot read memory://bucket/run/a: more or fewer bytes came"):
        store.get("a", check)


PAGE = """<?xml version="1.0"?><ListBucketResult xmlns="http://s3.amazonaws.com/doc/2006-03-01/"><Name>b</Name>
<IsTruncated>true</IsTruncated><NextContinuationToken>{token}</NextContinuationToken><KeyCount>1</KeyCount>{keys}
</ListBucketResult>"""
KEY = """<Contents><Key>run/responses/{0}</Key><LastModified>2026-01-01T00:00:00.000Z</LastModified><ETag>"a"</ETag>
<Size>1</Size></Contents>"""


@pytest.mark.parametrize("kind", ["the same page", "empty pages", "ever more pages"])
def test_a_listing_without_an_end_is_one_sentence(monkeypatch: pytest.MonkeyPatch, kind: str) -> None:
    monkeypatch.setattr(module, "_MOST_KEYS", 5000)
    if kind == "empty pages":
        monkeypatch.setattr(module, "PATIENCE", 0.5)
        monkeypatch.setattr(module, "_FIRST", 0.5)
    pages = count()

    def behave(line: Line) -> None:
        while line.request() is not None:
            page = next(pages)
            keys = {"empty pages": [], "the same page": [0], "ever more pages": range(page * 1000, page * 1000 + 1000)}
            data = PAGE.format(
                token="same" if kind == "the same page" else page, keys="".join(map(KEY.format, keys[kind]))
            )
            line.send(f"HTTP/1.1 200 OK\r\nContent-Length: {len(data)}\r\n\r\n{data}".encode())

    with RawServer.serving(behave) as server:
        store = here(monkeypatch, server.url.removesuffix("/v1"))
        with pytest.raises(RunError, match=r"Cannot list s3://b/run/responses: the listing does not end"):
            store.list("responses")


def here(monkeypatch: pytest.MonkeyPatch, url: str, token: str = "a-token") -> Objects:
    """Objects of a server at this address."""
    names = {"ACCESS_KEY_ID": "AKIA", "SECRET_ACCESS_KEY": "s", "SESSION_TOKEN": token, "ENDPOINT_URL": url}
    for name, value in (names | {"ALLOW_HTTP": "true", "REGION": "us-east-1"}).items():
        monkeypatch.setenv(f"AWS_{name}", value)
    return Objects.at("s3://b/run")


@pytest.mark.parametrize("host", ["127.0.0.1", "127.1", "localhost", "[::ffff:127.0.0.1]", "0.0.0.0", "2130706433"])
def test_a_store_on_this_machine_is_reached_past_any_proxy(monkeypatch: pytest.MonkeyPatch, host: str) -> None:
    def behave(line: Line) -> None:
        line.request()
        line.send(b"HTTP/1.1 404 Not Found\r\nContent-Length: 0\r\n\r\n")

    with RawServer.serving(behave) as server, RawServer.serving(behave) as proxy:
        for name in ("NO_PROXY", "no_proxy"):
            monkeypatch.setenv(name, "elsewhere.example.org")
        for name in ("HTTP_PROXY", "ALL_PROXY", "http_proxy", "all_proxy"):
            monkeypatch.setenv(name, proxy.url.removesuffix("/v1"))
        assert here(monkeypatch, f"http://{host}:{server.port}").get("a") is None
        assert (server.opened, proxy.opened) == (1, 0)


@pytest.mark.parametrize("status", ["403 Forbidden", "500 Oops", "400 Bad Request"])
def test_a_token_that_a_store_repeats_is_in_no_message(monkeypatch: pytest.MonkeyPatch, status: str) -> None:
    token = "FwoGZXIvYXdzE/" + "Aa+/" * 200
    monkeypatch.setattr(module, "_FIRST", 0)

    def behave(line: Line) -> None:
        asked = line.request()
        assert asked is not None
        said = f"<Error><Message>{asked[0]['x-amz-security-token']} \x1b[2J</Message></Error>".encode()
        line.send(f"HTTP/1.1 {status}\r\nContent-Length: {len(said)}\r\n\r\n".encode() + said)

    with RawServer.serving(behave) as server:
        store = here(monkeypatch, server.url.removesuffix("/v1"), token)
        with pytest.raises(RunError) as caught:
            store.get("a")
    assert "FwoGZX" not in str(caught.value)
    assert "Aa+/" not in str(caught.value)
    assert str(caught.value).isprintable()


@pytest.mark.parametrize(
    "url", ["http://[::1", "http://ho\tst:1", "http://a b", "ftp://x", "http://h:99999", "http://u:pw@h"]
)
def test_an_address_of_a_store_that_cannot_be_is_one_sentence(monkeypatch: pytest.MonkeyPatch, url: str) -> None:
    with pytest.raises(SettingError, match=r"^AWS_ENDPOINT_URL (is|holds)") as caught:
        here(monkeypatch, url)
    assert "pw" not in str(caught.value)
    assert str(caught.value).isprintable()
