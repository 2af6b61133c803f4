// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Purview authors
#include <algorithm>
#include <array>
#include <cstring>
#include <map>
#include <new>
#include <string>
#include <utility>
#include <variant>
#include <vector>

#include "client/client_data.hpp"
#include "core/internal_access.hpp"
#include "purview.h"
#include "purview/c_client.hpp"
#include "purview/limits.hpp"

using namespace purview;

struct pv_client {
    explicit pv_client(const ClientDef& def) : client(def) {}
    Client client;
    alignas(double) std::array<std::byte, 2048> input{};
    std::vector<std::byte> output;
    std::vector<std::byte> message;
    std::vector<std::byte> message_out;
    std::vector<pv_instance> instances;
    std::vector<pv_event> events;
    std::vector<pv_relation> relations;
    std::vector<pv_change> changes;
    std::vector<pv_call> calls;
    std::vector<double> call_values;
    std::map<std::uint32_t, std::string> call_texts;  ///< by index in call_values
    std::map<std::uint32_t, std::array<float, 4>> call_rotations;
    std::array<std::variant<double, std::string, Rotation>, Schema::fields_max> given;
    pv_stats stats{};
    std::string world_name;
    std::string reason_text;
    std::string text;
    std::array<float, 4> rotation{};
    std::array<float, 3> position{};
};

namespace {

Micros micros_of(double ms) {
    constexpr double most = 1e15;  // beyond any clock; also bounds infinity
    return ms > 0 ? static_cast<Micros>(std::min(ms, most) * 1000) : 0;
}

const Schema* schema_of(const pv_client* client) {
    return client == nullptr ? nullptr : client->client.schema();
}

const ComponentDef* component_of(const pv_client* client, std::uint32_t component) {
    const Schema* schema = schema_of(client);
    return schema != nullptr && component < schema->components().size()
               ? &schema->components()[component]
               : nullptr;
}

const RpcDef* rpc_of(const pv_client* client, std::uint32_t rpc) {
    const Schema* schema = schema_of(client);
    return schema != nullptr && rpc < schema->rpcs().size() ? &schema->rpcs()[rpc] : nullptr;
}

/// Returns boolean if the argument does not exist.
FieldType argument_type(const pv_client* client, std::uint32_t rpc, std::uint32_t argument) {
    const RpcDef* def = rpc_of(client, rpc);
    return def != nullptr && argument < def->args.fields.size() ? def->args.fields[argument].type
                                                                : FieldType::boolean;
}

std::array<float, 4> floats_of(const Rotation& turn) {
    return {turn.x, turn.y, turn.z, turn.w};
}

/// The C interface numbers ghosts from 0, as packets do; PV_NO_GHOST stands for none.
constexpr GhostId id_of(std::uint32_t ghost) {
    return GhostId{ghost + 1};
}

bool is_held(const pv_client* client, std::uint32_t ghost) {
    return client != nullptr && client->client.is_held(id_of(ghost));
}

/// The values of pv_client_field_type and pv_client_argument_type.
std::uint32_t type_number(FieldType type) {
    return type == FieldType::text        ? 1
           : type == FieldType::rotation  ? 2
           : type == FieldType::reference ? 3
                                          : 0;
}

ComponentId component_id(std::uint32_t component) {
    return id_at<ComponentId>(component);
}

}  // namespace

Client* purview::client_of(pv_client* handle) noexcept {
    return handle == nullptr ? nullptr : &handle->client;
}

pv_client* pv_client_create(uint32_t nonce_low, uint32_t nonce_high, uint32_t role,
                            uint32_t digest_every) {
    ClientDef def;
    def.nonce = (std::uint64_t{nonce_high} << 32) | nonce_low;
    def.role = role == 0 ? Role::spectator : Role::player;
    def.digest_every = digest_every;
    if (!problem_of(def).empty()) return nullptr;
    return new (std::nothrow) pv_client(def);
}

void pv_client_destroy(pv_client* client) {
    delete client;
}

uint8_t* pv_client_input(pv_client* client) {
    return client == nullptr ? nullptr : reinterpret_cast<uint8_t*>(client->input.data());
}

void pv_client_receive(pv_client* client, uint32_t size, double now_ms) {
    if (client == nullptr || size > client->input.size()) return;
    client->client.receive(std::span<const std::byte>(client->input).first(size),
                           micros_of(now_ms));
}

