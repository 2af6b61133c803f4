// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Purview authors
#include "scene/interest_file.hpp"

#include <doctest/doctest.h>
#include <unistd.h>

#include <cstdio>
#include <fstream>

#include "scene/world_file.hpp"

namespace purview::test {

namespace {

scene::RuleNames make_names() {
    scene::RuleNames names;
    names.flags["cloaked"] = id_at<FlagId>(0);
    names.keys["team"] = id_at<KeyId>(0);
    names.values["hp"] = id_at<ValueId>(0);
    return names;
}

/// Returns the error of an [interest] section.
std::string wrong(const std::string& text) {
    const auto interest = scene::parse_interest("r.toml", text);
    if (!interest) return interest.problem();
    const auto rules = scene::compile_rules(*interest, make_names(), {});
    CHECK_MESSAGE(!rules, text);
    return rules.problem();
}

std::string node(const std::string& keys) {
    return "[interest]\n[[interest.node]]\n" + keys + "\n";
}

class MapFile {
  public:
    MapFile() {
        std::ofstream(path) << R"({"width":2,"height":1,"tilewidth":32,"tileheight":32,
"layers":[{"name":"l","type":"tilelayer","width":2,"height":1,"data":[1,2]}],
"tilesets":[{"firstgid":1,"tilecount":2,"tileproperties":{"1":{"c":""}}}]})";
    }
    ~MapFile() { std::remove(path.c_str()); }
    std::string path = "purview-test-" + std::to_string(getpid()) + "-interest-map.json";
};

/// A schema with these kinds.
Schema make_schema(std::initializer_list<const char*> kinds) {
    Schema schema;
    for (const char* kind : kinds) (void)schema.kind(kind, std::initializer_list<ComponentId>{});
    return schema;
}

}  // namespace

TEST_CASE("interest file: every key of [interest] and its nodes is read (N22 N39 N43 F29)") {
    const auto interest = scene::parse_interest("r.toml", R"(
[interest]
cell_m = 16.0
axes = "xyz"
range_classes_m = [50, 200.5]
observer_range_max_m = 300
group_bounds_max_m = 250
minimum_relevance_ticks = 10
level = "scheduling"
sight = { tests_per_tick = 5, grace_ticks = 7, shown_when_unknown = true, predict = true }
[[interest.node]]
name = "far"
type = "grid"
members = "bound"
combine = "require"
refresh = "every 10"
widen_m = 2.5
lazy_leave = true
enabled = false
priority = 2.0
every_ticks = 4
leave = "stale"
steps = ["add value hp from 3"]
[[interest.node]]
steps = []
[[interest.node]]
)");
    REQUIRE_MESSAGE(interest, interest.problem());
    CHECK(interest->cell_size == 16);
    CHECK(interest->axes == Axes::xyz);
    CHECK(interest->range_classes == std::vector<float>{50, 200.5F});
    CHECK(interest->observer_range_max == 300);
    CHECK(interest->group_radius_max == 250);
    CHECK(interest->level == InterestLevel::replication);
    CHECK(interest->sight.ray_entities_per_tick == 5);
    CHECK(interest->sight.ray_valid_ticks == 7);
    CHECK(interest->sight.visible_when_unknown);
    CHECK(interest->sight.predicts_sight);
    Rules running;
    running.cell_size = 8;
    running.max = {10, 10, 0};
    const auto rules = scene::compile_rules(*interest, make_names(), running);
    REQUIRE_MESSAGE(rules, rules.problem());
    CHECK(rules->cell_size == 8);  // cannot change while a server runs
    CHECK(rules->max == Vec3{10, 10, 0});
    CHECK(rules->minimum_relevance_ticks == 10);
    REQUIRE(rules->nodes.size() == 3);
    const NodeDef& far = rules->nodes[0];
    CHECK(far.name == "far");
    CHECK(interest->nodes[0].text.type == "grid");
    CHECK(far.members == Members::bound);
    CHECK(far.combine == Combine::require);
    CHECK(far.every_ticks == 10);
    CHECK(far.widen == 2.5F);
    CHECK(far.lazy_leave);
    CHECK_FALSE(far.enabled);
    CHECK(far.replication.priority == 2);
    CHECK(far.replication.every_ticks == 4);
    CHECK(far.replication.leave == Retention::stale);
    CHECK(rules->nodes[2].name == "node 3");
    CHECK(rules->nodes[2].dispatcher == nullptr);
    CHECK(rules->nodes[2].custom == nullptr);
}

