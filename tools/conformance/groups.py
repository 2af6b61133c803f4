# SPDX-License-Identifier: Apache-2.0
# SPDX-FileCopyrightText: The Purview authors
"""PROTOCOL.md, "Groups": when a link says `whole`, and who stands where in the order of input. What a server
has written tells its groups only while it tells every change in its tick: see `unbound`."""

from collections import Counter, namedtuple

from bits import Mismatch

ROOMY_BYTES = 1000  # of a datagram: what did not go into a larger one may have had no room

# A link that was written in this tick, and whether there was room for more beside it.
Said = namedtuple("Said", "packet ghost whole roomy")


class Groups:
    unbound = False  # no budget and no bound was ever reached in this recording

    def __init__(self):
        self.tick = None  # that is not over
        self.said = []  # in this tick
        self.present_in = {}  # packet of this tick that makes a ghost held
        self.parents = {}  # by local id, as they were written up to the end of the tick before
        self.kinds = {}  # by local id, of its newest enter
        self.kinds_ever = {}  # all that a local id has been
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
            self.said.append(Said(number, item.id, item.link.whole, size < ROOMY_BYTES))

    def end_tick(self, parents, held):
        """Before the next tick, and before anything else is known to be held."""
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
                raise Mismatch(f"packet {link.packet}: ghost {link.ghost} says that its group is whole, and ghost "
                               f"{missing[0]} of it is on its way")
            if not link.whole and not missing and link.roomy:
                raise Mismatch(f"packet {link.packet}: ghost {link.ghost} says that its group is not whole, and all "
                               f"{len(group)} of it are held or come with it")

    def check_correction(self, groups, schema):
        """Of each group the members that the client was told of, in the order of input, as they were when the tick
        began. Where a budget binds a correction may be as old as that makes it."""
        for members in groups:
            for ghost, kind, _, frame in members:
                if kind not in self.kinds_ever.get(ghost, ()):
                    raise Mismatch(f"a correction of ghost {ghost} as kind {kind}, which it never was")
                if frame is not None and frame not in self.kinds_ever:
                    raise Mismatch(f"a correction of ghost {ghost} as seen from ghost {frame}, which never was")
            if not Groups.unbound:
                continue
            for ghost, kind, _, frame in members:
                if frame not in (None, ghost) and frame != self.parents.get(ghost):
                    raise Mismatch(f"a correction of ghost {ghost} as seen from ghost {frame}, which is not its parent")
                if ghost not in self.parents or self.kinds[ghost] != kind:
                    raise Mismatch(f"a correction of ghost {ghost} as kind {kind}, which it was not when the tick began")
            known = [ghost for ghost, _, _, _ in members]
            root = members[0][0]
            if self.parents.get(root) is not None:
                raise Mismatch(f"a correction of a group that begins with ghost {root}, which is no root")
            group = {ghost for ghost in self.parents if root_of(ghost, self.parents) == root}
            if set(known) != group:
                raise Mismatch(f"a correction of the group of ghost {root}: {sorted(known)}, not {sorted(group)}")
            order = order_of_input(known, self.parents, lambda ghost: schema.kinds[self.kinds[ghost]].is_inner_root)
            if order != known:
                raise Mismatch(f"a correction with the members {known}, in the order of input they are {order}")
            self.counts["ordered_groups"] += len(group) > 1


def root_of(ghost, parents):
    while parents.get(ghost) is not None and parents[ghost] in parents:
        ghost = parents[ghost]
    return ghost


def order_of_input(members, parents, is_inner_root):
    """Siblings in the order in which they stand in `members`; the first one is the root."""
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
