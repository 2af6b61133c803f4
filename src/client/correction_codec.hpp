// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Purview authors
//
// Reads a correction from its message (PROTOCOL.md, "Messages"). The server's bytes are untrusted:
// a message that is not valid to its last bit is refused as a whole.
//
// Must not know: ghosts, predicted states.
#pragma once

#include <cstddef>
#include <span>

#include "client/reconcile.hpp"

namespace purview {

/// `message`: without its type byte. `newest`: number of the newest input; a correction is for it
/// or an older one. Returns false, with no members in `out`, if the message is malformed.
[[nodiscard]] bool read_correction(const Schema& schema, const PredictedLayout& layout,
                                   InputNumber newest, std::span<const std::byte> message,
                                   Correction& out);

}  // namespace purview
