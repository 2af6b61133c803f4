// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Purview authors
//
// A server that begins with another system's defaults (profile.hpp).
#pragma once

#include "purview/profile.hpp"
#include "purview/server.hpp"

namespace purview {

/// For Server::create: whatever an InterestDef says that a ServerDef says, too. The schema, the
/// secret and what else a server needs are the caller's to add. Any thread.
ServerDef server_profile(Profile profile);

}  // namespace purview
