// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Purview authors
//
// The state of a server. The tick is in server_tick.cpp, sessions and hostile bytes in
// sessions.cpp, what the world's edits mean for interest in track.cpp.
#pragma once

#include <deque>
#include <memory>
#include <vector>

#include "core/flat_map.hpp"
#include "host/local_player.hpp"
#include "host/server_calls.hpp"
#include "host/server_inputs.hpp"
#include "host/server_rewind.hpp"
#include "host/session.hpp"
#include "host/tap.hpp"
#include "host/tick_worker.hpp"
#include "link/handshake.hpp"
#include "link/host_counts.hpp"
#include "purview/server.hpp"
#include "replication/encode_cache.hpp"
#include "replication/field_store.hpp"

namespace purview {

/// Test builds: ways to spoil the server (PURVIEW_BREAKABLE).
enum class Spoil : std::uint8_t { none, leak, stale, field, order, unsent, unsaid, audience };

class ServerData {
  public:
    ServerData(const ServerDef& def, Game& game, World world, InterestManager interest);

    // server_tick.cpp
    void tick(Server& server, Micros now);
    /// Facts of the edits made so far; the game may then name new entities to interest (track.cpp).
    /// `fresh`: of what was edited since the last call, and all the same of the rest later.
    void track_facts(bool fresh);
    // sessions.cpp
    void receive(std::span<const std::byte> datagram, const Address& from, Micros now);
    bool next_datagram(OutgoingDatagram& out);
    Status send_message(ObserverId observer, std::span<const std::byte> message);
    Status request_state(ObserverId observer);
    Status set_budget(ObserverId observer, std::uint32_t bytes);
    Status close(ObserverId observer, CloseReason reason, std::string_view text);
    void shut_down();
    void address_closed(const Address& address);
    Result<ObserverId> add_observer();
    void remove_observer(ObserverId observer);
    Result<ObserverId> add_probe();
    ServerStats stats() const;
    RuleTrial try_rules(const InterestRules& rules, std::size_t pairs_max) const;
    Status set_rules(const InterestRules& rules);
    void set_executor(const Executor& executor);

    Session* find_session(ObserverId observer) noexcept;
    void set_observer(Session& session, ObserverId observer);
    /// told[i]: the parts of the entity of indices[i] that the observer is told, if it is relevant
    /// to him, a bit each.
    void decide_told(ObserverId observer, std::span<const std::uint32_t> indices,
                     std::span<std::uint32_t> told) {
        decide_told(workers_.front()->audience, observer, indices, told);
    }
    const FieldStore& fields() const noexcept { return fields_; }
    FieldStore& fields() noexcept { return fields_; }
    const SharedCells& shared() const noexcept { return shared_; }
    // calls.cpp
    Result<CallId> call(const WantedCall& wanted, std::span<const std::byte> args);
    // events.cpp: a player of a HostView; not owned, and not moved until it is removed
    void add_local(LocalPlayer& player) { locals_.push_back(&player); }
    void remove_local(const LocalPlayer& player);
    LocalPlayer* find_local(ObserverId observer) noexcept;

    ServerCalls calls;
    ServerDef def;
    World world;
    ServerInputs inputs;
    RewindData rewind;
    InterestManager interest;
    DropCounters drops;
    TickProfile profile;
    Tick tick_number = 0;
    std::uint32_t rules_revision = 1;
    ReplicationTap* tap = nullptr;
    std::vector<std::unique_ptr<Session>> sessions;  ///< in order of acceptance
    std::vector<ServerEvent> events;                 ///< of the last tick

  private:
    // The stages of a tick, in order.
    void receive_stage(Server& server, Micros now);
    void simulate(Server& server);
    void track();
    void decide_interest();
    void diff();
    using SessionGroup = std::span<const std::unique_ptr<Session>>;
    template <class Stages>
    void for_each_group(Stages&& stages);
    void begin_packets(std::size_t chunks);
    void end_packets();
    void prefetch_lanes(std::size_t first) const noexcept;
    /// Where all of them are gone through one after the other.
    static constexpr std::size_t sessions_ahead = 4;
    void prefetch_session(std::size_t number) const noexcept {
        if (number < sessions.size()) sessions[number]->prefetch_front();
    }
    void gather(TickWorker& worker, SessionGroup group);
    bool tells_what_is_relevant(const Session& session) const;
    void gather_changes(Session& session, std::span<const std::uint64_t> covered);
    void prioritise(TickWorker& worker, SessionGroup group);
    void encode(TickWorker& worker, SessionGroup group, Micros now);
    void send();

