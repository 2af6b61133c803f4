// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Purview authors
//
// What a client holds: the ghosts that have arrived, and nothing else. A snapshot is applied whole
// or not at all: it is decoded and checked first, into a list of edits, and only then applied.
// Parents enter before their children and leave after them, whatever the order in the packet.
#pragma once

#include <cstdint>
#include <span>
#include <utility>
#include <vector>

#include "client/ghost_pages.hpp"
#include "client/motions.hpp"
#include "client/sections.hpp"
#include "core/bitset.hpp"
#include "core/rotation.hpp"
#include "protocol/bit_reader.hpp"
#include "protocol/local_id.hpp"
#include "protocol/schema_codec.hpp"
#include "purview/client.hpp"
#include "purview/schema.hpp"
#include "purview/types.hpp"

namespace purview {

struct GhostEvent {
    LocalId ghost;
    KindId kind;
    Reason reason;
    Change copy;
};

/// Its parent or root, as they are shown, changed.
struct GhostRelation {
    LocalId ghost;
    LocalId old_root, new_root;
    LocalId old_parent, new_parent;
};

struct ClientGhostCounters {
    std::uint64_t snapshots = 0;
    std::uint64_t malformed = 0;
    std::uint64_t ignored_items = 0;  ///< for ghosts whose enter was lost
    std::uint64_t sections = 0;       ///< shared ones
    std::uint64_t waits_ended = 0;    ///< ghosts shown without the whole of their group
    std::uint64_t order_violations =
        0;  ///< a child without its parent: the server broke its promise
};

/// In ClientChange::components.
constexpr std::uint32_t component_bit(ComponentId component) noexcept {
    return 1U << index_of(component);
}

class ClientGhosts {
  public:
    static constexpr std::size_t samples_max = ClientGhost::samples_max;
    /// Ticks that a ghost waits for the rest of its group, from its enter on (O3).
    static constexpr Tick wait_ticks_max = 300;

    explicit ClientGhosts(Schema schema);
    /// That ghosts may take: a packet that would need more is none.
    std::size_t bytes_max = ~std::size_t{0};
    /// Who is told of after so many ticks at most was on the way in all of them; after more he
    /// stood, and went in the last. As many as he is drawn behind: then the end of a way is known
    /// when its beginning is drawn.
    float way_ticks_max = 1;
    std::size_t bytes() const noexcept { return ghosts_.bytes() + motions_.bytes(); }

    const Schema& schema() const noexcept { return schema_; }

    /// Decodes a snapshot and changes nothing. False: the bytes are none. Reads exactly the
    /// snapshot.
    bool read(BitReader& in);
    /// Applies what was read last. `newest` is the tick known so far, by which the 16 bits of the
    /// packet are completed. `is_next`: no packet was lost since the last that came, so what it
    /// tells was not so in the tick before.
    void accept(Tick& newest, bool is_next = false);

