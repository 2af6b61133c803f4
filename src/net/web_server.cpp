// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Purview authors
#include "net/web_server.hpp"

#include <algorithm>
#include <boost/asio.hpp>
#include <boost/beast.hpp>
#include <boost/beast/websocket.hpp>
#include <cctype>
#include <charconv>
#include <cstring>
#include <deque>
#include <set>
#include <utility>

#include "link/handshake.hpp"
#include "link/host_counts.hpp"
#include "net/failed_tokens.hpp"
#include "net/system.hpp"
#include "net/udp_socket.hpp"
#include "purview/limits.hpp"

namespace purview::net {

namespace asio = boost::asio;
namespace beast = boost::beast;
namespace http = beast::http;
namespace websocket = beast::websocket;
using asio::ip::tcp;
using boost::system::error_code;

namespace {

constexpr std::size_t header_bytes_max = 8 * 1024;
/// Limit on the queued frames of one client. Further datagrams are dropped, as on a congested link.
constexpr std::size_t play_queue_bytes_max = 64 * 1024;
constexpr std::size_t operator_queue_bytes_max = 4 * 1024 * 1024;
/// Large enough for rules at all limits of docs/limits.md.
constexpr std::size_t operator_message_bytes_max = 2 * 1024 * 1024;
/// Delay before the next accept after the system had no descriptors left.
constexpr std::chrono::milliseconds accept_again_after{100};

std::string_view view_of(beast::string_view text) {
    return {text.data(), text.size()};
}

/// The value of `key` in the query of a target such as /operator?token=abc.
std::string query_value(std::string_view target, std::string_view key) {
    std::size_t at = target.find('?');
    while (at != std::string_view::npos) {
        std::string_view rest = target.substr(at + 1);
        const std::size_t end = rest.find('&');
        const std::string_view pair = rest.substr(0, end);
        if (pair.size() > key.size() && pair.substr(0, key.size()) == key &&
            pair[key.size()] == '=') {
            return url_decoded(pair.substr(key.size() + 1));
        }
        at = end == std::string_view::npos ? end : at + 1 + end;
    }
    return {};
}

void fill_host(const asio::ip::address& from, std::array<std::uint8_t, 16>& to) {
    const auto bytes = from.is_v4()
                           ? asio::ip::make_address_v6(asio::ip::v4_mapped, from.to_v4()).to_bytes()
                           : from.to_v6().to_bytes();
    std::copy(bytes.begin(), bytes.end(), to.begin());
}

}  // namespace

std::string url_encoded(std::string_view text) {
    constexpr std::string_view digits = "0123456789ABCDEF", plain = "-._~";
    std::string out;
    for (const char c : text) {
        const auto byte = static_cast<unsigned char>(c);
        const bool is_plain =
            (byte < 128 && std::isalnum(byte) != 0) || plain.find(c) != std::string_view::npos;
        is_plain ? (out += c) : ((out += '%') += digits[byte >> 4U]) += digits[byte & 15U];
    }
    return out;
}

std::string url_decoded(std::string_view text) {
    std::string out;
    for (std::size_t i = 0; i < text.size(); ++i) {
        unsigned byte = 0;
        const bool is_escaped =
            text[i] == '%' && i + 2 < text.size() &&
            std::from_chars(text.data() + i + 1, text.data() + i + 3, byte, 16).ptr ==
                text.data() + i + 3;
        out += is_escaped ? static_cast<char>(byte) : text[i];
        i += is_escaped ? 2 : 0;
    }
    return out;
}

class Connection;

/// A descriptor that the caller owns; asio uses a duplicate.
struct Watched {
    Watched(asio::io_context& io, int descriptor, std::function<void()> call)
        : stream(io, ::dup(descriptor)), readable(std::move(call)) {}
    void wait() {
        stream.async_wait(asio::posix::stream_descriptor::wait_read, [this](error_code error) {
            if (error) return;
            readable();
            wait();
        });
    }
    asio::posix::stream_descriptor stream;
    std::function<void()> readable;
};

struct WebServer::Data {
    explicit Data(WebDef web_def) : def(std::move(web_def)), acceptor(io), accept_timer(io) {}

