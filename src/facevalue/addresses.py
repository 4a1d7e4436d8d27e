"""Addresses on the web: which are well formed, which name this machine, and which proxy stands before the others."""

import re
import socket
from contextlib import suppress
from functools import cache
from ipaddress import IPv4Address, IPv6Address, ip_address
from pathlib import Path
from urllib.parse import SplitResult, urlsplit
from urllib.request import getproxies, proxy_bypass

_LABEL = re.compile(r"[a-z0-9_]([a-z0-9_-]{0,61}[a-z0-9_])?", re.I)
_LOCAL = {"localhost", "localhost.localdomain", "localhost6", "ip6-localhost", "ip6-loopback"}
_HOSTS = Path("/etc/hosts")
_LONGEST = 253
"""Most characters of a host's name (RFC 1035)."""
_MOST_HOSTS = 2**20


def split_address(url: str) -> SplitResult:
    """Split a web address.

    Raises
    ------
    ValueError
        It is none, or a part of it is none: what is wrong, as the end of a sentence that begins with its name. It
        repeats nothing of the address, which may hold a secret.
    """
    if any(not " " < c < "\x7f" for c in url) or "\\" in url:  # `urlsplit` drops some of these in silence
        raise ValueError("holds a blank, a control character, a backslash or a letter that is not ASCII")
    try:
        address = urlsplit(url)
    except ValueError:
        raise ValueError("is not a web address") from None
    if address.scheme not in ("http", "https") or not address.hostname:
        raise ValueError("is not a web address")
    try:
        port = address.port
    except ValueError:
        port = 0
    if port == 0:
        raise ValueError("is not a web address: a port is a number from 1 to 65535")
    if "@" in address.netloc:
        raise ValueError("holds a user name or password")
    if not (number_of(address.hostname) is not None if "[" in address.netloc else _is_name(address.hostname)):
        raise ValueError(f"is not a web address: no host has such a name, or one of over {_LONGEST} characters")
    return address


def _is_name(host: str) -> bool:
    """Return whether a text can be a host's name: letters, digits and hyphens; encoded other alphabets are whole."""
    labels = host.removesuffix(".").split(".")
    if len(host) > _LONGEST or not all(_LABEL.fullmatch(label) for label in labels):
        return False
    try:
        return all(label.encode().decode("idna") for label in labels)
    except UnicodeError:
        return False


def is_this_machine(host: str) -> bool:
    """Return whether a host is this machine by one of its names or addresses, in any way of writing them.

    Nothing is asked of other machines, except where a name begins with this machine's own.

    Examples
    --------
    >>> [is_this_machine(host) for host in ("localhost.", "127.1", "0x7f000001", "::ffff:127.0.0.1", "[::]")]
    [True, True, True, True, True]
    >>> is_this_machine("models.example.org")
    False
    """
    name = host.strip("[]").rstrip(".").lower()
    if name in _LOCAL or name.endswith(".localhost"):
        return True
    return _is_own_number(name) or name in _own_names() or (_is_first_label(name) and name == socket.getfqdn().lower())


def number_of(host: str) -> IPv4Address | IPv6Address | None:
    """Return the address that a host is, if it is one; IPv4 also as one number, in parts, octal or hexadecimal.

    Examples
    --------
    >>> str(number_of("127.1")), number_of("localhost")
    ('127.0.0.1', None)
    """
    try:
        return ip_address(host)
    except ValueError:
        pass
    if not re.fullmatch(r"(0x[0-9a-f]+|[0-9]+)(\.(0x[0-9a-f]+|[0-9]+)){0,3}", host):
        return None
    try:
        return IPv4Address(socket.inet_aton(host))
    except OSError:
        return None


def _is_own_number(text: str) -> bool:
    """Return whether this is an address of this machine: a socket can be bound to no other."""
    address = number_of(text)
    if address is None:
        return False
    if isinstance(address, IPv6Address):
        address = address.ipv4_mapped or address
    if address.is_loopback or address.is_unspecified:
        return True
    with suppress(OSError):
        for family, kind, _, _, socket_address in socket.getaddrinfo(
            str(address), 0, type=socket.SOCK_DGRAM, flags=socket.AI_NUMERICHOST
        ):
            with socket.socket(family, kind) as trial:
                trial.bind(socket_address)
                return True
    return False


def _own_name() -> str:
    return socket.gethostname().rstrip(".").lower()


def _is_first_label(name: str) -> bool:
    return name.partition(".")[0] == _own_name().partition(".")[0]


@cache
def _own_names() -> frozenset[str]:
    """The name of this machine, and those that its table of hosts gives to its addresses."""
    host_name = _own_name()
    short = host_name.partition(".")[0]
    names = {host_name, short, f"{short}.local"} - {"", ".local"}
    lines: list[str] = []
    with suppress(OSError), _HOSTS.open("rb") as file:
        lines = file.read(_MOST_HOSTS).decode("utf-8", "replace").lower().splitlines()
    for line in lines:
        number, *others = line.partition("#")[0].split() or [""]
        if others and _is_own_number(number):
            names.update(name.rstrip(".") for name in others)
    return frozenset(names)


def proxy_before(url: SplitResult) -> str | None:
    """Return the proxy that the environment or the system names for an address, None for this machine and exceptions.

    HTTP_PROXY, HTTPS_PROXY, ALL_PROXY and NO_PROXY count, in either case.
    """
    host = url.hostname or ""
    proxies = getproxies()
    proxy = proxies.get(url.scheme) or proxies.get("all")
    if not proxy or is_this_machine(host) or proxy_bypass(host):
        return None
    return proxy if "://" in proxy else f"http://{proxy}"