    /// Of those that are shown.
    std::uint32_t count() const noexcept { return count_; }
    LocalId lane_end() const noexcept { return ghosts_.end(); }
    bool is_held(LocalId ghost) const noexcept {
        return ghosts_.has_room(ghost) && ghosts_[ghost].held;
    }
    /// It is held, and so is all of its group: the game may know of it.
    bool is_shown(LocalId ghost) const noexcept { return is_held(ghost) && !ghosts_[ghost].waits; }
    bool is_any_waiting() const noexcept { return !waiting_.empty(); }
    /// It was shown and left, and its copy is kept; not despawn: how.
    Retention retention(LocalId ghost) const noexcept {
        return ghosts_.has_room(ghost) && ghosts_[ghost].known ? ghosts_[ghost].kept
                                                               : Retention::despawn;
    }
    /// Held or kept, shown or not: it has values.
    bool has_copy(LocalId ghost) const noexcept {
        return is_held(ghost) ||
               (ghosts_.has_room(ghost) && ghosts_[ghost].kept != Retention::despawn);
    }
    /// The game was told of it and has not read yet that it has gone: its values are its last ones.
    bool has_left(LocalId ghost) const noexcept {
        return ghosts_.has_room(ghost) && ghosts_[ghost].has_left;
    }
    /// The game has read that.
    void forget_left(LocalId ghost) noexcept {
        if (ghosts_.has_room(ghost)) ghosts_[ghost].has_left = false;
    }
    /// Calls visit(ghost) for all that are held, ascending.
    template <class Visit>
    void for_each_held(Visit&& visit) const {
        ghosts_.for_each([&](LocalId ghost) {
            if (ghosts_[ghost].held) visit(ghost);
        });
    }
    KindId kind(LocalId ghost) const noexcept { return ghosts_[ghost].kind; }
    bool owned(LocalId ghost) const noexcept { return ghosts_[ghost].owned; }
    /// The tick in which it came, or came back.
    Tick since(LocalId ghost) const noexcept { return ghosts_[ghost].entered; }
    LocalId parent(LocalId ghost) const noexcept { return ghosts_[ghost].parent; }
    /// As it is shown: none while the parent waits.
    LocalId shown_parent(LocalId ghost) const noexcept {
        const LocalId above = ghosts_[ghost].parent;
        return above != no_local_id && is_shown(above) ? above : no_local_id;
    }
    LocalId shown_root(LocalId ghost) const noexcept { return ghosts_[ghost].told_root; }
    /// Of the group of a shown ghost: root first, depth first, children as they were linked here.
    void members_of(LocalId ghost, std::vector<LocalId>& out) const;
    std::span<const GhostRelation> relations() const noexcept { return relations_; }
    Tick updated(LocalId ghost) const noexcept { return ghosts_[ghost].updated; }
    /// Parts that we are told, a bit each (KindLayout).
    std::uint32_t told(LocalId ghost) const noexcept { return ghosts_[ghost].told; }
    const KindLayout& layout(KindId kind) const noexcept { return layouts_[index_of(kind)]; }
    /// Words of all fields, in the order of layout(kind). A reference: the ghost's local id + 1, or
    /// 0, whether that ghost is held or not; then 0.
    std::span<const std::uint32_t> words(LocalId ghost) const noexcept {
        return {ghosts_.words(ghost), layouts_[index_of(ghosts_[ghost].kind)].words};
    }
    /// The first word of a field, or null when the ghost's kind has none such.
    const std::uint32_t* find_words(LocalId ghost, ComponentId component,
                                    std::size_t field) const noexcept;
    /// The ghost's place at a tick that may lie between two; clamped to what is known.
    Vec3 position_at(LocalId ghost, double tick) const noexcept;
    /// With how it is turned: not at all, where its kind has no orientation.
    Pose pose_at(LocalId ghost, double tick) const noexcept;
    /// The same, as it is told: as seen from frame_of, or in the world.
    Pose told_pose_at(LocalId ghost, double tick) const noexcept;
    /// Its newest move, as it is told, was a jump (KindDef::teleport_distance); or that to an older
    /// sample.
    bool did_jump(LocalId ghost, std::size_t to_sample = 0) const noexcept;
    /// Metres a tick of the way that its newest update told of, as it is told. A rest before it
    /// counts as a part of the way: perhaps it was only told of seldom.
    Vec3 told_velocity(LocalId ghost) const noexcept;
    /// Where it is told relative to: its parent, or nobody (no_local_id).
    LocalId frame_of(LocalId ghost) const noexcept;
    bool has_position(LocalId ghost) const noexcept;
    bool has_orientation(LocalId ghost) const noexcept {
        return schema_.kinds()[index_of(ghosts_[ghost].kind)].orientation.component !=
               ComponentId::none;
    }
    /// As it arrived last.
    Vec3 replicated_position(LocalId ghost) const noexcept { return decode_position(ghost); }

    /// Of the snapshots applied since the last clear_events(). Children leave before parents.
    std::span<const GhostEvent> events() const noexcept { return events_; }
    void clear_events() noexcept {
        events_.clear();
        relations_.clear();
    }
    /// Since the last clear_changes(), of those that are shown.
    std::span<const ClientChange> changes() const noexcept { return changes_; }
    void clear_changes() noexcept;
    /// Leaves of the snapshot applied last for ghosts that were not held: they will never come.
    std::span<const LocalId> ignored_leaves() const noexcept { return ignored_leaves_; }

    /// Of them, how many there are.
    unsigned depth_of(LocalId ghost) const noexcept;

