# refused at line 8
# the values of enum 'Color' must have one type: 'RED' is int, 'BLUE' is str
from enum import Enum


class Color(Enum):
    RED = 1
    BLUE = "b"