TEST_CASE("interest file: an error in a string has line and column (N9)") {
    CHECK(wrong(node("steps = [\"add within 60 leave 50\"]")) ==
          "r.toml:3:31: step \"add within 60 leave 50\": leave must not be below within");
    CHECK(wrong(node("steps = [ \"add same team\",\n  'add flag shiny' ]")) ==
          "r.toml:4:13: step \"add flag shiny\": no flag 'shiny'; available: cloaked");
    // An escape is one character of the text and several of the file.
    CHECK(wrong(node(R"(steps = ["add\tfl\u0061g \U00000073hiny"])")).find("r.toml:3:26: step ") ==
          0);
    CHECK(wrong(node("steps = [\"\xc3\xa4"
                     "dd flag\"]"))
              .find("r.toml:3:11: step ") == 0);
    CHECK(wrong(node("steps = [\"add same t\xc3\xa4"
                     "m x\"]"))
              .find("r.toml:3:20: ") == 0);
    // Multi-line strings.
    CHECK(wrong(node("steps = [\"\"\"\nadd\n  flag\nshiny\"\"\"]")).find("r.toml:6:1: step ") == 0);
    CHECK(wrong(node("steps = ['''\nadd\n  flog''']")).find("r.toml:5:3: step ") == 0);
    CHECK(wrong(node("steps = ['''add flog''']")).find("r.toml:3:17: step ") == 0);
    CHECK(wrong(node("steps = [\"\"\"add \\\n\n   flog\"\"\"]")).find("r.toml:5:4: step ") == 0);
    CHECK(wrong(node("steps = [\"\"\"\\\n   odd\"\"\"]")).find("r.toml:4:4: step ") == 0);
    CHECK(wrong(node("steps = [\"add flag\"]")).find("r.toml:3:19: step \"add flag\": flag must") ==
          0);
    CHECK(wrong(node("refresh = \"every other\"")) ==
          "r.toml:3:18: 'other' is not a number of ticks, 1 to 10000");
    CHECK(wrong(node("members = 'none'")) == "r.toml:3:12: 'none' is not all, bound or unbound");
    CHECK(wrong(node("type = \"\"")).find("r.toml:3:8: '' is not grid, dispatcher or") == 0);
    CHECK(wrong(node("type = \"everything\"")).find("r.toml:3:9: 'everything' is not grid") == 0);
    std::string many = "steps = [";  // steps with hysteresis, one more than allowed
    for (int i = 0; i < 30; ++i) many += "'add within 3 leave 4', ";
    CHECK(wrong(node(many + "'add within 3 leave 4']"))
              .find("r.toml:3:" + std::to_string(many.size() + 1) + ": ") == 0);
    CHECK(wrong(node("name = 'a'") + "[[interest.node]]\nname = 'a'\n") ==
          "r.toml:5:8: two nodes are called 'a'");
    CHECK(wrong(node("name = '" + std::string(64, 'n') + "'")) ==
          "r.toml:3:8: a node's name must have 1 to 63 bytes");
}