void pv_client_set_name(pv_client* client, uint32_t size) {
    if (client == nullptr || size > client->input.size()) return;
    internal(client->client)
        .def.name.assign(reinterpret_cast<const char*>(client->input.data()), size);
}

void pv_client_set_credential(pv_client* client, uint32_t size) {
    if (client == nullptr || size > client->input.size()) return;
    internal(client->client)
        .def.credential.assign(client->input.begin(), client->input.begin() + size);
}

void pv_client_tick(pv_client* client, double now_ms) {
    if (client != nullptr) client->client.tick(micros_of(now_ms));
}

uint32_t pv_client_next_datagram(pv_client* client) {
    std::span<const std::byte> out;
    if (client == nullptr || !client->client.next_datagram(out)) return 0;
    client->output.assign(out.begin(), out.end());
    return static_cast<uint32_t>(out.size());
}

const uint8_t* pv_client_output(const pv_client* client) {
    return client == nullptr ? nullptr : reinterpret_cast<const uint8_t*>(client->output.data());
}

uint32_t pv_client_send_command(pv_client* client, uint32_t size) {
    if (client == nullptr || size > client->input.size()) return 0;
    return client->client.send_command(std::span<const std::byte>(client->input).first(size)) ==
                   Status::ok
               ? 1
               : 0;
}

uint8_t* pv_client_message_room(pv_client* client, uint32_t size) {
    if (client == nullptr || size > limits::message_bytes) return nullptr;
    client->message_out.resize(size + 1);  // the address is not null even for an empty message
    return reinterpret_cast<uint8_t*>(client->message_out.data());
}

uint32_t pv_client_send_message(pv_client* client, uint32_t size) {
    if (client == nullptr || size >= client->message_out.size()) return 0;
    const auto bytes = std::span<const std::byte>(client->message_out).first(size);
    const Status status = client->client.send_message(bytes);
    client->message_out = {};
    return status == Status::ok ? 1 : 0;
}

void pv_client_leave(pv_client* client) {
    if (client != nullptr) client->client.leave();
}

uint32_t pv_client_state(const pv_client* client) {
    return client == nullptr ? 4 : static_cast<uint32_t>(client->client.state());
}
uint32_t pv_client_refuse_reason(const pv_client* client) {
    return client == nullptr ? 0 : static_cast<uint32_t>(client->client.refuse_reason());
}
uint32_t pv_client_close_reason(const pv_client* client) {
    return client == nullptr ? 0 : static_cast<uint32_t>(client->client.close_reason());
}
uint32_t pv_client_tick_hz(const pv_client* client) {
    return client == nullptr ? 0 : client->client.tick_hz();
}
uint32_t pv_client_newest_tick(const pv_client* client) {
    return client == nullptr ? 0 : client->client.newest_tick();
}
uint32_t pv_client_newest_packet(const pv_client* client) {
    return client == nullptr ? 0 : client->client.newest_packet();
}
uint32_t pv_client_ghost_count(const pv_client* client) {
    return client == nullptr ? 0 : client->client.ghost_count();
}

uint32_t pv_client_collect(pv_client* client, double tick) {
    if (client == nullptr) return 0;
    client->instances.clear();
    const Client& c = client->client;
    c.for_each([&](GhostId ghost) {
        const Vec3 position = c.position_of(ghost, tick);
        client->instances.push_back({position.x, position.y, position.z, index_of(ghost),
                                     index_of(c.kind_of(ghost)), index_of(c.parent_of(ghost)),
                                     c.is_owned(ghost) ? 1U : 0U, c.updated_of(ghost)});
    });
    return static_cast<uint32_t>(client->instances.size());
}

const pv_instance* pv_client_instances(const pv_client* client) {
    return client == nullptr ? nullptr : client->instances.data();
}

uint32_t pv_client_take_events(pv_client* client) {
    if (client == nullptr) return 0;
    client->events.clear();
    client->relations.clear();
    client->changes.clear();
    auto& replica = internal(client->client).replica;
    if (!replica) return 0;
    replica->events.drop_taken();
    const std::span<const ClientEvent> events = replica->events.all();
    for (std::size_t i = 0; i < events.size(); ++i) {
        const ClientEvent& its = events[i];
        if (its.change == Change::regrouped) {
            client->relations.push_back({index_of(its.ghost), index_of(its.old_root),
                                         index_of(its.new_root), index_of(its.old_parent),
                                         index_of(its.new_parent)});
        } else if (its.change != Change::updated) {
            client->events.push_back(
                {index_of(its.ghost), index_of(its.kind), its.is_enter() ? 1U : 0U,
                 static_cast<std::uint32_t>(its.reason), static_cast<std::uint32_t>(its.change)});
        }
        if (replica->events.has_changes(i))
            client->changes.push_back(
                {index_of(its.ghost), its.components, its.owner_changed ? 1U : 0U});
    }
    replica->events.note_taken();
    return static_cast<uint32_t>(client->events.size());
}

