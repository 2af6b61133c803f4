// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Purview authors
// The events of the small world.
#include "small_game.hpp"

#include <algorithm>
#include <cmath>
#include <cstdlib>

namespace purview::test {

void SmallGame::populate(World& world) {
    const auto add = [&](KindId kind, Vec3 at) {
        const EntityId made = world.spawn({.kind = kind, .position = at});
        if (made == EntityId::none) std::abort();
        return made;
    };
    for (std::uint32_t i = 0; i < scale_.trees; ++i) add(schema_->tree, random_position());
    for (std::uint32_t i = 0; i < scale_.animals; ++i) {
        const EntityId animal = add(schema_->animal, random_position());
        give_tag(world, animal);
        if (random_.chance(0.1F)) world.edit(animal, schema_->body)->cloaked = true;
        movers.push_back(animal);
    }
    for (std::uint32_t i = 0; i < 2 * scale_.herd; ++i) {
        herd_.push_back(
            add(i % 2 == 0 ? schema_->sheep : schema_->goat, position_by(herd_random_)));
        give_tag(world, herd_.back());
    }
    for (std::uint32_t i = 0; i < scale_.books; ++i) books_.push_back(new_book(world));
    carts.populate(world, scale_.carts);
    for (std::uint32_t i = 0; i < scale_.wagons; ++i) {
        const EntityId wagon = add(schema_->wagon, random_position());
        give_tag(world, wagon);
        wagons_.push_back(wagon);
        movers.push_back(wagon);
        for (int c = 0; c < 3; ++c) {
            const Vec3 at = world.position_of(wagon);
            const EntityId crate = add(schema_->crate, {at.x + static_cast<float>(c), at.y, at.z});
            if (world.attach(crate, c < 2 ? wagon : crates_.back()) != Status::ok) std::abort();
            crates_.push_back(crate);
        }
    }
}

std::optional<EntityId> SmallGame::on_join(Server& server, ObserverId observer,
                                           const JoinRequest& request) {
    if (refuse_joins) return std::nullopt;
    if (const EntityId cart = carts.any_free(server.world()); cart != EntityId::none)
        (void)server.world().set_owner(cart, observer);
    if (request.role == Role::spectator) {
        const Vec3 camera = random_position();
        cameras[static_cast<std::uint32_t>(observer)] = camera;
        if (mail != nullptr) send_chat(server, observer);
        if (server.visibility().set_area(observer, 1, Area::at(camera)) != Status::ok)
            return std::nullopt;
        return EntityId::none;
    }
    const EntityId player = server.world().spawn(
        {.kind = schema_->player, .position = random_position(), .owner = observer});
    if (player == EntityId::none) return std::nullopt;
    give_tag(server.world(), player);
    server.world().edit(player, schema_->body)->team =
        static_cast<std::uint8_t>(1 + random_.below(3));
    players[static_cast<std::uint32_t>(observer)] = player;
    if (mail != nullptr) send_chat(server, observer);
    return player;
}

void SmallGame::on_leave(Server& server, ObserverId observer) {
    cameras.erase(static_cast<std::uint32_t>(observer));
    const auto is_its = [&](const Mark& mark) { return mark.observer == observer; };
    std::erase_if(marks_, is_its);
    std::erase_if(marked_, is_its);
    for (const auto* things : {&wagons_, &crates_, &books_, &carts.all}) {
        for (const EntityId thing : *things) {
            if (server.world().owner_of(thing) == observer)
                (void)server.world().set_owner(thing, ObserverId::none);
        }
    }
    const auto player = players.find(static_cast<std::uint32_t>(observer));
    if (player == players.end()) return;
    (void)server.world().despawn(player->second);
    players.erase(player);
}

void SmallGame::on_message(Server& server, ObserverId observer, std::span<const std::byte> bytes) {
    (void)server;
    ++messages;
    if (mail != nullptr) mail->message_arrived(Mail::Way::to_game, client_of(observer), bytes);
}

void SmallGame::on_command(Server& server, ObserverId observer, std::span<const std::byte> data) {
    ++commands;
    if (mail == nullptr) return;
    mail->command_arrived(client_of(observer), data);
    const bool requests_owner = data.size() % 4 == 0;
    if (owner_chance > 0 && requests_owner &&
        players.contains(static_cast<std::uint32_t>(observer)))
        take_or_drop(server.world(), observer);
}

/// Returns a random mover, which may be near or far, relevant or not, or no longer alive; or none.
EntityId SmallGame::any_entity() {
    if (movers.empty() || random_.chance(0.1F)) return EntityId::none;
    return movers[random_.below(static_cast<std::uint32_t>(movers.size()))];
}

void SmallGame::think(World& world, EntityId entity) {
    if (world.kind_of(entity) != schema_->animal) return;
    Mind& mind = *world.edit(entity, schema_->mind);
    for (char& c : mind.name)
        c = random_.chance(0.3F) ? '\0' : static_cast<char>(random_.below(256));
    if (random_.chance(0.5F)) mind.target = any_entity();
    mind.head = {random_.between(-1, 1), random_.between(-1, 1), random_.between(-1, 1),
                 random_.between(-1, 1)};
    mind.effort = random_.between(-12, 12);
    if (random_.chance(0.1F)) mind.effort = 0;
    if (random_.chance(0.5F)) world.edit(entity, schema_->scent)->score = random_.between(0, 1);
    if (random_.chance(0.2F))
        world.edit(entity, schema_->body)->hp = static_cast<std::uint16_t>(random_.below(1000));
}

/// Linear motion with parameters from `law`. Some laws idle, and some are not quite linear.
void drift(Course& course, std::uint64_t law) {
    const auto part = [law](unsigned shift) { return static_cast<float>(law >> shift & 0xff); };
    if (law % 4 == 0) return;  // idle
    course.heading += (part(8) - 128) / 200 * (law % 4 == 1 ? 0.1F : 1.0F);
    course.cargo += static_cast<std::int32_t>(part(16)) - 128;
    if (law % 7 == 0) course.heading += part(24) / 1'000;  // not quite linear
    course.heading = std::clamp(course.heading, -55.0F, 55.0F);
    course.cargo = std::clamp(course.cargo, -3'000, 70'000);
}

void SmallGame::go_on(World& world, EntityId entity) {
    Course* course = world.edit(entity, schema_->course);
    const std::uint32_t every = 8 + static_cast<std::uint32_t>(mix64(index_of(entity)) % 40);
    std::uint64_t& law = laws_[entity];
    if (random_.below(every) == 0) {
        law = random_.next();
        if (law % 5 == 0) *course = {random_.between(-55, 55), 500, course->gear};
        if (law % 3 == 0) course->gear = static_cast<std::uint8_t>(random_.below(6));
    }
    drift(*course, law);
}

void SmallGame::on_tick(Server& server, Tick tick) {
    World& world = server.world();
    carts.note_commands(world);
    if (frozen) return;
    const auto wander = [&](EntityId entity, float step) {
        Vec3 at = world.position_of(entity);
        at.x = std::clamp(at.x + random_.between(-step, step), 0.0F, side_m);
        at.y = std::clamp(at.y + random_.between(-step, step), 0.0F, side_m);
        (void)world.move(entity, at);
    };
    for (const EntityId entity : movers) {
        if (random_.chance(0.5F)) wander(entity, 2);
        if (random_.chance(0.1F)) think(world, entity);
        go_on(world, entity);
    }
    live_herd(world);
    live_books(world);
    carts.live(server);
    for (auto& [observer, player] : players) {
        wander(player, 3);
        Body* body = world.edit(player, schema_->body);
        if (random_.chance(0.02F)) body->cloaked = !body->cloaked;
        if (random_.chance(0.02F)) body->team = static_cast<std::uint8_t>(random_.below(4));
        if (random_.chance(0.1F)) body->hp = static_cast<std::uint16_t>(random_.below(1000));
        if (random_.chance(0.2F))
            world.edit(player, schema_->pack)->ammo =
                static_cast<std::uint16_t>(random_.below(500));
        if (random_.chance(0.1F)) {
            *world.edit(player, schema_->orders) = {static_cast<std::uint8_t>(random_.below(20)),
                                                    any_entity()};
        }
        if (random_.chance(0.1F))
            world.edit(player, schema_->rumour)->mood = static_cast<std::uint8_t>(random_.below(9));
    }
    for (const EntityId crate : crates_) {
        if (random_.chance(0.02F))
            (void)world.set_local_position(crate,
                                           {random_.between(-4, 4), random_.between(-4, 4), 0});
        if (random_.chance(0.01F)) (void)world.detach(crate);
        if (!random_.chance(0.01F)) continue;
        const EntityId wagon = wagons_[random_.below(static_cast<std::uint32_t>(wagons_.size()))];
        const Vec3 at = world.position_of(wagon);
        (void)world.move(crate,
                         {at.x + random_.between(-90, 90), at.y + random_.between(-90, 90), 0});
        (void)world.attach(crate, wagon);
    }
    if (tick % 3 == 0 && movers.size() > 20) {
        const std::size_t at = random_.below(scale_.animals);
        if (world.kind_of(movers[at]) == schema_->animal) {
            laws_.erase(movers[at]);
            (void)world.despawn(movers[at]);
            movers[at] = world.spawn({.kind = schema_->animal, .position = random_position()});
            give_tag(world, movers[at]);
        }
    }
    if (ticks_between_rules > 0 && tick % ticks_between_rules == 0) change_rules(server);
    if (budgets[1] > 0) change_budgets(server);
    change_owners(world);
    make_marks(server);
    make_calls(server);
    send_chat(server);
}

void SmallGame::on_input(Server& /*server*/, ObserverId /*observer*/, GroupState& group,
                         const GroupInput& command) {
    carts.step.step(group, command);
}

void SmallGame::change_budgets(Server& server) {
    if (frozen || !rule_random_.chance(0.1F)) return;
    const ObserverId observer = any_observer(rule_random_);
    const std::uint32_t bytes = budgets[0] + rule_random_.below(budgets[1] - budgets[0]);
    if (server.set_budget(observer, bytes) == Status::ok) ++budget_changes;
}

/// Changes the radius and steps of the first node, and sometimes adds a second node.
void SmallGame::change_rules(Server& server) {
    Rules rules = rules_of(*schema_, scale_);
    std::vector<Kernel>& steps = rules.nodes[0].steps;
    steps[0].enter = rule_random_.between(25, 45);
    steps[0].leave = steps[0].enter + rule_random_.between(0, 6);
    if (rule_random_.chance(0.3F)) steps[2].combine = Combine::require;  // only cloaked ones
    if (rule_random_.chance(0.3F)) steps.erase(steps.begin() + 1);
    if (rule_random_.chance(0.3F)) {
        NodeDef& close = rules.nodes.emplace_back(rules.nodes[0]);
        close.name = "close by";
        close.steps.assign(1, rules.nodes[0].steps[0]);
        close.steps[0].enter = 12;
        close.steps[0].leave = 15;
    }
    if (!server.set_rules(rules).empty()) std::abort();
    ++rule_changes;
}

/// Uses its own random generator, so a herd does not change the rest of the world.
void SmallGame::live_herd(World& world) {
    SplitMix& random = herd_random_;
    for (EntityId& entity : herd_) {
        if (random.chance(0.5F)) {
            Vec3 at = world.position_of(entity);
            at.x = std::clamp(at.x + random.between(-2, 2), 0.0F, side_m);
            at.y = std::clamp(at.y + random.between(-2, 2), 0.0F, side_m);
            (void)world.move(entity, at);
        }
        Body* body = world.edit(entity, schema_->body);
        if (random.chance(0.1F)) body->hp = static_cast<std::uint16_t>(random.below(1000));
        if (random.chance(0.005F)) body->cloaked = !body->cloaked;
        if (!random.chance(0.002F)) continue;
        const KindId kind = world.kind_of(entity);
        (void)world.despawn(entity);
        entity = world.spawn({.kind = kind, .position = position_by(herd_random_)});
        give_tag(world, entity);
    }
}

void SmallGame::live_books(World& world) {
    SplitMix& random = book_random_;
    for (EntityId& book : books_) {
        if (random.chance(0.002F)) {
            (void)world.despawn(book);
            book = new_book(world);
        }
        if (random.chance(0.2F)) {
            Vec3 at = world.position_of(book);
            at.x = std::clamp(at.x + random.between(-2, 2), 0.0F, side_m);
            at.y = std::clamp(at.y + random.between(-2, 2), 0.0F, side_m);
            (void)world.move(book, at);
        }
        if (random.chance(0.05F)) write_page(world, book, random.below(SmallSchema::pages_of_book));
        if (random.chance(0.05F))
            world.edit(book, schema_->pack)->ammo = static_cast<std::uint16_t>(random.below(500));
        if (random.chance(0.05F))
            world.edit(book, schema_->rumour)->mood = static_cast<std::uint8_t>(random.below(9));
    }
}

EntityId SmallGame::new_book(World& world) {
    const EntityId book =
        world.spawn({.kind = schema_->book, .position = position_by(book_random_)});
    give_tag(world, book);
    for (std::size_t page = 0; page < schema_->pages.size(); ++page) write_page(world, book, page);
    return book;
}

void SmallGame::write_page(World& world, EntityId book, std::size_t page) {
    Page* its = world.edit(book, schema_->pages[page]);
    for (std::size_t i = 0; i < std::size(its->left); ++i) {
        its->left[i] = static_cast<char>('a' + book_random_.below(26));
        its->right[i] = static_cast<char>('a' + book_random_.below(26));
    }
}

// -- overrides ----------------------------------------------------------------------------------

ObserverId SmallGame::any_observer(SplitMix& random) const {
    const auto count = static_cast<std::uint32_t>(players.size() + cameras.size());
    if (count == 0) return ObserverId::none;
    const std::uint32_t at = random.below(count);
    if (at < players.size()) return ObserverId{std::next(players.begin(), at)->first};
    return ObserverId{
        std::next(cameras.begin(), at - static_cast<std::uint32_t>(players.size()))->first};
}

/// Returns a random entity that is not a tree. Group members and players are as likely as others.
EntityId SmallGame::anything(SplitMix& random) const {
    const auto any = [&](const std::vector<EntityId>& list) {
        return list[random.below(static_cast<std::uint32_t>(list.size()))];
    };
    const std::uint32_t what = random.below(8);
    if (what == 0 && !herd_.empty()) return any(herd_);
    if (what == 1 && !books_.empty()) return any(books_);
    if (what == 2 && !crates_.empty()) return any(crates_);
    if (what == 3 && !wagons_.empty()) return any(wagons_);
    if (what == 4 && !players.empty()) {
        return std::next(players.begin(), random.below(static_cast<std::uint32_t>(players.size())))
            ->second;
    }
    if (what == 5 && !carts.all.empty()) return any(carts.all);
    return any(movers);
}

/// Returns the nearest of 16 random entities, because most random pairs are never relevant.
EntityId SmallGame::near_to(const World& world, ObserverId observer, SplitMix& random) const {
    const auto number = static_cast<std::uint32_t>(observer);
    const auto player = players.find(number);
    const Vec3 here =
        player != players.end() ? world.position_of(player->second) : cameras.at(number);
    EntityId nearest = EntityId::none;
    float nearest_m = 0;
    for (int i = 0; i < 16; ++i) {
        const EntityId entity = anything(random);
        const Vec3 at = world.position_of(entity);
        const float distance_m = std::hypot(at.x - here.x, at.y - here.y);
        if (nearest != EntityId::none && distance_m >= nearest_m) continue;
        nearest = entity;
        nearest_m = distance_m;
    }
    return nearest;
}

bool SmallGame::is_denied(const World& world, ObserverId observer, EntityId entity) const {
    for (EntityId one = entity; one != EntityId::none; one = world.group_parent_of(one))
        if (is_marked({Mark::What::deny, observer, one})) return true;
    return false;
}

void SmallGame::set_mark(Server& server, const Mark& mark, bool value) {
    Visibility& interest = server.visibility();
    Status status = Status::ok;
    switch (mark.what) {
        case Mark::What::allow:
            status = interest.allow(mark.observer, mark.entity, value);
            break;
        case Mark::What::deny:
            status = interest.deny(mark.observer, mark.entity, value);
            break;
        case Mark::What::hide:
            status = interest.set_hidden(mark.entity, value);
            break;
        case Mark::What::show:
            status = interest.show_to_all(mark.entity, value);
            break;
    }
    const bool may_be_gone = !value && status == Status::stale_id;
    if (status != Status::ok && status != Status::hidden_by_root && !may_be_gone) std::abort();
}

/// Each override is valid until `marks_max` later ones were made.
void SmallGame::make_marks(Server& server) {
    constexpr std::size_t marks_max = 160;
    SplitMix& random = mark_random_;
    for (std::uint32_t i = 0; i < marks_per_tick; ++i) {
        Mark mark{Mark::What::allow, any_observer(random)};
        if (mark.observer == ObserverId::none) return;
        const std::uint32_t what = random.below(20);
        if (what >= 9) mark.what = Mark::What::deny;
        if (what >= 17) mark.what = Mark::What::hide;
        if (what == 19) mark.what = Mark::What::show;
        const bool shows = mark.what == Mark::What::allow || mark.what == Mark::What::show;
        mark.entity = shows ? anything(random) : near_to(server.world(), mark.observer, random);
        if (mark.what == Mark::What::hide || mark.what == Mark::What::show)
            mark.observer = ObserverId::none;
        if (is_marked(mark)) continue;
        if (marks_.size() == marks_max) {
            set_mark(server, marks_.front(), false);
            marked_.erase(marks_.front());
            marks_.pop_front();
        }
        set_mark(server, mark, true);
        marks_.push_back(mark);
        marked_.insert(mark);
    }
}

// -- owners -------------------------------------------------------------------------------------

void SmallGame::set_owner(World& world, EntityId thing, ObserverId owner) {
    if (world.owner_of(thing) == owner) return;
    if (world.set_owner(thing, owner) != Status::ok) std::abort();
    ++owner_changes;
}

void SmallGame::change_owners(World& world) {
    SplitMix& random = owner_random_;
    if (owner_chance == 0 || !random.chance(owner_chance)) return;
    const std::vector<EntityId>* things = &wagons_;
    if (random.chance(0.3F) && !books_.empty()) things = &books_;
    if (random.chance(0.3F)) things = &crates_;
    if (!carts.all.empty() && random.chance(0.3F)) things = &carts.all;
    if (things->empty()) return;
    const EntityId thing = (*things)[random.below(static_cast<std::uint32_t>(things->size()))];
    set_owner(world, thing, random.chance(0.5F) ? any_observer(random) : ObserverId::none);
}

/// The player drops something that it owns, or takes the nearest thing without owner.
void SmallGame::take_or_drop(World& world, ObserverId observer) {
    const Vec3 here = world.position_of(players.at(static_cast<std::uint32_t>(observer)));
    EntityId taken = EntityId::none, dropped = EntityId::none;
    float taken_m = 0;
    for (const auto* things : {&wagons_, &books_, &carts.all}) {
        for (const EntityId thing : *things) {
            const ObserverId owner = world.owner_of(thing);
            if (owner == observer) dropped = thing;
            if (owner != ObserverId::none) continue;
            const Vec3 at = world.position_of(thing);
            const float distance_m = std::hypot(at.x - here.x, at.y - here.y);
            if (taken != EntityId::none && distance_m >= taken_m) continue;
            taken = thing;
            taken_m = distance_m;
        }
    }
    const EntityId thing = dropped != EntityId::none ? dropped : taken;
    if (thing == EntityId::none) return;
    set_owner(world, thing, dropped != EntityId::none ? ObserverId::none : observer);
    ++owner_changes_by_players;
}

// -- messages -----------------------------------------------------------------------------------

void SmallGame::send_chat(Server& server, ObserverId observer) {
    const std::uint64_t client = client_of(observer);
    if (server.send_message(observer, mail->next_message(Mail::Way::to_client, client)) ==
        Status::ok)
        mail->message_sent(Mail::Way::to_client, client);
}

void SmallGame::send_chat(Server& server) {
    if (mail == nullptr) return;
    for (const auto& [observer, player] : players) {
        if (mail_random_.chance(0.05F)) send_chat(server, ObserverId{observer});
    }
    for (const auto& [observer, camera] : cameras) {
        if (mail_random_.chance(0.05F)) send_chat(server, ObserverId{observer});
    }
}

void SmallGame::give_tag(World& world, EntityId entity) {
    world.edit(entity, schema_->body)->tag = next_tag_++;
}

/// Calls may refer to entities spawned in this tick.
void SmallGame::make_calls(Server& server) {
    const auto any = [&](const auto& list) {
        return list[call_random_.below(static_cast<std::uint32_t>(list.size()))];
    };
    for (std::uint32_t i = 0; i < calls_per_tick; ++i) {
        Ping args{0, next_call_++};
        EntityId target = EntityId::none;
        Vec3 position;
        Rpc<Ping> rpc;
        CallId made = CallId::none;
        const std::uint32_t what = call_random_.below(10);
        if (what == 0) {
            rpc = any(schema_->booms);
            position = Vec3{call_random_.between(0, side_m), call_random_.between(0, side_m), 0};
            made = server.call({.position = position}, rpc, args).value();
        } else if (what == 1) {
            rpc = any(schema_->news);
            made = server.call({}, rpc, args).value();
        } else {
            rpc = any(schema_->pings);
            target = any(movers);
            if (what < 4 && !players.empty()) {
                target = std::next(players.begin(),
                                   call_random_.below(static_cast<std::uint32_t>(players.size())))
                             ->second;
            }
            args.tag = server.world().get(target, schema_->body)->tag;
            made = server.call({.entity = target}, rpc, args).value();
        }
        ledger->made(made, rpc.id, target, args, position);
    }
}

void SmallGame::on_rpc(Server& server, ObserverId observer, RpcId rpc, EntityId target,
                       std::span<const std::byte> args) {
    Ping ping;
    if (ledger == nullptr || !read_args(Rpc<Ping>{rpc}, rpc, args, ping)) return;
    const Body* body = server.world().get(target, schema_->body);
    ledger->server_got(client_of(observer), rpc, target, body == nullptr ? 0 : body->tag, ping);
}

std::optional<bool> SmallGame::covers(const World& world, ObserverId observer,
                                      Vec3 position) const {
    // Derived from rules_of() and change_rules(). The cells of the herds reach up to two cell
    // sizes.
    constexpr float surely_m = 12, at_most_m = 51, across_m = 60, along_m = 50;
    const auto number = static_cast<std::uint32_t>(observer);
    Vec3 here;
    if (const auto player = players.find(number); player != players.end()) {
        here = world.position_of(player->second);
    } else if (const auto camera = cameras.find(number); camera != cameras.end()) {
        here = camera->second;
    } else {
        return std::nullopt;
    }
    const float x = std::abs(position.x - here.x), y = std::abs(position.y - here.y);
    if (std::hypot(x, y) < surely_m && scale_.node_settings) return true;
    if (std::hypot(x, y) > at_most_m && (x > across_m || y > along_m)) return false;
    return std::nullopt;
}

check::TruthObserver SmallGame::describe(ObserverId observer) const {
    check::TruthObserver truth;
    truth.id = observer;
    truth.ready = true;
    truth.times_ready = 1;
    if (const auto player = players.find(static_cast<std::uint32_t>(observer));
        player != players.end()) {
        truth.main = player->second;
    }
    if (const auto camera = cameras.find(static_cast<std::uint32_t>(observer));
        camera != cameras.end()) {
        truth.areas.push_back(camera->second);
    }
    for (const Mark& mark : marks_) {
        if (mark.observer != observer) continue;
        (mark.what == Mark::What::allow ? truth.allowed : truth.denied).push_back(mark.entity);
    }
    return truth;
}

void SmallGame::describe_entity(check::TruthEntity& entity) const {
    entity.force_hidden = is_marked({Mark::What::hide, ObserverId::none, entity.id});
    entity.shown_to_all = is_marked({Mark::What::show, ObserverId::none, entity.id});
}

}  // namespace purview::test
