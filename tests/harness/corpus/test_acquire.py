"""Acquiring by script, from a site on this machine: what comes, what is refused, what goes on."""

import gzip
import ssl
import time
import tracemalloc
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from email.utils import format_datetime
from pathlib import Path

import httpx
import pytest

from harness.cli import run
from harness.corpus.acquire import Acquired, acquire_documents
from harness.corpus.addresses import Address, Rules
from harness.corpus.fetch import Fetcher, Part
from harness.corpus.folder import change_corpus
from harness.corpus.robots import read_robots
from harness.errors import CorpusError
from tests.harness.corpus.documents import GUIDELINE_HTML, LOGIN_HTML, guideline_pdf
from tests.harness.corpus.site import Reply, Site, serve

PDF, LATER = guideline_pdf(), guideline_pdf("7 Another edition")


@pytest.fixture(scope="module")
def shared_site() -> Iterator[Site]:
    with serve() as site:
        yield site


@pytest.fixture
def site(shared_site: Site) -> Site:
    shared_site.replies = {"/robots.txt": [Reply(status=404)]}
    shared_site.requests.clear()
    return shared_site


class Guest:
    """A fetcher that notes how long it would have waited."""

    def __init__(self, rules: Rules, trust: ssl.SSLContext | None = None) -> None:
        self.waits: list[float] = []
        self.fetcher = Fetcher(rules, wait=self.waits.append, trust=trust)


@pytest.fixture
def guest(site: Site) -> Iterator[Guest]:
    guest = Guest(site.rules())
    yield guest
    guest.fetcher.close()


def own_document(folder: Path, url: str, *, form: str = "pdf", access: str = "open") -> None:
    """A corpus whose manifest names a document of the user's own at an address."""
    with change_corpus(folder):
        pass
    manifest = folder / "manifest.toml"
    table = (
        f'\n[[document]]\nid = "own"\ntitle = "Own"\npublisher = "P"\nurl = "{url}"\naccess = "{access}"\n'
        f'licence = "L"\nformat = "{form}"\nlanguage = "en"\n'
    )
    manifest.write_text(manifest.read_text() + table)


def acquire(folder: Path, guest: Guest, *, again: bool = False) -> Acquired:
    with change_corpus(folder) as corpus:
        (done,) = acquire_documents(corpus, ["own"], guest.fetcher, again=again)
    return done


def original(folder: Path, form: str = "pdf") -> Path:
    return folder / "originals" / f"own.{form}"


def test_a_document_is_fetched_recorded_and_not_fetched_twice(
    tmp_path: Path, site: Site, guest: Guest
) -> None:
    site.replies["/a.pdf"] = [Reply(PDF)]
    own_document(tmp_path, site.url("/a.pdf"))
    assert acquire(tmp_path, guest).outcome == "acquired"
    assert original(tmp_path).read_bytes() == PDF
    with change_corpus(tmp_path) as corpus:
        record = corpus.lock.documents["own"].original
    assert (record.by, record.address, record.bytes) == ("script", site.url("/a.pdf"), len(PDF))
    assert acquire(tmp_path, guest).outcome == "here already"
    assert acquire(tmp_path, guest, again=True).outcome == "unchanged"
    assert [path for path, _ in site.requests] == ["/robots.txt", "/a.pdf", "/a.pdf"]
    assert "clinicare/" in site.requests[0][1]["user-agent"]
    assert sorted(file.name for file in (tmp_path / "originals").iterdir()) == ["own.pdf"]


def test_a_download_that_broke_off_goes_on_where_it_stopped(tmp_path: Path, site: Site, guest: Guest) -> None:
    etag = {"ETag": '"one"'}
    site.replies["/a.pdf"] = [Reply(PDF, headers=etag, cut=700), Reply(PDF, headers=etag, ranges=True)]
    own_document(tmp_path, site.url("/a.pdf"))
    assert acquire(tmp_path, guest).outcome == "acquired"
    first, second = site.asked("/a.pdf")
    assert "range" not in first
    assert (second["range"], second["if-range"]) == ("bytes=700-", '"one"')
    assert original(tmp_path).read_bytes() == PDF
    assert 5.0 in guest.waits


