// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Purview authors
//
// The content of the small world: components, audiences and rules.
#include <algorithm>
#include <cstdlib>

#include "core/internal_access.hpp"
#include "small_game.hpp"

namespace purview::test {

Component<Position> add_position(Schema& schema, double min_m, double max_m) {
    const Component<Position> position = schema.component<Position>("place").quantized(
        {"x", "y"}, &Position::at, {min_m, max_m, 0.01});
    schema.set_position(position.id);
    return position;
}

SmallSchema::SmallSchema(bool has_books, bool has_carts) {
    position = add_position(schema, -SmallGame::beside_m, SmallGame::side_m + SmallGame::beside_m);
    body = schema.component<Body>("body")
               .integer("team", &Body::team, 0, 8)
               .boolean("cloaked", &Body::cloaked)
               .integer("hp", &Body::hp, 0, 999)
               .quantized("facing", &Body::facing, {-4, 4, 0.05})
               .integer("tag", &Body::tag, 0, (1 << 20) - 1);
    tag_field = schema.find_field(body.id, "tag");
    mind = schema.component<Mind>("mind")
               .text("name", &Mind::name)
               .reference("target", &Mind::target)
               .rotation("head", &Mind::head)
               .ranged("effort", &Mind::effort, -10, 10);
    pack = schema.component<Pack>("pack").integer("ammo", &Pack::ammo, 0, 500);
    orders = schema.component<Orders>("orders")
                 .integer("order", &Orders::order, 0, 20)
                 .reference("escort", &Orders::escort);
    rumour = schema.component<Rumour>("rumour").integer("mood", &Rumour::mood, 0, 9);
    scent = schema.component<Scent>("scent").real("strength", &Scent::score);
    course = schema.component<Course>("course")
                 .quantized("heading", &Course::heading, {-50, 50, 0.01})
                 .integer("cargo", &Course::cargo, -3000, 70'000)
                 .extrapolated()
                 .integer("gear", &Course::gear, 0, 5);
    audience->body = body;
    player = schema.kind("player", {position.id, body.id, pack.id, orders.id, rumour.id}, 4);
    animal = schema.kind("animal", {position.id, body.id, mind.id, scent.id, course.id});
    tree = schema.kind("tree", {position.id});
    wagon = schema.kind("wagon", {position.id, body.id, course.id});
    crate = schema.kind("crate", {position.id});
    sheep = schema.kind("sheep", {position.id, body.id});
    goat = schema.kind("goat", {position.id, body.id});
    schema.edit_kind(crate).relative_position = true;
    schema.set_orientation(wagon, course.id, "heading", 40, TurnAxis::z);
    schema.edit_kind(wagon).leave = Retention::stale;
    schema.edit_kind(wagon).retention_ticks = 100;
    schema.edit_kind(animal).leave = Retention::freeze;
    schema.edit_kind(animal).retention_ticks = 30;
    schema.edit_kind(tree).leave = Retention::deactivate;
    schema.edit_kind(animal).teleport_distance = 20;
    schema.edit_kind(animal).intervals = {{0, 4}, {0.7F, 2}, {0.85F, 1}};
    cloaked = schema.flag("cloaked", body.id, "cloaked");
    team = schema.key("team", body.id, "team");
    schema.audience(pack.id, {AudienceType::owner});
    schema.audience(orders.id, {AudienceType::same_key, team, nullptr, true});
    schema.audience(rumour.id, {AudienceType::others});
    schema.audience(scent.id, {AudienceType::custom, KeyId::none, audience.get(), false});
    declare_calls();
    if (has_books) declare_books();
    if (has_carts) declare_carts();
    if (!schema.problem().empty()) std::abort();
}

/// A book has components for its owner, for all others, and with staged replication.
void SmallSchema::declare_books() {
    std::vector<ComponentId> parts{position.id, body.id, pack.id, rumour.id};
    for (std::size_t i = 0; i < pages_of_book; ++i) {
        const Component<Page> page = schema.component<Page>("page" + std::to_string(i))
                                         .text("left", &Page::left)
                                         .text("right", &Page::right);
        schema.audience(page.id, {AudienceType::staged});
        pages.push_back(page);
        parts.push_back(page.id);
    }
    book = schema.kind("book", parts);
}

void SmallSchema::declare_carts() {
    gait = schema.component<Gait>("gait")
               .quantized("speed", &Gait::speed, {-1, 1, 1.0 / 64})
               .quantized("course", &Gait::course, {-4, 4, 1.0 / 64})
               .integer("steps", &Gait::steps, 0, 999);
    reins = schema.input<Reins>("reins")
                .quantized("pull", &Reins::pull, {-1, 1, 1.0 / 64})
                .quantized("turn", &Reins::turn, {-0.25, 0.25, 1.0 / 64});
    cart = schema.kind("cart", {position.id, gait.id});
    mule = schema.kind("mule", {gait.id});
    schema.take_input(cart, reins.id);
    schema.take_input(mule, reins.id);
    schema.predict(gait.id);
    schema.audience(gait.id, {AudienceType::unpredicted});
}

void SmallAudience::decide(ObserverId observer, std::span<const EntityId> entities,
                           std::span<std::uint8_t> allowed) const {
    if (server == nullptr) return std::fill(allowed.begin(), allowed.end(), std::uint8_t{1});
    for (std::size_t i = 0; i < entities.size(); ++i) {
        const Body* its = internal(*server).world.get(entities[i], body);
        const std::uint32_t now = server->current_tick() / 16 + index_of(observer);
        allowed[i] = (its->hp / 8 + now) % 3 != 0 ? 1 : 0;
    }
}

void SmallSchema::declare_calls() {
    const auto declare = [this](const std::string& name, const RpcDesc& desc) -> Rpc<Ping> {
        return schema.rpc<Ping>(name, desc)
            .integer("tag", &Ping::tag, 0, (1 << 20) - 1)
            .integer("number", &Ping::number, 0, 0xffffffff);
    };
    for (const auto delivery : {RpcDelivery::unreliable, RpcDelivery::reliable_unordered,
                                RpcDelivery::reliable_ordered}) {
        const std::string how = std::to_string(static_cast<unsigned>(delivery));
        RpcDesc desc;
        desc.delivery = delivery;
        for (const auto policy : {RpcPolicy::cull, RpcPolicy::hold, RpcPolicy::force}) {
            desc.policy = policy;
            desc.hold_ticks = policy == RpcPolicy::hold ? hold_ticks : 0;
            pings.push_back(
                declare("ping" + how + std::to_string(static_cast<unsigned>(policy)), desc));
        }
        desc.policy = RpcPolicy::cull;
        desc.hold_ticks = 0;
        desc.target = RpcTarget::position;
        booms.push_back(declare("boom" + how, desc));
        desc.target = RpcTarget::none;
        news.push_back(declare("news" + how, desc));
        desc.direction = RpcDirection::to_server;
        desc.callers = RpcCallers::players;
        shouts.push_back(declare("shout" + how, desc));
        desc.target = RpcTarget::entity;
        desc.callers = RpcCallers::anyone;
        uses.push_back(declare("use" + how, desc));
    }
    steer = declare("steer", {RpcDirection::to_server, RpcTarget::entity, RpcDelivery::unreliable,
                              RpcPolicy::cull, 0, RpcCallers::owner});
    order =
        declare("order", {RpcDirection::to_server, RpcTarget::entity, RpcDelivery::reliable_ordered,
                          RpcPolicy::cull, 0, RpcCallers::owner});
}

Rules small_rules(const SmallSchema& schema) {
    Rules rules;
    rules.max = {SmallGame::side_m, SmallGame::side_m, 0};
    rules.entities_expected = 500;
    rules.group_radius_max = 60;  // some wagons have crates at a larger distance
    NodeDef node;
    node.name = "near or team, not cloaked";
    node.add(within(40).leave_at(44)).add(same(schema.team)).subtract(schema.cloaked);
    rules.nodes.push_back(node);
    return rules;
}

Rules shared_rules(const SmallSchema& schema) {
    Rules rules = small_rules(schema);
    for (const Payload mode : {Payload::read_many, Payload::update_many}) {
        NodeDef node;
        node.name = mode == Payload::read_many ? "sheep" : "goats";
        node.members = Members::bound;
        node.payload = mode;
        node.add(cells(30, 25, 1)).subtract(schema.cloaked);
        rules.nodes.push_back(node);
    }
    return rules;
}

std::vector<KindRules> small_kinds(const SmallSchema& schema) {
    std::vector<KindRules> kinds(schema.schema.kinds().size());
    kinds[index_of(schema.wagon)].uses_group_radius = true;
    return kinds;
}

std::vector<KindRules> shared_kinds(const SmallSchema& schema) {
    std::vector<KindRules> kinds = small_kinds(schema);
    kinds[index_of(schema.sheep)].nodes = {id_at<NodeId>(1)};
    kinds[index_of(schema.goat)].nodes = {id_at<NodeId>(2)};
    return kinds;
}

namespace {

void set_books(std::vector<KindRules>& kinds, const SmallSchema& schema, std::uint32_t node) {
    kinds[index_of(schema.book)].nodes = {id_at<NodeId>(node)};
}

/// The node of the books follows the nodes of the herds, if they exist.
std::uint32_t node_of_books(const SmallScale& scale) {
    return scale.herd > 0 ? 3 : 1;
}

}  // namespace

Rules rules_of(const SmallSchema& schema, const SmallScale& scale) {
    Rules rules = scale.herd > 0 ? shared_rules(schema) : small_rules(schema);
    if (scale.books > 0) {
        NodeDef& books = rules.nodes.emplace_back();
        books.name = "books";
        books.add(within(20).leave_at(24));
        books.members = Members::bound;
        if (scale.node_settings) books.replication = {3, 2, Retention::freeze};
    }
    if (scale.node_settings) {
        rules.nodes[0].replication.every_ticks = 2;
        NodeDef& at_hand = rules.nodes.emplace_back();
        at_hand.name = "at hand, not cloaked";
        at_hand.add(within(12).leave_at(15)).subtract(schema.cloaked);
        at_hand.members = Members::unbound;
        at_hand.replication = {1, 2, Retention::stale};
    }
    return rules;
}

std::vector<KindRules> kinds_of(const SmallSchema& schema, const SmallScale& scale) {
    std::vector<KindRules> kinds = scale.herd > 0 ? shared_kinds(schema) : small_kinds(schema);
    if (scale.books > 0) set_books(kinds, schema, node_of_books(scale));
    KindRules& crates = kinds[index_of(schema.crate)];
    crates.culled_independently = crates.keeps_ancestors = scale.split_crates;
    return kinds;
}

void test_mac(std::span<const std::byte, 32> key, std::span<const std::byte> data,
              std::span<std::byte, 16> out) {
    const std::uint64_t a = hash_bytes(data, hash_bytes(key, 1));
    const std::uint64_t b = hash_bytes(data, hash_bytes(key, 2));
    std::memcpy(out.data(), &a, 8);
    std::memcpy(out.data() + 8, &b, 8);
}

}  // namespace purview::test
