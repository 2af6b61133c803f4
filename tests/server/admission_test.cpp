// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Purview authors
//
// The game decides which clients may join, now or after it has waited for an external answer.
#include <map>
#include <set>
#include <string>

#include "link/handshake.hpp"
#include "purview/limits.hpp"
#include "support/stage.hpp"

namespace purview::test {

namespace {

/// Decides by the credential. "no": refuse. A digit d: wait for 10 * d calls of on_admit, then
/// accept. "l": wait until `is_late_over`, then refuse. "bye": shut down the server. Anything else:
/// accept.
class Doorkeeper final : public Game {
  public:
    Doorkeeper() {
        (void)schema.kind("thing", {add_position(schema, 0, 100).id});
        ServerDef def;
        def.schema = &schema;
        def.mac = &test_mac;
        def.secret = test_secret;
        def.join_timeout_ms = 2'000;
        server = std::make_unique<Server>(std::move(Server::create(def, *this)).value());
    }
    Client& add(std::vector<std::byte> credential) {
        ClientDef def;
        def.nonce = 50 + clients.size();
        def.name = name.empty() ? std::to_string(clients.size()) : name;
        def.credential = std::move(credential);
        clients.push_back(std::make_unique<Client>(def));
        return *clients.back();
    }
    Client& add(std::string_view credential) {
        const auto* first = reinterpret_cast<const std::byte*>(credential.data());
        return add(std::vector<std::byte>{first, first + credential.size()});
    }
    void step(std::uint32_t ticks = 1) {
        for (std::uint32_t t = 0; t < ticks; ++t) {
            now += 50'000;
            for (std::size_t i = 0; i < clients.size(); ++i) {
                Address from;
                from.carrier = Address::Carrier::memory;
                from.port = static_cast<std::uint16_t>(i + 1);
                clients[i]->tick(now);
                std::span<const std::byte> out;
                while (clients[i]->next_datagram(out)) server->receive(out, from, now);
            }
            requests_now.clear();
            server->tick(now);
            OutgoingDatagram out;
            while (server->next_datagram(out))
                if (!loses_next) clients[out.to.port - 1U]->receive(out.bytes, now);
            loses_next = false;
        }
    }

    Admission on_admit(Server& its, const JoinRequest& request) override {
        ++admit_calls[request.number];
        requests_now.insert(std::string(request.name));
        const std::string_view credential{reinterpret_cast<const char*>(request.credential.data()),
                                          request.credential.size()};
        lengths.push_back(credential.size());
        if (credential == "bye") its.shut_down();
        if (credential == "no") return {Admission::refuse, why};
        if (credential == "l")
            return is_late_over ? Admission{Admission::refuse, why} : Admission{Admission::wait};
        if (credential.size() != 1) return Admission::accept;
        return admit_calls[request.number] <= static_cast<std::uint32_t>(credential[0] - '0') * 10
                   ? Admission::wait
                   : Admission::accept;
    }
    std::optional<EntityId> on_join(Server&, ObserverId observer,
                                    const JoinRequest& request) override {
        last = observer;
        in.push_back(std::string(request.name));
        in_lengths.push_back(request.credential.size());
        return viewpoint;
    }
    void on_leave(Server&, ObserverId) override { ++gone; }
    void on_command(Server&, ObserverId, std::span<const std::byte>) override {}
    void on_tick(Server&, Tick) override {}