    WebDef def;
    asio::io_context io{1};
    tcp::acceptor acceptor;
    asio::steady_timer accept_timer;
    std::uint16_t port = 0;
    std::map<std::string, WebResource> resources;
    std::map<std::uint32_t, std::shared_ptr<Connection>> connections;
    HostCounts hosts;  ///< hosts of the connections
    FailedTokens failed_tokens;
    std::uint32_t next_number = 1;
    std::vector<std::unique_ptr<Watched>> watched;
    WebCounters counters;
    bool closing = false;
    WebServer* owner = nullptr;

    void accept();
    /// Returns whether a page of this server may have been opened under this name. On loopback only
    /// the names of this server are accepted, because any other name that resolves to 127.0.0.1
    /// belongs to another page.
    bool is_own_name(std::string_view host) const {
        if (!is_loopback(def.host)) return true;
        constexpr std::uint16_t http_port = 80;  // browsers omit it
        const bool has_port = port != http_port || host.ends_with(":80");
        const std::string tail = has_port ? ":" + std::to_string(port) : "";
        return host == def.host + tail || host == "localhost" + tail ||
               host == "[" + def.host + "]" + tail;
    }
    bool has_room(const tcp::endpoint& from) const;
};

/// One TCP connection: HTTP requests, optionally followed by a WebSocket.
class Connection : public std::enable_shared_from_this<Connection> {
  public:
    enum class Kind { http, play, operations };

    Connection(WebServer::Data& server, tcp::socket socket, std::uint32_t number)
        : server_(server), stream_(std::move(socket)), session_timer_(server.io), number_(number) {
        error_code error;
        const tcp::endpoint from = stream_.socket().remote_endpoint(error);
        if (!error) {
            address_.carrier = Address::Carrier::web_socket;
            fill_host(from.address(), address_.host);
            address_.port = from.port();
            address_.channel = number;
        }
        stream_.socket().set_option(tcp::no_delay(true), error);
    }

    const Address& address() const noexcept { return address_; }
    Kind kind() const noexcept { return kind_; }

    void read_request() {
        parser_.emplace();
        parser_->header_limit(header_bytes_max);
        stream_.expires_after(std::chrono::milliseconds(server_.def.handshake_timeout_ms));
        // Requests have no body, so none is read.
        http::async_read_header(stream_, buffer_, *parser_,
                                [self = shared_from_this()](error_code error, std::size_t) {
                                    if (error || !self->parser_->is_done()) return self->end();
                                    self->answer();
                                });
    }

    void send(std::string_view bytes, bool binary) {
        const std::size_t limit =
            kind_ == Kind::play ? play_queue_bytes_max : operator_queue_bytes_max;
        // A frame above the limit is accepted if the queue is empty.
        if (!queue_.empty() && queued_bytes_ + bytes.size() > limit) {
            ++server_.counters.dropped_frames;
            return;
        }
        queued_bytes_ += bytes.size();
        queue_.push_back({std::string(bytes), binary});
        if (queue_.size() == 1) write_next();
    }

    /// Packets of these types are sent only to a session, so the connection has one.
    void note_sent(std::span<const std::byte> datagram) {
        const auto type = static_cast<PacketType>(datagram[0]);
        has_session_ |= type == PacketType::accept || type == PacketType::data;
    }

    void shut() {
        session_timer_.cancel();
        error_code error;
        beast::get_lowest_layer(stream_).socket().close(error);
        if (ws_) beast::get_lowest_layer(*ws_).socket().close(error);
    }

  private:
    struct Frame {
        std::string bytes;
        bool binary;
    };

    void answer() {
        ++server_.counters.requests;
        const auto& request = parser_->get();
        const std::string_view target = view_of(request.target());
        const std::string_view path = target.substr(0, target.find('?'));
        if (websocket::is_upgrade(request)) return upgrade(path, target);
        if (request.method() != http::verb::get && request.method() != http::verb::head) {
            return respond(http::status::method_not_allowed, "text/plain",
                           "method not allowed: use GET or HEAD\n");
        }
        const auto found = server_.resources.find(std::string(path));
        if (found == server_.resources.end()) {
            return respond(http::status::not_found, "text/plain", "not found\n");
        }
        respond(http::status::ok, found->second.content_type, found->second.body);
    }