TEST_CASE("interest file: errors of keys, types and limits have line and column (N9)") {
    CHECK(wrong("name = 'x'\n") == "r.toml: has no [interest]");
    CHECK(wrong("") == "r.toml: has no [interest]");
    CHECK(wrong("[interest\n").find("r.toml:1:10: ") == 0);
    CHECK(wrong("[interest]\ncolor = 3\n") == "r.toml:2:1: unknown key 'interest.color'");
    CHECK(wrong("[interest]\naxes = 'yz'\n") ==
          "r.toml:2:8: 'interest.axes' must be xy, xz or xyz");
    CHECK(wrong("[interest]\naxes = 2\n") == "r.toml:2:8: 'interest.axes' must be a string");
    CHECK(wrong("[interest]\nlevel = 'some'\n") ==
          "r.toml:2:9: 'interest.level' must be none, scheduling or full");
    CHECK(wrong("[interest]\nminimum_relevance_ticks = -1\n") ==
          "r.toml:2:27: 'interest.minimum_relevance_ticks' must be 0 to 1000000");
    CHECK(wrong("[interest]\nminimum_relevance_ticks = 1.5\n") ==
          "r.toml:2:27: 'interest.minimum_relevance_ticks' must be a whole number");
    CHECK(wrong("[interest]\ncell_m = nan\n") ==
          "r.toml:2:10: 'interest.cell_m' must be 0 to 1000000");
    CHECK(wrong("[interest]\nrange_classes_m = 3\n") ==
          "r.toml:2:19: 'interest.range_classes_m' must be a list");
    CHECK(wrong("[interest]\nrange_classes_m = []\n") ==
          "r.toml:2:19: 'interest.range_classes_m' must have 1 to 6 ranges");
    CHECK(wrong("[interest]\nrange_classes_m = [1,2,3,4,5,6,7]\n") ==
          "r.toml:2:19: 'interest.range_classes_m' must have 1 to 6 ranges");
    CHECK(wrong("[interest]\nrange_classes_m = [1, 'far']\n") ==
          "r.toml:2:23: a range must be a number above 0 and at most 1000000");
    CHECK(wrong("[interest]\nrange_classes_m = [1, 1]\n") == "r.toml:2:23: ranges must ascend");
    CHECK(wrong("[interest]\nsight = 3\n") == "r.toml:2:9: 'interest.sight' must be a table");
    CHECK(wrong("[interest.sight]\ngrace_ticks = 1\n") ==
          "r.toml:2:15: 'interest.sight.grace_ticks' must be 2 to 1000000");
    CHECK(wrong("[interest.sight]\nfar = 1\n") == "r.toml:2:1: unknown key 'interest.sight.far'");
    CHECK(wrong("[interest]\nnode = 3\n") == "r.toml:2:8: 'interest.node' must be a list");
    CHECK(wrong("[interest]\nnode = [3]\n") ==
          "r.toml:2:9: 'interest.node' must be a list of tables");
    CHECK(wrong(node("color = 3")) == "r.toml:3:1: unknown key 'interest.node.color'");
    CHECK(wrong(node("steps = 'add owner'")) == "r.toml:3:9: 'interest.node.steps' must be a list");
    CHECK(wrong(node("steps = [3]")) ==
          "r.toml:3:10: a step must be a string such as \"add within 60 leave 66\"");
    CHECK(wrong(node("enabled = 1")) ==
          "r.toml:3:11: 'interest.node.enabled' must be true or false");
    CHECK(wrong(node("priority = 0")) ==
          "r.toml:3:12: 'interest.node.priority' must be 0.001 to 1000");
    CHECK(wrong(node("every_ticks = 0")) ==
          "r.toml:3:15: 'interest.node.every_ticks' must be 1 to 10000");
    CHECK(wrong(node("widen_m = 3")) == "r.toml:3:11: 'widen_m' requires the refresh 'every N'");
    CHECK(scene::load_interest("no-such-file.toml").problem().find("cannot be read") !=
          std::string::npos);
}

