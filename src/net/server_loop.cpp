// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Purview authors
#include "purview/net/server_loop.hpp"

#include <optional>
#include <utility>

#include "core/internal_access.hpp"
#include "net/system.hpp"
#include "net/tick_loop.hpp"
#include "server/server_data.hpp"

namespace purview::net {

namespace {

WebDef web_def_of(const ServerLoopDef& def) {
    WebDef web;
    web.host = def.host;
    web.port = def.web_port;
    web.origins = def.origins;
    web.operator_token = random_token();  // not published: a loop has no operators
    return web;
}

}  // namespace

struct ServerLoop::Data {
    Data(Server& server, ServerLoopDef its_def)
        : def(std::move(its_def)), recorder(server), web(web_def_of(def)), problem(open()) {
        if (problem.empty()) loop.emplace(recorder, udp, web, internal(server).def.tick_hz);
    }

    std::string open() {
        if (std::string wrong = udp.bind(def.host, def.udp_port); !wrong.empty()) return wrong;
        return def.web ? web.open() : std::string();
    }

    ServerLoopDef def;
    record::IoRecorder recorder;
    UdpSocket udp;
    WebServer web;
    std::string problem;
    std::optional<TickLoop> loop;
    volatile bool is_over = false;
};

ServerLoop::ServerLoop(Server& server, ServerLoopDef def)
    : data_(std::make_unique<Data>(server, std::move(def))) {}
ServerLoop::~ServerLoop() = default;

const std::string& ServerLoop::problem() const noexcept {
    return data_->problem;
}
std::uint16_t ServerLoop::udp_port() const noexcept {
    return data_->udp.port();
}
std::uint16_t ServerLoop::web_port() const noexcept {
    return data_->def.web ? data_->web.port() : std::uint16_t{0};
}
void ServerLoop::run(double seconds) {
    if (!data_->problem.empty()) return;
    const StopOnSignals until_signal(&data_->is_over);
    data_->loop->run(&data_->is_over, seconds, data_->def.after_tick);
    data_->web.close();
}
void ServerLoop::stop() noexcept {
    data_->is_over = true;
}

}  // namespace purview::net
