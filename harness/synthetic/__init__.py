"""The synthetic hospital: charts in MIMIC-IV's own file layout."""
