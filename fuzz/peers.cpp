// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Purview authors
//
// A peer that has a session and seals what it likes: towards a server that somebody else plays on,
// and towards a client. The first byte chooses; the rest is cut into packets by their first two
// bytes, each with the next number, and a tick passes before some. Whatever is sent, nobody else
// loses his session or gets more than his budget, and a client's ghosts stay in order.
#include <algorithm>
#include <cstdint>
#include <set>
#include <vector>

#include "link/packet_link.hpp"
#include "require.hpp"
#include "small_game.hpp"
#include "target.hpp"
#include "traffic.hpp"

using namespace purview;
using namespace purview::test;

namespace {

using Bytes = std::span<const std::byte>;

constexpr std::uint32_t ticks_to_join = 60, packets_max = 120;
constexpr std::size_t body_bytes_max = datagram_bytes_max - 32;

/// Of one whose own packets do not get through any more.
class Peer {
  public:
    Peer(SmallWorld& world, SmallClient& client) : world_(&world), client_(&client) {
        for (const auto& session : world.server->data().sessions) {
            if (session->nonce != client.nonce) continue;
            id_ = session->connection_id;
            next_from_server_ = session->link.next_sequence();
        }
        client.up->blackout = client.down->blackout = true;
    }
    void to_server(Bytes body) {
        const auto bytes = datagram(next_to_server_++, body, true);
        world_->border->receive(bytes, client_->address, world_->now);
    }
    void to_client(Bytes body) {
        client_->client.receive(datagram(next_from_server_++, body, false), world_->now);
    }

  private:
    /// Behind the number all is the peer's: acknowledgements, fragments, and what follows.
    std::vector<std::byte> datagram(std::uint32_t sequence, Bytes body, bool to_server) const {
        std::vector<std::byte> bytes(datagram_bytes_max);
        BitWriter out(bytes);
        out.bits(0, seal_bytes * 8);
        if (to_server) out.u64(id_);
        out.u16(static_cast<std::uint16_t>(sequence));
        out.copy_bits(body, body.size() * 8);
        const std::size_t least = to_server ? challenge_bytes : 0;
        bytes.resize(std::max(out.bytes_written(), least));
        seal(PacketType::data, id_, bytes);
        return bytes;
    }
    SmallWorld* world_;
    SmallClient* client_;
    std::uint64_t id_ = 0;
    /// Further than any real one came until then.
    std::uint32_t next_to_server_ = 2 * ticks_to_join;
    std::uint32_t next_from_server_ = 0;
};

/// What a server has read of one who says what he likes.
struct Reached {
    std::uint64_t messages = 0;   ///< of his stream that were sound
    std::uint64_t malformed = 0;  ///< packets and messages that were not
};
Reached reached;

void check_ghosts(const Client& client) {
    std::uint32_t held = 0;
    for (GhostId ghost = 0; ghost < client.ghost_end(); ++ghost) {
        if (!client.is_held(ghost)) continue;
        ++held;
        const GhostId root = client.root_of(ghost);
        require(root < client.ghost_end() && client.is_held(root), "a group without a root");
        (void)client.place_of(ghost, client.newest_tick());
    }
    require(held == client.ghost_count(), "ghosts are counted wrong");
    std::set<GhostId> changed;
    for (const ClientChange& change : client.changes()) {
        require(client.is_held(change.ghost), "what has left has changed");
        require(changed.insert(change.ghost).second, "a ghost has changed twice");
    }
}

}  // namespace

std::vector<std::string> fresh_seeds() {
    const std::string said = cut_by_words(client_messages());
    // To a server, in a world of little and in one of all there is.
    return {std::string(1, 0) + said, std::string(1, 2) + said};
}

const char* never_reached() {
    if (reached.messages == 0) return "messages of a client";
    return reached.malformed == 0 ? "messages that are none" : nullptr;
}

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
    if (size < 2) return 0;
    const bool to_server = data[0] % 2 == 0;
    // All there is takes its time: one in four.
    const unsigned seed = data[0] / 2U;
    const SmallScale scale =
        seed % 4 == 1 ? SmallScale{4, 6, 2, 3, 1, 1, true, true} : SmallScale{4, 6, 2};
    SmallWorld world(seed, {}, 2'400, scale, 30);
    SmallClient& other = world.add_client();
    SmallClient& client = world.add_client();
    for (std::uint32_t i = 0; i < ticks_to_join && world.joined_count() < 2; ++i) world.step();
    require(world.joined_count() == 2, "a client did not join");
    Peer peer(world, client);
    Bytes bytes = std::as_bytes(std::span(data, size)).subspan(1);
    for (std::uint32_t i = 0; i < packets_max && bytes.size() >= 2; ++i) {
        const auto head =
            std::to_integer<std::size_t>(bytes[0]) | std::to_integer<std::size_t>(bytes[1]) << 8;
        const std::size_t length = std::min({head % 2048, bytes.size() - 2, body_bytes_max});
        const Bytes body = bytes.subspan(2, length);
        bytes = bytes.subspan(2 + length);
        if (head / 2048 % 2 == 0) world.step();
        to_server ? peer.to_server(body) : peer.to_client(body);
        check_ghosts(client.client);
    }
    world.run(3);
    require(other.client.state() == ClientState::joined, "another one lost his session");
    require(other.client.stats().packets_malformed == 0, "another one was sent nonsense");
    require(world.largest_tick_bytes <= world.def.budget_bytes_per_tick, "over the budget");
    check_ghosts(other.client);
    if (to_server) {
        reached.messages += world.game.messages;
        reached.malformed += world.server->drops().malformed_packet;
    }
    return 0;
}