const pv_event* pv_client_events(const pv_client* client) {
    return client == nullptr ? nullptr : client->events.data();
}

uint32_t pv_client_relation_count(const pv_client* client) {
    return client == nullptr ? 0 : static_cast<uint32_t>(client->relations.size());
}

const pv_relation* pv_client_relations(const pv_client* client) {
    return client == nullptr ? nullptr : client->relations.data();
}

uint32_t pv_client_change_count(const pv_client* client) {
    return client == nullptr ? 0 : static_cast<uint32_t>(client->changes.size());
}

const pv_change* pv_client_changes(const pv_client* client) {
    return client == nullptr ? nullptr : client->changes.data();
}

uint32_t pv_client_kind_of(const pv_client* client, uint32_t ghost) {
    return is_held(client, ghost) ? index_of(client->client.kind_of(id_of(ghost))) : PV_NO_GHOST;
}
uint32_t pv_client_is_owned(const pv_client* client, uint32_t ghost) {
    return is_held(client, ghost) && client->client.is_owned(id_of(ghost)) ? 1 : 0;
}
uint32_t pv_client_parent_of(const pv_client* client, uint32_t ghost) {
    return is_held(client, ghost) ? index_of(client->client.parent_of(id_of(ghost))) : PV_NO_GHOST;
}
const float* pv_client_position(pv_client* client, uint32_t ghost, double tick) {
    if (client == nullptr) return nullptr;
    const Vec3 at = client->client.position_of(id_of(ghost), tick);
    client->position = {at.x, at.y, at.z};
    return client->position.data();
}
uint32_t pv_client_root_of(const pv_client* client, uint32_t ghost) {
    return client == nullptr ? PV_NO_GHOST : index_of(client->client.root_of(id_of(ghost)));
}

uint32_t pv_client_cell_grid_count(const pv_client* client) {
    return client == nullptr ? 0 : static_cast<uint32_t>(client->client.cell_grid_count());
}

uint32_t pv_client_cell_of(const pv_client* client, uint32_t ghost, uint32_t grid) {
    return client == nullptr ? CellGrid::no_cell : client->client.cell_of(id_of(ghost), grid);
}

uint32_t pv_client_take_calls(pv_client* client) {
    if (client == nullptr) return 0;
    client->calls.clear();
    client->call_values.clear();
    client->call_texts.clear();
    client->call_rotations.clear();
    ReceivedRpc received;
    while (client->client.next_rpc(received)) {
        client->calls.push_back({index_of(received.rpc), index_of(received.ghost),
                                 static_cast<uint32_t>(client->call_values.size()),
                                 static_cast<uint32_t>(received.values.size()),
                                 received.ghost_left ? 1U : 0U});
        for (std::size_t a = 0; a < received.values.size(); ++a) {
            const auto value = static_cast<std::uint32_t>(client->call_values.size());
            client->call_values.push_back(received.number(a));
            if (const auto* text = std::get_if<std::string_view>(&received.values[a]))
                client->call_texts[value] = *text;
            if (const auto* turn = std::get_if<Rotation>(&received.values[a]))
                client->call_rotations[value] = floats_of(*turn);
        }
    }
    return static_cast<uint32_t>(client->calls.size());
}

const pv_call* pv_client_calls(const pv_client* client) {
    return client == nullptr ? nullptr : client->calls.data();
}

const double* pv_client_call_values(const pv_client* client) {
    return client == nullptr ? nullptr : client->call_values.data();
}

uint32_t pv_client_next_message(pv_client* client) {
    std::span<const std::byte> message;
    if (client == nullptr || !client->client.next_message(message)) return 0;
    client->message.assign(message.begin(), message.end());
    return 1;
}

const uint8_t* pv_client_message(const pv_client* client) {
    return client == nullptr ? nullptr : reinterpret_cast<const uint8_t*>(client->message.data());
}

uint32_t pv_client_message_size(const pv_client* client) {
    return client == nullptr ? 0 : static_cast<uint32_t>(client->message.size());
}

