// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Purview authors
#include "net/operator_client.hpp"

#include <boost/asio.hpp>
#include <boost/beast.hpp>
#include <boost/beast/websocket.hpp>
#include <chrono>

#include "net/web_server.hpp"

namespace purview::net {

namespace asio = boost::asio;
namespace beast = boost::beast;
namespace websocket = beast::websocket;
using boost::system::error_code;

OperatorAnswer query_operator(const std::string& host, std::uint16_t port, const std::string& token,
                              const std::string& request) {
    constexpr std::chrono::seconds timeout{5};
    OperatorAnswer answer;
    asio::io_context context(1);
    websocket::stream<beast::tcp_stream> socket(context);
    beast::flat_buffer buffer;
    error_code failed;
    const auto address = asio::ip::make_address(host, failed);
    if (failed) {
        answer.problem = "'" + host + "' is not a numeric address";
        return answer;
    }
    beast::get_lowest_layer(socket).expires_after(timeout);
    const bool ipv6 = address.is_v6();
    const std::string authority = (ipv6 ? "[" + host + "]" : host) + ":" + std::to_string(port);
    const auto wait = [&](error_code e, const char* what) {
        if (!e) return true;
        answer.problem = std::string(what) + " at " + authority + ": " + e.message();
        return false;
    };
    beast::get_lowest_layer(socket).async_connect({address, port}, [&](error_code e) {
        if (!wait(e, "no server")) return;
        socket.async_handshake(
            authority, "/operator?token=" + url_encoded(token), [&](error_code h) {
                if (!wait(h, "cannot open the operator channel (check the token)")) return;
                socket.text(true);
                socket.async_write(asio::buffer(request), [&](error_code w, std::size_t) {
                    if (!wait(w, "cannot send the request")) return;
                    socket.async_read(buffer, [&](error_code r, std::size_t) {
                        if (wait(r, "no answer"))
                            answer.text = beast::buffers_to_string(buffer.data());
                    });
                });
            });
    });
    context.run();
    return answer;
}

}  // namespace purview::net
