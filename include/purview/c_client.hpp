// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Purview authors

/// @file
/// For modules that add C++ to the C interface: games with client-side prediction.
#pragma once

#include "purview.h"
#include "purview/client.hpp"

namespace purview {

/// @addtogroup api_c
/// @{

/// Returns the client behind a handle; null for null. Valid as long as the handle, and never moved,
/// as Prediction requires.
Client* client_of(pv_client* handle) noexcept;

/// @}

}  // namespace purview
