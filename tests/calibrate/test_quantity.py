"""How a number with its interval prints."""

import pytest

from localdp.calibrate.base import Quantity


@pytest.mark.parametrize(
    ("quantity", "printed"),
    [
        (Quantity(31.7263, 30.3817, 33.0692, 0.9), "31.7, with 90% probability between 30.4 and 33.1"),
        (Quantity(0.5364, 0.4236, 0.6478, 0.9), "0.54, with 90% probability between 0.42 and 0.65"),
        (Quantity(598_175.4, 590_247.1, 606_103.2, 0.95), "598,175, with 95% probability between 590,247 and 606,103"),
        (Quantity(5.0, 5.0, 5.0, 0.9), "5, with 90% probability between 5 and 5"),
        (Quantity(0.5, -1e-13, 1.0, 0.995), "0.5, with 99.5% probability between 0.0 and 1.0"),
    ],
)
def test_a_number_prints_with_the_digits_that_its_interval_leaves_room_for(quantity, printed):
    assert str(quantity) == printed