const char* pv_client_call_text(const pv_client* client, uint32_t value) {
    if (client == nullptr) return "";
    const auto found = client->call_texts.find(value);
    return found == client->call_texts.end() ? "" : found->second.c_str();
}

const float* pv_client_call_rotation(const pv_client* client, uint32_t value) {
    static constexpr std::array<float, 4> none{0, 0, 0, 1};
    if (client == nullptr) return none.data();
    const auto found = client->call_rotations.find(value);
    return (found == client->call_rotations.end() ? none : found->second).data();
}

void pv_client_give_text(pv_client* client, uint32_t argument, uint32_t size) {
    if (client == nullptr || argument >= client->given.size() || size > client->input.size())
        return;
    client->given[argument] =
        std::string(reinterpret_cast<const char*>(client->input.data()), size);
}

void pv_client_give_rotation(pv_client* client, uint32_t argument) {
    if (client == nullptr || argument >= client->given.size()) return;
    std::array<double, 4> turn{};
    std::memcpy(turn.data(), client->input.data(), sizeof turn);
    client->given[argument] = Rotation{static_cast<float>(turn[0]), static_cast<float>(turn[1]),
                                       static_cast<float>(turn[2]), static_cast<float>(turn[3])};
}

uint32_t pv_client_call(pv_client* client, uint32_t rpc, uint32_t ghost, uint32_t count) {
    if (client == nullptr) return 0;
    const auto given = std::exchange(client->given, {});
    std::array<double, Schema::fields_max> values{};
    if (rpc_of(client, rpc) == nullptr || count > values.size()) return 0;
    std::memcpy(values.data(), client->input.data(), count * sizeof(double));
    std::array<FieldValue, Schema::fields_max> arguments;
    for (std::uint32_t a = 0; a < count; ++a) {
        arguments[a] = values[a];
        if (const auto* text = std::get_if<std::string>(&given[a])) arguments[a] = *text;
        if (const auto* turn = std::get_if<Rotation>(&given[a])) arguments[a] = *turn;
    }
    const RpcId id = id_at<RpcId>(rpc);
    return client->client.call(id, id_of(ghost),
                               std::span<const FieldValue>(arguments).first(count)) == Status::ok
               ? 1
               : 0;
}

const pv_stats* pv_client_stats(pv_client* client) {
    if (client == nullptr) return nullptr;
    const ClientStats stats = client->client.stats();
    client->stats = {
        static_cast<double>(stats.bytes_sent),        static_cast<double>(stats.bytes_received),
        static_cast<double>(stats.packets_received),  static_cast<double>(stats.packets_late),
        static_cast<double>(stats.packets_malformed), static_cast<double>(stats.packets_lost),
        static_cast<double>(stats.order_violations),  stats.rtt_us / 1000.0,
        static_cast<double>(stats.calls_dropped),     static_cast<double>(stats.messages_dropped),
        static_cast<double>(stats.events_dropped),    static_cast<double>(stats.calls_unsent)};
    return &client->stats;
}

double pv_client_value(const pv_client* client, uint32_t ghost, uint32_t component,
                       uint32_t field) {
    if (component_of(client, component) == nullptr) return 0;
    return client->client.value_of(id_of(ghost), id_at<ComponentId>(component), field);
}

const char* pv_client_text(pv_client* client, uint32_t ghost, uint32_t component, uint32_t field) {
    if (component_of(client, component) == nullptr) return "";
    client->text = client->client.text_of(id_of(ghost), component_id(component), field);
    return client->text.c_str();
}
const float* pv_client_rotation(pv_client* client, uint32_t ghost, uint32_t component,
                                uint32_t field) {
    if (client == nullptr) return nullptr;
    const Rotation rotation =
        component_of(client, component) == nullptr
            ? Rotation{}
            : client->client.rotation_of(id_of(ghost), component_id(component), field);
    client->rotation = floats_of(rotation);
    return client->rotation.data();
}
const float* pv_client_orientation(pv_client* client, uint32_t ghost, double tick) {
    if (client == nullptr) return nullptr;
    const Rotation rotation = client->client.orientation_of(id_of(ghost), tick);
    client->rotation = floats_of(rotation);
    return client->rotation.data();
}
uint32_t pv_client_reference(const pv_client* client, uint32_t ghost, uint32_t component,
                             uint32_t field) {
    if (component_of(client, component) == nullptr) return PV_NO_GHOST;
    return index_of(client->client.reference_of(id_of(ghost), component_id(component), field));
}
uint32_t pv_client_is_replicated(const pv_client* client, uint32_t ghost, uint32_t component) {
    if (component_of(client, component) == nullptr) return 0;
    return client->client.is_replicated(id_of(ghost), component_id(component)) ? 1 : 0;
}
uint32_t pv_client_retention(const pv_client* client, uint32_t ghost) {
    return client == nullptr ? 0 : static_cast<uint32_t>(client->client.retention(id_of(ghost)));
}
uint32_t pv_client_is_view_complete(const pv_client* client) {
    return client != nullptr && client->client.is_view_complete() ? 1 : 0;
}

