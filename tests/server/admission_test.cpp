// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Purview authors
//
// Who may come in is decided by the game, which may have to ask somebody first.
#include <map>
#include <set>
#include <string>

#include "link/handshake.hpp"
#include "purview/limits.hpp"
#include "support/stage.hpp"

namespace purview::test {

namespace {

/// Answers as the credential says: "no"; a digit: wait for ten times as many ticks; "l": wait until
/// is_late_over, then no; else yes.
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
            asked_now.clear();
            server->tick(now);
            OutgoingDatagram out;
            while (server->next_datagram(out))
                if (!loses_next) clients[out.to.port - 1U]->receive(out.bytes, now);
            loses_next = false;
        }
    }

    Admission admit(Server& its, const JoinRequest& request) override {
        ++asked[request.number];
        asked_now.insert(std::string(request.name));
        const std::string_view said{reinterpret_cast<const char*>(request.credential.data()),
                                    request.credential.size()};
        lengths.push_back(said.size());
        if (said == "bye") its.shut_down();
        if (said == "no") return {Admission::refuse, why};
        if (said == "l")
            return is_late_over ? Admission{Admission::refuse, why} : Admission{Admission::wait};
        if (said.size() != 1) return Admission::accept;
        return asked[request.number] <= static_cast<std::uint32_t>(said[0] - '0') * 10
                   ? Admission::wait
                   : Admission::accept;
    }
    bool joined(Server&, ObserverId observer, const JoinRequest& request) override {
        last = observer;
        in.push_back(std::string(request.name));
        in_lengths.push_back(request.credential.size());
        return true;
    }
    void left(Server&, ObserverId) override { ++gone; }
    void command(Server&, ObserverId, std::span<const std::byte>) override {}
    void simulate(Server&, Tick) override {}

    Schema schema;
    std::string name;  ///< of who is added; empty: a number
    std::unique_ptr<Server> server;
    std::vector<std::unique_ptr<Client>> clients;
    std::map<std::uint64_t, std::uint32_t> asked;  ///< by number: how often
    std::set<std::string> asked_now;               ///< in the last tick
    std::string why;                               ///< told to whom it refuses
    bool is_late_over = false;                     ///< who waits for it ("l") is refused now
    bool loses_next = false;                       ///< what the server sends in the next step
    std::vector<std::size_t> lengths;
    std::vector<std::string> in;
    std::vector<std::size_t> in_lengths;
    ObserverId last = ObserverId::none;
    int gone = 0;
    Micros now = 1'000'000;
};

}  // namespace

TEST_CASE("host: who may come in is decided by what he shows, now or when the game has asked") {
    Doorkeeper is;
    Client& yes = is.add("yes");
    Client& no = is.add("no");
    Client& soon = is.add("1");
    Client& later = is.add("2");
    is.step(10);
    CHECK(yes.state() == ClientState::joined);
    CHECK(no.state() == ClientState::refused);
    CHECK(no.refuse_reason() == RefuseReason::join);
    CHECK(soon.state() == ClientState::joining);
    CHECK(is.asked_now == std::set<std::string>{"2", "3"});
    CHECK(is.in == std::vector<std::string>{"0"});
    CHECK(is.server->stats().observers_ready == 1);
    is.step(10);
    CHECK(soon.state() == ClientState::joined);
    CHECK(later.state() == ClientState::joining);
    // Who goes in the meantime is asked about no more, and was never in.
    later.leave();
    is.step();
    CHECK(is.asked_now.empty());
    is.step(30);
    CHECK(is.in == std::vector<std::string>{"0", "2"});
    CHECK(is.in_lengths == std::vector<std::size_t>{3, 1});
    CHECK(is.gone == 0);
    CHECK(is.asked.size() == 4);  // one number each
}

namespace {

/// What is told of a reason: of the texts, those that are no longer, and no half characters.
struct ToldReason {
    std::string text, told;
};
const std::vector<ToldReason>& told_reasons() {
    const auto of = [](std::size_t count, const std::string& one) {
        std::string all;
        for (std::size_t i = 0; i < count; ++i) all += one;
        return all;
    };
    const std::string two = "\u00e9", four = "\U0001F680";
    static const std::vector<ToldReason> reasons = {
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
        {of(200, "\x80"), ""},  // no UTF-8
        {std::string("a\0b", 3), std::string("a\0b", 3)},
    };
    return reasons;
}

}  // namespace

