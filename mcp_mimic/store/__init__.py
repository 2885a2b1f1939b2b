"""MIMIC-IV files become one read-only store: tables, keys, availability, import, check."""
