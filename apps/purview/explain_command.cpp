// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Purview authors
#include "explain_command.hpp"

#include <spdlog/spdlog.h>

#include <cstdio>

namespace purview::app {

int run_explain(const ExplainOptions& options) {
    using nlohmann::json;
    const json request = {
        {"op", "explain"}, {"observer", options.observer}, {"entity", options.entity}};
    const json reply = ask(options.at, request);
    if (reply.value("op", "") != "explain") {
        spdlog::error("{}", reply.value("text", "no answer"));
        return 1;
    }
    if (options.json) {
        std::printf("%s\n", reply.dump(2).c_str());
    } else {
        std::printf("observer %u, entity %u, tick %u: %s", reply["observer"].get<unsigned>(),
                    reply["index"].get<unsigned>(), reply["tick"].get<unsigned>(),
                    reply["text"].get<std::string>().c_str());
    }
    return 0;
}

}  // namespace purview::app
