// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Purview authors
#include "scene/rule_text.hpp"

#include <doctest/doctest.h>

#include <cmath>

#include "core/hash.hpp"
#include "purview/extend/kernel.hpp"
#include "purview/extend/node.hpp"
#include "support/steps.hpp"

namespace purview::test::rule_text {

namespace {

using scene::NodeText;
using scene::RuleNames;

class NoSight final : public RayTest {
  public:
    void test(ObserverId, std::span<const Ray>, std::span<std::uint8_t>) const noexcept override {}
};

RuleNames make_names(bool with_sight = true) {
    RuleNames names;
    names.flags = {
        {"cloaked", id_at<FlagId>(0)}, {"on fire", id_at<FlagId>(1)}, {"it's", id_at<FlagId>(2)}};
    names.keys = {{"team", id_at<KeyId>(0)}, {"from", id_at<KeyId>(1)}, {"", id_at<KeyId>(2)}};
    names.values = {
        {"hp", id_at<ValueId>(0)}, {"\xc3\xa4ther", id_at<ValueId>(1)}, {"'", id_at<ValueId>(2)}};
    names.kernels["even"] = make_pair_kernel(
        {}, [](const Pair& pair) noexcept { return index_of(pair.entity()) % 2 == 0; });
    if (with_sight) names.sight = std::make_shared<NoSight>();
    return names;
}

Kernel step_of(const std::string& text) {
    const auto step = scene::parse_step(text, make_names());
    REQUIRE_MESSAGE(step, text, ": ", step.problem());
    return *step;
}

/// Returns the error of a step as "column: text".
std::string wrong(const std::string& text, bool with_sight = true) {
    const auto step = scene::parse_step(text, make_names(with_sight));
    CHECK_MESSAGE(!step, text);
    return std::to_string(step.what().column) + ": " + step.problem();
}

bool same(const Kernel& a, const Kernel& b) {
    return a.combine == b.combine && a.type == b.type && a.enter == b.enter && a.leave == b.leave &&
           a.key == b.key && a.flag == b.flag && a.custom == b.custom && a.range == b.range &&
           a.view_from == b.view_from && a.value == b.value && a.min == b.min && a.max == b.max &&
           a.cell_size == b.cell_size && a.rings == b.rings && a.rays == b.rays &&
           a.ray_entities_per_tick == b.ray_entities_per_tick &&
           a.ray_valid_ticks == b.ray_valid_ticks &&
           a.visible_when_unknown == b.visible_when_unknown && a.predicts_sight == b.predicts_sight;
}

bool same(const NodeDef& a, const NodeDef& b) {
    bool equal = a.name == b.name && a.dispatcher == b.dispatcher && a.custom == b.custom &&
                 a.members == b.members && a.combine == b.combine &&
                 a.every_ticks == b.every_ticks && a.widen == b.widen &&
                 a.lazy_leave == b.lazy_leave && a.dormant == b.dormant &&
                 a.replication.every_ticks == b.replication.every_ticks &&
                 a.replication.priority == b.replication.priority &&
                 a.replication.leave == b.replication.leave && a.enabled == b.enabled &&
                 a.steps.size() == b.steps.size();
    for (std::size_t s = 0; equal && s < a.steps.size(); ++s) equal = same(a.steps[s], b.steps[s]);
    return equal;
}

/// Generates random rules, both usual and unusual.
class RandomRules {
  public:
    explicit RandomRules(std::uint64_t seed) : random_(seed), names_(make_names()) {
        names_.sight_def.ray_entities_per_tick = 1 + random_.below(100);
        names_.sight_def.visible_when_unknown = random_.chance(0.5F);
    }
    const RuleNames& names() const { return names_; }

