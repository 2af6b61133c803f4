// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Purview authors
//
// Gives modules of the library, tests and benchmarks access to the data of a public object. A
// public class declares InternalAccess as a friend and has a member `data_`.
#pragma once

namespace purview {

struct InternalAccess {
    template <class T>
    static auto& data(T& object) noexcept {
        return *object.data_;
    }
    template <class T>
    static auto& pointer(T& object) noexcept {
        return object.data_;
    }
};

/// Returns the data of a World, Visibility, Server or Client.
template <class T>
auto& internal(T& object) noexcept {
    return InternalAccess::data(object);
}

}  // namespace purview
