"""The chart server's errors.

ChartServerError
├── StoreError            a source or a store that cannot be imported, opened or compared
├── GrantError            a grant that cannot be read or honoured
├── SettingsError         a setting that cannot be used
├── SealError             an audit that could not be sealed
├── LockDownError         a slice that cannot be cut off (chart.lockdown)
└── ToolError             a call that is refused or cannot be answered; it reaches the client
"""


class ChartServerError(Exception):
    """What happened, to what, and what to do next; the command line prints both and no traceback.

    `message` is one sentence, `remedy` the next step, `code` a stable word for programs.
    """

    code = "error"

    def __init__(self, message: str, remedy: str, *, code: str | None = None) -> None:
        super().__init__(message)
        self.message = message
        self.remedy = remedy
        if code is not None:
            self.code = code


class StoreError(ChartServerError):
    """A source or a store cannot be imported, opened or compared."""

    code = "store"


class GrantError(ChartServerError):
    """A grant cannot be read or honoured."""

    code = "grant"


class SettingsError(ChartServerError):
    """A setting cannot be used."""

    code = "settings"


class SealError(ChartServerError):
    """An audit could not be sealed; without its seal a trial has no score."""

    code = "work_failed"


class ToolError(ChartServerError):
    """A tool call is refused or cannot be answered; code, sentence and remedy reach the client."""

    code = "tool"


def told(message: str, remedy: str) -> str:
    """An error as a person reads it: what happened and what to do, one line each.

    What cannot be printed becomes a blank, since a name in a message may hold a terminal's codes.
    """
    lines = {"error": message, "hint": remedy}
    printable = {
        word: "".join(mark if mark.isprintable() else " " for mark in text) for word, text in lines.items()
    }
    return "".join(f"{word}: {' '.join(text.split())}\n" for word, text in printable.items())