    Kernel step() {
        Kernel kernel;
        kernel.combine = Combine{static_cast<std::uint8_t>(random_.below(3))};
        kernel.type = KernelType{static_cast<std::uint8_t>(random_.below(11))};
        switch (kernel.type) {
            case KernelType::distance:
                kernel.enter = meters();
                kernel.leave =
                    random_.chance(0.5F) ? kernel.enter : std::max(kernel.enter, meters());
                kernel.range = RangeFrom{static_cast<std::uint8_t>(random_.below(3))};
                kernel.view_from = from();
                break;
            case KernelType::same_key:
                kernel.key = any(names_.keys);
                break;
            case KernelType::flag:
                kernel.flag = any(names_.flags);
                break;
            case KernelType::custom:
                kernel.custom = any(names_.kernels);
                break;
            case KernelType::area:
                if (random_.chance(0.5F)) kernel.leave = meters();
                break;
            case KernelType::owner:
            case KernelType::everything:
                break;
            case KernelType::value: {
                kernel.value = any(names_.values);
                const float a = number();
                const float b = number();
                const std::uint32_t which = random_.below(3);
                if (which != 0) kernel.min = std::min(a, b);
                if (which != 1) kernel.max = std::max(a, b);
                break;
            }
            case KernelType::cells:
                kernel.cell_size.x = std::max(meters(), 0.01F);
                kernel.cell_size.y = std::max(meters(), 0.01F);
                if (random_.chance(0.5F)) kernel.cell_size.z = std::max(meters(), 0.01F);
                kernel.rings = static_cast<std::uint16_t>(random_.below(1001));
                kernel.view_from = from();
                break;
            case KernelType::hexagons:
                kernel.cell_size.x = std::max(meters(), 0.01F);
                if (random_.chance(0.5F)) kernel.cell_size.z = std::max(meters(), 0.01F);
                kernel.rings = static_cast<std::uint16_t>(random_.below(5));
                kernel.view_from = from();
                break;
            case KernelType::line_of_sight:
                kernel.rays = names_.sight;
                kernel.ray_entities_per_tick = names_.sight_def.ray_entities_per_tick;
                kernel.ray_valid_ticks = names_.sight_def.ray_valid_ticks;
                if (random_.chance(0.5F)) kernel.enter = meters();
                if (random_.chance(0.5F)) kernel.ray_entities_per_tick = 1 + random_.below(1000);
                if (random_.chance(0.5F)) kernel.ray_valid_ticks = 2 + random_.below(1000);
                kernel.visible_when_unknown = random_.chance(0.5F);
                kernel.predicts_sight = random_.chance(0.5F);
                kernel.view_from = from();
                break;
        }
        return kernel;
    }

