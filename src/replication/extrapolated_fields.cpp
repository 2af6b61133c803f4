// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Purview authors
#include "replication/extrapolated_fields.hpp"

#include <algorithm>
#include <bit>

#include "core/mutate.hpp"
#include "protocol/quantize.hpp"

namespace purview {

bool is_prediction_wrong(const FieldStore& fields, const GhostTable& ghosts, LocalId slot,
                         Tick tick) noexcept {
    const std::uint32_t index = ghosts.slots().entity_index(slot);
    const KindLayout& layout = fields.layout(ghosts.slots().kind(slot));
    const auto shown = ghosts.motions().shown(slot);
    PURVIEW_ASSERT(shown.size() == static_cast<std::size_t>(std::popcount(layout.extrapolated)));
    PURVIEW_ASSERT(ghosts.motions().shown_tick(slot) <= tick);
    const Tick ticks = tick - ghosts.motions().shown_tick(slot);
    const Motion* motion = shown.data();
    bool wrong = false;
    for_each_bit(layout.extrapolated, 0, [&](std::size_t f) {
        const KindField& field = layout.fields[f];
        wrong |= extrapolated_value(*motion++, ticks, field.largest) != *fields.words(index, field);
    });
    return wrong;
}

bool needs_update(const FieldStore& fields, const GhostTable& ghosts, LocalId slot,
                  Tick tick) noexcept {
    if (is_prediction_wrong(fields, ghosts, slot, tick)) return true;
    const std::uint32_t index = ghosts.slots().entity_index(slot);
    if (!fields.changed().test(index)) return false;
    const KindId kind = ghosts.slots().kind(slot);
    const KindLayout& layout = fields.layout(kind);
    return fields.has_changed(
        index, layout.fields_of(ghosts.audience().allowed(slot)) & ~layout.extrapolated, tick);
}

bool has_baseline(const GhostTable& ghosts, LocalId slot, Tick tick) noexcept {
    const Tick resolved = ghosts.sends().resolved_tick();
    PURVIEW_ASSERT(resolved <= tick);
    const Tick acknowledged = ghosts.motions().acknowledged_tick(slot);
    return ghosts.slots().is_held(slot) && !ghosts.sends().is_away(slot) && acknowledged != 0 &&
           acknowledged <= resolved &&
           PURVIEW_GUARD(baseline_is_kept, tick - resolved <= baseline_ticks_max);
}

bool has_become_idle(const FieldStore& fields, const GhostTable& ghosts, LocalId slot,
                     Tick tick) noexcept {
    const std::uint32_t index = ghosts.slots().entity_index(slot);
    const KindLayout& layout = fields.layout(ghosts.slots().kind(slot));
    Tick changed = 0;
    for_each_bit(layout.extrapolated, 0, [&](std::size_t f) {
        changed = std::max(changed, fields.changed_tick(index, layout.fields[f]));
    });
    const auto shown = ghosts.motions().shown(slot);
    return std::any_of(shown.begin(), shown.end(), [&](const Motion& motion) {
        const std::int64_t speed = motion.speed;
        return (speed < 0 ? -speed : speed) * (tick - changed) >= 1 << 16;
    });
}

void append_idle_states(const FieldStore& fields, std::uint32_t entity_index,
                        const KindLayout& layout, std::vector<Motion>& motions) {
    for_each_bit(layout.extrapolated, 0, [&](std::size_t f) {
        motions.push_back(motion_at(*fields.words(entity_index, layout.fields[f])));
    });
}

EncodedFields encode_differences(const FieldStore& fields, const GhostTable& ghosts, LocalId slot,
                                 FieldMask mask, Tick tick, EncodeCache& cache,
                                 std::vector<Motion>& motions) {
    const std::uint32_t index = ghosts.slots().entity_index(slot);
    const KindLayout& layout = fields.layout(ghosts.slots().kind(slot));
    const auto before = ghosts.motions().acknowledged(slot);
    const Tick ticks = tick - ghosts.motions().acknowledged_tick(slot);
    PURVIEW_ASSERT((mask & layout.extrapolated) == 0);
    PURVIEW_ASSERT(has_baseline(ghosts, slot, tick));
    PURVIEW_ASSERT(before.size() == static_cast<std::size_t>(std::popcount(layout.extrapolated)));
    return cache.own(layout.body_bits_max + 1, [&](BitWriter& out) {
        if (layout.all != layout.extrapolated) out.boolean(mask != 0);
        for (std::size_t p = 0; mask != 0 && p < layout.parts.size(); ++p) {
            const FieldMask others = layout.parts[p].fields & ~layout.extrapolated;
            const FieldMask wanted = mask & others;
            if (others == 0) continue;
            out.boolean(wanted != 0);
            if (wanted == 0) continue;
            if (std::popcount(others) > 1) {
                out.boolean(wanted == others);
                if (wanted != others)
                    for_each_bit(others, 0, [&](std::size_t f) { out.boolean(wanted >> f & 1U); });
            }
            for_each_bit(wanted & ~layout.references, 0, [&](std::size_t f) {
                write_words(*layout.fields[f].def, fields.words(index, layout.fields[f]), out);
            });
        }
        const Motion* motion = before.data();
        for_each_bit(layout.extrapolated, 0, [&](std::size_t f) {
            const KindField& field = layout.fields[f];
            const std::uint32_t value = *fields.words(index, field);
            const std::uint32_t extrapolated = extrapolated_value(*motion, ticks, field.largest);
            write_difference(
                static_cast<std::int32_t>(value) - static_cast<std::int32_t>(extrapolated),
                difference_parameter(*motion), out);
            motions.push_back(next_motion(*motion, ticks, value, field.largest));
            ++motion;
        });
        PURVIEW_ASSERT(out.bits_written() <= layout.body_bits_max + 1);
    });
}

}  // namespace purview
