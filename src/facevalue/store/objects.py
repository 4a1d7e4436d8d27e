"""Objects under a URL (s3://, gs://, az://, file://): create-only writes, compare-and-set, retries, plain errors.

Credentials come from the environment's usual places and nowhere else; they are never stored or shown.
"""

import asyncio
import os
import random
import re
import time
from collections.abc import Callable, Iterator, Mapping
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple, TypeVar
from urllib.parse import unquote, urlsplit

from filelock import FileLock

from facevalue.addresses import is_this_machine, number_of, split_address
from facevalue.errors import DependencyError, RunError, SettingError
from facevalue.places import SCHEMES
from facevalue.printable import printable, without_key
from facevalue.store.files import make_folder

if TYPE_CHECKING:
    from obstore.store import ObjectStore

PATIENCE = 300.0
"""Seconds for which a store that answers with errors, or not at all, is tried again."""
_FIRST = 10.0
"""The same before it ever did what is asked, read or write, and for one that refuses: what will not be is told soon."""
_LONGEST, _PAUSE = 8.0, 0.2  # seconds between two tries
LARGEST, _LARGEST_TEXT = 2**30, 2**26
"""Bytes of an object, and of a text."""
_MOST_KEYS = 1_000_000
READS = 3
"""How often an object is read that does not come as it was written, before it counts as damaged."""
_ENDPOINTS = (
    "AWS_ENDPOINT_URL_S3", "AWS_ENDPOINT_URL", "AWS_ENDPOINT", "GOOGLE_BASE_URL", "AZURE_STORAGE_ENDPOINT",
    "AZURE_ENDPOINT",
)  # fmt: skip
_SECRETS = (
    *("AWS_SECRET_ACCESS_KEY", "AWS_SESSION_TOKEN", "AZURE_STORAGE_ACCOUNT_KEY", "AZURE_STORAGE_SAS_KEY"),
    *("AZURE_STORAGE_TOKEN", "AZURE_STORAGE_CLIENT_SECRET", "GOOGLE_SERVICE_ACCOUNT_KEY"),
)
_TIMEOUT = "120s"
_LOCK = ".lock"
_BUCKET = re.compile(r"[A-Za-z0-9._-]{1,255}")
T = TypeVar("T")
Tag = Mapping[str, str]
"""What tells one version of an object from another."""


class ListedObject(NamedTuple):
    """An object as a listing names it."""

    key: str
    size: int
    tag: str


def checked_url(url: str) -> str:
    """A URL under which objects can lie, without a slash at its end."""
    if not url.isprintable():  # `urlsplit` drops some of what is not, and what is left may be another place
        raise SettingError("The URL of the run holds control characters.")
    try:
        address = urlsplit(url)
    except ValueError:
        raise SettingError(f"{url} is not a URL: write s3://BUCKET/PREFIX.") from None
    if address.scheme not in SCHEMES:
        raise SettingError(f"{url} is not one of {', '.join(f'{scheme}://' for scheme in SCHEMES)}.")
    if "@" in address.netloc or address.query or address.fragment:
        raise SettingError(
            f"{address.scheme}://{address.netloc.rpartition('@')[2]}{address.path} was given with more than a name: "
            "credentials are read from the environment, never from a URL."
        )
    if address.scheme == "file":
        if address.netloc or not address.path.strip("/"):
            raise SettingError(f"{url} names no folder: write file:///FOLDER/RUN, with three slashes.")
    elif not address.netloc or not address.path.strip("/"):
        raise SettingError(f"{url} names no prefix: write {address.scheme}://BUCKET/PREFIX.")
    elif not _BUCKET.fullmatch(address.netloc) or {".", ".."} & set(address.path.split("/")):
        raise SettingError(f"{url[:300]} names no bucket and prefix that there can be.")
    return f"{address.scheme}://{address.netloc}{address.path}".rstrip("/")  # names of schemes have no case


