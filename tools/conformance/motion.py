# SPDX-License-Identifier: Apache-2.0
# SPDX-FileCopyrightText: The Purview authors
"""PROTOCOL.md, "Motion": the predicted motion of a dead-reckoned field, and how a new value changes it."""

from collections import namedtuple

TICKS_MAX = 1000  # maximum duration of a motion
BACK_MAX = 31
KEPT_MAX = 32
SPEED_MAX = (1 << 31) - 1
SPAN_MAX = 65535
LEEWAY = 3 * 65536 // 8

# `at` in 1/64 of a step, `speed` in 1/65536 of a step in a tick, `scale` in 1/16.
Motion = namedtuple("Motion", "at speed span scale")


def still(value):
    return Motion(value * 64, 0, 0, 64)


def reach(motion, ticks):
    return motion.at * 1024 + motion.speed * min(ticks, TICKS_MAX)


def value_after(motion, ticks, largest):
    return min(max((reach(motion, ticks) + 32768) >> 16, 0), largest)


def parameter(motion):
    k = 0
    while motion.scale >> 4 + k > 1:
        k += 1
    return k


def following(motion, ticks, value, largest):
    difference = value - value_after(motion, ticks, largest)
    target = value * 65536
    reached = reach(motion, ticks)
    if abs(difference) <= 1:
        span = motion.span + ticks
        at = min(max(reached, target - LEEWAY), target + LEEWAY)
        speed = motion.speed + divide_toward_zero(at - reached, span)
    else:
        span = ticks
        at = target
        speed = divide_toward_zero(target - motion.at * 1024, span)
    folded = 2 * difference if difference >= 0 else -2 * difference - 1
    return Motion(at >> 10, min(max(speed, -SPEED_MAX), SPEED_MAX), min(span, SPAN_MAX),
                  (motion.scale + min(folded, 4000) * 16) // 2)


def divide_toward_zero(dividend, divisor):
    return dividend // divisor if dividend >= 0 else -(-dividend // divisor)


class History:
    """The motions of one ghost by the tick in which they were sent, newest last."""

    def __init__(self):
        self.kept = []

    def add(self, tick, motions):
        self.kept.append((tick, motions))
        del self.kept[:-KEPT_MAX]

    def until(self, tick):
        """Returns the motions of the newest tick up to this one: (tick, motions), or None."""
        for entry in reversed(self.kept):
            if entry[0] <= tick:
                return entry
        return None
