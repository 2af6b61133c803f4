# SPDX-License-Identifier: Apache-2.0
# SPDX-FileCopyrightText: The Purview authors
"""PROTOCOL.md, "Groups": checks the flag `whole` of links and the order of the members of an input. Most checks are
possible only if every change is sent in its tick (`unlimited`)."""

from collections import Counter, namedtuple

from bits import Mismatch

ROOMY_BYTES = 1000  # a larger datagram may have had no space for another item

# A link written in this tick. `roomy`: whether the datagram had space for another item.
WrittenLink = namedtuple("WrittenLink", "packet ghost whole roomy")


class Groups:
    unlimited = False  # True if neither the budget nor any limit was reached in this recording.

    def __init__(self):
        self.tick = None  # the current tick
        self.links = []  # written in this tick
        self.present_in = {}  # by local id: the packet of this tick that lets the ghost enter or resume
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
            self.links.append(WrittenLink(number, item.id, item.link.whole, size < ROOMY_BYTES))

    def end_tick(self, parents, held):
        """Call before the next tick, and before another packet is acknowledged."""
        self.tick = None
        self.parents = parents
        links, self.links, present_in, self.present_in = self.links, [], self.present_in, {}
        if not Groups.unlimited:
            return
        members = {}
        for ghost in parents:
            members.setdefault(root_of(ghost, parents), []).append(ghost)
        for link in links:
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
        """Checks that each corrected group has the members that the client had at the beginning of the tick, in the order
        of inputs. If not `unlimited`, a correction may be older, so only the kinds and parents are checked to exist."""
        for members in groups:
            for ghost, kind, _, frame in members:
                if kind not in self.kinds_ever.get(ghost, ()):
                    raise Mismatch(f"a correction of ghost {ghost} as kind {kind}, which it never had")
                if frame is not None and frame not in self.kinds_ever:
                    raise Mismatch(f"a correction of ghost {ghost} relative to ghost {frame}, which never existed")
            if not Groups.unlimited:
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
    """Returns the members in the order of an input. The first one is the root; siblings keep their order in `members`."""
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
