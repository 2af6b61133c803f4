// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Purview authors
#include "client/ghosts.hpp"

#include <algorithm>
#include <array>
#include <bit>
#include <cstring>

#include "core/hash.hpp"
#include "core/mutate.hpp"
#include "core/validate.hpp"
#include "protocol/quantize.hpp"
#include "protocol/rice.hpp"
#include "protocol/snapshot_format.hpp"
#include "purview/limits.hpp"

namespace purview {

namespace {

/// What holds of all ghosts between two packets.
struct HeldGhosts {
    const ClientGhosts& ghosts;

    void validate() const {
        std::uint32_t shown = 0, waiting = 0;
        ghosts.for_each_held([&](LocalId ghost) {
            ++(ghosts.is_shown(ghost) ? shown : waiting);
            PURVIEW_ASSERT(index_of(ghosts.kind(ghost)) < ghosts.schema().kinds().size());
            PURVIEW_ASSERT(ghosts.parent(ghost) != ghost);
            PURVIEW_ASSERT(ghosts.shown_root(ghost) < ghosts.lane_end());
            PURVIEW_ASSERT(!ghosts.has_left(ghost));  // who came under its id has its own values
            PURVIEW_ASSERT(!ghosts.is_shown(ghost) ||
                           ghosts.retention(ghost) == Retention::despawn);
        });
        PURVIEW_ASSERT(shown == ghosts.count());
        PURVIEW_ASSERT((waiting > 0) == ghosts.is_any_waiting());
        for (const ClientChange& change : ghosts.changes()) {
            PURVIEW_ASSERT(ghosts.is_shown(change.ghost));
            PURVIEW_ASSERT(change.components != 0 || change.owner_changed);
        }
    }
};

}  // namespace

ClientGhosts::ClientGhosts(Schema schema)
    : schema_(std::move(schema)),
      layouts_(layouts_of(schema_)),
      kind_bits_(bits_for(schema_.kinds().size() - 1)) {
    const std::array<std::byte, 256> zeros{};
    int extrapolated = 0;
    std::size_t words = 1;
    for (const KindLayout& layout : layouts_) {
        auto& defaults = defaults_.emplace_back();
        auto& word_at = word_at_.emplace_back();
        for (const KindField& field : layout.fields) {
            word_at.push_back(static_cast<std::uint16_t>(defaults.size()));
            defaults.resize(defaults.size() + field.def->words);
            quantize(*field.def, zeros.data(), defaults.data() + word_at.back());
        }
        words = std::max(words, layout.words);
        has_references_ |= layout.references != 0;
        has_extrapolated_ |= layout.extrapolated != 0;
        extrapolated = std::max(extrapolated, std::popcount(layout.extrapolated));
    }
    const bool has_turns = std::any_of(
        schema_.kinds().begin(), schema_.kinds().end(),
        [](const KindDef& kind) { return kind.orientation.component != ComponentId::none; });
    ghosts_.set_sizes(words, has_turns);
    motions_.set_fields(static_cast<std::size_t>(extrapolated));
}

// -- decode: bytes to edits, nothing applied ----------------------------------------------------

bool ClientGhosts::known_kind(BitReader& in, Edit& edit) {
    const auto kind = in.bits(kind_bits_);
    if (kind >= layouts_.size()) {
        in.fail();
        return false;
    }
    edit.kind = KindId{static_cast<std::uint16_t>(kind)};
    return true;
}

bool ClientGhosts::decode_link(BitReader& in, Edit& edit) {
    const auto reason = in.bits(enter_reason_bits);
    if (!PURVIEW_GUARD(client_reason, read_enter_reason(reason, edit.reason))) in.fail();
    edit.owned = in.boolean();
    edit.whole = in.boolean();
    if (in.boolean()) edit.parent = static_cast<LocalId>(in.varint_max(local_ids_max - 1));
    if (edit.parent == edit.ghost) in.fail();
    for_each_bit(layout(edit.kind).audience, 0, [&](std::size_t part) {
        if (!in.boolean()) edit.told &= ~(1U << part);
    });
    return in.ok();
}

/// Appends the words of these fields; those of references are filled in later.
void ClientGhosts::decode_fields(BitReader& in, FieldMask mask, const KindLayout& layout) {
    for_each_bit(mask, 0, [&](std::size_t f) {
        const FieldDef& field = *layout.fields[f].def;
        const std::size_t at = staged_words_.size();
        staged_words_.resize(at + field.words, 0);
        if (field.type != FieldType::reference) read_words(field, in, staged_words_.data() + at);
    });
}

void ClientGhosts::decode_references(BitReader& in, const Edit& edit, const KindLayout& layout) {
    if ((edit.mask & layout.references) == 0) return;
    std::size_t at = edit.words_at;
    for_each_bit(edit.mask, 0, [&](std::size_t f) {
        const FieldDef& field = *layout.fields[f].def;
        if (field.type == FieldType::reference && in.boolean())
            staged_words_[at] = static_cast<std::uint32_t>(in.varint_max(local_ids_max - 1)) + 1;
        at += field.words;
    });
}

bool ClientGhosts::decode_full(BitReader& in, Edit& edit) {
    const KindLayout& its = layout(edit.kind);
    edit.mask = its.fields_of(edit.told);
    edit.words_at = static_cast<std::uint32_t>(staged_words_.size());
    decode_fields(in, edit.mask, its);
    decode_references(in, edit, its);
    return in.ok();
}

bool ClientGhosts::decode_update(BitReader& in, Edit& edit) {
    const KindLayout& its = layout(edit.kind);
    edit.mask = 0;
    edit.words_at = static_cast<std::uint32_t>(staged_words_.size());
    for (const KindLayout::Part& part : its.parts) {
        if (its.asks_parts() && !in.boolean()) continue;
        FieldMask fields = part.fields;
        if (part.count > 1 && !in.boolean()) fields = in.bits(part.count) << part.first;
        decode_fields(in, fields, its);
        edit.mask |= fields;
    }
    // What is extrapolated is told by differences, or all of it.
    if ((edit.mask & its.extrapolated) != its.extrapolated) in.fail();
    decode_references(in, edit, its);
    return in.ok();
}

bool ClientGhosts::decode(BitReader& in) {
    edits_.clear();
    staged_words_.clear();
    staged_motions_.clear();
    const auto section = [&](auto&& decode_item, bool plain) {
        // An item has at least four bits before its body: no count can be larger than that.
        const auto count = in.varint_max(in.bits_left() / 2 + 1);
        const auto k = plain && count > 0 ? static_cast<unsigned>(in.bits(4)) : 0U;
        if (plain && count > 0 && has_extrapolated_) read_baseline(in);
        LocalId expected = 0;
        for (std::uint64_t i = 0; i < count && in.ok(); ++i) {
            const auto gap = plain ? in.rice(k, local_ids_max) : in.varint_max(local_ids_max);
            Edit edit{};
            edit.ghost = expected + static_cast<LocalId>(gap);
            if (edit.ghost >= local_ids_max) in.fail();
            expected = edit.ghost + 1;
            if (in.ok() && decode_item(edit)) edits_.push_back(edit);
        }
    };
    section(
        [&](Edit& edit) {
            edit.type = Edit::Type::leave;
            edit.reason = static_cast<Reason>(in.bits(leave_reason_bits));
            if (!PURVIEW_GUARD(client_leave_reason, is_leave_reason(edit.reason))) in.fail();
            if (in.boolean()) edit.policy = static_cast<Retention>(in.bits(leave_policy_bits));
            return in.ok();
        },
        false);
    section(
        [&](Edit& edit) {
            edit.type = Edit::Type::enter;
            if (!PURVIEW_GUARD(client_enter, !has_copy(edit.ghost)))
                in.fail();  // an id is free before it is used again
            return known_kind(in, edit) && decode_link(in, edit) && decode_full(in, edit);
        },
        false);
    const auto enters_here = [this](LocalId ghost) {
        return std::any_of(edits_.begin(), edits_.end(), [ghost](const Edit& edit) {
            return edit.type == Edit::Type::enter && edit.ghost == ghost;
        });
    };
    section(
        [&](Edit& edit) {
            edit.type = Edit::Type::update;
            if (!known_kind(in, edit)) return false;
            edit.relink = in.boolean();
            if (edit.relink && !decode_link(in, edit)) return false;
            if (has_copy(edit.ghost) ? kind(edit.ghost) != edit.kind : enters_here(edit.ghost))
                in.fail();
            return decode_update(in, edit);
        },
        false);
    section(
        [&](Edit& edit) {
            edit.type = Edit::Type::update;
            if (!PURVIEW_GUARD(client_plain, is_held(edit.ghost))) {
                in.fail();
                return false;
            }
            edit.kind = kind(edit.ghost);
            return layout(edit.kind).extrapolated != 0 ? decode_differences(in, edit)
                                                       : decode_update(in, edit);
        },
        true);
    sections_.begin();
    if (in.boolean()) decode_sections(in);
    return in.ok() && PURVIEW_GUARD(client_room, has_room_for_edits());
}

/// Of what comes, or comes back. One bit may be enough of a server for kilobytes here.
bool ClientGhosts::has_room_for_edits() const noexcept {
    std::size_t pages = 0, slots = 0, page_before = ~std::size_t{0};
    for (const Edit& edit : edits_) {
        if (edit.type == Edit::Type::leave || is_held(edit.ghost)) continue;
        const std::size_t page = GhostPages::page_of(edit.ghost);
        const bool is_new = edit.type == Edit::Type::enter && !ghosts_.has_room(edit.ghost);
        if (is_new && page != page_before) {  // enters ascend
            page_before = page;
            ++pages;
        }
        if (layout(edit.kind).extrapolated != 0) ++slots;
    }
    return bytes() + pages * ghosts_.page_bytes() + motions_.bytes_of(slots) <= bytes_max;
}

/// Ghosts by their rank in the roster of a slot. Of those that are not held the kind is known, so
/// that they can be read past.
void ClientGhosts::decode_sections(BitReader& in) {
    const auto sections = in.varint_max(1U << ClientSections::slot_bits);
    for (std::uint64_t s = 0; s < sections && in.ok(); ++s) {
        const auto roster = sections_.read_roster(in, local_ids_max, layouts_.size(), kind_bits_);
        const auto count = in.varint_max(roster.size());
        if (count == 0) in.fail();
        const auto k = static_cast<unsigned>(in.bits(rice_parameter_bits));
        std::uint64_t expected = 0;
        for (std::uint64_t i = 0; i < count && in.ok(); ++i) {
            const std::uint64_t rank = expected + in.rice(k, roster.size());
            if (!in.ok() || rank >= roster.size()) return in.fail();
            expected = rank + 1;
            Edit edit{};
            edit.type = Edit::Type::update;
            edit.shared = true;
            const auto& member = roster[static_cast<std::size_t>(rank)];
            edit.ghost = member.ghost;
            edit.kind = member.kind;
            if (!PURVIEW_GUARD(client_member_kind,
                               !has_copy(edit.ghost) || kind(edit.ghost) == edit.kind)) {
                return in.fail();
            }
            if (decode_update(in, edit)) edits_.push_back(edit);
            if ((edit.mask & layout(edit.kind).references) != 0) in.fail();
        }
    }
}

// -- apply --------------------------------------------------------------------------------------

bool ClientGhosts::read(BitReader& in) {
    tick_low_ = static_cast<std::uint16_t>(in.bits(wire_tick_bits));
    if (decode(in)) return true;
    ++counters_.malformed;
    return false;
}

void ClientGhosts::accept(Tick& newest, bool is_next) {
    const Tick tick = completed_tick(newest);
    const bool relates = std::any_of(edits_.begin(), edits_.end(), [](const Edit& edit) {
        return edit.type != Edit::Type::update || edit.relink;
    });
    if (tick > newest) before_ = is_next ? tick - 1 : newest;
    apply(tick);
    revision_ += relates ? 1 : 0;
    newest = std::max(newest, tick);
    sections_.accept();
    tick_ = newest;
    go_on(newest);
    ++counters_.snapshots;
    const HeldGhosts held{*this};
    if (relates) PURVIEW_VALIDATE(held);
}

/// Of what leaves: its ids may soon be others'.
void ClientGhosts::forget_references() {
    if (!has_references_) return;
    ghosts_.for_each([&](LocalId ghost) {
        if (!has_copy(ghost) && !has_left(ghost)) return;
        for_each_bit(layout(kind(ghost)).references, 0, [&](std::size_t f) {
            std::uint32_t& named = *words_of(ghost, f);
            if (named == 0 || !is_leaving(named - 1)) return;
            if (is_shown(named - 1))
                note_change(ghost, component_bit(layout(kind(ghost)).fields[f].component));
            named = 0;
        });
    });
}

/// Whoever stays below one of those that leave; looked for once for all of them.
void ClientGhosts::find_orphans() {
    orphans_.clear();
    for_each_held([&](LocalId ghost) {
        const LocalId above = ghosts_[ghost].parent;
        if (is_leaving(ghost) || above == no_local_id) return;
        if (is_leaving(above)) orphans_.push_back({above, ghost});
    });
    std::sort(orphans_.begin(), orphans_.end());
}

void ClientGhosts::remove(const Edit& edit, Tick tick) {
    const LocalId ghost = edit.ghost;
    ClientGhost& its = ghosts_[ghost];
    const bool is_kept = edit.policy != Retention::despawn;
    PURVIEW_ASSERT(has_copy(ghost));
    if (!its.held && is_kept) {  // already; its return was lost, and perhaps another policy counts
        its.kept = edit.policy;
        return;
    }
    const bool was_shown = is_shown(ghost);
    if (its.held) {
        // In the order of the leaves: where one stays may depend on where those above it still are.
        for (auto orphan =
                 std::lower_bound(orphans_.begin(), orphans_.end(), std::pair{ghost, LocalId{0}});
             orphan != orphans_.end() && orphan->first == ghost; ++orphan) {
            set_parent(orphan->second, no_local_id, tick);
            are_links_new_ = true;
        }
        PURVIEW_ASSERT(!was_shown || count_ > 0);
        if (was_shown) --count_;
        if (its.waits) ignored_leaves_.push_back(ghost);
        if (was_shown && (its.told_root != ghost || its.told_parent != no_local_id)) {
            relations_.push_back({ghost, its.told_root, no_local_id, its.told_parent, no_local_id});
        }
        set_parent(ghost, no_local_id, tick);
    }
    const Change change = is_kept ? Change::retained : was_shown ? Change::left : Change::dropped;
    const bool was_kept = its.known && its.waits;
    forget_change(ghost);
    end_motions(ghost);  // a copy stays as it was shown last
    its.held = its.waits = false;
    // The server counts on a copy, also of what waited for its group and was never shown.
    its.kept = edit.policy;
    if (its.known && !(was_kept && is_kept))
        events_.push_back({ghost, its.kind, edit.reason, change});
    its.has_left = its.known && !is_kept;
    its.known = its.known && is_kept;
}

/// It comes back while its copy is still here.
void ClientGhosts::resume(const Edit& edit, Tick tick) {
    ClientGhost& its = ghosts_[edit.ghost];
    PURVIEW_ASSERT(!its.held && its.kept != Retention::despawn);
    PURVIEW_ASSERT(its.kind == edit.kind);
    PURVIEW_ASSERT(its.motions == ClientMotions::no_slot && its.change == ClientGhost::no_change);
    its.held = true;
    names_unshown_ |= layout(its.kind).references != 0;
    its.reason = edit.reason;
    its.samples = 0;  // wherever it was in the meantime
    if (layout(its.kind).extrapolated != 0) its.motions = motions_.take();
    arrive(edit.ghost, false, tick);  // shown after those above it, who may come behind it
}

bool ClientGhosts::is_ready(const Edit& edit) const noexcept {
    return edit.parent == no_local_id || is_held(edit.parent);
}

void ClientGhosts::enter(const Edit& edit, Tick tick) {
    ghosts_.make_room(edit.ghost);
    const auto& defaults = defaults_[index_of(edit.kind)];
    std::copy(defaults.begin(), defaults.end(), ghosts_.words(edit.ghost));
    PURVIEW_ASSERT(!ghosts_[edit.ghost].held);
    // What is written over holds nothing that would be lost.
    PURVIEW_ASSERT(ghosts_[edit.ghost].motions == ClientMotions::no_slot);
    PURVIEW_ASSERT(ghosts_[edit.ghost].change == ClientGhost::no_change);
    const LocalId parent = edit.parent == edit.ghost ? no_local_id : edit.parent;
    end_link_back(edit.ghost, parent, tick);
    ClientGhost& ghost = ghosts_[edit.ghost];
    ghost = ClientGhost{};
    ghost.held = true;
    ghost.reason = edit.reason;
    ghost.kind = edit.kind;
    ghost.owned = edit.owned;
    ghost.parent = parent;
    ghost.link = ++links_;
    ghost.told = edit.told;
    if (layout(edit.kind).extrapolated != 0) ghost.motions = motions_.take();
    arrive(edit.ghost, edit.whole, tick);
    apply_values(edit, tick);
}

void ClientGhosts::push_sample(LocalId which, Tick tick, const Pose& pose) noexcept {
    ClientGhost& ghost = ghosts_[which];
    std::copy_backward(ghost.sample, ghost.sample + samples_max - 1, ghost.sample + samples_max);
    if (ghosts_.has_turns()) {
        Rotation* turns = ghosts_.turns(which);
        std::copy_backward(turns, turns + samples_max - 1, turns + samples_max);
    }
    ghost.sample[0].tick = tick;
    ghost.samples =
        static_cast<std::uint8_t>(std::min<std::size_t>(ghost.samples + 1U, samples_max));
    set_sample(which, 0, pose);
}

void ClientGhosts::set_sample(LocalId ghost, std::size_t i, const Pose& pose) noexcept {
    PURVIEW_ASSERT(i < ghosts_[ghost].samples);
    ghosts_[ghost].sample[i].position = pose.position;
    if (ghosts_.has_turns()) ghosts_.turns(ghost)[i] = pose.turn;
}

/// Its place or its orientation.
bool ClientGhosts::says_pose(const KindField& field, KindId kind) const noexcept {
    if (field.component == schema_.position()) return true;
    const OrientationDef& turn = schema_.kinds()[index_of(kind)].orientation;
    return ghosts_.has_turns() && field.component == turn.component && field.field == turn.field;
}

void ClientGhosts::apply_values(const Edit& edit, Tick tick) {
    ClientGhost& ghost = ghosts_[edit.ghost];
    PURVIEW_ASSERT(ghost.held);
    PURVIEW_ASSERT(ghost.kind == edit.kind);  // by which the packet was read
    std::size_t at = edit.words_at;
    bool moved = ghost.samples == 0 || ghost.reframed;
    ghost.reframed = false;
    const KindLayout& its = layout(ghost.kind);
    std::uint32_t changed = 0;  // components
    for_each_bit(edit.mask, 0, [&](std::size_t f) {
        const KindField& field = its.fields[f];
        const std::uint32_t* told = staged_words_.data() + at;
        std::uint32_t* words = words_of(edit.ghost, f);
        if (differ(field, words, told)) changed |= component_bit(field.component);
        std::copy_n(told, field.def->words, words);
        at += field.def->words;
        moved |= says_pose(field, ghost.kind);
    });
    PURVIEW_ASSERT(at <= staged_words_.size());
    note_change(edit.ghost, changed);
    // Interpolation must not smear a pause. Whatever was told last would have told of a move, too.
    const auto silence = static_cast<float>(tick - ghost.updated);
    const bool rested =
        !is_moving(edit.ghost) && before_ > ghost.updated && silence > way_ticks_max;
    if (its.extrapolated != 0) apply_motions(edit, tick);
    if (moved && has_position(edit.ghost))
        note_position(edit.ghost, tick, rested ? before_ : ghost.updated);
    ghost.updated = tick;
    ghost.packet = packets_;
}

/// What we are not told any more is kept, or forgotten; what we are told again is new.
void ClientGhosts::change_told(const Edit& edit) {
    ClientGhost& ghost = ghosts_[edit.ghost];
    const KindLayout& its = layout(ghost.kind);
    const OrientationDef& turn = schema_.kinds()[index_of(ghost.kind)].orientation;
    std::size_t at = 0;
    for (std::size_t p = 0; p < its.parts.size(); ++p) {
        const KindLayout::Part& part = its.parts[p];
        const bool ends = ((ghost.told & ~edit.told) >> p & 1U) != 0;
        const auto& audience = schema_.components()[index_of(part.component)].audience;
        if (ends && !audience.keeps_values) {
            std::copy_n(defaults_[index_of(ghost.kind)].data() + at, part.words,
                        ghosts_.words(edit.ghost) + at);
        }
        const bool begins = ((edit.told & ~ghost.told) >> p & 1U) != 0;
        if (begins || ends) note_change(edit.ghost, component_bit(part.component));
        if (begins && (part.component == schema_.position() || part.component == turn.component))
            ghost.samples = 0;  // wherever it was in the meantime
        at += part.words;
    }
    PURVIEW_ASSERT(at == defaults_[index_of(ghost.kind)].size());
    ghost.told = edit.told;
}

void ClientGhosts::apply(Tick tick) {
    ++packets_;
    // Leaves, children before parents: whoever has nobody below it in the list goes first.
    auto leaves_end = std::find_if(edits_.begin(), edits_.end(),
                                   [](const Edit& e) { return e.type != Edit::Type::leave; });
    // Also what was never here: something may name it.
    for (auto edit = edits_.begin(); edit != leaves_end; ++edit) {
        if (edit->ghost >= leaving_.size()) leaving_.resize(edit->ghost + bits_per_word);
        leaving_.set(edit->ghost);
    }
    if (leaves_end != edits_.begin()) forget_references();
    const auto known = std::stable_partition(edits_.begin(), leaves_end,
                                             [&](const Edit& e) { return has_copy(e.ghost); });
    counters_.ignored_items += static_cast<std::uint64_t>(leaves_end - known);
    ignored_leaves_.clear();
    for (auto edit = known; edit != leaves_end; ++edit) ignored_leaves_.push_back(edit->ghost);
    std::stable_sort(edits_.begin(), known, [&](const Edit& a, const Edit& b) {
        return depth_of(a.ghost) > depth_of(b.ghost);
    });
    if (known != edits_.begin()) {
        find_orphans();
        for (auto edit = edits_.begin(); edit != known; ++edit) remove(*edit, tick);
        std::erase_if(waiting_, [&](LocalId ghost) { return is_leaving(ghost); });
    }
    for (auto edit = edits_.begin(); edit != leaves_end; ++edit) leaving_.reset(edit->ghost);

    const auto enters_end = std::find_if(
        leaves_end, edits_.end(), [](const Edit& e) { return e.type == Edit::Type::update; });
    for (auto edit = enters_end; edit != edits_.end(); ++edit) {
        if (edit->relink && !is_held(edit->ghost) && has_copy(edit->ghost)) resume(*edit, tick);
    }
    // Parents first, in whatever order they are told.
    std::vector<const Edit*> early;
    const auto enter_if_ready = [&](const Edit* edit) {
        if (!is_ready(*edit)) return false;
        enter(*edit, tick);
        return true;
    };
    for (auto edit = leaves_end; edit != enters_end; ++edit)
        if (!enter_if_ready(&*edit)) early.push_back(&*edit);
    while (std::erase_if(early, enter_if_ready) > 0) continue;
    counters_.order_violations += early.size();  // their parents are not here
    for (const Edit* edit : early) enter(*edit, tick);

    // First everybody away from where he was: two may have changed places.
    for (auto edit = enters_end; edit != edits_.end(); ++edit) {
        if (!edit->relink || !is_held(edit->ghost)) continue;
        if (ghosts_[edit->ghost].parent == edit->parent) continue;
        are_links_new_ = true;
        set_parent(edit->ghost, no_local_id, tick);
    }
    for (auto edit = enters_end; edit != edits_.end(); ++edit) {
        if (!is_held(edit->ghost)) {
            ++counters_.ignored_items;
            continue;
        }
        // The packet has told of it alone, with all that the section can say.
        if (edit->shared && ghosts_[edit->ghost].packet == packets_) continue;
        if (edit->relink) {
            if (ghosts_[edit->ghost].owned != edit->owned) note_change(edit->ghost, 0, true);
            ghosts_[edit->ghost].owned = edit->owned;
            const LocalId parent = edit->parent == edit->ghost ? no_local_id : edit->parent;
            end_link_back(edit->ghost, parent, tick);
            set_parent(edit->ghost, parent, tick);
            change_told(*edit);
            if (!is_ready(*edit)) ++counters_.order_violations;
        }
        apply_values(*edit, tick);
    }
    show_waiting(tick);
    note_new_references();
    tell_relations();
    PURVIEW_ASSERT(leaving_.none());
}

// -- reading ------------------------------------------------------------------------------------

bool ClientGhosts::has_position(LocalId ghost) const noexcept {
    if (schema_.position() == ComponentId::none) return false;
    for (const KindLayout::Part& part : layout(kind(ghost)).parts) {
        if (part.component == schema_.position()) return true;
    }
    return false;
}

const std::uint32_t* ClientGhosts::find_words(LocalId ghost, ComponentId component,
                                              std::size_t field) const noexcept {
    const auto& fields = layout(kind(ghost)).fields;
    for (std::size_t f = 0; f < fields.size(); ++f) {
        if (fields[f].component == component && fields[f].field == field) return words_of(ghost, f);
    }
    return nullptr;
}

Vec3 ClientGhosts::decode_position(LocalId ghost) const noexcept {
    Vec3 position;
    const auto& fields = layout(kind(ghost)).fields;
    const bool is_relative = frame_of(ghost) != no_local_id;
    for (std::size_t f = 0; f < fields.size(); ++f) {
        const FieldDef& field = *fields[f].def;
        if (fields[f].component != schema_.position() || !is_coordinate(field)) continue;
        const float value = coordinate_of_word(field, *words_of(ghost, f), is_relative);
        std::memcpy(reinterpret_cast<std::byte*>(&position) + field.offset_bytes, &value,
                    sizeof value);
    }
    return position;
}

Pose ClientGhosts::decode_pose(LocalId ghost) const noexcept {
    Pose pose{decode_position(ghost), {}};
    const OrientationDef& turn = schema_.kinds()[index_of(kind(ghost))].orientation;
    if (!ghosts_.has_turns() || turn.component == ComponentId::none) return pose;
    const std::uint32_t* words = find_words(ghost, turn.component, turn.field);
    const FieldDef& field = schema_.components()[index_of(turn.component)].fields[turn.field];
    if (words != nullptr) pose.turn = orientation_of_words(turn, field, words);
    return pose;
}

Vec3 ClientGhosts::position_at(LocalId ghost, double tick) const noexcept {
    return pose_at(ghost, tick).position;
}

Pose ClientGhosts::pose_at(LocalId ghost, double tick) const noexcept {
    std::array<LocalId, limits::group_depth> below;  // whatever a server says, no more than these
    std::size_t depth = 0;
    for (LocalId frame = frame_of(ghost); frame != no_local_id && depth < limits::group_depth;
         frame = frame_of(ghost)) {
        below[depth++] = ghost;
        ghost = frame;
    }
    Pose pose = told_pose_at(ghost, tick);
    while (depth > 0) {
        ghost = below[--depth];
        pose = positioned_within(pose, told_pose_at(ghost, tick), has_orientation(ghost));
    }
    return pose;
}

bool ClientGhosts::did_jump(LocalId ghost, std::size_t to) const noexcept {
    const float teleport_distance =
        schema_.kinds()[index_of(ghosts_[ghost].kind)].teleport_distance;
    const ClientGhost& g = ghosts_[ghost];
    if (teleport_distance == 0 || to + 1U >= g.samples) return false;
    const double ticks = g.sample[to].tick - g.sample[to + 1].tick;
    return is_jump(sample(ghost, to + 1).position, sample(ghost, to).position,
                   teleport_distance * ticks);
}

Vec3 ClientGhosts::told_velocity(LocalId ghost) const noexcept {
    const ClientGhost& g = ghosts_[ghost];
    if (g.samples < 2 || g.sample[0].tick < g.updated) return {};
    std::size_t i = 1;
    const Vec3 to = g.sample[0].position, from = g.sample[i].position;
    // Who stood and turned has not been on his way for all that time.
    constexpr std::size_t turns_max = 8;
    while (i + 1U < std::min<std::size_t>(g.samples, turns_max) && g.sample[i + 1].position == from)
        ++i;
    const auto ticks = static_cast<float>(g.sample[0].tick - g.sample[i].tick);
    return {(to.x - from.x) / ticks, (to.y - from.y) / ticks, (to.z - from.z) / ticks};
}

Pose ClientGhosts::told_pose_at(LocalId ghost, double tick) const noexcept {
    const ClientGhost& g = ghosts_[ghost];
    if (g.samples == 0) return {};
    for (std::size_t i = 0; i < g.samples; ++i) {
        const Pose from = sample(ghost, i);
        if (tick < g.sample[i].tick && i + 1U < g.samples) continue;
        if (i == 0 || tick <= g.sample[i].tick || did_jump(ghost, i - 1)) return from;
        const Pose to = sample(ghost, i - 1);
        const double part = (tick - g.sample[i].tick) / (g.sample[i - 1].tick - g.sample[i].tick);
        const auto t = static_cast<float>(part);
        return {{from.position.x + (to.position.x - from.position.x) * t,
                 from.position.y + (to.position.y - from.position.y) * t,
                 from.position.z + (to.position.z - from.position.z) * t},
                slerp(from.turn, to.turn, part)};
    }
    return {};
}

std::uint64_t ClientGhosts::digest() const noexcept {
    std::uint64_t sum = 0;
    for_each_held([&](LocalId ghost) {
        std::uint64_t hash = combine64(mix64(ghost), index_of(ghosts_[ghost].kind));
        hash =
            combine64(hash, ghosts_[ghost].parent == no_local_id ? 0 : ghosts_[ghost].parent + 1U);
        const KindLayout& its = layout(kind(ghost));
        if (its.audience != 0) hash = combine64(hash, told(ghost) & its.audience);
        const std::uint32_t* words = ghosts_.words(ghost);
        for (std::size_t p = 0; p < its.parts.size(); words += its.parts[p++].words) {
            if ((told(ghost) >> p & 1U) == 0) continue;
            for (std::size_t w = 0; w < its.parts[p].words; ++w) hash = combine64(hash, words[w]);
        }
        sum += hash;
    });
    return sum;
}

}  // namespace purview
