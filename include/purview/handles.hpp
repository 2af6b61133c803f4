// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Purview authors
//
// Typed names of what a schema declares: Schema::component, input and rpc return them. The struct T
// is the game's own.
#pragma once

#include <cstdint>
#include <string_view>
#include <variant>

#include "purview/types.hpp"

namespace purview {

/// A type of input, by index into the schema.
enum class InputId : std::uint8_t { none = 0xff };

/// A type of call, by index into the schema.
enum class RpcId : std::uint16_t { none = 0xffff };

/// A component whose struct is T. `none`: Schema::component failed, and Schema::problem says why.
template <class T>
struct Component {
    ComponentId id = ComponentId::none;
};
/// An input whose struct is T.
template <class T>
struct Input {
    InputId id = InputId::none;
};
/// A remote call whose arguments are the struct T.
template <class T>
struct Rpc {
    RpcId id = RpcId::none;
};

/// An argument of a call as its field is: a number; a text, cut at the size of the field, before a
/// character of UTF-8 that does not fit, and at a zero; or a rotation. Any other counts as missing.
using FieldValue = std::variant<double, std::string_view, Rotation>;

}  // namespace purview
