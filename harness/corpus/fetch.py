"""Fetching one document at a time, as a polite guest: rarely, as robots.txt allows, and no further than asked.

A download that broke off goes on where it stopped, if the server says that the document is still the same.
"""

import json
import ssl
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import UTC, datetime
from email.utils import parsedate_to_datetime
from importlib.metadata import version
from pathlib import Path

import httpx

from harness.corpus.addresses import Rules
from harness.corpus.folder import LARGEST
from harness.corpus.lock import write_whole
from harness.corpus.robots import Robots, read_robots
from harness.errors import CorpusError

AGENT = "clinicare"
_TRIES, _REDIRECTS = 4, 5
_PAUSE, _BACKOFF, _LONGEST_WAIT, _LONGEST_DOWNLOAD = 2.0, 5.0, 120.0, 1800.0
_ROBOTS_BYTES = 500_000
_TRY_LATER = frozenset({408, 425, 429, 500, 502, 503, 504})
_BROWSER = "open it in a browser, download the document there, and add it: harness corpus add FILE --as ID"


class _AgainError(Exception):
    """The request may succeed if it is made again, after so many seconds if the server said so."""

    def __init__(self, what: str, seconds: float | None = None) -> None:
        super().__init__(what)
        self.seconds = seconds


@dataclass(frozen=True)
class Part:
    """A download that may be unfinished: the file, and beside it what tells whether it can go on."""

    file: Path

    @property
    def _memory(self) -> Path:
        return self.file.with_name(f"{self.file.name}.json")

    def resume(self, url: str) -> tuple[int, str | None]:
        """How many bytes are here of that address, and the validator to go on with; 0 if it cannot go on."""
        try:
            told = json.loads(self._memory.read_bytes())
            if told["url"] == url and isinstance(told["validator"], str):
                return self.file.stat().st_size, told["validator"]
        except (OSError, ValueError, KeyError, TypeError):
            pass
        return 0, None

    def begin(self, url: str, validator: str | None) -> None:
        """Start anew."""
        self.drop()
        self.file.parent.mkdir(parents=True, exist_ok=True)
        self.file.touch()
        write_whole(self._memory, json.dumps({"url": url, "validator": validator}).encode())

    def drop(self) -> None:
        """Leave nothing of it."""
        self.file.unlink(missing_ok=True)
        self._memory.unlink(missing_ok=True)


