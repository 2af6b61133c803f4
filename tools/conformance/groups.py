# SPDX-License-Identifier: Apache-2.0
# SPDX-FileCopyrightText: The Purview authors
"""PROTOCOL.md, "Groups": when a link is `whole`, and the order of the members of an input. The groups can be derived
from the server's packets only if every change is sent in its tick: see `unbound`."""

from collections import Counter, namedtuple

from bits import Mismatch

ROOMY_BYTES = 1000  # a larger datagram may have had no room for another item

# A link written in this tick, and whether the datagram had room for more.
StepResult = namedtuple("StepResult", "packet ghost whole roomy")


class Groups:
    unbound = False  # True if neither the budget nor any limit was reached in this recording.

    def __init__(self):
        self.tick = None  # the current tick
        self.said = []  # in this tick
        self.present_in = {}  # packet of this tick that makes a ghost held
        self.parents = {}  # by local id, as written up to the end of the previous tick
        self.kinds = {}  # by local id, of its newest enter
        self.kinds_ever = {}  # all kinds that a local id has had
        self.counts = Counter()

    def write(self, number, tick, snapshot, held, size):
        self.tick = tick
        for item in (*snapshot.enters, *snapshot.verbose):
            if item.link is None:
                continue
            self.kinds[item.id] = item.kind
            self.kinds_ever.setdefault(item.id, set()).add(item.kind)
            if item.id not in held:
                self.present_in[item.id] = number
            self.said.append(StepResult(number, item.id, item.link.whole, size < ROOMY_BYTES))

    def end_tick(self, parents, held):
        """Call before the next tick, and before another packet is acknowledged."""
        self.tick = None
        self.parents = parents
        said, self.said, present_in, self.present_in = self.said, [], self.present_in, {}
        if not Groups.unbound:
            return
        members = {}
        for ghost in parents:
            members.setdefault(root_of(ghost, parents), []).append(ghost)
        for link in said:
            if link.ghost not in parents:
                continue  # left in the same tick
            group = members[root_of(link.ghost, parents)]
            missing = [ghost for ghost in group if ghost not in held and present_in.get(ghost) != link.packet]
            self.counts["whole" if link.whole else "held_back"] += len(group) > 1
            if link.whole and missing:
                raise Mismatch(f"packet {link.packet}: ghost {link.ghost} marks its group as whole, but ghost "
                               f"{missing[0]} of it is still in flight")
            if not link.whole and not missing and link.roomy:
                raise Mismatch(f"packet {link.packet}: ghost {link.ghost} marks its group as not whole, but all "
                               f"{len(group)} members are held or in this packet")

    def check_correction(self, groups, schema):
        """Each corrected group must consist of the members that the client has received, in the order of inputs, as of
        the beginning of the tick. If a budget is limiting, a correction may be older."""
        for members in groups:
            for ghost, kind, _, frame in members:
                if kind not in self.kinds_ever.get(ghost, ()):
                    raise Mismatch(f"a correction of ghost {ghost} as kind {kind}, which it never had")
                if frame is not None and frame not in self.kinds_ever:
                    raise Mismatch(f"a correction of ghost {ghost} relative to ghost {frame}, which never existed")
            if not Groups.unbound:
                continue
            for ghost, kind, _, frame in members:
                if frame not in (None, ghost) and frame != self.parents.get(ghost):
                    raise Mismatch(f"a correction of ghost {ghost} relative to ghost {frame}, which is not its parent")
                if ghost not in self.parents or self.kinds[ghost] != kind:
                    raise Mismatch(f"a correction of ghost {ghost} as kind {kind}, which it did not have when the tick began")
            known = [ghost for ghost, _, _, _ in members]
            root = members[0][0]
            if self.parents.get(root) is not None:
                raise Mismatch(f"a correction of a group that begins with ghost {root}, which is not a root")
            group = {ghost for ghost in self.parents if root_of(ghost, self.parents) == root}
            if set(known) != group:
                raise Mismatch(f"a correction of the group of ghost {root}: {sorted(known)}, not {sorted(group)}")
            order = order_of_input(known, self.parents, lambda ghost: schema.kinds[self.kinds[ghost]].is_inner_root)
            if order != known:
                raise Mismatch(f"a correction with the members {known}, but the input order is {order}")
            self.counts["ordered_groups"] += len(group) > 1


def root_of(ghost, parents):
    while parents.get(ghost) is not None and parents[ghost] in parents:
        ghost = parents[ghost]
    return ghost


def order_of_input(members, parents, is_inner_root):
    """Siblings keep their order in `members`; the first member is the root."""
    order = []

    def visit(root):
        inner = []

        def append(ghost):
            order.append(ghost)
            for child in [member for member in members if parents[member] == ghost]:
                inner.append(child) if is_inner_root(child) else append(child)

        append(root)
        for ghost in inner:
            visit(ghost)

    visit(members[0])
    return order
