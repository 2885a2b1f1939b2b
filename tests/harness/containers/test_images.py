"""The images: what goes into them, when they are built again, and what the built ones hold."""

import ast
import io
import json
import os
import subprocess
import sys
import tarfile
import tomllib
from dataclasses import replace
from importlib.metadata import packages_distributions, version
from pathlib import Path
from typing import Any

import pytest
from packaging.requirements import Requirement
from packaging.utils import canonicalize_name

from harness.cli import run
from harness.containers.context import (
    HARNESS_ONLY,
    Context,
    applies,
    image_context,
    linux_environment,
    server_requirements,
)
from harness.containers.engine import docker, endpoint, engine_error
from harness.containers.images import (
    IMAGES,
    Built,
    build_images,
    image_tag,
    inspect_images,
    require_images,
)
from harness.errors import EngineError, HarnessError, RunError
from tests.harness.containers.fake_docker import BASES, FakeDocker

ROOT = Path(__file__).parents[3]
PYTHON = "python:3.12-slim-bookworm"
MIRROR = "mirror.example/python:3.12"


def _silent(line: str) -> None:
    """Tell nobody."""


# what is built from


@pytest.mark.parametrize("name", IMAGES)
def test_the_same_code_gives_the_same_context_to_the_byte(name: str) -> None:
    first, second = image_context(name, {}), image_context(name, {})
    assert first.archive() == second.archive()
    assert first.digest() == second.digest()


def test_files_in_a_context_are_readable_whatever_the_hosts_umask_and_carry_no_trace_of_the_host() -> None:
    with tarfile.open(fileobj=io.BytesIO(image_context("mimic", {}).archive())) as archive:
        entries = archive.getmembers()
    assert {(entry.mode, entry.mtime, entry.uid, entry.uname) for entry in entries} == {(0o644, 0, 0, "")}


def test_the_digest_changes_with_a_byte_a_path_and_an_argument() -> None:
    context = Context({"Dockerfile": b"FROM a", "b": b"c"}, {"D": "e"})
    changed = (
        replace(context, files={"Dockerfile": b"FROM a", "b": b"d"}),
        replace(context, files={"Dockerfile": b"FROM a", "c": b"c"}),
        replace(context, files={"Dockerfile": b"FROM a", "b": b"c", "D": b"e"}, arguments={}),
        replace(context, arguments={"D": "f"}),
        replace(context, arguments={}),
    )
    assert len({each.digest() for each in (context, *changed)}) == len(changed) + 1


def test_an_argument_reaches_only_the_images_whose_dockerfile_declares_it() -> None:
    given = {"DEBIAN_BASE": "mirror.example/debian"}
    assert image_context("agent", given).arguments["DEBIAN_BASE"] == "mirror.example/debian"
    assert image_context("verifier", given) == image_context("verifier", {})


def test_all_dockerfiles_name_the_same_default_bases() -> None:
    defaults = [set(image_context(name, {}).arguments.items()) for name in IMAGES]
    bases = {pair for each in defaults for pair in each if pair[0].endswith("_BASE")}
    assert bases == {("PYTHON_BASE", PYTHON), ("DEBIAN_BASE", "debian:bookworm-slim")}


def test_the_chart_servers_context_holds_its_modules_and_nothing_of_harness_or_judges() -> None:
    files = set(image_context("mimic", {}).files)
    own = {f"python/{path.relative_to(ROOT).as_posix()}" for path in (ROOT / "mcp_mimic").rglob("*.py")}
    metadata = f"python/clinicare-{version('clinicare')}.dist-info/METADATA"
    assert files == own | {"Dockerfile", "requirements.txt", metadata}


def test_the_packages_of_the_images_hold_python_files_only_so_that_no_data_goes_unnoticed() -> None:
    tracked = subprocess.run(
        ["git", "ls-files", "mcp_mimic", "harness/scoring"], cwd=ROOT, capture_output=True, text=True
    ).stdout.split()
    assert {Path(name).suffix for name in tracked if Path(name).name != "py.typed"} <= {".py"}


def test_the_verifiers_context_holds_the_scorer_and_the_contract_only() -> None:
    files = {name.removeprefix("python/") for name in image_context("verifier", {}).files}
    others = {name for name in files if not name.startswith("harness/scoring/")}
    assert others == {"Dockerfile", "harness/__init__.py", "mcp_mimic/__init__.py", "mcp_mimic/contract.py"}


def test_the_agents_context_is_its_dockerfile() -> None:
    assert set(image_context("agent", {}).files) == {"Dockerfile"}


# requirements


