// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Purview authors
//
// All sessions of a server, in order of acceptance, and the indices by which they are found. Only
// the table writes these indices and the states `joined` and `closing`.
//
// Invariants (validate): exactly the sessions that are neither reference clients nor closing are
// found by connection id; a session with an observer is found by that observer; unjoined() counts
// the sessions that are accepted or joining; host_counts() counts the connected and the closing
// ones; a closing session stays in the table, valid and in closing(), until remove_closed.
//
// Must not know: packets, the game, interest, the world.
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "core/flat_map.hpp"
#include "link/host_counts.hpp"
#include "server/session.hpp"

namespace purview {

class SessionTable {
  public:
    using Pointer = std::unique_ptr<Session>;

    // In order of acceptance. Adding or removing a session invalidates positions, but not
    // references to a Session.
    std::size_t size() const noexcept { return sessions_.size(); }
    bool empty() const noexcept { return sessions_.empty(); }
    const Pointer& operator[](std::size_t i) const noexcept {
        PURVIEW_ASSERT(i < sessions_.size());
        return sessions_[i];
    }
    const Pointer& front() const noexcept { return sessions_.front(); }
    const Pointer& back() const noexcept { return sessions_.back(); }
    std::vector<Pointer>::const_iterator begin() const noexcept { return sessions_.begin(); }
    std::vector<Pointer>::const_iterator end() const noexcept { return sessions_.end(); }
    std::span<const Pointer> all() const noexcept { return sessions_; }

    /// A loop over all sessions prefetches the session this many steps ahead.
    static constexpr std::size_t sessions_ahead = 4;
    void prefetch(std::size_t i) const noexcept {
        if (i < sessions_.size()) sessions_[i]->prefetch_front();
    }

    /// Null if no session has this observer.
    Session* find(ObserverId observer) const noexcept;
    /// Null if the id is unknown or its session is closing. Accepts any value: ids come from the
    /// wire.
    Session* find_connection(std::uint64_t connection_id) const noexcept;

    /// Adds a session with a proven address. Its connection id must not be in the table.
    Session& add(Pointer session);
    /// Adds a session without a connection. The observer must not have a session yet.
    Session& add_reference_client(Pointer session, ObserverId observer);
    /// `ObserverId::none` removes the observer.
    void set_observer(Session& session, ObserverId observer);
    /// The session must be joining and have an observer.
    void set_joined(Session& session);
    /// Changes the address. The session must not be closing.
    void set_address(Session& session, const Address& address);
    /// The session must not be closing yet. Frees its connection id; the session no longer counts
    /// as connected.
    void set_closing(Session& session);

    /// Sessions that are closing, in order. More may be added during iteration.
    std::size_t closing_count() const noexcept { return closing_.size(); }
    Session& closing(std::size_t i) const noexcept {
        PURVIEW_ASSERT(i < closing_.size() && closing_[i]->state == Session::State::closing);
        return *closing_[i];
    }
    /// Destroys all closing sessions.
    void remove_closed();

    /// Number of sessions that are accepted or joining.
    std::uint32_t unjoined() const noexcept { return unjoined_; }
    const HostCounts& host_counts() const noexcept { return host_counts_; }
    /// Returns the next number of a join request, from 1.
    std::uint64_t take_join_number() noexcept { return ++joins_; }

    void validate() const;

  private:
    std::vector<Pointer> sessions_;
    FlatMap<std::uint64_t, Session*> by_connection_;
    std::vector<Session*> by_observer_;  ///< by observer index; null: no session
    std::vector<Session*> closing_;
    HostCounts host_counts_;
    std::uint32_t unjoined_ = 0;
    std::uint64_t joins_ = 0;
};

}  // namespace purview