class Objects:
    """Object storage under a URL."""

    def __init__(self, url: str, store: "ObjectStore") -> None:
        self.url = url
        self._store = store
        self._local = Path(unquote(urlsplit(url).path)) if url.startswith("file://") else None
        self._works: set[str] = set()
        """Actions that the store was seen to do."""
        self._refuses = False

    @classmethod
    def at(cls, url: str, *, make: bool = False) -> "Objects":
        """Open a URL; nothing is asked of the store yet. `make`: a folder that is not there yet."""
        try:
            from obstore.store import LocalStore, from_url  # noqa: PLC0415 - an extra
        except ImportError:
            raise DependencyError("obstore", "cloud") from None
        url = checked_url(url)
        if url.startswith("file://"):
            folder = Path(unquote(urlsplit(url).path))
            if make:
                make_folder(folder)
            if not folder.is_dir():
                raise RunError(f"{url} holds no run: there is no such folder.")
            return cls(url, LocalStore(folder))
        _check_endpoints()
        endpoint = os.environ.get("AWS_ENDPOINT_URL", os.environ.get("AWS_ENDPOINT", ""))
        if url.startswith("s3://") and endpoint.startswith("http://") and not _allows_http():
            raise SettingError(
                f"AWS_ENDPOINT_URL is {endpoint}, which is not encrypted: set AWS_ALLOW_HTTP=true if that is meant."
            )
        options: Any = {"timeout": _TIMEOUT, "connect_timeout": "10s", "allow_invalid_certificates": False}
        if _allows_http():
            options["allow_http"] = True
        try:
            return cls(url, from_url(url, client_options=options, retry_config={"max_retries": 0}))
        except Exception as error:  # a base class of obstore's own, known only where it is installed
            raise RunError(f"{url} cannot be opened: {_said(error)}.") from None

    def get(self, key: str, check: Callable[[bytes], object] = len) -> tuple[bytes, Tag] | None:
        """An object and its tag; None if it is not there.

        `check`: raises `RunError` where the bytes are not those that were written. They are then read again: what
        was cut or changed on its way is no damage of the object.
        """
        import obstore  # noqa: PLC0415

        limit = _LARGEST_TEXT if key.endswith((".json", ".toml")) else LARGEST

        def get() -> tuple[bytes, Tag]:
            reply = obstore.get(self._store, key)
            size = reply.meta["size"]
            if size > limit:
                raise ValueError(f"it is larger than {limit // 2**20:,} MiB")
            data = bytearray()
            for piece in reply.stream():
                data += piece
                if len(data) > size:
                    break
            if len(data) != size:
                raise ConnectionError("more or fewer bytes came than the store had said")
            return bytes(data), _tag(reply.meta)

        for left in reversed(range(READS)):
            content = self._ask(key, "read", get, missing=None)
            try:
                if content is not None:
                    check(content[0])
            except RunError:
                if not left:
                    raise
                continue
            break
        return content

    def tail(self, key: str, size: int, limit: int) -> bytes | None:
        """The last bytes of an object of this size; None if it is not there."""
        import obstore  # noqa: PLC0415

        start = max(size - limit, 0)
        return self._ask(
            key, "read", lambda: bytes(obstore.get_range(self._store, key, start=start, end=size)), missing=None
        )

    def part(self, listed: ListedObject, start: int, stop: int) -> bytes:
        """Some bytes of an object, if it still is the one that was listed."""
        import obstore  # noqa: PLC0415

        options: Any = {"range": (start, stop)} | ({"if_match": listed.tag} if listed.tag else {})

        def part() -> bytes | None:
            data = bytes(obstore.get(self._store, listed.key, options=options).bytes())
            if len(data) != stop - start:
                raise ConnectionError("more or fewer bytes came than were asked for")
            return data

        data = self._ask(listed.key, "read", part, missing=None, changed=None)
        if data is None:
            raise RunError(f"{self.called(listed.key)} is no longer the object that it was: open the run again.")
        return data

    def head(self, key: str) -> ListedObject | None:
        """An object as a listing would name it; None if it is not there."""
        import obstore  # noqa: PLC0415

        return self._ask(key, "read", lambda: _listed(obstore.head(self._store, key)), missing=None)

    def create(self, key: str, data: bytes) -> bool:
        """Write an object that is not there yet. False if it is, be it by a write whose confirmation was lost.

        A store that refuses because another write is on its way (409) is asked again: only what can be seen is there.
        """
        import obstore  # noqa: PLC0415

        def create() -> bool:
            obstore.put(self._store, key, data, mode="create")
            return True

        for _ in self._tries(key):
            if self._ask(key, "write", create, exists=False):
                return True
            if self.head(key) is not None:
                return False
        raise AssertionError

    def overwrite(self, key: str, data: bytes, *, once: bool = False) -> None:
        """Write an object, whatever was there; `once`: without waiting for a store that does not take it."""
        import obstore  # noqa: PLC0415

        put = partial(obstore.put, self._store, key, data, mode="overwrite")
        self._ask(key, "write", put, 0.0 if once else None)

    def replace(self, key: str, data: bytes, tag: Tag) -> Tag | None:
        """Write an object if it still is the one with this tag, and return the new tag; None if it no longer is.

        A store that refuses is not believed before the object was looked at.
        """
        import obstore  # noqa: PLC0415

        def replace() -> Tag | None:
            if self._local is None:
                return _tag(obstore.put(self._store, key, data, mode=dict(tag)))  # type: ignore[arg-type]
            with FileLock(self._local / _LOCK):  # a file system has no compare-and-set
                if _tag(obstore.head(self._store, key)) != tag:
                    return None
                return _tag(obstore.put(self._store, key, data, mode="overwrite"))

        for _ in self._tries(key):
            if (new := self._ask(key, "write", replace, missing=None, changed=None, exists=None)) is not None:
                return new
            stored = self.get(key)
            if stored is not None and stored[0] == data:  # our own write, whose confirmation was lost
                return stored[1]
            if stored is None or stored[1] != tag:
                return None
        raise AssertionError

    def list(self, folder: str) -> list[ListedObject]:
        """Objects of a folder, by key."""
        import obstore  # noqa: PLC0415

        endless = RunError(f"Cannot list {self.called(folder)}: the listing does not end.")

        async def pages() -> list[ListedObject]:
            out: dict[str, ListedObject] = {}
            try:
                async with asyncio.timeout(PATIENCE):
                    async for page in obstore.list(self._store, f"{folder}/", chunk_size=1000):
                        for entry in map(_listed, page):
                            if entry.key in out or len(out) == _MOST_KEYS:
                                raise endless
                            out[entry.key] = entry
            except TimeoutError:
                raise endless from None
            return [*out.values()]

        def all_of() -> list[ListedObject]:
            with ThreadPoolExecutor(1) as pool:  # a notebook has a loop of its own in this thread
                return pool.submit(asyncio.run, pages()).result()

        nothing: list[ListedObject] = []
        return sorted(self._ask(f"{folder}/", "list", all_of, missing=nothing))

    def called(self, key: str) -> str:
        """An object's name for people."""
        return f"{self.url}/{key}"

    def _tries(self, key: str) -> Iterator[None]:
        """Moments at which something is tried that a store refuses without a reason; after the first time, just one."""
        end = time.monotonic() + (0 if self._refuses else _FIRST)
        while True:
            yield
            if time.monotonic() >= end:
                break
            time.sleep(_PAUSE)
        self._refuses = True
        raise RunError(
            f"Cannot write {self.called(key)}: the store refuses, though nothing has changed there. It may not take "
            "conditional writes, which runs need so that no answer is stored twice or lost."
        )

    def _ask(self, key: str, action: str, call: Callable[[], T], patience: float | None = None, **otherwise: T) -> T:
        """Run an operation on a store; retries passing errors, and names the others."""
        from obstore.exceptions import AlreadyExistsError, PreconditionError  # noqa: PLC0415

        patience = (PATIENCE if action in self._works else _FIRST) if patience is None else patience
        end, tries = time.monotonic() + patience, 0
        while True:
            try:
                result = call()
            except AlreadyExistsError as error:
                return _or(otherwise, "exists", self._error(key, action, error))
            except PreconditionError as error:
                return _or(otherwise, "changed", self._error(key, action, error))
            except RunError:
                raise
            except FileNotFoundError as error:
                self._check_bucket(error)
                return _or(otherwise, "missing", self._error(key, action, error))
            except Exception as error:
                if _for_good(error) or time.monotonic() >= end:
                    if patience:
                        self._works.clear()  # what follows, such as putting things in order, waits less long
                    raise self._error(key, action, error) from None
                time.sleep(random.uniform(0.5, 1.0) * min(0.1 * 2**tries, _LONGEST))  # noqa: S311 - no secret
                tries += 1
            else:
                self._works.add(action)
                return result

    def _check_bucket(self, error: Exception) -> None:
        if re.search(r"NoSuchBucket|ContainerNotFound|bucket does not exist", str(error)):
            bucket = urlsplit(self.url)
            raise RunError(
                f"There is no bucket {bucket.netloc} ({self.url}): create it, or check its name and region."
            ) from None

    def _error(self, key: str, action: str, error: Exception) -> RunError:
        reason = _said(error)
        name = self.called(key)
        remark = "Everything stored before is kept."
        if type(error).__name__ == "UnauthenticatedError" or re.search(r"InvalidAccessKey|SignatureDoes", str(error)):
            return RunError(f"The store does not take the credentials in the environment ({action} {name}). {remark}")
        if "RequestTimeTooSkewed" in str(error):
            return RunError(f"The clock of this machine is wrong, and the store refuses it ({name}): set it. {remark}")
        if isinstance(error, PermissionError) or re.search(r"AccessDenied|403 Forbidden", str(error)):
            return RunError(f"No permission to {action} {name}: check the credentials in the environment. {remark}")
        if re.search("certificate|UnknownIssuer", str(error), re.I):
            return RunError(f"The certificate of the store is not one to be trusted ({name}); nothing was sent.")
        if re.search("kind: Connect", str(error)):
            reason = "the store cannot be reached"
        return RunError(f"Cannot {action} {name}: {reason}. {remark}")


