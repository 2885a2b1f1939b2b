"""Claude Code driven by a scripted model: the script that answers a task, and the files that set it up."""

import json
import re
import shutil
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from harness.containers.images import image_tag
from tests.containers.scripted_model.server import Step

TAG = "claude-code-scripted"
KEY = "placeholder-key-of-the-scripted-model-0123456789"
REPORT = "/workspace/report.md"

_SERVER = Path(__file__).parent / "scripted_model" / "server.py"
_OWN_CALL = r'"call": *"(search:\d+)"'


def answering_script(task: Path) -> list[Step]:
    """Makes the calls of the task's plan through the chart server's tools, then cites what came back.

    Of a requirement's rows the first alternative is cited, if it was served; else the searches.
    """
    steps: list[dict[str, Any]] = []
    grounds: dict[str, str] = {}
    verdict = ""
    for line in (task / "solution" / "plan.tsv").read_text(encoding="utf-8").splitlines():
        kind, name, *rest = line.split("\t")
        if kind == "search":
            tool, arguments = rest
            call = {"tool": f"mcp__mimic__{tool}", "input": json.loads(arguments), "pages": True}
            steps.append(call | {"keep": {"of": name}})
        elif kind == "rows":
            grounds.setdefault(name, rf"(?<![\w-])({'|'.join(map(re.escape, rest[0].split()))})(?![\w#-])")
        elif kind == "absence":
            grounds.setdefault(name, _OWN_CALL)
        else:
            verdict = name
    for step in steps:
        name = step["keep"]["of"]
        step["keep"] = {name: grounds[name]}
    body = "".join(f"- {name.replace('_', ' ')}: [${{{name}}}]\n" for name in grounds)
    return [*steps, *writing_steps(f"## Answer: {verdict}\n\n{body}")]


def writing_steps(report: str) -> list[Step]:
    """Writes the report, and ends."""
    return [{"tool": "Write", "input": {"file_path": REPORT, "content": report}}, {"text": "Written."}]


def write_system(
    folder: Path, script: Sequence[Step], *, environment: Mapping[str, str] | None = None
) -> Path:
    """A systems file, its compose file, the model's server and the script, in the folder.

    `environment` adds to Claude Code's.
    """
    shutil.copy(_SERVER, folder / "server.py")
    (folder / "script.json").write_text(json.dumps(script), encoding="utf-8")
    model = {
        "image": image_tag("mimic"),
        "init": True,
        "read_only": True,
        "cap_drop": ["ALL"],
        "security_opt": ["no-new-privileges:true"],
        "pids_limit": 64,
        "mem_limit": "128m",
        "networks": ["chart"],
        "environment": {"MODEL_KEY": KEY},
        "entrypoint": ["python", "-I", "/server.py", "/script.json"],
        "volumes": ["./server.py:/server.py:ro", "./script.json:/script.json:ro"],
        "healthcheck": {
            "test": [
                "CMD", "python", "-I", "-c",
                "from urllib.request import urlopen; urlopen('http://127.0.0.1:9000/')",
            ],
            "interval": "500ms",
            "timeout": "5s",
            "retries": 60,
        },
    }  # fmt: skip
    main = {"depends_on": {"model": {"condition": "service_healthy"}}}
    compose = {"services": {"main": main, "model": model}}
    # every JSON document is a YAML one
    (folder / "model.yaml").write_text(json.dumps(compose, indent=1), encoding="utf-8")
    variables = {"ANTHROPIC_BASE_URL": "http://model:9000", "ANTHROPIC_API_KEY": KEY, **(environment or {})}
    systems = folder / "systems.toml"
    systems.write_text(
        _SYSTEM + "".join(f"{name} = {json.dumps(value)}\n" for name, value in variables.items()),
        encoding="utf-8",
    )
    return systems


_SYSTEM = f"""
[[system]]
tag = "{TAG}"
about = "Claude Code, driven by a scripted model"

[system.harbor]
agent = "claude-code"
model = "anthropic/scripted"
options = {{ disable_web_search = true }}
compose = ["model.yaml"]

[system.harbor.environment]
"""