TEST_CASE("host: whom the game refuses or sends away hears why") {
    for (const ToldReason& reason : told_reasons()) {
        CAPTURE(reason.text);
        Doorkeeper is;
        is.why = reason.text;
        const Client& refused = is.add("no");
        const Client& closed = is.add("yes");
        is.step(12);
        CHECK(refused.state() == ClientState::refused);
        CHECK(refused.reason_text() == reason.told);
        REQUIRE(closed.state() == ClientState::joined);
        CHECK(closed.reason_text().empty());
        for (const auto none : {CloseReason::none, CloseReason::left, static_cast<CloseReason>(7)})
            CHECK(is.server->close(is.last, none, reason.text) == Status::bad_argument);
        CHECK(is.server->close(is.last, CloseReason::kicked, reason.text) == Status::ok);
        is.step();
        CHECK(closed.close_reason() == CloseReason::kicked);
        CHECK(closed.reason_text() == reason.told);
    }
}

TEST_CASE("host: a name that is too long is told without half a character") {
    Doorkeeper is;
    std::string name = "a";
    for (int i = 0; i < 20; ++i) name += "\u00e9";
    is.name = name;
    (void)is.add("yes");
    is.step(12);
    CHECK(is.in == std::vector<std::string>{name.substr(0, 31)});
}

TEST_CASE("link: a reason that is too long, or longer than its packet, is none") {
    std::vector<std::byte> bytes(close_bytes_max);
    const std::string text(limits::reason_text_bytes, 'a');
    bytes.resize(write(Close{7, CloseReason::kicked, text}, bytes));
    REQUIRE(bytes.size() == close_bytes_max);
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

TEST_CASE("host: nobody waits at the door for longer than he may") {
    Doorkeeper is;
    Client& client = is.add("9");  // 90 ticks are 4.5 s, and he has 2
    is.step(30);
    CHECK(client.state() == ClientState::joining);
    is.step(15);
    CHECK(client.state() == ClientState::closed);
    CHECK(client.close_reason() == CloseReason::never_joined);
    CHECK(is.asked_now.empty());
    CHECK(is.in.empty());
    CHECK(is.gone == 0);
    CHECK(is.server->stats().sessions == 0);
}

TEST_CASE("host: who is refused at the last moment hears of it, though the first packet is lost") {
    std::uint32_t ticks = 0;  ///< until nobody is asked any more
    {
        Doorkeeper is;
        const Client& client = is.add("l");
        for (; client.state() != ClientState::closed; ++ticks) is.step();
        REQUIRE(client.close_reason() == CloseReason::never_joined);
    }
    Doorkeeper is;
    is.why = "members only";
    const Client& client = is.add("l");
    is.step(ticks - 2);
    REQUIRE(is.asked_now == std::set<std::string>{"0"});
    is.is_late_over = true;
    is.loses_next = true;
    is.step();
    REQUIRE(is.asked_now == std::set<std::string>{"0"});
    REQUIRE(client.state() == ClientState::joining);
    is.step(10);
    CHECK(client.state() == ClientState::refused);
    CHECK(client.reason_text() == "members only");
    is.step(20);
    CHECK(client.state() == ClientState::refused);
    CHECK(is.server->stats().sessions == 0);
}

TEST_CASE("host: a credential of any length up to the most comes as it is, a longer one not") {
    for (const std::size_t size : {0U, 2U, 511U, 512U, 513U, 3'000U}) {
        CAPTURE(size);
        Doorkeeper is;
        const Client& client = is.add(std::vector<std::byte>(size, std::byte{0xa5}));
        is.step(12);
        CHECK(client.state() == ClientState::joined);
        CHECK(is.lengths == std::vector<std::size_t>{size <= limits::credential_bytes ? size : 0});
    }
}

TEST_CASE("host: the game may shut down while it is asked") {
    Doorkeeper is;
    Client& client = is.add("bye");
    is.step(12);
    CHECK(client.state() == ClientState::closed);
    CHECK(client.close_reason() == CloseReason::shutting_down);
    CHECK(is.in.empty());
    CHECK(is.gone == 0);
}

}  // namespace purview::test
