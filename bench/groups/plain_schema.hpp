// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Purview authors
//
// Entities that have only a position, for the scenes about relations.
#pragma once

#include "protocol/schema_access.hpp"
#include "purview/schema.hpp"

namespace purview::bench {

struct At {
    Vec3 position;
};

struct PlainSchema {
    /// `relative`: positions of group members are relative to the parent.
    explicit PlainSchema(bool relative) {
        at = schema.component<At>("at");
        FieldDef field{"x", FieldType::quantized, 0, 4, true, 0, 4096, 0.01, 0};
        SchemaAccess::add_field(schema, at.id, field);
        field.name = "y";
        field.offset_bytes = 4;
        SchemaAccess::add_field(schema, at.id, field);
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
