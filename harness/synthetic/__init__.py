"""The synthetic hospital: charts in MIMIC-IV's own file layout."""

from harness.synthetic.hospital import Hospital, PlantedCase, write_hospital

__all__ = ["Hospital", "PlantedCase", "write_hospital"]
