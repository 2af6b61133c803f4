// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Purview authors
//
// The last state that an observer had of a retained ghost. When the ghost is resumed, the observer
// is sent what differs from that state. If a value was written while the ghost was hidden, but is
// the same again, the observer must not detect the write.
#pragma once

#include <vector>

#include "replication/field_store.hpp"
#include "replication/packet_records.hpp"

namespace purview {

class GhostTable;

struct RetainedCopy {
    FieldMask unknown = 0;             ///< fields that may differ from `words` on the client
    std::vector<std::uint32_t> words;  ///< of all parts of the kind, one after the other
};

/// Makes the copy for a slot that was just retained. The field store must still have the state that
/// the observer had last.
RetainedCopy make_copy(const FieldStore& fields, const GhostTable& ghosts, LocalId slot);
/// For a resumed slot with this copy, returns the fields whose current values the observer may not
/// have. References are not included.
FieldMask unknown_fields(const RetainedCopy& copy, const FieldStore& fields,
                         const GhostTable& ghosts, LocalId slot) noexcept;

}  // namespace purview