def test_a_part_is_kept_for_the_next_run_and_left_if_the_document_changed(
    tmp_path: Path, site: Site, guest: Guest
) -> None:
    site.replies["/a.pdf"] = [Reply(PDF, headers={"ETag": '"one"'}, cut=700)]
    own_document(tmp_path, site.url("/a.pdf"))
    told = acquire(tmp_path, guest).error
    assert told is not None
    assert "broke off after 700 bytes" in told.message
    assert (tmp_path / "originals" / "own.pdf.part").stat().st_size == 700
    site.replies["/a.pdf"] = [Reply(LATER, headers={"ETag": '"two"'}, ranges=True)]
    assert acquire(tmp_path, guest).outcome == "acquired"
    assert original(tmp_path).read_bytes() == LATER


def test_a_part_that_fits_no_more_is_fetched_anew(tmp_path: Path, site: Site, guest: Guest) -> None:
    etag = {"ETag": '"one"'}
    broken, elsewhere = Reply(PDF, headers=etag, cut=700), f"bytes 5-{len(PDF) - 1}/{len(PDF)}"
    other = Reply(PDF[5:], status=206, headers={**etag, "Content-Range": elsewhere})
    own_document(tmp_path, site.url("/a.pdf"))
    for unfit in (Reply(status=416), other):
        site.replies["/a.pdf"] = [broken, unfit, Reply(PDF, headers=etag)]
        assert acquire(tmp_path, guest, again=True).error is None
        assert ["range" in headers for headers in site.asked("/a.pdf")[-3:]] == [False, True, False]
        assert original(tmp_path).read_bytes() == PDF


@pytest.mark.parametrize(
    ("form", "reply", "what"),
    [
        ("pdf", Reply(LOGIN_HTML), "gave a web page (HTML) in place of a PDF"),
        ("pdf", Reply(b"\x00\x01"), "gave nothing that is a document in place of a PDF"),
        ("html", Reply(PDF), "gave a PDF in place of a web page"),
        ("html", Reply(LOGIN_HTML), "is not the document: it asks for a login"),
        ("pdf", Reply(PDF[:-100]), "breaks off"),
        ("pdf", Reply(b"", 403), "refuses a script (403)"),
        ("pdf", Reply(b"", 404), "is not there (404)"),
        ("pdf", Reply(b"", 503, {"Retry-After": "86400"}), "asks to be left alone for 86400 s"),
        ("pdf", Reply(b"", 302, {"Location": "/a"}), "more than 5 redirects"),
        ("pdf", Reply(b"", 302, {"Location": "https://127.0.0.1/x"}), "is not http"),
        ("pdf", Reply(b"", 302, {"Location": "http://127.0.0.2/x"}), "leads to 127.0.0.2, port 80"),
        ("pdf", Reply(b"", 302, {"Location": "http://10.0.0.8:9/x"}), "leads to 10.0.0.8, port 9"),
    ],
)
def test_what_is_no_document_or_must_not_be_opened_is_told(
    tmp_path: Path, site: Site, guest: Guest, form: str, reply: Reply, what: str
) -> None:
    site.replies["/a"] = [reply]
    own_document(tmp_path, site.url("/a"), form=form)
    told = acquire(tmp_path, guest).error
    assert told is not None
    assert what in told.message
    assert told.remedy
    assert not list((tmp_path / "originals").glob("own*"))


def test_a_redirect_is_followed_to_where_it_may_go(tmp_path: Path, site: Site, guest: Guest) -> None:
    site.replies["/a"] = [Reply(status=301, headers={"Location": site.url("/b?x=1", "guidelines.test")})]
    site.replies["/b?x=1"] = [Reply(GUIDELINE_HTML)]
    own_document(tmp_path, site.url("/a"), form="html")
    assert acquire(tmp_path, guest).outcome == "acquired"
    assert site.asked("/b?x=1")[0]["host"] == f"guidelines.test:{site.port}"
    assert len(site.asked("/robots.txt")) == 2


