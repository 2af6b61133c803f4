// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Purview authors
//
// Things with a place and nothing else: what a scene of relations needs.
#pragma once

#include "purview/schema.hpp"

namespace purview::bench {

struct At {
    Vec3 position;
};

struct PlainSchema {
    /// Passengers may have a relative place.
    explicit PlainSchema(bool relative) {
        at = schema.component<At>("at");
        FieldDef field{"x", FieldType::quantized, 0, 4, true, 0, 4096, 0.01, 0};
        schema.add_field(at.id, field);
        field.name = "y";
        field.offset_bytes = 4;
        schema.add_field(at.id, field);
        schema.set_position(at.id);
        thing = schema.kind("thing", {at.id});
        passenger = schema.kind("passenger", {at.id});
        schema.edit_kind(passenger).relative_position = relative;
    }
    Schema schema;
    Component<At> at;
    KindId thing{}, passenger{};
};

}  // namespace purview::bench
