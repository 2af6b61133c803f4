// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Purview authors

/// @file
/// Listeners for enter and leave events, on the server for every observer and on a client for its
/// own ghosts. For example, a component that acts when its entity becomes relevant.
#pragma once

#include <algorithm>
#include <cstdint>
#include <span>
#include <vector>

#include "purview/schema.hpp"
#include "purview/types.hpp"

namespace purview {

/// @addtogroup api_common
/// @{

/// Calls listeners for enter and leave events. A listener is added for a component, and so for
/// every entity that has it, or for one entity. `Event` is ServerEvent or ClientEvent. Listeners
/// are not owned. A listener may add and remove listeners, also itself, call notify again, and edit
/// the world: events are values.
template <class Event>
class Listeners {
  public:
    /// Receives enter and leave events.
    class Listener {
      public:
        virtual ~Listener() = default;
        /// Called for an enter.
        virtual void entered(const Event& event) { (void)event; }
        /// Called for a leave.
        virtual void left(const Event& event) { (void)event; }
    };

    /// Creates an empty list. `schema` is not owned and outlives this. `mode` selects what counts
    /// as enter and leave.
    explicit Listeners(const Schema& schema, EventMode mode = EventMode::paired)
        : schema_(&schema), mode_(mode) {}

    /// Adds a listener for every entity with the component.
    void add(ComponentId component, Listener& listener) {
        all_.push_back({&listener, component, {}, false});
    }
    /// Adds a listener for one entity, until it is removed. `name`: an EntityId on the server, a
    /// GhostId on a client.
    template <class Name>
    void add_for(Name name, Listener& listener) {
        all_.push_back({&listener, ComponentId::none, static_cast<std::uint64_t>(name), true});
    }
    /// Removes a listener from all entities and components.
    void remove(const Listener& listener) {
        for (Entry& entry : all_) {
            if (entry.listener == &listener) entry.listener = nullptr;
        }
    }
    /// Calls the listeners for these events, in order. A listener added meanwhile is called from
    /// the next event on.
    void notify(std::span<const Event> events) {
        ++notifying_;
        for (const Event& event : events) {
            const bool enters = event.is_enter(mode_), leaves = event.is_leave(mode_);
            if (!enters && !leaves) continue;
            const std::size_t known = all_.size();  // without those added now
            for (std::size_t i = 0; i < known; ++i) {
                const Entry entry = all_[i];
                if (entry.listener == nullptr || !concerns(entry, event)) continue;
                enters ? entry.listener->entered(event) : entry.listener->left(event);
            }
        }
        // A nested call does not erase entries: the outer call still iterates over the list.
        if (--notifying_ == 0)
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
            return static_cast<std::uint64_t>(event.ghost);
        } else {
            return static_cast<std::uint64_t>(event.entity);
        }
    }
    bool concerns(const Entry& entry, const Event& event) const noexcept {
        if (entry.is_named) return entry.name == name_of(event);
        const auto kinds = schema_->kinds();
        if (index_of(event.kind) >= kinds.size()) return false;  // a server may have further kinds
        const auto& components = kinds[index_of(event.kind)].components;
        return std::find(components.begin(), components.end(), entry.component) != components.end();
    }

    const Schema* schema_;
    EventMode mode_;
    std::vector<Entry> all_;
    std::uint32_t notifying_ = 0;  ///< calls of notify that have not returned
};

/// @}

}  // namespace purview