def test_a_changed_document_is_told_and_takes_no_place_until_a_person_says_so(
    tmp_path: Path, site: Site, guest: Guest
) -> None:
    site.replies["/a.pdf"] = [Reply(PDF), Reply(LATER)]
    own_document(tmp_path, site.url("/a.pdf"))
    acquire(tmp_path, guest)
    told = acquire(tmp_path, guest, again=True).error
    assert told is not None
    assert "has changed" in told.message
    aside = tmp_path / "originals" / "own.changed.pdf"
    assert (original(tmp_path).read_bytes(), aside.read_bytes()) == (PDF, LATER)
    assert run(["corpus", "add", str(aside), "--as", "own", "--replace", "--corpus", str(tmp_path)]) == 0
    assert original(tmp_path).read_bytes() == LATER
    assert not aside.exists()


def test_an_original_that_went_is_compared_with_its_checksum(
    tmp_path: Path, site: Site, guest: Guest
) -> None:
    site.replies["/a.pdf"] = [Reply(PDF), Reply(LATER), Reply(PDF)]
    own_document(tmp_path, site.url("/a.pdf"))
    acquire(tmp_path, guest)
    original(tmp_path).unlink()
    assert acquire(tmp_path, guest).outcome == "failed"
    assert acquire(tmp_path, guest).outcome == "unchanged"
    assert original(tmp_path).read_bytes() == PDF


def test_a_busy_server_is_asked_again_when_it_said(tmp_path: Path, site: Site, guest: Guest) -> None:
    soon = format_datetime(datetime.now(UTC) + timedelta(seconds=60), usegmt=True)
    site.replies["/a.pdf"] = [
        Reply(b"", 503, {"Retry-After": "7"}),
        Reply(b"", 429, {"Retry-After": soon}),
        Reply(PDF),
    ]
    own_document(tmp_path, site.url("/a.pdf"))
    assert acquire(tmp_path, guest).outcome == "acquired"
    assert 7.0 in guest.waits
    assert any(40 < wait <= 60 for wait in guest.waits)


def test_robots_are_honoured_and_requests_are_apart(tmp_path: Path, site: Site, guest: Guest) -> None:
    site.replies["/robots.txt"] = [Reply(b"User-agent: *\nCrawl-delay: 90\nDisallow: /*.pdf$\n")]
    site.replies["/a.pdf"] = site.replies["/a"] = [Reply(PDF)]
    own_document(tmp_path / "one", site.url("/a.pdf"))
    told = acquire(tmp_path / "one", guest).error
    assert told is not None
    assert "asks scripts not to fetch" in told.message
    assert not site.asked("/a.pdf")
    own_document(tmp_path / "two", site.url("/a"))
    assert acquire(tmp_path / "two", guest).outcome == "acquired"
    assert 60 < max(guest.waits) <= 90


def test_while_robots_cannot_be_read_nothing_is_fetched(tmp_path: Path, site: Site, guest: Guest) -> None:
    site.replies["/robots.txt"] = [Reply(status=500)]
    site.replies["/a.pdf"] = [Reply(PDF)]
    own_document(tmp_path, site.url("/a.pdf"))
    assert acquire(tmp_path, guest).outcome == "failed"
    assert not site.asked("/a.pdf")


