"""Charts of the synthetic hospital are cut at a moment as every other store's are."""

from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from tests.harness.synthetic.conftest import SyntheticWorld
from tests.mcp_mimic.chart.test_slice_properties import assert_holds_what_was_known, questions


@settings(max_examples=3, deadline=None, derandomize=True, suppress_health_check=list(HealthCheck))
@given(data=st.data())
def test_a_slice_of_the_synthetic_hospital_holds_exactly_what_was_known(
    one_world: SyntheticWorld, data: st.DataObject
) -> None:
    assert_holds_what_was_known(one_world.store, *data.draw(questions(one_world.store)))