def _imports(package: str) -> set[str]:
    """Top-level names that a package's modules import, wherever in them, without the standard library's."""
    names: set[str] = set()
    for path in (ROOT / package).rglob("*.py"):
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            if isinstance(node, ast.Import):
                names |= {alias.name.split(".")[0] for alias in node.names}
            elif isinstance(node, ast.ImportFrom) and node.module and not node.level:
                names.add(node.module.split(".")[0])
    return names - set(sys.stdlib_module_names) - {"mcp_mimic", "harness", "judges"}


def _distributions(modules: set[str]) -> set[str]:
    provided = packages_distributions()
    return {canonicalize_name(name) for module in modules for name in provided[module]}


def test_every_import_of_the_chart_server_is_among_its_requirements() -> None:
    pinned = {line.split("==")[0] for line in server_requirements()}
    assert _distributions(_imports("mcp_mimic")) - pinned == set()


def test_what_only_the_harness_imports_is_kept_out_of_the_chart_server() -> None:
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    direct = {canonicalize_name(Requirement(text).name) for text in project["dependencies"]}
    others = _distributions(_imports("harness") | _imports("judges")) - _distributions(_imports("mcp_mimic"))
    assert direct & others == HARNESS_ONLY


def test_the_server_needs_neither_harbor_nor_what_only_harbor_needs() -> None:
    pinned = {line.split("==")[0] for line in server_requirements()}
    assert pinned & {"harbor", "litellm", "supabase", "aiohttp"} == set()


def test_requirements_are_exact_versions_as_installed_here() -> None:
    for line in server_requirements():
        name, pinned = line.split("==")
        assert pinned == version(name)


@pytest.mark.parametrize(
    ("marker", "applied"),
    [
        ("sys_platform == 'linux'", True),
        ("sys_platform == 'win32' or sys_platform == 'darwin'", False),
        ("platform_system == 'Darwin'", False),
        ("os_name == 'nt'", False),
        ("python_version >= '3.12'", True),
        ("extra == 'server'", True),
        ("extra == 'other'", False),
    ],
)
def test_markers_are_read_for_linux_and_for_the_extras_asked_for(marker: str, applied: bool) -> None:
    requirement = Requirement(f"something; {marker}")
    assert applies(requirement, frozenset({"server"}), linux_environment()) is applied


def test_markers_are_read_for_linux_on_a_mac_too(monkeypatch: pytest.MonkeyPatch) -> None:
    for name, value in {"system": "Darwin", "machine": "arm64", "release": "25.1"}.items():
        monkeypatch.setattr(f"platform.{name}", lambda value=value: value)
    monkeypatch.setattr("sys.platform", "darwin")
    environment = linux_environment()
    assert environment["sys_platform"] == "linux"
    assert environment["platform_system"] == "Linux"
    assert environment["platform_machine"] == "aarch64"


# building, keeping, requiring


