# SPDX-License-Identifier: Apache-2.0
# SPDX-FileCopyrightText: The Purview authors
"""PROTOCOL.md, "Snapshot" and "Digest": what a client holds after the packets that it accepted."""

from bits import MASK64, Mismatch, combine, mix


class Ghost:
    __slots__ = ("kind", "parent", "numbers", "hash")

    def __init__(self, kind, parent, numbers):
        self.kind = kind
        self.parent = parent
        self.numbers = numbers
        self.hash = 0


class Ghosts:
    def __init__(self):
        self.held = {}
        self.children = {}  # by parent
        self.kind_of = {}
        self.digest = 0
        self.enters = self.updates = self.leaves = 0

    def apply(self, snapshot):
        touched = set()
        for local_id, _ in snapshot.leaves:
            self.leave(local_id, touched)
        entering = {enter[0] for enter in snapshot.enters}
        for local_id, kind, parent, numbers in snapshot.enters:
            if local_id in self.held:
                raise Mismatch(f"ghost {local_id} enters and is held already")
            if parent is not None and parent not in self.held and parent not in entering:
                raise Mismatch(f"ghost {local_id} enters without its parent {parent}")
            self.held[local_id] = Ghost(kind, None, list(numbers))
            self.kind_of[local_id] = kind
            self.enters += 1
            touched.add(local_id)
        for local_id, _, parent, _ in snapshot.enters:
            self.link(local_id, parent)
        for local_id, kind, relinked, parent, changes in snapshot.verbose:
            ghost = self.held.get(local_id)
            if ghost is None:
                continue  # its enter was lost
            if ghost.kind != kind:
                raise Mismatch(f"ghost {local_id} is of kind {ghost.kind}, its update says {kind}")
            if relinked:
                if parent is not None and parent not in self.held:
                    raise Mismatch(f"the new parent {parent} of ghost {local_id} is not held")
                self.link(local_id, parent)
            self.update(local_id, changes, touched)
        for local_id, changes in snapshot.plain:
            if local_id not in self.held:
                raise Mismatch(f"a plain update of ghost {local_id}, which is not held")
            self.update(local_id, changes, touched)
        self.rehash(touched)

    def leave(self, local_id, touched):
        ghost = self.held.pop(local_id, None)
        if ghost is None:
            return  # its enter was lost
        del self.kind_of[local_id]
        self.leaves += 1
        self.digest = (self.digest - ghost.hash) & MASK64
        if ghost.parent is not None:
            self.children[ghost.parent].discard(local_id)
        for child in self.children.pop(local_id, ()):
            self.held[child].parent = None
            touched.add(child)

    def link(self, local_id, parent):
        ghost = self.held[local_id]
        if ghost.parent is not None:
            self.children[ghost.parent].discard(local_id)
        ghost.parent = parent
        if parent is not None:
            self.children.setdefault(parent, set()).add(local_id)

    def update(self, local_id, changes, touched):
        numbers = self.held[local_id].numbers
        for field, number in changes:
            numbers[field] = number
        self.updates += 1
        touched.add(local_id)

    def rehash(self, touched):
        for local_id in touched:
            ghost = self.held.get(local_id)
            if ghost is None:
                continue
            h = combine(mix(local_id), ghost.kind)
            h = combine(h, 0 if ghost.parent is None else ghost.parent + 1)
            for number in ghost.numbers:
                h = combine(h, number)
            self.digest = (self.digest - ghost.hash + h) & MASK64
            ghost.hash = h

    def state(self):
        """As the state message lists it, by id."""
        return {local_id: (ghost.kind, ghost.parent, tuple(ghost.numbers))
                for local_id, ghost in self.held.items()}


def read_state(reader, kinds):
    """The ghosts of a state message, behind the packet's number."""
    state = {}
    while reader.u(1):
        local_id = reader.u(32)
        kind = reader.u(16)
        if local_id in state or kind >= len(kinds):
            raise reader.wrong(f"ghost {local_id} of kind {kind} in a state message")
        parent = reader.u(32)
        numbers = tuple(reader.u(32) for _ in kinds[kind].widths)
        state[local_id] = (kind, None if parent == 0 else parent - 1, numbers)
    reader.finish()
    return state
