"""A direct trial's trajectory in ATIF, the form in which Harbor's agents leave theirs."""

from collections.abc import Sequence

from harbor.models.trajectories import (
    Agent,
    FinalMetrics,
    Observation,
    ObservationResult,
    Step,
    ToolCall,
    Trajectory,
)

from harness.agents.recording import Call


def readable(text: str) -> str:
    """The text without the lone surrogates that no file in UTF-8 can hold."""
    return text.encode("utf-8", errors="replace").decode("utf-8")


def trajectory(
    *, session: str, tag: str, version: str, instruction: str, calls: Sequence[Call], report: str | None
) -> Trajectory:
    """The instruction, one step a call in the order of the audit, and the report if the agent wrote one."""
    steps = [Step(step_id=1, source="user", message=instruction)]
    steps += [_step(number, call) for number, call in enumerate(calls, start=2)]
    if report is not None:
        steps.append(Step(step_id=len(steps) + 1, source="agent", message=report))
    return Trajectory(
        session_id=session,
        agent=Agent(name=tag, version=version),
        steps=steps,
        final_metrics=FinalMetrics(total_steps=len(steps)),
    )


def _step(number: int, call: Call) -> Step:
    name = f"call-{number - 1}"
    result = ObservationResult(
        source_call_id=name,
        content=call.text and readable(call.text),
        extra={"is_error": True} if call.is_error else None,
    )
    return Step(
        step_id=number,
        timestamp=call.at.isoformat(),
        source="agent",
        message="",
        tool_calls=[
            ToolCall(tool_call_id=name, function_name=readable(call.tool), arguments=dict(call.arguments))
        ],
        observation=Observation(results=[result]),
    )
