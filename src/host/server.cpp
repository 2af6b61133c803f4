// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Purview authors
#include "purview/server.hpp"

#include <algorithm>

#include "host/server_data.hpp"
#include "host/server_def.hpp"
#include "interest/interest_data.hpp"
#include "interest/run_chunks.hpp"

namespace purview {

ServerData::ServerData(const ServerDef& server_def, Game& game, World made_world,
                       InterestManager made_interest)
    : def(server_def),
      world(std::move(made_world)),
      inputs(world.data(), *server_def.schema, server_def.input.order),
      rewind(*this),
      interest(std::move(made_interest)),
      game_(&game),
      cookies_(server_def.secret, server_def.mac),
      fields_(*server_def.schema),
      shared_(*server_def.schema) {
    interest.data().is_driven = true;
    for (const KindDef& kind : def.schema->kinds()) {
        has_rates_ |= !kind.rates.empty();
        has_limits_ |= !kind.limit.is_none();
    }
    for (const KindLayout& layout : layouts_of(*def.schema)) {
        takes_turns_.push_back(layout.in_turn != 0);
        has_audiences_ |= layout.audience != 0;
        const bool is_custom = std::any_of(
            layout.parts.begin(), layout.parts.end(), [&](const KindLayout::Part& part) {
                const ComponentDef& component = def.schema->components()[index_of(part.component)];
                return component.audience.type == AudienceType::custom;
            });
        has_unpredicted_ |= std::any_of(
            layout.parts.begin(), layout.parts.end(), [&](const KindLayout::Part& part) {
                const ComponentDef& component = def.schema->components()[index_of(part.component)];
                return component.audience.type == AudienceType::unpredicted;
            });
        asks_always_.push_back(is_custom);
        any_asks_always_ |= is_custom || takes_turns_.back();
    }
    std::vector<bool> by_bounds;
    for (const KindInterest& kind : def.kinds) {
        if (kind.split) world.data().keep_carried(true);
        by_bounds.push_back(kind.by_bounds);
    }
    if (std::find(by_bounds.begin(), by_bounds.end(), true) != by_bounds.end())
        world.data().keep_bounds(std::move(by_bounds));
    workers_.push_back(std::make_unique<TickWorker>(fields_));
    set_shared_nodes();
    note_settings();
}

void ServerData::set_spoil(Spoil mode) {
    spoil = mode;
    fields_.break_stale_every = mode == Spoil::stale ? 7 : 0;
    for (const auto& worker : workers_)
        worker->cache.break_field_every = mode == Spoil::field ? 50 : 0;
}

void ServerData::set_executor(const Executor& executor) {
    interest.set_executor(executor);
    executor_ = executor;
    const std::uint32_t wanted = executor.run == nullptr ? 1 : executor.workers;
    while (workers_.size() < std::min(wanted, workers_max))  // datagrams may lie with any of them
        workers_.push_back(std::make_unique<TickWorker>(fields_));
    set_spoil(spoil);
}

RuleTrial ServerData::try_rules(const InterestRules& rules, std::size_t pairs_max) const {
    ServerDef wanted = def;
    wanted.rules = rules;
    RuleTrial trial;
    trial.problem = problem_of_sharing(wanted);
    return trial.problem.empty() ? interest.try_rules(rules, pairs_max) : trial;
}

Status ServerData::set_rules(const InterestRules& rules) {
    ServerDef wanted = def;
    wanted.rules = rules;
    if (!problem_of_sharing(wanted).empty()) return Status::bad_configuration;
    const Status status = interest.data().set_rules(rules);
    if (status != Status::ok) return status;
    def.rules = interest.rules();
    ++rules_revision;
    set_shared_nodes();
    note_settings();
    return Status::ok;
}

/// Test builds: one entity that this observer must not know of is shown to it all the same.
void ServerData::spoil_leak(Session& session) {
    if (session.state != Session::State::joined || tick_number % 20 != 0) return;
    for (std::uint32_t index = 0; index < world.index_end(); ++index) {
        const EntityId entity = world.at_index(index);
        if (entity == EntityId::none || interest.is_relevant(session.observer, entity) ||
            session.ghosts.find(entity) != no_local_id || world.root_of(entity) != entity) {
            continue;
        }
        set_layout(session.ghosts,
                   session.ghosts.enter(entity, world.kind_of(entity), false, tick_number));
        return;
    }
}

Status ServerData::set_budget(ObserverId observer, std::uint32_t bytes) {
    Session* const session = find_session(observer);
    if (session == nullptr || session->state == Session::State::probe) return Status::stale_id;
    if (const Refusal refusal = refusal_of_budget(def, bytes); refusal.status != Status::ok)
        return refusal.status;
    session->budget_bytes = bytes;
    return Status::ok;
}

Server::Server(std::unique_ptr<ServerData> data) noexcept : data_(std::move(data)) {}
Server::Server(Server&&) noexcept = default;
Server& Server::operator=(Server&&) noexcept = default;
Server::~Server() = default;

Result<Server> Server::create(const ServerDef& def, Game& game) {
    if (const Refusal refusal = refusal_of(def); refusal.status != Status::ok)
        return refusal.status;
    auto world = World::create(world_def_of(def));
    if (!world) return world.error();
    const InterestDef interest_def = interest_def_of(def);
    auto interest = InterestManager::create(interest_def);
    if (!interest) return interest.error();
    ServerDef made = def;
    made.kinds = interest_def.kinds;
    return Server(std::make_unique<ServerData>(made, game, std::move(world).value(),
                                               std::move(interest).value()));
}

void Server::receive(std::span<const std::byte> datagram, const Address& from, Micros now) {
    data_->receive(datagram, from, now);
}
void Server::tick(Micros now) {
    data_->tick(*this, now);
}
bool Server::next_datagram(OutgoingDatagram& out) {
    return data_->next_datagram(out);
}
World& Server::world() noexcept {
    return data_->world;
}
InterestManager& Server::interest() noexcept {
    if (data_->world.data().has_untracked_ops()) data_->track_facts(true);
    return data_->interest;
}
void Server::set_executor(const Executor& executor) {
    data_->set_executor(executor);
}
Status Server::set_rules(const InterestRules& rules) {
    return data_->set_rules(rules);
}
RuleTrial Server::try_rules(const InterestRules& rules, std::size_t pairs_max) const {
    return data_->try_rules(rules, pairs_max);
}
const InterestRules& Server::rules() const noexcept {
    return data_->interest.rules();
}
void Server::set_interest_level(InterestLevel level) {
    data_->interest.set_level(level);
    data_->def.level = level;
}
std::uint32_t Server::rules_revision() const noexcept {
    return data_->rules_revision;
}
Tick Server::current_tick() const noexcept {
    return data_->tick_number;
}
Status Server::send_message(ObserverId observer, std::span<const std::byte> message) {
    return data_->send_message(observer, message);
}
Status Server::set_budget(ObserverId observer, std::uint32_t bytes_per_tick) {
    return data_->set_budget(observer, bytes_per_tick);
}
Status Server::close(ObserverId observer, CloseReason reason, std::string_view text) {
    return data_->close(observer, reason, text);
}
void Server::shut_down() {
    data_->shut_down();
}
void Server::address_closed(const Address& address) {
    data_->address_closed(address);
}
Result<CallId> Server::call(EntityId target, RpcId rpc, std::span<const std::byte> args,
                            ObserverId except) {
    return data_->call({.rpc = rpc, .about = RpcTarget::entity, .target = target, .except = except},
                       args);
}
Result<CallId> Server::call_at(Vec3 place, RpcId rpc, std::span<const std::byte> args,
                               ObserverId except) {
    return data_->call({.rpc = rpc, .about = RpcTarget::place, .place = place, .except = except},
                       args);
}
Result<CallId> Server::call_all(RpcId rpc, std::span<const std::byte> args, ObserverId except) {
    return data_->call({.rpc = rpc, .about = RpcTarget::nobody, .except = except}, args);
}
Result<CallId> Server::call_one(ObserverId observer, RpcId rpc, std::span<const std::byte> args) {
    const Session* session = data_->find_session(observer);
    const bool is_there = session != nullptr && session->state != Session::State::closing;
    if (!is_there && data_->find_local(observer) == nullptr) return Status::stale_id;
    return data_->call({.rpc = rpc, .about = RpcTarget::nobody, .only = observer}, args);
}
std::span<const RpcReport> Server::rpc_reports() const noexcept {
    return data_->calls.reports;
}
std::span<const RpcLateCull> Server::rpc_late_culls() const noexcept {
    return data_->calls.late;
}
const RpcCounters& Server::rpc_counters() const noexcept {
    return data_->calls.counters;
}
Status Server::set_in_input(EntityId entity, bool on) {
    if (!data_->world.is_alive(entity)) return Status::stale_id;
    data_->inputs.groups.set_in_input(entity, on);
    return Status::ok;
}
bool Server::is_in_input(EntityId entity) const noexcept {
    return data_->inputs.groups.is_in_input(entity);
}
std::span<const EntityId> Server::input_order(EntityId root) {
    const EntityId top = data_->world.root_of(root);
    if (top == EntityId::none) return {};
    return data_->inputs.groups.group_of(top, data_->inputs.counters).members;
}
const InputCounters& Server::input_counters() const noexcept {
    return data_->inputs.counters;
}
Result<RewoundView> Server::rewind(ObserverId observer, double view_tick) {
    return data_->rewind.view(observer, view_tick);
}
const RewindCounters& Server::rewind_counters() const noexcept {
    return data_->rewind.counters;
}
Result<ObserverId> Server::add_probe() {
    return data_->add_probe();
}
std::span<const ServerEvent> Server::events() const noexcept {
    return data_->events;
}
ServerStats Server::stats() const {
    return data_->stats();
}
const DropCounters& Server::drops() const noexcept {
    return data_->drops;
}
const TickProfile& Server::profile() const noexcept {
    return data_->profile;
}

void Server::sessions(std::vector<SessionStats>& out) const {
    for (const auto& session : data_->sessions) {
        if (session->state != Session::State::joined) continue;
        SessionStats stats;
        stats.observer = session->observer;
        stats.role = session->role;
        stats.address = session->address;
        stats.relevant = session->ghosts.live_count();
        const Backlog backlog = backlog_of(session->ghosts, data_->tick_number);
        stats.backlog = backlog.count;
        stats.oldest_ticks = backlog.age_ticks_max;
        stats.bytes_sent = session->bytes_sent;
        stats.bytes_received = session->bytes_received;
        stats.packets_lost = session->packets_lost;
        stats.rtt_us = session->rtt_us;
        stats.budget_bytes_per_tick = session->budget_bytes;
        stats.enters = session->enters;
        stats.leaves = session->leaves;
        out.push_back(stats);
    }
}

}  // namespace purview
