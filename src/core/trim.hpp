// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Purview authors
//
// Lists that are filled anew every tick keep their storage, but not for ever the storage of the one
// tick in which everybody came.
#pragma once

#include <cstddef>

namespace purview {

/// Forgets what is in the list; gives back storage that is far larger than what was in it.
template <class Vector>
void clear_and_trim(Vector& list) {
    constexpr std::size_t kept_bytes = 64 * 1024, slack = 32;
    const std::size_t used = list.size();
    list.clear();
    if (list.capacity() * sizeof(list[0]) > kept_bytes && list.capacity() > slack * used) {
        Vector fresh;
        fresh.reserve(2 * used);
        list.swap(fresh);
    }
}

}  // namespace purview
