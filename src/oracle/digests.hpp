// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Purview authors
//
// Computes the ghosts that a client must have, and their digest, from the items of each packet and
// its delivery status. Values are read from the world and quantized here, by independent code. This
// detects a fault anywhere between the world and the client's ghosts: in the field store, encoding,
// wire, decoding, application or acknowledgement.
#pragma once

#include <cstdint>
#include <deque>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "oracle/words.hpp"
#include "purview/schema.hpp"
#include "purview/types.hpp"
#include "purview/world.hpp"

namespace purview::check {

/// Appends the words of an entity's fields, by components and fields in schema order, with
/// independent arithmetic. A reference becomes 0, 0, to be filled in for each observer.
void wire_values(const World& world, EntityId entity, std::vector<std::uint32_t>& values);

/// Position of a reference among these words, and the entity that it refers to.
struct NamedEntity {
    std::size_t word;
    EntityId entity;
};
std::vector<NamedEntity> named_entities(const World& world, EntityId entity);

/// The predictor state of a dead-reckoned field after the tick in which it was sent (PROTOCOL.md,
/// "Motion"), as the server assumes it for the client. The prediction itself is computed here.
struct Course {
    std::size_t word = 0;    ///< among wire_values
    std::int64_t at = 0;     ///< 1/64 of a step
    std::int64_t speed = 0;  ///< 1/65,536 of a step in a tick
    std::int64_t largest = 0;
    std::uint32_t after(std::uint32_t ticks) const noexcept;
};

struct ManifestItem {
    /// keep: a leave after which the ghost is retained. shared: from a shared cell payload; only
    /// what differs from `before` is sent.
    enum class Type : std::uint8_t { enter, update, leave, keep, shared } type;
    std::uint32_t slot = 0;
    EntityId entity = EntityId::none;
    KindId kind{};
    std::uint32_t parent_slot = no_parent;
    static constexpr std::uint32_t no_parent = 0xffffffffU;
    /// All fields as of the tick, whether they are sent or not. Shared by all observers of the
    /// tick, unless they contain references.
    Words values;
    /// shared: values of the tick before; references are 0 in both.
    Words before;
    /// Components that are replicated to the observer, one bit each by schema.
    std::uint32_t allowed = ~std::uint32_t{0};
    std::vector<Course> courses;  ///< for all dead-reckoned fields
};

struct Manifest {
    std::uint32_t sequence = 0;
    Tick tick = 0;
    std::vector<ManifestItem> items;
};

/// The expected state of one client.
class DigestChecker {
  public:
    explicit DigestChecker(const Schema& schema) : schema_(&schema) {}

    /// Records a packet in flight. Returns an error text if a child enters before the client has
    /// its parent, otherwise an empty string.
    std::string sent(Manifest manifest);
    /// Records the delivery status of a packet.
    void resolved(std::uint32_t sequence, bool delivered);
    /// Returns whether this is the expected digest after packet `sequence`; nothing if a later
    /// packet was resolved.
    std::optional<bool> is_right(std::uint32_t sequence, std::uint64_t digest) const;
    /// Stores the expected state after each packet, until `explain` has found the one it needs.
    void keep_states() { keeps_states_ = true; }
    /// Compares the state that the client sent (PROTOCOL.md, "Digest"). Returns the first
    /// difference as text, with entity, field and tick.
    std::string explain(std::span<const std::byte> state);

    std::uint64_t digest() const noexcept { return digest_; }
    std::uint32_t last_resolved() const noexcept { return last_resolved_; }
    std::size_t ghost_count() const noexcept { return ghost_count_; }
    struct Sent {
        EntityId entity = EntityId::none;
        Words values;
        std::uint32_t allowed = 0;
    };
    /// Returns the values that were last sent for a ghost slot, with any delivery status; null if
    /// none were sent.
    const Sent* last_sent(std::uint32_t slot, EntityId entity) const;
    /// Returns the first field that differs among the `allowed` components, or an empty string.
    std::string difference(KindId kind, const std::vector<std::uint32_t>& a,
                           const std::vector<std::uint32_t>& b, std::uint32_t allowed) const;

  private:
    struct Ghost {
        EntityId entity = EntityId::none;
        KindId kind{};
        std::uint32_t parent_slot = ManifestItem::no_parent;
        Tick tick = 0;
        Words values;
        std::uint32_t allowed = ~std::uint32_t{0};
        std::vector<Course> courses;  ///< since `tick`
        std::uint64_t hash = 0;
    };
    /// Components of a ghost that have fields, one bit each: those with a limited audience, and
    /// which of these are replicated.
    struct Audience {
        std::uint32_t some_only = 0;
        std::uint32_t allowed = 0;
    };
    Audience audience_of(const Ghost& ghost) const;
    std::uint64_t hash_of(std::uint32_t slot, const Ghost& ghost) const;
    void forget_references(std::uint32_t gone);
    bool has(std::uint32_t slot) const noexcept {
        return slot < ghosts_.size() && ghosts_[slot].values;
    }
    void set(std::uint32_t slot, Ghost ghost);
    void remove(std::uint32_t slot);
    /// Moves the values out of the manifest.
    void apply(Manifest& manifest);
    void apply_shared(const ManifestItem& item, Tick tick);
    /// Returns `held`, in which every field that differs between the item's two states has its
    /// current value.
    Words merged(const std::vector<std::uint32_t>& held, const ManifestItem& item) const;
    void follow_predictions(Tick tick);

    const Schema* schema_;
    std::deque<Manifest> in_flight_;
    std::vector<Ghost> ghosts_;       ///< by ghost slot; without values where there is none
    std::set<std::uint32_t> copies_;  ///< ghost slots of retained ghosts
    std::size_t ghost_count_ = 0;
    std::vector<Sent> sent_;  ///< by ghost slot
    std::uint64_t digest_ = 0;
    std::uint32_t last_resolved_ = 0;
    bool keeps_states_ = false;
    std::map<std::uint32_t, std::vector<Ghost>> kept_states_;  ///< by sequence
};

}  // namespace purview::check
