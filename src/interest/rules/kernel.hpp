// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Purview authors
//
// The kernels that come with the engine. The interface is public: purview/extend/kernel.hpp.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "interest/rules/interest_kernel.hpp"
#include "purview/extend/node.hpp"
#include "purview/rules.hpp"

namespace purview {

/// Names of flags, keys and values.
struct AttributeNames {
    std::vector<std::string> flags;
    std::vector<std::string> keys;
    std::vector<std::string> values;

    std::string flag(FlagId id) const { return name(flags, index_of(id), "flag "); }
    std::string key(KeyId id) const { return name(keys, index_of(id), "key "); }
    std::string value(ValueId id) const { return name(values, index_of(id), "value "); }

  private:
    static std::string name(const std::vector<std::string>& names, std::uint32_t i,
                            const char* what) {
        return i < names.size() ? names[i] : what + std::to_string(i);
    }
};

/// Makes a built-in kernel, or adapts the caller's own. `widen` is added to radii, in meters.
std::shared_ptr<const InterestKernel> make_kernel(const Kernel& desc, const Rules& rules,
                                                  float widen, const AttributeNames& names);
/// Matches if observer and entity share an inner node of the dispatcher.
std::shared_ptr<const InterestKernel> make_cells_kernel(const Dispatcher& dispatcher);
/// Appends the inner nodes of the entity on a lane.
void add_cells_of(const Dispatcher& dispatcher, const Slots& slots, Slot slot,
                  std::vector<CellId>& out);
/// Matches every entity.
std::shared_ptr<const InterestKernel> make_everything_kernel();

/// The built-in kernels, by file.
std::shared_ptr<const InterestKernel> make_area_kernel(const Kernel& desc, float widen);
std::shared_ptr<const InterestKernel> make_neighborhood_kernel(const Kernel& desc,
                                                               const Rules& rules);
std::shared_ptr<const InterestKernel> make_hexagon_kernel(const Kernel& desc, const Rules& rules);
std::shared_ptr<const InterestKernel> make_sight_kernel(const Kernel& desc);

/// Tests the lanes of groups with a radius again, one by one. `test` receives one block, the slot,
/// the group radius and a mask, and tests with every distance enlarged by that radius.
template <class Test>
void add_bounded(const Slots& slots, std::span<const BlockIndex> blocks, std::span<Mask> out,
                 Test&& test) {
    const auto bounded = slots.lanes_with_bounds();
    for (std::size_t i = 0; !bounded.empty() && i < blocks.size(); ++i) {
        auto rest = static_cast<Mask>(bounded[blocks[i]] & ~out[i]);
        for (; rest != 0; rest &= static_cast<Mask>(rest - 1)) {
            const auto lane = static_cast<unsigned>(std::countr_zero(rest));
            const Slot slot = slot_at(blocks[i], lane);
            Mask near = 0;
            test(blocks.subspan(i, 1), slot, slots.bounds(slot), std::span(&near, 1));
            out[i] = static_cast<Mask>(out[i] | (near & lane_bit(lane)));
        }
    }
}

/// Formats a distance with one decimal.
std::string number_text(double value);

}  // namespace purview
