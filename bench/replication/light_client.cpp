// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Purview authors
#include "replication/light_client.hpp"

#include "link/messages.hpp"
#include "purview/limits.hpp"

namespace purview::bench {

void LightClient::send_join() {
    std::array<std::byte, join_bytes_max> bytes;
    BitWriter out(bytes);
    write(Join{Role::spectator, name_, {}}, out);
    (void)stream_.send(out.written());
}

void LightClient::receive(std::span<const std::byte> datagram) {
    switch (static_cast<PacketType>(datagram[0])) {
        case PacketType::challenge:
            if (const auto challenge = read_challenge(datagram)) {
                answer_ = Answer{0, nonce_, challenge->cookie, 0};
            }
            return;
        case PacketType::accept:
            if (const auto accept = read_accept(datagram); accept && connection_id_ == 0) {
                connection_id_ = accept->connection_id;
                send_join();
            }
            return;
        case PacketType::data:
            break;
        default:
            return;
    }
    if (connection_id_ == 0 || datagram.size() < seal_bytes) return;
    const std::uint32_t number = link_.number_of(datagram.subspan(seal_bytes));
    if (!is_sealed(data_seed(connection_id_, number), datagram)) return;
    BitReader in(datagram);
    (void)in.bits(seal_bytes * 8);
    if (link_.read_header(in) != PacketLink::Verdict::accepted) return;
    notices_.clear();
    link_.accept(notices_);
    for (const DeliveryNotice notice : notices_) stream_.resolve(notice.sequence, notice.delivered);
}

std::span<const std::byte> LightClient::next_datagram() {
    if (connection_id_ != 0) return acknowledge();
    const std::size_t size =
        answer_ ? write(*answer_, out_) : write(Hello{limits::protocol_version, 0, nonce_}, out_);
    return std::span<const std::byte>(out_).first(size);
}

std::span<const std::byte> LightClient::acknowledge() {
    if (!link_.can_send()) return {};
    BitWriter out(out_);
    out.bits(0, seal_bytes * 8);
    out.u64(connection_id_);
    const std::uint32_t sequence = link_.write_header(out);
    stream_.write(sequence, 1024, out);
    out.boolean(false);
    out.boolean(false);  // no digest
    out.varint(0);       // no inputs
    out.align();
    while (out.bytes_written() < challenge_bytes) out.u8(0);
    seal(PacketType::data, data_seed(connection_id_, sequence),
         std::span(out_).first(out.bytes_written()));
    return out.written();
}

}  // namespace purview::bench