def test_a_document_that_is_too_large_is_left(
    tmp_path: Path, site: Site, guest: Guest, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("harness.corpus.fetch.LARGEST", 500)
    site.replies["/a.pdf"] = [Reply(PDF)]
    part = Part(tmp_path / "part")
    with pytest.raises(CorpusError, match="is larger than 500 bytes"):
        guest.fetcher.fetch(site.url("/a.pdf"), part)
    assert not list(tmp_path.iterdir())


@pytest.mark.parametrize(
    "bad",
    [
        Reply(b"<html><body>" + b"<div>" * 900),
        Reply(b"", 302, {"Location": f"https://{'a' * 70}.test/"}),
        Reply(b"", 503, {"Retry-After": "Wed, 21 Oct 99999999999999999999 07:28:00 GMT"}),
        Reply(b"", 503, {"Retry-After": "9" * 400}),
    ],
    ids=["deep", "host", "date", "seconds"],
)
def test_a_bad_answer_is_its_documents_failure_and_the_others_go_on(
    tmp_path: Path, site: Site, guest: Guest, bad: Reply
) -> None:
    site.replies["/bad"], site.replies["/good"] = [bad], [Reply(GUIDELINE_HTML)]
    own_document(tmp_path, site.url("/bad"), form="html")
    manifest = tmp_path / "manifest.toml"
    own = manifest.read_text().rpartition("[[document]]")[2]
    manifest.write_text(
        f"{manifest.read_text()}\n[[document]]{own.replace('own', 'other').replace('/bad', '/good')}"
    )
    with change_corpus(tmp_path) as corpus:
        done = acquire_documents(corpus, ["own", "other"], guest.fetcher)
    assert [found.outcome for found in done] == ["failed", "acquired"]
    assert done[0].error is not None
    assert "\n" not in done[0].error.message


@pytest.mark.parametrize("encoding", ["gzip", "gzip, gzip", "GZIP", "br", "identity, gzip"])
@pytest.mark.parametrize("packed", ["/a.pdf", "/robots.txt"])
def test_what_comes_packed_is_not_unpacked(
    tmp_path: Path, site: Site, guest: Guest, packed: str, encoding: str
) -> None:
    bomb = gzip.compress(gzip.compress(bytes(20_000_000)))
    site.replies["/a.pdf"] = [Reply(PDF)]
    site.replies[packed] = [Reply(bomb, headers={"Content-Encoding": encoding, "ETag": '"one"'})]
    tracemalloc.start()
    with pytest.raises(CorpusError, match="came packed"):
        guest.fetcher.fetch(site.url("/a.pdf"), Part(tmp_path / "part"))
    assert tracemalloc.get_traced_memory()[1] < 10_000_000
    tracemalloc.stop()
    assert not list(tmp_path.iterdir())


@pytest.mark.parametrize(
    ("address", "what"),
    [
        ("http://93.184.215.14/a.pdf", "is not https"),
        ("ftp://93.184.215.14/a.pdf", "is not https"),
        ("https://93.184.215.14:8443/a.pdf", "port 8443"),
        ("https://someone:word@93.184.215.14/", "no plain address"),
        *(
            (f"https://{host}/a.pdf", "not the public web's")
            for host in (
                "127.0.0.1", "10.1.2.3", "172.16.0.1", "192.168.1.1", "169.254.169.254", "100.64.0.1", "0.0.0.0",
                "224.0.0.1", "[::1]", "[::]", "[fd00::1]", "[fe80::1]", "[::ffff:10.0.0.1]", "[64:ff9b::a00:1]",
                "[2002:a00:1::]", "2130706433", "192.88.99.1", "[2002:c058:6301::]", "[fec0::1]", "[feff::1]",
                "[3fff::1]", "[3fff:fff::1]",
            )
        ),
    ],
)  # fmt: skip
def test_only_https_to_public_addresses_is_opened(address: str, what: str) -> None:
    with pytest.raises(CorpusError, match=what) as told:
        Rules().require(httpx.URL(address))
    assert "word" not in told.value.message


def test_a_host_that_cannot_be_found_is_told() -> None:
    def nowhere(_host: str, _port: int) -> list[Address]:
        raise OSError(-2, "Name or service not known")

    with pytest.raises(CorpusError, match="cannot be found: it is no name of a host"):
        Rules().require(httpx.URL(f"https://{'a' * 70}.test/a.pdf"))
    with pytest.raises(CorpusError, match=r"guidelines\.test cannot be found: Name or service not known"):
        Rules(resolve=nowhere).require(httpx.URL("https://guidelines.test/a.pdf"))


def test_a_public_address_is_opened() -> None:
    assert [str(each) for each in Rules().require(httpx.URL("https://93.184.215.14/a.pdf"))] == [
        "93.184.215.14"
    ]


def test_the_certificate_must_be_the_hosts_own_though_the_address_was_chosen(tmp_path: Path) -> None:
    context, trust = certified(tmp_path, "guidelines.test")
    with serve(context) as site:
        site.replies["/a.pdf"] = [Reply(PDF)]
        guest = Guest(site.rules("https"), trust)
        part = Part(tmp_path / "part")
        good = f"https://guidelines.test:{site.port}/a.pdf"
        assert guest.fetcher.fetch(good, part) == good
        assert part.file.read_bytes() == PDF
        with pytest.raises(CorpusError, match="certificate"):
            guest.fetcher.fetch(f"https://other.test:{site.port}/a.pdf", part)
        guest.fetcher.close()


def certified(folder: Path, name: str) -> tuple[ssl.SSLContext, ssl.SSLContext]:
    """Contexts of a server that has a certificate of that name, and of a client that trusts it."""
    from cryptography import x509
    from cryptography.hazmat.primitives import hashes, serialization
    from cryptography.hazmat.primitives.asymmetric import ec

    key = ec.generate_private_key(ec.SECP256R1())
    subject = x509.Name([x509.NameAttribute(x509.NameOID.COMMON_NAME, name)])
    now = datetime.now(UTC)
    certificate = (
        x509.CertificateBuilder(subject, subject, key.public_key(), x509.random_serial_number())
        .not_valid_before(now - timedelta(days=1))
        .not_valid_after(now + timedelta(days=1))
        .add_extension(x509.SubjectAlternativeName([x509.DNSName(name)]), critical=False)
        .sign(key, hashes.SHA256())
    )
    pem = folder / "server.pem"
    private = key.private_bytes(
        serialization.Encoding.PEM, serialization.PrivateFormat.PKCS8, serialization.NoEncryption()
    )
    pem.write_bytes(private + certificate.public_bytes(serialization.Encoding.PEM))
    server = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    server.load_cert_chain(pem)
    return server, ssl.create_default_context(
        cadata=certificate.public_bytes(serialization.Encoding.PEM).decode()
    )


@pytest.mark.parametrize(
    ("robots", "path", "allowed"),
    [
        ("", "/a", True),
        ("User-agent: *\nDisallow: /", "/a", False),
        ("User-agent: *\nDisallow:", "/a", True),
        ("User-agent: *\nDisallow: /a\nAllow: /a/b", "/a/b/c", True),
        ("User-agent: *\nDisallow: /a\nAllow: /a", "/a", True),
        ("User-agent: *\nDisallow: /*.pdf$", "/x/y.pdf", False),
        ("User-agent: *\nDisallow: /*.pdf$", "/x/y.pdf?z", True),
        ("User-agent: *\nDisallow: /*.pdf$", "/x.pdf/y.pdf", False),
        ("User-agent: *\nDisallow: /a$", "/a", False),
        ("User-agent: *\nDisallow: /a$", "/ab", True),
        ("User-agent: *\nDisallow: /a*b**c", "/a-b-b-c-d", False),
        ("User-agent: *\nDisallow: /a*b*c", "/a-c-b", True),
        ("User-agent: *\nDisallow: /a*$", "/a-b", False),
        ("User-agent: *\nDisallow: /ab*b$", "/ab", True),
        ("User-agent: *\nDisallow: *b", "/ab", False),
        ("User-agent: *\nDisallow: /\n\nUser-agent: Clinicare/2\nAllow: /", "/a", True),
        (
            "User-agent: other\nUser-agent: clinicare\nDisallow: /x # why\n\nUser-agent: *\nDisallow: /",
            "/x1",
            False,
        ),
        ("User-agent: other\nDisallow: /", "/a", True),
        ("Disallow: /", "/a", True),
    ],
)
def test_the_longest_rule_for_this_script_decides(robots: str, path: str, allowed: bool) -> None:
    assert read_robots(robots, "clinicare").allows(path) is allowed


def test_a_rule_of_many_stars_is_judged_at_once() -> None:
    robots = read_robots(f"User-agent: *\nDisallow: {'*a' * 12}*b\n", "clinicare")
    started = time.process_time()
    assert robots.allows("/" + "a" * 60)
    assert time.process_time() - started < 1


def test_the_command_tells_what_a_person_has_to_download(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    own_document(tmp_path, "http://93.184.215.14/a.pdf")
    names = ["ckd-epi-2021", "hyperkalaemia-severe", "own"]
    assert run(["corpus", "acquire", *names, "--corpus", str(tmp_path)]) == 1
    told = capsys.readouterr()
    assert [line.split("\t")[:2] for line in told.out.splitlines()] == [[name, "failed"] for name in names]
    assert "download it at https://doi.org/10.1056/NEJMoa2102953" in told.err
    assert "harness corpus add FILE --as ckd-epi-2021" in told.err
    assert "it comes with the harness" in told.err
    assert "is not https" in told.err
    assert "citable" not in told.err
    assert run(["corpus", "acquire", "unheard-of", "--corpus", str(tmp_path)]) == 2
