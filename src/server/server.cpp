// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Purview authors
#include "purview/server.hpp"

#include <algorithm>

#include "core/internal_access.hpp"
#include "core/log.hpp"
#include "interest/engine.hpp"
#include "link/messages.hpp"
#include "purview/limits.hpp"
#include "server/server_data.hpp"
#include "server/server_def.hpp"

namespace purview {

ServerData::ServerData(const ServerDef& server_def, Game& server_game, World made_world)
    : def(server_def),
      game(server_game),
      world(std::move(made_world)),
      manager(server_def.rules, server_def.log),
      interest(internal(manager)),
      fields(*server_def.schema),
      workers(fields),
      datagrams(workers),
      rewind(def, time, world, interest, sessions),
      handshake(def, time, sessions, datagrams, drops),
      closer(sessions, handshake, datagrams),
      sections(def, time, interest, fields, sessions),
      intervals(def, time, world, interest),
      audiences(def, time, world, interest, fields, sessions),
      inputs(def, time, world, game, audiences, rewind.counters),
      feed(def, time, world, interest, sessions, audiences),
      calls(def, time, world, interest, game, sessions, locals, closer, tap),
      events(def, time, world, interest, fields, intervals, audiences, injected_fault),
      sender(def, time, world, fields, sections, calls, workers, datagrams, tap, injected_fault),
      receiver(def, time, sessions, handshake, closer, sections, inputs, calls, tap, drops),
      lifecycle(def, time, game, interest, sessions, closer, sections, events, calls, tap) {
    std::vector<bool> uses_group_radius;
    for (const KindRules& kind : def.rules.kinds) {
        if (kind.culled_independently) internal(world).positions.keep_carried(true);
        uses_group_radius.push_back(kind.uses_group_radius);
    }
    if (std::find(uses_group_radius.begin(), uses_group_radius.end(), true) !=
        uses_group_radius.end())
        internal(world).bounds.keep(std::move(uses_group_radius));
    sections.set_nodes();
}

void ServerData::inject_fault(InjectedFault mode) {
    injected_fault = mode;
    fields.break_stale_every = mode == InjectedFault::stale ? 7 : 0;
    for (const auto& worker : workers)
        worker->cache.break_field_every = mode == InjectedFault::field ? 50 : 0;
}

void ServerData::set_executor(const Executor& executor) {
    interest.windows.set_executor(executor);
    workers.set_executor(executor);
    inject_fault(injected_fault);
}

RuleTrial ServerData::try_rules(const Rules& rules, std::size_t pairs_max) const {
    ServerDef wanted = def;
    wanted.rules = rules;
    wanted.rules.kinds = def.rules.kinds;  // the bindings of kinds stay
    RuleTrial trial;
    trial.problem = problem_of_rules(wanted);
    return trial.problem.empty() ? interest.try_rules(as_made(rules), manager, pairs_max) : trial;
}

/// Makes the adjustments that Server::create makes to its rules, so that a comparison shows only
/// changes made by the game.
Rules ServerData::as_made(Rules rules) const {
    const auto kinds = def.schema->kinds();
    for (std::size_t k = 0; k < rules.kinds.size() && k < kinds.size(); ++k)
        rules.kinds[k].owner_sees &= kinds[k].owner_sees;
    rules.observers_max = interest.rules().observers_max;
    return rules;
}

std::string ServerData::set_rules(const Rules& rules) {
    ServerDef wanted = def;
    wanted.rules = rules;
    wanted.rules.kinds = def.rules.kinds;  // the bindings of kinds stay
    if (std::string wrong = problem_of_rules(wanted); !wrong.empty()) return wrong;
    if (std::string wrong = interest.live_rules.set_rules(as_made(rules)); !wrong.empty())
        return wrong;
    def.rules = interest.rules();
    sections.set_nodes();
    intervals.note_rules();
    return {};
}

/// Ends the player as a session ends. First passes the latest edits of the game, such as owners, to
/// interest.
void ServerData::remove_local(const LocalPlayer& player) {
    feed.track_new_edits();
    locals.remove(player);
    events.note_disconnected(player);
    calls.forget({&player.observer, 1});
    (void)interest.observers.remove_observer(player.observer);
}

Status ServerData::set_budget(ObserverId observer, std::uint32_t bytes) {
    Session* const session = sessions.find(observer);
    if (session == nullptr || session->state == Session::State::probe) return Status::stale_id;
    if (const Refusal refusal = refusal_of_budget(def, bytes); refusal.status != Status::ok)
        return refusal.status;
    session->budget_bytes = bytes;
    return Status::ok;
}

void ServerData::shut_down() {
    handshake.stop();
    closer.close_all();
}

Status ServerData::send_message(ObserverId observer, std::span<const std::byte> message) {
    Session* session = sessions.find(observer);
    if (session == nullptr || session->state == Session::State::closing ||
        session->state == Session::State::probe)
        return Status::stale_id;
    if (message.size() > limits::message_bytes) return Status::too_large;
    if (message.size() + stream_bytes_kept > session->stream_out.room()) return Status::capacity;
    const std::byte type{static_cast<std::uint8_t>(ServerMessage::game)};
    return session->stream_out.send(std::span(&type, 1), message);
}

Status ServerData::request_state(ObserverId observer) {
    Session* session = sessions.find(observer);
    if (session == nullptr) return Status::stale_id;
    const std::byte request{static_cast<std::uint8_t>(ServerMessage::state_request)};
    return session->stream_out.send(std::span(&request, 1));
}

Result<ObserverId> ServerData::add_reference_client() {
    auto observer = interest.observers.add_observer();
    if (!observer) return observer.error();
    (void)interest.observers.set_unculled(*observer, true);
    (void)interest.observers.set_ready(*observer, true);
    auto session = std::make_unique<Session>();
    session->budget_bytes = def.budget_bytes_per_tick;
    session->next_command = 1;
    sessions.add_reference_client(std::move(session), *observer);
    return *observer;
}

ServerStats ServerData::stats() const {
    ServerStats stats;
    stats.backlog_age_ticks_max = lifecycle.backlog_age_ticks_max();
    for (const auto& session : sessions) {
        if (session->state == Session::State::probe) {
            stats.reference_bytes += session->bytes_sent;
            continue;
        }
        stats.backlog_age_ticks_max =
            std::max(stats.backlog_age_ticks_max, lifecycle.longest_wait_ticks(*session));
        ++stats.sessions;
        if (session->state == Session::State::joined) ++stats.observers_ready;
    }
    stats.entities = world.entity_count();
    stats.enters = events.enters();
    stats.leaves = events.leaves();
    stats.bytes_sent = datagrams.bytes_sent();
    stats.bytes_received = receiver.bytes_received();
    for (const auto& worker : workers) {
        stats.encodings += worker->cache.encodings();
        stats.encoding_uses += worker->cache.uses();
    }
    stats.bad_positions = internal(world).positions.bad_positions();
    stats.clamped_values = fields.clamped().values;
    stats.clamped_entity = fields.clamped().entity;
    stats.clamped_component = fields.clamped().component;
    stats.split_updates = sender.split_updates();
    stats.limited_updates = sender.limited_updates();
    stats.cell_payloads = sections.cells().counters.sections;
    stats.cell_payload_copies = sections.cells().counters.copies;
    stats.cell_payloads_stripped = sections.cells().counters.stripped;
    stats.cell_payloads_skipped = sections.cells().counters.left_out;
    return stats;
}

Server::Server(std::unique_ptr<ServerData> data) noexcept : data_(std::move(data)) {}
Server::Server(Server&&) noexcept = default;
Server& Server::operator=(Server&&) noexcept = default;
Server::~Server() = default;

Result<Server> Server::create(const ServerDef& def, Game& game) {
    if (const Refusal refusal = refusal_of(def); refusal.status != Status::ok) {
        log_refusal(def.log, refusal.why);
        return refusal.status;
    }
    auto world = World::create(world_def_of(def));
    if (!world) return world.error();
    ServerDef made = def;
    made.rules = rules_of(def);
    return Server(std::make_unique<ServerData>(made, game, std::move(world).value()));
}

void Server::receive(std::span<const std::byte> datagram, const Address& from, Micros now) {
    data_->receiver.receive(datagram, from, now);
}
void Server::tick(Micros now) {
    data_->tick(*this, now);
}
bool Server::next_datagram(OutgoingDatagram& out) {
    return data_->datagrams.take(out);
}
World& Server::world() noexcept {
    return data_->world;
}
Visibility& Server::visibility() noexcept {
    data_->feed.track_new_edits();
    return data_->manager;
}
void Server::set_executor(const Executor& executor) {
    data_->set_executor(executor);
}
std::string Server::set_rules(const Rules& rules) {
    return data_->set_rules(rules);
}
RuleTrial Server::try_rules(const Rules& rules, std::size_t pairs_max) const {
    return data_->try_rules(rules, pairs_max);
}
const Rules& Server::rules() const noexcept {
    return data_->interest.rules();
}
void Server::set_interest_level(InterestLevel level) {
    data_->interest.live_rules.set_level(level);
    data_->def.rules.level = level;
}
std::uint32_t Server::rules_revision() const noexcept {
    return data_->intervals.rules_revision();
}
Tick Server::current_tick() const noexcept {
    return data_->time.tick;
}
Status Server::send_message(ObserverId observer, std::span<const std::byte> message) {
    return data_->send_message(observer, message);
}
Status Server::set_budget(ObserverId observer, std::uint32_t bytes_per_tick) {
    return data_->set_budget(observer, bytes_per_tick);
}
Status Server::close(ObserverId observer, CloseReason reason, std::string_view text) {
    return data_->closer.close(observer, reason, text);
}
void Server::shut_down() {
    data_->shut_down();
}
void Server::address_closed(const Address& address) {
    data_->closer.close_address(address);
}
Result<CallId> Server::call(const RpcReceivers& to, RpcId rpc, std::span<const std::byte> args) {
    return data_->calls.call(to, rpc, args);
}
std::span<const RpcReport> Server::rpc_reports() const noexcept {
    return data_->calls.reports();
}
std::span<const RpcLateCull> Server::rpc_late_culls() const noexcept {
    return data_->calls.late_culls();
}
Status Server::set_in_input(EntityId entity, bool on) {
    if (!data_->world.is_alive(entity)) return Status::stale_id;
    data_->inputs.set_in_input(entity, on);
    return Status::ok;
}
bool Server::is_in_input(EntityId entity) const noexcept {
    return data_->world.is_alive(entity) && data_->inputs.is_in_input(entity);
}
std::span<const EntityId> Server::input_order(EntityId root) {
    const EntityId top = data_->world.root_of(root);
    if (top == EntityId::none) return {};
    return data_->inputs.members_of(top);
}
Result<PastView> Server::rewind(ObserverId observer, double view_tick) {
    return data_->rewind.view(observer, view_tick);
}
Result<ObserverId> Server::add_reference_client() {
    return data_->add_reference_client();
}
std::span<const ServerEvent> Server::events() const noexcept {
    return data_->events.events();
}
ServerStats Server::stats() const {
    return data_->stats();
}

std::span<const Counter> Server::counters() const {
    std::vector<Counter>& list = data_->counters;
    list.clear();
    append_counters(data_->profile, list);
    append_counters(data_->drops, list);
    append_counters(data_->inputs.counters(), list);
    append_counters(data_->rewind.counters, list);
    append_counters(data_->calls.counters(), list);
    return list;
}

void Server::sessions(std::vector<SessionStats>& out) const {
    for (const auto& session : data_->sessions) {
        if (session->state != Session::State::joined) continue;
        SessionStats stats;
        stats.observer = session->observer;
        stats.role = session->role;
        stats.address = session->address;
        stats.relevant = session->ghosts.slots().live_count();
        const Backlog backlog = backlog_of(session->ghosts, data_->time.tick);
        stats.backlog = backlog.count;
        stats.oldest_ticks = backlog.age_ticks_max;
        stats.bytes_sent = session->bytes_sent;
        stats.bytes_received = session->bytes_received;
        stats.packets_lost = session->counts.packets_lost;
        stats.rtt_us = session->arrival.rtt_us;
        stats.budget_bytes_per_tick = session->budget_bytes;
        stats.enters = session->counts.enters;
        stats.leaves = session->counts.leaves;
        out.push_back(stats);
    }
}

}  // namespace purview
