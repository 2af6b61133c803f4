// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Purview authors
#include "purview/client.hpp"

#include "host/client_data.hpp"
#include "wire/quantise.hpp"

namespace purview {

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
CloseReason Client::close_reason() const noexcept {
    return data_->close_reason;
}
void Client::leave() {
    data_->leave();
}
Status Client::send_command(std::span<const std::byte> data) {
    return data_->send_command(data);
}
bool Client::next_message(std::span<const std::byte>& out) {
    return data_->next_message(out);
}

Status Client::call(RpcId rpc, GhostId ghost, std::span<const double> values) {
    const Schema* known = schema();
    if (known == nullptr) return Status::not_ready;
    if (index_of(rpc) >= known->rpcs().size()) return Status::bad_argument;
    return data_->call(rpc, ghost, words_of_values(known->rpcs()[index_of(rpc)], values));
}
Status Client::call(const Schema& own, RpcId rpc, GhostId ghost, std::span<const std::byte> args) {
    if (schema() == nullptr) return Status::not_ready;
    if (index_of(rpc) >= own.rpcs().size() || own.hash() != schema()->hash() ||
        args.size() != own.rpcs()[index_of(rpc)].args.size_bytes) {
        return Status::bad_argument;
    }
    return data_->call(rpc, ghost, words_of_struct(own.rpcs()[index_of(rpc)], args.data()));
}
bool Client::next_rpc(ReceivedRpc& out) {
    return data_->next_rpc(out);
}
bool Client::read_rpc(const Schema& own, const ReceivedRpc& received, std::span<std::byte> out) {
    if (index_of(received.rpc) >= own.rpcs().size()) return false;
    const RpcDef& rpc = own.rpcs()[index_of(received.rpc)];
    if (out.size() != rpc.args.size_bytes || received.values.size() != rpc.args.fields.size()) {
        return false;
    }
    struct_of_words(rpc, words_of_values(rpc, received.values), out.data());
    return true;
}

const Schema* Client::schema() const noexcept {
    return data_->ghosts ? &data_->ghosts->schema() : nullptr;
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
    return data_->ghosts ? data_->ghosts->count() : 0;
}
GhostId Client::ghost_end() const noexcept {
    return data_->ghosts ? data_->ghosts->lane_end() : 0;
}
bool Client::is_held(GhostId ghost) const noexcept {
    return data_->ghosts && data_->ghosts->is_held(ghost);
}
KindId Client::kind_of(GhostId ghost) const noexcept {
    return is_held(ghost) ? data_->ghosts->kind(ghost) : KindId{};
}
bool Client::is_owned(GhostId ghost) const noexcept {
    return is_held(ghost) && data_->ghosts->owned(ghost);
}
GhostId Client::parent_of(GhostId ghost) const noexcept {
    return is_held(ghost) ? data_->ghosts->parent(ghost) : no_ghost;
}
Tick Client::updated_of(GhostId ghost) const noexcept {
    return is_held(ghost) ? data_->ghosts->updated(ghost) : 0;
}
Vec3 Client::place_of(GhostId ghost, double tick) const noexcept {
    return is_held(ghost) ? data_->ghosts->place_at(ghost, tick) : Vec3{};
}

double Client::value_of(GhostId ghost, ComponentId component, std::size_t field) const noexcept {
    if (!is_held(ghost)) return 0;
    const auto list = data_->ghosts->fields(kind_of(ghost));
    const auto values = data_->ghosts->values(ghost);
    for (std::size_t f = 0; f < list.size(); ++f) {
        if (list[f].component != component || list[f].field != field) continue;
        return dequantised_value(schema()->components()[index_of(component)].fields[field],
                                 values[f]);
    }
    return 0;
}

std::span<const ClientEvent> Client::events() const noexcept {
    return data_->events;
}
void Client::clear_events() noexcept {
    data_->events.clear();
}
std::uint64_t Client::digest() const noexcept {
    return data_->ghosts ? data_->ghosts->digest() : 0;
}
ClientStats Client::stats() const noexcept {
    return data_->stats;
}

}  // namespace purview
