// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Purview authors
#include "oracle/digests.hpp"

#include <algorithm>
#include <cmath>
#include <cstring>

#include "core/hash.hpp"
#include "protocol/bit_reader.hpp"

namespace purview::check {

namespace {

/// Returns the wire format of a rotation. The largest part is omitted and made positive; the others
/// are counted in steps of sqrt(1/2) / 511.
std::uint32_t rotation_word(const unsigned char* at) {
    float parts[4];
    std::memcpy(parts, at, sizeof parts);
    double squares = 0;
    for (const float part : parts) squares += double{part} * part;
    const double length = std::sqrt(squares);
    if (!(length > 1e-6) || std::isinf(length)) {
        parts[0] = parts[1] = parts[2] = 0;
        parts[3] = 1;
        squares = 1;
    }
    unsigned largest = 0;
    for (unsigned i = 1; i < 4; ++i) {
        if (std::fabs(parts[i]) > std::fabs(parts[largest])) largest = i;
    }
    const double sign = parts[largest] < 0 ? -1 : 1;
    const double unit = sign / std::sqrt(squares) * std::sqrt(2.0) * 511;
    std::uint32_t word = largest;
    unsigned shift = 2;
    for (unsigned i = 0; i < 4; ++i) {
        if (i == largest) continue;
        double steps = std::round(parts[i] * unit);
        if (steps > 511) steps = 511;
        if (steps < -511) steps = -511;
        word |= static_cast<std::uint32_t>(static_cast<int>(steps) + 511) << shift;
        shift += 10;
    }
    return word;
}

/// A second implementation of PROTOCOL.md, "Fields".
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
    if (field.type == FieldType::rotation) return rotation_word(at);
    float value = 0;
    std::memcpy(&value, at, sizeof value);
    if (field.type == FieldType::real || field.type == FieldType::ranged) {
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

std::size_t words_of(const FieldDef& field) {
    if (field.type == FieldType::reference) return 2;
    return field.type == FieldType::text ? (field.size_bytes + std::size_t{3}) / 4 : 1;
}

bool has_references(const Schema& schema, KindId kind) {
    if (kind == KindId::none) return false;
    for (const ComponentId component : schema.kinds()[index_of(kind)].components) {
        for (const FieldDef& field : schema.components()[index_of(component)].fields) {
            if (field.type == FieldType::reference) return true;
        }
    }
    return false;
}

std::string name_of(EntityId entity) {
    return "entity " + std::to_string(index_of(entity)) + "#" +
           std::to_string(generation_of(entity));
}

}  // namespace

std::uint32_t Course::after(std::uint32_t ticks) const noexcept {
    const std::int64_t run = ticks > 1000 ? 1000 : ticks;
    const std::int64_t reached = at * 1024 + speed * run + 32768;
    std::int64_t step = reached / 65536;
    if (reached % 65536 < 0) --step;
    if (step < 0) step = 0;
    return static_cast<std::uint32_t>(step > largest ? largest : step);
}

namespace {

/// Returns the position component relative to the parent, moved to the middle of the range
/// (PROTOCOL.md, "relative position").
std::vector<unsigned char> seen_from_parent(const World& world, EntityId entity,
                                            const ComponentDef& def, const unsigned char* data) {
    std::vector<unsigned char> moved(data, data + def.size_bytes);
    const Vec3 local = world.local_position_of(entity);
    const float axes[] = {local.x, local.y, local.z};
    for (const FieldDef& field : def.fields) {
        if (field.offset_bytes % 4 != 0 || field.offset_bytes > 8) continue;
        double value = double{axes[field.offset_bytes / 4]};
        if (field.type == FieldType::quantized) {
            const double half = std::floor(std::round((field.max - field.min) / field.step) / 2);
            value += field.min + half * field.step;
        }
        const auto shifted = static_cast<float>(value);
        std::memcpy(moved.data() + field.offset_bytes, &shifted, sizeof shifted);
    }
    return moved;
}

}  // namespace

void wire_values(const World& world, EntityId entity, std::vector<std::uint32_t>& values) {
    const Schema& schema = world.schema();
    const EntityId parent = world.group_parent_of(entity);
    const bool is_relative = schema.kinds()[index_of(world.kind_of(entity))].relative_position &&
                             parent != EntityId::none &&
                             world.read(parent, schema.position()) != nullptr;
    std::vector<unsigned char> moved;
    for (std::uint16_t c = 0; c < schema.components().size(); ++c) {
        const auto* data =
            static_cast<const unsigned char*>(world.read(entity, id_at<ComponentId>(c)));
        if (data == nullptr) continue;
        if (is_relative && id_at<ComponentId>(c) == schema.position()) {
            moved = seen_from_parent(world, entity, schema.components()[c], data);
            data = moved.data();
        }
        for (const FieldDef& field : schema.components()[c].fields) {
            if (field.type == FieldType::reference) {
                values.insert(values.end(), {0, 0});
            } else if (field.type == FieldType::text) {
                bool ended = false;
                for (std::size_t i = 0; i < field.size_bytes; ++i) {
                    const unsigned char byte = data[field.offset_bytes + i];
                    ended |= byte == 0;
                    if (i % 4 == 0) values.push_back(0);
                    if (!ended) values.back() |= std::uint32_t{byte} << (8 * (i % 4));
                }
            } else {
                values.push_back(wire_value(field, data));
            }
        }
    }
}

std::vector<NamedEntity> named_entities(const World& world, EntityId entity) {
    std::vector<NamedEntity> named;
    std::size_t word = 0;
    const Schema& schema = world.schema();
    if (!has_references(schema, world.kind_of(entity))) return named;
    for (std::uint16_t c = 0; c < schema.components().size(); ++c) {
        const auto* data =
            static_cast<const unsigned char*>(world.read(entity, id_at<ComponentId>(c)));
        if (data == nullptr) continue;
        for (const FieldDef& field : schema.components()[c].fields) {
            if (field.type == FieldType::reference) {
                named.push_back({word, EntityId::none});
                std::memcpy(&named.back().entity, data + field.offset_bytes, sizeof(EntityId));
            }
            word += words_of(field);
        }
    }
    return named;
}

DigestChecker::Audience DigestChecker::audience_of(const Ghost& ghost) const {
    Audience audience;
    std::uint32_t bit = 1;
    for (const ComponentId component : schema_->kinds()[index_of(ghost.kind)].components) {
        const ComponentDef& def = schema_->components()[index_of(component)];
        if (def.fields.empty()) continue;
        if (def.audience.type != AudienceType::everyone) {
            audience.some_only |= bit;
            if ((ghost.allowed >> index_of(component) & 1U) != 0) audience.allowed |= bit;
        }
        bit <<= 1;
    }
    return audience;
}

std::uint64_t DigestChecker::hash_of(std::uint32_t slot, const Ghost& ghost) const {
    std::uint64_t hash = combine64(mix64(slot), index_of(ghost.kind));
    hash =
        combine64(hash, ghost.parent_slot == ManifestItem::no_parent ? 0 : ghost.parent_slot + 1U);
    const auto& components = schema_->kinds()[index_of(ghost.kind)].components;
    const auto is_replicated = [&](ComponentId component) {
        return (ghost.allowed >> index_of(component) & 1U) != 0;
    };
    const Audience audience = audience_of(ghost);
    if (audience.some_only != 0) hash = combine64(hash, audience.allowed);
    std::size_t at = 0;
    for (const ComponentId component : components) {
        std::size_t words = 0;
        for (const FieldDef& field : schema_->components()[index_of(component)].fields)
            words += words_of(field);
        for (const std::size_t end = at + words; at < end; ++at) {
            if (is_replicated(component)) hash = combine64(hash, (*ghost.values)[at]);
        }
    }
    return hash;
}

/// Clears references to a ghost slot that ends.
void DigestChecker::forget_references(std::uint32_t gone) {
    for (std::uint32_t slot = 0; slot < ghosts_.size(); ++slot) {
        if (!has(slot) || !has_references(*schema_, ghosts_[slot].kind)) continue;
        std::size_t at = 0;
        for (const ComponentId component :
             schema_->kinds()[index_of(ghosts_[slot].kind)].components) {
            for (const FieldDef& field : schema_->components()[index_of(component)].fields) {
                if (field.type == FieldType::reference && (*ghosts_[slot].values)[at] == gone + 1) {
                    std::vector<std::uint32_t> without = *ghosts_[slot].values;
                    without[at] = 0;
                    Ghost ghost = ghosts_[slot];
                    ghost.values = Words(std::move(without));
                    set(slot, std::move(ghost));
                }
                at += words_of(field);
            }
        }
    }
}

void DigestChecker::set(std::uint32_t slot, Ghost ghost) {
    remove(slot);
    if (ghosts_.size() <= slot) ghosts_.resize(slot + 64);
    ghost.hash = hash_of(slot, ghost);
    digest_ += ghost.hash;
    ghosts_[slot] = std::move(ghost);
    ++ghost_count_;
}

void DigestChecker::remove(std::uint32_t slot) {
    if (!has(slot)) return;
    digest_ -= ghosts_[slot].hash;
    ghosts_[slot] = Ghost{};
    --ghost_count_;
}

std::string DigestChecker::sent(Manifest manifest) {
    std::string wrong;
    for (const ManifestItem& item : manifest.items) {
        if (item.type == ManifestItem::Type::leave || item.type == ManifestItem::Type::keep) {
            if (item.slot < sent_.size()) sent_[item.slot] = {};
            continue;
        }
        if (sent_.size() <= item.slot) sent_.resize(item.slot + 64);
        if (item.type == ManifestItem::Type::shared) {
            Sent& sent = sent_[item.slot];
            if (sent.entity == item.entity && sent.values) sent.values = merged(*sent.values, item);
            continue;
        }
        sent_[item.slot] = {item.entity, item.values, item.allowed};
        if (item.type != ManifestItem::Type::enter || item.parent_slot == ManifestItem::no_parent) {
            continue;
        }
        bool known = has(item.parent_slot);
        for (const ManifestItem& other : manifest.items) {
            const bool is_resumed = other.type == ManifestItem::Type::update &&
                                    copies_.find(other.slot) != copies_.end();
            known |= (other.type == ManifestItem::Type::enter || is_resumed) &&
                     other.slot == item.parent_slot;
        }
        if (!known) {
            wrong = "order: " + name_of(item.entity) +
                    " enters before its parent is known to have arrived (tick " +
                    std::to_string(manifest.tick) + ")";
        }
    }
    in_flight_.push_back(std::move(manifest));
    return wrong;
}

Words DigestChecker::merged(const std::vector<std::uint32_t>& held,
                            const ManifestItem& item) const {
    std::vector<std::uint32_t> now = held;
    std::size_t at = 0;
    for (const ComponentId component : schema_->kinds()[index_of(item.kind)].components) {
        for (const FieldDef& field : schema_->components()[index_of(component)].fields) {
            const std::size_t end = at + words_of(field);
            bool differs = false;
            for (std::size_t w = at; w < end; ++w)
                differs |= (*item.values)[w] != (*item.before)[w];
            for (; at < end; ++at) {
                if (differs) now[at] = (*item.values)[at];
            }
        }
    }
    return Words(std::move(now));
}

/// A client without the ghost skips the item.
void DigestChecker::apply_shared(const ManifestItem& item, Tick tick) {
    if (!has(item.slot) || ghosts_[item.slot].entity != item.entity) return;
    Ghost ghost = ghosts_[item.slot];
    ghost.values = merged(*ghost.values, item);
    ghost.tick = tick;
    set(item.slot, std::move(ghost));
}

void DigestChecker::apply(Manifest& manifest) {
    for (const ManifestItem& item : manifest.items) {
        if (item.type != ManifestItem::Type::leave && item.type != ManifestItem::Type::keep)
            continue;
        if (item.type == ManifestItem::Type::leave) copies_.erase(item.slot);
        if (item.type == ManifestItem::Type::keep && has(item.slot)) copies_.insert(item.slot);
        forget_references(item.slot);
        for (std::uint32_t slot = 0; slot < ghosts_.size(); ++slot) {  // children lose the parent
            if (!has(slot) || slot == item.slot || ghosts_[slot].parent_slot != item.slot) continue;
            Ghost alone = ghosts_[slot];
            alone.parent_slot = ManifestItem::no_parent;
            set(slot, std::move(alone));
        }
        remove(item.slot);
    }
    for (ManifestItem& item : manifest.items) {
        if (item.type == ManifestItem::Type::leave || item.type == ManifestItem::Type::keep)
            continue;
        if (item.type == ManifestItem::Type::shared) {
            apply_shared(item, manifest.tick);
            continue;
        }
        const bool is_resumed = copies_.erase(item.slot) != 0;
        if (item.type == ManifestItem::Type::update && !is_resumed && !has(item.slot))
            continue;  // its enter was lost
        set(item.slot, {item.entity, item.kind, item.parent_slot, manifest.tick,
                        std::move(item.values), item.allowed, std::move(item.courses), 0});
    }
    follow_predictions(manifest.tick);
}

/// Dead-reckoned fields that were not sent follow their prediction.
void DigestChecker::follow_predictions(Tick tick) {
    for (std::uint32_t slot = 0; slot < ghosts_.size(); ++slot) {
        if (!has(slot) || ghosts_[slot].courses.empty() || ghosts_[slot].tick >= tick) continue;
        std::vector<std::uint32_t> values = *ghosts_[slot].values;
        for (const Course& course : ghosts_[slot].courses)
            values[course.word] = course.after(tick - ghosts_[slot].tick);
        if (values == *ghosts_[slot].values) continue;
        Ghost ghost = ghosts_[slot];
        ghost.values = Words(std::move(values));
        set(slot, std::move(ghost));
    }
}

void DigestChecker::resolved(std::uint32_t sequence, bool delivered) {
    while (!in_flight_.empty() && in_flight_.front().sequence < sequence) in_flight_.pop_front();
    if (!in_flight_.empty() && in_flight_.front().sequence == sequence) {
        if (delivered) apply(in_flight_.front());
        in_flight_.pop_front();
    }
    last_resolved_ = sequence;
    if (keeps_states_) {
        kept_states_[sequence] = ghosts_;
        while (kept_states_.size() > 200) kept_states_.erase(kept_states_.begin());
    }
}

std::optional<bool> DigestChecker::is_right(std::uint32_t sequence, std::uint64_t digest) const {
    if (sequence != last_resolved_) return {};
    return digest == digest_;
}

const DigestChecker::Sent* DigestChecker::last_sent(std::uint32_t slot, EntityId entity) const {
    const bool is_known = slot < sent_.size() && sent_[slot].entity == entity && sent_[slot].values;
    return is_known ? &sent_[slot] : nullptr;
}

std::string DigestChecker::difference(KindId kind, const std::vector<std::uint32_t>& a,
                                      const std::vector<std::uint32_t>& b,
                                      std::uint32_t allowed) const {
    std::size_t at = 0;
    for (const ComponentId component : schema_->kinds()[index_of(kind)].components) {
        const ComponentDef& def = schema_->components()[index_of(component)];
        for (const FieldDef& field : def.fields) {
            for (std::size_t w = 0; w < words_of(field); ++w, ++at) {
                if ((allowed >> index_of(component) & 1U) != 0 && a[at] != b[at])
                    return "field " + def.name + "." + field.name;
            }
        }
    }
    return "";
}

std::string DigestChecker::explain(std::span<const std::byte> state) {
    BitReader in(state);
    const std::uint32_t sequence = in.u32();
    const auto kept = kept_states_.find(sequence);
    if (kept == kept_states_.end())
        return "the client's state belongs to a packet that is no longer stored";
    std::vector<Ghost> expected = kept->second;
    keeps_states_ = false;
    kept_states_.clear();
    while (in.boolean() && in.ok()) {
        const std::uint32_t slot = in.u32();
        const auto kind = in.u16();
        const std::uint32_t parent = in.u32() - 1;
        if (kind >= schema_->kinds().size()) return "the client's state does not decode";
        if (slot >= expected.size() || !expected[slot].values) {
            return "the client has a ghost that it must not have: slot " + std::to_string(slot);
        }
        const Ghost ghost = expected[slot];
        expected[slot] = Ghost{};
        const std::string where = name_of(ghost.entity) + " (slot " + std::to_string(slot) +
                                  ") at tick " + std::to_string(ghost.tick);
        if (id_at<KindId>(kind) != ghost.kind) return where + ": wrong kind";
        std::size_t at = 0;
        std::string wrong;
        const auto& components = schema_->kinds()[kind].components;
        const Audience audience = audience_of(ghost);
        if (audience.some_only != 0) {
            const std::uint32_t allowed = in.u32();
            if (allowed != audience.allowed)
                wrong = where + ": replicated components are " + std::to_string(allowed) +
                        ", must be " + std::to_string(audience.allowed);
        }
        for (const ComponentId component : components) {
            const ComponentDef& def = schema_->components()[index_of(component)];
            const bool is_replicated = (ghost.allowed >> index_of(component) & 1U) != 0;
            for (const FieldDef& field : def.fields) {
                for (std::size_t w = 0; w < words_of(field); ++w, ++at) {
                    const std::uint32_t value = in.u32();
                    if (!wrong.empty() || !is_replicated || value == (*ghost.values)[at]) continue;
                    wrong = where + ": field " + def.name + "." + field.name + " is " +
                            std::to_string(value) + ", must be " +
                            std::to_string((*ghost.values)[at]);
                }
            }
        }
        if (!wrong.empty()) return wrong;
        if (parent != ghost.parent_slot) return where + ": wrong parent";
    }
    if (!in.ok()) return "the client's state does not decode";
    for (const Ghost& ghost : expected) {
        if (ghost.values) return "the client does not have " + name_of(ghost.entity);
    }
    return "the client's state matches";
}

}  // namespace purview::check
