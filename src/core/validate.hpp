// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Purview authors
//
// Checks the invariants of a whole store, which is too expensive for every call. A store has `void
// validate() const`, which asserts them. PURVIEW_VALIDATE calls it in the builds in which
// PURVIEW_ASSERT evaluates its expression: debug and sanitizer builds, and those with
// PURVIEW_ASSERTS.
#pragma once

#include "purview/status.hpp"

#if !defined(NDEBUG) || defined(PURVIEW_ASSERTS)
#define PURVIEW_VALIDATE(store) ((store).validate())
#else
#define PURVIEW_VALIDATE(store) static_cast<void>(noexcept((store).validate()))
#endif
