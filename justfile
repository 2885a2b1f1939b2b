# Every check that CI runs is a recipe here, and CI calls these same recipes.

# the quick checks: format, lint, types, import contracts
check:
    uv run ruff format --check .
    uv run ruff check .
    uv run mypy
    uv run lint-imports

# the default tests
test *ARGS:
    uv run pytest {{ARGS}}

# all tests, the slow ones too
test-all *ARGS:
    uv run pytest -m "slow or not slow" {{ARGS}}

# the container tests; those that kill at random moments take minutes and an engine that may be lost
test-containers *ARGS:
    uv run pytest -m 'docker and not slow' {{ARGS}}

test-killing *ARGS:
    uv run pytest -n0 -m 'docker and slow' {{ARGS}}

# format and mend what can be mended
fix:
    uv run ruff check --fix .
    uv run ruff format .

# the pages that are made from the code and from the scenarios' folders
docs:
    uv run python -m mcp_mimic.reference docs/reference
    uv run python -m harness.reference docs/reference
    uv run python -m harness.scenario_index docs

# the main job
demo *ARGS:
    uv run harness demo {{ARGS}}

# how fast it is, as ratios within one run; `--scale 0.02` for a look, full size by default
bench *ARGS:
    uv run python -m bench {{ARGS}}

# resolve anew and write the exact versions into pyproject.toml
pin:
    uv lock --upgrade
    uv run --no-sync python .ci/pin.py
    uv sync

# a wheel and a source archive under dist/
build:
    uv build
