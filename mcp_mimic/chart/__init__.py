"""One patient as of one moment: the slice."""
