// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Purview authors
//
// The meaning of the columns of the block table. The columns of the caller's flags, keys and values
// come first, at the index of their ids.
#pragma once

#include <cstdint>

#include "purview/rules.hpp"
#include "purview/status.hpp"
#include "spatial/block_table.hpp"

namespace purview {

struct Columns {
    std::uint32_t flags = 0;  ///< the caller's
    std::uint32_t keys = 0;
    std::uint32_t values = 0;
    // Flags of the interest engine.
    std::uint32_t force_hidden = 0;
    std::uint32_t explicit_only = 0;
    std::uint32_t no_window = 0;         ///< force hidden or explicit only: not in windows
    std::uint32_t shown = 0;             ///< shown to all by an override
    std::uint32_t global_mode = 0;       ///< shown to all by its mode
    std::uint32_t shown_by_members = 0;  ///< shown to all by a member of its group
    std::uint32_t open = 0;              ///< shown to all by a node without steps
    std::uint32_t special = 0;           ///< denied to some observer
    std::uint32_t watched = 0;           ///< some observer views from it
    std::uint32_t more_keys = 0;         ///< it has keys besides the key column
    std::uint32_t bounded = 0;           ///< its group radius is above 0
    std::uint32_t changed = 0;  ///< moved or spawned in this tick; only with measure_scores
    std::uint32_t in_rows = 0;  ///< it is a member of some row that is not pulled
    // Numbers.
    std::uint32_t range = 0;   ///< its own range, or 0
    std::uint32_t bounds = 0;  ///< radius of its group, or 0

    static Columns add_to(BlockTable& table, const Rules& rules) {
        return add_to(table, static_cast<std::uint32_t>(rules.flag_names.size()),
                      static_cast<std::uint32_t>(rules.key_names.size()),
                      static_cast<std::uint32_t>(rules.value_names.size()));
    }
    static Columns add_to(BlockTable& table, std::uint32_t flags, std::uint32_t keys,
                          std::uint32_t values) {
        Columns c;
        c.flags = flags;
        c.keys = keys;
        c.values = values;
        for (std::uint32_t i = 0; i < flags; ++i) {
            const std::uint32_t column = table.add_flag_column();
            PURVIEW_ASSERT(column == i);  // indexed by FlagId
        }
        for (std::uint32_t i = 0; i < keys; ++i) {
            const std::uint32_t column = table.add_key_column();
            PURVIEW_ASSERT(column == i);  // indexed by KeyId
        }
        for (std::uint32_t i = 0; i < values; ++i) {
            const std::uint32_t column = table.add_float_column();
            PURVIEW_ASSERT(column == i);  // indexed by ValueId
        }
        for (std::uint32_t* column :
             {&c.force_hidden, &c.explicit_only, &c.no_window, &c.shown, &c.global_mode,
              &c.shown_by_members, &c.open, &c.special, &c.watched, &c.more_keys, &c.bounded,
              &c.changed, &c.in_rows}) {
            *column = table.add_flag_column();
        }
        c.range = table.add_float_column();
        c.bounds = table.add_float_column();
        return c;
    }
};

}  // namespace purview
