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

#include "client/client_data.hpp"
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

/// Worlds of all there is (Scene), for fresh seeds.
constexpr unsigned seed_of_said = 57, seed_of_another = 61;
constexpr std::uint32_t ticks_said = 100;

/// What has been read of one who says what he likes.
enum Reached : unsigned {
    messages_read,  // of a client's stream that were sound
    malformed,      // packets and messages of a client that were not
    calls_received,
    calls_refused,
    parts_received,  // of commands for groups
    parts_refused,
    leaves_named,  // and so on, as ClientGhosts::Named has them
    bodies_named,
    parents_named,
    references_named,
    rosters_named,
    reached_count,
};
constexpr const char* reached_names[reached_count] = {"messages of a client",
                                                      "messages that are none",
                                                      "calls of a client",
                                                      "calls that it may not make",
                                                      "commands for groups",
                                                      "commands for what is not the client's",
                                                      "leaves",
                                                      "bodies",
                                                      "parents",
                                                      "references",
                                                      "rosters"};
std::uint64_t reached[reached_count];

/// Two clients in a world of little, or of all there is; the second is the peer's.
struct Scene {
    static constexpr SmallScale little{4, 6, 2}, all_there_is{4, 6, 2, 3, 1, 1, true, true};

    /// All there is takes its time: one in four.
    explicit Scene(unsigned seed)
        : world(seed, {}, 2'400, seed % 4 == 1 ? all_there_is : little, 30),
          other(world.add_client()),
          client(world.add_client()) {}
    SmallWorld world;
    SmallClient& other;
    SmallClient& client;
};

void count_what_server_read(const SmallWorld& world) {
    reached[messages_read] += world.game.messages;
    reached[malformed] += internal(*world.server).drops.malformed_packet;
    const RpcCounters& calls = internal(*world.server).calls.counters();
    reached[calls_received] += calls.received;
    reached[calls_refused] += calls.refused_ghost + calls.refused_caller;
    const InputCounters& inputs = internal(*world.server).inputs.counters();
    reached[parts_received] += inputs.parts;
    reached[parts_refused] += inputs.unknown_ghost + inputs.not_owned + inputs.not_in_group;
}

/// Of one whose own packets do not get through any more.
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
        world_->border->receive(bytes, client_->address, world_->now);
    }
    void to_client(Bytes body) {
        const ClientGhosts& ghosts = *internal(client_->client).ghosts;
        const std::uint64_t before = ghosts.counters().snapshots;
        client_->client.receive(datagram(next_from_server_++, body, false), world_->now);
        if (ghosts.counters().snapshots == before) return;
        ghosts.for_each_named([](ClientGhosts::Named as, LocalId) {
            ++reached[leaves_named + static_cast<unsigned>(as)];
        });
    }

  private:
    /// Behind the number all is the peer's: acknowledgements, fragments, and what follows.
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
    /// Further than any real one came until then.
    std::uint32_t next_to_server_ = 2 * ticks_to_join;
    std::uint32_t next_from_server_ = 0;
};

void check_ghosts(const Client& client) {
    std::uint32_t held = 0;
    for (GhostId ghost = 0; ghost < client.ghost_end(); ++ghost) {
        if (!client.is_held(ghost)) continue;
        ++held;
        const GhostId root = client.root_of(ghost);
        require(root < client.ghost_end() && client.is_held(root), "a group without a root");
        (void)client.position_of(ghost, client.newest_tick());
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
    const std::string messages = cut_by_words(client_messages());
    Scene scene(seed_of_said);
    const Said said = said_after_join(scene.world, ticks_said);
    const std::string by_client = cut_by_words(said.by_client);
    const auto to_server = [](unsigned seed) { return static_cast<char>(2 * seed); };
    const auto to_client = [](unsigned seed) { return static_cast<char>(2 * seed + 1); };
    // In a world of little and in one of all there is; and what is right in one is wrong in
    // another.
    return {to_server(0) + messages, to_server(1) + messages, to_server(seed_of_said) + by_client,
            to_server(seed_of_another) + by_client,
            to_client(seed_of_said) + cut_by_words(said.by_server)};
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
    require(other.client.state() == ClientState::joined, "another one lost his session");
    require(other.client.stats().packets_malformed == 0, "another one was sent nonsense");
    require(world.largest_tick_bytes <= world.def.budget_bytes_per_tick, "over the budget");
    check_ghosts(other.client);
    if (to_server) count_what_server_read(world);
    return 0;
}