    // calls.cpp: of the stages receive, interest and encode
    void run_calls(Server& server, Session& session);
    bool was_his(const Session& session, EntityId entity) const noexcept;
    void refuse_call(Session& session, std::uint64_t& counter);
    void decide_calls();
    void drop_left_calls(Session& session);
    template <class Give>
    void release_held(ObserverId observer, Give&& give);
    void expire_held();
    void forget_held(std::span<const ObserverId> gone);
    void judge(const WantedCall& wanted, RpcReport& report);
    void judge_for(Session& session, const WantedCall& wanted, RpcReport& report);
    void judge_for(LocalPlayer& player, const WantedCall& wanted, RpcReport& report);
    template <class Give>
    void judge_for(ObserverId observer, bool is_relevant, const WantedCall& wanted,
                   RpcReport& report, Give&& give);
    bool hold(const WantedCall& wanted, ObserverId observer);
    void end_hold(const HeldCall& held, ObserverId observer);
    void cull_late(CallId call, ObserverId observer, CullReason reason);
    void request_callees();
    std::uint64_t choose_calls(Session& session, std::uint64_t bits);
    bool write_calls(TickWorker& worker, Session& session, std::uint32_t sequence, BitWriter& out);
    void drop_unreliable(TickWorker& worker, Session& session);
    void resolve_callees(Session& session);

    // inputs.cpp: of the stages receive and encode
    void take_inputs(Session& session);
    void run_inputs(Server& server, Session& session);
    EntityId resolve_named(const Session& session, LocalId ghost) const noexcept;
    double bounded_view(const Session& session, std::uint32_t view_low);
    void run_group(Server& server, Session& session, const InputFrame& frame,
                   const InputGroup& command, CommandTick tick);
    bool bind_group(const Session& session, const InputGroups::Group& group);
    bool copy_local_place(std::uint32_t index, const PredictedPart& part,
                          ServerInputs::LocalPlace& place);
    std::uint64_t settle_local_place(std::uint32_t index, const PredictedPart& part,
                                     ServerInputs::LocalPlace& place, std::uint64_t digest);
    void bind_part(const Session& session, const InputGroup& group, const InputPart& part,
                   std::span<const std::uint32_t> words, std::byte* room);
    std::uint16_t settle_group(const Session& session, CommandTick tick);
    std::uint64_t known_membership(const Session& session, EntityId root);
    bool is_predicted_now(const SessionInputs::Told& told) const noexcept;
    bool does_predict(const Session& session, std::uint32_t index) const noexcept;
    void note_membership(Session& session, EntityId root);
    void send_correction(Session& session, CommandTick tick);
    static void write_input_state(const Session& session, BitWriter& out);
    static std::uint64_t input_state_bits(const Session& session) noexcept;

    /// Of the snapshot that will tell of an edit made now: between ticks, the next one.
    Tick edit_tick() const noexcept { return tick_number + (in_tick_ ? 0 : 1); }
    void track_op(const WorldOp& op);
    EntityDef interest_def_of(std::uint32_t index);
    void prefetch_events(std::size_t session) const noexcept;
    void apply_events(Session& session);
    std::size_t count_keeping(const Session& session) const;
    void apply_events(LocalPlayer& player);
    void list_enter(const RelevanceEvent& event);
    void tell_disconnected(const Session& session);
    void set_layout(GhostTable& ghosts, LocalId lane);
    Keeping keeping_of(const Session& session, LocalId lane, Reason reason) const;
    void watch_first_view(Session& session);
    template <class IsInOneOf>
    void touch_references(Session& session, EntityId referrer, IsInOneOf&& is_in_one_of);
    void tell_references(Session& session);
    void tell_other_references(Session& session);
    void set_paces(PaceScratch& room, Session& session);
    void note_settings();
    // sections.cpp: nodes in a shared mode
    void set_shared_nodes();
    void queue_cells(Session& session);
    void plan_sections(Session& session);
    void give_up_sections(Session& session);
    void resolve_sections(Session& session, DeliveryNotice notice);
    void decide_audiences(TickWorker& worker, Session& session);
    void list_audiences(AudienceScratch& room, Session& session);
    void list_commanded(AudienceScratch& room, Session& session);
    void decide_told(AudienceScratch& room, ObserverId observer,
                     std::span<const std::uint32_t> indices, std::span<std::uint32_t> told);
    /// Audiences that depend on the entity's owner or keys are asked again.
    void note_owner_or_key(std::uint32_t index);
    bool may_be_split(const Session& session, LocalId lane) const noexcept;
    bool take_turns(TickWorker& worker, Session& session, LocalId lane, std::uint32_t& told);
    void spoil_leak(Session& session);
    ReplicationInput replication_input(TickWorker& worker) noexcept;
    void note_passed_over(Session& session) const noexcept;
    void encode_session(TickWorker& worker, Session& session, Micros now);
    void encode_probe(TickWorker& worker, Session& session);
    struct Written {
        std::size_t bytes = 0;
        bool has_more = false;  ///< fragments of the stream, or calls
    };
    bool may_send(const Session& session) const noexcept;
    Written write_packet(TickWorker& worker, Session& session, std::span<std::byte> out, Micros now,
                         bool must_send);

