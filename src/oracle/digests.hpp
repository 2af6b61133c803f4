// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Purview authors
//
// What a client must hold, from what was meant to be sent to it and the fate of every packet; and
// the digest of that. Values are read from the world and quantised here, by code of its own, so a
// fault anywhere between the world and the client's ghosts shows: field store, encoding, wire,
// decoding, application, acknowledgement.
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

/// Appends the words of an entity's fields, by components and fields in schema order; own
/// arithmetic. Of a reference: 0, 0, to be filled in for each observer.
void wire_values(const World& world, EntityId entity, std::vector<std::uint32_t>& values);

/// Where references stand among these words: word and the entity that is named.
struct NamedEntity {
    std::size_t word;
    EntityId entity;
};
std::vector<NamedEntity> named_entities(const World& world, EntityId entity);

/// How a extrapolated field goes on after the tick in which it was told (PROTOCOL.md, "Motion"): as
/// the server believes that the client has it. What becomes of it is reckoned here.
struct Course {
    std::size_t word = 0;    ///< among wire_values
    std::int64_t at = 0;     ///< 1/64 of a step
    std::int64_t speed = 0;  ///< 1/65,536 of a step in a tick
    std::int64_t largest = 0;
    std::uint32_t after(std::uint32_t ticks) const noexcept;
};

struct ManifestItem {
    /// keep: a leave after which the copy stays. shared: of a section; only what differs from
    /// `before` is told.
    enum class Type : std::uint8_t { enter, update, leave, keep, shared } type;
    std::uint32_t lane = 0;
    EntityId entity = EntityId::none;
    KindId kind{};
    std::uint32_t parent_lane = no_parent;
    static constexpr std::uint32_t no_parent = 0xffffffffU;
    /// All fields as of the tick, whichever of them travel. Shared by all observers of the tick,
    /// unless they name somebody.
    Words values;
    /// shared: of the tick before; references are 0 in both.
    Words before;
    /// Components that the observer is told, a bit each by schema.
    std::uint32_t told = ~std::uint32_t{0};
    std::vector<Course> courses;  ///< of all extrapolated fields
};

struct Manifest {
    std::uint32_t sequence = 0;
    Tick tick = 0;
    std::vector<ManifestItem> items;
};

/// One client.
class DigestChecker {
  public:
    explicit DigestChecker(const Schema& schema) : schema_(&schema) {}

    /// Empty, or what is wrong with the packet: a child whose parent the client may not have.
    std::string sent(Manifest manifest);
    void resolved(std::uint32_t sequence, bool delivered);
    /// True when the digest after applying packet `sequence` is what it must be. Digests for
    /// packets that have been overtaken are not judged (nothing).
    std::optional<bool> is_right(std::uint32_t sequence, std::uint64_t digest) const;
    /// From now on states are kept, until `explain` has found one.
    void keep_states() { keeping_ = true; }
    /// What is wrong with the state that the client sent (PROTOCOL.md, "Digest"): entity, field,
    /// tick.
    std::string explain(std::span<const std::byte> state);

    std::uint64_t digest() const noexcept { return digest_; }
    std::uint32_t last_resolved() const noexcept { return last_resolved_; }
    std::size_t ghost_count() const noexcept { return ghost_count_; }
    struct Sent {
        EntityId entity = EntityId::none;
        Words values;
        std::uint32_t told = 0;
    };
    /// As last sent for a lane, whatever became of the packet; null when never.
    const Sent* last_sent(std::uint32_t lane, EntityId entity) const;
    /// The first field of the components told that differs, or nothing.
    std::string difference(KindId kind, const std::vector<std::uint32_t>& a,
                           const std::vector<std::uint32_t>& b, std::uint32_t told) const;

  private:
    struct Ghost {
        EntityId entity = EntityId::none;
        KindId kind{};
        std::uint32_t parent_lane = ManifestItem::no_parent;
        Tick tick = 0;
        Words values;
        std::uint32_t told = ~std::uint32_t{0};
        std::vector<Course> courses;  ///< since `tick`
        std::uint64_t hash = 0;
    };
    /// Of a ghost's components with fields, a bit each: those for some only, and which of these are
    /// told.
    struct Audience {
        std::uint32_t some_only = 0;
        std::uint32_t told = 0;
    };
    Audience audience_of(const Ghost& ghost) const;
    std::uint64_t hash_of(std::uint32_t lane, const Ghost& ghost) const;
    void forget_references(std::uint32_t gone);
    bool has(std::uint32_t lane) const noexcept {
        return lane < ghosts_.size() && ghosts_[lane].values;
    }
    void set(std::uint32_t lane, Ghost ghost);
    void remove(std::uint32_t lane);
    /// Takes the values out of it.
    void apply(Manifest& manifest);
    void apply_shared(const ManifestItem& item, Tick tick);
    /// `held`, with every field that differs between the item's two states as it is now.
    Words merged(const std::vector<std::uint32_t>& held, const ManifestItem& item) const;
    void go_on(Tick tick);

    const Schema* schema_;
    std::deque<Manifest> under_way_;
    std::vector<Ghost> ghosts_;       ///< by lane; without values where there is none
    std::set<std::uint32_t> copies_;  ///< lanes whose copy is kept
    std::size_t ghost_count_ = 0;
    std::vector<Sent> sent_;  ///< by lane
    std::uint64_t digest_ = 0;
    std::uint32_t last_resolved_ = 0;
    bool keeping_ = false;
    std::map<std::uint32_t, std::vector<Ghost>> kept_;  ///< by sequence
};

}  // namespace purview::check
