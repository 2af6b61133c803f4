// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Purview authors
//
// The worlds of the two-world test. Everything that the watched client may see depends only on a
// seed. Hidden things depend on random numbers that differ between the two worlds.
#pragma once

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdlib>
#include <map>

#include "client/client_data.hpp"
#include "core/internal_access.hpp"
#include "purview/extend/kernel.hpp"
#include "purview/extend/node.hpp"
#include "purview/server.hpp"
#include "small_game.hpp"

namespace purview::test::two_world {

constexpr std::uint32_t clients = 4;  // the first one is the watched client
constexpr std::uint32_t ticks = 90;
constexpr float side_m = SmallGame::side_m;
constexpr std::uint8_t watched_team = 1;
// A team without members, except for the watched client at times.
constexpr std::uint8_t empty_team = 4;

/// Optional content of a scene.
struct TwoWorldScene {
    std::uint64_t seed = 0;
    bool has_huts = false;
    /// Adds wagons with crates, some of them hidden; custom nodes; overrides and areas; RPCs to
    /// positions; team changes; other rules for a while; clients that join and leave.
    bool is_wide = false;
    /// Nodes with intervals. Their earlier results also count for entities that are denied
    /// meanwhile (docs/limits.md), so no entity returns.
    bool has_waiting = false;
};

/// Line of sight with rows of huts every 20 m: no observer sees an entity in a hut. A wall with
/// gaps divides the area of the players.
bool is_in_hut(Vec3 at) {
    return at.y - 20 * std::floor(at.y / 20) < 3;
}
class Huts final : public RayTest {
    void test(ObserverId, std::span<const Ray> queries,
              std::span<std::uint8_t> visible) const noexcept override {
        for (std::size_t i = 0; i < queries.size(); ++i) {
            const Vec3 from = queries[i].from, to = queries[i].to;
            const bool is_behind_wall =
                (from.x < 75) != (to.x < 75) && from.y - 10 * std::floor(from.y / 10) < 1;
            visible[i] = is_in_hut(to) || is_behind_wall ? 0 : 1;
        }
    }
};

/// Changes of visible entities depend only on their number and the tick, so hidden entities cannot
/// affect them.
class TwoWorldGame final : public Game {
  public:
    TwoWorldGame(const SmallSchema& schema, const TwoWorldScene& scene, std::uint32_t variant)
        : schema_(&schema),
          seed_(scene.seed),
          has_huts_(scene.has_huts),
          is_wide_(scene.is_wide),
          has_waiting_(scene.has_waiting),
          is_one_only_(variant > 0),
          step_(schema),
          hidden_random_(mix64(scene.seed) + variant) {}

    /// Adds one visible entity in this tick, as a control.
    Tick adds_seen_at = 0;
    std::uint64_t hidden_edits = 0;
    std::uint64_t hidden_calls = 0;
    std::uint64_t in_huts = 0;  ///< spawned entities that only a hut hides
    std::uint64_t mules = 0;    ///< hidden mules for the watched client's cart
    std::uint64_t lost = 0;     ///< ghosts of the watched client that were then denied
    /// Denied entities that despawned while the client had a ghost: retained, or with an unacked
    /// leave.
    std::uint64_t despawned_with_ghost = 0;
    std::uint64_t returned_entities = 0;  ///< entities that were denied for a while
    std::uint64_t returned_to_ghost = 0;  ///< while the client still had a ghost
    std::uint64_t hidden_crates = 0;      ///< attached to visible wagons
    std::uint64_t stowaways = 0;          ///< hidden animals attached to visible ones
    std::uint64_t orphans = 0;            ///< crates of despawned hidden wagons
    std::uint64_t whole_groups = 0;       ///< hidden wagons despawned with their crates
    std::uint64_t reverted = 0;           ///< changes reverted in their tick, in one world only
    std::uint64_t named = 0;              ///< results of custom nodes
    std::uint64_t withheld_scents = 0;    ///< edits that were not replicated to the watched client
    std::uint64_t returned = 0;           ///< clients that were kicked and joined again
    std::uint64_t hidden_end() { return hidden_random_.next(); }
    Tick forces_at = 0;  ///< tick of a forced RPC to a hidden entity, as a control

    void populate(World& world) {
        for (std::uint32_t which_client = 0; which_client < seen_count; ++which_client) {
            edit_hidden(world);
            SplitMix random = random_of(which_client, 0);
            seen_.push_back(spawn_seen(world, which_client, random));
        }
    }

