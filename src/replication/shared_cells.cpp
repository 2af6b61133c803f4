// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Purview authors
#include "replication/shared_cells.hpp"

#include <algorithm>
#include <cstring>

#include "protocol/cells.hpp"
#include "protocol/quantize.hpp"
#include "protocol/rice.hpp"
#include "replication/spawn_order.hpp"

namespace purview {

namespace {

/// A cell group is dropped after this many ticks without a reader.
constexpr Tick unused_ticks_max = 64;

bool holds(const Kernel& kernel, const WorldData& world, std::uint32_t index) {
    if (kernel.type == KernelType::flag)
        return (world.attributes.flags_at(index) >> index_of(kernel.flag) & 1U) != 0;
    const float value = world.attributes.value_at(index, kernel.value);
    return value >= kernel.min && value <= kernel.max;
}

}  // namespace

Vec3 replicated_position(const FieldStore& fields, const KindLayout& layout, ComponentId position,
                         std::uint32_t entity_index) {
    Vec3 at;
    for (const KindField& field : layout.fields) {
        if (field.component != position || field.def->offset_bytes >= sizeof(Vec3)) continue;
        const auto value =
            static_cast<float>(dequantized_value(*field.def, *fields.words(entity_index, field)));
        std::memcpy(reinterpret_cast<std::byte*>(&at) + field.def->offset_bytes, &value,
                    sizeof value);
    }
    return at;
}

void SharedCells::set_nodes(std::vector<Node> nodes) {
    nodes_ = std::move(nodes);
    cells_.clear();
    for (const Node& node : nodes_) {
        cells_.push_back({std::vector<std::uint32_t>(node.grid.count(), none),
                          std::vector<std::uint32_t>(node.grid.count(), none)});
    }
    homes_.clear();
    groups_.clear();
    free_groups_.clear();
    ++revision_;
    is_new_ = true;
}

// -- cells of entities --------------------------------------------------------------------------

std::uint32_t SharedCells::cell_of(std::size_t node, const WorldData& world,
                                   const FieldStore& fields, EntityId entity) const {
    if (!world.entities.is_alive(entity)) return CellGrid::no_cell;
    const std::uint32_t index = index_of(entity);
    if (!world.entities.has_position(index)) return CellGrid::no_cell;
    Vec3 at = replicated_position(fields, fields.layout(world.entities.kind_at(index)),
                                  schema_->position(), index);
    if (nodes_[node].is_flat) at.y = at.z;
    return nodes_[node].grid.cell_of(at);
}

bool SharedCells::belongs(const Node& node, const WorldData& world, std::uint32_t index) const {
    if (node.kinds[index_of(world.entities.kind_at(index))] == 0) return false;
    return std::all_of(node.steps.begin(), node.steps.end(), [&](const Kernel& step) {
        return holds(step, world, index) == (step.combine == Combine::require);
    });
}

void SharedCells::log_enter_leave(std::uint32_t node, std::uint32_t cell, std::uint32_t index) {
    const std::uint32_t group = cells_[node].group[cell];
    if (group != none) groups_[group].enter_leave_log.note(index);
}

void SharedCells::go(std::uint32_t index, std::uint32_t node, std::uint32_t cell) {
    PURVIEW_ASSERT(node == none || cell < cells_[node].first.size());
    Home& home = homes_[index];
    if (home.node == node && (node == none || home.cell == cell)) return;
    around_.clear();
    around_other_.clear();
    const std::uint32_t before = home.node;
    const auto list = [&](std::uint32_t of, std::uint32_t at, std::vector<std::uint32_t>& out) {
        if (of == none) return;
        const std::uint32_t rings =
            nodes_[of].payload == Payload::update_many ? nodes_[of].rings : 0;
        nodes_[of].grid.neighborhood(at, rings, out);
    };
    list(before, home.cell, around_);
    list(node, cell, around_other_);
    // Skips groups that contain the entity before and after.
    const auto has = [](const std::vector<std::uint32_t>& cells, std::uint32_t one) {
        return std::binary_search(cells.begin(), cells.end(), one);
    };
    for (const std::uint32_t one : around_)
        if (before != node || !has(around_other_, one)) log_enter_leave(before, one, index);
    for (const std::uint32_t one : around_other_)
        if (before != node || !has(around_, one)) log_enter_leave(node, one, index);
    if (before != none) {
        std::uint32_t& first = cells_[before].first[home.cell];
        PURVIEW_ASSERT((home.previous == none ? first : homes_[home.previous].next) == index);
        PURVIEW_ASSERT(home.next == none || homes_[home.next].previous == index);
        (home.previous == none ? first : homes_[home.previous].next) = home.next;
        if (home.next != none) homes_[home.next].previous = home.previous;
    }
    home.node = node;
    home.cell = cell;
    home.next = home.previous = none;
    if (node == none) return;
    std::uint32_t& first = cells_[node].first[cell];
    home.next = first;
    if (first != none) homes_[first].previous = index;
    first = index;
}

void SharedCells::take_out(std::uint32_t index) {
    if (index >= homes_.size() || homes_[index].entity == EntityId::none) return;
    go(index, none, 0);
    homes_[index].entity = EntityId::none;
}

/// Moves the entity to the first node that it belongs to.
void SharedCells::put(const WorldData& world, std::uint32_t index) {
    const EntityId entity = world.entities.at_index(index);
    if (entity == EntityId::none) return;
    homes_[index].entity = entity;
    homes_[index].kind = world.entities.kind_at(index);
    for (std::uint32_t n = 0; n < nodes_.size(); ++n) {
        if (!belongs(nodes_[n], world, index)) continue;
        const std::uint32_t cell = cell_of(n, world, *fields_, entity);
        if (cell != CellGrid::no_cell) return go(index, n, cell);
    }
    go(index, none, 0);
}

void SharedCells::update(const WorldData& world, const FieldStore& fields, Tick tick) {
    fields_ = &fields;
    relinked_.clear();
    if (!is_used()) return;
    bytes_end_ = 0;
    if (homes_.size() < world.entities.index_end())
        homes_.resize(std::size_t{world.entities.index_end()} * 2);
    for (const WorldOp& op : world.log.ops()) {
        const std::uint32_t index = index_of(op.entity);
        if (op.type == WorldOp::Type::despawn && index < homes_.size() &&
            homes_[index].entity == op.entity) {
            take_out(index);
        }
        if (!world.entities.is_alive(op.entity)) continue;
        if (op.type == WorldOp::Type::root) relinked_.push_back(op.entity);
        if (op.type != WorldOp::Type::spawn) continue;
        homes_[index].spawned = tick;
        put(world, index);
    }
    for (const AttributeChange& change : world.attributes.changes())
        if (world.entities.is_alive(change.entity)) put(world, index_of(change.entity));
    if (is_new_) {
        for (std::uint32_t index = 0; index < world.entities.index_end(); ++index)
            put(world, index);
        is_new_ = false;
    } else {
        world.components.dirty(schema_->position()).for_each([&](std::size_t index) {
            if (index < homes_.size()) put(world, static_cast<std::uint32_t>(index));
        });
    }
    sent_.resize(std::max(sent_.size(), fields.changed().size()));
    sent_.clear_all();
    fields.changed().for_each([&](std::size_t index) {
        if (index < homes_.size()) mark(static_cast<std::uint32_t>(index), tick);
    });
    if (tick % unused_ticks_max == 0) drop_unused(tick);
}

/// Marks the groups that contain the changed entity: with update many, those of all cells around
/// it; with read many, that of its own cell. An entity that was spawned in this tick needs no mark,
/// because it enters with all fields. Changed parents are sent individually.
void SharedCells::mark(std::uint32_t index, Tick tick) {
    const Home& home = homes_[index];
    if (home.node == none || home.spawned == tick) return;
    if (fields_->changed_since(index, home.kind, tick - 1) == 0) return;
    sent_.set(index);
    const Node& node = nodes_[home.node];
    const auto mark_cell = [&](std::uint32_t cell) {
        const std::uint32_t group = cells_[home.node].group[cell];
        if (group != none) groups_[group].dirty = tick;
    };
    if (node.payload == Payload::read_many) return mark_cell(home.cell);
    around_.clear();
    node.grid.neighborhood(home.cell, node.rings, around_);
    for (const std::uint32_t cell : around_) mark_cell(cell);
}

// -- groups -------------------------------------------------------------------------------------

void SharedCells::drop_unused(Tick tick) {
    for (std::uint32_t g = 0; g < groups_.size(); ++g) {
        Group& group = groups_[g];
        if (group.node == none || tick - group.used_tick <= unused_ticks_max) continue;
        PURVIEW_ASSERT(cells_[group.node].group[group.cell] == g);
        cells_[group.node].group[group.cell] = none;
        group.node = none;
        free_groups_.push_back(g);
    }
}

std::uint32_t SharedCells::group_at(std::size_t node, std::uint32_t cell, Tick tick) {
    std::uint32_t& group = cells_[node].group[cell];
    if (group == none) {
        if (free_groups_.empty()) {
            group = static_cast<std::uint32_t>(groups_.size());
            groups_.emplace_back();
        } else {
            group = free_groups_.back();
            free_groups_.pop_back();
        }
        Group& made = groups_[group];
        made.node = static_cast<std::uint32_t>(node);
        made.cell = cell;
        made.enter_leave_log.begin(++groups_made_ << 32);
        made.known = ChangeLog::unknown;
        made.dirty = tick;  // earlier changes are unknown
        made.whole.tick = made.without.tick = 0;
    }
    PURVIEW_ASSERT(groups_[group].node == node && groups_[group].cell == cell);
    groups_[group].used_tick = tick;
    return group;
}

bool SharedCells::is_member(std::uint32_t number, std::uint32_t index) const noexcept {
    const Group& group = groups_[number];
    PURVIEW_ASSERT(group.node != none);
    if (index >= homes_.size() || homes_[index].node != group.node) return false;
    const Node& node = nodes_[group.node];
    const std::uint32_t cell = homes_[index].cell;
    return node.payload == Payload::update_many
               ? are_adjacent(node.grid, cell, group.cell, node.rings)
               : cell == group.cell;
}

void SharedCells::list_members(const Group& group, const WorldData& world,
                               std::vector<std::uint32_t>& out) {
    out.clear();
    around_.clear();
    const Node& node = nodes_[group.node];
    node.grid.neighborhood(group.cell, node.payload == Payload::update_many ? node.rings : 0,
                           around_);
    for (const std::uint32_t cell : around_) {
        for (std::uint32_t i = cells_[group.node].first[cell]; i != none; i = homes_[i].next)
            out.push_back(i);
    }
    std::sort(out.begin(), out.end(), [&](std::uint32_t a, std::uint32_t b) {
        return world.entities.spawn_number_at(a) < world.entities.spawn_number_at(b);
    });
}

const ChangeLog& SharedCells::refresh(std::uint32_t number, const WorldData& world) {
    Group& group = groups_[number];
    const ChangeLog& enter_leave_log = group.enter_leave_log;
    if (group.known == enter_leave_log.version()) return enter_leave_log;
    if (enter_leave_log.remembers(group.known)) {
        changed_.clear();
        enter_leave_log.for_each_since(group.known,
                                       [&](std::uint32_t index) { add_once(changed_, index); });
        (void)update_members(
            group.members, changed_, world, [](std::uint32_t member) { return member; },
            [&](std::uint32_t index, std::uint32_t& member) {
                member = index;
                return is_member(number, index);
            });
    } else {
        list_members(group, world, group.members);
    }
    group.known = enter_leave_log.version();
    PURVIEW_ASSERT((list_members(group, world, changed_), changed_ == group.members));
    return enter_leave_log;
}

Section SharedCells::section(std::uint32_t number, std::span<const std::uint32_t> members,
                             EncodeCache& cache, Tick tick) {
    Group& group = groups_[number];
    PURVIEW_ASSERT(group.known == group.enter_leave_log.version());  // refresh() must come first
    PURVIEW_ASSERT(members.empty() || members.size() == group.members.size());
    Written& last = members.empty() ? group.whole : group.without;
    const bool is_same = last.tick == tick && std::equal(members.begin(), members.end(),
                                                         last.members.begin(), last.members.end());
    if (!is_same) {
        last.tick = tick;
        last.members.assign(members.begin(), members.end());
        last.section = section_of(members.empty() ? group.members : members, cache, tick);
        counters.sections += last.section.entries > 0 ? 1 : 0;
    }
    return last.section;
}

Section SharedCells::section_of(std::span<const std::uint32_t> members, EncodeCache& cache,
                                Tick tick) {
    entries_.clear();
    distances_.clear();
    std::uint64_t bits = 0;
    std::uint32_t expected = 0;
    for (std::uint32_t rank = 0; rank < members.size(); ++rank) {
        const std::uint32_t index = members[rank];
        if (index == left_out || !sent_.test(index)) continue;
        const KindId kind = homes_[index].kind;
        const FieldMask mask = cache.changed_since(index, kind, tick - 1);
        entries_.push_back({rank, cache.update(index, kind, mask)});
        bits += entries_.back().body.bits;
        distances_.push_back(rank - expected);
        expected = rank + 1;
    }
    if (entries_.empty()) return {};
    const std::uint32_t gaps =
        entries_.back().rank + 1 - static_cast<std::uint32_t>(entries_.size());
    const unsigned k = best_rice(distances_, gaps);
    bits += BitWriter::varint_bits(entries_.size()) + rice_parameter_bits +
            entries_.size() * (k + 1) + (entries_.back().rank >> k);
    Section section;
    section.offset_bytes = static_cast<std::uint32_t>(bytes_end_);
    section.entries = static_cast<std::uint32_t>(entries_.size());
    const std::size_t words = words_for(static_cast<std::size_t>(bits)) + 1;
    const std::size_t end_max = bytes_end_ + words * sizeof(std::uint64_t);
    if (bytes_.size() < end_max) bytes_.resize(std::max(end_max, bytes_.size() * 2));
    BitWriter out(std::span<std::byte>(bytes_).subspan(bytes_end_));
    out.varint(entries_.size());
    out.bits(k, rice_parameter_bits);
    for (std::size_t i = 0; i < entries_.size(); ++i) {
        out.rice(distances_[i], k);
        out.copy_bits(cache.bytes(entries_[i].body), entries_[i].body.bits);
    }
    PURVIEW_ASSERT(out.ok() && out.bits_written() <= bits);
    section.bits = static_cast<std::uint32_t>(out.bits_written());
    bytes_end_ += words_for(section.bits) * sizeof(std::uint64_t);
    return section;
}

}  // namespace purview
