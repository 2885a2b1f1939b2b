"""Texts of which half is what folding treats in a way of its own."""

from hypothesis import strategies as st

UNUSUAL = "a B 1_.\n\t\x00\x08\x0b\x1c\x1f\x7f\x85\xad\u200b\u2028\ufeffé\u0301ßİſΣς"
"""Letters, marks and line ends, controls that part words and that do not, and letters that fold to several."""

mixed_text = st.one_of(
    st.text(), st.text(alphabet=UNUSUAL), st.text(alphabet=st.characters(max_codepoint=127))
)
