// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Purview authors
//
// What the examples share: they print what they show and end with code 1 when it is not so.
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

inline void expect(bool is_so, const char* what) {
    if (is_so) return;
    std::printf("FAILED: %s\n", what);
    std::exit(1);
}

/// For calls that cannot fail here.
inline void must(purview::Status status) {
    if (status == purview::Status::ok) return;
    std::printf("FAILED: a call answered '%s'\n", purview::to_string(status).data());
    std::exit(1);
}

/// Tells clients apart, and no more. A real server signs its challenges (purview::net has one for
/// it).
inline void toy_mac(std::span<const std::byte, 32>, std::span<const std::byte> data,
                    std::span<std::byte, 16> out) {
    std::uint64_t sum = 1;
    for (const std::byte one : data)
        sum = (sum ^ std::to_integer<std::uint64_t>(one)) * 0x100000001b3;
    for (std::size_t i = 0; i < out.size(); ++i)
        out[i] = static_cast<std::byte>(sum >> (i % 8 * 8));
}

/// Names of entities by their index, so that a relevant set is a line to read.
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
    /// Prints whom the observer sees, which must be these.
    void expect_seen(const purview::InterestManager& manager, purview::ObserverId observer,
                     const char* when, std::string_view expected) const {
        const std::string now = seen(manager, observer);
        std::printf("%-44s %s\n", when, now.empty() ? "(nobody)" : now.c_str());
        if (now == expected) return;
        std::printf("FAILED: expected '%.*s'\n", static_cast<int>(expected.size()),
                    expected.data());
        std::exit(1);
    }

  private:
    std::vector<const char*> names_;
};

}  // namespace example
