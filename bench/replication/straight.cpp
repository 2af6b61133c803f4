// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Purview authors
#include "replication/straight.hpp"

#include "common/machine.hpp"
#include "wire/bit_writer.hpp"
#include "wire/quantise.hpp"

namespace purview::bench {

StraightEncoder::StraightEncoder(const Schema& schema, float range_m)
    : schema_(&schema), range_m_(range_m), out_(1 << 20) {}

std::uint64_t StraightEncoder::encode(const World& world, const std::vector<EntityId>& observers,
                                      const std::vector<bool>* changed) {
    const Stopwatch watch;
    list_.clear();
    world.for_each([&](EntityId entity) {
        if (changed != nullptr && !(*changed)[index_of(entity)]) return;
        list_.push_back({world.place_of(entity), entity, world.kind_of(entity)});
    });
    const unsigned id_bits = bits_for(world.index_end());
    const unsigned kind_bits = bits_for(schema_->kinds().size() - 1);
    const float reach = range_m_ * range_m_;
    std::uint64_t bytes = 0;
    for (const EntityId observer : observers) {
        const Vec3 from = world.place_of(observer);
        BitWriter out(out_);
        out.u16(0);  // sequence
        out.u16(0);  // tick
        for (const Listed& one : list_) {
            const float dx = one.place.x - from.x, dy = one.place.y - from.y;
            if (dx * dx + dy * dy > reach) continue;
            out.bits(index_of(one.entity), id_bits);
            out.bits(index_of(one.kind), kind_bits);
            for (const ComponentId id : schema_->kinds()[index_of(one.kind)].components) {
                const auto* data = static_cast<const std::byte*>(world.read(one.entity, id));
                for (const FieldDef& field : schema_->components()[index_of(id)].fields) {
                    out.bits(quantise(field, data), field.wire_bits);
                }
            }
        }
        bytes += out.bytes_written();
    }
    ms_ = watch.ms();
    return bytes;
}

}  // namespace purview::bench
