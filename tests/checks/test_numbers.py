"""What the package takes for a size or a number, and that NumPy's do as well as Python's."""

import numpy as np

from chapter3_helpers._checks import numbers


def test_checks_return_pythons_numbers():
    for size in (np.uint8(200), True + np.int32(199), 200):
        assert repr(numbers.check_size("T", size)) == "200"
        assert repr(numbers.check_sizes(T=size, d=size)) == "(200, 200)"
        assert repr(numbers.check_number("theta", size)) == "200.0"
        assert repr(numbers.check_heads(size, size)) == "(200, 200)"
        assert repr(numbers.check_divisible(d=size, n=size)) == "(200, 200)"
    assert repr(numbers.check_positive(a=np.float32(0.5), b=2)) == "(0.5, 2.0)"
    assert repr(numbers.check_dropout(np.float64(0.5))) == "0.5"
