// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Purview authors
//
// Sends packets of a malicious peer to a server with a second client, or to a client. The peer has
// a session, and its header checksums are valid. The first byte selects the side and the world. The
// rest is split into packets by their first two bytes. Each packet has the next sequence number,
// and some are preceded by a tick. For any input, no other client may lose its session or exceed
// its budget, and a client's ghosts must stay consistent.
#include <algorithm>
#include <cstdint>
#include <set>
#include <vector>

#include "client/client_data.hpp"
#include "client_events.hpp"
#include "core/internal_access.hpp"
#include "link/packet_link.hpp"
#include "purview/limits.hpp"
#include "require.hpp"
#include "server/server_counters.hpp"
#include "server/server_data.hpp"
#include "small_game.hpp"
#include "target.hpp"
#include "traffic.hpp"

using namespace purview;
using namespace purview::test;

namespace {

using Bytes = std::span<const std::byte>;

constexpr std::uint32_t packets_max = 120;
constexpr std::size_t body_bytes_max = limits::datagram_bytes - 32;

/// World seeds that select the full world (seed % 4 == 1). For fresh_seeds().
constexpr unsigned seed_of_sent = 57, seed_of_another = 61;
constexpr std::uint32_t ticks_sent = 100;

/// Counters of the data that was read from the malicious peer.
enum Reached : unsigned {
    messages_read,  // well-formed messages in a client's stream
    malformed,      // malformed packets and messages of a client
    calls_received,
    calls_refused,
    parts_received,  // parts of inputs
    parts_refused,   // unknown ghosts, wrong groups, and entities of other owners
    leaves_named,    // from here on: in the order of SnapshotDecoder::Named
    bodies_named,
    parents_named,
    references_named,
    named_member_maps,
    reached_count,
};
constexpr const char* reached_names[reached_count] = {"messages of a client",
                                                      "malformed packets and messages",
                                                      "calls of a client",
                                                      "calls that it may not make",
                                                      "inputs for groups",
                                                      "refused inputs",
                                                      "leaves",
                                                      "bodies",
                                                      "parents",
                                                      "references",
                                                      "member maps"};
std::uint64_t reached[reached_count];

/// Two clients in a small or in a full world; the second one belongs to the peer.
struct Scene {
    static constexpr SmallScale small_scale{4, 6, 2}, full_scale{4, 6, 2, 3, 1, 1, true, true};

    /// The full world is slow, so only one seed in four uses it.
    explicit Scene(unsigned seed)
        : world(seed, {}, 2'400, seed % 4 == 1 ? full_scale : small_scale, 30),
          other(world.add_client()),
          client(world.add_client()) {}
    SmallWorld world;
    SmallClient& other;
    SmallClient& client;
};

void count_server_input(const SmallWorld& world) {
    reached[messages_read] += world.game.messages;
    reached[malformed] += internal(*world.server).drops.malformed_packet;
    const RpcCounters& calls = internal(*world.server).calls.counters();
    reached[calls_received] += calls.received;
    reached[calls_refused] += calls.refused_ghost + calls.refused_caller;
    const InputCounters& inputs = internal(*world.server).inputs.counters();
    reached[parts_received] += inputs.parts;
    reached[parts_refused] += inputs.unknown_ghost + inputs.not_owned + inputs.not_in_group;
}

/// Takes over a session; the packets of the real client are blocked.
class Peer {
  public:
    Peer(SmallWorld& world, SmallClient& client) : world_(&world), client_(&client) {
        for (const auto& session : internal(*world.server).sessions) {
            if (session->nonce != client.nonce) continue;
            id_ = session->connection_id;
            next_from_server_ = session->link.next_sequence();
        }
        client.up->blackout = client.down->blackout = true;
    }
    void to_server(Bytes body) {
        const auto bytes = datagram(next_to_server_++, body, true);
        world_->recorder->receive(bytes, client_->address, world_->now);
    }
    void to_client(Bytes body) {
        const Replica& replica = *internal(client_->client).replica;
        const std::uint64_t before = replica.counters().snapshots;
        client_->client.receive(datagram(next_from_server_++, body, false), world_->now);
        if (replica.counters().snapshots == before) return;
        replica.decoder.for_each_named([](SnapshotDecoder::Named as, LocalId) {
            ++reached[leaves_named + static_cast<unsigned>(as)];
        });
    }

  private:
    /// Everything after the sequence number is chosen by the peer: acknowledgements, fragments and
    /// content.
    std::vector<std::byte> datagram(std::uint32_t sequence, Bytes body, bool to_server) const {
        std::vector<std::byte> bytes(limits::datagram_bytes);
        BitWriter out(bytes);
        out.bits(0, seal_bytes * 8);
        if (to_server) out.u64(id_);
        out.u16(static_cast<std::uint16_t>(sequence));
        out.copy_bits(body, body.size() * 8);
        const std::size_t least = to_server ? challenge_bytes : 0;
        bytes.resize(std::max(out.bytes_written(), least));
        seal(PacketType::data, data_seed(id_, sequence), bytes);
        return bytes;
    }
    SmallWorld* world_;
    SmallClient* client_;
    std::uint64_t id_ = 0;
    /// Larger than any sequence number that was used before.
    std::uint32_t next_to_server_ = 2 * ticks_to_join;
    std::uint32_t next_from_server_ = 0;
};

void check_ghosts(const Client& client) {
    std::uint32_t held = 0;
    client.for_each([&](GhostId ghost) {
        ++held;
        const GhostId root = client.root_of(ghost);
        require(client.is_held(root), "a group without a root");
        (void)client.position_of(ghost, client.newest_tick());
    });
    require(held == client.ghost_count(), "wrong ghost count");
    for (const auto& [ghost, event] : test::changes_of(client))
        require(client.is_held(ghost), "a change event for a ghost that left");
}

}  // namespace

std::vector<std::string> fresh_seeds() {
    const std::string messages = cut_by_words(client_messages());
    Scene scene(seed_of_sent);
    const SentPackets sent = sent_after_join(scene.world, ticks_sent);
    const std::string by_client = cut_by_words(sent.by_client);
    const auto to_server = [](unsigned seed) { return static_cast<char>(2 * seed); };
    const auto to_client = [](unsigned seed) { return static_cast<char>(2 * seed + 1); };
    // For both worlds, because input that is valid in one of them can be invalid in the other.
    return {to_server(0) + messages, to_server(1) + messages, to_server(seed_of_sent) + by_client,
            to_server(seed_of_another) + by_client,
            to_client(seed_of_sent) + cut_by_words(sent.by_server)};
}

const char* never_reached() {
    for (unsigned i = 0; i < reached_count; ++i) {
        if (reached[i] == 0) return reached_names[i];
    }
    return nullptr;
}

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
    if (size < 2) return 0;
    const bool to_server = data[0] % 2 == 0;
    Scene scene(data[0] / 2U);
    auto& [world, other, client] = scene;
    join_all(world);
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
    require(other.client.state() == ClientState::joined, "the other client lost its session");
    require(other.client.stats().packets_malformed == 0,
            "the other client received a malformed packet");
    require(world.largest_tick_bytes <= world.def.budget_bytes_per_tick, "over the budget");
    check_ghosts(other.client);
    if (to_server) count_server_input(world);
    return 0;
}
