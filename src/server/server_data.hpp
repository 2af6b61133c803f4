// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Purview authors
//
// A server: its parts, and the order in which the tick runs them (server_tick.cpp). The constructor
// of each part takes references to the parts that it may use and to no others. So the members are
// declared in dependency order.
#pragma once

#include <memory>
#include <span>

#include "interest/engine.hpp"
#include "purview/server.hpp"
#include "replication/field_store.hpp"
#include "server/audience_filter.hpp"
#include "server/datagram_queue.hpp"
#include "server/fault_injection.hpp"
#include "server/handshake.hpp"
#include "server/input_router.hpp"
#include "server/interest_feed.hpp"
#include "server/local_player.hpp"
#include "server/packet_sender.hpp"
#include "server/receiver.hpp"
#include "server/relevance_events.hpp"
#include "server/rpc_router.hpp"
#include "server/send_intervals.hpp"
#include "server/server_counters.hpp"
#include "server/server_rewind.hpp"
#include "server/server_time.hpp"
#include "server/session_closer.hpp"
#include "server/session_lifecycle.hpp"
#include "server/session_table.hpp"
#include "server/shared_sections.hpp"
#include "server/tap.hpp"
#include "server/tick_worker.hpp"

namespace purview {

class ServerData {
  public:
    ServerData(const ServerDef& def, Game& game, World world);

    void tick(Server& server, Micros now);

    Status send_message(ObserverId observer, std::span<const std::byte> message);
    Status request_state(ObserverId observer);
    Status set_budget(ObserverId observer, std::uint32_t bytes);
    void shut_down();
    Result<ObserverId> add_reference_client();
    /// Ends a local player as a session ends.
    void remove_local(const LocalPlayer& player);
    ServerStats stats() const;
    RuleTrial try_rules(const Rules& rules, std::size_t pairs_max) const;
    Rules as_made(Rules rules) const;
    std::string set_rules(const Rules& rules);
    void set_executor(const Executor& executor);
    void inject_fault(InjectedFault mode);

    ServerDef def;
    Game& game;
    ServerTime time;
    InjectedFault injected_fault = InjectedFault::none;
    ReplicationTap* tap = nullptr;  ///< not owned
    DropCounters drops;
    TickProfile profile;
    std::vector<Counter> counters;  ///< of Server::counters

    World world;
    /// The public interface of `interest`. The game receives it as a Visibility.
    InterestManager manager;
    InterestEngine& interest;
    FieldStore fields;
    SessionTable sessions;
    LocalPlayers locals;
    TickWorkers workers;
    DatagramQueue datagrams;

    RewindData rewind;
    Handshake handshake;
    SessionCloser closer;
    SharedSections sections;
    SendIntervals intervals;
    AudienceFilter audiences;
    InputRouter inputs;
    InterestFeed feed;
    RpcRouter calls;
    RelevanceEvents events;
    PacketSender sender;
    Receiver receiver;
    SessionLifecycle lifecycle;

  private:
    // The stages of a tick, in order.
    void receive_stage(Server& server, Micros now);
    void simulate(Server& server);
    void decide_interest();
    void diff();
    void warn_of_clamped();
    using SessionGroup = std::span<const std::unique_ptr<Session>>;
    template <class Stages>
    void for_each_group(Stages&& stages);
    void prefetch_slots(std::size_t first) const noexcept;
    void gather(TickWorker& worker, SessionGroup group);
    bool reports_relevance(const Session& session) const;
    void gather_changes(Session& session, std::span<const std::uint64_t> covered);
    void prioritize(TickWorker& worker, SessionGroup group);
    void encode(TickWorker& worker, SessionGroup group, Micros now);
    void send();

    std::uint32_t warned_of_clamped_ = 0;  ///< by component, one bit each
};

}  // namespace purview
