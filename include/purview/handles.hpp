// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Purview authors

/// @file
/// Typed ids of the components, inputs and RPCs of a schema, as Schema::component, input and rpc
/// return them. The struct T belongs to the game.
#pragma once

#include <cstdint>
#include <string_view>
#include <variant>

#include "purview/types.hpp"

namespace purview {

/// @addtogroup api_schema
/// @{

/// A component with the struct T. `none`: Schema::component failed; see Schema::problem.
template <class T>
struct Component {
    ComponentId id = ComponentId::none;  ///< the id without the type
};
/// An input type with the struct T. `none`: Schema::input failed.
template <class T>
struct Input {
    InputId id = InputId::none;  ///< the id without the type
};
/// An RPC type with the arguments in the struct T. `none`: Schema::rpc failed.
template <class T>
struct Rpc {
    RpcId id = RpcId::none;  ///< the id without the type
};

/// One argument of an RPC, matching its field: a number, a text, or a rotation. A text is cut at
/// the first zero, and at the size of the field, before a UTF-8 character that does not fit. A
/// value of another type counts as missing.
using FieldValue = std::variant<double, std::string_view, Rotation>;

/// @}

}  // namespace purview
