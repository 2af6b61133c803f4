// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Purview authors
#include "explain_command.hpp"

#include <fmt/format.h>
#include <spdlog/spdlog.h>

#include "output.hpp"
#include "scene/rule_text.hpp"

namespace purview::app {

namespace {

using nlohmann::json;

/// Throws if the reply does not have the format of a Purview server.
int print_answer(const json& reply, bool as_json) {
    if (reply.value("op", "") != "explain") {
        spdlog::error("{}", scene::plain_text(reply.value("text", "no reply")));
        return 1;
    }
    const std::string text =
        as_json ? reply.dump(2) + "\n"
                : fmt::format("observer {}, entity {}, tick {}: {}",
                              reply.at("observer").get<unsigned>(),
                              reply.at("index").get<unsigned>(), reply.at("tick").get<unsigned>(),
                              scene::plain_text(reply.at("text").get<std::string>(), "\n"));
    return write_out(text) ? 0 : 1;
}

}  // namespace

int run_explain(const ExplainOptions& options) {
    const json request = {
        {"op", "explain"}, {"observer", options.observer}, {"entity", options.entity}};
    const json reply = send_request(options.at, request);
    try {
        return print_answer(reply, options.json);
    } catch (const json::exception& error) {
        spdlog::error("invalid reply from the server: {}", scene::plain_text(error.what()));
        return 1;
    }
}

}  // namespace purview::app
