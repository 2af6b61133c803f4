// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Purview authors
#include "admin/rule_json.hpp"

#include <cmath>

namespace purview::admin {

using nlohmann::json;
using scene::NodeText;
using scene::Problem;

namespace {

[[noreturn]] void fail(const std::string& text, const std::string& key = {}) {
    Problem problem;
    problem.text = text;
    problem.key = key;
    throw problem;  // caught by nodes_of
}

void read(const std::string& key, const json& value, std::optional<std::string>& out) {
    if (!value.is_string()) fail("'" + key + "' must be a string", key);
    out = value.get<std::string>();
}
void read(const std::string& key, const json& value, std::optional<bool>& out) {
    if (!value.is_boolean()) fail("'" + key + "' must be true or false", key);
    out = value.get<bool>();
}
void read(const std::string& key, const json& value, std::optional<float>& out) {
    if (!value.is_number() || !(std::fabs(value.get<double>()) <= scene::rule_meters_max))
        fail("'" + key + "' must be a number of at most 1000000", key);
    out = value.get<float>();
}
void read(const std::string& key, const json& value, std::optional<std::uint32_t>& out) {
    const bool whole = value.is_number_unsigned() && value.get<std::uint64_t>() <= 0xffffffffU;
    if (!whole) fail("'" + key + "' must be a whole number of 0 or more", key);
    out = value.get<std::uint32_t>();
}

void read_key(NodeText& node, const std::string& key, const json& value) {
    if (key == "name") {
        std::optional<std::string> name;
        read(key, value, name);
        node.name = *name;
    } else if (key == "type") {
        read(key, value, node.type);
    } else if (key == "members") {
        read(key, value, node.members);
    } else if (key == "combine") {
        read(key, value, node.combine);
    } else if (key == "refresh") {
        read(key, value, node.refresh);
    } else if (key == "widen_m") {
        read(key, value, node.widen);
    } else if (key == "lazy_leave") {
        read(key, value, node.lazy_leave);
    } else if (key == "enabled") {
        read(key, value, node.enabled);
    } else if (key == "priority") {
        read(key, value, node.priority);
    } else if (key == "every_ticks") {
        read(key, value, node.every_ticks);
    } else if (key == "leave") {
        read(key, value, node.leave);
    } else if (key == "mode") {
        read(key, value, node.mode);
    } else if (key == "steps") {
        if (!value.is_array()) fail("'steps' must be a list of strings", key);
        for (const json& step : value) {
            if (!step.is_string()) fail("'steps' must be a list of strings", key);
            node.steps.push_back(step.get<std::string>());
        }
    } else {
        fail("unknown key '" + key + "'", key);
    }
}

NodeText node_of(const json& value) {
    if (!value.is_object()) fail("a node must be a JSON object");
    for (const char* key : {"name", "steps"}) {
        if (!value.contains(key)) fail(std::string("a node needs '") + key + "'", key);
    }
    NodeText node;
    for (const auto& [key, part] : value.items()) read_key(node, key, part);
    return node;
}

}  // namespace

json to_json(const NodeText& node) {
    json out = {{"name", node.name}, {"steps", node.steps}};
    const auto describe = [&](const char* key, const auto& value) {
        if (value) out[key] = *value;
    };
    describe("type", node.type);
    describe("members", node.members);
    describe("combine", node.combine);
    describe("refresh", node.refresh);
    describe("widen_m", node.widen);
    describe("lazy_leave", node.lazy_leave);
    describe("enabled", node.enabled);
    describe("priority", node.priority);
    describe("every_ticks", node.every_ticks);
    describe("leave", node.leave);
    describe("mode", node.mode);
    return out;
}

scene::Loaded<std::vector<NodeText>> nodes_of(const json& message) {
    Problem problem;
    const auto list = message.find("nodes");
    if (list == message.end() || !list->is_array()) {
        problem.text = "the message needs 'nodes', a list";
        return problem;
    }
    if (list->size() > scene::rule_nodes_max) {
        problem.text = "there are " + std::to_string(list->size()) + " nodes; the limit is " +
                       std::to_string(scene::rule_nodes_max);
        return problem;
    }
    std::vector<NodeText> nodes;
    for (const json& value : *list) {
        try {
            nodes.push_back(node_of(value));
        } catch (const Problem& wrong) {
            problem = wrong;
            problem.node = static_cast<int>(nodes.size());
            return problem;
        }
    }
    return nodes;
}

}  // namespace purview::admin
