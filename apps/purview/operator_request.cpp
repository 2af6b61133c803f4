// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Purview authors
#include "operator_request.hpp"

#include "net/operator_client.hpp"

namespace purview::app {

using nlohmann::json;

json send_request(const OperatorAddress& at, const json& request) {
    const net::OperatorAnswer answer =
        net::query_operator(at.host, at.port, at.token, request.dump());
    if (!answer.problem.empty()) return {{"op", "error"}, {"text", answer.problem}};
    json reply = json::parse(answer.text, nullptr, false);
    if (!reply.is_object()) return {{"op", "error"}, {"text", "no reply"}};
    return reply;
}

}  // namespace purview::app
