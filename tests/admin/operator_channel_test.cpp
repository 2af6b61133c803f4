// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Purview authors
#include <doctest/doctest.h>

#include <algorithm>
#include <cstring>
#include <nlohmann/json.hpp>

#include "admin/operator_channel.hpp"
#include "core/internal_access.hpp"
#include "small_game.hpp"
#include "support/stage.hpp"

namespace purview::test {

namespace {

using nlohmann::json;

/// A server with three clients and an operator channel. Records the messages to operators.
class Desk {
  public:
    explicit Desk(bool read_only = false) : world(41, {}) {
        for (int i = 0; i < 3; ++i) world.add_client();
        world.run(40);
        REQUIRE(world.joined_count() == 3);
        admin::OperatorDef def;
        def.names = scene::names_of(world.schema.schema);
        def.rules_read_only = read_only;
        def.main_of = [this](ObserverId observer) {
            const auto player = world.game.players.find(static_cast<std::uint32_t>(observer));
            return player == world.game.players.end() ? EntityId::none : player->second;
        };
        def.note = [this](const std::string& text) { notes.push_back(text); };
        channel = std::make_unique<admin::OperatorChannel>(
            *world.server,
            [this](std::uint32_t connection, std::string_view text, bool binary) {
                if (!binary) messages.emplace_back(connection, json::parse(text));
            },
            std::move(def));
    }
    /// Sends a request from connection 1 and returns its only reply.
    json query(const json& request) { return send_text_request(request.dump()); }
    json send_text_request(const std::string& request) {
        messages.clear();
        channel->message(1, request);
        REQUIRE(messages.size() == 1);
        CHECK(messages[0].first == 1);
        return messages[0].second;
    }
    ObserverId observer() const { return ObserverId{world.game.players.begin()->first}; }

