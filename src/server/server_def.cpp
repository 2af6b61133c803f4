// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Purview authors
#include "server/server_def.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <utility>
#include <vector>

#include "core/priority.hpp"
#include "interest/rules/kernel_facts.hpp"
#include "link/stream.hpp"
#include "protocol/rpc_args.hpp"
#include "protocol/schema_codec.hpp"
#include "purview/limits.hpp"
#include "purview/presets.hpp"
#include "replication/snapshot_writer.hpp"
#include "server/session.hpp"
#include "server/shared_sections.hpp"

namespace purview {

namespace {

/// Upper bound for the tick, rate, hash and name of the world (PROTOCOL.md, "Messages").
constexpr std::size_t welcome_bytes_besides = 128;
constexpr std::uint32_t sessions_most = (1U << observer_index_bits) - 32;

std::string quoted(const std::string& name) {
    return "'" + name + "'";
}

std::string bytes_of(std::uint64_t bits) {
    return std::to_string((bits + 7) / 8) + " bytes";
}

std::string problem_of(const std::vector<SendInterval>& curve) {
    for (std::size_t i = 0; i < curve.size(); ++i) {
        if (!(curve[i].score >= 0 && curve[i].score <= 1)) return "a score must be 0 to 1";
        if (curve[i].every_ticks == 0 || curve[i].every_ticks > limits::send_interval_ticks)
            return "every_ticks must be 1 to 10,000";
        if (i > 0 && curve[i].score <= curve[i - 1].score) return "scores must ascend";
        if (i > 0 && curve[i].every_ticks > curve[i - 1].every_ticks)
            return "a higher score must not have a longer send interval";
    }
    return {};
}

/// Bits of the unstaged components with the largest staged one: they must fit into one packet.
std::uint64_t bits_at_once(const KindLayout& layout) {
    std::uint64_t bits = 0, largest_in_turn = 0;
    for (std::size_t p = 0; p < layout.parts.size(); ++p) {
        const unsigned its = layout.parts[p].bits_max;
        const bool staged = (layout.staged >> p & 1U) != 0;
        bits += staged ? 2 : its;
        if (staged) largest_in_turn = std::max<std::uint64_t>(largest_in_turn, its);
    }
    return bits + largest_in_turn;
}

/// Bits of the call alone. A ghost that must be sent with it waits with the call until both fit.
std::uint64_t bits_at_once(const RpcDef& rpc) {
    constexpr std::uint64_t besides = 64;  // type, number, and target
    return words_bits(rpc) + besides;
}

/// The minimum budget. After a connection loss as long as the session timeout, one packet
/// acknowledges everything that a client sent meanwhile, at 60 packets per second. That packet must
/// fit into the budget.
std::uint32_t least_budget_bytes(const ServerDef& def) {
    constexpr std::uint64_t packets_per_s = 60;
    const std::uint64_t delivery_reports = std::min<std::uint64_t>(
        PacketLink::under_way_max - 1, def.session_timeout_ms * packets_per_s / 1'000);
    const std::uint64_t bits = packet_bits_min(
        1 + tag_bytes, PacketLink::header_bits_max(delivery_reports), input_state_bits_max);
    return std::max(128U, static_cast<std::uint32_t>((bits + 7) / 8));
}

/// Checks that everything that cannot be split fits into one packet: each kind, and each call to
/// observers.
std::string problem_of_room(const Schema& schema, std::uint32_t budget_bytes) {
    const std::uint64_t room = body_bits_alone(budget_bytes);
    const auto refused = [&](const std::string& what, std::uint64_t bits) {
        return what + " may need " + bytes_of(bits) + " in one packet, but a packet has " +
               std::to_string(room / 8) + " bytes for it at " + std::to_string(budget_bytes) +
               " bytes per tick";
    };
    for (std::size_t k = 0; k < schema.kinds().size(); ++k) {
        const std::uint64_t bits = bits_at_once(layout_of(schema, id_at<KindId>(k)));
        if (bits > room)
            return refused("an entity of kind " + quoted(schema.kinds()[k].name), bits) +
                   "; use staged replication for some components (AudienceType::staged)";
    }
    for (const RpcDef& rpc : schema.rpcs()) {
        const std::uint64_t bits = bits_at_once(rpc);
        if (rpc.desc.direction == RpcDirection::to_observers && bits > room)
            return refused("RPC " + quoted(rpc.args.name), bits);
    }
    return {};
}

/// The data that a client needs before joining must fit into one tick, or into half of
/// join_timeout_ms. The other half is reserved for packet loss and latency.
bool is_schema_sent_in_time(std::size_t welcome_bytes, const ServerDef& def) {
    const std::uint64_t whole = def.budget_bytes_per_tick / limits::datagram_bytes;
    const auto rest =
        static_cast<std::uint32_t>(def.budget_bytes_per_tick % limits::datagram_bytes);
    const std::uint64_t bits =
        whole * body_bits_alone(limits::datagram_bytes) + body_bits_alone(rest);
    const std::uint64_t ticks = (welcome_bytes * 8 + bits - 1) / bits;
    return ticks == 1 || 2 * 1'000 * ticks <= std::uint64_t{def.join_timeout_ms} * def.tick_hz;
}

/// Detects a placeholder MAC with constant output: all clients would share one connection id, so
/// one could impersonate another.
bool distinguishes(MacFunction mac, std::span<const std::byte, 32> secret) {
    std::array<std::array<std::byte, 16>, 2> out{};
    for (std::size_t i = 0; i < out.size(); ++i) {
        const std::array<std::byte, 1> data{static_cast<std::byte>(i)};
        mac(secret, data, out[i]);
    }
    return out[0] != out[1];
}

std::string problem_of_settings(const ServerDef& def) {
    if (def.mac == nullptr) return "mac is not set";
    if (!distinguishes(def.mac, def.secret)) return "mac returns the same value for different data";
    if (def.secret == decltype(def.secret){})
        return "secret is not set: fill it with 32 random bytes";
    if (def.key_reader != nullptr && !def.encryption.is_set())
        return "key_reader is set, but encryption is not";
    if (def.tick_hz == 0 || def.tick_hz > 1000) return "tick_hz must be 1 to 1,000";
    if (!is_priority(def.enter_priority)) return "enter_priority must be 1e-6 to 1e6";
    if (def.sessions_max > sessions_most)
        return "sessions_max must be at most " + std::to_string(sessions_most);
    if (def.sessions_unjoined_max == 0) return "sessions_unjoined_max is 0: no client could join";
    if (def.entities_max == 0) return "entities_max is 0";
    if (def.group_members_max == 0) return "group_members_max is 0";
    if (def.group_depth_max > limits::group_depth)
        return "group_depth_max must be at most " + std::to_string(limits::group_depth);
    if (def.input.lead_max == 0 || def.input.lead_max > limits::inputs_buffered)
        return "input.lead_max must be 1 to " + std::to_string(limits::inputs_buffered);
    if (def.input.buffer_target == 0 || def.input.buffer_target > def.input.lead_max)
        return "input.buffer_target must be 1 to input.lead_max";
    if (!(def.rewind.cell_size > 0)) return "rewind.cell_size must be above 0";
    if (def.rewind.ticks > rewind_ticks_most)
        return "rewind.ticks must be at most " + std::to_string(rewind_ticks_most);
    return {};
}

std::string problem_of_kinds(const ServerDef& def) {
    const auto kinds = def.schema->kinds();
    if (def.rules.kinds.size() > kinds.size()) {
        return "the rules have settings for " + std::to_string(def.rules.kinds.size()) +
               " kinds, but the schema has " + std::to_string(kinds.size());
    }
    for (const KindDef& kind : kinds) {
        const std::string subject = "kind " + quoted(kind.name) + ", ";
        if (const std::string wrong = problem_of(kind.intervals); !wrong.empty())
            return subject + "intervals: " + wrong;
        if (!is_priority(kind.priority)) return subject + "priority must be 1e-6 to 1e6";
        if (!(kind.teleport_distance >= 0) || !std::isfinite(kind.teleport_distance))
            return subject + "teleport_distance must be finite and at least 0 m";
        const auto& has = kind.components;
        if (kind.relative_position &&
            std::find(has.begin(), has.end(), def.schema->position()) == has.end())
            return subject + "relative_position needs a position";
    }
    const ComponentId abstract = restricted_components(*def.schema);
    if (abstract == ComponentId::none) return {};
    return "component " + quoted(def.schema->components()[index_of(abstract)].name) +
           " is a position or an orientation: it must be replicated to everyone, or be predicted "
           "in a schema without relative positions";
}

/// Without positions, a step that measures distance would match nothing.
std::string problem_of_positions(const ServerDef& def) {
    if (def.schema->position() != ComponentId::none) return {};
    for (const NodeDef& node : def.rules.nodes) {
        for (std::size_t s = 0; s < node.steps.size(); ++s) {
            if (needs_position(node.steps[s]))
                return "node " + quoted(node.name) + ", step " + std::to_string(s + 1) +
                       " needs positions, but the schema has none: set their component with "
                       "Schema::set_position";
        }
        for (const auto& inner : node.inner) {
            for (const Kernel& step : inner) {
                if (needs_position(step))
                    return "node " + quoted(node.name) +
                           ", an inner step needs positions, but the schema has none: "
                           "set their component with Schema::set_position";
            }
        }
    }
    return {};
}

/// Checks the size of the data that every client receives before it joins.
Refusal refusal_of_schema(const ServerDef& def) {
    std::vector<std::byte> welcome(message_bytes_max - welcome_bytes_besides);
    BitWriter out(welcome);
    write_schema(*def.schema, out);
    if (!out.ok()) {
        return {
            Status::bad_configuration,
            "the schema takes more than " + std::to_string(welcome.size()) + " bytes on the wire"};
    }
    if (is_schema_sent_in_time(out.bytes_written() + welcome_bytes_besides, def)) return {};
    return {Status::too_large, "the schema takes " + std::to_string(out.bytes_written()) +
                                   " bytes on the wire, which fits neither into one tick nor "
                                   "into half of join_timeout_ms at this budget"};
}

}  // namespace

Refusal refusal_of(const ServerDef& def) {
    const auto bad = [](std::string why) {
        return Refusal{Status::bad_configuration, std::move(why)};
    };
    if (def.schema == nullptr) return bad("schema is not set");
    if (!def.schema->problem().empty()) return bad("schema: " + def.schema->problem());
    if (std::string wrong = problem_of_settings(def); !wrong.empty()) return bad(std::move(wrong));
    if (std::string wrong = problem_of_kinds(def); !wrong.empty()) return bad(std::move(wrong));
    Refusal refusal = refusal_of_budget(def, def.budget_bytes_per_tick);
    if (refusal.status == Status::bad_argument) refusal.status = Status::bad_configuration;
    if (refusal.status == Status::ok) refusal = refusal_of_schema(def);
    if (refusal.status != Status::ok) return refusal;
    if (std::string wrong = problem_of(rules_of(def)); !wrong.empty()) return bad(std::move(wrong));
    if (std::string wrong = problem_of_rules(def); !wrong.empty()) return bad(std::move(wrong));
    return {};
}

std::string problem_of_rules(const ServerDef& def) {
    std::string wrong = problem_of_positions(def);
    return wrong.empty() ? problem_of_sharing(def) : wrong;
}

Refusal refusal_of_budget(const ServerDef& def, std::uint32_t budget_bytes) {
    if (const std::uint32_t least = least_budget_bytes(def); budget_bytes < least)
        return {Status::bad_argument, "budget_bytes_per_tick must be " + std::to_string(least) +
                                          " or more with this session_timeout_ms"};
    std::string wrong = problem_of_room(*def.schema, budget_bytes);
    if (!wrong.empty()) return {Status::too_large, std::move(wrong)};
    return {};
}

std::string problem_of(const ServerDef& def) {
    return refusal_of(def).why;
}

WorldDef world_def_of(const ServerDef& def) {
    WorldDef world;
    world.schema = def.schema;
    world.entities_max = def.entities_max;
    world.group_members_max = def.group_members_max;
    world.group_depth_max = def.group_depth_max;
    return world;
}

Rules rules_of(const ServerDef& def) {
    const Schema& schema = *def.schema;
    Rules rules = def.rules;
    const auto names = [](const auto& from, std::vector<std::string>& out) {
        out.clear();
        for (const auto& one : from) out.push_back(one.name);
    };
    names(schema.flags(), rules.flag_names);
    names(schema.keys(), rules.key_names);
    names(schema.values(), rules.value_names);
    names(schema.kinds(), rules.kind_names);
    rules.kinds.resize(schema.kinds().size());
    for (std::size_t k = 0; k < rules.kinds.size(); ++k)
        rules.kinds[k].owner_sees &= schema.kinds()[k].owner_sees;
    rules.observers_max = def.sessions_max + 16;
    return rules;
}

}  // namespace purview