@pytest.fixture
def fake(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> FakeDocker:
    monkeypatch.setenv("PATH", f"{tmp_path}:{os.environ['PATH']}")
    return FakeDocker(tmp_path, pullable=(MIRROR,))


def _age(fake: FakeDocker, name: str) -> None:
    """Let the image be one that was built from other code."""
    labels = fake.labels(image_tag(name)) | {"clinicare.source": "sha256:of-other-code"}
    fake.change(image_tag(name), {"Config": {"Labels": labels}})


def test_an_image_of_exactly_this_content_is_kept(fake: FakeDocker) -> None:
    first = build_images(_silent)
    second = build_images(_silent)
    assert [image.kept for image in first] == [False] * 3
    assert [image.kept for image in second] == [True] * 3
    assert [image.id for image in first] == [image.id for image in second]
    assert len(fake.calls("build")) == 3


def test_only_the_image_whose_code_has_changed_is_built_again(fake: FakeDocker) -> None:
    build_images(_silent)
    _age(fake, "mimic")
    assert {image.name: image.kept for image in build_images(_silent)} == {
        "agent": True,
        "mimic": False,
        "verifier": True,
    }


def test_a_base_that_has_moved_under_its_tag_builds_again_what_stands_on_it(fake: FakeDocker) -> None:
    build_images(_silent)
    fake.change("debian:bookworm-slim", {"Id": "sha256:of-today"})
    built = {image.name: image for image in build_images(_silent)}
    assert [name for name, image in built.items() if not image.kept] == ["agent"]
    assert fake.labels(image_tag("agent"))["clinicare.debian-base.id"] == "sha256:of-today"


def test_images_are_kept_where_their_bases_are_not_and_nothing_is_pulled(fake: FakeDocker) -> None:
    build_images(_silent)
    for base in BASES:
        fake.remove(base)
    assert all(image.kept for image in build_images(_silent))
    assert fake.calls("pull") == []


def test_labels_say_source_version_and_bases(fake: FakeDocker) -> None:
    build_images(_silent, python_base=MIRROR)
    assert fake.labels(image_tag("verifier")) == {
        "clinicare.source": image_context("verifier", {"PYTHON_BASE": MIRROR}).digest(),
        "org.opencontainers.image.version": version("clinicare"),
        "clinicare.python-base": MIRROR,
        "clinicare.python-base.id": fake.image(MIRROR)["Id"],
    }


def test_a_base_that_is_not_there_is_pulled_once(fake: FakeDocker) -> None:
    told: list[str] = []
    build_images(told.append, python_base=MIRROR)
    assert fake.calls("pull") == [f"pull --quiet {MIRROR}"]
    assert told.count(f"pulling {MIRROR}") == 1


def test_a_base_that_cannot_be_pulled_names_the_option_that_gives_another(fake: FakeDocker) -> None:
    with pytest.raises(EngineError, match=r"no/such cannot be pulled: .*manifest unknown") as raised:
        build_images(_silent, debian_base="no/such")
    assert raised.value.remedy == "name another with --debian-base"


def test_the_state_of_images_is_told_on_the_bases_they_were_built_on(fake: FakeDocker) -> None:
    assert {state.present for state in inspect_images().values()} == {False}
    build_images(_silent, python_base=MIRROR)
    _age(fake, "verifier")
    states = inspect_images()
    assert {name: (state.present, state.current) for name, state in states.items()} == {
        "agent": (True, True),
        "mimic": (True, True),
        "verifier": (True, False),
    }
    assert states["mimic"].id == fake.image(image_tag("mimic"))["Id"]
    assert states["mimic"].size == 1000


def test_required_images_are_told_by_tag_and_id(fake: FakeDocker) -> None:
    built = build_images(_silent)
    assert require_images() == {image.tag: image.id for image in built}


@pytest.mark.parametrize(
    ("base", "command"),
    [(None, "harness images"), (MIRROR, f"harness images --python-base {MIRROR}")],
)
def test_a_missing_and_a_stale_image_are_one_line_with_the_command_that_mends_it(
    fake: FakeDocker, base: str | None, command: str
) -> None:
    with pytest.raises(EngineError, match=rf"image {image_tag('agent')} is not there") as raised:
        require_images()
    assert raised.value.remedy == "build it with `harness images`"
    build_images(_silent, python_base=base)
    _age(fake, "mimic")
    with pytest.raises(EngineError, match=rf"image {image_tag('mimic')} was built from other code") as raised:
        require_images()
    assert raised.value.remedy == f"build it with `{command}`"


def test_an_image_of_that_tag_without_labels_is_stale(fake: FakeDocker) -> None:
    build_images(_silent)
    fake.change(image_tag("mimic"), {"Config": {"Labels": None}})
    assert not inspect_images()["mimic"].current


def test_a_build_that_fails_tells_its_last_lines_and_where_the_whole_output_is(fake: FakeDocker) -> None:
    fake.fail_builds("".join(f"line {number}\n" for number in range(40)) + "ERROR: no space left on device\n")
    told: list[str] = []
    with pytest.raises(RunError, match=r"agent.* could not be built: .*no space left on device") as raised:
        build_images(told.append)
    assert "  line 39" in told
    assert "  line 20" not in told
    log = Path(raised.value.remedy.removeprefix("read "))
    assert "line 0\n" in log.read_text()
    log.unlink()


def test_a_build_that_leaves_its_image_elsewhere_is_told(
    fake: FakeDocker, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    elsewhere = tmp_path / "elsewhere"
    elsewhere.mkdir()
    command = elsewhere / "docker"
    command.write_text(f'#!/bin/sh\n[ "$1" = build ] && exec cat >/dev/null\nexec {tmp_path}/docker "$@"\n')
    command.chmod(0o755)
    monkeypatch.setenv("PATH", f"{elsewhere}:{os.environ['PATH']}")
    with pytest.raises(EngineError, match="the engine does not have it"):
        build_images(_silent)


def test_the_command_prints_a_line_an_image_and_json(
    fake: FakeDocker, capsys: pytest.CaptureFixture[str]
) -> None:
    assert run(["images"]) == 0
    lines = capsys.readouterr().out.splitlines()
    assert [line.split()[0] for line in lines] == [image_tag(name) for name in IMAGES]
    assert all("built in" in line for line in lines)
    assert run(["images", "--json"]) == 0
    printed = json.loads(capsys.readouterr().out)
    assert [(image["name"], image["kept"]) for image in printed] == [(name, True) for name in IMAGES]


# the engine's errors


def _complaint(output: str) -> HarnessError:
    return engine_error("info", output)


@pytest.mark.parametrize(
    "output",
    [
        "Cannot connect to the Docker daemon at unix:///var/run/docker.sock. Is the docker daemon running?",
        'error during connect: Get "http://docker.example.com/v1.50/info": command [ssh …] has exited',
    ],
)
def test_an_engine_that_is_not_reached_is_told_with_how_to_start_it(
    output: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("DOCKER_HOST", "ssh://me:secret@docker.example.com")
    error = _complaint(output)
    assert error.message == "no Docker engine answers at ssh://docker.example.com (DOCKER_HOST)"
    assert "systemctl start docker" in error.remedy


def test_a_socket_that_this_user_may_not_open_is_told_with_the_group() -> None:
    error = _complaint(
        "permission denied while trying to connect to the Docker daemon socket at unix:///var/run/docker.sock: "
        "dial unix /var/run/docker.sock: connect: permission denied"
    )
    assert error.message.startswith("this user may not use the Docker engine at ")
    assert "usermod -aG docker" in error.remedy


@pytest.mark.parametrize(
    ("script", "said"),
    [
        ("echo 'unix:///run/theirs.sock (context theirs)'", "unix:///run/theirs.sock (context theirs)"),
        ("exit 1", "the address of context default"),
    ],
)
def test_without_a_docker_host_the_engine_is_that_of_a_context(
    script: str, said: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "docker").write_text(f"#!/bin/sh\n{script}\n")
    (tmp_path / "docker").chmod(0o755)
    monkeypatch.setenv("PATH", str(tmp_path))
    monkeypatch.delenv("DOCKER_HOST", raising=False)
    monkeypatch.delenv("DOCKER_CONTEXT", raising=False)
    assert endpoint() == said


def test_another_failure_is_told_by_its_last_line() -> None:
    error = _complaint("first\nError response from daemon: out of luck\n\n")
    assert error.message == "docker info failed: Error response from daemon: out of luck"


def test_without_docker_on_the_path_the_command_says_so_and_ends_with_2(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("PATH", str(tmp_path))
    assert run(["images"]) == 2
    assert capsys.readouterr().err.startswith("error: there is no docker command on the PATH\nhint: install")


def test_an_engine_that_hangs_is_given_up(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "docker").write_text("#!/bin/sh\nexec sleep 60\n")
    (tmp_path / "docker").chmod(0o755)
    monkeypatch.setenv("PATH", f"{tmp_path}:{os.environ['PATH']}")
    with pytest.raises(EngineError, match=r"docker info did not end within 0\.2 s"):
        docker("info", timeout=0.2)


# the real ones


@pytest.fixture(scope="module")
def built() -> dict[str, Built]:
    """The images, built on the engine unless they are there; they stay."""
    return {image.name: image for image in build_images(_silent)}


def _inside(image: Built, script: str, *options: str) -> str:
    """What a shell prints in a container of the image that has no network."""
    command = ("run", "--rm", "--network", "none", *options, "--entrypoint", "sh", image.id, "-c", script)
    return docker(*command, timeout=120)


def _config(image: Built) -> dict[str, Any]:
    [found] = json.loads(docker("image", "inspect", image.id))
    return dict(found["Config"])


@pytest.mark.docker
class TestBuilt:
    """Claims on the images as the engine has them."""

    def test_built_twice_they_are_kept(self, built: dict[str, Built]) -> None:
        again = build_images(_silent)
        assert {image.id for image in again if image.kept} == {image.id for image in built.values()}
        assert require_images() == {image.tag: image.id for image in again}

    @pytest.mark.parametrize("name", IMAGES)
    def test_none_runs_as_root_and_all_stop_at_once(self, built: dict[str, Built], name: str) -> None:
        config = _config(built[name])
        assert config["StopSignal"] == "SIGKILL"
        assert config["User"] == name
        assert _inside(built[name], "id -u; id -g; id -G").split() == ["1000"] * 3

    @pytest.mark.parametrize("name", IMAGES)
    def test_none_holds_gold_scenarios_stores_caches_or_programs_that_raise_rights(
        self, built: dict[str, Built], name: str
    ) -> None:
        names = ("gold*.json", "scenario.toml", "adjudicate.sql", "plants.toml", "rubrics.toml", "*.duckdb")
        wanted = " -o ".join(f"-name '{each}'" for each in names)
        caches = "-path '/root/.cache/*' -o -path '/root/.npm/*' -o -path '/var/lib/apt/lists/*_*' -o -path '/tmp/*'"
        script = rf"find / -xdev -type f \( {wanted} -o {caches} -o -perm /6000 \)"
        assert _inside(built[name], script, "--user", "0") == ""

    @pytest.mark.parametrize("name", IMAGES)
    def test_none_carries_a_secret_of_the_machine_that_built_it(
        self, built: dict[str, Built], name: str
    ) -> None:
        config = _config(built[name])
        text = docker("history", "--no-trunc", built[name].id) + json.dumps(config)
        for word in ("API_KEY", "TOKEN", "PASSWORD", str(Path.home() / ".docker")):
            assert word not in text

    def test_the_chart_servers_python_has_what_its_requirements_say_and_neither_harbor_nor_harness(
        self, built: dict[str, Built]
    ) -> None:
        script = "python -m pip list --format freeze --exclude pip --exclude setuptools --exclude wheel"
        listed = {
            "==".join((canonicalize_name(line.split("==")[0]), line.split("==")[1]))
            for line in _inside(built["mimic"], script).split()
        }
        assert listed - {f"clinicare=={version('clinicare')}"} == set(server_requirements())
        absent = (
            "import importlib.util as u; print([u.find_spec(n) for n in ('harness', 'judges', 'harbor')])"
        )
        assert _inside(built["mimic"], f'python -c "{absent}"') == "[None, None, None]\n"

    def test_the_chart_server_runs_as_any_user_on_a_read_only_root(self, built: dict[str, Built]) -> None:
        options = ("--user", "4321:4321", "--read-only", "--cap-drop", "ALL")
        script = "mcp-mimic --version && python -c 'import mcp_mimic.http'"
        assert _inside(built["mimic"], script, *options) == f"mcp-mimic {version('clinicare')}\n"

    def test_the_verifier_has_the_scorer_and_no_further_package(self, built: dict[str, Built]) -> None:
        files = _inside(built["verifier"], "cd /opt/clinicare && find . -name '*.py'").split()
        context = image_context("verifier", {}).files
        assert {f"python/{name.removeprefix('./')}" for name in files} | {"Dockerfile"} == set(context)
        plain = _inside(built["verifier"], "python -m pip list --format freeze").split()
        assert {line.split("==")[0] for line in plain} <= {"pip", "setuptools", "wheel"}

    def test_the_verifier_runs_and_gives_no_reward_for_nothing(self, built: dict[str, Built]) -> None:
        script = "python -m harness.scoring.verify; echo $?; ls /logs/verifier"
        assert _inside(built["verifier"], f"{{ {script}; }} 2>/dev/null").splitlines()[-1] == "1"

    @pytest.mark.parametrize("name", ["mimic", "verifier"])
    def test_every_module_is_compiled_and_never_checked_again(
        self, built: dict[str, Built], name: str
    ) -> None:
        # bytes 4 to 8 of a compiled file: 1 says that it goes by hash, and that the source is not looked at
        script = (
            "import pathlib; all = list(pathlib.Path('/opt/clinicare').rglob('*.py')); "
            "files = [f.parent / '__pycache__' / f'{f.stem}.cpython-312.pyc' for f in all]; "
            "print({f.read_bytes()[4:8].hex() for f in files})"
        )
        assert _inside(built[name], f'python -c "{script}"') == "{'01000000'}\n"

    def test_the_agents_cli_runs_without_a_network_and_is_the_version_of_the_label(
        self, built: dict[str, Built]
    ) -> None:
        pinned = image_context("agent", {}).arguments["CLAUDE_CODE_VERSION"]
        assert _inside(built["agent"], "claude --version") == f"{pinned} (Claude Code)\n"
        assert _config(built["agent"])["Labels"]["clinicare.claude-code"] == pinned

    def test_the_agent_has_what_the_oracle_and_a_shell_user_need(self, built: dict[str, Built]) -> None:
        script = (
            "which bash curl grep sed jq ps && python3 -c 'import json, csv, datetime' && touch /workspace/a"
        )
        assert len(_inside(built["agent"], script).split()) == 6

    def test_a_failing_build_leaves_the_image_as_it_was(self, built: dict[str, Built]) -> None:
        with pytest.raises(EngineError, match="cannot be pulled"):
            build_images(_silent, python_base="127.0.0.1:1/no/such")
        assert {state.id for state in inspect_images().values()} == {image.id for image in built.values()}
