// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Purview authors
//
// All sessions of a server, in order of acceptance, and the indices through which they are found.
// The table is the only writer of those indices, and of the states `joined` and `closing`.
//
// Invariants (validate): a session that is neither a probe nor closing is found by its connection
// id, and no other is; a session with an observer is found by it; unjoined() counts the sessions
// that are accepted or joining; host_counts() counts the connected and the closing ones; a closing
// session stays in the table, valid and in closing(), until remove_closed.
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

    // In order of acceptance. Adding or removing a session invalidates positions, never a Session
    // itself.
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

    /// Where all of them are processed one after the other: loads the front of one that comes soon.
    static constexpr std::size_t sessions_ahead = 4;
    void prefetch(std::size_t i) const noexcept {
        if (i < sessions_.size()) sessions_[i]->prefetch_front();
    }

    /// Null: no session has this observer.
    Session* find(ObserverId observer) const noexcept;
    /// Null: unknown, or closing. Any value is allowed: it comes from the wire.
    Session* find_connection(std::uint64_t connection_id) const noexcept;

    /// A session whose address is proven and whose connection id is not in the table.
    Session& add(Pointer session);
    /// A session without a connection, of an observer that has none yet.
    Session& add_reference_client(Pointer session, ObserverId observer);
    /// `none` takes the observer away.
    void set_observer(Session& session, ObserverId observer);
    /// It is joining, and has its observer.
    void set_joined(Session& session);
    /// Its address has moved. It is not closing.
    void set_address(Session& session, const Address& address);
    /// It is not closing yet: connection id and capacity are free from now on.
    void set_closing(Session& session);

    /// Sessions that are closing, in order. More may be added while they are processed.
    std::size_t closing_count() const noexcept { return closing_.size(); }
    Session& closing(std::size_t i) const noexcept {
        PURVIEW_ASSERT(i < closing_.size() && closing_[i]->state == Session::State::closing);
        return *closing_[i];
    }
    /// Destroys all of them.
    void remove_closed();

    /// Sessions that are accepted or joining.
    std::uint32_t unjoined() const noexcept { return unjoined_; }
    const HostCounts& host_counts() const noexcept { return host_counts_; }
    /// Numbers of join requests, from 1.
    std::uint64_t take_join_number() noexcept { return ++joins_; }

    void validate() const;

  private:
    std::vector<Pointer> sessions_;
    FlatMap<std::uint64_t, Session*> by_connection_;
    std::vector<Session*> by_observer_;  ///< by its index; null: no session's
    std::vector<Session*> closing_;
    HostCounts host_counts_;
    std::uint32_t unjoined_ = 0;
    std::uint64_t joins_ = 0;
};

}  // namespace purview