    void receive_hello(std::span<const std::byte> datagram, const Address& from, Micros now);
    void receive_answer(std::span<const std::byte> datagram, const Address& from, Micros now);
    void receive_data(std::span<const std::byte> datagram, const Address& from, Micros now);
    void receive_close(std::span<const std::byte> datagram);
    bool read_body(Session& session, BitReader& in);
    void count_malformed(Session& session);
    void take_commands(Session& session);
    void queue_command(Session& session, std::span<const std::byte> command);
    void queue_message(Session& session, std::span<const std::byte> message);
    bool read_messages(Session& session);
    void resolve(Session& session, DeliveryNotice notice, Micros now);
    void challenge(const Address& to, std::uint64_t nonce, Micros now);
    void refuse(const Address& to, std::uint64_t nonce, RefuseReason reason);
    void queue_welcome(Session& session);
    void run_join(Server& server, Session& session);
    void run_messages(Server& server, Session& session);
    void run_commands(Server& server, Session& session);
    void end_session(Server& server, Session& session);
    Tick longest_wait_ticks(const Session& session) const;
    void mark_closed(Session& session, CloseReason reason, bool tell, std::string_view text = {});
    void queue(const Address& to, std::span<const std::byte> bytes);
    void clear_outboxes() noexcept;
    Session* session_by_connection(std::uint64_t connection_id) noexcept;

    Game* game_;
    CookieJar cookies_;
    FieldStore fields_;
    Executor executor_;
    std::vector<std::unique_ptr<TickWorker>> workers_;  ///< one at least
    std::vector<TickChunk> chunks_;                     ///< of the running tick
    SharedCells shared_;
    FlatMap<std::uint64_t, Session*> by_connection_;
    HostCounts host_counts_;
    std::vector<LocalPlayer*> locals_;         ///< in order of coming; not owned
    std::vector<Session*> by_observer_;        ///< by its index; null: no session's
    std::vector<Session*> closing_;            ///< ended by the next tick
    std::vector<ServerEvent> events_of_gone_;  ///< of who went since the last tick
    std::vector<ObserverId> gone_;             ///< scratch of receive_stage: observers of those
    std::vector<DeliveryNotice> notices_;
    std::vector<std::uint32_t> lost_packets_;  ///< of notices_
    bool shutting_down_ = false;
    bool in_tick_ = false;
    Micros last_now_ = 0;

    /// What a client's packet holds behind its header; views into the packet.
    struct Body {
        bool has_digest = false;
        bool has_inputs = false;  ///< in ServerInputs::packet
        std::uint64_t digest = 0;
        std::uint32_t command_count = 0;
        std::uint16_t newest_command = 0;
        std::array<std::span<const std::byte>, commands_per_packet_max> commands;
    };
    Body body_;
    std::array<Key, Schema::keys_max> keys_{};  ///< scratch of interest_def_of
    std::array<float, Schema::values_max> values_{};

    Outbox outbox_;  ///< of what no worker writes
    OutboxOrder out_;

    std::uint64_t enters_ = 0;
    std::uint64_t leaves_ = 0;
    std::uint64_t joins_ = 0;       ///< asked for so far
    std::uint32_t joins_left_ = 0;  ///< in this tick
    std::uint64_t bytes_sent_ = 0;
    std::uint64_t bytes_received_ = 0;
    Tick backlog_age_ticks_max_ = 0;  ///< of sessions that have ended
    std::vector<std::pair<std::uint64_t, const RelevanceEvent*>> enter_order_;  ///< scratch
    /// By entity index: its owner or a key is another one since the last tick.
    Bitset owner_or_key_changed_;
    bool any_owner_or_key_changed_ = false;
    bool has_audiences_ = false;     ///< some kind has parts that only some are told
    bool has_unpredicted_ = false;   ///< of these, parts that are unpredicted
    std::vector<bool> asks_always_;  ///< by KindId: an audience of its may answer anew by itself
    bool any_asks_always_ = false;
    bool has_rates_ = false;     ///< some kind has a curve
    bool has_limits_ = false;    ///< or a limit
    bool has_settings_ = false;  ///< some node says how often, how urgent or what becomes of copies
    std::vector<bool> takes_turns_;  ///< by KindId: some of its parts may wait for others
    std::uint64_t split_updates_ = 0;
    std::uint64_t limited_updates_ = 0;

  public:
    Spoil spoil = Spoil::none;
    void set_spoil(Spoil mode);
};

}  // namespace purview
