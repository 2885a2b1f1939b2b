"""Which addresses a script may open: https, at a public address of the internet, and nothing else."""

import ipaddress
import socket
from collections.abc import Callable, Sequence
from dataclasses import dataclass

import httpx

from harness.errors import CorpusError

Address = ipaddress.IPv4Address | ipaddress.IPv6Address

_BROWSER = "open it in a browser, download the document there, and add it: harness corpus add FILE --as ID"
_BARRED = tuple(
    ipaddress.ip_network(network)
    for network in (
        "192.88.99.0/24",  # the relays of 6to4, RFC 7526
        "fec0::/10",  # addresses of a site, RFC 3879
        "3fff::/20",  # documentation, RFC 9637
    )
)
_NAT64 = ipaddress.ip_network("64:ff9b::/96")


def is_public(address: Address, port: int) -> bool:
    """Whether the address is one of the public internet, and the port that of https."""
    if isinstance(address, ipaddress.IPv6Address):
        inner = address.ipv4_mapped or address.sixtofour
        if address in _NAT64:
            inner = ipaddress.IPv4Address(int(address) & 0xFFFFFFFF)
        if inner is not None:
            return is_public(inner, port)
    barred = address.is_private or address.is_reserved or address.is_multicast or address.is_unspecified
    return (
        port == 443
        and address.is_global
        and not barred
        and not any(address in network for network in _BARRED)
    )


def resolve(host: str, port: int) -> list[Address]:
    """The addresses of a host; OSError if it has none."""
    found = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM)
    return [ipaddress.ip_address(str(place[0]).partition("%")[0]) for *_, place in found]


@dataclass(frozen=True)
class Rules:
    """What may be opened. The defaults are the only ones that commands use."""

    scheme: str = "https"
    may_reach: Callable[[Address, int], bool] = is_public
    resolve: Callable[[str, int], Sequence[Address]] = resolve

    def require(self, url: httpx.URL) -> list[Address]:
        """The addresses to connect to, so that what was judged is what is reached; CorpusError if not allowed."""
        if url.scheme != self.scheme:
            raise CorpusError(f"{url} is not {self.scheme}, and nothing else is opened by script", _BROWSER)
        if url.userinfo or not url.host:
            raise CorpusError(f"{url.copy_with(userinfo=b'')} is no plain address of a document", _BROWSER)
        port = url.port or (443 if url.scheme == "https" else 80)
        try:
            found = list(dict.fromkeys(self.resolve(url.host, port)))
        except (OSError, UnicodeError) as error:  # the second for a name that is too long to be looked up
            why = error.strerror if isinstance(error, OSError) else "it is no name of a host"
            raise CorpusError(
                f"{url.host} cannot be found: {why}", "check the network, then the address"
            ) from error
        for address in found:
            if not self.may_reach(address, port):
                raise CorpusError(
                    f"{url} leads to {address}, port {port}, which is not the public web's: it is not opened",
                    "check the document's address in the manifest",
                )
        return found
