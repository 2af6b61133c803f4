# SPDX-License-Identifier: Apache-2.0
# SPDX-FileCopyrightText: The Purview authors
"""What a server has written of its ghosts, and knows to have arrived: which of them a call may name, and
when the first view is complete."""

from bits import Mismatch

LINK = -1  # reason, parent, owner, and what is told, beside the numbers of fields
ENTER = -2


class Written:
    def __init__(self):
        # By local id that may be named: what of it is not known to have arrived, and in which packets it
        # was since it is what it is: (value, packets).
        self.parts = {}
        self.copies = {}  # the same, of those that are kept: what arrived before the leave counts
        self.leaving = set()  # ids whose last leave is not known to have arrived
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
                raise Mismatch(f"ghost {enter.id} enters, and no leave of the one before is known to have arrived")
            before = self.parts.get(enter.id, {}).get(LINK)
            if before is not None and before[0].reason != enter.link.reason:
                raise Mismatch(f"the enter of ghost {enter.id} again, with another reason")
            parts = self.parts[enter.id] = {ENTER: (None, [packet]), LINK: (of_link(enter.link), [packet])}
            parts.update((field, (words, [packet])) for field, words in enter.changes)
        for update in (*snapshot.verbose, *snapshot.plain):
            link = getattr(update, "link", None)
            if link is not None:
                note(self.parts.setdefault(update.id, self.copies.pop(update.id, {})), LINK, of_link(link), packet)
            parts = self.parts.get(update.id)
            if parts is None:
                raise Mismatch(f"an update of ghost {update.id}, whose leave was written")
            if link is not None:
                kind = kinds[update.kind]
                for part, its in enumerate(kind.parts):
                    if not kind.is_told(part, link.told):
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
                # Known: the same value in a later packet says nothing new.
                parts[part] = (parts[part][0], ())

    def check_named(self, call, packet, told):
        """With a call, or known to have arrived, is all that was ever written of its ghost; but an enter
        that is under way, for which the call waits if it is lost. `told`: packets with a known fate."""
        if call.ghost not in self.parts:
            raise Mismatch(f"a call about ghost {call.ghost}, which has not entered, or has left")
        parts = self.parts[call.ghost]
        enter = next(iter(parts.get(ENTER, (None, ()))[1]), 0)
        for part, (_, packets) in parts.items():
            if packets and packets[-1] != packet and (enter not in packets or enter <= told):
                raise Mismatch(f"a call about ghost {call.ghost}, of which part {part} was written in packet "
                               f"{packets[-1]} and is not known to have arrived")

    def parents(self):
        """By local id, of all that entered and did not leave."""
        return {ghost: parts[LINK][0].parent for ghost, parts in self.parts.items()}

    def view_complete(self, held):
        if self.complete:
            raise Mismatch("the view is complete twice")
        self.complete = True
        missing = self.first - self.left - held.keys()
        if missing:
            raise Mismatch(f"the view is called complete, and {len(missing)} ghosts of the first tick have "
                           f"neither been acknowledged nor left, {min(missing)} is one")


def of_link(link):
    """That a group is whole is not news of the ghost that says it."""
    return link._replace(whole=0)


def note(parts, part, value, packet):
    before, packets = parts.get(part, (None, ()))
    if value != before or part not in parts:
        parts[part] = (value, [packet])
    elif packets:
        parts[part] = (value, [*packets, packet])