    /// `body` must live as long as the server.
    void respond(http::status status, const std::string& type, std::string_view body) {
        auto response = std::make_shared<http::response<http::span_body<const char>>>(status, 11);
        response->set(http::field::server, "purview");
        response->set(http::field::content_type, type);
        response->set(http::field::cache_control, "no-cache");
        response->set("X-Content-Type-Options", "nosniff");
        response->set("Referrer-Policy", "no-referrer");  // operator URLs contain a token
        response->set("X-Frame-Options", "DENY");
        response->set("Content-Security-Policy", server_.def.content_policy);
        const bool keep_alive = parser_->get().keep_alive();
        response->keep_alive(keep_alive);
        response->body() = {body.data(), body.size()};
        response->prepare_payload();
        if (parser_->get().method() == http::verb::head) response->body() = {};
        stream_.expires_after(std::chrono::milliseconds(server_.def.answer_timeout_ms));
        http::async_write(
            stream_, *response,
            [self = shared_from_this(), response, keep_alive](error_code error, std::size_t) {
                if (error || !keep_alive) return self->end();
                self->read_request();
            });
    }

    bool has_token(std::string_view target) const {
        const std::string& token = server_.def.operator_token;
        return token.empty() || equal_in_constant_time(query_value(target, "token"), token);
    }

    /// Whether the page was opened under a name of this server.
    bool is_own_page(std::string_view origin) const {
        const auto& request = parser_->get();
        const auto host = request.find(http::field::host);
        if (host == request.end() || !server_.is_own_name(view_of(host->value()))) return false;
        const std::string name(view_of(host->value()));
        return origin == "http://" + name ||
               origin == "https://" + name;  // https: TLS may end at a proxy
    }

    /// Operators must connect from a page of this server, or without a page.
    bool may_operate() const {
        const auto& request = parser_->get();
        const auto host = request.find(http::field::host);
        if (host == request.end() || !server_.is_own_name(view_of(host->value()))) return false;
        const auto origin = request.find(http::field::origin);
        return origin == request.end() || is_own_page(view_of(origin->value()));
    }

    /// Players must connect from a page of this server, from a listed origin, or without a page.
    bool may_play() const {
        const auto& request = parser_->get();
        const auto origin = request.find(http::field::origin);
        if (origin == request.end()) return true;
        const std::string_view from = view_of(origin->value());
        const auto& listed = server_.def.origins;
        const bool is_listed = std::any_of(listed.begin(), listed.end(), [&](const auto& one) {
            return one == "*" || one == from;
        });
        return is_listed || is_own_page(from);
    }

    void upgrade(std::string_view path, std::string_view target) {
        if (path == "/play") {
            if (!may_play()) {
                ++server_.counters.refused_origins;
                return respond(http::status::forbidden, "text/plain", "origin not allowed\n");
            }
            return accept(Kind::play);
        }
        if (path != "/operator")
            return respond(http::status::not_found, "text/plain", "not found\n");
        const Micros delay = server_.failed_tokens.delay_us(address_, now());
        if (delay == 0) return upgrade_operator(target);
        // A host with wrong tokens waits even before a correct one is accepted.
        session_timer_.expires_after(std::chrono::microseconds(delay));
        session_timer_.async_wait(
            [self = shared_from_this(), saved = std::string(target)](error_code error) {
                if (error || self->ended_) return self->end();
                self->upgrade_operator(saved);
            });
    }

    void upgrade_operator(std::string_view target) {
        const bool knows = has_token(target);
        if (!knows) server_.failed_tokens.failed(address_, now());
        if (!knows || !may_operate()) {
            ++server_.counters.refused_operators;
            return respond(http::status::forbidden, "text/plain", "wrong token or origin\n");
        }
        server_.failed_tokens.succeeded(address_);
        accept(Kind::operations);
    }

