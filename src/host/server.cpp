// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Purview authors
#include "purview/server.hpp"

#include <algorithm>
#include <bit>
#include <cmath>

#include "host/server_data.hpp"
#include "replication/client_ghosts.hpp"
#include "replication/schema_codec.hpp"

namespace purview {

namespace {

/// Tick, rate, hash and name of the world, generously (PROTOCOL.md, "Messages").
constexpr std::size_t welcome_bytes_besides = 128;

/// Strengths ascend, and nobody who is nearer hears less often.
bool is_sound(const std::vector<SendRate>& curve) {
    for (std::size_t i = 0; i < curve.size(); ++i) {
        if (!(curve[i].strength >= 0 && curve[i].strength <= 1) || curve[i].every_ticks == 0 ||
            curve[i].every_ticks > 10'000) {
            return false;
        }
        if (i > 0 && (curve[i].strength <= curve[i - 1].strength ||
                      curve[i].every_ticks > curve[i - 1].every_ticks)) {
            return false;
        }
    }
    return true;
}

/// Whoever has more of them hears of a smaller part.
bool is_sound(const SendLimit& limit) {
    SendBuckets before;
    for (const SendBuckets& step : limit.buckets) {
        if (step.ghosts <= before.ghosts || step.parts <= before.parts || step.parts > 10'000)
            return false;
        before = step;
    }
    return true;
}

/// Leaves come before everything, whatever a game makes urgent.
bool is_weight(float urgency) {
    return urgency >= 1e-6F && urgency <= 1e6F;
}

/// What does not wait for its turn goes in one packet with any one component that does.
bool fits_alone(const KindLayout& layout, std::uint32_t budget_bytes) {
    std::uint64_t bits = 0, largest_in_turn = 0;
    for (std::size_t p = 0; p < layout.parts.size(); ++p) {
        const unsigned its = layout.parts[p].bits_max;
        const bool in_turn = (layout.in_turn >> p & 1U) != 0;
        bits += in_turn ? 2 : its;
        if (in_turn) largest_in_turn = std::max<std::uint64_t>(largest_in_turn, its);
    }
    return bits + largest_in_turn <= body_bits_alone(budget_bytes);
}

/// The call itself; what it is about may have to go along, and waits with it while it does not fit.
bool fits_alone(const RpcDef& rpc, std::uint32_t budget_bytes) {
    constexpr std::uint64_t besides = 64;  // type, number, and whom it is about
    return words_bits(rpc) + besides <= body_bits_alone(budget_bytes);
}

/// After a line was dead for as long as a session lives without a packet, a packet tells the fate
/// of all that a client sent meanwhile, 60 a second, and must not be larger than the budget.
bool is_budget(const ServerDef& def, std::uint32_t budget_bytes) {
    constexpr std::uint64_t packets_per_s = 60;
    const std::uint64_t fates = std::min<std::uint64_t>(
        PacketLink::under_way_max - 1, def.session_timeout_ms * packets_per_s / 1'000);
    return budget_bytes >= 128 &&
           packet_bits_min(PacketLink::header_bits_max(fates), input_state_bits_max) <=
               std::uint64_t{budget_bytes} * 8;
}

/// What is never told in parts has room: every kind and every call to observers, by itself.
bool has_room_for_all(const Schema& schema, std::uint32_t budget_bytes) {
    const std::vector<KindLayout> layouts = layouts_of(schema);
    return std::all_of(layouts.begin(), layouts.end(),
                       [&](const KindLayout& kind) { return fits_alone(kind, budget_bytes); }) &&
           std::all_of(schema.rpcs().begin(), schema.rpcs().end(), [&](const RpcDef& rpc) {
               return rpc.desc.direction != RpcDirection::to_observers ||
                      fits_alone(rpc, budget_bytes);
           });
}

/// A client is told all that it needs before it can join in one tick, or in half of the time that
/// it has for that: the rest is for what is lost, and for the way.
bool is_told_in_time(std::size_t welcome_bytes, const ServerDef& def) {
    const std::uint64_t whole = def.budget_bytes_per_tick / datagram_bytes_max;
    const auto rest = static_cast<std::uint32_t>(def.budget_bytes_per_tick % datagram_bytes_max);
    const std::uint64_t bits = whole * body_bits_alone(datagram_bytes_max) + body_bits_alone(rest);
    const std::uint64_t ticks = (welcome_bytes * 8 + bits - 1) / bits;
    return ticks == 1 || 2 * 1'000 * ticks <= std::uint64_t{def.join_timeout_ms} * def.tick_hz;
}

}  // namespace

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
      cache_(fields_),
      shared_(*server_def.schema) {
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
    set_shared_nodes();
    note_settings();
}

void ServerData::set_spoil(Spoil mode) {
    spoil = mode;
    fields_.break_stale_every = mode == Spoil::stale ? 7 : 0;
    cache_.break_field_every = mode == Spoil::field ? 50 : 0;
}

Status ServerData::set_rules(const InterestRules& rules) {
    ServerDef wanted = def;
    wanted.rules = rules;
    if (!problem_of_sharing(wanted).empty()) return Status::bad_configuration;
    const Status status = interest.set_rules(rules);
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
    if (!is_budget(def, bytes)) return Status::bad_argument;
    if (!has_room_for_all(*def.schema, bytes)) return Status::too_large;
    session->budget_bytes = bytes;
    return Status::ok;
}

Server::Server(std::unique_ptr<ServerData> data) noexcept : data_(std::move(data)) {}
Server::Server(Server&&) noexcept = default;
Server& Server::operator=(Server&&) noexcept = default;
Server::~Server() = default;

Result<Server> Server::create(const ServerDef& def, Game& game) {
    if (def.schema == nullptr || def.mac == nullptr || def.tick_hz == 0 || def.tick_hz > 1000 ||
        !is_budget(def, def.budget_bytes_per_tick) || !is_weight(def.first_urgency)) {
        return Status::bad_configuration;
    }
    if (def.input.lead_max == 0 || def.input.lead_max > commands_waiting_max ||
        def.input.waiting_target == 0 || def.input.waiting_target > def.input.lead_max ||
        !(def.rewind.cell_m > 0) || def.sessions_max > (1U << observer_index_bits) - 32 ||
        def.group_depth_max > ClientGhosts::depth_max) {
        return Status::bad_configuration;
    }
    WorldDef world_def;
    world_def.schema = def.schema;
    world_def.entities_max = def.entities_max;
    world_def.group_members_max = def.group_members_max;
    world_def.group_depth_max = def.group_depth_max;
    auto world = World::create(world_def);
    if (!world) return world.error();
    std::vector<std::byte> welcome(message_bytes_max - welcome_bytes_besides);
    BitWriter schema_bytes(welcome);
    write_schema(*def.schema, schema_bytes);
    if (!schema_bytes.ok()) return Status::bad_configuration;
    if (!is_told_in_time(schema_bytes.bytes_written() + welcome_bytes_besides, def))
        return Status::too_large;
    InterestDef interest_def;
    interest_def.rules = def.rules;
    interest_def.flag_count = static_cast<std::uint32_t>(def.schema->flags().size());
    interest_def.key_count = static_cast<std::uint32_t>(def.schema->keys().size());
    for (const auto& flag : def.schema->flags()) interest_def.flag_names.push_back(flag.name);
    for (const auto& key : def.schema->keys()) interest_def.key_names.push_back(key.name);
    interest_def.value_count = static_cast<std::uint32_t>(def.schema->values().size());
    for (const auto& value : def.schema->values()) interest_def.value_names.push_back(value.name);
    if (def.kinds.size() > def.schema->kinds().size()) return Status::bad_configuration;
    ServerDef made = def;
    made.kinds.resize(def.schema->kinds().size());
    for (std::size_t k = 0; k < made.kinds.size(); ++k) {
        for (const NodeId node : made.kinds[k].nodes) {
            if (index_of(node) >= def.rules.nodes.size()) return Status::bad_configuration;
        }
        if (!def.schema->kinds()[k].owner_sees) made.kinds[k].owner_sees = false;
        const KindDef& kind = def.schema->kinds()[k];
        if (!is_sound(kind.rates) || !is_sound(kind.limit) || !is_weight(kind.urgency))
            return Status::bad_configuration;
    }
    if (!has_room_for_all(*def.schema, def.budget_bytes_per_tick)) return Status::too_large;
    if (!all_are_placed(*def.schema) || !problem_of_sharing(made).empty())
        return Status::bad_configuration;
    interest_def.kinds = made.kinds;
    interest_def.level = def.level;
    interest_def.areas_max = def.areas_max;
    interest_def.single_area = def.single_area;
    interest_def.ready_requires_entity = def.ready_requires_entity;
    interest_def.count_observers = def.count_observers;
    interest_def.measure_changed = def.measure_changed;
    interest_def.observers_max = def.sessions_max + 16;
    auto interest = InterestManager::create(interest_def);
    if (!interest) return interest.error();
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
    if (data_->world.data().has_untracked_ops()) data_->track_facts();
    return data_->interest;
}
Status Server::set_rules(const InterestRules& rules) {
    return data_->set_rules(rules);
}
RuleTrial Server::try_rules(const InterestRules& rules) const {
    return data_->interest.try_rules(rules);
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
Status Server::close(ObserverId observer, CloseReason reason) {
    return data_->close(observer, reason);
}
void Server::shut_down() {
    data_->shut_down();
}
void Server::address_closed(const Address& address) {
    data_->address_closed(address);
}
Result<CallId> Server::call(EntityId target, RpcId rpc, std::span<const std::byte> args) {
    return data_->call({.rpc = rpc, .about = RpcTarget::entity, .target = target}, args);
}
Result<CallId> Server::call_at(Vec3 place, RpcId rpc, std::span<const std::byte> args) {
    return data_->call({.rpc = rpc, .about = RpcTarget::place, .place = place}, args);
}
Result<CallId> Server::call_all(RpcId rpc, std::span<const std::byte> args) {
    return data_->call({.rpc = rpc, .about = RpcTarget::nobody}, args);
}
Result<CallId> Server::call_one(ObserverId observer, RpcId rpc, std::span<const std::byte> args) {
    if (data_->find_session(observer) == nullptr && data_->find_local(observer) == nullptr)
        return Status::stale_id;
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
