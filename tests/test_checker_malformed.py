"""The checker rejects what is no proof: strange entries, strange texts, and any other change."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from maxmargin.checker import Rejected, parse
from proofs import PROOFS, changed, judge, seal

STRANGE = [None, True, -1, 2**70, 10**4000, 1.5, "", "1_000", "١", "nan", "inf", "1.5", "1/0", "0x1p0"]
STRANGE += ["0x1.0000000000000p+5000", "\ud800", " 1", "1\n", [], [[]], {}, [None], [True], {"w": 1}]


def paths(value, path=""):
    """Yield the path of every entry of a JSON value."""
    for key, part in value.items() if isinstance(value, dict) else enumerate(value):
        yield f"{path}{key}"
        if isinstance(part, dict | list):
            yield from paths(part, f"{path}{key}.")


@pytest.mark.parametrize("name", PROOFS)
def test_strange_entries_are_rejected(name):
    proof, rows = PROOFS[name]
    for path in paths(proof):
        for strange in STRANGE:
            mutated = changed(name, path, strange)
            if seal(mutated) == seal(proof):
                continue
            with pytest.raises(Rejected):
                judge(mutated, rows)


TEXTS = [
    "",
    "{",
    "[]",
    "null",
    "3",
    '"a"',
    "{}",
    "[" * 100_000,
    '{"a":' * 100_000,
    "9" * 5000,
    "NaN",
    "\ufeff{}",
]
TEXTS += [
    '{"format": "maxmargin proof"}',
    '{"version": 1e0}',
    '{"version": Infinity}',
    '{"a": ' + "9" * 5000 + "}",
]


@pytest.mark.parametrize("text", TEXTS, ids=range(len(TEXTS)))
def test_texts_that_are_no_proofs_are_rejected(text):
    with pytest.raises(
        Rejected, match=r"^(the proof must be (JSON|an object)|(format|version) must be)"
    ):
        parse(text)


def test_repeated_keys_are_rejected():
    text = seal(PROOFS["separable"][0])
    with pytest.raises(Rejected, match="repeated"):
        parse('{"kind": "separable", ' + text[1:])


json_values = st.recursive(
    st.none()
    | st.booleans()
    | st.integers()
    | st.floats()
    | st.text(max_size=8)
    | st.sampled_from(STRANGE),
    lambda parts: st.lists(parts, max_size=3) | st.dictionaries(st.text(max_size=5), parts, max_size=3),
    max_leaves=6,
)


@given(st.data(), st.sampled_from(sorted(PROOFS)), json_values)
def test_random_changes_are_rejected(data, name, value):
    proof, rows = PROOFS[name]
    path = data.draw(st.sampled_from(sorted(paths(proof))))
    mutated = changed(name, path, value)
    try:
        judge(mutated, rows)
    except Rejected:
        return
    # What may hold all the same: another plane or flat, or another tree.
    assert seal(mutated) == seal(proof) or path.startswith(("plane", "span.flat", "tree"))
