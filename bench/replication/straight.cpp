// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Purview authors
#include "replication/straight.hpp"

#include <algorithm>
#include <cmath>

#include "common/machine.hpp"
#include "protocol/bit_writer.hpp"
#include "protocol/quantize.hpp"

namespace purview::bench {

namespace {

constexpr std::size_t header_bytes = 4;  // sequence number, tick

/// Calls visit(field, data) for each field of the kind, with its component's values.
template <class Visit>
void for_each_field(const Schema& schema, const World& world, EntityId entity, KindId kind,
                    Visit&& visit) {
    for (const ComponentId id : schema.kinds()[index_of(kind)].components) {
        const auto* data = static_cast<const std::byte*>(world.read(entity, id));
        for (const FieldDef& field : schema.components()[index_of(id)].fields) visit(field, data);
    }
}

}  // namespace

// -- straight -------------------------------------------------------------------------------------

StraightEncoder::StraightEncoder(const Schema& schema, const Def& def)
    : schema_(&schema), def_(def), out_(1 << 20), random_(5) {
    for (const auto& kind : schema.kinds()) {
        std::size_t words = 0;
        for (const ComponentId id : kind.components)
            words += schema.components()[index_of(id)].fields.size();
        words_ = std::max(words_, words);
    }
}

EncodeCost StraightEncoder::encode(const World& world, const std::vector<EntityId>& observers,
                                   const std::vector<bool>*) {
    const Stopwatch watch;
    ++tick_;
    observers_.resize(observers.size());
    list_.clear();
    world.for_each([&](EntityId entity) {
        list_.push_back({world.position_of(entity), entity, world.kind_of(entity)});
    });
    std::uint64_t bytes = 0;
    for (std::size_t o = 0; o < observers.size(); ++o) {
        Observer& observer = observers_[o];
        observer.ghosts.resize(world.index_end());
        observer.acked.resize(world.index_end() * words_);
        observer.sent.resize(world.index_end() * words_);
        observer.packets.resize(def_.ack_ticks);
        take_data(observer);
        find_candidates(world, observer, world.position_of(observers[o]));
        bytes += write(world, observer);
    }
    return {bytes, watch.ms()};
}

Checked StraightEncoder::check_idle(const World& world, const std::vector<EntityId>& observers) {
    constexpr std::uint32_t ticks_max = 400;
    const std::uint64_t nothing = header_bytes * observers.size();
    std::uint32_t still = 0;
    for (std::uint32_t i = 0; i < ticks_max && still <= def_.ack_ticks; ++i)
        still = encode(world, observers).bytes == nothing ? still + 1 : 0;
    Checked checked;
    for (std::size_t o = 0; o < observers.size(); ++o) {
        const Observer& observer = observers_[o];
        const Vec3 from = world.position_of(observers[o]);
        for (const auto& [at, entity, kind] : list_) {
            const std::uint32_t index = index_of(entity);
            const float dx = at.x - from.x, dy = at.y - from.y;
            const bool is_near = dx * dx + dy * dy <= def_.range * def_.range;
            bool is_right = observer.ghosts[index].has == is_near;
            const std::uint32_t* acked = &observer.acked[index * words_];
            for_each_field(*schema_, world, entity, kind,
                           [&](const FieldDef& field, const std::byte* data) {
                               is_right &= !is_near || *acked == quantize(field, data);
                               ++acked;
                           });
            checked += {1, is_right ? 0U : 1U};
        }
    }
    return checked;
}

/// Processes the delivery status of the packet that is due.
void StraightEncoder::take_data(Observer& observer) {
    Packet& packet = observer.packets[tick_ % def_.ack_ticks];
    const bool is_lost = random_.chance(def_.loss);
    for (const std::uint32_t index : packet.items) {
        Ghost& ghost = observer.ghosts[index];
        if (ghost.in_flight_tick != packet.tick) continue;  // resent since
        ghost.in_flight_tick = 0;
        if (is_lost) continue;
        ghost.has = !ghost.leaves;
        std::copy_n(&observer.sent[index * words_], words_, &observer.acked[index * words_]);
    }
    packet.items.clear();
    packet.tick = tick_;
}

/// Finds entities with pending changes or leaves.
void StraightEncoder::find_candidates(const World& world, Observer& observer, Vec3 from) {
    candidates_.clear();
    values_.clear();
    const float reach = def_.range * def_.range;
    for (const auto& [at, entity, kind] : list_) {
        const std::uint32_t index = index_of(entity);
        Ghost& ghost = observer.ghosts[index];
        const float dx = at.x - from.x, dy = at.y - from.y;
        const float squared = dx * dx + dy * dy;
        if (squared > reach) {
            const bool is_leaving = ghost.in_flight_tick != 0 && ghost.leaves;
            if (ghost.has && !is_leaving) candidates_.push_back({entity, 0, true, 0});
            continue;
        }
        const std::size_t begin = values_.size();
        for_each_field(*schema_, world, entity, kind,
                       [&](const FieldDef& field, const std::byte* data) {
                           values_.push_back(quantize(field, data));
                       });
        const auto is_now = [&](const std::vector<std::uint32_t>& values) {
            return std::equal(values_.begin() + static_cast<std::ptrdiff_t>(begin), values_.end(),
                              values.begin() + static_cast<std::ptrdiff_t>(index * words_));
        };
        const bool is_in_flight = ghost.in_flight_tick != 0 && !ghost.leaves;
        if (is_in_flight ? is_now(observer.sent) : ghost.has && is_now(observer.acked)) {
            values_.resize(begin);
            ghost.changed = 0;
            continue;
        }
        if (ghost.changed == 0) ghost.changed = tick_;
        const float score = 1 - std::sqrt(squared) / (2 * def_.range);
        const auto waits = static_cast<float>(tick_ - ghost.changed + 1);
        candidates_.push_back({entity, score * waits, false, static_cast<std::uint32_t>(begin)});
    }
    std::sort(candidates_.begin(), candidates_.end(),
              [](const Candidate& a, const Candidate& b) { return a.priority > b.priority; });
}

std::size_t StraightEncoder::write(const World& world, Observer& observer) {
    enum class Item : std::uint8_t { enter, update, leave };
    const unsigned id_bits = bits_for(world.index_end());
    const unsigned kind_bits = bits_for(schema_->kinds().size() - 1);
    Packet& packet = observer.packets[tick_ % def_.ack_ticks];
    BitWriter out(out_);
    out.u16(0);
    out.u16(0);
    std::uint64_t bits = header_bytes * 8;
    for (const Candidate& candidate : candidates_) {
        const std::uint32_t index = index_of(candidate.entity);
        Ghost& ghost = observer.ghosts[index];
        const Item item = candidate.leaves ? Item::leave : ghost.has ? Item::update : Item::enter;
        const KindId kind = world.kind_of(candidate.entity);
        const auto for_each_width = [&](auto&& visit) {
            if (candidate.leaves) return;
            for (const ComponentId id : schema_->kinds()[index_of(kind)].components) {
                for (const FieldDef& field : schema_->components()[index_of(id)].fields)
                    visit(field.wire_bits);
            }
        };
        bits += id_bits + 2U + (item == Item::enter ? kind_bits : 0);
        for_each_width([&](unsigned width) { bits += width; });
        if (bits > std::uint64_t{def_.budget_bytes} * 8) break;
        out.bits(index, id_bits);
        out.bits(static_cast<std::uint32_t>(item), 2);
        if (item == Item::enter) out.bits(index_of(kind), kind_bits);
        const std::uint32_t* value = values_.data() + candidate.values;
        std::uint32_t* sent = &observer.sent[index * words_];
        for_each_width([&](unsigned width) {
            out.bits(*value, width);
            *sent++ = *value++;
        });
        ghost.in_flight_tick = tick_;
        ghost.changed = 0;
        ghost.leaves = candidate.leaves;
        packet.items.push_back(index);
    }
    return out.bytes_written();
}

// -- blind ----------------------------------------------------------------------------------------

BlindEncoder::BlindEncoder(const Schema& schema, float range)
    : schema_(&schema), range_m_(range), out_(1 << 20) {}

EncodeCost BlindEncoder::encode(const World& world, const std::vector<EntityId>& observers,
                                const std::vector<bool>* changed) {
    const Stopwatch watch;
    list_.clear();
    world.for_each([&](EntityId entity) {
        if (changed != nullptr && !(*changed)[index_of(entity)]) return;
        list_.push_back({world.position_of(entity), entity, world.kind_of(entity)});
    });
    const unsigned id_bits = bits_for(world.index_end());
    const unsigned kind_bits = bits_for(schema_->kinds().size() - 1);
    const float reach = range_m_ * range_m_;
    std::uint64_t bytes = 0;
    for (const EntityId observer : observers) {
        const Vec3 from = world.position_of(observer);
        BitWriter out(out_);
        out.u16(0);  // sequence
        out.u16(0);  // tick
        for (const Listed& one : list_) {
            const float dx = one.position.x - from.x, dy = one.position.y - from.y;
            if (dx * dx + dy * dy > reach) continue;
            out.bits(index_of(one.entity), id_bits);
            out.bits(index_of(one.kind), kind_bits);
            for_each_field(*schema_, world, one.entity, one.kind,
                           [&](const FieldDef& field, const std::byte* data) {
                               out.bits(quantize(field, data), field.wire_bits);
                           });
        }
        bytes += out.bytes_written();
    }
    return {bytes, watch.ms()};
}

}  // namespace purview::bench
