// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Purview authors
//
// Checks the order of a server's enter and leave events. For each observer and entity, enters and
// leaves must alternate. A ghost may be resumed or dropped only if it was retained. When an
// observer disconnects, its held ghosts must leave and its retained ghosts must be dropped.
#pragma once

#include <cstdint>
#include <map>
#include <string>

#include "purview/events.hpp"
#include "purview/server.hpp"

namespace purview::test {

class EventPairs {
  public:
    /// Checks the next event. Returns an error text, or an empty string.
    std::string take(const ServerEvent& event) {
        ++count_;
        Known& known = known_[event.observer];
        const auto its = known.copies.find(event.entity);
        const Copy before = its == known.copies.end() ? Copy::none : its->second;
        Copy expected = Copy::held, now = Copy::none;
        switch (event.change) {
            case Change::entered:
                expected = Copy::none;
                now = Copy::held;
                break;
            case Change::left:
                break;
            case Change::retained:
                now = Copy::retained;
                break;
            case Change::resumed:
                expected = Copy::retained;
                now = Copy::held;
                break;
            case Change::dropped:
                expected = Copy::retained;
                break;
            case Change::updated:
            case Change::regrouped:
                return "a server reports an event that only clients may report";
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

    /// Number of entities that have entered and not left for this observer.
    std::size_t held(ObserverId observer) const {
        const auto known = known_.find(observer);
        return known == known_.end() ? 0 : known->second.held;
    }
    /// Visits every observer with a held or retained ghost.
    template <class Visit>
    void for_each_observer(Visit&& visit) const {
        for (const auto& [observer, known] : known_) visit(observer);
    }
    std::uint64_t count() const noexcept { return count_; }

  private:
    enum class Copy : std::uint8_t { none, retained, held };
    struct Known {
        std::map<EntityId, Copy> copies;
        std::size_t held = 0;  ///< of `copies`
    };
    static std::string describe(const ServerEvent& event, Copy before) {
        static constexpr const char* names[] = {"entered", "left", "retained", "resumed",
                                                "dropped"};
        static constexpr const char* copies[] = {"absent", "retained", "held"};
        return "observer " + std::to_string(index_of(event.observer)) +
               " receives an event for entity " + std::to_string(index_of(event.entity)) + "#" +
               std::to_string(generation_of(event.entity)) + ": " +
               names[static_cast<std::size_t>(event.change)] + " while its ghost is " +
               copies[static_cast<std::size_t>(before)];
    }

    std::map<ObserverId, Known> known_;
    std::uint64_t count_ = 0;
};

}  // namespace purview::test