    /// How a snapshot names a ghost.
    enum class Named : std::uint8_t { leave, body, parent, reference, roster };
    /// Calls visit(named, ghost) for each local id in the snapshot applied last, also of what was
    /// then ignored. For checks.
    template <class Visit>
    void for_each_named(Visit&& visit) const;
    /// Calls visit(ghost, parts) for each body in it, with the parts of which it tells a field, a
    /// bit each (KindLayout); also of what was then ignored. For checks.
    template <class Visit>
    void for_each_body(Visit&& visit) const;

    /// Another one whenever a ghost came, went, or changed its parent or owner.
    std::uint32_t revision() const noexcept { return revision_; }

    /// PROTOCOL.md, "Digest": the sum of a hash of every ghost.
    std::uint64_t digest() const noexcept;
    const ClientGhostCounters& counters() const noexcept { return counters_; }

  private:
    struct Edit {
        enum class Type : std::uint8_t { leave, enter, update } type;
        LocalId ghost;
        KindId kind{};
        Reason reason{};  ///< of a leave; or of the enter, in a link
        Retention policy = Retention::despawn;
        bool relink = false;
        bool shared = false;  ///< of a section
        bool owned = false;
        bool whole = true;
        LocalId parent = no_local_id;
        std::uint32_t told = told_all;
        FieldMask mask = 0;
        std::uint32_t words_at = 0;  ///< into staged_words_
        /// Into staged_motions_: of differences; no_motions: what is told is told whole.
        std::uint32_t motions_at = no_motions;
    };
    static constexpr std::uint32_t no_motions = ~std::uint32_t{0};

    bool decode(BitReader& in);
    bool decode_link(BitReader& in, Edit& edit);
    bool decode_full(BitReader& in, Edit& edit);
    bool decode_update(BitReader& in, Edit& edit);
    void decode_sections(BitReader& in);
    void decode_fields(BitReader& in, FieldMask mask, const KindLayout& layout);
    void decode_references(BitReader& in, const Edit& edit, const KindLayout& layout);
    // client_differences.cpp: ghosts with extrapolated fields
    Tick completed_tick(Tick newest) const noexcept;
    void read_baseline(BitReader& in);
    bool decode_differences(BitReader& in, Edit& edit);
    FieldMask decode_others(BitReader& in, const KindLayout& layout);
    void apply_motions(const Edit& edit, Tick tick);
    bool is_moving(LocalId ghost) const noexcept {
        return ghost / bits_per_word < moving_.size() &&
               (moving_[ghost / bits_per_word] >> (ghost % bits_per_word) & 1U) != 0;
    }
    void set_moving(LocalId ghost, bool moves);
    void end_motions(LocalId ghost);
    void go_on(Tick tick);
    void note_position(LocalId ghost, Tick tick, Tick stood_until);
    void change_told(const Edit& edit);
    bool is_leaving(LocalId ghost) const noexcept {
        return ghost < leaving_.size() && leaving_.test(ghost);
    }
    void forget_references();
    // client_changes.cpp: what is another than the game has read
    void note_change(LocalId ghost, std::uint32_t components, bool owner = false);
    void note_shown(LocalId ghost, bool resumed);
    void note_new_references();
    void forget_change(LocalId ghost);
    bool differ(const KindField& field, const std::uint32_t* before, const std::uint32_t* now);
    void find_orphans();
    bool known_kind(BitReader& in, Edit& edit);
    void apply(Tick tick);
    void remove(const Edit& edit, Tick tick);
    void resume(const Edit& edit, Tick tick);
    void arrive(LocalId ghost, bool whole, Tick tick);
    void show(LocalId ghost);
    void show_waiting(Tick tick);
    void tell_relations();
    /// The words of one field of its kind.
    const std::uint32_t* words_of(LocalId ghost, std::size_t field) const noexcept {
        PURVIEW_ASSERT(field < word_at_[index_of(kind(ghost))].size());
        return ghosts_.words(ghost) + word_at_[index_of(kind(ghost))][field];
    }
    std::uint32_t* words_of(LocalId ghost, std::size_t field) noexcept {
        PURVIEW_ASSERT(field < word_at_[index_of(kind(ghost))].size());
        return ghosts_.words(ghost) + word_at_[index_of(kind(ghost))][field];
    }
    void push_sample(LocalId ghost, Tick tick, const Pose& pose) noexcept;
    Pose sample(LocalId ghost, std::size_t i) const noexcept {
        PURVIEW_ASSERT(i < ghosts_[ghost].samples);
        return {ghosts_[ghost].sample[i].position,
                ghosts_.has_turns() ? ghosts_.turns(ghost)[i] : Rotation{}};
    }
    void set_sample(LocalId ghost, std::size_t i, const Pose& pose) noexcept;
    Pose decode_pose(LocalId ghost) const noexcept;
    bool says_pose(const KindField& field, KindId kind) const noexcept;
    void set_parent(LocalId ghost, LocalId parent, Tick tick);
    void end_link_back(LocalId ghost, LocalId parent, Tick tick);
    LocalId root_of(LocalId ghost) const noexcept;
    void apply_values(const Edit& edit, Tick tick);
    void enter(const Edit& edit, Tick tick);
    bool is_ready(const Edit& edit) const noexcept;
    bool has_room_for_edits() const noexcept;
    Vec3 decode_position(LocalId ghost) const noexcept;

