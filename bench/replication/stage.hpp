// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Purview authors
//
// A server and its clients in one process, on a virtual clock: no sockets, seeded loss, and timing
// of the server's work per tick. The first clients are complete, and their ghosts are compared with
// the world. The others only acknowledge.
#pragma once

#include <functional>
#include <memory>
#include <string>
#include <variant>
#include <vector>

#include "core/hash.hpp"
#include "purview/client.hpp"
#include "purview/server.hpp"
#include "replication/light_client.hpp"
#include "server/server_counters.hpp"

namespace purview::bench {

/// The game of a scene. Observers are numbered by client.
struct Script {
    /// Populates the world before the first client joins.
    std::function<void(World&)> populate;
    /// A client has joined: sets its viewpoint.
    std::function<void(Server&, ObserverId, std::uint32_t client)> joined;
    /// The game's own work, which is not timed.
    std::function<void(Server&, Tick)> simulate;
    /// Calls of the game to the library besides values (lists, flags); timed.
    std::function<void(Server&, Tick)> notify;
    /// The required relevant set of a client, in any order, derived from the scene alone. Compared
    /// with the server's relevant set. Null: no comparison.
    std::function<std::vector<EntityId>(const World&, std::uint32_t client)> relevant;
};

/// All entities of the world.
std::vector<EntityId> all_of(const World& world);

struct StageDef {
    ServerDef server;
    std::uint32_t clients = 100;
    std::uint32_t watchers = 8;   ///< number of complete clients, the first ones
    float loss = 0;               ///< of datagrams, in both directions, once all have joined
    std::uint32_t ack_ticks = 1;  ///< delay from a datagram to its acknowledgement
    std::uint64_t seed = 1;
};

/// Cost of one tick of a single encoder, for all observers.
struct EncodeCost {
    std::uint64_t bytes = 0;
    double ms = 0;
};

/// Cost of one tick of the server.
struct TickCost {
    double tick_ms = 0;     ///< Server::tick and next_datagram, without `simulate`
    double receive_ms = 0;  ///< Server::receive of all packets before the tick; not part of tick_ms
    double report_ms = 0;   ///< part of tick_ms
    std::uint64_t bytes = 0;  ///< payload sent
    std::uint64_t datagrams = 0;
    std::uint64_t largest_bytes = 0;  ///< maximum for one client
    std::size_t allocations = 0;
    TickProfile profile;
};

class Stage final : public Game {
  public:
    Stage(const StageDef& def, Script script);
    ~Stage() override;

    /// Runs until all clients have joined and nothing is pending. Returns false if this does not
    /// happen.
    bool join(std::uint32_t ticks_max = 600);
    TickCost step();
    void set_loss(float loss) noexcept { loss_ = loss; }
    /// Freezes or resumes the game.
    void set_frozen(bool frozen) noexcept { frozen_ = frozen; }
    /// Called for every datagram that reaches the first client.
    std::function<void(std::span<const std::byte>)> on_datagram;

    Server& server() noexcept { return *server_; }
    const StageDef& def() const noexcept { return def_; }
    const Script& script() const noexcept { return script_; }
    std::uint32_t watchers() const noexcept { return static_cast<std::uint32_t>(whole_.size()); }
    Client& watcher(std::uint32_t i) noexcept { return *whole_[i]; }
    ObserverId observer(std::uint32_t client) const noexcept { return observers_[client]; }
    /// Bytes sent to each client in the last tick.
    const std::vector<std::uint64_t>& last_bytes() const noexcept { return last_bytes_; }
    /// Number of relevant entities with pending updates, over all clients.
    std::uint64_t waiting() const;

  private:
    std::optional<EntityId> on_join(Server& server, ObserverId observer,
                                    const JoinRequest& request) override;
    void on_leave(Server&, ObserverId) override {}
    void on_command(Server&, ObserverId, std::span<const std::byte>) override {}
    void on_tick(Server& server, Tick tick) override;

    struct Datagram {
        std::uint32_t client;
        std::size_t offset, size;
    };
    struct Pile {
        std::vector<Datagram> list;
        std::vector<std::byte> bytes;
        void add(std::uint32_t client, std::span<const std::byte> datagram);
        std::span<const std::byte> at(const Datagram& d) const {
            return std::span(bytes).subspan(d.offset, d.size);
        }
        void clear() {
            list.clear();
            bytes.clear();
        }
    };
    void deliver();
    void take_data(Pile& pile);

    StageDef def_;
    Script script_;
    std::unique_ptr<Server> server_;
    std::vector<std::unique_ptr<Client>> whole_;
    std::vector<LightClient> light_;
    std::vector<Address> addresses_;
    std::vector<ObserverId> observers_;
    std::vector<std::uint64_t> last_bytes_;
    Pile down_;
    std::vector<Pile> up_;  ///< ring buffer by tick of arrival
    SplitMix random_;
    Micros now_ = 1'000'000;
    std::uint64_t ticks_ = 0;
    float loss_ = 0;
    bool frozen_ = false;
    double simulate_ms_ = 0, report_ms_ = 0;
    std::uint32_t joined_ = 0;
};

}  // namespace purview::bench