    void accept(Kind kind) {
        kind_ = kind;
        stream_.expires_never();
        ws_.emplace(std::move(stream_));
        websocket::stream_base::timeout timeout{};
        timeout.handshake_timeout = std::chrono::milliseconds(server_.def.handshake_timeout_ms);
        timeout.idle_timeout = std::chrono::seconds(30);
        timeout.keep_alive_pings = true;
        ws_->set_option(timeout);
        ws_->read_message_max(kind_ == Kind::play ? limits::datagram_bytes
                                                  : operator_message_bytes_max);
        ws_->async_accept(parser_->get(), [self = shared_from_this()](error_code error) {
            if (error || self->ended_) return self->end();
            self->buffer_ = {};  // messages have their own limit
            if (self->kind_ == Kind::play) self->wait_for_session();
            self->read_frame();
        });
    }

    /// Pings do not show that a client plays. A player's WebSocket without a session is closed,
    /// because a session always receives packets.
    void wait_for_session() {
        session_timer_.expires_after(std::chrono::milliseconds(server_.def.session_wait_ms));
        session_timer_.async_wait([self = shared_from_this()](error_code error) {
            if (error || self->ended_) return;
            if (std::exchange(self->has_session_, false)) return self->wait_for_session();
            ++self->server_.counters.without_session;
            self->end();
        });
    }

    void read_frame() {
        ws_->async_read(buffer_, [self = shared_from_this()](error_code error, std::size_t) {
            if (error) {
                if (error == websocket::error::message_too_big)
                    ++self->server_.counters.oversized_frames;
                return self->end();
            }
            // A read may complete after a failed write; an ended connection delivers nothing.
            if (self->ended_) return;
            self->deliver();
            self->buffer_.consume(self->buffer_.size());
            self->read_frame();
        });
    }

    void deliver() {
        const auto data = buffer_.cdata();
        const auto* bytes = static_cast<const std::byte*>(data.data());
        WebServer& owner = *server_.owner;
        if (kind_ == Kind::play) {
            if (owner.on_datagram) owner.on_datagram(std::span(bytes, data.size()), address_);
        } else if (owner.on_operator_message) {
            owner.on_operator_message(number_, {reinterpret_cast<const char*>(bytes), data.size()});
        }
    }

    void write_next() {
        ws_->binary(queue_.front().binary);
        ws_->async_write(asio::buffer(queue_.front().bytes),
                         [self = shared_from_this()](error_code error, std::size_t) {
                             if (error) return self->end();
                             self->queued_bytes_ -= self->queue_.front().bytes.size();
                             self->queue_.pop_front();
                             if (!self->queue_.empty()) self->write_next();
                         });
    }

    void end() {
        if (ended_) return;
        ended_ = true;
        shut();
        WebServer& owner = *server_.owner;
        if (kind_ == Kind::play && owner.on_play_closed) owner.on_play_closed(address_);
        if (kind_ == Kind::operations && owner.on_operator_closed)
            owner.on_operator_closed(number_);
        server_.connections.erase(number_);
        server_.hosts.closing(address_);
        server_.hosts.gone(address_);
    }

