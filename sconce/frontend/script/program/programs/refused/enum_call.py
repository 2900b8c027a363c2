# refused at line 11
# cannot call a EnumClass
from enum import Enum


class Color(Enum):
    RED = 1


def f() -> Color:
    return Color(1)
