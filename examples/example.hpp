// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Purview authors
//
// Shared by the examples: they print their results and exit with code 1 if a result is wrong.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "purview/interest.hpp"

namespace example {

inline void expect(bool holds, const char* what) {
    if (holds) return;
    std::printf("FAILED: %s\n", what);
    std::exit(1);
}

/// Exits if the call failed. For calls that must succeed here.
inline void must(purview::Status status) {
    if (status == purview::Status::ok) return;
    std::printf("FAILED: a call returned '%s'\n", purview::to_string(status).data());
    std::exit(1);
}

/// Distinguishes clients, but is not secure. A real server signs its challenges (purview::net has a
/// function for this).
inline void toy_mac(std::span<const std::byte, 32>, std::span<const std::byte> data,
                    std::span<std::byte, 16> out) {
    std::uint64_t sum = 1;
    for (const std::byte one : data)
        sum = (sum ^ std::to_integer<std::uint64_t>(one)) * 0x100000001b3;
    for (std::size_t i = 0; i < out.size(); ++i)
        out[i] = static_cast<std::byte>(sum >> (i % 8 * 8));
}

/// Names of entities by index, to print relevant sets in a readable form.
class Names {
  public:
    Names(std::initializer_list<const char*> names) : names_(names) {}
    const char* of(purview::EntityId entity) const { return names_[purview::index_of(entity)]; }
    std::string seen(const purview::InterestManager& manager, purview::ObserverId observer) const {
        std::vector<purview::EntityId> entities;
        manager.relevant(observer, entities);
        std::sort(entities.begin(), entities.end());
        std::string text;
        for (const purview::EntityId entity : entities) text.append(" ").append(of(entity));
        return text.empty() ? "" : text.substr(1);
    }
    /// Prints the relevant set of the observer, and compares it with the expected names.
    void expect_seen(const purview::InterestManager& manager, purview::ObserverId observer,
                     const char* when, std::string_view expected) const {
        const std::string now = seen(manager, observer);
        std::printf("%-44s %s\n", when, now.empty() ? "(nothing)" : now.c_str());
        if (now == expected) return;
        std::printf("FAILED: expected '%.*s'\n", static_cast<int>(expected.size()),
                    expected.data());
        std::exit(1);
    }

  private:
    std::vector<const char*> names_;
};

}  // namespace example