TEST_CASE("interest file: a key has at most 16 parts, in any notation (N9)") {
    const auto key = [](std::size_t parts, const std::string& part = "a") {
        std::string text = part;
        for (std::size_t i = 1; i < parts; ++i) text += "." + part;
        return text;
    };
    const std::string good = "[interest]\n";
    const auto deep = [&](const std::string& text) {
        const auto interest = scene::parse_interest("r.toml", text + good);
        CHECK_MESSAGE(!interest, text.substr(0, 200));
        const auto end = interest.problem().find(": a key has more than 16 parts");
        CHECK_MESSAGE(end != std::string::npos, text.substr(0, 200), interest.problem());
        return interest.problem().substr(0, end);
    };
    CHECK(deep(good + key(60'000) + " = 1\n") == "r.toml:2");
    CHECK(deep("x = 1\n\n[" + key(17) + "]\n") == "r.toml:3");
    CHECK(deep("[[" + key(17) + "]]\n") == "r.toml:1");
    CHECK(deep("x = { " + key(17) + " = 1 }\n") == "r.toml:1");
    CHECK(deep(key(17, " \"b.\\\" #\" ") + " = 1\n") == "r.toml:1");
    CHECK(deep(key(17, " 'c.\\'\t") + " = 1\n") == "r.toml:1");
    // After strings of all kinds.
    CHECK(deep("x = \"\"\"\n\\\"\"\" \"\"\"\"\"\n" + key(17) + " = 1\n") == "r.toml:3");
    CHECK(deep("x = '''\n\" '' '''''\n" + key(17) + " = 1\n") == "r.toml:3");
    CHECK(deep("x = ['', \"\", '\\', \"\\\\\"] # \"\n" + key(17) + " = 1\n") == "r.toml:2");

    // These are not keys, or not too long.
    const std::string dots = key(100);
    for (const std::string& text :
         {"x = \"" + dots + "\"\n", "x = '" + dots + "'\n", "x = '''\n" + dots + "'''\n",
          "x = \"\"\"\n\\\"" + dots + "\"\"\"\n", "# " + dots + "\n", "x = 1 # " + dots + "\n",
          "'" + dots + "' = 1\n", key(16) + " = 1\n", "x = [" + key(100, "1, 2") + "]\n"}) {
        const auto interest = scene::parse_interest("r.toml", text + good);
        CHECK_MESSAGE(interest, text, interest.problem());
    }
    // A world file is read the same way.
    CHECK(scene::parse_world_file("w.toml", key(60'000) + " = 1\n").problem() ==
          "w.toml:1: a key has more than 16 parts");
}

TEST_CASE("interest file: a printed file reads back as the same rules (N9)") {
    const auto interest = scene::parse_interest(
        "r.toml", node("name = \"a \\\"b\\\" \\u0001\"\nrefresh = 'every 3'\nwiden_m = 0.1\n"
                       "steps = ['add owner', 'subtract flag cloaked']"));
    REQUIRE(interest);
    const std::string text = scene::print_toml(interest->texts());
    const auto back = scene::parse_interest("r.toml", text);
    REQUIRE_MESSAGE(back, back.problem());
    CHECK(scene::print_toml(back->texts()) == text);
    CHECK(back->nodes[0].text.name == "a \"b\" \x01");
    CHECK(back->nodes[0].text.widen == 0.1F);
    CHECK(scene::parse_interest("r.toml", scene::print_toml({})));
}

TEST_CASE("interest file: kinds bind to nodes by name, with mode and range (N40 N42 F3 M11)") {
    const MapFile map;
    const std::string head = "[map]\nfile = \"" + map.path + "\"\n";
    const std::string nodes =
        "[interest]\n[[interest.node]]\nname = 'near'\n[[interest.node]]\nname = 'far'\n"
        "members = 'bound'\nsteps = ['add within 60 of entity']\n";
    const Schema schema = make_schema({"tree", "tower", "ghost"});
    const auto compile = [&](const std::string& kinds) -> scene::Loaded<std::vector<KindRules>> {
        auto world = scene::parse_world_file("w.toml", head + kinds + nodes);
        if (!world) return world.what();
        auto rules = scene::compile_rules(*world, make_names());
        if (!rules) return rules.what();
        return scene::compile_kinds(*world, *rules, schema);
    };
    const auto kinds = compile(
        "[kinds.tower]\nnodes = ['far']\nrange_m = 300\n"
        "[kinds.ghost]\nnodes = []\nmode = 'explicit'\nowner_sees = false\n"
        "culled_independently = true\nkeeps_ancestors = true\n");
    REQUIRE_MESSAGE(kinds, kinds.problem());
    const auto shown = compile("[kinds.ghost]\nnodes = []\n");
    REQUIRE_FALSE(shown);
    CHECK(shown.problem().find(
              "'kinds.ghost.nodes' is empty, but node 'near' has members = \"all\"") !=
          std::string::npos);
    REQUIRE(kinds->size() == 3);
    CHECK((*kinds)[0].nodes.empty());
    CHECK_FALSE((*kinds)[0].needs_node);
    REQUIRE((*kinds)[1].nodes.size() == 1);
    CHECK((*kinds)[1].nodes[0] == id_at<NodeId>(1));
    CHECK((*kinds)[1].range == 300);
    CHECK((*kinds)[2].needs_node);
    CHECK((*kinds)[2].mode == EntityMode::explicit_only);
    CHECK_FALSE((*kinds)[2].owner_sees);
    CHECK((*kinds)[2].culled_independently);
    CHECK((*kinds)[2].keeps_ancestors);
    CHECK_FALSE((*kinds)[1].culled_independently);
    CHECK_FALSE((*kinds)[1].uses_group_radius);

    const auto large = scene::parse_world_file(
        "w.toml",
        head + "[kinds.tower]\nuses_group_radius = true\n[interest]\ngroup_bounds_max_m = 50\n");
    REQUIRE_MESSAGE(large, large.problem());
    const auto bounded = scene::compile_rules(*large, make_names());
    REQUIRE_MESSAGE(bounded, bounded.problem());
    CHECK(bounded->group_radius_max == 50);
    const auto large_kinds = scene::compile_kinds(*large, *bounded, schema);
    REQUIRE_MESSAGE(large_kinds, large_kinds.problem());
    CHECK((*large_kinds)[1].uses_group_radius);

    const auto problem = [&](const std::string& text) {
        const auto bad = compile(text);
        CHECK_FALSE(bad);
        return bad.problem();
    };
    CHECK(problem("[kinds.tower]\nnodes = ['far', 'fra']\n") ==
          "w.toml:4:17: 'kinds.tower.nodes': no node 'fra'; available: 'near', 'far'");
    CHECK(problem("[kinds.tower]\nnodes = ['near']\n") ==
          "w.toml:4:10: 'kinds.tower.nodes': node 'near' has no bound members: set members = "
          "\"bound\"");
    CHECK(problem("[kinds.tower]\nnodes = 'far'\n") ==
          "w.toml:4:9: 'kinds.tower.nodes' must be a list");
    CHECK(problem("[kinds.tower]\nnodes = [1]\n") ==
          "w.toml:4:10: a bound node must be given by its name, a string");
    CHECK(problem("[kinds.tower]\nmode = 'hidden'\n") ==
          "w.toml:4:8: 'kinds.tower.mode' must be nodes, global or explicit");
    CHECK(problem("[kinds.tower]\nkeeps_ancestors = true\n") ==
          "w.toml:4:19: 'kinds.tower.keeps_ancestors' needs culled_independently = true");
    CHECK(problem("[kinds.tower]\nuses_group_radius = true\n") ==
          "w.toml:4:21: 'kinds.tower.uses_group_radius' needs 'interest.group_bounds_max_m'");
    CHECK(problem("[kinds.tower]\nowner_sees = 'yes'\n") ==
          "w.toml:4:14: 'kinds.tower.owner_sees' must be true or false");
    CHECK(problem("[kinds.tower]\nrange_m = 0\n") ==
          "w.toml:4:11: 'kinds.tower.range_m' must be 0.001 to 1000000");
    CHECK(problem("[kinds.tower]\nmotion = 'dance'\n") ==
          "w.toml:4:10: 'kinds.tower.motion' must be rest, wander, herd or patrol");
    CHECK(problem("[kinds.castle]\nnodes = ['far']\n") ==
          "w.toml:3:1: this world has no kind 'castle'");
    CHECK(problem("[kinds]\ntower = 3\n") == "w.toml:4:9: 'kinds.tower' must be a table");
    for (const std::string& name : {std::string(), std::string(64, 'k')}) {
        CHECK(problem("[kinds.'" + name + "']\n") ==
              "w.toml:3:1: 'kinds." + name + "': a kind's name must have 1 to 63 bytes");
    }
}

TEST_CASE("interest file: kind ranges define the classes or must fit given ones (M11)") {
    const MapFile map;
    const std::string head = "[map]\nfile = \"" + map.path + "\"\n";
    const auto compile = [&](const std::string& text) {
        auto world = scene::parse_world_file("w.toml", head + text);
        REQUIRE_MESSAGE(world, world.problem());
        return scene::compile_rules(*world, make_names());
    };
    auto rules =
        compile("[kinds.a]\nrange_m = 300\n[kinds.b]\nrange_m = 50\n[kinds.c]\nrange_m = 50\n");
    REQUIRE(rules);
    CHECK(rules->range_classes == std::vector<float>{50, 300});
    rules = compile("[kinds.a]\nrange_m = 300\n[interest]\nrange_classes_m = [100, 400]\n");
    REQUIRE(rules);
    CHECK(rules->range_classes == std::vector<float>{100, 400});
    rules = compile("[kinds.a]\nrange_m = 300\n[interest]\nrange_classes_m = [100, 200]\n");
    CHECK(rules.problem() ==
          "w.toml:4:11: 'kinds.a.range_m' is larger than the last of 'interest.range_classes_m'");
    std::string many;
    for (int i = 1; i <= 7; ++i)
        many += "[kinds.k" + std::to_string(i) + "]\nrange_m = " + std::to_string(i) + "\n";
    CHECK(compile(many + "[interest]\n").problem().find("more than 6 different ranges") !=
          std::string::npos);
}

}  // namespace purview::test