    std::optional<EntityId> on_join(Server& server, ObserverId observer,
                                    const JoinRequest& request) override {
        const auto which_client = static_cast<std::uint32_t>(request.name.front() - '0');
        if (which_client == clients) return joined_hidden(server, observer);
        SplitMix random = random_of(1'000 + which_client, 0);
        const EntityId player = spawn(server.world(), schema_->player, watched_position(random));
        Body* body = server.world().edit(player, schema_->body);
        body->team =
            static_cast<std::uint8_t>(which_client == 0 ? watched_team : 1 + random.below(3));
        (void)server.world().set_owner(player, observer);
        players_[which_client] = player;
        returned +=
            observers_[which_client] == ObserverId::none && server.current_tick() > 45 ? 1 : 0;
        observers_[which_client] = observer;
        if (which_client == 0 && !schema_->schema.inputs().empty())
            add_cart(server.world(), observer);
        return player;
    }
    void on_leave(Server& server, ObserverId observer) override {
        const auto it = std::find(observers_.begin(), observers_.end(), observer);
        if (it == observers_.end()) return;
        *it = ObserverId::none;
        EntityId& player = players_[static_cast<std::size_t>(it - observers_.begin())];
        (void)server.world().despawn(std::exchange(player, EntityId::none));
    }
    void on_command(Server&, ObserverId, std::span<const std::byte>) override {}
    void on_input(Server&, ObserverId, GroupState& group, const GroupInput& command) override {
        step_.step(group, command);
    }

    void on_tick(Server& server, Tick tick) override {
        World& world = server.world();
        world_ = &world;
        if (!has_waiting_) deny_for_a_while(server, tick);
        for (std::uint32_t which_client = 0; which_client < clients; ++which_client) {
            edit_hidden(world);
            if (players_[which_client] == EntityId::none) continue;
            SplitMix random = random_of(1'000 + which_client, tick);
            // They stand still half of the time: whether they are idle must not depend on packs.
            if ((tick / 8 + which_client) % 2 == 0)
                wander(world, players_[which_client], random, 3, true);
            // The watched client must not receive orders of another team.
            if (is_wide_ && world.get(players_[which_client], schema_->body)->team > watched_team &&
                world.get(players_[which_client], schema_->body)->team < empty_team)
                *world.edit(players_[which_client], schema_->orders) = {
                    static_cast<std::uint8_t>(hidden_random_.below(20)),
                    hidden_.empty() ? EntityId::none : hidden_.front().id};
            // Only the owner receives the contents of a pack.
            if (hidden_random_.chance(0.5F) || which_client == 0) {
                world.edit(players_[which_client], schema_->pack)->ammo =
                    static_cast<std::uint16_t>(
                        (which_client == 0 ? random : hidden_random_).below(500));
            }
        }
        for (std::uint32_t which_client = 0; which_client < seen_.size(); ++which_client) {
            edit_hidden(world);
            if (is_veiled(which_client)) continue;
            SplitMix random = random_of(which_client, tick);
            if (random.chance(0.01F)) {
                if (loads_.contains(seen_[which_client]))
                    (void)world.despawn(loads_.at(seen_[which_client]));
                (void)world.despawn(seen_[which_client]);
                seen_[which_client] = spawn_seen(world, which_client, random);
            }
            if (seen_kind(which_client) == schema_->book) write(world, seen_[which_client], random);
            if (random.chance(0.5F)) wander(world, seen_[which_client], random, 4, false);
            if (random.chance(0.1F)) edit_body(world, seen_[which_client], random);
            if (seen_kind(which_client) == schema_->animal) {
                if (which_client % 5 != 0) think(world, seen_[which_client], random);
                drift(*world.edit(seen_[which_client], schema_->course),
                      mix64(seed_ + which_client + tick / (8 + which_client % 40) * 1'000));
            }
            if (random.chance(0.05F)) {
                (void)server.call({.entity = seen_[which_client]}, schema_->pings[random.below(9)],
                                  Ping{which_client, tick});
            }
        }
        lose_one(server, random_of(3'000, tick));
        if (is_wide_) change_world(server, tick);
        if (cart_ != EntityId::none) {
            SplitMix random = random_of(2'000, tick);
            wander(world, cart_, random, 2, true);
            if (random.chance(0.05F))
                world.edit(cart_, schema_->gait)->speed = random.between(-1, 1);
            // The mule is then behind hidden ones in the order of children.
            if (random.chance(0.03F) &&
                (world.detach(mule_) != Status::ok || world.attach(mule_, cart_) != Status::ok))
                std::abort();
        }
        for (Shadow& shadow : hidden_) {
            if (shadow.how == Hidden::denied && observers_.front() != ObserverId::none)
                shadow.is_overridden =
                    server.visibility().deny(observers_.front(), shadow.id, true) == Status::ok;
            if (shadow.how == Hidden::forced)
                shadow.is_overridden =
                    server.visibility().set_hidden(shadow.id, true) == Status::ok;
            if (is_one_only_ && hidden_random_.chance(0.05F)) change_and_revert(server, shadow);
        }
        spread_scents(world, tick);
        call_hidden(server);
        if (forces_at > 0 && tick >= forces_at && !hidden_.empty()) {
            forces_at = 0;
            (void)server.call({.entity = hidden_.front().id},
                              schema_->ping(RpcDelivery::reliable_ordered, RpcPolicy::force),
                              Ping{});
        }
        if (adds_seen_at > 0 && tick >= adds_seen_at && players_.front() != EntityId::none) {
            adds_seen_at = 0;
            const Vec3 near = world.position_of(players_.front());
            (void)spawn(world, schema_->animal, {near.x + 1, near.y, 0});
        }
    }

    /// Returns whether custom nodes may return the entity.
    bool is_open(EntityId entity) const {
        const Body* body = world_->get(entity, schema_->body);
        const Vec3 at = world_->position_of(entity);
        return body != nullptr && !body->cloaked && at.x < 190 && !(has_huts_ && is_in_hut(at));
    }
    /// Counts wagons that are ghosts of the watched client and carry hidden crates.
    std::uint64_t loaded() const {
        return static_cast<std::uint64_t>(
            std::count_if(loads_.begin(), loads_.end(), [&](const auto& load) {
                return world_->children_of(load.first).size() > 1 && has_copy(load.first);
            }));
    }
    /// Visits all entities, hidden ones first.
    template <class Visit>
    void for_each(Visit&& visit) const {
        for (const Shadow& shadow : hidden_) visit(shadow.id);
        for (const EntityId one : seen_) visit(one);
    }
    std::span<const ObserverId> observers() const { return observers_; }
    const Body* body_of(EntityId entity) const { return world_->get(entity, schema_->body); }
    Vec3 position_of(EntityId entity) const { return world_->position_of(entity); }

  private:
    static constexpr std::uint32_t seen_count = 200;
    static constexpr std::size_t hidden_max = 400;

    SplitMix random_of(std::uint32_t which_client, Tick tick) const {
        return SplitMix(mix64(seed_ ^ (std::uint64_t{which_client} << 32 | tick)));
    }
    /// Returns a position in the watched client's area, away from far entities.
    static Vec3 watched_position(SplitMix& random) {
        return {random.between(40, 110), random.between(0, side_m), 0};
    }
    static EntityId spawn(World& world, KindId kind, Vec3 at) {
        const EntityId made = world.spawn({.kind = kind, .position = at});
        if (made == EntityId::none) std::abort();
        return made;
    }
    /// Adds a cart and a mule that the watched client owns.
    void add_cart(World& world, ObserverId observer) {
        SplitMix random = random_of(2'000, 0);
        cart_ = spawn(world, schema_->cart, watched_position(random));
        mule_ = spawn(world, schema_->mule, {});
        (void)world.set_owner(cart_, observer);
        (void)world.set_owner(mule_, observer);
        if (world.attach(mule_, cart_) != Status::ok) std::abort();
    }
    /// Adds a player far from the watched client. It may join and leave.
    EntityId joined_hidden(Server& server, ObserverId observer) {
        World& world = server.world();
        const EntityId player = spawn(world, schema_->player, hidden_position(Hidden::far));
        *world.edit(player, schema_->body) = {5, true, 100, 0, 0};
        (void)world.set_owner(player, observer);
        return player;
    }
    KindId seen_kind(std::uint32_t which_client) const {
        if (has_books() && which_client % 10 == 9) return schema_->book;
        const std::array kinds{schema_->wagon, schema_->animal, schema_->sheep, schema_->animal,
                               schema_->goat};
        return kinds[which_client % kinds.size()];
    }
    EntityId spawn_seen(World& world, std::uint32_t which_client, SplitMix& random) {
        const EntityId made = spawn(world, seen_kind(which_client),
                                    {random.between(0, side_m), random.between(0, side_m), 0});
        edit_body(world, made, random);
        if (is_wide_ && world.kind_of(made) == schema_->wagon) {
            const Vec3 at = world.position_of(made);
            const EntityId crate = spawn(world, schema_->crate, {at.x + 1, at.y + 1, 0});
            if (world.attach(crate, made) != Status::ok) std::abort();
            loads_[made] = crate;
        }
        return made;
    }
    bool has_books() const { return schema_->book != KindId::none; }
    void write(World& world, EntityId book, SplitMix& random) const {
        Page* page = world.edit(
            book, schema_->pages[random.below(static_cast<std::uint32_t>(schema_->pages.size()))]);
        for (char& c : page->left) c = static_cast<char>('a' + random.below(26));
    }
    void edit_body(World& world, EntityId entity, SplitMix& random) const {
        Body* body = world.edit(entity, schema_->body);
        body->hp = static_cast<std::uint16_t>(random.below(1000));
        body->facing = random.between(-3, 3);
        body->team = static_cast<std::uint8_t>(random.below(4));
        body->cloaked = random.chance(0.1F);
    }
    /// Many entities refer to one that is hidden from the watched client. The two worlds refer to
    /// different ones, and change them at different times.
    void think(World& world, EntityId entity, SplitMix& random) {
        Mind* mind = world.edit(entity, schema_->mind);
        if (random.chance(0.05F)) {
            const bool of_seen = random.chance(0.5F);
            const EntityId one = seen_[random.below(static_cast<std::uint32_t>(seen_.size()))];
            mind->target = of_seen ? one : EntityId::none;
            mind->effort = random.between(-12, 12);
        }
        const bool thinks_of_hidden =
            mind->target == EntityId::none ||
            std::find(seen_.begin(), seen_.end(), mind->target) == seen_.end();
        if (thinks_of_hidden && !hidden_.empty() && hidden_random_.chance(0.5F)) {
            mind->target =
                hidden_[hidden_random_.below(static_cast<std::uint32_t>(hidden_.size()))].id;
        }
    }
    static void wander(World& world, EntityId entity, SplitMix& random, float step, bool stays) {
        Vec3 at = world.position_of(entity);
        at.x = std::clamp(at.x + random.between(-step, step), stays ? 40.0F : 0.0F,
                          stays ? 110.0F : side_m);
        at.y = std::clamp(at.y + random.between(-step, step), 0.0F, side_m);
        (void)world.move(entity, at);
    }

    // -- hidden from the watched client ---------------------------------------------------------
    enum class Hidden { cloaked, far, explicit_only, denied, in_hut, forced };
    struct Shadow {
        EntityId id;
        Hidden how;
        EntityId crate = EntityId::none;
        bool was_seen = false;
        bool is_overridden = false;  ///< an override is set: denied or force-hidden
    };
    Vec3 hidden_position(Hidden how) {
        SplitMix& random = hidden_random_;
        if (how == Hidden::far) return {random.between(200, side_m), random.between(0, side_m), 0};
        Vec3 at = watched_position(random);
        if (how == Hidden::in_hut) at.y = 20 * std::floor(at.y / 20) + random.between(0.1F, 2.9F);
        return at;
    }
    void fill_hidden(World& world, const Shadow& shadow) {
        if (shadow.how == Hidden::explicit_only) return;
        if (world.kind_of(shadow.id) == schema_->mule) return fill_mule(world, shadow.id);
        if (world.kind_of(shadow.id) == schema_->crate) return fill_crate(world, shadow.id);
        if (world.kind_of(shadow.id) == schema_->book) write(world, shadow.id, hidden_random_);
        if (Course* course = world.edit(shadow.id, schema_->course))
            drift(*course, hidden_random_.next());
        if (Mind* mind = world.edit(shadow.id, schema_->mind)) {
            for (char& c : mind->name) c = static_cast<char>(hidden_random_.below(256));
            world.edit(shadow.id, schema_->scent)->score = hidden_random_.between(0, 1);
        }
        Body* body = world.edit(shadow.id, schema_->body);
        body->hp = static_cast<std::uint16_t>(hidden_random_.below(1000));
        body->facing = hidden_random_.between(-3, 3);
        body->cloaked = shadow.how == Hidden::cloaked;
        body->team = static_cast<std::uint8_t>(
            shadow.how != Hidden::far ? watched_team : watched_team + 1 + hidden_random_.below(2));
    }
    /// Gives a hidden mule a random owner or none. The watched client must not receive it even as
    /// its owner. Mostly attaches it to the watched client's cart.
    void fill_mule(World& world, EntityId mule) {
        SplitMix& random = hidden_random_;
        *world.edit(mule, schema_->gait) = {random.between(-1, 1), 0,
                                            static_cast<std::uint16_t>(random.below(1'000))};
        if (random.chance(0.5F)) (void)world.set_owner(mule, observers_[random.below(4)]);
        const bool goes_along = world.parent_of(mule) != EntityId::none;
        if (goes_along && random.chance(0.2F)) (void)world.detach(mule);
        constexpr std::size_t along_max = 40;  // below the member limit of a group
        if (!goes_along && world.children_of(cart_).size() < along_max)
            (void)world.attach(mule, cart_, OwnerPolicy::keep);
    }
    /// Attaches a hidden crate at the center of a visible wagon, so that its bounds do not change.
    void fill_crate(World& world, EntityId crate) {
        SplitMix& random = hidden_random_;
        if (world.parent_of(crate) != EntityId::none && random.chance(0.3F))
            (void)world.detach(crate);
        const EntityId wagon =
            seen_[random.below(static_cast<std::uint32_t>(seen_.size() + 4) / 5) * 5];
        if (world.parent_of(crate) != EntityId::none || world.children_of(wagon).size() > 10)
            return;
        ++hidden_crates;
        if (world.move(crate, world.position_of(wagon)) != Status::ok ||
            world.attach(crate, wagon) != Status::ok)
            std::abort();
    }
    /// Attaches a hidden animal that never was a ghost to a visible one, or detaches it. Custom
    /// nodes continue to return it.
    void attach_hidden(World& world, const Shadow& shadow) {
        const KindId kind = world.kind_of(shadow.id);
        const bool is_beast =
            kind == schema_->animal || kind == schema_->sheep || kind == schema_->goat;
        if (shadow.how != Hidden::denied || shadow.was_seen || !is_beast ||
            world.detach(shadow.id) == Status::ok)
            return;
        const EntityId onto = seen_[hidden_random_.below(static_cast<std::uint32_t>(seen_.size()))];
        if (world.kind_of(onto) == schema_->wagon || world.children_of(onto).size() > 8) return;
        (void)world.move(shadow.id, world.position_of(onto));
        stowaways += world.attach(shadow.id, onto, OwnerPolicy::keep) == Status::ok ? 1 : 0;
    }
    /// Changes the override and the parent of a hidden entity, and reverts both within the tick.
    void change_and_revert(Server& server, const Shadow& shadow) {
        World& world = server.world();
        ++reverted;
        if (observers_.front() != ObserverId::none) {
            const bool is_denied = shadow.how == Hidden::denied;
            (void)server.visibility().deny(observers_.front(), shadow.id, !is_denied);
            (void)server.visibility().deny(observers_.front(), shadow.id, is_denied);
        }
        const EntityId onto = seen_[hidden_random_.below(static_cast<std::uint32_t>(seen_.size()))];
        if (world.parent_of(shadow.id) == EntityId::none &&
            world.attach(shadow.id, onto, OwnerPolicy::keep) == Status::ok)
            (void)world.detach(shadow.id);
    }
    /// Denies an entity that may be a ghost of the watched client. It is hidden from then on.
    void lose_one(Server& server, SplitMix random) {
        if (observers_.front() == ObserverId::none || !random.chance(0.3F)) return;
        server_ = &server;
        const std::uint32_t which_client = random.below(seen_count);
        if (is_veiled(which_client)) return;
        const EntityId one = seen_[which_client];
        (void)server.visibility().deny(observers_.front(), one, true);
        lost += has_copy(one) ? 1 : 0;
        hidden_.push_back(
            {one, Hidden::denied, loads_.contains(one) ? loads_.at(one) : EntityId::none, true});
        seen_[which_client] = spawn_seen(server.world(), which_client, random);
    }
    /// Denies an entity for some ticks and changes it at random meanwhile. It returns in its former
    /// state, or with a few changes.
    void deny_for_a_while(Server& server, Tick tick) {
        World& world = server.world();
        for (Veil& veil : veils_) {
            const EntityId one = seen_[veil.which_client];
            if (tick < veil.until) {
                if (hidden_random_.chance(0.3F)) fill_hidden(world, {one, Hidden::denied});
                if (veil.goes_away && hidden_random_.chance(0.3F))
                    (void)world.move(one, hidden_position(Hidden::far));
                continue;
            }
            ++returned_entities;
            returned_to_ghost += has_copy(one) ? 1 : 0;
            (void)server.visibility().deny(observers_.front(), one, false);
            SplitMix random = random_of(5'000 + veil.which_client, tick);
            (void)world.move(one, veil.position);
            *world.edit(one, schema_->body) = veil.body;
            if (Course* course = world.edit(one, schema_->course)) *course = veil.course;
            if (Mind* mind = world.edit(one, schema_->mind)) *mind = veil.mind;
            if (Scent* scent = world.edit(one, schema_->scent)) *scent = veil.scent;
            for (std::size_t i = 0; i < veil.pages.size(); ++i)
                *world.edit(one, schema_->pages[i]) = veil.pages[i];
            if (random.chance(0.3F)) world.edit(one, schema_->body)->hp = 7;
            if (random.chance(0.3F)) wander(world, one, random, 4, false);
        }
        std::erase_if(veils_, [&](const Veil& veil) { return veil.until <= tick; });
        SplitMix random = random_of(4'000, tick);
        const std::uint32_t which_client = random.below(seen_count);
        if (observers_.front() == ObserverId::none || is_veiled(which_client)) return;
        server_ = &server;
        const EntityId one = seen_[which_client];
        Veil veil;
        veil.which_client = which_client;
        veil.until = tick + 1 + random.below(12);
        veil.position = world.position_of(one);
        veil.body = *world.edit(one, schema_->body);
        if (const Course* course = world.edit(one, schema_->course)) veil.course = *course;
        if (const Mind* mind = world.edit(one, schema_->mind)) veil.mind = *mind;
        if (const Scent* scent = world.edit(one, schema_->scent)) veil.scent = *scent;
        if (seen_kind(which_client) == schema_->book) {
            for (const Component<Page> page : schema_->pages)
                veil.pages.push_back(*world.get(one, page));
        }
        // Between enter and leave radius, relevance depends on the previous position
        // (docs/limits.md).
        veil.goes_away = random.chance(0.5F);
        if (veil.goes_away) (void)world.move(one, hidden_position(Hidden::far));
        veils_.push_back(veil);
        (void)server.visibility().deny(observers_.front(), one, true);
    }
    bool is_veiled(std::uint32_t which_client) const {
        return std::any_of(veils_.begin(), veils_.end(),
                           [&](const Veil& veil) { return veil.which_client == which_client; });
    }
    bool has_copy(EntityId entity) const {
        const Session* session =
            server_ == nullptr ? nullptr : internal(*server_).sessions.find(observers_.front());
        return session != nullptr && (session->ghosts.slots().find(entity) != no_local_id ||
                                      session->ghosts.retained().is_retained(entity));
    }
    /// Sets the scent of visible entities. While a scent is replicated to the watched client, the
    /// seed determines it; otherwise it is random.
    void spread_scents(World& world, Tick tick) {
        const ObserverId watched = observers_.front();
        if (watched == ObserverId::none) return;
        for (std::uint32_t which_client = 0; which_client < seen_.size(); ++which_client) {
            const EntityId one = seen_[which_client];
            if (seen_kind(which_client) != schema_->animal || is_veiled(which_client)) continue;
            std::uint8_t is_replicated = 0;
            schema_->audience->decide(watched, std::span(&one, 1), std::span(&is_replicated, 1));
            if (is_replicated != 0) {
                SplitMix random = random_of(4'000 + which_client, tick / 7);
                world.edit(one, schema_->scent)->score = random.between(0, 1);
            } else if (hidden_random_.chance(0.5F)) {
                world.edit(one, schema_->scent)->score = hidden_random_.between(0, 1);
                ++withheld_scents;
            }
        }
    }
    /// Spawns, despawns, moves and changes random hidden entities.
    void edit_hidden(World& world) {
        SplitMix& random = hidden_random_;
        for (std::uint32_t n = random.below(3); n > 0; --n) {
            ++hidden_edits;
            const bool comes =
                hidden_.empty() || (hidden_.size() < hidden_max && random.chance(0.4F));
            if (comes) {
                auto how = static_cast<Hidden>(random.below(has_huts_ ? 5 : 4));
                if (is_wide_ && random.chance(0.1F)) how = Hidden::forced;
                in_huts += how == Hidden::in_hut ? 1 : 0;
                // Sheep and goats have their own nodes, without huts.
                const bool is_mule =
                    how == Hidden::denied && is_one_only_ && cart_ != EntityId::none;
                mules += is_mule ? 1 : 0;
                const KindId kind =
                    how == Hidden::explicit_only ? schema_->tree
                    : is_mule                    ? schema_->mule
                    : is_wide_ && how == Hidden::denied && !seen_.empty() && random.chance(0.6F)
                        ? schema_->crate
                    : has_books() && how != Hidden::in_hut && random.chance(0.2F) ? schema_->book
                    : random.chance(0.3F)                                         ? schema_->wagon
                    : how == Hidden::in_hut                                       ? schema_->animal
                    : random.chance(0.3F)                                         ? schema_->sheep
                    : random.chance(0.4F)                                         ? schema_->goat
                                                                                  : schema_->animal;
                hidden_.push_back({spawn(world, kind, hidden_position(how)), how});
                fill_hidden(world, hidden_.back());
                if (kind == schema_->wagon) {
                    const EntityId crate =
                        spawn(world, schema_->crate, world.position_of(hidden_.back().id));
                    if (world.attach(crate, hidden_.back().id) != Status::ok) std::abort();
                    hidden_.back().crate = crate;
                }
                continue;
            }
            const std::size_t at = random.below(static_cast<std::uint32_t>(hidden_.size()));
            if (random.chance(0.3F)) {
                despawned_with_ghost += has_copy(hidden_[at].id) ? 1 : 0;
                end_hidden(world, hidden_[at]);
                hidden_.erase(hidden_.begin() + static_cast<std::ptrdiff_t>(at));
            } else if (random.chance(0.5F) && world.kind_of(hidden_[at].id) != schema_->mule &&
                       world.kind_of(hidden_[at].id) != schema_->crate) {
                (void)world.move(hidden_[at].id, hidden_position(hidden_[at].how));
            } else {
                fill_hidden(world, hidden_[at]);
                if (is_wide_ && !seen_.empty()) attach_hidden(world, hidden_[at]);
            }
        }
    }
    /// Despawns a hidden entity, with its crate in any order or without it. The crate remains
    /// hidden.
    void end_hidden(World& world, const Shadow& shadow) {
        SplitMix& random = hidden_random_;
        constexpr std::size_t orphans_max = 40;
        const bool has_crate = shadow.crate != EntityId::none && world.is_alive(shadow.crate);
        if (has_crate && shadow.is_overridden && random.chance(0.7F)) {
            ++orphans;
            (void)world.despawn(shadow.id);
            orphans_.push_back(shadow.crate);
        } else if (has_crate && world.children_of(shadow.id).size() == 1 && random.chance(0.5F)) {
            ++whole_groups;  // it has no other members
            (void)world.despawn_group(shadow.id);
        } else {
            const bool is_parent_first = random.chance(0.5F);
            if (is_parent_first) (void)world.despawn(shadow.id);
            if (has_crate) (void)world.despawn(shadow.crate);
            if (!is_parent_first) (void)world.despawn(shadow.id);
        }
        if (orphans_.empty()) return;
        const std::size_t at = random.below(static_cast<std::uint32_t>(orphans_.size()));
        if (orphans_.size() > orphans_max) {
            (void)world.despawn(orphans_[at]);
            orphans_.erase(orphans_.begin() + static_cast<std::ptrdiff_t>(at));
        } else {
            (void)world.move(orphans_[at], watched_position(random));
        }
    }
    /// Sends RPCs to hidden entities with random delivery, policy (cull or hold) and arguments.
    void call_hidden(Server& server) {
        SplitMix& random = hidden_random_;
        for (std::uint32_t n = random.below(12); n > 0 && !hidden_.empty(); --n) {
            ++hidden_calls;
            const Shadow& shadow =
                hidden_[random.below(static_cast<std::uint32_t>(hidden_.size()))];
            const auto delivery = static_cast<RpcDelivery>(random.below(3));
            const auto policy = random.chance(0.5F) ? RpcPolicy::cull : RpcPolicy::hold;
            const Ping args{random.below(1'000), random.below(1'000)};
            if (!server.call({.entity = shadow.id}, schema_->ping(delivery, policy), args))
                std::abort();
        }
    }
    /// Makes other changes of a game: for visible entities by the seed, for hidden ones at random.
    void change_world(Server& server, Tick tick) {
        World& world = server.world();
        Visibility& interest = server.visibility();
        const ObserverId watched = observers_.front();
        if (watched == ObserverId::none) return;
        SplitMix random = random_of(6'000, tick);
        world.edit(players_.front(), schema_->body)->team =
            tick / 16 % 2 == 1 ? empty_team : watched_team;
        if (tick % 20 == 5)
            (void)interest.set_area(watched, 1, Area::sphere(watched_position(random), 12));
        if (tick % 20 == 15) (void)interest.remove_area(watched, 1);
        if (random.chance(0.1F))
            (void)interest.set_viewpoint(
                watched, cart_ != EntityId::none && random.chance(0.5F) ? cart_ : players_.front());
        const std::uint32_t which_client = random.below(seen_count);
        if (!is_veiled(which_client)) {
            const EntityId one = seen_[which_client];
            const bool yes = random.chance(0.5F);
            switch (random.below(4)) {
                case 0:
                    (void)interest.allow(watched, one, yes);
                    break;
                case 1:
                    (void)interest.show_to_all(one, yes);
                    break;
                case 2:
                    (void)world.set_owner(one, yes ? watched : ObserverId::none);
                    break;
                default:
                    (void)interest.set_hidden(one, yes);
                    break;
            }
        }
        (void)server.call({.position = watched_position(random)}, schema_->booms[random.below(3)],
                          {0, tick});
        (void)server.call({.only = watched}, schema_->news[random.below(3)], {0, tick});
        if (tick == 40 && observers_.back() != ObserverId::none)
            (void)server.close(observers_.back(), CloseReason::kicked);
        for (std::uint32_t n = hidden_random_.below(4); n > 0; --n) {
            const Ping args{hidden_random_.below(1'000), hidden_random_.below(1'000)};
            const std::size_t how = hidden_random_.below(3);
            (void)server.call({.position = hidden_position(Hidden::far)}, schema_->booms[how],
                              args);
            const ObserverId other = observers_[1 + hidden_random_.below(3)];
            if (other == ObserverId::none) continue;
            (void)server.call({.only = other}, schema_->news[how], args);
            const Shadow& shadow =
                hidden_[hidden_random_.below(static_cast<std::uint32_t>(hidden_.size()))];
            (void)interest.allow(other, shadow.id, hidden_random_.chance(0.5F));
            if (shadow.how == Hidden::cloaked || shadow.how == Hidden::far)
                (void)world.set_owner(shadow.id, other);
            const std::array<NodeId, 1> node{id_at<NodeId>(how)};
            if (shadow.how == Hidden::cloaked)
                (void)interest.rebind(shadow.id, std::span(node).first(args.tag % 2));
        }
    }
    const SmallSchema* schema_;
    std::uint64_t seed_;
    bool has_huts_;
    bool is_wide_;
    bool has_waiting_;
    bool is_one_only_;  ///< second world only: hidden mules, reverted changes
    CartStep step_;
    SplitMix hidden_random_;
    std::array<EntityId, clients> players_{};  ///< by client name
    std::array<ObserverId, clients> observers_{ObserverId::none, ObserverId::none, ObserverId::none,
                                               ObserverId::none};
    EntityId cart_ = EntityId::none;  ///< owned by the watched client
    EntityId mule_ = EntityId::none;  ///< owned by and visible to the watched client
    Server* server_ = nullptr;        ///< set once an entity was denied
    World* world_ = nullptr;
    std::map<EntityId, EntityId> loads_;  ///< crates by wagon, for all wagons that were visible
    struct Veil {
        std::uint32_t which_client = 0;
        Tick until = 0;
        bool goes_away = false;  ///< moves far away meanwhile
        Vec3 position;
        Body body;
        Course course;
        Mind mind;
        Scent scent;
        std::vector<Page> pages;
    };
    std::vector<Veil> veils_;  ///< veils of visible entities
    std::vector<EntityId> seen_;
    std::vector<Shadow> hidden_;
    std::vector<EntityId> orphans_;
};

/// A node of the RFC's form: returns entities around a lamp.
class Lamp final : public CustomNode {
  public:
    explicit Lamp(TwoWorldGame& game) : game_(&game) {}
    void query_for(const Visibility&, ObserverId, std::vector<EntityId>& out) override {
        game_->for_each([&](EntityId one) {
            const Vec3 at = game_->position_of(one);
            if (std::hypot(at.x - 75, at.y - 75) < 20 && game_->is_open(one)) out.push_back(one);
        });
        game_->named += out.size();
    }

  private:
    TwoWorldGame* game_;
};
/// A node of Mirror's form: entities with certain health values are relevant to all observers.
class Fame final : public CustomNode {
  public:
    explicit Fame(TwoWorldGame& game) : game_(&game) {}
    bool is_entity_centric() const noexcept override { return true; }
    void observers_for(const Visibility&, EntityId entity, std::vector<ObserverId>& out) override {
        if (!game_->is_open(entity) || game_->body_of(entity)->hp % 16 != 0) return;
        for (const ObserverId observer : game_->observers())
            if (observer != ObserverId::none) out.push_back(observer);
        game_->named += out.size();
    }

  private:
    TwoWorldGame* game_;
};

}  // namespace purview::test::two_world
