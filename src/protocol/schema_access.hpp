// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Purview authors
//
// Declares parts of a schema without a C++ struct: components, inputs and RPCs decoded from the
// wire, and fields that differ from their struct.
#pragma once

#include <utility>

#include "purview/schema.hpp"

namespace purview {

struct SchemaAccess {
    static ComponentId add_component(Schema& schema, ComponentDef def) {
        return schema.add_component(std::move(def));
    }
    static RpcId add_rpc(Schema& schema, RpcDef def) { return schema.add_rpc(std::move(def)); }
    static InputId add_input(Schema& schema, ComponentDef def) {
        return schema.add_input(std::move(def));
    }
    /// `owner`: a component, an input or an RPC.
    template <class Id>
    static void add_field(Schema& schema, Id owner, FieldDef field) {
        schema.add_field(owner, std::move(field));
    }
};

}  // namespace purview
