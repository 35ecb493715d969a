"""Frozen values: nothing can be set or deleted once they are made, and they still remember derived values."""

from __future__ import annotations

from dataclasses import FrozenInstanceError
from functools import cached_property

import pytest

from localdp.frozen import Frozen


class _Square(Frozen):
    def __init__(self, side):
        self.side = side
        self.side += 1  # free to change until it is frozen
        self._freeze()

    @cached_property
    def area(self):
        return [self.side**2]


def test_attributes_can_be_set_only_while_a_value_is_made():
    square = _Square(2)
    assert square.side == 3
    with pytest.raises(FrozenInstanceError, match="_Square is a value: make a new one instead of setting side"):
        square.side = 5
    with pytest.raises(FrozenInstanceError, match="instead of setting colour"):
        square.colour = "red"
    with pytest.raises(FrozenInstanceError, match="_Square is a value: side cannot be deleted"):
        del square.side
    assert square.side == 3


def test_one_frozen_value_does_not_freeze_the_next():
    _Square(1)
    assert _Square(4).side == 5


def test_a_derived_value_is_remembered():
    square = _Square(2)
    assert square.area is square.area
    assert square.area == [9]
