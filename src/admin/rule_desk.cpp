// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Purview authors
#include "admin/rule_desk.hpp"

#include <algorithm>
#include <map>

#include "admin/rule_json.hpp"
#include "core/internal_access.hpp"
#include "core/mutate.hpp"
#include "scene/kind_bindings.hpp"
#include "server/server_data.hpp"

namespace purview::admin {

using nlohmann::json;
using scene::Problem;

namespace {

constexpr std::size_t observers_reported_max = 20;
/// Limits the duration of a dry run to some tenths of a second; the server does not tick meanwhile.
constexpr std::size_t trial_pairs_max = 200'000;
/// Memory for one relevant entity of one observer in all tables of a server.
constexpr std::uint64_t pair_bytes = 300;

json error(const char* about, const Problem& problem) {
    json out = {{"op", "error"}, {"about", about}, {"text", problem.text}};
    if (problem.node >= 0) out["node"] = problem.node;
    if (problem.step >= 0) out["step"] = problem.step;
    if (!problem.key.empty()) out["key"] = problem.key;
    if (problem.column > 0) out["column"] = problem.column;
    return out;
}

json error(const char* about, std::string text) {
    Problem problem;
    problem.text = std::move(text);
    return error(about, problem);
}

template <class Map>
json names_in(const Map& names) {
    json out = json::array();
    for (const auto& entry : names) out.push_back(entry.first);
    return out;
}

/// Observers with the most gains and losses first.
json by_observer(const RuleTrial& trial) {
    struct Count {
        std::uint32_t observer = 0;
        std::size_t gains = 0;
        std::size_t losses = 0;
    };
    std::map<std::uint32_t, Count> counts;
    const auto count_of = [&](ObserverId observer) -> Count& {
        Count& count = counts[static_cast<std::uint32_t>(observer)];
        count.observer = static_cast<std::uint32_t>(observer);
        return count;
    };
    for (const RuleTrial::Pair& pair : trial.gains) ++count_of(pair.observer).gains;
    for (const RuleTrial::Pair& pair : trial.losses) ++count_of(pair.observer).losses;
    std::vector<Count> order;
    order.reserve(counts.size());
    for (const auto& entry : counts) order.push_back(entry.second);
    std::stable_sort(order.begin(), order.end(), [](const Count& a, const Count& b) {
        return a.gains + a.losses > b.gains + b.losses;
    });
    if (order.size() > observers_reported_max) order.resize(observers_reported_max);
    json out = json::array();
    for (const Count& count : order) {
        out.push_back(
            {{"observer", count.observer}, {"gains", count.gains}, {"losses", count.losses}});
    }
    return out;
}

}  // namespace

RuleDesk::RuleDesk(Server& server, scene::RuleNames names, bool read_only)
    : server_(&server), names_(std::move(names)), read_only_(read_only) {}

void RuleDesk::name_kernels() {
    for (const NodeDef& node : server_->rules().nodes) {
        for (const Kernel& step : node.steps) {
            if (step.custom == nullptr) continue;
            const auto known =
                std::find_if(names_.kernels.begin(), names_.kernels.end(),
                             [&](const auto& entry) { return entry.second == step.custom; });
            if (known != names_.kernels.end()) continue;
            std::size_t number = 1;
            while (names_.kernels.count(std::to_string(number)) != 0) ++number;
            names_.kernels[std::to_string(number)] = step.custom;
        }
    }
}

json RuleDesk::rules() {
    name_kernels();
    json nodes = json::array();
    for (const NodeDef& node : server_->rules().nodes)
        nodes.push_back(to_json(scene::print_node(node, names_)));
    return {{"op", "rules"},
            {"revision", server_->rules_revision()},
            {"editable", !read_only_},
            {"nodes", nodes},
            {"warnings", server_->visibility().warnings()},
            {"names",
             {{"flags", names_in(names_.flags)},
              {"keys", names_in(names_.keys)},
              {"values", names_in(names_.values)},
              {"kernels", names_in(names_.kernels)},
              {"sight", names_.sight != nullptr}}}};
}

scene::Loaded<Rules> RuleDesk::compile(const json& message) {
    name_kernels();
    const auto nodes = nodes_of(message);
    if (!nodes) return nodes.what();
    auto rules = scene::compile_nodes(*nodes, names_, server_->rules(), true);
    if (!rules) return rules.what();
    const auto moved =
        scene::problem_of_bindings(server_->rules(), *rules, internal(*server_).def.rules.kinds);
    if (moved) return *moved;
    return rules;
}

json RuleDesk::try_rules(const json& message) {
    const auto rules = compile(message);
    if (!rules) return error("try_rules", rules.what());
    const RuleTrial trial = server_->try_rules(*rules, trial_pairs_max);
    if (!trial.problem.empty()) return error("try_rules", trial.problem);
    return {{"op", "try_rules"},
            {"gains", trial.gains.size()},
            {"losses", trial.losses.size()},
            {"observers", by_observer(trial)},
            {"evaluated", trial.observers_evaluated},
            {"skipped", trial.observers_skipped},
            {"pairs_now", trial.pairs_now},
            {"pairs_then", trial.pairs_then},
            {"warnings", trial.warnings}};
}

/// Estimates the cost with a dry run for some of the observers. Rules above the limit may be set if
/// they at most double the current number of pairs.
std::string RuleDesk::problem_of_cost(const Rules& rules) const {
    const RuleTrial trial = server_->try_rules(rules, trial_pairs_max);
    if (!trial.problem.empty() || trial.observers_evaluated == 0)
        return {};  // set_rules reports the problem
    const std::uint64_t evaluated = trial.observers_evaluated,
                        all = evaluated + trial.observers_skipped;
    const std::uint64_t then = trial.pairs_then * all / evaluated,
                        now = trial.pairs_now * all / evaluated;
    const std::uint64_t most = std::max(pairs_max, 2 * now);
    if (!PURVIEW_GUARD(rules_cost, then <= most)) {
        return "these rules would make about " + std::to_string(trial.pairs_then / evaluated) +
               " entities relevant to each of " + std::to_string(all) +
               " observers: " + std::to_string(then) + " pairs (now " + std::to_string(now) +
               "), about " + std::to_string((then * pair_bytes >> 20) + 1) +
               " MiB; the limit without 'force' is " + std::to_string(most) + " pairs";
    }
    return {};
}

json RuleDesk::set_rules(const json& message) {
    if (read_only_) return error("set_rules", "this server was started with --read-only-rules");
    const auto made_from = message.find("revision");
    if (made_from != message.end() && !made_from->is_number_unsigned()) {
        return error("set_rules", "'revision' must be a whole number of 0 or more");
    }
    const std::uint64_t running = server_->rules_revision();
    if (made_from != message.end() && *made_from != running) {
        json stale =
            error("set_rules", "based on revision " + made_from->dump() +
                                   ", but the server runs revision " + std::to_string(running) +
                                   ": reload the rules and try again");
        stale["revision"] = running;
        return stale;
    }
    const auto rules = compile(message);
    if (!rules) return error("set_rules", rules.what());
    const auto force = message.find("force");
    if (force != message.end() && !force->is_boolean())
        return error("set_rules", "'force' must be true or false");
    if (force == message.end() || !force->get<bool>()) {
        if (std::string expensive = problem_of_cost(*rules); !expensive.empty())
            return error("set_rules", std::move(expensive));
    }
    if (const std::string wrong = server_->set_rules(*rules); !wrong.empty())
        return error("set_rules", "the server refused the rules: " + wrong);
    return {};
}

}  // namespace purview::admin
