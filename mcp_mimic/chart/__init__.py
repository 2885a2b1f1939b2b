"""One patient's chart as of one moment, and the same cut over many tasks at once."""
