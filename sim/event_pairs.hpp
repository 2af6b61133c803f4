// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Purview authors
//
// Enters and leaves as a server tells them, held against what must be: of one observer and one
// entity strictly in turn, a copy resumed or dropped only where one was kept. With the observer all
// of it ends: what is held leaves, and what is kept is dropped.
#pragma once

#include <cstdint>
#include <map>
#include <string>

#include "purview/events.hpp"
#include "purview/server.hpp"

namespace purview::test {

class EventPairs {
  public:
    /// Empty, or what is wrong with it.
    std::string take(const ServerEvent& event) {
        ++count_;
        Known& known = known_[event.observer];
        const auto its = known.copies.find(event.entity);
        const Copy before = its == known.copies.end() ? Copy::none : its->second;
        Copy expected = Copy::held, now = Copy::none;
        switch (event.copy) {
            case Change::entered:
                expected = Copy::none;
                now = Copy::held;
                break;
            case Change::left:
                break;
            case Change::retained:
                now = Copy::kept;
                break;
            case Change::resumed:
                expected = Copy::kept;
                now = Copy::held;
                break;
            case Change::dropped:
                expected = Copy::kept;
                break;
        }
        if (before == Copy::held) --known.held;
        if (now == Copy::held) ++known.held;
        if (now != Copy::none) {
            known.copies[event.entity] = now;
        } else if (before != Copy::none) {
            known.copies.erase(its);
        }
        if (known.copies.empty()) known_.erase(event.observer);
        return before == expected ? "" : describe(event, before);
    }

    /// Entities of his that have entered and not left.
    std::size_t held(ObserverId observer) const {
        const auto known = known_.find(observer);
        return known == known_.end() ? 0 : known->second.held;
    }
    /// Everybody of whom something is held or kept.
    template <class Visit>
    void for_each_observer(Visit&& visit) const {
        for (const auto& [observer, known] : known_) visit(observer);
    }
    std::uint64_t count() const noexcept { return count_; }

  private:
    enum class Copy : std::uint8_t { none, kept, held };
    struct Known {
        std::map<EntityId, Copy> copies;
        std::size_t held = 0;  ///< of these
    };
    static std::string describe(const ServerEvent& event, Copy before) {
        static constexpr const char* names[] = {"made", "removed", "kept", "resumed", "dropped"};
        static constexpr const char* copies[] = {"not there", "kept", "held"};
        return "observer " + std::to_string(index_of(event.observer)) + " is told that entity " +
               std::to_string(index_of(event.entity)) + "#" +
               std::to_string(generation_of(event.entity)) + " is " +
               names[static_cast<std::size_t>(event.copy)] + " where its copy is " +
               copies[static_cast<std::size_t>(before)];
    }

    std::map<ObserverId, Known> known_;
    std::uint64_t count_ = 0;
};

}  // namespace purview::test