uint32_t pv_client_kind_count(const pv_client* client) {
    const Schema* schema = schema_of(client);
    return schema == nullptr ? 0 : static_cast<uint32_t>(schema->kinds().size());
}
const char* pv_client_kind_name(const pv_client* client, uint32_t kind) {
    return kind < pv_client_kind_count(client) ? schema_of(client)->kinds()[kind].name.c_str() : "";
}
uint32_t pv_client_component_count(const pv_client* client) {
    const Schema* schema = schema_of(client);
    return schema == nullptr ? 0 : static_cast<uint32_t>(schema->components().size());
}
const char* pv_client_component_name(const pv_client* client, uint32_t component) {
    const ComponentDef* def = component_of(client, component);
    return def == nullptr ? "" : def->name.c_str();
}
uint32_t pv_client_field_count(const pv_client* client, uint32_t component) {
    const ComponentDef* def = component_of(client, component);
    return def == nullptr ? 0 : static_cast<uint32_t>(def->fields.size());
}
const char* pv_client_field_name(const pv_client* client, uint32_t component, uint32_t field) {
    return field < pv_client_field_count(client, component)
               ? component_of(client, component)->fields[field].name.c_str()
               : "";
}
uint32_t pv_client_field_type(const pv_client* client, uint32_t component, uint32_t field) {
    return field < pv_client_field_count(client, component)
               ? type_number(component_of(client, component)->fields[field].type)
               : 0;
}
uint32_t pv_client_rpc_about_ghost(const pv_client* client, uint32_t rpc) {
    const RpcDef* def = rpc_of(client, rpc);
    return def != nullptr && def->desc.target == RpcTarget::entity ? 1 : 0;
}
uint32_t pv_client_rpc_callers(const pv_client* client, uint32_t rpc) {
    const RpcDef* def = rpc_of(client, rpc);
    return def == nullptr ? 0 : static_cast<uint32_t>(def->desc.callers);
}
uint32_t pv_client_rpc_count(const pv_client* client) {
    const Schema* schema = schema_of(client);
    return schema == nullptr ? 0 : static_cast<uint32_t>(schema->rpcs().size());
}
const char* pv_client_rpc_name(const pv_client* client, uint32_t rpc) {
    const RpcDef* def = rpc_of(client, rpc);
    return def == nullptr ? "" : def->args.name.c_str();
}
uint32_t pv_client_rpc_to_server(const pv_client* client, uint32_t rpc) {
    const RpcDef* def = rpc_of(client, rpc);
    return def != nullptr && def->desc.direction == RpcDirection::to_server ? 1 : 0;
}
uint32_t pv_client_argument_count(const pv_client* client, uint32_t rpc) {
    const RpcDef* def = rpc_of(client, rpc);
    return def == nullptr ? 0 : static_cast<uint32_t>(def->args.fields.size());
}
uint32_t pv_client_argument_type(const pv_client* client, uint32_t rpc, uint32_t argument) {
    return type_number(argument_type(client, rpc, argument));
}

const char* pv_client_argument_name(const pv_client* client, uint32_t rpc, uint32_t argument) {
    return argument < pv_client_argument_count(client, rpc)
               ? rpc_of(client, rpc)->args.fields[argument].name.c_str()
               : "";
}
const char* pv_client_reason_text(const pv_client* client) {
    if (client == nullptr) return "";
    auto* editable = const_cast<pv_client*>(client);
    editable->reason_text = std::string(client->client.reason_text());
    return editable->reason_text.c_str();
}
const char* pv_client_world_name(const pv_client* client) {
    if (client == nullptr) return "";
    auto* editable = const_cast<pv_client*>(client);
    editable->world_name = std::string(client->client.world_name());
    return editable->world_name.c_str();
}
