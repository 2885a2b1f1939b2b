"""Reviews: what clinicians read and sign, and how far their verdicts and the labels agree."""