    NodeDef node() {
        constexpr const char* names[] = {"near", "a b", "\"quoted\" \\ 'so'", "#=[]", "\xc3\xa4"};
        NodeDef out;
        out.name = names[random_.below(5)] + std::to_string(count_++);
        out.members = Members{static_cast<std::uint8_t>(random_.below(3))};
        out.combine = Combine{static_cast<std::uint8_t>(random_.below(3))};
        switch (random_.below(3)) {
            case 0:
                break;
            case 1:
                out.every_ticks = 2 + random_.below(9'999);
                if (random_.chance(0.5F)) out.widen = meters();
                out.lazy_leave = random_.chance(0.5F);
                break;
            default:
                out.dormant = true;
                break;
        }
        out.replication.every_ticks = 1 + random_.below(10);
        if (random_.chance(0.5F)) out.replication.priority = random_.between(0.001F, 1000);
        out.replication.leave = Retention{static_cast<std::uint8_t>(random_.below(4))};
        out.enabled = random_.chance(0.8F);
        for (std::uint32_t s = random_.below(5); s > 0; --s) out.steps.push_back(step());
        return out;
    }
    SplitMix& random() { return random_; }

  private:
    float meters() {
        constexpr float some[] = {60, 0.1F, 1.0F / 3, 1e6F, 1e-30F, 123456.789F, 1e-5F};
        return random_.chance(0.5F) ? some[random_.below(7)] : std::exp(random_.between(-20, 13));
    }
    float number() { return random_.chance(0.2F) ? 0 : meters() * random_.between(-1e20F, 1e20F); }
    Viewpoints from() { return Viewpoints{static_cast<std::uint8_t>(random_.below(4))}; }
    template <class Map>
    typename Map::mapped_type any(const Map& map) {
        auto at = map.begin();
        std::advance(at, random_.below(static_cast<std::uint32_t>(map.size())));
        return at->second;
    }
    SplitMix random_;
    RuleNames names_;
    std::uint32_t count_ = 0;
};

}  // namespace

TEST_CASE("rule text: every kernel has a text form (N9 N48 M36 P2 P23 F26)") {
    Kernel kernel = step_of("add within 60 leave 66");
    CHECK(kernel.type == KernelType::distance);
    CHECK(kernel.enter == 60);
    CHECK(kernel.leave == 66);
    CHECK(kernel.range == RangeFrom::kernel);
    CHECK(step_of("add within 60").leave == 60);
    CHECK(step_of("require within 1.5 of entity").range == RangeFrom::entity);
    kernel = step_of("subtract within 5 from owned leave 6 of observer");
    CHECK(kernel.range == RangeFrom::observer);
    CHECK(kernel.view_from == Viewpoints::owned);
    CHECK(kernel.leave == 6);
    CHECK(step_of("add within 5 from main").view_from == Viewpoints::entity);
    CHECK(step_of("add within 5 from areas").view_from == Viewpoints::points);
    CHECK(step_of("subtract same team").combine == Combine::subtract);
    CHECK(step_of("require same from").key == id_at<KeyId>(1));
    CHECK(step_of("add same ''").key == id_at<KeyId>(2));
    CHECK(step_of("add flag 'on fire'").flag == id_at<FlagId>(1));
    CHECK(step_of("add flag it's").flag == id_at<FlagId>(2));
    CHECK(step_of("\tadd  flag 'it''s' ").flag == id_at<FlagId>(2));
    kernel = step_of("add value hp from -2.5");
    CHECK(kernel.value == id_at<ValueId>(0));
    CHECK(kernel.min == -2.5F);
    CHECK(std::isinf(kernel.max));
    CHECK(step_of("add value hp to 1e10 from 3").max == 1e10F);
    CHECK(step_of("add value '''' to 1").value == id_at<ValueId>(2));
    CHECK(step_of("add owner").type == KernelType::owner);
    CHECK(step_of("add everything").type == KernelType::everything);
    CHECK(step_of("add area").leave == 0);
    CHECK(step_of("add area leave 3").leave == 3);
    kernel = step_of("add neighborhood 34x20 rings 1");
    CHECK(kernel.type == KernelType::cells);
    CHECK(kernel.cell_size.x == 34);
    CHECK(kernel.cell_size.y == 20);
    CHECK(kernel.cell_size.z == 0);
    CHECK(step_of("add neighborhood 34x20").rings == 1);
    CHECK(step_of("add neighborhood 34x20x2.5 rings 0").cell_size.z == 2.5F);
    CHECK(step_of("add neighborhood 34x20 x2.5 rings 2").cell_size.z == 2.5F);
    kernel = step_of("add hexagons 12 rings 3 from main");
    CHECK(kernel.type == KernelType::hexagons);
    CHECK(kernel.cell_size.x == 12);
    CHECK(kernel.cell_size.z == 0);
    CHECK(kernel.rings == 3);
    CHECK(step_of("add hexagons 12x2.5 rings 3").cell_size.z == 2.5F);
    kernel = step_of("require sight within 40 grace 5 tests 9 predict yes unknown shown");
    CHECK(kernel.type == KernelType::line_of_sight);
    CHECK(kernel.rays != nullptr);
    CHECK(kernel.enter == 40);
    CHECK(kernel.ray_valid_ticks == 5);
    CHECK(kernel.ray_entities_per_tick == 9);
    CHECK(kernel.predicts_sight);
    CHECK(kernel.visible_when_unknown);
    CHECK(step_of("add kernel even").custom != nullptr);
}

TEST_CASE("rule text: a C++ step equals the step parsed from the same words (N9 N48)") {
    using lines::require, lines::subtract;
    const RuleNames names = make_names();
    const auto parses_to = [&](const char* text, const Kernel& step) {
        const auto read = scene::parse_step(text, names);
        REQUIRE_MESSAGE(read, text, ": ", read.problem());
        CHECK_MESSAGE(*read == step, text);
    };
    parses_to("add within 60", within(60));
    parses_to("require within 60 leave 66", require(within(60).leave_at(66)));
    parses_to("subtract flag cloaked", subtract(id_at<FlagId>(0)));
    parses_to("add same team", purview::same(id_at<KeyId>(0)));
    parses_to("add value hp from 3 to 4.5", between(id_at<ValueId>(0), 3, 4.5F));
    parses_to("add area leave 3", in_area(3));
    parses_to("add area", in_area());
    parses_to("add owner", owned());
    parses_to("add everything", everything());
    parses_to("subtract everything", subtract(everything()));
    parses_to("add neighborhood 34x20x2.5 rings 2", cells(34, 20, 2, 2.5F));
    parses_to("add hexagons 12 rings 3", hexagons(12, 3));
    parses_to("add hexagons 12", hexagons(12));
    Kernel predicting = in_sight(names.sight);
    predicting.predicts_sight = true;
    parses_to("require sight predict yes", require(predicting));
    parses_to("add kernel even", names.kernels.at("even"));
    // An invalid step is not corrected silently.
    Rules rules;
    rules.node("near").add(within(60).leave_at(50));
    CHECK_FALSE(problem_of(rules).empty());
}

TEST_CASE("rule text: every error in a step has a message and a column (N9)") {
    CHECK(wrong("") == "1: is empty: a step starts with add, subtract or require");
    CHECK(wrong(" \t ") == "1: is empty: a step starts with add, subtract or require");
    CHECK(wrong("plus within 60") == "1: 'plus' is not add, subtract or require");
    CHECK(wrong("'add' within 60") == "1: 'add' is not add, subtract or require");
    const std::string kernels =
        "within, same, flag, value, owner, area, everything, neighborhood, hexagons, sight or "
        "kernel";
    CHECK(wrong("  add") == "6: must be followed by " + kernels);
    CHECK(wrong("add nearby 60") == "5: 'nearby' is not " + kernels);
    CHECK(wrong("add 'within' 60") == "5: 'within' is not " + kernels);
    CHECK(wrong("add within") == "11: within must be followed by meters");
    const std::string meters = " is not a number of meters, above 0 and at most 1000000";
    for (const char* bad : {"0", "-3", "nan", "inf", "1e999", "60m", "0x10", "+5", "1000001"}) {
        CHECK(wrong(std::string("add within ") + bad) == "12: '" + std::string(bad) + "'" + meters);
    }
    CHECK(wrong("add within 60 leave") == "20: leave must be followed by meters");
    CHECK(wrong("add within 60 leave far") == "21: 'far'" + meters);
    CHECK(wrong("add within 60 leave 50") == "21: leave must not be below within");
    CHECK(wrong("add within 60 leave 61 leave 62") == "24: 'leave' is given twice");
    CHECK(wrong("add within 60 of") == "17: of must be followed by entity or observer");
    CHECK(wrong("add within 60 of mine") == "18: 'mine' is not entity or observer");
    CHECK(wrong("add within 60 from here") == "20: 'here' is not main, areas or owned");
    CHECK(wrong("add within 60 66") == "15: '66' is not leave, of or from");
    CHECK(wrong("add same") == "9: key must be followed by its name");
    CHECK(wrong("add same clan") == "10: no key 'clan'; available: '', from, team");
    CHECK(wrong("add same team team") == "15: 'team' is an unexpected word");
    CHECK(wrong("add flag invisible") ==
          "10: no flag 'invisible'; available: cloaked, it's, 'on fire'");
    CHECK(wrong("add flag 'on fire") == "10: the closing quote is missing");
    CHECK(wrong("add flag '") == "10: the closing quote is missing");
    CHECK(wrong("add flag 'on fire'x") == "10: a blank must follow the closing quote");
    CHECK(wrong("add value mana from 1").find("11: no value 'mana'; available: ") == 0);
    CHECK(wrong("add value hp") == "13: must be followed by from, to or both");
    CHECK(wrong("add value hp from") == "18: from must be followed by a number");
    CHECK(wrong("add value hp from low") == "19: 'low' is not a number");
    CHECK(wrong("add value hp to nan") == "17: 'nan' is not a number");
    CHECK(wrong("add value hp to 1e40") == "17: '1e40' is not a number");
    CHECK(wrong("add value hp from 3 to 2") == "24: from must not be above to");
    CHECK(wrong("add value hp above 3") == "14: 'above' is not from or to");
    // Columns count characters, not bytes.
    CHECK(wrong("add value \xc3\xa4ther \xc3\xbc"
                "ber 3") ==
          "17: '\xc3\xbc"
          "ber' is not from or to");
    CHECK(wrong("add owner 3") == "11: '3' is an unexpected word");
    CHECK(wrong("add everything 3") == "16: '3' is an unexpected word");
    CHECK(wrong("add area 3") == "10: '3' is not leave");
    CHECK(wrong("add area leave 0") == "16: '0'" + meters);
    const std::string cells =
        " is not WIDTHxHEIGHT or WIDTHxHEIGHTxDEPTH in meters, 0.01 to 1000000";
    for (const char* bad :
         {"34", "34x", "x20", "34x20x", "34x0", "34x20x3x4", "34X20", "axb", "1e-45x1"}) {
        CHECK(wrong(std::string("add neighborhood ") + bad) ==
              "18: '" + std::string(bad) + "'" + cells);
    }
    CHECK(wrong("add neighborhood") == "17: neighborhood must be followed by WIDTHxHEIGHT");
    CHECK(wrong("add neighborhood 3x4 x") == "22: 'x' is not xDEPTH in meters, 0.01 to 1000000");
    for (const char* bad : {"0.001", "3x0.001", "3x", "x3", "3x4x5", "3X4"}) {
        CHECK(wrong(std::string("add hexagons ") + bad) ==
              "14: '" + std::string(bad) +
                  "' is not SIDE or SIDExDEPTH in meters, 0.01 to 1000000");
    }
    for (const char* bad : {"-1", "1.5", "1001", "many"}) {
        CHECK(wrong(std::string("add neighborhood 3x4 rings ") + bad) ==
              "28: '" + std::string(bad) + "' is not a whole number, 0 to 1000");
    }
    CHECK(wrong("add neighborhood 3x4 ring 1") == "22: 'ring' is not rings or from");
    CHECK(wrong("require sight", false) == "9: this world has no line of sight");
    CHECK(wrong("require sight of me") ==
          "15: 'of' is not within, from, tests, grace, unknown or predict");
    CHECK(wrong("require sight grace 1") == "21: '1' is not a whole number, 2 to 1000000");
    CHECK(wrong("require sight unknown maybe") == "23: 'maybe' is not shown or hidden");
    CHECK(wrong("require sight predict") == "22: predict must be followed by yes or no");
    CHECK(wrong("add kernel odd") == "12: no kernel 'odd'; available: even");
    CHECK(wrong("add same " + std::string(500, 'x')) ==
          "0: the step has 509 bytes; the limit is 500");
    RuleNames none;
    CHECK(scene::parse_step("add flag x", none).problem() == "no flag 'x'; available: none");
}

TEST_CASE("rule text: 20,000 random steps are printed and read back unchanged (N9)") {
    const std::uint64_t seed = 20;
    INFO("seed ", seed);
    RandomRules rules(seed);
    for (int i = 0; i < 20'000; ++i) {
        const Kernel step = rules.step();
        const std::string text = scene::print_step(step, rules.names());
        const auto back = scene::parse_step(text, rules.names());
        REQUIRE_MESSAGE(back, text, ": ", back.problem());
        REQUIRE_MESSAGE(same(step, *back), text);
        REQUIRE(scene::print_step(*back, rules.names()) == text);
    }
}

TEST_CASE("rule text: a printed node reads back unchanged over any previous node (N9)") {
    const std::uint64_t seed = 21;
    INFO("seed ", seed);
    RandomRules rules(seed);
    NodeDef before;
    for (int i = 0; i < 5'000; ++i) {
        const NodeDef node = rules.node();
        const NodeText text = scene::print_node(node, rules.names());
        const auto fresh = scene::compile_node(text, rules.names());
        REQUIRE_MESSAGE(fresh, fresh.problem());
        REQUIRE(same(node, *fresh));
        const auto over = scene::compile_node(text, rules.names(), &before);
        REQUIRE_MESSAGE(over, over.problem());
        REQUIRE(same(node, *over));
        before = node;
    }
}

TEST_CASE("rule text: random words are either a step or an error (N9)") {
    const std::uint64_t seed = 22;
    INFO("seed ", seed);
    SplitMix random(seed);
    const RuleNames names = make_names();
    constexpr const char* words[] = {
        "add",    "require", "within",  "60",           "leave",     "-1", "of",    "from",
        "entity", "owned",   "same",    "team",         "'",         "''", "value", "hp",
        "to",     "flag",    "cloaked", "3x4",          "rings",     "x",  "sight", "nan",
        "\x80",   "area",    "xx",      "neighborhood", "everything"};
    int read = 0;
    for (int i = 0; i < 50'000; ++i) {
        std::string text = random.chance(0.8F) ? "add" : "";
        for (std::uint32_t w = random.below(7); w > 0; --w)
            text += (random.chance(0.9F) ? " " : "") + std::string(words[random.below(29)]);
        const auto step = scene::parse_step(text, names);
        if (step) {
            ++read;
            CHECK(same(*step, *scene::parse_step(scene::print_step(*step, names), names)));
        } else {
            CHECK(step.what().column >= 1);
            CHECK(step.what().column <= static_cast<int>(text.size()) + 1);
        }
    }
    CHECK(read > 200);
}

TEST_CASE("rule text: omitted node keys keep the old value or the default (N39)") {
    const RuleNames names = make_names();
    NodeDef before;
    before.name = "far";
    before.members = Members::bound;
    before.combine = Combine::require;
    before.every_ticks = 10;
    before.widen = 5;
    before.lazy_leave = true;
    before.replication = {3, 7, Retention::freeze};
    before.enabled = false;
    NodeText text;
    text.name = "far";
    text.steps = {"add owner"};
    auto node = scene::compile_node(text, names, &before);
    REQUIRE(node);
    before.steps = node->steps;
    CHECK(same(*node, before));
    text.refresh = "exact";  // settings of the old mode are reset
    node = scene::compile_node(text, names, &before);
    REQUIRE(node);
    CHECK(node->widen == 0);
    CHECK_FALSE(node->lazy_leave);
    text.refresh.reset();
    node = scene::compile_node(text, names);
    REQUIRE(node);
    CHECK(scene::print_node(*node, names).type == "grid");
    CHECK(node->members == Members::all);
    CHECK(node->enabled);
    node = scene::compile_node(scene::with_defaults(text), names, &before);
    REQUIRE(node);
    CHECK(node->every_ticks == 1);
    CHECK_FALSE(node->dormant);
    CHECK(node->replication.priority == 1);
    CHECK(node->enabled);
}

TEST_CASE("rule text: every error in a node has a message and a key (N9)") {
    const RuleNames names = make_names();
    NodeText good;
    good.name = "near";
    good.steps = {"add within 60"};
    const auto problem = [&](auto edit) {
        NodeText text = good;
        edit(text);
        const auto node = scene::compile_node(text, names);
        CHECK_FALSE(node);
        const scene::Problem& what = node.what();
        return what.key + "/" + std::to_string(what.step) + "/" + std::to_string(what.column) +
               ": " + what.text;
    };
    CHECK(problem([](NodeText& t) { t.name = ""; }) ==
          "name/-1/0: a node's name must have 1 to 63 bytes");
    CHECK(problem([](NodeText& t) { t.name = std::string(64, 'n'); }) ==
          "name/-1/0: a node's name must have 1 to 63 bytes");
    for (const char* name : {"x\n[interest.sight]\npredict = true\n#", "\x1b[2J", "\r", "\x7f",
                             "\t", "\xc2\x80", "\xc2\x9f"}) {
        CHECK(problem([&](NodeText& t) { t.name = name; }) ==
              "name/-1/0: a node's name must not contain control characters, such as line breaks");
    }
    CHECK(problem([](NodeText& t) { t.name.push_back('\0'); }).find("name/-1/0: ") == 0);
    for (const std::string type : {"tree", "everything"}) {
        CHECK(problem([&](NodeText& t) { t.type = type; }) ==
              "type/-1/1: '" + type + "' is not grid, dispatcher or custom");
    }
    CHECK(problem([](NodeText& t) { t.type = "custom"; }) ==
          "type/-1/1: a node of type custom is created by the program's code: it can be kept, but "
          "not created here");
    CHECK(problem([](NodeText& t) { t.members = "some"; }) ==
          "members/-1/1: 'some' is not all, bound or unbound");
    CHECK(problem([](NodeText& t) { t.combine = ""; }) ==
          "combine/-1/0: '' is not add, subtract or require");
    CHECK(problem([](NodeText& t) { t.refresh = "often"; }) ==
          "refresh/-1/1: 'often' is not exact, every N or dormant");
    CHECK(problem([](NodeText& t) { t.refresh = ""; }) ==
          "refresh/-1/0: must be exact, every N or dormant");
    CHECK(problem([](NodeText& t) { t.refresh = "every"; }) ==
          "refresh/-1/6: every must be followed by a number of ticks");
    CHECK(problem([](NodeText& t) { t.refresh = "every other"; }) ==
          "refresh/-1/7: 'other' is not a number of ticks, 1 to 10000");
    CHECK(problem([](NodeText& t) { t.refresh = "every 10 ticks"; }) ==
          "refresh/-1/10: 'ticks' is an unexpected word");
    CHECK(problem([](NodeText& t) { t.refresh = "'every"; }) ==
          "refresh/-1/1: the closing quote is missing");
    CHECK(problem([](NodeText& t) { t.widen = -1.0F; }) ==
          "widen_m/-1/0: 'widen_m' must be 0 to 1000000");
    CHECK(problem([](NodeText& t) { t.widen = 1.0F; }) ==
          "widen_m/-1/0: 'widen_m' requires the refresh 'every N'");
    CHECK(problem([](NodeText& t) { t.lazy_leave = true; }) ==
          "lazy_leave/-1/0: 'lazy_leave' requires the refresh 'every N'");
    CHECK(problem([](NodeText& t) { t.priority = 0.0F; }) ==
          "priority/-1/0: 'priority' must be 0.001 to 1000");
    CHECK(problem([](NodeText& t) { t.every_ticks = 0; }) ==
          "every_ticks/-1/0: 'every_ticks' must be 1 to 10000");
    CHECK(problem([](NodeText& t) { t.leave = "explode"; }) ==
          "leave/-1/1: 'explode' is not despawn, freeze, stale or deactivate");
    CHECK(problem([](NodeText& t) {
              t.steps.push_back("add flag x");
          }).find("/1/10: no flag 'x'") == 0);
    CHECK(problem([](NodeText& t) { t.steps.assign(33, "add owner"); }) ==
          "steps/-1/0: the node has 33 steps; the limit is 32");
}

TEST_CASE("rule text: control characters in foreign text are escaped") {
    using scene::plain_text;
    const std::string plain = "n\xc3\xa4her, \xe2\x82\xac \xc2\xa0 \\ \" '";
    CHECK(plain_text(plain) == plain);
    CHECK(plain_text("x\n[sight]\r\t\x1b[0m\x7f") ==
          "x\\u000a[sight]\\u000d\\u0009\\u001b[0m\\u007f");
    CHECK(plain_text(std::string(1, '\0')) == "\\u0000");
    CHECK(plain_text("\xc2\x80-\xc2\x9f-\xc2") == "\\u0080-\\u009f-\xc2");
    CHECK(plain_text("a\nb\r\n", "\n") == "a\nb\\u000d\n");
}

TEST_CASE("rule text: an error names its node, also if only the engine finds it (N9)") {
    const RuleNames names = make_names();
    const Rules around;
    NodeText near;
    near.name = "near";
    near.steps = {"add same team", "add within 60"};
    NodeText other = near;
    other.name = "other";
    REQUIRE(scene::compile_nodes({near, other}, names, around, false));
    auto rules = scene::compile_nodes({near, near}, names, around, false);
    CHECK(rules.problem() == "two nodes are called 'near'");
    CHECK(rules.what().node == 1);
    other.steps[1] = "add within sixty";
    rules = scene::compile_nodes({near, other}, names, around, false);
    CHECK(rules.what().node == 1);
    CHECK(rules.what().step == 1);
    CHECK(rules.what().column == 12);
    other = near;
    other.name = "other";
    other.steps.assign(31, "add within 60 leave 66");  // steps with hysteresis
    rules = scene::compile_nodes({near, other}, names, around, false);
    CHECK(rules.what().node == 1);
    CHECK(rules.what().step == 30);
    CHECK(rules.problem().find("steps with memory need more than 30 masks") != std::string::npos);
    rules = scene::compile_nodes(std::vector<NodeText>(65, near), names, around, false);
    CHECK(rules.problem() == "there are 65 nodes; the limit is 64");
    Rules broken = around;
    broken.cell_size = -1;
    CHECK_FALSE(scene::compile_nodes({near}, names, broken, false));
}

TEST_CASE("rule text: steps of a kept node keep their line-of-sight provider (N31)") {
    const RuleNames names = make_names();
    const auto own = std::make_shared<NoSight>();
    NodeDef before;
    before.name = "seen";
    before.add(within(60)).require(in_sight(own)).subtract(in_sight(names.sight));
    NodeText text = scene::print_node(before, names);
    auto node = scene::compile_node(text, names, &before);
    REQUIRE(node);
    CHECK(node->steps == before.steps);
    text.steps = {"add within 60", "add owner", "require sight tests 5", "subtract sight",
                  "subtract sight within 9"};
    node = scene::compile_node(text, names, &before);
    REQUIRE(node);
    CHECK(node->steps[2].rays == own);
    CHECK(node->steps[2].ray_entities_per_tick == 5);
    CHECK(node->steps[3].rays == names.sight);
    CHECK(node->steps[4].rays == names.sight);
}

TEST_CASE("rule text: a custom node is kept as long as its type is custom (N31)") {
    const RuleNames names = make_names();
    NodeDef before;
    before.name = "rooms";
    before.custom = std::make_shared<CustomNode>();
    NodeText text = scene::print_node(before, names);
    CHECK(text.type == "custom");
    auto node = scene::compile_node(text, names, &before);
    REQUIRE(node);
    CHECK(node->custom == before.custom);
    text.type = "grid";
    node = scene::compile_node(text, names, &before);
    REQUIRE(node);
    CHECK(node->custom == nullptr);
    CHECK_FALSE(scene::compile_node(scene::print_node(before, names), names));
}

}  // namespace purview::test::rule_text