    SmallWorld world;
    std::unique_ptr<admin::OperatorChannel> channel;
    std::vector<std::pair<std::uint32_t, json>> messages;
    std::vector<std::string> notes;
};

json one_node(const std::vector<std::string>& steps) {
    return json::array({{{"name", "near or team, not cloaked"}, {"steps", steps}}});
}

}  // namespace

TEST_CASE("operator: the rules reply has nodes as text, names and the revision (N31 M30)") {
    Desk desk;
    const json rules = desk.query({{"op", "rules"}});
    CHECK(rules["op"] == "rules");
    CHECK(rules["revision"] == 1);
    CHECK(rules["editable"] == true);
    REQUIRE(rules["nodes"].size() == 1);
    const json& node = rules["nodes"][0];
    CHECK(node["name"] == "near or team, not cloaked");
    CHECK(node["type"] == "grid");
    CHECK(node["members"] == "all");
    CHECK(node["combine"] == "add");
    CHECK(node["refresh"] == "exact");
    CHECK(node["enabled"] == true);
    CHECK(node["steps"] ==
          json({"add within 40 leave 44", "add same team", "subtract flag cloaked"}));
    CHECK(rules["names"]["flags"] == json({"cloaked"}));
    CHECK(rules["names"]["keys"] == json({"team"}));
    CHECK(rules["names"]["values"] == json::array());
    CHECK(rules["warnings"].is_array());
    CHECK(desk.query({{"op", "stats"}})["rules_revision"] == 1);
    CHECK(desk.query({{"op", "stats"}})["counters"]["drop.bad_cookie"] == 0);
}

TEST_CASE("operator: invalid rules are refused with node, step and column (N39)") {
    Desk desk;
    for (const char* op : {"try_rules", "set_rules"}) {
        const auto wrong = [&](const json& nodes) {
            json reply = desk.query({{"op", op}, {"nodes", nodes}});
            CHECK(reply["op"] == "error");
            CHECK(reply["about"] == op);
            reply.erase("op");
            reply.erase("about");
            return reply;
        };
        CHECK(wrong(one_node({"add same team", "add flag shiny"})) ==
              json({{"text", "no flag 'shiny'; available: cloaked"},
                    {"node", 0},
                    {"step", 1},
                    {"column", 10}}));
        CHECK(wrong(one_node({"require sight"})) ==
              json({{"text", "this world has no line of sight"},
                    {"node", 0},
                    {"step", 0},
                    {"column", 9}}));
        json nodes = one_node({});
        nodes[0]["refresh"] = "every day";
        CHECK(wrong(nodes) == json({{"text", "'day' is not a number of ticks, 1 to 10000"},
                                    {"node", 0},
                                    {"key", "refresh"},
                                    {"column", 7}}));
        nodes = one_node({});
        nodes[0]["type"] = "everything";
        CHECK(wrong(nodes) == json({{"text", "'everything' is not grid, dispatcher or custom"},
                                    {"node", 0},
                                    {"key", "type"},
                                    {"column", 1}}));
        // 31 steps with hysteresis are one more than allowed. Only the engine checks this limit.
        nodes = one_node(std::vector<std::string>(31, "add within 5 leave 6"));
        const json reply = wrong(nodes);
        CHECK(reply["node"] == 0);
        CHECK(reply["step"] == 30);
        CHECK(wrong(json())["text"] == "the message needs 'nodes', a list");
        CHECK(wrong(json::array({3})) ==
              json({{"text", "a node must be a JSON object"}, {"node", 0}}));
        CHECK(wrong(json::array({json::object()}))["text"] == "a node needs 'name'");
        CHECK(wrong(json::array({{{"name", "a"}}}))["text"] == "a node needs 'steps'");
        const auto with = [&](const char* key, const json& value) {
            json list = one_node({});
            list[0][key] = value;
            const json answer = wrong(list);
            CHECK(answer["node"] == 0);
            CHECK(answer["key"] == key);
            return answer["text"].get<std::string>();
        };
        CHECK(with("color", 1) == "unknown key 'color'");
        CHECK(with("name", 1) == "'name' must be a string");
        CHECK(with("steps", "add owner") == "'steps' must be a list of strings");
        CHECK(with("steps", {1}) == "'steps' must be a list of strings");
        CHECK(with("enabled", 1) == "'enabled' must be true or false");
        CHECK(with("widen_m", "far") == "'widen_m' must be a number of at most 1000000");
        CHECK(with("priority", 1e300) == "'priority' must be a number of at most 1000000");
        CHECK(with("every_ticks", -1) == "'every_ticks' must be a whole number of 0 or more");
        CHECK(with("every_ticks", 1e10) == "'every_ticks' must be a whole number of 0 or more");
        CHECK(with("leave", 1) == "'leave' must be a string");
        CHECK(wrong(json(65, one_node({})[0]))["text"] == "there are 65 nodes; the limit is 64");
    }
    CHECK(desk.world.server->rules_revision() == 1);
    CHECK(desk.notes.empty());
}

TEST_CASE("operator: a rule change goes once to each subscriber of rules (N39 M30)") {
    Desk desk;
    desk.channel->message(2, R"({"op":"rules"})");
    desk.channel->message(3, R"({"op":"stats"})");
    desk.messages.clear();
    const json request = {{"op", "set_rules"}, {"nodes", one_node({"add within 60 leave 66"})}};
    desk.channel->message(1, request.dump());
    REQUIRE(desk.messages.size() == 2);
    CHECK(desk.messages[0].first == 1);
    CHECK(desk.messages[1].first == 2);
    for (const auto& [connection, reply] : desk.messages) {
        CHECK(reply["op"] == "rules");
        CHECK(reply["revision"] == 2);
        CHECK(reply["nodes"][0]["steps"] == json({"add within 60 leave 66"}));
    }
    REQUIRE(desk.notes.size() == 1);
    CHECK(desk.notes[0] == "an operator changed the rules: revision 2, nodes: 1");
    desk.messages.clear();
    desk.channel->message(2, request.dump());  // the sender gets one reply, not two
    REQUIRE(desk.messages.size() == 1);
    CHECK(desk.messages[0].first == 2);
    CHECK(desk.messages[0].second["revision"] == 3);
    // Rules that changed by other means are sent after the tick.
    desk.messages.clear();
    REQUIRE(desk.world.server->set_rules(small_rules(desk.world.schema)) == "");
    desk.channel->tick_done();
    REQUIRE(desk.messages.size() == 1);
    CHECK(desk.messages[0].second["revision"] == 4);
    desk.messages.clear();
    desk.channel->tick_done();
    CHECK(desk.messages.empty());
    desk.channel->closed(2);
    REQUIRE(desk.world.server->set_rules(small_rules(desk.world.schema)) == "");
    desk.channel->tick_done();
    CHECK(desk.messages.empty());
}

TEST_CASE("operator: rules based on an old revision do not replace newer rules") {
    Desk desk;
    const auto set = [&](const json& revision, const char* step) {
        return desk.query(
            {{"op", "set_rules"}, {"nodes", one_node({step})}, {"revision", revision}});
    };
    CHECK(set(1, "add within 60 leave 66")["revision"] == 2);
    for (const std::uint64_t other : {std::uint64_t{1}, std::uint64_t{3}, ~std::uint64_t{0}}) {
        CHECK(
            set(other, "add within 5") ==
            json({{"op", "error"},
                  {"about", "set_rules"},
                  {"text", "based on revision " + std::to_string(other) +
                               ", but the server runs revision 2: reload the rules and try again"},
                  {"revision", 2}}));
    }
    for (const json& bad : {json("2"), json(-1), json(2.5), json(nullptr)}) {
        const json reply = set(bad, "add within 5");
        CHECK(reply["text"] == "'revision' must be a whole number of 0 or more");
        CHECK(!reply.contains("revision"));
    }
    CHECK(desk.query({{"op", "rules"}})["nodes"][0]["steps"] == json({"add within 60 leave 66"}));
    // If the request has no revision, the last one wins.
    CHECK(desk.query({{"op", "set_rules"}, {"nodes", one_node({"add within 5"})}})["revision"] ==
          3);
}

TEST_CASE("operator: a dry run reports gains and losses and changes nothing (N39)") {
    Desk desk;
    const json wider = desk.query({{"op", "try_rules"}, {"nodes", one_node({"add within 1000"})}});
    CHECK(wider["op"] == "try_rules");
    CHECK(wider["gains"] > 100);
    CHECK(wider["warnings"].is_array());
    REQUIRE(wider["observers"].size() == 3);
    std::size_t gains = 0;
    std::size_t most = wider["observers"][0]["gains"].get<std::size_t>() +
                       wider["observers"][0]["losses"].get<std::size_t>();
    for (const json& one : wider["observers"]) {
        gains += one["gains"].get<std::size_t>();
        const std::size_t both = one["gains"].get<std::size_t>() + one["losses"].get<std::size_t>();
        CHECK(both <= most);
        most = both;
    }
    CHECK(wider["gains"] == gains);
    const json same =
        desk.query({{"op", "try_rules"}, {"nodes", desk.query({{"op", "rules"}})["nodes"]}});
    CHECK(same["gains"] == 0);
    CHECK(same["losses"] == 0);
    CHECK(same["observers"].empty());
    CHECK(desk.world.server->rules_revision() == 1);
}

TEST_CASE("operator: --read-only-rules allows reading and dry runs, but no changes") {
    Desk desk(true);
    CHECK(desk.query({{"op", "rules"}})["editable"] == false);
    CHECK(desk.query({{"op", "try_rules"}, {"nodes", one_node({})}})["op"] == "try_rules");
    const json reply = desk.query({{"op", "set_rules"}, {"nodes", one_node({})}});
    CHECK(reply["op"] == "error");
    CHECK(reply["about"] == "set_rules");
    CHECK(reply["text"] == "this server was started with --read-only-rules");
    CHECK(desk.world.server->rules_revision() == 1);
}

TEST_CASE("operator: entities at a point are listed nearest first, at most sixteen (P28)") {
    Desk desk;
    const ObserverId observer = desk.observer();
    const EntityId player = desk.world.game.players.begin()->second;
    const Vec3 at = desk.world.server->world().position_of(player);
    const json found = desk.query({{"op", "at"}, {"x", at.x}, {"y", at.y}, {"radius_m", 1000}});
    CHECK(found["op"] == "at");
    REQUIRE(found["entities"].size() == 16);
    const json& first = found["entities"][0];
    CHECK(first["entity"] == std::to_string(static_cast<std::uint64_t>(player)));
    CHECK(first["index"] == index_of(player));
    CHECK(first["kind"] == "player");
    CHECK(first["x"] == at.x);
    CHECK(first["y"] == at.y);
    CHECK(first["observer"] == static_cast<std::uint32_t>(observer));
    double last = 0;
    for (const json& one : found["entities"]) {
        const double away =
            std::hypot(one["x"].get<double>() - at.x, one["y"].get<double>() - at.y);
        CHECK(away >= last);
        last = away;
        if (one["kind"] != "player") CHECK(one["observer"].is_null());
    }
    CHECK(desk.query({{"op", "at"}, {"x", -500}, {"y", 0}, {"radius_m", 3}})["entities"].empty());
    for (const char* bad :
         {R"({"op":"at"})", R"({"op":"at","x":"1","y":2,"radius_m":3})",
          R"({"op":"at","x":1,"y":2,"radius_m":-3})", R"({"op":"at","x":1,"y":2})"}) {
        CHECK(desk.send_text_request(bad)["op"] == "error");
    }
}

TEST_CASE("operator: the members of a node are listed by its name (N31)") {
    Desk desk;
    const auto& nodes = desk.world.server->rules().nodes;
    std::vector<EntityId> about;
    desk.world.server->visibility().entities_of(id_at<NodeId>(0), about);
    REQUIRE(about.size() > 16);
    const json reply = desk.query({{"op", "members"}, {"node", nodes[0].name}});
    CHECK(reply["op"] == "members");
    CHECK(reply["count"] == about.size());
    REQUIRE(reply["entities"].size() == std::min<std::size_t>(about.size(), 1'000));
    const auto first = std::min_element(about.begin(), about.end());
    CHECK(reply["entities"][0]["entity"] == std::to_string(static_cast<std::uint64_t>(*first)));
    CHECK(reply["entities"][0]["index"] == index_of(*first));
    CHECK(desk.query({{"op", "members"}, {"node", "no such"}})["op"] == "error");
    CHECK(desk.send_text_request(R"({"op":"members"})")["op"] == "error");
    CHECK(desk.send_text_request(R"({"op":"members","node":7})")["op"] == "error");
}

TEST_CASE("operator: ids are accepted as numbers, indices or text, and returned as text too") {
    Desk desk;
    const ObserverId observer = desk.observer();
    const EntityId player = desk.world.game.players.begin()->second;
    const auto number = static_cast<std::uint32_t>(observer);
    const std::string text = std::to_string(static_cast<std::uint64_t>(player));
    for (const json& entity : {json(static_cast<std::uint64_t>(player)), json(text),
                               json(index_of(player)), json(std::to_string(index_of(player)))}) {
        for (const json& client :
             {json(number), json(index_of(observer)), json(std::to_string(number))}) {
            const json why =
                desk.query({{"op", "explain"}, {"observer", client}, {"entity", entity}});
            REQUIRE(why["op"] == "explain");
            CHECK(why["observer"] == number);
            CHECK(why["entity_text"] == text);
            CHECK(why["relevant"] == true);
            CHECK(why["stage"] == "owned");
        }
    }
    for (const json& bad : {json("12x"), json(""), json("-1"), json(-1), json(1.5), json(nullptr),
                            json("99999999999999999999999999"), json::array()}) {
        CHECK(desk.query({{"op", "explain"}, {"observer", number}, {"entity", bad}})["op"] ==
              "error");
        CHECK(desk.query({{"op", "explain"}, {"observer", bad}, {"entity", 1}})["op"] == "error");
    }
    CHECK(desk.query({{"op", "explain"}, {"observer", number}, {"entity", 99'999'999}})["text"] ==
          "there is no such entity");
    CHECK(desk.query({{"op", "explain"},
                      {"observer", (1ULL << 32U) + number},
                      {"entity", text}})["text"] == "there is no such observer");
}

TEST_CASE("operator: each connection that watches an observer gets its reports") {
    Desk desk;
    const auto number = static_cast<std::uint32_t>(desk.observer());
    const std::string request = json({{"op", "held"}, {"observer", number}}).dump();
    const auto reports_of = [&](std::uint32_t connection) {
        return std::count_if(desk.messages.begin(), desk.messages.end(), [&](const auto& one) {
            return one.first == connection && one.second["op"] == "held";
        });
    };
    const auto run = [&] {
        desk.messages.clear();
        for (int i = 0; i < 40; ++i) {
            desk.world.step();
            desk.channel->tick_done();
        }
    };
    desk.channel->message(1, request);
    desk.channel->message(2, request);
    // A request for an unknown observer is an error. It does not end the current watch.
    CHECK(desk.query({{"op", "held"}, {"observer", 12345}})["text"] == "there is no such observer");
    run();
    CHECK(reports_of(1) > 10);
    CHECK(reports_of(2) == reports_of(1));
    desk.channel->closed(1);
    run();
    CHECK(reports_of(1) == 0);
    CHECK(reports_of(2) > 10);
    desk.channel->closed(2);
    run();
    CHECK(internal(*desk.world.server).sessions.find(desk.observer())->held_reports.empty());
}

TEST_CASE("operator: the map of a y-up world shows x and z of entities with a position") {
    Schema schema;
    const auto position = add_position(schema, -1024, 1024);
    const KindId thing = schema.kind("thing", {position.id});
    const Component<Body> mood = schema.component<Body>("mood").integer("hp", &Body::hp, 0, 1000);
    const KindId idea = schema.kind("idea", {mood.id});
    ServerDef def;
    def.rules.axes = Axes::xz;
    def.rules.max = {1024, 0, 1024};
    Stage stage(schema, 1, def);
    stage.spawn(thing, {10, 5, 200});
    for (int i = 0; i < 3; ++i) stage.spawn(idea);
    stage.step();
    std::string frame;
    json rows;
    admin::OperatorChannel channel(
        *stage.server, [&](std::uint32_t, std::string_view text, bool binary) {
            binary ? (void)(frame = text) : (void)(rows = json::parse(text));
        });
    const auto seen_in = [&](const json& rect) {
        channel.message(1, json({{"op", "truth"}, {"on", true}, {"rect", rect}}).dump());
        for (int i = 0; i < 4; ++i) {
            stage.step();
            channel.tick_done();
        }
        REQUIRE(frame.size() >= 12);
        std::uint32_t count = 0;
        std::memcpy(&count, frame.data() + 8, sizeof count);
        return count;
    };
    CHECK(seen_in({0, 190, 20, 210}) == 1);
    CHECK(seen_in({-1, -1, 20, 20}) == 0);
    channel.message(1, R"({"op":"at","x":10,"y":200,"radius_m":1})");
    REQUIRE(rows["entities"].size() == 1);
    CHECK(rows["entities"][0]["y"] == doctest::Approx(200).epsilon(0.001));
}

TEST_CASE("operator: a reply has the id of its request, other messages have no id") {
    Desk desk;
    CHECK(desk.query({{"op", "stats"}, {"id", 7}})["id"] == 7);
    CHECK(!desk.query({{"op", "stats"}}).contains("id"));
    CHECK(!desk.query({{"op", "stats"}, {"id", {1, 2}}}).contains("id"));
    CHECK(desk.query({{"op", "dance"}, {"id", 8}})["id"] == 8);
    CHECK(desk.query({{"op", "set_rules"}, {"nodes", 5}, {"id", 9}})["id"] == 9);
    CHECK(desk.query({{"op", "rules"}, {"id", 10}})["id"] == 10);
    desk.channel->message(2, json({{"op", "rules"}, {"id", 11}}).dump());
    desk.messages.clear();
    desk.channel->message(
        2, json({{"op", "set_rules"}, {"nodes", one_node({"add within 30 leave 33"})}, {"id", 12}})
               .dump());
    REQUIRE(desk.messages.size() == 2);
    for (const auto& [connection, message] : desk.messages) {
        CHECK(message["op"] == "rules");
        CHECK(message.contains("id") == (connection == 2));
    }
}

TEST_CASE("operator: any input gets at most one reply, and the server keeps running") {
    Desk desk;
    for (const char* bad :
         {"", "{", "[]", "7", "{\"op\":7}", "{\"op\":\"dance\"}", "\xff\xfe", R"({"op":"held"})",
          R"({"op":"find","nonce":3})", R"({"op":"truth","on":true,"rect":[1,2,3]})"}) {
        CHECK(desk.send_text_request(bad)["op"] == "error");
    }
    constexpr std::size_t deep = 500'000;
    desk.channel->message(
        1, R"({"op":"truth","on":)" + std::string(deep, '[') + std::string(deep, ']') + "}");
    const std::uint64_t seed = 6;
    INFO("seed ", seed);
    SplitMix random(seed);
    const json requests[] = {
        {{"op", "set_rules"}, {"nodes", one_node({"add within 40 leave 44", "add same team"})}},
        {{"op", "try_rules"}, {"nodes", one_node({"require value hp from 3", "add area"})}},
        {{"op", "at"}, {"x", 1.5}, {"y", 2}, {"radius_m", 30}},
        {{"op", "explain"}, {"observer", "1048577"}, {"entity", "4294967297"}}};
    for (int i = 0; i < 3'000; ++i) {
        std::string text = requests[random.below(4)].dump();
        for (std::uint32_t e = 1 + random.below(4); e > 0; --e) {
            const std::size_t at = random.below(static_cast<std::uint32_t>(text.size()));
            switch (random.below(3)) {
                case 0:
                    text[at] = static_cast<char>(random.below(256));
                    break;
                case 1:
                    text.erase(at, 1 + random.below(6));
                    break;
                default:
                    text.insert(at,
                                text.substr(random.below(static_cast<std::uint32_t>(at) + 1), 5));
                    break;
            }
            if (text.empty()) text = "{";
        }
        desk.messages.clear();
        desk.channel->message(1, text);
        CHECK(desk.messages.size() <= 1);
        if (i % 100 == 0) {
            desk.world.step();
            desk.channel->tick_done();
        }
    }
    CHECK(desk.query({{"op", "stats"}})["sessions"].size() == 3);
}

}  // namespace purview::test
