// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Purview authors
//
// Ends a fuzz target with a message if a condition does not hold.
#pragma once

#include <cstdio>
#include <cstdlib>

namespace purview::test {

inline void require(bool holds, const char* what) {
    if (holds) return;
    std::fprintf(stderr, "%s\n", what);
    std::abort();
}

}  // namespace purview::test
