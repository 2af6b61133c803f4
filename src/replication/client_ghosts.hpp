// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Purview authors
//
// What a client holds: the ghosts that have arrived, and nothing else. A snapshot is applied whole
// or not at all: it is decoded and checked first, into a list of edits, and only then applied.
// Parents enter before their children and leave after them, whatever the order in the packet.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "core/bitset.hpp"
#include "purview/client.hpp"
#include "purview/interest.hpp"
#include "purview/schema.hpp"
#include "replication/ghost_table.hpp"
#include "replication/schema_codec.hpp"
#include "wire/bit_reader.hpp"

namespace purview {

struct GhostEvent {
    LocalId ghost;
    KindId kind;
    Reason reason;  ///< of a leave
    CopyChange copy;
};

/// Where a ghost was, at a tick.
struct PlaceSample {
    Tick tick = 0;
    Vec3 place;
};

struct ClientGhostCounters {
    std::uint64_t snapshots = 0;
    std::uint64_t malformed = 0;
    std::uint64_t ignored_items = 0;  ///< for ghosts whose enter was lost
    std::uint64_t order_violations =
        0;  ///< a child without its parent: the server broke its promise
};

class ClientGhosts {
  public:
    static constexpr std::size_t samples_max = 4;
    /// Local ids above this are refused: a bound on memory, far above any budget.
    static constexpr LocalId local_ids_max = 1U << 20;

    explicit ClientGhosts(Schema schema);

    const Schema& schema() const noexcept { return schema_; }

    /// Decodes a snapshot and changes nothing. False: the bytes are none. Reads exactly the
    /// snapshot.
    bool read(BitReader& in);
    /// Applies what was read last. `newest` is the tick known so far, by which the 16 bits of the
    /// packet are completed.
    void accept(Tick& newest);

    std::uint32_t count() const noexcept { return count_; }
    LocalId lane_end() const noexcept { return static_cast<LocalId>(ghosts_.size()); }
    bool is_held(LocalId ghost) const noexcept {
        return ghost < ghosts_.size() && ghosts_[ghost].held;
    }
    /// It left, and its copy is kept; not despawn: how.
    LeavePolicy kept_as(LocalId ghost) const noexcept {
        return ghost < ghosts_.size() ? ghosts_[ghost].kept : LeavePolicy::despawn;
    }
    /// Held or kept: it has values.
    bool has_copy(LocalId ghost) const noexcept {
        return is_held(ghost) || kept_as(ghost) != LeavePolicy::despawn;
    }
    KindId kind(LocalId ghost) const noexcept { return ghosts_[ghost].kind; }
    bool owned(LocalId ghost) const noexcept { return ghosts_[ghost].owned; }
    LocalId parent(LocalId ghost) const noexcept { return ghosts_[ghost].parent; }
    Tick updated(LocalId ghost) const noexcept { return ghosts_[ghost].updated; }
    /// Parts that we are told, a bit each (KindLayout).
    std::uint32_t told(LocalId ghost) const noexcept { return ghosts_[ghost].told; }
    const KindLayout& layout(KindId kind) const noexcept { return layouts_[index_of(kind)]; }
    /// Words of all fields, in the order of layout(kind). A reference: the ghost's local id + 1, or
    /// 0, whether that ghost is held or not; then 0.
    std::span<const std::uint32_t> words(LocalId ghost) const noexcept {
        return std::span(words_).subspan(ghost * stride_,
                                         layouts_[index_of(ghosts_[ghost].kind)].words);
    }
    /// The first word of a field, or null when the ghost's kind has none such.
    const std::uint32_t* find_words(LocalId ghost, ComponentId component,
                                    std::size_t field) const noexcept;
    /// The ghost's place at a tick that may lie between two; clamped to what is known.
    Vec3 place_at(LocalId ghost, double tick) const noexcept;
    bool has_place(LocalId ghost) const noexcept;

    /// Of the snapshots applied since the last clear_events(). Children leave before parents.
    std::span<const GhostEvent> events() const noexcept { return events_; }
    void clear_events() noexcept { events_.clear(); }
    /// Leaves of the snapshot applied last for ghosts that were not held: they will never come.
    std::span<const LocalId> ignored_leaves() const noexcept { return ignored_leaves_; }

    /// Another one whenever a ghost came, went, or changed its parent or owner.
    std::uint32_t relations() const noexcept { return relations_; }

    /// PROTOCOL.md, "Digest": the sum of a hash of every ghost.
    std::uint64_t digest() const noexcept;
    const ClientGhostCounters& counters() const noexcept { return counters_; }

  private:
    struct Ghost {
        bool held = false;
        bool owned = false;
        LeavePolicy kept = LeavePolicy::despawn;  ///< not held any more
        KindId kind{};
        LocalId parent = no_local_id;
        std::uint32_t told = told_all;
        Tick updated = 0;
        std::uint8_t samples = 0;
        PlaceSample sample[samples_max];  ///< newest first
    };
    struct Edit {
        enum class Type : std::uint8_t { leave, enter, update } type;
        LocalId ghost;
        KindId kind{};
        Reason reason{};
        LeavePolicy policy = LeavePolicy::despawn;
        bool relink = false;
        bool owned = false;
        LocalId parent = no_local_id;
        std::uint32_t told = told_all;
        FieldMask mask = 0;
        std::uint32_t words_at = 0;  ///< into staged_words_
    };

    bool decode(BitReader& in);
    bool decode_link(BitReader& in, Edit& edit);
    bool decode_full(BitReader& in, Edit& edit);
    bool decode_update(BitReader& in, Edit& edit);
    void decode_fields(BitReader& in, FieldMask mask, const KindLayout& layout);
    void decode_references(BitReader& in, const Edit& edit, const KindLayout& layout);
    void stop_telling(const Edit& edit);
    void forget_references(LocalId gone);
    bool known_kind(BitReader& in, Edit& edit);
    void apply(Tick tick);
    void remove(LocalId ghost, Reason reason, LeavePolicy policy);
    void resume(LocalId ghost);
    void apply_values(const Edit& edit, Tick tick);
    void enter(const Edit& edit, Tick tick);
    bool is_ready(const Edit& edit) const noexcept;
    Vec3 decode_place(LocalId ghost) const noexcept;

    Schema schema_;
    std::vector<KindLayout> layouts_;
    std::vector<std::vector<std::uint32_t>> defaults_;  ///< by kind: the words of what is all zeros
    std::vector<std::vector<std::uint16_t>> word_at_;   ///< by kind and field: its first word
    bool has_references_ = false;
    unsigned kind_bits_;
    std::size_t stride_ = 1;
    std::vector<Ghost> ghosts_;
    std::vector<std::uint32_t> words_;  ///< [ghosts][stride]
    std::uint32_t count_ = 0;
    std::vector<Edit> edits_;
    std::uint16_t tick_low_ = 0;
    std::vector<std::uint32_t> staged_words_;
    std::vector<GhostEvent> events_;
    std::vector<LocalId> ignored_leaves_;
    ClientGhostCounters counters_;
    std::uint32_t relations_ = 0;
};

}  // namespace purview
