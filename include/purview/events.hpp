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

#include "purview/ids.hpp"
#include "purview/interest.hpp"
#include "purview/schema.hpp"

namespace purview {

/// What became of the copy that an observer holds of an entity.
enum class CopyChange : std::uint8_t {
    made = 0,     ///< it entered, and there was none
    removed = 1,  ///< it left
    kept = 2,     ///< it left, and its copy stays (LeavePolicy)
    resumed = 3,  ///< it entered, and its copy was still there
    dropped = 4,  ///< it has been away for too long: the copy that was kept ends
};

/// Which changes are enters and leaves (F16).
enum class EventMode : std::uint8_t {
    paired,  ///< every enter and every leave, strictly in turn
    fusion,  ///< those of copies that were there before and are after; making one is its spawn
};

constexpr bool is_enter(CopyChange copy, EventMode mode) noexcept {
    return copy == CopyChange::resumed || (copy == CopyChange::made && mode == EventMode::paired);
}
constexpr bool is_leave(CopyChange copy, EventMode mode) noexcept {
    return copy == CopyChange::kept || (copy == CopyChange::removed && mode == EventMode::paired);
}

/// On the server: an entity came to an observer's knowledge, or went from it.
struct ServerEvent {
    ObserverId observer;
    EntityId entity;
    KindId kind;    ///< known, though the entity may be gone by now
    Reason reason;  ///< why it is known, or is not any more
    CopyChange copy;

    bool is_enter(EventMode mode = EventMode::paired) const noexcept {
        return purview::is_enter(copy, mode);
    }
    bool is_leave(EventMode mode = EventMode::paired) const noexcept {
        return purview::is_leave(copy, mode);
    }
};

/// Calls listeners for events: those of a component for every entity that has it, without anybody
/// naming the entity (F17), and those that were registered for one entity. `Event` is ServerEvent
/// or ClientEvent. Listeners are not owned. While it tells, listeners may be added and removed, and
/// the world may be edited: events are values, and speak of what was.
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
        std::erase_if(all_, [](const Entry& entry) { return entry.listener == nullptr; });
    }

  private:
    struct Entry {
        Listener* listener;
        ComponentId component;
        std::uint64_t name;
        bool is_named;
    };
    static std::uint64_t name_of(const ServerEvent& event) noexcept {
        return static_cast<std::uint64_t>(event.entity);
    }
    template <class Other>
    static std::uint64_t name_of(const Other& event) noexcept {
        return event.ghost;
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
};

}  // namespace purview