    Schema schema_;
    std::vector<KindLayout> layouts_;
    std::vector<std::vector<std::uint32_t>> defaults_;  ///< by kind: the words of what is all zeros
    std::vector<std::vector<std::uint16_t>> word_at_;   ///< by kind and field: its first word
    std::uint32_t links_ = 0;                           ///< made since the connection began
    bool has_references_ = false;
    bool names_unshown_ = false;  ///< a reference may name somebody who is not shown
    bool has_extrapolated_ = false;
    unsigned kind_bits_;
    GhostPages ghosts_;
    std::uint32_t count_ = 0;
    std::vector<Edit> edits_;
    std::uint16_t tick_low_ = 0;
    std::vector<std::uint32_t> staged_words_;
    ClientSections sections_;
    std::uint32_t packets_ = 0;
    std::vector<std::uint32_t> other_words_;  ///< scratch of decode_differences
    std::vector<Motion> staged_motions_;
    ClientMotions motions_;
    std::vector<std::uint64_t> moving_;  ///< ghosts whose motion does not stand, a bit each
    Tick tick_ = 0;                      ///< the newest of a snapshot; 0: none yet
    Tick before_ = 0;                    ///< up to which all is known but what it tells
    Tick baseline_ = 0;                  ///< of the differences that are read; 0: none
    std::vector<LocalId> waiting_;       ///< in the order of their arrival
    std::vector<GhostRelation> relations_;
    bool are_links_new_ = false;
    std::vector<GhostEvent> events_;
    std::vector<ClientChange> changes_;
    std::vector<LocalId> ignored_leaves_;
    Bitset leaving_;                                    ///< scratch of apply
    std::vector<std::pair<LocalId, LocalId>> orphans_;  ///< scratch: {who leaves, child}, ascending
    ClientGhostCounters counters_;
    std::uint32_t revision_ = 0;
};

template <class Visit>
void ClientGhosts::for_each_named(Visit&& visit) const {
    for (const Edit& edit : edits_) {
        visit(edit.type == Edit::Type::leave ? Named::leave : Named::body, edit.ghost);
        if (edit.parent != no_local_id) visit(Named::parent, edit.parent);
        std::size_t at = edit.words_at;
        for_each_bit(edit.mask, 0, [&](std::size_t f) {
            const FieldDef& field = *layout(edit.kind).fields[f].def;
            if (field.type == FieldType::reference && staged_words_[at] != 0)
                visit(Named::reference, staged_words_[at] - 1);
            at += field.words;
        });
    }
    sections_.for_each_new(
        [&](const ClientSections::Member& member) { visit(Named::roster, member.ghost); });
}

template <class Visit>
void ClientGhosts::for_each_body(Visit&& visit) const {
    for (const Edit& edit : edits_) {
        if (edit.type == Edit::Type::leave) continue;
        const auto& all = layout(edit.kind).parts;
        std::uint32_t parts = 0;
        for (std::size_t p = 0; p < all.size(); ++p)
            parts |= (edit.mask & all[p].fields) != 0 ? 1U << p : 0;
        visit(edit.ghost, parts);
    }
}

}  // namespace purview
