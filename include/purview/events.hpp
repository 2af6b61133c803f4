// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Purview authors
//
// Enter and leave as a game hears of them, on the server for every observer and on a client for
// itself, and who listens: whatever a component does when its entity begins or ceases to be known.
#pragma once

#include <algorithm>
#include <cstdint>
#include <span>
#include <vector>

#include "purview/schema.hpp"
#include "purview/types.hpp"

namespace purview {

/// Calls listeners for events: those of a component for every entity that has it, without anybody
/// naming the entity (F17), and those that were registered for one entity. `Event` is ServerEvent
/// or ClientEvent. Listeners are not owned. A listener may add and remove listeners, itself
/// included, call tell again, and edit the world: events are values.
template <class Event>
class Listeners {
  public:
    class Listener {
      public:
        virtual ~Listener() = default;
        virtual void entered(const Event& event) { (void)event; }
        virtual void left(const Event& event) { (void)event; }
    };

    explicit Listeners(const Schema& schema, EventMode mode = EventMode::paired)
        : schema_(&schema), mode_(mode) {}

    void add(ComponentId component, Listener& listener) {
        all_.push_back({&listener, component, {}, false});
    }
    /// `name`: an EntityId on the server, a GhostId on a client; until it is removed.
    template <class Name>
    void add_for(Name name, Listener& listener) {
        all_.push_back({&listener, ComponentId::none, static_cast<std::uint64_t>(name), true});
    }
    /// From everything.
    void remove(const Listener& listener) {
        for (Entry& entry : all_) {
            if (entry.listener == &listener) entry.listener = nullptr;
        }
    }
    void tell(std::span<const Event> events) {
        ++telling_;
        for (const Event& event : events) {
            const bool enters = event.is_enter(mode_), leaves = event.is_leave(mode_);
            if (!enters && !leaves) continue;
            const std::size_t known = all_.size();  // who is added now hears the next one
            for (std::size_t i = 0; i < known; ++i) {
                const Entry entry = all_[i];
                if (entry.listener == nullptr || !concerns(entry, event)) continue;
                enters ? entry.listener->entered(event) : entry.listener->left(event);
            }
        }
        // A call inside of another leaves the list as it is: the outer one still walks it.
        if (--telling_ == 0)
            std::erase_if(all_, [](const Entry& entry) { return entry.listener == nullptr; });
    }

  private:
    struct Entry {
        Listener* listener;
        ComponentId component;
        std::uint64_t name;
        bool is_named;
    };
    static std::uint64_t name_of(const Event& event) noexcept {
        if constexpr (requires { event.ghost; }) {
            return std::uint64_t{event.ghost};
        } else {
            return static_cast<std::uint64_t>(event.entity);
        }
    }
    bool concerns(const Entry& entry, const Event& event) const noexcept {
        if (entry.is_named) return entry.name == name_of(event);
        const auto kinds = schema_->kinds();
        if (index_of(event.kind) >= kinds.size()) return false;  // a server may have others
        const auto& components = kinds[index_of(event.kind)].components;
        return std::find(components.begin(), components.end(), entry.component) != components.end();
    }

    const Schema* schema_;
    EventMode mode_;
    std::vector<Entry> all_;
    std::uint32_t telling_ = 0;  ///< calls of tell that have not returned
};

}  // namespace purview
