// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Purview authors
#include "rules_command.hpp"

#include <spdlog/spdlog.h>

#include <cstdio>

#include "admin/rule_json.hpp"
#include "scene/interest_file.hpp"

namespace purview::app {

namespace {

using nlohmann::json;

/// An error of the server, with the place in the file that it speaks of.
std::string describe(const json& error, const scene::InterestEntry* file) {
    scene::Problem problem;
    problem.text = error.value("text", "no answer");
    if (file == nullptr || !error.contains("about")) return problem.text;
    problem.node = error.value("node", -1);
    problem.step = error.value("step", -1);
    problem.key = error.value("key", "");
    problem.column = error.value("column", 0);
    return problem.node < 0 ? file->path + ": " + problem.text : file->describe(problem);
}

void print_warnings(const json& reply) {
    for (const json& warning : reply.value("warnings", json::array()))
        std::printf("# warning: %s\n", warning.get<std::string>().c_str());
}

void print_trial(const json& reply) {
    std::printf("gains: %llu, losses: %llu\n", reply["gains"].get<unsigned long long>(),
                reply["losses"].get<unsigned long long>());
    const json& observers = reply["observers"];
    if (!observers.empty()) std::printf("%12s %10s %10s\n", "observer", "gains", "losses");
    for (const json& one : observers) {
        std::printf("%12u %10llu %10llu\n", one["observer"].get<unsigned>(),
                    one["gains"].get<unsigned long long>(),
                    one["losses"].get<unsigned long long>());
    }
    print_warnings(reply);
}

int print_rules(const json& reply) {
    const auto nodes = admin::nodes_of(reply);
    if (!nodes) {
        spdlog::error("the server's answer is not understood: {}", nodes.problem());
        return 1;
    }
    std::printf("# revision %u\n", reply.value("revision", 0U));
    print_warnings(reply);
    std::printf("%s", scene::print_toml(*nodes).c_str());
    return 0;
}

}  // namespace

int run_rules(const RulesOptions& options) {
    const std::string& path = options.apply_path.empty() ? options.try_path : options.apply_path;
    json request = {{"op", "rules"}};
    std::optional<scene::InterestEntry> file;
    if (!path.empty()) {
        auto interest = scene::load_interest(path);
        if (!interest) {
            spdlog::error("{}", interest.problem());
            return 1;
        }
        file = std::move(*interest);
        for (const std::string& key : file->keys) {
            spdlog::warn("{}: 'interest.{}' is not sent: it counts when the server starts", path,
                         key);
        }
        request["op"] = options.apply_path.empty() ? "try_rules" : "set_rules";
        request["nodes"] = json::array();
        // A file says everything: what it leaves out is the default, not what runs now.
        for (const scene::NodeText& node : file->texts())
            request["nodes"].push_back(admin::to_json(scene::with_defaults(node)));
    }
    const json reply = ask(options.at, request);
    if (reply.value("op", "error") == "error") {
        spdlog::error("{}", describe(reply, file ? &*file : nullptr));
        return 1;
    }
    if (options.json) {
        std::printf("%s\n", reply.dump(2).c_str());
        return 0;
    }
    if (reply["op"] == "rules") return print_rules(reply);
    print_trial(reply);
    return 0;
}

}  // namespace purview::app
