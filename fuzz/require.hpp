// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Purview authors
//
// How a fuzz target says that something does not hold.
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
