// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Purview authors
//
// One item of a snapshot, decoded and not yet applied.
#pragma once

#include <cstdint>

#include "protocol/local_id.hpp"
#include "protocol/schema_codec.hpp"
#include "purview/types.hpp"

namespace purview {

struct GhostEdit {
    enum class Type : std::uint8_t { leave, enter, update } type;
    LocalId ghost;
    KindId kind{};
    Reason reason{};  ///< reason of the leave or enter; for a link: of the enter
    Retention policy = Retention::despawn;
    bool relink = false;
    bool shared = false;  ///< part of a shared cell payload
    bool owned = false;
    bool whole = true;
    LocalId parent = no_local_id;
    std::uint32_t allowed = all_allowed;
    FieldMask mask = 0;
    std::uint32_t words_at = 0;  ///< SnapshotDecoder::words
    static constexpr std::uint32_t no_motions = ~std::uint32_t{0};
    /// Index of the predictor states in the decoder, for values sent as differences; no_motions:
    /// the values are absolute.
    std::uint32_t motions_at = no_motions;

    bool is_linking() const noexcept { return type == Type::enter || relink; }
    /// The parent of the link; no_local_id if the ghost is linked to itself.
    LocalId linked_parent() const noexcept { return parent == ghost ? no_local_id : parent; }
};

}  // namespace purview
