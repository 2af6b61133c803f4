// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Purview authors
#pragma once

#include "interest/make_manager.hpp"

namespace purview::test {

using purview::make_manager;

}  // namespace purview::test
