// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Purview authors
//
// For modules that add C++ of their own to the C interface: games that predict.
#pragma once

#include "purview.h"
#include "purview/client.hpp"

namespace purview {

/// The client behind a handle; lives as long as the handle, as what holds it (Prediction) asks.
/// Null for null.
Client* client_of(pv_client* handle) noexcept;

}  // namespace purview