def _allows_http() -> bool:
    return os.environ.get("AWS_ALLOW_HTTP", "").lower() in ("1", "true", "yes")


def _check_endpoints() -> None:
    """Check the addresses of stores, and except those on this machine from proxies, which get no token for it."""
    for name in _ENDPOINTS:
        if not (url := os.environ.get(name)):
            continue
        try:
            host = split_address(url).hostname or ""
        except ValueError as error:
            raise SettingError(f"{name} {error}. Write http://HOST:PORT or https://HOST.") from None
        if is_this_machine(host):
            for exception in ("NO_PROXY", "no_proxy"):
                excepted = os.environ.get(exception, "").split(",")
                direct = [*excepted, host, str(number_of(host) or host)]
                os.environ[exception] = ",".join(dict.fromkeys(direct)).strip(",")


def _listed(meta: Mapping[str, Any]) -> ListedObject:
    return ListedObject(meta["path"], int(meta["size"]), meta["e_tag"] or "")


def _tag(meta: Mapping[str, Any]) -> Tag:
    return {name: meta[name] for name in ("e_tag", "version") if meta.get(name)}


def _or(otherwise: Mapping[str, T], name: str, error: RunError) -> T:
    if name in otherwise:
        return otherwise[name]
    raise error from None


def _said(error: Exception) -> str:
    """The first line of an error, without secrets that a store repeats; the rest is the library's view of itself."""
    text = " ".join((str(error).splitlines() or [type(error).__name__])[0].split())
    for name in _SECRETS:
        text = without_key(text, os.environ.get(name, ""))
    return printable(text).rstrip(". ")[:300]


def _for_good(error: Exception) -> bool:
    """Return whether an error is permanent, so that trying again is no use."""
    is_final = isinstance(error, PermissionError) or type(error).__name__ in (
        "UnauthenticatedError", "PermissionDeniedError", "NotSupportedError", "InvalidPathError",
    )  # fmt: skip
    final = (
        r"certificate|UnknownIssuer|RequestTimeTooSkewed|InvalidAccessKey|SignatureDoes|AccessDenied|Account must be"
        r"|status code: (4(?!00|08|09|12|25|29)\d\d|501|505|507)"  # refused, or it has no room or no such request
        r"|os error (1|13|27|28|30|122)\b"  # of a folder: not permitted, too large, full, read-only
    )
    return is_final or re.search(final, str(error), re.I) is not None or isinstance(error, TypeError | ValueError)
