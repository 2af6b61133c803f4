# SPDX-License-Identifier: Apache-2.0
# SPDX-FileCopyrightText: The Purview authors
"""PROTOCOL.md, "Snapshot" and "Digest": the ghosts of a client after the packets that it accepted."""

from collections import Counter

from bits import MASK64, Mismatch, combine, mix
from fields import LOCAL_ID_END, NO_REFERENCE
from motion import History, still, value_after
from snapshot import REASONS

VALUE_COUNTS = {"reference": "references", "text": "texts", "rotation": "rotations", "ranged": "ranged"}


class Ghost:
    """`values`: the words of every field, by field."""

    __slots__ = ("kind", "parent", "replicated", "values", "hash", "history")

    def __init__(self, kind, replicated, values):
        self.kind = kind
        self.parent = None
        self.replicated = replicated
        self.values = values
        self.hash = 0
        self.history = History()


class Ghosts:
    def __init__(self, kinds=()):
        self.kinds = kinds
        self.held = {}
        self.copies = {}  # retained ghosts
        self.children = {}  # by parent
        self.referrers = {}  # by local id: the (ghost, field) that may refer to it
        self.kind_of = {}
        self.member_maps = {}  # by slot: local id and kind of each member
        self.digest = 0
        self.tick = 0
        self.moving = set()  # held, with motions that have a speed
        self.waiting = set()  # held, but not shown before their group is whole
        self.counts = Counter()

    def apply(self, snapshot):
        touched = set()
        self.tick = snapshot.tick
        for leave in snapshot.leaves:
            self.leave(leave, touched)
        for update in snapshot.verbose:
            if update.id in self.copies and update.link is not None:
                self.resume(update, touched)
        entering = {enter.id for enter in snapshot.enters}
        for enter in snapshot.enters:
            self.enter(enter, entering, touched)
        for enter in snapshot.enters:
            self.link(enter.id, enter.link.parent)
        for update in snapshot.verbose:
            ghost = self.held.get(update.id)
            if ghost is None:
                continue  # its enter was lost
            if ghost.kind != update.kind:
                raise Mismatch(f"ghost {update.id} is of kind {ghost.kind}, but {update.kind} in its update")
            if update.link is not None:
                self.relink(update, ghost)
            self.update(update, touched)
        for update in snapshot.plain:
            ghost = self.held.get(update.id)
            if ghost is None:
                raise Mismatch(f"a plain update of ghost {update.id}, which is not held")
            if ghost.kind != update.kind:
                raise Mismatch(f"ghost {update.id} changed its kind after its plain update was sent")
            self.update(update, touched)
        alone = {item.id for item in (*snapshot.enters, *snapshot.verbose, *snapshot.plain)}
        for update in snapshot.shared:
            ghost = self.held.get(update.id)
            if ghost is not None and ghost.kind != update.kind:
                raise Mismatch(f"ghost {update.id} is of kind {ghost.kind}, but {update.kind} in its member map")
            if ghost is not None and update.id not in alone:
                self.update(update, touched)
                self.counts["shared"] += 1
        self.show(snapshot)
        self.member_maps.update(snapshot.member_maps)
        self.counts["member_maps"] += len(snapshot.member_maps)
        self.advance(touched)
        self.rehash(touched)

    def show(self, snapshot):
        """Shows the groups that a link of this packet marks as whole."""
        if not self.waiting:
            return
        linked = [item for item in (*snapshot.enters, *snapshot.verbose) if item.link is not None]
        new = {enter.id for enter in snapshot.enters}
        roots = {self.root_of(item.id) for item in linked if item.link.whole and item.id in self.held}
        shown = {ghost for ghost in self.waiting if self.root_of(ghost) in roots}
        self.counts["shown_late"] += len(shown - new)
        self.waiting -= shown

    def root_of(self, ghost):
        while self.held[ghost].parent in self.held:
            ghost = self.held[ghost].parent
        return ghost

    def advance(self, touched):
        """Advances dead-reckoned fields that the packet did not contain."""
        for local_id in self.moving:
            ghost = self.held[local_id]
            tick, motions = ghost.history.kept[-1]
            for field, its in motions.items():
                largest = self.kinds[ghost.kind].fields[field].largest
                now = (value_after(its, self.tick - tick, largest),)
                if now != ghost.values[field]:
                    ghost.values[field] = now
                    touched.add(local_id)
                    self.counts["extrapolated"] += 1

    def motions_until(self, local_id, tick):
        """Returns the newest motions of a held ghost up to this tick: (tick, by field), or None."""
        return self.held[local_id].history.until(tick)

    def learn_motions(self, item, ghost):
        extrapolated = self.kinds[ghost.kind].extrapolated
        if not extrapolated:
            return
        motions = getattr(item, "motions", None)
        if motions:
            self.counts["differences"] += 1
        else:
            motions = {field: still(ghost.values[field][0]) for field in extrapolated}
        ghost.history.add(self.tick, motions)
        moves = any(its.speed for its in motions.values())
        (self.moving.add if moves else self.moving.discard)(item.id)

    def enter(self, enter, entering, touched):
        parent = enter.link.parent
        if enter.id in self.held:
            raise Mismatch(f"ghost {enter.id} enters although it is held")
        if enter.id in self.copies:
            raise Mismatch(f"ghost {enter.id} enters although its retained ghost exists")
        if parent is not None and parent not in self.held and parent not in entering:
            raise Mismatch(f"ghost {enter.id} enters without its parent {parent}")
        ghost = Ghost(enter.kind, enter.link.replicated, list(self.kinds[enter.kind].zeros))
        self.held[enter.id] = ghost
        self.waiting.add(enter.id)
        self.kind_of[enter.id] = enter.kind
        self.set_values(enter, ghost)
        self.counts["enters"] += 1
        self.counts[REASONS[enter.link.reason]] += 1
        self.counts["withheld"] += (self.kinds[enter.kind].all_allowed & ~ghost.replicated).bit_count()
        touched.add(enter.id)

    def leave(self, leave, touched):
        for ghost, field in self.referrers.pop(leave.id, ()):
            referrer = self.held.get(ghost) or self.copies.get(ghost)
            if referrer is not None and field in self.kinds[referrer.kind].references:
                if referrer.values[field] == (leave.id + 1, 0):
                    referrer.values[field] = NO_REFERENCE
                    self.counts["unnamed"] += 1
                    touched.add(ghost)
        ghost = self.held.pop(leave.id, None)
        if ghost is None:  # its enter was lost, or it is a retained ghost
            if not leave.kept and self.copies.pop(leave.id, None) is not None:
                self.counts["ended"] += 1
            return
        del self.kind_of[leave.id]
        self.moving.discard(leave.id)
        self.waiting.discard(leave.id)
        ghost.history = History()
        self.counts["leaves"] += 1
        self.digest = (self.digest - ghost.hash) & MASK64
        ghost.hash = 0
        if ghost.parent is not None:
            self.children[ghost.parent].discard(leave.id)
            ghost.parent = None
        for child in self.children.pop(leave.id, ()):
            self.held[child].parent = None
            touched.add(child)
        if leave.kept:
            self.copies[leave.id] = ghost
            self.counts["kept"] += 1

    def resume(self, update, touched):
        ghost = self.copies[update.id]
        if ghost.kind != update.kind:
            raise Mismatch(f"the retained ghost {update.id} is of kind {ghost.kind}, but {update.kind} in its update")
        del self.copies[update.id]
        self.held[update.id] = ghost
        self.waiting.add(update.id)
        self.kind_of[update.id] = ghost.kind
        self.counts["resumed"] += 1
        self.counts[REASONS[update.link.reason]] += 1
        touched.add(update.id)

    def relink(self, update, ghost):
        parent, replicated = update.link[:2]
        if parent is not None and parent not in self.held:
            raise Mismatch(f"the new parent {parent} of ghost {update.id} is not held")
        self.link(update.id, parent)
        changed = {field for field, _ in update.changes}
        for i in self.kinds[ghost.kind].for_some:
            part = self.kinds[ghost.kind].parts[i]
            before, now = ghost.replicated >> i & 1, replicated >> i & 1
            if now and not before:
                self.counts["gained"] += 1
                if not changed.issuperset(part.fields()):
                    raise Mismatch(f"ghost {update.id}: part {i} becomes allowed, but is not sent completely")
            elif before and not now:
                self.counts["lost"] += 1
                if not part.keeps_values:
                    for field in part.fields():
                        ghost.values[field] = self.kinds[ghost.kind].zeros[field]
        ghost.replicated = replicated

    def link(self, local_id, parent):
        ghost = self.held[local_id]
        if ghost.parent is not None:
            self.children[ghost.parent].discard(local_id)
        ghost.parent = parent
        if parent is not None:
            self.children.setdefault(parent, set()).add(local_id)

    def update(self, update, touched):
        ghost = self.held[update.id]
        kind = self.kinds[ghost.kind]
        changed = {field for field, _ in update.changes}
        for i in kind.for_some:
            if not ghost.replicated >> i & 1 and not changed.isdisjoint(kind.parts[i].fields()):
                raise Mismatch(f"ghost {update.id}: part {i} changes although it is not allowed")
        self.set_values(update, ghost)
        self.counts["updates"] += 1
        touched.add(update.id)

    def set_values(self, item, ghost):
        types = self.kinds[ghost.kind].fields
        for field, words in item.changes:
            ghost.values[field] = words
            name = VALUE_COUNTS.get(types[field].name)
            if name is not None and (words != types[field].zero):
                self.counts[name] += 1
                if name == "references":
                    self.referrers.setdefault(words[0] - 1, set()).add((item.id, field))
        self.learn_motions(item, ghost)

    def rehash(self, touched):
        for local_id in touched:
            ghost = self.held.get(local_id)
            if ghost is None:
                continue
            kind = self.kinds[ghost.kind]
            h = combine(mix(local_id), ghost.kind)
            h = combine(h, 0 if ghost.parent is None else ghost.parent + 1)
            if kind.for_some:
                h = combine(h, ghost.replicated)
            for i, part in enumerate(kind.parts):
                if kind.is_allowed(i, ghost.replicated):
                    for field in part.fields():
                        for word in ghost.values[field]:
                            h = combine(h, word)
            self.digest = (self.digest - ghost.hash + h) & MASK64
            ghost.hash = h

    def state(self):
        """Returns the ghosts by id, as in a state message."""
        return {local_id: (ghost.kind, ghost.parent, ghost.replicated, tuple(ghost.values))
                for local_id, ghost in self.held.items()}


def read_state(reader, kinds):
    """Reads the ghosts of a state message, after the packet's number."""
    state = {}
    while reader.u(1):
        local_id = reader.u(32)
        index = reader.u(16)
        if local_id in state or local_id >= LOCAL_ID_END or index >= len(kinds):
            raise reader.wrong(f"ghost {local_id} of kind {index} in a state message")
        kind = kinds[index]
        parent = reader.u(32)
        replicated = reader.u(32) if kind.for_some else 0
        values = tuple(tuple(reader.u(32) for _ in range(field.words)) for field in kind.fields)
        state[local_id] = (index, None if parent == 0 else parent - 1, replicated, values)
    reader.finish()
    return state
