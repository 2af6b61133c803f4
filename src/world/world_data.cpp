// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Purview authors
#include "world/world_data.hpp"

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstring>

#include "core/validate.hpp"

namespace purview {

namespace {

std::uint32_t read_unsigned(const FieldDef& field, const std::byte* data) noexcept {
    std::uint32_t value = 0;  // little endian, as every target of this library
    constexpr std::size_t value_bytes = sizeof(value);
    PURVIEW_ASSERT(field.size_bytes <= value_bytes);  // the schema takes numbers alone
    std::memcpy(&value, data + field.offset_bytes, field.size_bytes);
    return value;
}

float read_number(const FieldDef& field, const std::byte* data) noexcept {
    const std::uint32_t bits = read_unsigned(field, data);
    if (field.type == FieldType::boolean) return bits != 0 ? 1.0F : 0.0F;
    if (field.type != FieldType::integer) return std::bit_cast<float>(bits);
    if (!field.is_signed) return static_cast<float>(bits);
    const unsigned above = 32U - field.size_bytes * 8U;  // the sign goes up to bit 31 and back
    return static_cast<float>(static_cast<std::int32_t>(bits << above) >> above);
}

/// Asserts at the end of a tick that links of parents and children agree. O(entities).
struct Forest {
    const WorldData& world;

