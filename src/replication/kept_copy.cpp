// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Purview authors
#include "replication/kept_copy.hpp"

#include <algorithm>

#include "replication/ghost_table.hpp"

namespace purview {

KeptCopy make_copy(const FieldStore& fields, const GhostTable& ghosts, LocalId lane) {
    PURVIEW_ASSERT(ghosts.is_kept(lane) && !ghosts.is_live(lane));
    const std::uint32_t index = ghosts.entity_index(lane);
    const KindId kind = ghosts.kind(lane);
    const KeptCopy* before = ghosts.kept_copy(lane);
    const KindLayout& layout = fields.layout(kind);
    KeptCopy copy;
    copy.unknown = before != nullptr ? unknown_fields(*before, fields, ghosts, lane)
                                     : fields.changed_since(index, kind, ghosts.baseline(lane));
    // Whether it was written while he was not told of it, he may not hear.
    copy.unknown |= layout.audience_fields_of(ghosts.gained(lane));
    copy.words.reserve(layout.words);
    for (const KindLayout::Part& part : layout.parts) {
        const std::uint32_t* words = fields.words(index, part.component);
        copy.words.insert(copy.words.end(), words, words + part.words);
    }
    PURVIEW_ASSERT(copy.words.size() == layout.words);
    return copy;
}

FieldMask unknown_fields(const KeptCopy& copy, const FieldStore& fields, const GhostTable& ghosts,
                         LocalId lane) noexcept {
    const std::uint32_t index = ghosts.entity_index(lane);
    const KindLayout& layout = fields.layout(ghosts.kind(lane));
    PURVIEW_ASSERT(copy.words.size() == layout.words);  // the slot has the kind that it had
    // What he was sent since then may have arrived, so that all which changed later is told.
    FieldMask mask =
        copy.unknown | fields.changed_since(index, ghosts.kind(lane), ghosts.resumed_tick(lane));
    const std::uint32_t* saw = copy.words.data();
    for (const KindLayout::Part& part : layout.parts) {
        for (unsigned f = part.first; f < part.first + part.count; ++f) {
            const KindField& field = layout.fields[f];
            const bool is_same =
                std::equal(saw, saw + field.def->words, fields.words(index, field));
            mask |= FieldMask{!is_same} << f;
            saw += field.def->words;
        }
    }
    return mask & ~layout.references;
}

}  // namespace purview
