"""Every tool and protocol method of the chart server, called with what might make it say too much."""

import http.client
import json
import sys

FACTS = json.loads(sys.argv[1])
SAID = []


def ask(method, params):
    body = json.dumps({"jsonrpc": "2.0", "id": 1, "method": method, "params": params})
    server = http.client.HTTPConnection("mimic", 8000, timeout=30)
    headers = {"content-type": "application/json", "accept": "application/json, text/event-stream"}
    try:
        server.request("POST", "/mcp", body, headers)
        text = server.getresponse().read().decode("utf-8", "replace")
    except OSError as error:
        text = f"no answer: {error}"
    SAID.append(text)
    return text


def tool(name, **arguments):
    return ask("tools/call", {"name": name, "arguments": arguments})


listed = json.loads(ask("tools/list", {}))["result"]["tools"]
for one in listed:
    properties = one["inputSchema"].get("properties", {})
    tool(one["name"])
    for name in properties:
        for hostile in (
            "/grant.json",
            "../../store/manifest.json",
            ["/store"],
            {"x": 1},
            "'; attach '/store/chart.duckdb' as s; --",
            0,
        ):
            if one["name"] != "submit_determination":
                tool(one["name"], **{name: hostile})
    for record in properties.get("record", {}).get("enum", ()) or properties.get("kind", {}).get("enum", ()):
        tool(one["name"], **{"record" if "record" in properties else "kind": record})
tool("get_labs", items=None, subject_id=1)
tool("no_such_tool")
ask("resources/list", {})
ask("resources/templates/list", {})
ask("prompts/list", {})
for place in ("file:///grant.json", "file:///proc/self/environ", "file:///store/manifest.json"):
    ask("resources/read", {"uri": place})
ask("logging/setLevel", {"level": "debug"})
ask("no/such/method", {})
everything = "\n".join(SAID)
print(
    json.dumps(
        {
            "answers": len(SAID),
            "tools": [one["name"] for one in listed],
            "found": [what for what, needle in FACTS["needles"].items() if needle in everything],
            "rows": everything.count('"eid"'),
            "unanswered": [text for text in SAID if text.startswith("no answer")][:3],
        }
    )
)
