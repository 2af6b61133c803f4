// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Purview authors
//
// What an observer last saw of a ghost whose copy he keeps. He goes on with it by what differs from
// that: what was written while it was hidden, and is as it was, he may not hear of.
#pragma once

#include <vector>

#include "replication/field_store.hpp"
#include "replication/packet_records.hpp"

namespace purview {

class GhostTable;

struct KeptCopy {
    FieldMask unknown = 0;             ///< he is not known to have these as they are in `words`
    std::vector<std::uint32_t> words;  ///< of all parts of the kind, one after the other
};

/// Of a lane whose copy is kept from now on; the store has what the observer saw last.
KeptCopy make_copy(const FieldStore& fields, const GhostTable& ghosts, LocalId lane);
/// Of a lane that goes on with this copy: the fields that he is not known to have as they are now,
/// references aside.
FieldMask unknown_fields(const KeptCopy& copy, const FieldStore& fields, const GhostTable& ghosts,
                         LocalId lane) noexcept;

}  // namespace purview
