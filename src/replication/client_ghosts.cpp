// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Purview authors
#include "replication/client_ghosts.hpp"

#include <algorithm>
#include <cstring>

#include "core/hash.hpp"
#include "replication/snapshot_writer.hpp"
#include "wire/quantise.hpp"

namespace purview {

ClientGhosts::ClientGhosts(Schema schema)
    : schema_(std::move(schema)), kind_bits_(bits_for(schema_.kinds().size() - 1)) {
    for (std::uint16_t k = 0; k < schema_.kinds().size(); ++k) {
        kinds_.push_back(fields_of(schema_, KindId{k}));
        stride_ = std::max(stride_, kinds_.back().size());
    }
}

// -- decode: bytes to edits, nothing applied ----------------------------------------------------

bool ClientGhosts::known_kind(BitReader& in, Edit& edit) {
    const auto kind = in.bits(kind_bits_);
    if (kind >= kinds_.size()) {
        in.fail();
        return false;
    }
    edit.kind = KindId{static_cast<std::uint16_t>(kind)};
    return true;
}

bool ClientGhosts::decode_link(BitReader& in, Edit& edit) {
    edit.owned = in.boolean();
    if (in.boolean()) edit.parent = static_cast<LocalId>(in.varint_max(local_ids_max));
    return in.ok();
}

void ClientGhosts::decode_values(BitReader& in, const Edit& edit) {
    const auto& list = kinds_[index_of(edit.kind)];
    for_each_bit(edit.mask, 0, [&](std::size_t f) {
        staged_values_.push_back(static_cast<std::uint32_t>(in.bits(list[f].wire_bits)));
    });
}

bool ClientGhosts::decode_full(BitReader& in, Edit& edit) {
    const std::size_t count = kinds_[index_of(edit.kind)].size();
    edit.mask = count == 64 ? ~std::uint64_t{0} : (std::uint64_t{1} << count) - 1;
    edit.values_at = static_cast<std::uint32_t>(staged_values_.size());
    decode_values(in, edit);
    return in.ok();
}

bool ClientGhosts::decode_update(BitReader& in, Edit& edit) {
    const auto& components = schema_.kinds()[index_of(edit.kind)].components;
    edit.mask = 0;
    edit.values_at = static_cast<std::uint32_t>(staged_values_.size());
    std::size_t first = 0;
    for (const ComponentId component : components) {
        const std::size_t count = schema_.components()[index_of(component)].fields.size();
        if (count == 0) continue;
        const std::uint64_t all = count == 64 ? ~std::uint64_t{0} : (std::uint64_t{1} << count) - 1;
        std::uint64_t part = 0;
        if (components.size() == 1 || in.boolean()) {
            part = count == 1 || in.boolean() ? all : in.bits(static_cast<unsigned>(count));
        }
        Edit slice = edit;
        slice.mask = part << first;
        decode_values(in, slice);
        edit.mask |= part << first;
        first += count;
    }
    return in.ok();
}

bool ClientGhosts::decode(BitReader& in) {
    edits_.clear();
    staged_values_.clear();
    const auto section = [&](auto&& decode_item, bool plain) {
        // An item has at least four bits before its body: no count can be larger than that.
        const auto count = in.varint_max(in.bits_left() / 2 + 1);
        const auto k = plain && count > 0 ? static_cast<unsigned>(in.bits(4)) : 0U;
        LocalId expected = 0;
        for (std::uint64_t i = 0; i < count && in.ok(); ++i) {
            const auto gap = plain ? in.rice(k, local_ids_max) : in.varint_max(local_ids_max);
            Edit edit{};
            edit.ghost = expected + static_cast<LocalId>(gap);
            if (edit.ghost >= local_ids_max) in.fail();
            expected = edit.ghost + 1;
            if (in.ok() && decode_item(edit)) edits_.push_back(edit);
        }
    };
    section(
        [&](Edit& edit) {
            edit.type = Edit::Type::leave;
            edit.reason = static_cast<Reason>(in.bits(leave_reason_bits));
            return in.ok();
        },
        false);
    section(
        [&](Edit& edit) {
            edit.type = Edit::Type::enter;
            if (is_held(edit.ghost)) in.fail();  // an id is free before it is used again
            return known_kind(in, edit) && decode_link(in, edit) && decode_full(in, edit);
        },
        false);
    const auto enters_here = [this](LocalId ghost) {
        return std::any_of(edits_.begin(), edits_.end(), [ghost](const Edit& edit) {
            return edit.type == Edit::Type::enter && edit.ghost == ghost;
        });
    };
    section(
        [&](Edit& edit) {
            edit.type = Edit::Type::update;
            if (!known_kind(in, edit)) return false;
            edit.relink = in.boolean();
            if (edit.relink && !decode_link(in, edit)) return false;
            if (is_held(edit.ghost) ? kind(edit.ghost) != edit.kind : enters_here(edit.ghost))
                in.fail();
            return decode_update(in, edit);
        },
        false);
    section(
        [&](Edit& edit) {
            edit.type = Edit::Type::update;
            if (!is_held(edit.ghost)) {
                in.fail();
                return false;
            }
            edit.kind = kind(edit.ghost);
            return decode_update(in, edit);
        },
        true);
    return in.ok();
}

// -- apply --------------------------------------------------------------------------------------

bool ClientGhosts::read(BitReader& in) {
    tick_low_ = static_cast<std::uint16_t>(in.bits(wire_tick_bits));
    if (decode(in)) return true;
    ++counters_.malformed;
    return false;
}

void ClientGhosts::accept(Tick& newest) {
    const auto ahead = static_cast<std::int16_t>(tick_low_ - static_cast<std::uint16_t>(newest));
    const Tick tick = newest + static_cast<Tick>(ahead);
    apply(tick);
    newest = std::max(newest, tick);
    ++counters_.snapshots;
}

void ClientGhosts::remove(LocalId ghost, Reason reason) {
    for (LocalId child = 0; child < ghosts_.size(); ++child) {
        if (ghosts_[child].held && ghosts_[child].parent == ghost)
            ghosts_[child].parent = no_local_id;
    }
    ghosts_[ghost].held = false;
    --count_;
    events_.push_back({ghost, ghosts_[ghost].kind, reason, false});
}

bool ClientGhosts::is_ready(const Edit& edit) const noexcept {
    return edit.parent == no_local_id || is_held(edit.parent);
}

void ClientGhosts::enter(const Edit& edit, Tick tick) {
    if (edit.ghost >= ghosts_.size()) {
        ghosts_.resize((edit.ghost / bits_per_word + 1) * bits_per_word);
        values_.resize(ghosts_.size() * stride_, 0);
    }
    PURVIEW_ASSERT(!ghosts_[edit.ghost].held);
    Ghost& ghost = ghosts_[edit.ghost];
    ghost = Ghost{};
    ghost.held = true;
    ghost.kind = edit.kind;
    ghost.owned = edit.owned;
    ghost.parent = edit.parent;
    ++count_;
    events_.push_back({edit.ghost, edit.kind, Reason::entered, true});
    apply_values(edit, tick);
}

void ClientGhosts::apply_values(const Edit& edit, Tick tick) {
    Ghost& ghost = ghosts_[edit.ghost];
    std::uint32_t at = edit.values_at;
    bool moved = ghost.samples == 0;
    const auto& list = kinds_[index_of(ghost.kind)];
    for_each_bit(edit.mask, 0, [&](std::size_t f) {
        values_[edit.ghost * stride_ + f] = staged_values_[at++];
        moved |= list[f].component == schema_.place();
    });
    if (moved && has_place(edit.ghost)) {
        // It stood still until the tick before: interpolation must not smear the pause.
        if (ghost.samples > 0 && ghost.sample[0].tick + 1 < tick && ghost.updated + 1 < tick) {
            std::copy_backward(ghost.sample, ghost.sample + samples_max - 1,
                               ghost.sample + samples_max);
            ghost.sample[0].tick = tick - 1;
            ghost.samples =
                static_cast<std::uint8_t>(std::min<std::size_t>(ghost.samples + 1U, samples_max));
        }
        std::copy_backward(ghost.sample, ghost.sample + samples_max - 1,
                           ghost.sample + samples_max);
        ghost.sample[0] = {tick, decode_place(edit.ghost)};
        ghost.samples =
            static_cast<std::uint8_t>(std::min<std::size_t>(ghost.samples + 1U, samples_max));
    }
    ghost.updated = tick;
}

void ClientGhosts::apply(Tick tick) {
    // Leaves, children before parents: whoever has nobody below it in the list goes first.
    const auto depth = [&](LocalId ghost) {
        unsigned d = 0;
        for (; d < 64 && ghosts_[ghost].parent != no_local_id && is_held(ghosts_[ghost].parent);
             ++d) {
            ghost = ghosts_[ghost].parent;
        }
        return d;
    };
    auto leaves_end = std::find_if(edits_.begin(), edits_.end(),
                                   [](const Edit& e) { return e.type != Edit::Type::leave; });
    const auto known = std::stable_partition(edits_.begin(), leaves_end,
                                             [&](const Edit& e) { return is_held(e.ghost); });
    counters_.ignored_items += static_cast<std::uint64_t>(leaves_end - known);
    ignored_leaves_.clear();
    for (auto edit = known; edit != leaves_end; ++edit) ignored_leaves_.push_back(edit->ghost);
    std::stable_sort(edits_.begin(), known,
                     [&](const Edit& a, const Edit& b) { return depth(a.ghost) > depth(b.ghost); });
    for (auto edit = edits_.begin(); edit != known; ++edit) remove(edit->ghost, edit->reason);

    const auto enters_end = std::find_if(
        leaves_end, edits_.end(), [](const Edit& e) { return e.type == Edit::Type::update; });
    for (auto waiting = leaves_end; waiting != enters_end;) {
        const auto ready =
            std::stable_partition(waiting, enters_end, [&](const Edit& e) { return is_ready(e); });
        if (ready == waiting) {  // their parents are not here: the server must not do this
            counters_.order_violations += static_cast<std::uint64_t>(enters_end - waiting);
            for (; waiting != enters_end; ++waiting) enter(*waiting, tick);
            break;
        }
        for (; waiting != ready; ++waiting) enter(*waiting, tick);
    }

    for (auto edit = enters_end; edit != edits_.end(); ++edit) {
        if (!is_held(edit->ghost)) {
            ++counters_.ignored_items;
            continue;
        }
        if (edit->relink) {
            ghosts_[edit->ghost].owned = edit->owned;
            ghosts_[edit->ghost].parent = edit->parent;
            if (!is_ready(*edit)) ++counters_.order_violations;
        }
        apply_values(*edit, tick);
    }
}

// -- reading ------------------------------------------------------------------------------------

bool ClientGhosts::has_place(LocalId ghost) const noexcept {
    if (schema_.place() == ComponentId::none) return false;
    for (const KindField& field : kinds_[index_of(ghosts_[ghost].kind)]) {
        if (field.component == schema_.place()) return true;
    }
    return false;
}

Vec3 ClientGhosts::decode_place(LocalId ghost) const noexcept {
    Vec3 place;
    const auto& def = schema_.components()[index_of(schema_.place())];
    const auto& list = kinds_[index_of(ghosts_[ghost].kind)];
    for (std::size_t f = 0; f < list.size(); ++f) {
        if (list[f].component != schema_.place()) continue;
        const FieldDef& field = def.fields[list[f].field];
        if (field.offset_bytes >= sizeof(Vec3)) continue;
        const auto value =
            static_cast<float>(dequantised_value(field, values_[ghost * stride_ + f]));
        std::memcpy(reinterpret_cast<std::byte*>(&place) + field.offset_bytes, &value,
                    sizeof value);
    }
    return place;
}

Vec3 ClientGhosts::place_at(LocalId ghost, double tick) const noexcept {
    const Ghost& g = ghosts_[ghost];
    if (g.samples == 0) return {};
    if (tick >= g.sample[0].tick) return g.sample[0].place;
    for (std::size_t i = 1; i < g.samples; ++i) {
        const PlaceSample& from = g.sample[i];
        if (tick < from.tick) continue;
        const PlaceSample& to = g.sample[i - 1];
        const auto t = static_cast<float>((tick - from.tick) / (to.tick - from.tick));
        return {from.place.x + (to.place.x - from.place.x) * t,
                from.place.y + (to.place.y - from.place.y) * t,
                from.place.z + (to.place.z - from.place.z) * t};
    }
    return g.sample[g.samples - 1].place;
}

std::uint64_t ClientGhosts::digest() const noexcept {
    std::uint64_t sum = 0;
    for (LocalId ghost = 0; ghost < ghosts_.size(); ++ghost) {
        if (!ghosts_[ghost].held) continue;
        std::uint64_t hash = combine64(mix64(ghost), index_of(ghosts_[ghost].kind));
        hash =
            combine64(hash, ghosts_[ghost].parent == no_local_id ? 0 : ghosts_[ghost].parent + 1U);
        for (const std::uint32_t value : values(ghost)) hash = combine64(hash, value);
        sum += hash;
    }
    return sum;
}

}  // namespace purview