    void validate() const {
        std::size_t alive = 0, below = 0, listed = 0;
        for (std::uint32_t i = 0; i < world.index_end(); ++i) {
            const EntityId entity = world.at_index(i);
            if (entity == EntityId::none) continue;
            ++alive;
            const EntityId parent = world.parent_at(i);
            if (world.is_alone(i)) {
                PURVIEW_ASSERT(parent == EntityId::none && world.children_at(i).empty());
                PURVIEW_ASSERT(world.root_at(i) == entity);
                PURVIEW_ASSERT(world.members_at(i) == 1 && world.depth_at(i) == 0);
                continue;
            }
            PURVIEW_ASSERT(parent == EntityId::none || world.is_alive(parent));
            below += parent != EntityId::none ? 1 : 0;
            const bool is_linked = world.is_linked(i);
            PURVIEW_ASSERT(world.group_parent_at(i) == (is_linked ? parent : EntityId::none));
            PURVIEW_ASSERT(world.root_at(i) ==
                           (is_linked ? world.root_at(index_of(parent)) : entity));
            PURVIEW_ASSERT(world.depth_at(i) ==
                           (is_linked ? world.depth_at(index_of(parent)) + 1 : 0));
            std::size_t members = 1;
            for (const EntityId child : world.children_at(i)) {
                PURVIEW_ASSERT(world.is_alive(child));
                PURVIEW_ASSERT(world.parent_at(index_of(child)) == entity);
                if (world.is_linked(index_of(child))) members += world.members_at(index_of(child));
            }
            listed += world.children_at(i).size();
            PURVIEW_ASSERT(world.members_at(i) == members);
            (void)members;
        }
        PURVIEW_ASSERT(alive == world.entity_count());
        PURVIEW_ASSERT(below == listed);
        for (std::uint16_t c = 1; c < world.schema().components().size(); ++c) {
            // One count of words is that of all.
            PURVIEW_ASSERT(world.dirty(ComponentId{c}).size() ==
                           world.dirty(ComponentId{0}).size());
        }
        (void)alive;
    }
};

}  // namespace

void ComponentColumn::ensure(std::uint32_t index) {
    while (pages_.size() <= index / page_entities) pages_.emplace_back();
    auto& page = pages_[index / page_entities];
    if (page.empty()) page.resize(std::size_t{page_entities} * size_bytes_);
    PURVIEW_ASSERT(page.size() == std::size_t{page_entities} * size_bytes_);
}

WorldData::WorldData(const WorldDef& def) : def_(def), pool_(def.entities_max) {
    for (const auto& component : schema().components()) columns_.emplace_back(component.size_bytes);
    for (const auto& kind : schema().kinds()) {
        std::uint32_t mask = 0;
        for (const ComponentId component : kind.components) mask |= 1U << index_of(component);
        kind_masks_.push_back(mask);
    }
    for (const auto& flag : schema().flags())
        attribute_components_ |= 1U << index_of(flag.component);
    for (const auto& key : schema().keys()) attribute_components_ |= 1U << index_of(key.component);
    for (const auto& value : schema().values())
        attribute_components_ |= 1U << index_of(value.component);
    has_relative_positions_ =
        schema().position() != ComponentId::none &&
        std::any_of(schema().kinds().begin(), schema().kinds().end(),
                    [](const KindDef& kind) { return kind.relative_position; });
    for (const KindDef& kind : schema().kinds()) {
        if (has_relative_positions_ && kind.orientation.component != ComponentId::none)
            orientation_components_ |= 1U << index_of(kind.orientation.component);
    }
}

Result<EntityId> WorldData::spawn(KindId kind, Vec3 position) {
    if (index_of(kind) >= schema().kinds().size()) return Status::bad_argument;
    if (!is_finite(position)) return Status::bad_position;
    const std::uint32_t index = pool_.acquire();
    if (index == IdPool::no_index) return Status::capacity;
    if (index == entities_.size()) {
        entities_.emplace_back();
        children_.emplace_back();
        flags_.push_back(0);
        settled_positions_.emplace_back();
        if (has_relative_positions_) locals_.emplace_back();
        if (orientation_components_ != 0) frames_.emplace_back();
        for (std::size_t d = 0; d < schema().keys().size(); ++d) keys_[d].push_back(Key::none);
        for (std::size_t v = 0; v < schema().values().size(); ++v) values_[v].push_back(0);
        if (columns_.empty() || columns_[0].dirty.size() <= index) {
            for (auto& column : columns_)
                column.dirty.resize(std::max<std::size_t>(1024, index * 2));
        }
    }
    PURVIEW_ASSERT(entities_.size() == pool_.index_end() && children_.size() == entities_.size());
    PURVIEW_ASSERT(children_[index].empty());  // of who had the index before
    const EntityId entity = make_entity_id(index, pool_.generation(index));
    if (related_.size() <= index) related_.resize(std::max<std::size_t>(1024, index * 2));
    related_.reset(index);
    entities_[index] = Entity{};
    entities_[index].root = entity;
    entities_[index].spawn_number = next_spawn_number_++;
    entities_[index].kind = kind;
    flags_[index] = 0;
    for (std::size_t d = 0; d < schema().keys().size(); ++d) keys_[d][index] = Key::none;
    for (std::size_t v = 0; v < schema().values().size(); ++v) values_[v][index] = 0;
    for (const ComponentId component : schema().kinds()[index_of(kind)].components) {
        auto& column = columns_[index_of(component)];
        column.ensure(index);
        std::memset(column.at(index), 0, column.size_bytes());
        column.dirty.set(index);
    }
    fresh_.add(index / bits_per_word);
    settled_positions_[index] = position;
    if (has_position(index))
        std::memcpy(component_at(index, schema().position()), &position, sizeof position);
    ops_.push_back({WorldOp::Type::spawn, entity, entity});
    return entity;
}

Status WorldData::despawn(EntityId entity) {
    if (!is_alive(entity)) return Status::stale_id;
    const std::uint32_t index = index_of(entity);
    while (!children_[index].empty()) (void)detach(children_[index].back());
    if (entities_[index].parent != EntityId::none) {
        note_relation(index);
        unlink(entity);
    }
    PURVIEW_ASSERT(entities_[index].members == 1 && entities_[index].parent == EntityId::none);
    ops_.push_back({WorldOp::Type::despawn, entity, entity});
    pool_.release(index);
    return Status::ok;
}

Status WorldData::spawn_group(std::span<const GroupPart> parts, Vec3 position,
                              std::vector<EntityId>& out) {
    out.clear();
    if (parts.empty()) return Status::bad_argument;
    std::vector<Vec3> positions;
    for (std::size_t p = 0; p < parts.size(); ++p) {
        const GroupPart& part = parts[p];
        if (index_of(part.kind) >= schema().kinds().size() || (p > 0 && part.parent >= p))
            return Status::bad_argument;
        const Vec3 from = p == 0 ? position : positions[part.parent];
        positions.push_back(
            {from.x + part.offset.x, from.y + part.offset.y, from.z + part.offset.z});
        if (!is_finite(positions.back())) return Status::bad_position;
    }
    Status status = Status::ok;
    for (std::size_t p = 0; p < parts.size() && status == Status::ok; ++p) {
        const auto made = spawn(parts[p].kind, positions[p]);
        status = made.error();
        if (!made) break;
        out.push_back(*made);
        if (p > 0) status = attach(*made, out[parts[p].parent], parts[p].owner);
    }
    PURVIEW_ASSERT(status != Status::ok || out.size() == parts.size());
    if (status == Status::ok) return status;
    for (; !out.empty(); out.pop_back()) (void)despawn(out.back());
    return status;
}

Status WorldData::despawn_group(EntityId entity) {
    if (!is_alive(entity)) return Status::stale_id;
    // Parents before those below them, however deep.
    std::vector<EntityId> doomed{entity};
    for (std::size_t i = 0; i < doomed.size(); ++i) {
        const auto& children = children_[index_of(doomed[i])];
        doomed.insert(doomed.end(), children.begin(), children.end());
    }
    for (; !doomed.empty(); doomed.pop_back()) (void)despawn(doomed.back());
    PURVIEW_ASSERT(!is_alive(entity));
    return Status::ok;
}

Vec3 WorldData::position_at(std::uint32_t index) const noexcept {
    if (!has_position(index)) return {};
    Vec3 position;
    std::memcpy(&position, component_at(index, schema().position()), sizeof position);
    return position;
}

Status WorldData::move(EntityId entity, Vec3 position) {
    if (!is_alive(entity)) return Status::stale_id;
    if (!is_finite(position)) return Status::bad_position;
    if (!has_position(index_of(entity))) return Status::bad_argument;
    std::memcpy(component_at(index_of(entity), schema().position()), &position, sizeof position);
    mark_dirty(index_of(entity), schema().position());
    return Status::ok;
}

// -- the change log -----------------------------------------------------------------------------

void WorldData::settle_attributes(std::uint32_t index, bool report) {
    PURVIEW_ASSERT(pool_.is_live(index));
    const EntityId entity = at_index(index);
    for (std::size_t f = 0; f < schema().flags().size(); ++f) {
        const auto& def = schema().flags()[f];
        if (!has(index, def.component)) continue;
        const auto& field = schema().components()[index_of(def.component)].fields[def.field];
        const bool now = read_unsigned(field, component_at(index, def.component)) != 0;
        const auto bit = static_cast<std::uint16_t>(1U << f);
        if (now == ((flags_[index] & bit) != 0)) continue;
        flags_[index] ^= bit;
        if (report) {
            attribute_changes_.push_back({entity, FlagId{static_cast<std::uint8_t>(f)}, KeyId::none,
                                          Key{now ? std::uint16_t{1} : std::uint16_t{0}}});
        }
    }
    for (std::size_t d = 0; d < schema().keys().size(); ++d) {
        const auto& def = schema().keys()[d];
        if (!has(index, def.component)) continue;
        const auto& field = schema().components()[index_of(def.component)].fields[def.field];
        const Key now{
            static_cast<std::uint16_t>(read_unsigned(field, component_at(index, def.component)))};
        if (now == keys_[d][index]) continue;
        keys_[d][index] = now;
        if (report) {
            attribute_changes_.push_back(
                {entity, FlagId::none, KeyId{static_cast<std::uint8_t>(d)}, now});
        }
    }
    for (std::size_t v = 0; v < schema().values().size(); ++v) {
        const auto& def = schema().values()[v];
        if (!has(index, def.component)) continue;
        const auto& field = schema().components()[index_of(def.component)].fields[def.field];
        const float now = read_number(field, component_at(index, def.component));
        if (now == values_[v][index] || !std::isfinite(now)) continue;
        values_[v][index] = now;
        if (report) {
            attribute_changes_.push_back({entity, FlagId::none, KeyId::none, Key::none,
                                          ValueId{static_cast<std::uint8_t>(v)}, now});
        }
    }
}

void WorldData::settle(bool fresh) {
    const std::size_t words = columns_.empty() ? 0 : columns_[0].dirty.words().size();
    const WordRange among = fresh ? fresh_ : WordRange{0, words};
    fresh_ = {};
    settle_positions(among);
    settle_relative_positions(among);
    settle_bounds();
    if (attribute_components_ == 0) return;
    for (std::size_t w = among.begin; w < std::min(among.end, words); ++w) {
        std::uint64_t written = 0;
        for (std::size_t c = 0; c < columns_.size(); ++c) {
            if (((attribute_components_ >> c) & 1U) != 0) written |= columns_[c].dirty.words()[w];
        }
        for_each_bit(written, w * bits_per_word, [&](std::size_t i) {
            const auto index = static_cast<std::uint32_t>(i);
            if (pool_.is_live(index)) {
                settle_attributes(index, entities_[index].tracked);
            }
        });
    }
}

std::span<const WorldOp> WorldData::track_ops() {
    PURVIEW_ASSERT(tracked_ops_ <= ops_.size());
    const auto fresh = std::span<const WorldOp>(ops_).subspan(tracked_ops_);
    net_ops_.clear();
    for (const WorldOp& op : fresh) {
        entities_[index_of(op.entity)].tracked = true;
        if (op.type == WorldOp::Type::spawn) net_ops_.push_back(op);
    }
    track_positions_in_groups(fresh);
    for (const WorldOp& op : fresh) {
        if (op.type == WorldOp::Type::despawn)
            entities_[index_of(op.entity)].tracked_parent = EntityId::none;
        if (op.type == WorldOp::Type::despawn || op.type == WorldOp::Type::owner)
            net_ops_.push_back(op);
    }
    tracked_ops_ = ops_.size();
    return net_ops_;
}

std::span<const AttributeChange> WorldData::track_attribute_changes() noexcept {
    PURVIEW_ASSERT(tracked_changes_ <= attribute_changes_.size());
    const auto fresh =
        std::span<const AttributeChange>(attribute_changes_).subspan(tracked_changes_);
    tracked_changes_ = attribute_changes_.size();
    return fresh;
}

void WorldData::clear_changes() {
    end_relations();
    ops_.clear();
    tracked_ops_ = 0;
    bounded_ops_ = 0;
    attribute_changes_.clear();
    tracked_changes_ = 0;
    for (auto& column : columns_) column.dirty.clear_all();
    pool_.recycle();
    const Forest forest{*this};
    PURVIEW_VALIDATE(forest);
}

}  // namespace purview
