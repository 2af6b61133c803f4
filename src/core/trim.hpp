// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Purview authors
//
// Helpers for lists that are filled again every tick. They keep their storage from tick to tick,
// but not the peak storage of one unusual tick.
#pragma once

#include <algorithm>
#include <cstddef>

namespace purview {

/// Minimum capacity of a list with storage, in entries.
inline constexpr std::size_t least_room = 32;

/// Clears the list. Releases storage that is far larger than the contents were, and grows storage
/// that was nearly full, so that similar ticks do not allocate. Long lists get less spare room,
/// because their lengths vary less and their room costs more.
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

/// Like push_back, but the first element reserves room for `least_room` entries.
template <class Vector>
void append(Vector& list, const typename Vector::value_type& value) {
    if (list.capacity() == 0) list.reserve(least_room);
    list.push_back(value);
}

/// Reserves room for n entries. A list that has to grow reserves twice as much, because its length
/// varies from use to use.
template <class Vector>
void reserve_for(Vector& list, std::size_t n) {
    if (list.capacity() < n) list.reserve(2 * n);
}

}  // namespace purview
