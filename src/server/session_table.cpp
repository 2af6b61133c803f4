// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Purview authors
#include "server/session_table.hpp"

#include <algorithm>

namespace purview {

namespace {

/// Key of an empty slot of the hash table; never a connection id.
constexpr std::uint64_t no_connection = ~std::uint64_t{0};

bool is_connected(const Session& session) noexcept {
    return session.state != Session::State::probe && session.state != Session::State::closing;
}

}  // namespace

Session* SessionTable::find(ObserverId observer) const noexcept {
    const std::size_t index = index_of(observer);
    Session* const session = index < by_observer_.size() ? by_observer_[index] : nullptr;
    return session != nullptr && session->observer == observer ? session : nullptr;
}

Session* SessionTable::find_connection(std::uint64_t connection_id) const noexcept {
    if (connection_id == no_connection) return nullptr;
    Session* const* found = by_connection_.find(connection_id);
    PURVIEW_ASSERT(found == nullptr || is_connected(**found));
    return found == nullptr ? nullptr : *found;
}

Session& SessionTable::add(Pointer session) {
    PURVIEW_ASSERT(session->state == Session::State::accepted);
    PURVIEW_ASSERT(session->observer == ObserverId::none);
    PURVIEW_ASSERT(find_connection(session->connection_id) == nullptr);
    by_connection_[session->connection_id] = session.get();
    host_counts_.came(session->address);
    ++unjoined_;
    return *sessions_.emplace_back(std::move(session));
}

Session& SessionTable::add_reference_client(Pointer session, ObserverId observer) {
    PURVIEW_ASSERT(observer != ObserverId::none);
    session->state = Session::State::probe;
    set_observer(*session, observer);
    return *sessions_.emplace_back(std::move(session));
}

void SessionTable::set_observer(Session& session, ObserverId observer) {
    const std::size_t before = index_of(session.observer);
    if (before < by_observer_.size() && by_observer_[before] == &session)
        by_observer_[before] = nullptr;
    session.observer = observer;
    if (observer == ObserverId::none) return;
    if (by_observer_.size() <= index_of(observer)) by_observer_.resize(index_of(observer) + 1);
    by_observer_[index_of(observer)] = &session;
}

void SessionTable::set_joined(Session& session) {
    PURVIEW_ASSERT(session.state == Session::State::joining);
    PURVIEW_ASSERT(session.observer != ObserverId::none && find(session.observer) == &session);
    PURVIEW_ASSERT(unjoined_ > 0);
    session.state = Session::State::joined;
    --unjoined_;
}

void SessionTable::set_address(Session& session, const Address& address) {
    PURVIEW_ASSERT(is_connected(session));
    host_counts_.moved(session.address, address);
    session.address = address;
}

void SessionTable::set_closing(Session& session) {
    PURVIEW_ASSERT(is_connected(session));
    PURVIEW_ASSERT(find_connection(session.connection_id) == &session);
    if (session.state != Session::State::joined) {
        PURVIEW_ASSERT(unjoined_ > 0);
        --unjoined_;
    }
    by_connection_.erase(session.connection_id);
    session.state = Session::State::closing;
    host_counts_.closing(session.address);
    closing_.push_back(&session);
}

void SessionTable::remove_closed() {
    closing_.clear();
    std::erase_if(sessions_, [&](const Pointer& session) {
        if (session->state != Session::State::closing) return false;
        set_observer(*session, ObserverId::none);
        host_counts_.gone(session->address);
        return true;
    });
    PURVIEW_ASSERT(host_counts_.all().closing == 0);
}

void SessionTable::validate() const {
    std::size_t connected = 0, closed = 0, unjoined = 0;
    for (const Pointer& session : sessions_) {
        const Session& its = *session;
        if (is_connected(its)) {
            ++connected;
            PURVIEW_ASSERT(find_connection(its.connection_id) == &its);
        }
        closed += its.state == Session::State::closing ? 1 : 0;
        unjoined += is_connected(its) && its.state != Session::State::joined ? 1 : 0;
        // A closing session has no observer anymore if the game has removed it.
        PURVIEW_ASSERT(its.observer == ObserverId::none || its.state == Session::State::closing ||
                       find(its.observer) == &its);
        PURVIEW_ASSERT(its.state != Session::State::joined || its.observer != ObserverId::none);
    }
    PURVIEW_ASSERT(by_connection_.size() == connected);
    PURVIEW_ASSERT(host_counts_.all().connected == connected);
    PURVIEW_ASSERT(host_counts_.all().closing == closed);
    PURVIEW_ASSERT(closing_.size() == closed);
    PURVIEW_ASSERT(unjoined_ == unjoined);
    (void)closed;
    (void)unjoined;
}

}  // namespace purview
