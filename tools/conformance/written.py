# SPDX-License-Identifier: Apache-2.0
# SPDX-FileCopyrightText: The Purview authors
"""What a server has written about ghosts, and what it knows to have arrived. Checks which ghosts a call may refer to,
and when the first view is complete."""

from bits import Mismatch

LINK = -1  # reason, parent, owner and allowed parts; the other keys are field numbers
ENTER = -2


class Written:
    def __init__(self):
        # By local id that a call may refer to: (value, packets) by part. `packets`: those with this value, while none of
        # them is acknowledged.
        self.parts = {}
        self.copies = {}  # the same for retained ghosts: acknowledgements from before the leave count
        self.leaving = set()  # ids with an unacknowledged last leave
        self.left = set()  # ids with a leave since the first tick
        self.first_tick = None
        self.first = set()  # local ids that entered in the first tick with a snapshot
        self.complete = False

    def write(self, packet, snapshot, kinds):
        for leave in snapshot.leaves:
            parts = self.parts.pop(leave.id, self.copies.pop(leave.id, {}))
            if leave.kept:
                parts.pop(LINK, None)
                self.copies[leave.id] = parts
            self.left.add(leave.id)
            self.leaving.add(leave.id)
        for enter in snapshot.enters:
            if enter.id in self.leaving:
                raise Mismatch(f"ghost {enter.id} enters, but the previous leave is not acknowledged")
            before = self.parts.get(enter.id, {}).get(LINK)
            if before is not None and before[0].reason != enter.link.reason:
                raise Mismatch(f"the enter of ghost {enter.id} is resent with another reason")
            parts = self.parts[enter.id] = {ENTER: (None, [packet]), LINK: (of_link(enter.link), [packet])}
            parts.update((field, (words, [packet])) for field, words in enter.changes)
        for update in (*snapshot.verbose, *snapshot.plain):
            link = getattr(update, "link", None)
            if link is not None:
                note(self.parts.setdefault(update.id, self.copies.pop(update.id, {})), LINK, of_link(link), packet)
            parts = self.parts.get(update.id)
            if parts is None:
                raise Mismatch(f"an update of ghost {update.id} after its leave was written")
            if link is not None:
                kind = kinds[update.kind]
                for part, its in enumerate(kind.parts):
                    if not kind.is_allowed(part, link.replicated):
                        for field in its.fields():
                            parts.pop(field, None)
            for field, words in update.changes:
                note(parts, field, words, packet)
        for update in snapshot.shared:
            parts = self.parts.get(update.id)
            if parts is None:
                continue  # its enter is not written yet
            for field, words in update.changes:
                note(parts, field, words, packet)
        if self.first_tick is None:
            self.first_tick = snapshot.tick_low
        if self.first_tick == snapshot.tick_low:
            self.first.update(enter.id for enter in snapshot.enters)

    def arrived(self, packet, snapshot):
        self.leaving.difference_update(leave.id for leave in snapshot.leaves)
        for item in (*snapshot.enters, *snapshot.verbose, *snapshot.plain, *snapshot.shared):
            parts = self.parts.get(item.id) or self.copies.get(item.id, {})
            for part in [part for part, (_, packets) in parts.items() if packet in packets]:
                # Acknowledged: the same value in a later packet changes nothing.
                parts[part] = (parts[part][0], ())

    def check_named(self, call, packet, status_known):
        """Checks that everything written about the ghost is acknowledged or in the same packet. An enter in flight is
        allowed, because the call waits for it. `status_known`: the newest packet with a known delivery status."""
        if call.ghost not in self.parts:
            raise Mismatch(f"a call about ghost {call.ghost}, which has not entered, or has left")
        parts = self.parts[call.ghost]
        enter = next(iter(parts.get(ENTER, (None, ()))[1]), 0)
        for part, (_, packets) in parts.items():
            if packets and packets[-1] != packet and (enter not in packets or enter <= status_known):
                raise Mismatch(f"a call about ghost {call.ghost}, of which part {part} was written in packet "
                               f"{packets[-1]} and is not acknowledged")

    def parents(self):
        """Returns the parents by local id, for all ghosts that entered and did not leave."""
        return {ghost: parts[LINK][0].parent for ghost, parts in self.parts.items()}

    def view_complete(self, held):
        if self.complete:
            raise Mismatch("a second view-complete message")
        self.complete = True
        missing = self.first - self.left - held.keys()
        if missing:
            raise Mismatch(f"view complete, but {len(missing)} ghosts of the first tick have "
                           f"neither been acknowledged nor left, such as {min(missing)}")


def of_link(link):
    """Returns the link without `whole`, which is a property of the group and not of the ghost."""
    return link._replace(whole=0)


def note(parts, part, value, packet):
    before, packets = parts.get(part, (None, ()))
    if value != before or part not in parts:
        parts[part] = (value, [packet])
    elif packets:
        parts[part] = (value, [*packets, packet])
