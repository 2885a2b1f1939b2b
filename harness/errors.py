"""The harness's errors.

HarnessError
├── ScenarioError         a scenario folder that cannot be loaded or run
├── CohortError           a cohort that does not fit its store
├── TaskError             a tasks folder that cannot be built or read
├── UnknownSystemError    an unknown or unusable system
├── ReviewError           a review packet that cannot be written or read
├── JobError              a job that cannot be run, resumed or graded
├── CorpusError           a policy document or corpus folder that cannot be used
├── EngineError           a container engine or image that cannot be used
└── RunError              a run that failed on the way, whatever it was asked
"""


class HarnessError(Exception):
    """What happened, to what, and what to do next; the command line prints both and no traceback."""

    def __init__(self, message: str, remedy: str) -> None:
        super().__init__(message)
        self.message = message
        self.remedy = remedy


class ScenarioError(HarnessError):
    """A scenario folder cannot be loaded or run."""


class CohortError(HarnessError):
    """A cohort does not fit its store."""


class TaskError(HarnessError):
    """A tasks folder cannot be built or read."""


class UnknownSystemError(HarnessError):
    """A system is not in the systems file, or cannot be used here."""


class ReviewError(HarnessError):
    """A review packet cannot be written, or its answers cannot be read."""


class JobError(HarnessError):
    """A job cannot be run, resumed or graded."""


class CorpusError(HarnessError):
    """A policy document, or the folder of them, cannot be used."""


class EngineError(HarnessError):
    """The container engine, or an image that trials need, cannot be used."""


class RunError(HarnessError):
    """A run failed on the way, for no fault in how it was asked for."""