    WebServer::Data& server_;
    beast::tcp_stream stream_;
    asio::steady_timer session_timer_;
    std::uint32_t number_;
    Address address_;
    Kind kind_ = Kind::http;
    beast::flat_buffer buffer_{2 * header_bytes_max};
    std::optional<http::request_parser<http::empty_body>> parser_;
    std::optional<websocket::stream<beast::tcp_stream>> ws_;
    std::deque<Frame> queue_;
    std::size_t queued_bytes_ = 0;
    bool has_session_ = false;  ///< packets of a session were seen since the last check
    bool ended_ = false;
};

bool WebServer::Data::has_room(const tcp::endpoint& from) const {
    if (connections.size() >= def.connections_max) return false;
    Address address;
    fill_host(from.address(), address.host);
    address.carrier = Address::Carrier::web_socket;
    return hosts.of(address).connected < def.connections_per_host_max &&
           hosts.has_network_room(address, def.connections_per_host_max);
}

void WebServer::Data::accept() {
    acceptor.async_accept([this](error_code error, tcp::socket socket) {
        if (closing) return;
        if (error) {  // out of descriptors: an immediate retry would fail again
            ++counters.accept_failed;
            accept_timer.expires_after(accept_again_after);
            accept_timer.async_wait([this](error_code stopped) {
                if (!stopped && !closing) accept();
            });
            return;
        }
        error_code ignored;
        if (has_room(socket.remote_endpoint(ignored))) {
            const std::uint32_t number = next_number++;
            auto connection = std::make_shared<Connection>(*this, std::move(socket), number);
            connections[number] = connection;
            hosts.came(connection->address());
            connection->read_request();
        } else {
            ++counters.refused_connections;
        }
        accept();
    });
}

WebServer::WebServer(WebDef def) : data_(std::make_unique<Data>(std::move(def))) {
    data_->owner = this;
}

WebServer::~WebServer() {
    close();
}

std::string WebServer::open() {
    error_code error;
    const auto address = asio::ip::make_address(data_->def.host, error);
    if (error) return "'" + data_->def.host + "' is not a numeric address";
    if (data_->def.operator_token.empty() && !is_loopback(data_->def.host))
        return data_->def.host + " is not a loopback address: an operator token is required";
    const tcp::endpoint endpoint(address, data_->def.port);
    data_->acceptor.open(endpoint.protocol(), error);
    if (!error) data_->acceptor.set_option(tcp::acceptor::reuse_address(true), error);
    if (!error) data_->acceptor.bind(endpoint, error);
    if (!error) data_->acceptor.listen(asio::socket_base::max_listen_connections, error);
    if (error) {
        return "listen on " + data_->def.host + ":" + std::to_string(data_->def.port) + ": " +
               error.message();
    }
    data_->port = data_->acceptor.local_endpoint().port();
    data_->def.connections_max = std::min(data_->def.connections_max, raise_socket_limit());
    data_->accept();
    return {};
}

std::uint16_t WebServer::port() const noexcept {
    return data_->port;
}
void WebServer::serve(const std::string& path, WebResource resource) {
    data_->resources[path] = std::move(resource);
}
const WebCounters& WebServer::counters() const noexcept {
    return data_->counters;
}

void WebServer::send(std::span<const std::byte> bytes, const Address& to) {
    const auto found = data_->connections.find(to.channel);
    if (found == data_->connections.end() || found->second->kind() != Connection::Kind::play)
        return;
    found->second->note_sent(bytes);
    found->second->send({reinterpret_cast<const char*>(bytes.data()), bytes.size()}, true);
}

void WebServer::send_operator(std::uint32_t connection, std::string_view message, bool binary) {
    const auto found = data_->connections.find(connection);
    if (found == data_->connections.end() || found->second->kind() != Connection::Kind::operations)
        return;
    found->second->send(message, binary);
}

void WebServer::watch(int descriptor, std::function<void()> readable) {
    data_->watched.push_back(std::make_unique<Watched>(data_->io, descriptor, std::move(readable)));
    data_->watched.back()->wait();
}

void WebServer::wait_until(Micros deadline, Micros least_us) {
    const Micros start = now();
    if (start < deadline) data_->io.run_one_for(std::chrono::microseconds(deadline - start));
    // Handles one event at a time, so that a busy connection cannot extend the wait indefinitely.
    const Micros end = std::max(deadline, start + least_us);
    while (now() < end && data_->io.poll_one() > 0) {
    }
    data_->io.restart();
}

void WebServer::close() {
    if (data_->closing) return;
    data_->closing = true;
    error_code error;
    data_->acceptor.close(error);
    data_->accept_timer.cancel();
    for (auto& watched : data_->watched) watched->stream.close(error);
    auto connections = data_->connections;
    for (auto& [number, connection] : connections) connection->shut();
    connections.clear();
    data_->io.restart();
    data_->io.poll();  // runs the handlers of the closed connections here, not later
    data_->connections.clear();
    data_->watched.clear();
}

}  // namespace purview::net
