#!/bin/bash
# Scores the collected report and audit against /tests/gold.json; without a sealed audit there is no reward.
exec python -m harness.scoring.verify
