// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Purview authors
//
// Short forms for steps and nodes of rules, for tests of the engine and of a server.
#pragma once

#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "purview/extend/kernel.hpp"
#include "purview/rules.hpp"

namespace purview::test::lines {

// -- steps ----------------------------------------------------------------------------------------

inline Kernel add(Kernel kernel) {
    kernel.combine = Combine::add;
    return kernel;
}
inline Kernel subtract(Kernel kernel) {
    kernel.combine = Combine::subtract;
    return kernel;
}
inline Kernel require(Kernel kernel) {
    kernel.combine = Combine::require;
    return kernel;
}
inline Kernel within(float enter, float leave = 0) {
    return purview::within(enter).leave_at(leave > 0 ? leave : enter);
}
inline Kernel flagged(FlagId flag) {
    return flag;
}
inline Kernel query(std::shared_ptr<const KernelBase> kernel) {
    return kernel;
}
inline Kernel step(Combine combine, KernelType type) {
    return Kernel(type, combine);
}
inline Kernel step(Combine combine, Kernel kernel) {
    kernel.combine = combine;
    return kernel;
}
/// The margin is added to the enter radius.
inline Kernel within(Combine combine, float enter, float margin_m = 0) {
    return step(combine, within(enter, enter + margin_m));
}
inline Kernel flag(Combine combine, std::uint8_t number) {
    return step(combine, Kernel(id_at<FlagId>(number)));
}
inline Kernel same(Combine combine, std::uint8_t key) {
    return step(combine, purview::same(id_at<KeyId>(key)));
}
inline Kernel own_kernel(Combine combine, std::shared_ptr<const KernelBase> kernel) {
    return step(combine, Kernel(std::move(kernel)));
}

// -- nodes ----------------------------------------------------------------------------------------

inline NodeDef node(std::string name, std::vector<Kernel> steps, Members members = Members::all) {
    NodeDef node;
    node.name = std::move(name);
    node.steps = std::move(steps);
    node.members = members;
    return node;
}

}  // namespace purview::test::lines
