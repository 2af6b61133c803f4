// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Purview authors
//
// The one way from a public object to its data, for the modules of the library, tests and
// benchmarks. A public class befriends InternalAccess and has a member `data_`.
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

/// The data of a World, Visibility, Server or Client.
template <class T>
auto& internal(T& object) noexcept {
    return InternalAccess::data(object);
}

}  // namespace purview