    Schema schema;
    std::string name;  ///< of the next client; empty: its index
    std::unique_ptr<Server> server;
    std::vector<std::unique_ptr<Client>> clients;
    std::map<std::uint64_t, std::uint32_t> admit_calls;  ///< calls of on_admit, by request number
    std::set<std::string> requests_now;  ///< names in the on_admit calls of the last tick
    std::string why;                     ///< reason text of refusals
    bool is_late_over = false;           ///< the credential "l" is refused now
    std::optional<EntityId> viewpoint = EntityId::none;  ///< the result of on_join
    bool loses_next = false;  ///< the next step drops what the server sends
    std::vector<std::size_t> lengths;
    std::vector<std::string> in;
    std::vector<std::size_t> in_lengths;
    ObserverId last = ObserverId::none;
    int gone = 0;
    Micros now = 1'000'000;
};

}  // namespace

TEST_CASE("server: the credential decides whether a client joins, at once or after a wait") {
    Doorkeeper keeper;
    Client& yes = keeper.add("yes");
    Client& no = keeper.add("no");
    Client& soon = keeper.add("1");
    Client& later = keeper.add("2");
    keeper.step(10);
    CHECK(yes.state() == ClientState::joined);
    CHECK(no.state() == ClientState::refused);
    CHECK(no.refuse_reason() == RefuseReason::join);
    CHECK(soon.state() == ClientState::joining);
    CHECK(keeper.requests_now == std::set<std::string>{"2", "3"});
    CHECK(keeper.in == std::vector<std::string>{"0"});
    CHECK(keeper.server->stats().observers_ready == 1);
    keeper.step(10);
    CHECK(soon.state() == ClientState::joined);
    CHECK(later.state() == ClientState::joining);
    // on_admit is not called again for a client that leaves while it waits, and it never joins.
    later.leave();
    keeper.step();
    CHECK(keeper.requests_now.empty());
    keeper.step(30);
    CHECK(keeper.in == std::vector<std::string>{"0", "2"});
    CHECK(keeper.in_lengths == std::vector<std::size_t>{3, 1});
    CHECK(keeper.gone == 0);
    CHECK(keeper.admit_calls.size() == 4);  // one request number per client
}

TEST_CASE("server: on_join sets a viewpoint or refuses; an unknown viewpoint refuses") {
    static int asserted;
    asserted = 0;
    const AssertHandler old = set_assert_handler([](const char*, const char*, int) { ++asserted; });
    Doorkeeper keeper;
    const EntityId body = keeper.server->world().spawn({.kind = id_at<KindId>(0)});
    keeper.viewpoint = body;
    const Client& viewing = keeper.add("yes");
    keeper.step(10);
    CHECK(viewing.state() == ClientState::joined);
    CHECK(keeper.server->visibility().viewpoint(keeper.last) == body);
    keeper.viewpoint = EntityId::none;
    const Client& nowhere = keeper.add("yes");
    keeper.step(10);
    CHECK(nowhere.state() == ClientState::joined);
    CHECK(keeper.server->visibility().viewpoint(keeper.last) == EntityId::none);
    CHECK(asserted == 0);
    keeper.viewpoint = std::nullopt;
    const Client& refused = keeper.add("yes");
    keeper.step(10);
    CHECK(refused.state() == ClientState::refused);
    CHECK(refused.refuse_reason() == RefuseReason::join);
    CHECK(asserted == 0);
    keeper.viewpoint = make_entity_id(7, 9);  // no such entity
    const Client& wrong = keeper.add("yes");
    keeper.step(10);
    set_assert_handler(old);
#if !defined(NDEBUG) || defined(PURVIEW_ASSERTS)
    CHECK(asserted == 1);
#endif
    CHECK(wrong.state() == ClientState::refused);
    CHECK(keeper.server->stats().observers_ready == 2);
    CHECK(keeper.gone == 0);
}

namespace {

/// A reason text of the game, and the text that the client receives: cut to
/// `limits::reason_text_bytes`, between UTF-8 characters.
struct SentReason {
    std::string text, received;
};
const std::vector<SentReason>& sent_reasons() {
    const auto of = [](std::size_t count, const std::string& one) {
        std::string all;
        for (std::size_t i = 0; i < count; ++i) all += one;
        return all;
    };
    const std::string two = "\u00e9", four = "\U0001F680";
    static const std::vector<SentReason> reasons = {
        {"", ""},
        {"The ship is full.", "The ship is full."},
        {of(120, "a"), of(120, "a")},
        {of(121, "a"), of(120, "a")},
        {of(1'000, "a"), of(120, "a")},
        {of(60, two) + "a", of(60, two)},
        {"a" + of(60, two), "a" + of(59, two)},
        {"ab" + of(30, four), "ab" + of(29, four)},
        {"abc" + of(30, four), "abc" + of(29, four)},
        {"abcd" + of(30, four), "abcd" + of(29, four)},
        {of(200, "\x80"), ""},  // not UTF-8
        {std::string("a\0b", 3), std::string("a\0b", 3)},
    };
    return reasons;
}

}  // namespace

TEST_CASE("server: a refused or kicked client receives the reason text") {
    for (const SentReason& reason : sent_reasons()) {
        CAPTURE(reason.text);
        Doorkeeper keeper;
        keeper.why = reason.text;
        const Client& refused = keeper.add("no");
        const Client& closed = keeper.add("yes");
        keeper.step(12);
        CHECK(refused.state() == ClientState::refused);
        CHECK(refused.reason_text() == reason.received);
        REQUIRE(closed.state() == ClientState::joined);
        CHECK(closed.reason_text().empty());
        for (const auto none : {CloseReason::none, CloseReason::left, static_cast<CloseReason>(7)})
            CHECK(keeper.server->close(keeper.last, none, reason.text) == Status::bad_argument);
        CHECK(keeper.server->close(keeper.last, CloseReason::kicked, reason.text) == Status::ok);
        keeper.step();
        CHECK(closed.close_reason() == CloseReason::kicked);
        CHECK(closed.reason_text() == reason.received);
    }
}

TEST_CASE("server: a client name that is too long is cut between UTF-8 characters") {
    Doorkeeper keeper;
    std::string name = "a";
    for (int i = 0; i < 20; ++i) name += "\u00e9";
    keeper.name = name;
    (void)keeper.add("yes");
    keeper.step(12);
    CHECK(keeper.in == std::vector<std::string>{name.substr(0, 31)});
}

TEST_CASE("link: a close packet with a wrong reason size is rejected") {
    std::vector<std::byte> bytes(close_bytes_max);
    const std::string text(limits::reason_text_bytes, 'a');
    bytes.resize(write(Close{7, CloseReason::kicked, text}, bytes));
    REQUIRE(bytes.size() == seal_bytes + 10 + limits::reason_text_bytes);
    REQUIRE(read_close(bytes).has_value());
    CHECK(read_close(bytes)->text == text);
    for (const unsigned size : {0U, 119U, 121U, 255U}) {
        CAPTURE(size);
        std::vector<std::byte> other = bytes;
        other[seal_bytes + 9] = static_cast<std::byte>(size);
        other.resize(seal_bytes + 10 + std::max(size, 120U), std::byte{'a'});
        seal(PacketType::close, 0, other);
        CHECK(!read_close(other).has_value());
    }
}

TEST_CASE("server: a client that waits for longer than the join timeout is closed") {
    Doorkeeper keeper;
    Client& client = keeper.add("9");  // it waits 90 ticks (4.5 s); the join timeout is 2 s
    keeper.step(30);
    CHECK(client.state() == ClientState::joining);
    keeper.step(15);
    CHECK(client.state() == ClientState::closed);
    CHECK(client.close_reason() == CloseReason::never_joined);
    CHECK(keeper.requests_now.empty());
    CHECK(keeper.in.empty());
    CHECK(keeper.gone == 0);
    CHECK(keeper.server->stats().sessions == 0);
}

TEST_CASE("server: a refusal just before the join timeout is resent if its packet is lost") {
    std::uint32_t ticks = 0;  ///< until the join timeout closes the client
    {
        Doorkeeper keeper;
        const Client& client = keeper.add("l");
        for (; client.state() != ClientState::closed; ++ticks) keeper.step();
        REQUIRE(client.close_reason() == CloseReason::never_joined);
    }
    Doorkeeper keeper;
    keeper.why = "members only";
    const Client& client = keeper.add("l");
    keeper.step(ticks - 2);
    REQUIRE(keeper.requests_now == std::set<std::string>{"0"});
    keeper.is_late_over = true;
    keeper.loses_next = true;
    keeper.step();
    REQUIRE(keeper.requests_now == std::set<std::string>{"0"});
    REQUIRE(client.state() == ClientState::joining);
    keeper.step(10);
    CHECK(client.state() == ClientState::refused);
    CHECK(client.reason_text() == "members only");
    keeper.step(20);
    CHECK(client.state() == ClientState::refused);
    CHECK(keeper.server->stats().sessions == 0);
}

TEST_CASE("server: credentials up to 512 bytes arrive unchanged, longer ones are dropped") {
    for (const std::size_t size : {0U, 2U, 511U, 512U, 513U, 3'000U}) {
        CAPTURE(size);
        Doorkeeper keeper;
        const Client& client = keeper.add(std::vector<std::byte>(size, std::byte{0xa5}));
        keeper.step(12);
        CHECK(client.state() == ClientState::joined);
        CHECK(keeper.lengths ==
              std::vector<std::size_t>{size <= limits::credential_bytes ? size : 0});
    }
}

TEST_CASE("server: the game may shut down the server in on_admit") {
    Doorkeeper keeper;
    Client& client = keeper.add("bye");
    keeper.step(12);
    CHECK(client.state() == ClientState::closed);
    CHECK(client.close_reason() == CloseReason::shutting_down);
    CHECK(keeper.in.empty());
    CHECK(keeper.gone == 0);
}

}  // namespace purview::test
