// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Purview authors
#include "check/digests.hpp"

#include <cmath>
#include <cstring>

#include "core/hash.hpp"
#include "wire/bit_reader.hpp"

namespace purview::check {

namespace {

/// PROTOCOL.md, "Fields", read by somebody else.
std::uint32_t wire_value(const FieldDef& field, const unsigned char* data) {
    const unsigned char* at = data + field.offset_bytes;
    if (field.type == FieldType::boolean) return *at != 0 ? 1 : 0;
    if (field.type == FieldType::integer) {
        std::int64_t value = 0;
        for (unsigned i = 0; i < field.size_bytes; ++i) value |= std::int64_t{at[i]} << (8 * i);
        const std::int64_t sign = std::int64_t{1} << (8 * field.size_bytes - 1);
        if (field.is_signed && (value & sign) != 0) value -= 2 * sign;
        const auto low = static_cast<std::int64_t>(field.min);
        const auto high = static_cast<std::int64_t>(field.max);
        if (value < low) value = low;
        if (value > high) value = high;
        return static_cast<std::uint32_t>(value - low);
    }
    float value = 0;
    std::memcpy(&value, at, sizeof value);
    if (field.type == FieldType::real) {
        std::uint32_t bits = 0x7fc00000U;
        if (value == value) std::memcpy(&bits, &value, sizeof bits);
        return bits;
    }
    if (!(value == value)) return 0;
    const double largest = std::round((field.max - field.min) / field.step);
    double number = std::floor((double{value} - field.min) / field.step + 0.5);
    if (number < 0) number = 0;
    if (number > largest) number = largest;
    return static_cast<std::uint32_t>(number);
}

std::string name_of(EntityId entity) {
    return "entity " + std::to_string(index_of(entity)) + "#" +
           std::to_string(generation_of(entity));
}

}  // namespace

std::vector<std::uint32_t> wire_values(const World& world, EntityId entity) {
    std::vector<std::uint32_t> values;
    const Schema& schema = world.schema();
    for (std::uint16_t c = 0; c < schema.components().size(); ++c) {
        const auto* data = static_cast<const unsigned char*>(world.read(entity, ComponentId{c}));
        if (data == nullptr) continue;
        for (const FieldDef& field : schema.components()[c].fields) {
            values.push_back(wire_value(field, data));
        }
    }
    return values;
}

std::uint64_t DigestChecker::hash_of(std::uint32_t lane, const Ghost& ghost) {
    std::uint64_t hash = combine64(mix64(lane), index_of(ghost.kind));
    hash =
        combine64(hash, ghost.parent_lane == ManifestItem::no_parent ? 0 : ghost.parent_lane + 1U);
    for (const std::uint32_t value : *ghost.values) hash = combine64(hash, value);
    return hash;
}

void DigestChecker::set(std::uint32_t lane, Ghost ghost) {
    remove(lane);
    if (ghosts_.size() <= lane) ghosts_.resize(lane + 64);
    ghost.hash = hash_of(lane, ghost);
    digest_ += ghost.hash;
    ghosts_[lane] = std::move(ghost);
    ++ghost_count_;
}

void DigestChecker::remove(std::uint32_t lane) {
    if (!has(lane)) return;
    digest_ -= ghosts_[lane].hash;
    ghosts_[lane] = Ghost{};
    --ghost_count_;
}

std::string DigestChecker::sent(Manifest manifest) {
    std::string wrong;
    for (const ManifestItem& item : manifest.items) {
        if (item.type == ManifestItem::Type::leave) {
            if (item.lane < sent_.size()) sent_[item.lane] = {};
            continue;
        }
        if (sent_.size() <= item.lane) sent_.resize(item.lane + 64);
        sent_[item.lane] = {item.entity, item.values};
        if (item.type != ManifestItem::Type::enter || item.parent_lane == ManifestItem::no_parent) {
            continue;
        }
        bool known = has(item.parent_lane);
        for (const ManifestItem& other : manifest.items) {
            known |= other.type == ManifestItem::Type::enter && other.lane == item.parent_lane;
        }
        if (!known) {
            wrong = "order: " + name_of(item.entity) +
                    " enters before its parent is known to have arrived (tick " +
                    std::to_string(manifest.tick) + ")";
        }
    }
    under_way_.push_back(std::move(manifest));
    return wrong;
}

void DigestChecker::apply(const Manifest& manifest) {
    for (const ManifestItem& item : manifest.items) {
        if (item.type != ManifestItem::Type::leave) continue;
        for (std::uint32_t lane = 0; lane < ghosts_.size(); ++lane) {  // its children stand alone
            if (!has(lane) || lane == item.lane || ghosts_[lane].parent_lane != item.lane) continue;
            Ghost alone = ghosts_[lane];
            alone.parent_lane = ManifestItem::no_parent;
            set(lane, std::move(alone));
        }
        remove(item.lane);
    }
    for (const ManifestItem& item : manifest.items) {
        if (item.type == ManifestItem::Type::leave) continue;
        if (item.type == ManifestItem::Type::update && !has(item.lane))
            continue;  // its enter was lost
        Ghost ghost{item.entity, item.kind, item.parent_lane, manifest.tick, item.values, 0};
        set(item.lane, std::move(ghost));
    }
}

void DigestChecker::resolved(std::uint32_t sequence, bool delivered) {
    while (!under_way_.empty() && under_way_.front().sequence < sequence) under_way_.pop_front();
    if (!under_way_.empty() && under_way_.front().sequence == sequence) {
        if (delivered) apply(under_way_.front());
        under_way_.pop_front();
    }
    last_resolved_ = sequence;
    if (keeping_) {
        kept_[sequence] = ghosts_;
        while (kept_.size() > 200) kept_.erase(kept_.begin());
    }
}

std::optional<bool> DigestChecker::is_right(std::uint32_t sequence, std::uint64_t digest) const {
    if (sequence != last_resolved_) return {};
    return digest == digest_;
}

const std::vector<std::uint32_t>* DigestChecker::last_sent(std::uint32_t lane,
                                                           EntityId entity) const {
    if (lane >= sent_.size() || sent_[lane].entity != entity) return nullptr;
    return sent_[lane].values.get();
}

std::string DigestChecker::explain(std::span<const std::byte> state) {
    BitReader in(state);
    const std::uint32_t sequence = in.u32();
    const auto kept = kept_.find(sequence);
    if (kept == kept_.end()) return "the client's state is of a packet that is not kept";
    std::vector<Ghost> expected = kept->second;
    keeping_ = false;
    kept_.clear();
    while (in.boolean() && in.ok()) {
        const std::uint32_t lane = in.u32();
        const auto kind = in.u16();
        const std::uint32_t parent = in.u32() - 1;
        if (kind >= schema_->kinds().size()) return "the client's state does not decode";
        if (lane >= expected.size() || expected[lane].values == nullptr) {
            return "the client holds a ghost it must not: lane " + std::to_string(lane);
        }
        const Ghost ghost = expected[lane];
        expected[lane] = Ghost{};
        const std::string where = name_of(ghost.entity) + " (lane " + std::to_string(lane) +
                                  ") as of tick " + std::to_string(ghost.tick);
        if (KindId{kind} != ghost.kind) return where + ": another kind";
        std::size_t at = 0;
        std::string wrong;
        for (const ComponentId component : schema_->kinds()[kind].components) {
            const ComponentDef& def = schema_->components()[index_of(component)];
            for (const FieldDef& field : def.fields) {
                const std::uint32_t value = in.u32();
                if (wrong.empty() && value != (*ghost.values)[at]) {
                    wrong = where + ": field " + def.name + "." + field.name + " is " +
                            std::to_string(value) + ", must be " +
                            std::to_string((*ghost.values)[at]);
                }
                ++at;
            }
        }
        if (!wrong.empty()) return wrong;
        if (parent != ghost.parent_lane) return where + ": another parent";
    }
    if (!in.ok()) return "the client's state does not decode";
    for (const Ghost& ghost : expected) {
        if (ghost.values != nullptr) return "the client lacks " + name_of(ghost.entity);
    }
    return "the client's state is right by now";
}

}  // namespace purview::check
