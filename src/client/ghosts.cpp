// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Purview authors
#include "client/ghosts.hpp"

#include <algorithm>
#include <array>
#include <bit>

#include "core/hash.hpp"
#include "protocol/quantize.hpp"
#include "purview/limits.hpp"

namespace purview {

ClientGhosts::ClientGhosts(Schema schema)
    : schema_(std::move(schema)), layouts_(layouts_of(schema_)) {
    const std::array<std::byte, 256> zeros{};
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
        extrapolated_fields_max_ = std::max(
            extrapolated_fields_max_, static_cast<std::size_t>(std::popcount(layout.extrapolated)));
    }
    const bool has_turns = std::any_of(
        schema_.kinds().begin(), schema_.kinds().end(),
        [](const KindDef& kind) { return kind.orientation.component != ComponentId::none; });
    pages_.set_sizes(words, has_turns);
}

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

LocalId ClientGhosts::frame_of(LocalId ghost) const noexcept {
    const ClientGhost& its = pages_[ghost];
    const bool is_relative = schema_.kinds()[index_of(its.kind)].relative_position &&
                             its.parent != no_local_id && is_held(its.parent) &&
                             has_position(ghost) && has_position(its.parent);
    return is_relative ? its.parent : no_local_id;
}

LocalId ClientGhosts::root_of(LocalId ghost) const noexcept {
    for (unsigned steps = 0; steps < limits::group_depth; ++steps) {
        const LocalId above = pages_[ghost].parent;
        if (above == no_local_id || !is_held(above)) break;
        ghost = above;
    }
    return ghost;
}

unsigned ClientGhosts::depth_of(LocalId ghost) const noexcept {
    unsigned depth = 0;
    for (; depth < limits::group_depth && pages_[ghost].parent != no_local_id &&
           is_held(pages_[ghost].parent);
         ++depth) {
        ghost = pages_[ghost].parent;
    }
    return depth;
}

std::uint64_t ClientGhosts::digest() const noexcept {
    std::uint64_t sum = 0;
    for_each_held([&](LocalId ghost) {
        std::uint64_t hash = combine64(mix64(ghost), index_of(pages_[ghost].kind));
        hash = combine64(hash, pages_[ghost].parent == no_local_id ? 0 : pages_[ghost].parent + 1U);
        const KindLayout& its = layout(kind(ghost));
        if (its.audience != 0) hash = combine64(hash, allowed(ghost) & its.audience);
        const std::uint32_t* words = pages_.words(ghost);
        for (std::size_t p = 0; p < its.parts.size(); words += its.parts[p++].words) {
            if ((allowed(ghost) >> p & 1U) == 0) continue;
            for (std::size_t w = 0; w < its.parts[p].words; ++w) hash = combine64(hash, words[w]);
        }
        sum += hash;
    });
    return sum;
}

ClientGhost& ClientGhosts::hold(LocalId ghost, KindId kind) noexcept {
    ClientGhost& its = pages_[ghost];
    PURVIEW_ASSERT(!its.held && index_of(kind) < layouts_.size());
    // The overwritten state must not own a motion slot or an event.
    PURVIEW_ASSERT(its.motions == ClientMotions::no_slot && its.change == ClientGhost::no_change);
    its = ClientGhost{};
    its.held = true;
    its.kind = kind;
    reset_words(ghost, 0, defaults(kind).size());
    return its;
}

void ClientGhosts::reset_words(LocalId ghost, std::size_t at, std::size_t count) noexcept {
    const std::span<const std::uint32_t> zeros = defaults(kind(ghost)).subspan(at, count);
    std::copy(zeros.begin(), zeros.end(), pages_.words(ghost) + at);
}

void ClientGhosts::show(LocalId ghost) noexcept {
    ClientGhost& its = pages_[ghost];
    PURVIEW_ASSERT(its.held && its.waits);
    its.waits = false;
    its.kept = Retention::despawn;
    ++count_;
}

void ClientGhosts::release(LocalId ghost) noexcept {
    PURVIEW_ASSERT(!is_shown(ghost) || count_ > 0);
    if (is_shown(ghost)) --count_;
    pages_[ghost].held = pages_[ghost].waits = false;
}

}  // namespace purview
