// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Purview authors
//
// Invariants of a whole store, too expensive for every call. A store has `void validate() const`,
// which asserts them; PURVIEW_VALIDATE calls it exactly where PURVIEW_ASSERT evaluates its
// expression: in debug and sanitizer builds, and with PURVIEW_ASSERTS.
#pragma once

#include "purview/status.hpp"

#if !defined(NDEBUG) || defined(PURVIEW_ASSERTS)
#define PURVIEW_VALIDATE(store) ((store).validate())
#else
#define PURVIEW_VALIDATE(store) static_cast<void>(noexcept((store).validate()))
#endif
