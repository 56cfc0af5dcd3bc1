"""What people wrote is told so that it harms no line and fills no message."""

import ast

import pytest
from hypothesis import given
from hypothesis import strategies as st

from mooring.core import quoting


@pytest.mark.parametrize(
    ("text", "told"),
    [
        ("", "''"),
        ("ovn", "'ovn'"),
        ('say "no"', "'say \"no\"'"),
        ("it's", '"it\'s"'),
        ("one\ntwo\x1b[31m", r"'one\ntwo\x1b[31m'"),
        ("x" * 58, f"'{'x' * 58}'"),
        ("x" * 59, f"'{'x' * 55}...'"),
        ("x" * 5000, f"'{'x' * 55}...'"),
        ("\n" * 5000, "'" + r"\n" * 27 + "...'"),
    ],
)
def test_what_stands_in_a_sentence(text: str, told: str) -> None:
    assert quoting.quoted(text) == told


@given(st.text())
def test_it_fits_on_a_line_and_nothing_is_cut_in_two(text: str) -> None:
    told = quoting.quoted(text)
    assert len(told) <= quoting.LONGEST
    assert told.isprintable()
    shown = ast.literal_eval(told)
    assert shown == text or text.startswith(shown.removesuffix(quoting.CUT))
