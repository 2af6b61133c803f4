// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Purview authors
#include "replication/retained_copy.hpp"

#include <algorithm>

#include "replication/ghost_table.hpp"

namespace purview {

RetainedCopy make_copy(const FieldStore& fields, const GhostTable& ghosts, LocalId slot) {
    PURVIEW_ASSERT(ghosts.retained().is_retained(slot) && !ghosts.slots().is_live(slot));
    const std::uint32_t index = ghosts.slots().entity_index(slot);
    const KindId kind = ghosts.slots().kind(slot);
    const RetainedCopy* before = ghosts.retained().copy(slot);
    const KindLayout& layout = fields.layout(kind);
    RetainedCopy copy;
    copy.unknown = before != nullptr
                       ? unknown_fields(*before, fields, ghosts, slot)
                       : fields.changed_since(index, kind, ghosts.sends().baseline(slot));
    // The observer must not detect whether a gained component was written before it was allowed.
    copy.unknown |= layout.audience_fields_of(ghosts.audience().gained(slot));
    copy.words.reserve(layout.words);
    for (const KindLayout::Part& part : layout.parts) {
        const std::uint32_t* words = fields.words(index, part.component);
        copy.words.insert(copy.words.end(), words, words + part.words);
    }
    PURVIEW_ASSERT(copy.words.size() == layout.words);
    return copy;
}

FieldMask unknown_fields(const RetainedCopy& copy, const FieldStore& fields,
                         const GhostTable& ghosts, LocalId slot) noexcept {
    const std::uint32_t index = ghosts.slots().entity_index(slot);
    const KindLayout& layout = fields.layout(ghosts.slots().kind(slot));
    PURVIEW_ASSERT(copy.words.size() == layout.words);  // the kind of a slot does not change
    // Updates since the resume may have arrived, so everything that changed later is sent.
    FieldMask mask = copy.unknown | fields.changed_since(index, ghosts.slots().kind(slot),
                                                         ghosts.marks().resumed_tick(slot));
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
