// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Purview authors
#include "purview/client.hpp"

#include <algorithm>
#include <array>

#include "client/client_data.hpp"
#include "core/mutate.hpp"
#include "protocol/quantize.hpp"

namespace purview {

FoundField ClientData::find_field(LocalId ghost, ComponentId component,
                                  std::size_t field) const noexcept {
    if (!has_values(ghost)) return {};
    const std::uint32_t* words = replica->ghosts.find_words(ghost, component, field);
    if (words == nullptr) return {};
    return {&replica->ghosts.schema().components()[index_of(component)].fields[field], words};
}

std::string problem_of(const ClientDef& def) {
    if (!PURVIEW_GUARD(client_nonce, def.nonce != 0))
        return "the nonce is not set: fill it with 64 random bits";
    if (!def.key.is_set()) return {};
    if (!def.encryption.is_set()) return "key is set, but encryption is not";
    if (def.key.request.size() > limits::key_request_bytes)
        return "key.request has " + std::to_string(def.key.request.size()) +
               " bytes; the limit is " + std::to_string(limits::key_request_bytes);
    return {};
}

ClientData::ClientData(const ClientDef& client_def)
    : def(client_def), reason_text(problem_of(client_def)) {
    if (!reason_text.empty()) state = ClientState::closed;
    if (def.schema != nullptr && def.schema_hash == 0) def.schema_hash = def.schema->hash();
}

Result<Client> Client::create(const ClientDef& def) {
    if (!problem_of(def).empty()) return Status::bad_configuration;
    return Client(def);
}
Client::Client(const ClientDef& def) : data_(std::make_unique<ClientData>(def)) {}
Client::Client(Client&&) noexcept = default;
Client& Client::operator=(Client&&) noexcept = default;
Client::~Client() = default;

void Client::receive(std::span<const std::byte> datagram, Micros now) {
    data_->receive(datagram, now);
}
void Client::tick(Micros now) {
    data_->tick(now);
}
bool Client::next_datagram(std::span<const std::byte>& out) {
    return data_->next_datagram(out);
}
ClientState Client::state() const noexcept {
    return data_->state;
}
RefuseReason Client::refuse_reason() const noexcept {
    return data_->refuse_reason;
}
std::string_view Client::reason_text() const noexcept {
    return data_->reason_text;
}
CloseReason Client::close_reason() const noexcept {
    return data_->close_reason;
}
void Client::leave() {
    data_->leave();
}
Status Client::send_command(std::span<const std::byte> data) {
    return data_->send_command(data);
}
Status Client::send_message(std::span<const std::byte> message) {
    return data_->send_message(message);
}
bool Client::next_message(std::span<const std::byte>& out) {
    return data_->messages.next(out);
}

Status Client::call(RpcId rpc, GhostId ghost, std::span<const double> values) {
    std::array<FieldValue, Schema::fields_max> arguments;
    const std::size_t count = std::min(values.size(), arguments.size());
    std::copy_n(values.begin(), count, arguments.begin());
    return call(rpc, ghost, std::span<const FieldValue>(arguments).first(count));
}
Status Client::call(RpcId rpc, GhostId ghost, std::span<const FieldValue> arguments) {
    const Schema* known = schema();
    if (known == nullptr) return Status::not_ready;
    if (index_of(rpc) >= known->rpcs().size()) return Status::bad_argument;
    return data_->call(rpc, local_id_of(ghost),
                       words_of_arguments(known->rpcs()[index_of(rpc)], arguments));
}
Status Client::call(RpcId rpc, GhostId ghost, std::span<const std::byte> args) {
    if (schema() == nullptr) return Status::not_ready;
    const Schema* own = data_->own_schema();
    if (own == nullptr || index_of(rpc) >= own->rpcs().size() ||
        args.size() != own->rpcs()[index_of(rpc)].args.size_bytes) {
        return Status::bad_argument;
    }
    return data_->call(rpc, local_id_of(ghost),
                       words_of_struct(own->rpcs()[index_of(rpc)], args.data()));
}
bool Client::next_rpc(ReceivedRpc& out) {
    return data_->next_rpc(out);
}
const Schema* Client::schema() const noexcept {
    return data_->replica ? &data_->replica->ghosts.schema() : nullptr;
}
std::string_view Client::world_name() const noexcept {
    return data_->world_name;
}
std::uint32_t Client::tick_hz() const noexcept {
    return data_->tick_hz;
}
Tick Client::newest_tick() const noexcept {
    return data_->newest_tick;
}
std::uint32_t Client::newest_packet() const noexcept {
    return data_->newest_packet;
}
std::uint32_t Client::ghost_count() const noexcept {
    return data_->replica ? data_->replica->ghosts.count() : 0;
}
std::uint32_t Client::ghost_end() const noexcept {
    return data_->replica ? data_->replica->ghosts.slot_end() + 1 : 0;
}
bool Client::is_held(GhostId ghost) const noexcept {
    return data_->replica && data_->replica->ghosts.is_shown(local_id_of(ghost));
}
Retention Client::retention(GhostId ghost) const noexcept {
    return data_->replica ? data_->replica->ghosts.retention(local_id_of(ghost))
                          : Retention::despawn;
}
KindId Client::kind_of(GhostId ghost) const noexcept {
    return data_->has_values(local_id_of(ghost)) ? data_->replica->ghosts.kind(local_id_of(ghost))
                                                 : KindId::none;
}
bool Client::is_owned(GhostId ghost) const noexcept {
    return is_held(ghost) && data_->replica->ghosts.owned(local_id_of(ghost));
}
GhostId Client::parent_of(GhostId ghost) const noexcept {
    return is_held(ghost) ? ghost_id_of(data_->replica->ghosts.shown_parent(local_id_of(ghost)))
                          : GhostId::none;
}
GhostId Client::root_of(GhostId ghost) const noexcept {
    return is_held(ghost) ? ghost_id_of(data_->replica->ghosts.shown_root(local_id_of(ghost)))
                          : GhostId::none;
}
void Client::members_of(GhostId ghost, std::vector<GhostId>& out) const {
    out.clear();
    if (!is_held(ghost)) return;
    std::vector<LocalId> members;
    data_->replica->groups.members_of(local_id_of(ghost), members);
    for (const LocalId member : members) out.push_back(ghost_id_of(member));
}
Tick Client::updated_of(GhostId ghost) const noexcept {
    return data_->has_values(local_id_of(ghost))
               ? data_->replica->ghosts.updated(local_id_of(ghost))
               : 0;
}
std::size_t Client::cell_grid_count() const noexcept {
    return data_->cells.size();
}
Result<CellGrid> Client::cell_grid(std::size_t grid) const {
    if (grid >= data_->cells.size()) return Status::bad_argument;
    return data_->cells[grid];
}
std::uint32_t Client::cell_of(GhostId ghost, std::size_t grid) const noexcept {
    return data_->cell_of(local_id_of(ghost), grid);
}
Vec3 Client::position_of(GhostId ghost, double tick) const noexcept {
    return data_->has_values(local_id_of(ghost))
               ? data_->replica->poses.position_at(local_id_of(ghost), tick)
               : Vec3{};
}
Rotation Client::orientation_of(GhostId ghost, double tick) const noexcept {
    return data_->has_values(local_id_of(ghost))
               ? data_->replica->poses.pose_at(local_id_of(ghost), tick).turn
               : Rotation{};
}

bool Client::read(GhostId ghost, ComponentId component, std::span<std::byte> out) const noexcept {
    const Schema* own = data_->def.schema;
    if (own == nullptr || index_of(component) >= own->components().size()) return false;
    const ComponentDef& def = own->components()[index_of(component)];
    if (out.size() != def.size_bytes) return false;
    for (std::size_t f = 0; f < def.fields.size(); ++f) {
        const FieldDef& field = def.fields[f];
        const auto [its, words] = data_->find_field(local_id_of(ghost), component, f);
        // A malicious server can forge equal hashes, so compare what is read.
        if (words == nullptr || its->type != field.type || its->words != field.words) return false;
        dequantize(field, words, out.data());
    }
    return !def.fields.empty() || is_held(ghost);
}

double Client::value_of(GhostId ghost, ComponentId component, std::size_t field) const noexcept {
    const auto [def, words] = data_->find_field(local_id_of(ghost), component, field);
    return words == nullptr ? 0 : dequantized_value(*def, *words);
}

Rotation Client::rotation_of(GhostId ghost, ComponentId component,
                             std::size_t field) const noexcept {
    const auto [def, words] = data_->find_field(local_id_of(ghost), component, field);
    const bool is_one = words != nullptr && def->type == FieldType::rotation;
    return is_one ? unpack_rotation(*words) : Rotation{};
}

std::string Client::text_of(GhostId ghost, ComponentId component, std::size_t field) const {
    const auto [def, words] = data_->find_field(local_id_of(ghost), component, field);
    return words != nullptr && def->type == FieldType::text ? text_of_words(*def, words)
                                                            : std::string();
}

GhostId Client::reference_of(GhostId ghost, ComponentId component,
                             std::size_t field) const noexcept {
    const auto [def, words] = data_->find_field(local_id_of(ghost), component, field);
    const bool names = words != nullptr && def->type == FieldType::reference && *words != 0;
    return names && is_held(GhostId{*words}) ? GhostId{*words} : GhostId::none;
}

bool Client::is_replicated(GhostId ghost, ComponentId component) const noexcept {
    if (!is_held(ghost)) return false;  // a retained copy receives no components
    const auto& parts = data_->replica->ghosts.layout(kind_of(ghost)).parts;
    for (std::size_t p = 0; p < parts.size(); ++p) {
        if (parts[p].component == component)
            return (data_->replica->ghosts.allowed(local_id_of(ghost)) >> p & 1U) != 0;
    }
    return false;
}

bool Client::is_view_complete() const noexcept {
    return data_->is_view_complete;
}
std::span<const ClientEvent> Client::events() const noexcept {
    return data_->replica ? data_->replica->events.all() : std::span<const ClientEvent>();
}
void Client::clear_events() noexcept {
    if (data_->replica) data_->replica->events.clear();
}
std::uint64_t Client::digest() const noexcept {
    return data_->replica ? data_->replica->ghosts.digest() : 0;
}
ClientStats Client::stats() const noexcept {
    return data_->stats;
}

}  // namespace purview
