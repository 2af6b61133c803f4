// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Purview authors
//
// Whether the program's schema matches the server's. Compares the schema that the server sent, not
// only its hash, because a server can forge the hash.
//
// Invariants: the cached result is about `compared_`.
#pragma once

#include <cstdint>

#include "protocol/schema_codec.hpp"
#include "purview/schema.hpp"

namespace purview {

class SchemaMatch {
  public:
    std::uint64_t server_hash = 0;  ///< as sent by the server

    /// Whether ids of `own` have the same meaning in `server`. `own_hash`: hash of `own`.
    bool is_same(const Schema& own, std::uint64_t own_hash, const Schema& server) const {
        if (own_hash != server_hash) return false;
        if (compared_ != &own) {
            compared_ = &own;
            is_same_ = are_same_on_the_wire(own, server);
        }
        return is_same_;
    }

  private:
    mutable const Schema* compared_ = nullptr;
    mutable bool is_same_ = false;
};

}  // namespace purview
