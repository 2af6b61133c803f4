// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Purview authors
//
// A correction as it stands in its message (PROTOCOL.md, "Messages"), read by a client. A server's
// bytes are a stranger's: what is not a correction to its last bit is none, and nothing of it
// counts. Must not know: ghosts, and what was predicted.
#pragma once

#include <cstddef>
#include <span>

#include "client/reconcile.hpp"

namespace purview {

/// `message`: behind its type. `newest`: the last command given; a correction is of it or of an
/// older one. False: it is not a correction, and `out` has no members.
[[nodiscard]] bool read_correction(const Schema& schema, const PredictedLayout& layout,
                                   InputNumber newest, std::span<const std::byte> message,
                                   Correction& out);

}  // namespace purview
