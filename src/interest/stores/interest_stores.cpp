// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Purview authors
#include "interest/stores/interest_stores.hpp"

#include <algorithm>
#include <cstdint>
#include <span>

#include "core/validate.hpp"
#include "interest/rules/cell_side.hpp"
#include "purview/status.hpp"
#include "spatial/move.hpp"

namespace purview {

namespace {

/// Returns the largest reach of the kernels for entities of a range class.
float reach_of_class(const Program& program, const Rules& rules, std::size_t layer) {
    float reach = 0;
    for (const Spread& spread : program.spreads) {
        float radius = spread.enter;
        if (spread.range == RangeFrom::observer)
            radius = std::max(radius, rules.observer_range_max);
        if (spread.range == RangeFrom::entity && layer < rules.range_classes.size()) {
            radius = std::max(layer == 0 ? radius : 0.0F, rules.range_classes[layer]);
        }
        reach = std::max(reach, radius + spread.margin_m);
    }
    return reach;
}

}  // namespace

InterestStores::InterestStores(const Rules& given, const LogSink& log, WindowUpdate update)
    : rules(given),
      names{given.flag_names, given.key_names, given.value_names},
      warnings(log),
      table(given.axes == Axes::xyz),
      observers(given.observers_max),
      window_update(update),
      push(given.axes == Axes::xyz, exchanged(given.axes, given.min),
           exchanged(given.axes, given.max)),
      workers(1) {
    const bool three_d = table.is_three_d();
    const Vec3 min = exchanged(rules.axes, rules.min), max = exchanged(rules.axes, rules.max);
    facts_table.axes = rules.axes;
    // Cell sizes need the program, the program needs columns, and columns need cells. So this
    // program has no columns.
    const Program sized = compile(rules, names, [](std::span<const NodeId>) { return 0U; });
    const std::size_t classes = std::max<std::size_t>(rules.range_classes.size(), 1);
    for (std::size_t layer = 0; layer < classes; ++layer)
        table.add_layer(min, max, cell_side(rules, three_d, reach_of_class(sized, rules, layer)));
    if (rules.group_radius_max > 0) {
        layers.bounds = static_cast<std::uint32_t>(classes);
        const float reach = reach_of_class(sized, rules, classes - 1) + rules.group_radius_max;
        table.add_layer(min, max, cell_side(rules, three_d, reach));
    }
    layers.abstract = table.add_abstract_layer();
    PURVIEW_ASSERT(layers.abstract + 1 == table.layers().size());
    table.reserve(rules.entities_expected);
    facts_table.columns = Columns::add_to(table, rules);
    if (rules.measure_scores) table.note_moves(facts_table.columns.changed);
}

void InterestStores::validate() const {
    PURVIEW_VALIDATE(observers);
    PURVIEW_VALIDATE(groups);
    PURVIEW_VALIDATE(position_sources);
    PURVIEW_VALIDATE(minimum_relevance);
    PURVIEW_VALIDATE(order);
    PURVIEW_VALIDATE(changes);
    PURVIEW_VALIDATE(events);
    PURVIEW_VALIDATE(pairs);
    for (const RowStore& store : rows) PURVIEW_VALIDATE(store);
    PURVIEW_VALIDATE(splits);
    PURVIEW_VALIDATE(views);
    PURVIEW_VALIDATE(facts_table.bindings);
    PURVIEW_VALIDATE(facts_table.more_keys);
    PURVIEW_ASSERT(rows.size() == program.rows.size());
    PURVIEW_ASSERT(custom_nodes.size() == program.custom_nodes.size());
    for (std::uint32_t o = 0; o < observers.size(); ++o) {
        const Observer& observer = observers[o];
        const auto& read = observer.rows;
        PURVIEW_ASSERT(
            observer.main == EntityId::none ||
            (table.slot_of(observer.main) != no_slot || groups.is_member(observer.main)));
        PURVIEW_ASSERT(std::is_sorted(read.begin(), read.end()));
        PURVIEW_ASSERT(read.empty() || read.back().source < rows.size());
        if (!observer.ready) continue;
        const Window& window = observer.window;
        PURVIEW_ASSERT(order.contains(o));
        PURVIEW_VALIDATE(window);
        PURVIEW_ASSERT(window.masks().size() ==
                       (std::size_t{1} + program.plane_count) * window.size());
    }
    const Columns& columns = facts_table.columns;
    const auto count = [&](std::uint32_t column) {
        std::uint32_t lanes = 0;
        for (const Mask mask : table.flags(column)) lanes += count_lanes(mask);
        return lanes;
    };
    PURVIEW_ASSERT(count(columns.open) == counts.open);
    PURVIEW_ASSERT(count(columns.shown) + count(columns.global_mode) +
                       count(columns.shown_by_members) ==
                   counts.shown);
    PURVIEW_ASSERT(count(columns.no_window) == counts.no_window);
    PURVIEW_ASSERT(count(columns.bounded) == counts.bounded);
}

}  // namespace purview