class Fetcher:
    """Fetches documents one after another."""

    def __init__(
        self,
        rules: Rules | None = None,
        *,
        wait: Callable[[float], None] = time.sleep,
        tell: Callable[[str], None] = lambda _text: None,
        trust: ssl.SSLContext | None = None,
    ) -> None:
        """`wait` is told the seconds to wait, `tell` what is going on; `trust` is for a CA of one's own."""
        self._rules = rules or Rules()
        self._wait = wait
        self._tell = tell
        self._robots: dict[tuple[str, str], Robots] = {}
        self._last: dict[str, float] = {}
        self._client = httpx.Client(
            verify=trust or True,
            trust_env=False,  # a proxy would resolve names anew, past the judgement of addresses
            follow_redirects=False,
            timeout=httpx.Timeout(60, connect=20),
            headers={
                "User-Agent": f"{AGENT}/{version('clinicare')} (benchmark of clinical agents; one copy for one reader)",
                "Accept": "application/pdf, text/html;q=0.9, */*;q=0.5",
                "Accept-Encoding": "identity",
            },
        )

    def close(self) -> None:
        """Let connections go."""
        self._client.close()

    def fetch(self, url: str, part: Part) -> str:
        """Bring the document into the part's file; returns its address after redirects.

        CorpusError for what cannot be mended by trying again, with what is here kept for the next time.
        """
        for tried in range(1, _TRIES + 1):
            try:
                return self._once(url, part)
            except _AgainError as again:
                seconds = _BACKOFF * 2 ** (tried - 1) if again.seconds is None else again.seconds
                if seconds > _LONGEST_WAIT:
                    raise CorpusError(
                        f"{url}: {again}, and asks to be left alone for {seconds:.0f} s",
                        "run the same command again then",
                    ) from again
                if tried == _TRIES:
                    raise CorpusError(
                        f"{url}: {again}, {_TRIES} times",
                        "run the same command again later: it goes on where it stopped",
                    ) from again
                self._tell(f"{url}: {again}; again in {seconds:.0f} s")
                self._wait(seconds)
        raise AssertionError("the last try returns or raises")

    def _once(self, url: str, part: Part) -> str:
        here, validator = part.resume(url)
        going_on = {} if validator is None or not here else {"Range": f"bytes={here}-", "If-Range": validator}
        with self._open(_address(url), going_on) as (response, address):
            if response.status_code in (200, 206):
                _require_plain(response, address)
            if response.status_code == 416:
                part.drop()
                raise _AgainError("the part that is here does not fit any more", 0)
            if response.status_code == 206 and going_on:
                if not response.headers.get("content-range", "").startswith(f"bytes {here}-"):
                    part.drop()
                    raise _AgainError("the server sent another part than was asked for", 0)
            elif response.status_code == 200:
                part.begin(url, _validator(response.headers))
            else:
                raise _refusal(address, response)
            self._receive(response, part, address)
        return str(address)

    def _receive(self, response: httpx.Response, part: Part, address: httpx.URL) -> None:
        started = time.monotonic()
        with part.file.open("ab") as file:
            try:
                for piece in response.iter_raw():
                    file.write(piece)
                    if file.tell() > LARGEST or time.monotonic() - started > _LONGEST_DOWNLOAD:
                        break
                else:
                    return
            except httpx.RequestError as error:
                file.flush()
                raise _AgainError(
                    f"the download broke off after {file.tell():,} bytes ({_cause(error)})"
                ) from error
        part.drop()
        raise CorpusError(
            f"{address} is larger than {LARGEST:,} bytes, or takes longer than {_LONGEST_DOWNLOAD / 60:.0f} minutes",
            _BROWSER,
        )

    @contextmanager
    def _open(
        self, url: httpx.URL, headers: Mapping[str, str], *, robots: bool = True
    ) -> Iterator[tuple[httpx.Response, httpx.URL]]:
        """The response at the end of the redirects, each of which is judged as the first address was."""
        for _ in range(_REDIRECTS + 1):
            addresses = self._rules.require(url)
            if robots:
                self._require_robots(url)
            self._take_turn(url)
            request = self._request(url, str(addresses[0]), headers)
            try:
                response = self._client.send(request, stream=True)
            except httpx.RequestError as error:
                raise _AgainError(f"{url.host} cannot be reached ({_cause(error)})") from error
            try:
                if not response.has_redirect_location:
                    if response.status_code in _TRY_LATER:
                        seconds = _retry_after(response.headers.get("retry-after"))
                        raise _AgainError(f"{url.host} answers {response.status_code}", seconds)
                    yield response, url
                    return
                url = _next(url, response.headers["location"])
            finally:
                response.close()
        raise CorpusError(f"{url}: more than {_REDIRECTS} redirects", _BROWSER)

    def _request(self, url: httpx.URL, address: str, headers: Mapping[str, str]) -> httpx.Request:
        """A request to the address that was judged; name and certificate are the host's all the same."""
        return self._client.build_request(
            "GET",
            url.copy_with(host=address, fragment=None),
            headers={**headers, "Host": url.netloc.decode("ascii")},
            extensions={"sni_hostname": url.host},
        )

    def _take_turn(self, url: httpx.URL) -> None:
        """Leave a pause between two requests to one host."""
        delay = self._robots.get((url.scheme, url.netloc.decode("ascii")), Robots()).delay
        pause = max(_PAUSE, min(delay, _LONGEST_WAIT))
        left = self._last.get(url.host, -pause) + pause - time.monotonic()
        if url.host in self._last and left > 0:
            self._wait(left)
        self._last[url.host] = time.monotonic()

    def _require_robots(self, url: httpx.URL) -> None:
        site = (url.scheme, url.netloc.decode("ascii"))
        if site not in self._robots:
            self._robots[site] = self._read_robots(url)
        if not self._robots[site].allows(url.raw_path.decode("ascii")):
            raise CorpusError(f"{url.host} asks scripts not to fetch {url} (robots.txt)", _BROWSER)

    def _read_robots(self, url: httpx.URL) -> Robots:
        """The rules of a site: none if it has no robots.txt; while it cannot be read, nothing is fetched."""
        with self._open(url.copy_with(raw_path=b"/robots.txt", fragment=None), {}, robots=False) as (
            response,
            address,
        ):
            if response.status_code != 200:
                return Robots()
            _require_plain(response, address)
            data = b""
            try:
                for piece in response.iter_raw():
                    data += piece
                    if len(data) > _ROBOTS_BYTES:
                        break
            except httpx.RequestError as error:
                raise _AgainError(f"the robots.txt of {url.host} broke off") from error
        return read_robots(data.decode(errors="replace"), AGENT)


def _address(url: str) -> httpx.URL:
    try:
        return httpx.URL(url)
    except httpx.InvalidURL as error:
        raise CorpusError(
            f"{url!r} is no address: {error}", "mend the document's url in the manifest"
        ) from error


def _next(url: httpx.URL, location: str) -> httpx.URL:
    try:
        return url.join(location)
    except httpx.InvalidURL as error:
        raise CorpusError(f"{url} redirects to {location[:200]!r}, which is no address", _BROWSER) from error


def _require_plain(response: httpx.Response, address: httpx.URL) -> None:
    """CorpusError if the body is packed: it was asked for plain, and a small one can unpack to any size."""
    packed = str(response.headers.get("content-encoding", "identity")).strip()
    if packed.lower() != "identity":
        raise CorpusError(
            f"{address} came packed ({packed[:40]!r}), which was not asked for: it is not unpacked", _BROWSER
        )


def _refusal(address: httpx.URL, response: httpx.Response) -> CorpusError:
    status = response.status_code
    if status in (401, 402, 403, 451):
        return CorpusError(f"{address.host} refuses a script ({status}): {address}", _BROWSER)
    if status in (404, 410):
        return CorpusError(
            f"{address} is not there ({status})",
            f"look for the document at {address.host}, and add what you download",
        )
    return CorpusError(f"{address} answers {status}", _BROWSER)


def _validator(headers: httpx.Headers) -> str | None:
    """What tells two editions apart byte by byte: a strong ETag, else the date of the last change."""
    etag = headers.get("etag", "")
    return str(etag) if etag.startswith('"') else headers.get("last-modified") or None


def _retry_after(value: str | None) -> float | None:
    """Seconds, which the header gives as such or as a date."""
    if value is None:
        return None
    if value.strip().isdecimal():
        return float(value)
    try:
        moment = parsedate_to_datetime(value)
        aware = moment if moment.tzinfo is not None else moment.replace(tzinfo=UTC)
        return max(0.0, (aware - datetime.now(UTC)).total_seconds())
    except (ValueError, OverflowError):
        return None


def _cause(error: httpx.RequestError) -> str:
    return str(error) or type(error).__name__
