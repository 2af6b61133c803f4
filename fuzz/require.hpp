// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Purview authors
//
// Reports a failed condition of a fuzz target.
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
