// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Purview authors
//
// Lists that are filled anew every tick keep their storage, but not for ever the storage of the one
// tick in which everybody came.
#pragma once

#include <algorithm>
#include <cstddef>

namespace purview {

/// Of a list that has any, in entries.
inline constexpr std::size_t least_room = 32;

/// Forgets what is in the list. Storage far larger than what was in it is given back; one that was
/// nearly full grows now, so that ticks which are much alike need no memory. Long lists differ less
/// from tick to tick than short ones, and room for them costs more.
template <class Vector>
void clear_and_trim(Vector& list) {
    constexpr std::size_t long_bytes = 64 * 1024, grown_bytes_max = 1024 * 1024;
    const std::size_t used = list.size(), used_bytes = used * sizeof(list[0]);
    const bool is_long = used_bytes > long_bytes;
    const std::size_t room = is_long ? used + used / 4 : 3 * used;
    const std::size_t least = is_long ? used + used / 8 : 2 * used;
    const std::size_t most = is_long ? 8 * used : 32 * used;
    list.clear();
    const bool is_far_too_long =
        list.capacity() * sizeof(list[0]) > long_bytes && list.capacity() > most;
    const bool is_short = list.capacity() < least && used_bytes <= grown_bytes_max;
    if (is_far_too_long || is_short) {
        Vector fresh;
        fresh.reserve(used == 0 ? 0 : std::max(room, least_room));
        list.swap(fresh);
    }
}

/// As push_back; the first makes room for some.
template <class Vector>
void append(Vector& list, const typename Vector::value_type& value) {
    if (list.capacity() == 0) list.reserve(least_room);
    list.push_back(value);
}

/// Room for n, and when there is none, for as many again: for lists whose length differs from use
/// to use.
template <class Vector>
void reserve_for(Vector& list, std::size_t n) {
    if (list.capacity() < n) list.reserve(2 * n);
}

}  // namespace purview
