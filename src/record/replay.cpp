// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Purview authors
#include "record/replay.hpp"

#include <algorithm>
#include <cstdio>

#include "record/state_hash.hpp"

namespace purview::record {

namespace {

class Replay {
  public:
    Replay(Server& server, const OnNote& on_note, const std::function<void()>& after_tick)
        : server_(server), on_note_(on_note), after_tick_(after_tick) {}

    /// Returns false at the first difference or malformed chunk; see `result`.
    bool take(const Chunk& chunk);
    void differs(const std::string& what) {
        result.outcome = ReplayResult::Outcome::differs;
        result.text = "tick " + std::to_string(server_.current_tick()) + ": " + what;
    }

    ReplayResult result;

  private:
    bool malformed() {
        result.outcome = ReplayResult::Outcome::bad_file;
        result.text = "tick " + std::to_string(server_.current_tick()) + ": malformed chunk";
        return false;
    }
    bool compare_sent(Fields& in);
    bool compare_state(Fields& in);

    Server& server_;
    const OnNote& on_note_;
    const std::function<void()>& after_tick_;
    std::vector<Address> addresses_;
    std::uint64_t sent_in_tick_ = 0;
};

bool Replay::take(const Chunk& chunk) {
    Fields in(chunk.body);
    const auto address = [&]() -> const Address* {
        const std::uint64_t number = in.number(4);
        return in.ok() && number < addresses_.size() ? &addresses_[number] : nullptr;
    };
    switch (chunk.type) {
        case ChunkType::address:
            addresses_.push_back(read_address(in));
            return in.is_complete() || malformed();
        case ChunkType::received: {
            const Micros now = in.number(8);
            const Address* from = address();
            if (from == nullptr) return malformed();
            server_.receive(in.rest(), *from, now);
            ++result.received;
            return true;
        }
        case ChunkType::tick: {
            const Micros now = in.number(8);
            if (!in.is_complete()) return malformed();
            server_.tick(now);
            if (after_tick_) after_tick_();
            ++result.ticks;
            sent_in_tick_ = 0;
            return true;
        }
        case ChunkType::sent:
            return compare_sent(in);
        case ChunkType::drained: {
            OutgoingDatagram more;
            if (!server_.next_datagram(more)) return in.is_complete() || malformed();
            differs("the replay sends a datagram of " + std::to_string(more.bytes.size()) +
                    " bytes that was not recorded");
            return false;
        }
        case ChunkType::state:
            return compare_state(in);
        case ChunkType::address_closed: {
            const Address* which = address();
            if (which == nullptr || !in.is_complete()) return malformed();
            server_.address_closed(*which);
            return true;
        }
        case ChunkType::shut_down:
            server_.shut_down();
            return in.is_complete() || malformed();
        case ChunkType::probe:
            (void)server_.add_reference_client();  // refused in a replay if it was refused then
            return in.is_complete() || malformed();
        case ChunkType::note: {
            const auto text = in.rest();
            const std::string wrong =
                on_note_({reinterpret_cast<const char*>(text.data()), text.size()});
            if (wrong.empty()) return true;
            result.outcome = ReplayResult::Outcome::bad_file;
            result.text = wrong;
            return false;
        }
        case ChunkType::begin:
        case ChunkType::end:
            break;
    }
    return malformed();
}

bool Replay::compare_sent(Fields& in) {
    const std::uint64_t number = in.number(4);
    if (!in.ok() || number >= addresses_.size()) return malformed();
    const Address& to = addresses_[number];
    const auto recorded = in.rest();
    ++sent_in_tick_;
    const std::string which = "datagram " + std::to_string(sent_in_tick_);
    OutgoingDatagram out;
    if (!server_.next_datagram(out)) {
        differs(which + " of " + std::to_string(recorded.size()) +
                " bytes was recorded, but the replay sends nothing more");
        return false;
    }
    if (!(out.to == to)) {
        differs(which + " goes to another address");
        return false;
    }
    const auto [mine, its] =
        std::mismatch(out.bytes.begin(), out.bytes.end(), recorded.begin(), recorded.end());
    if (mine != out.bytes.end() || its != recorded.end()) {
        char bytes[64] = "";
        if (mine != out.bytes.end() && its != recorded.end()) {
            std::snprintf(bytes, sizeof bytes, ", recorded %02x, replayed %02x",
                          std::to_integer<unsigned>(*its), std::to_integer<unsigned>(*mine));
        }
        differs(which + " differs at byte " + std::to_string(its - recorded.begin()) + " of " +
                std::to_string(recorded.size()) + bytes);
        return false;
    }
    ++result.sent;
    return true;
}

bool Replay::compare_state(Fields& in) {
    const std::uint64_t tick = in.number(4);
    const std::uint64_t recorded = in.number(8);
    if (!in.is_complete()) return malformed();
    result.last_state = state_hash(server_);
    ++result.states;
    if (tick == server_.current_tick() && recorded == result.last_state) return true;
    char text[96];
    std::snprintf(text, sizeof text, "the state hash differs: recorded %016llx, replayed %016llx",
                  static_cast<unsigned long long>(recorded),
                  static_cast<unsigned long long>(result.last_state));
    differs(text);
    return false;
}

}  // namespace

ReplayResult replay(Reader& reader, Server& server, const OnNote& on_note,
                    const std::function<void()>& after_tick) {
    Replay replay(server, on_note, after_tick);
    Chunk chunk;
    while (reader.next(chunk)) {
        if (replay.take(chunk)) continue;
        // A difference in a damaged file does not indicate an error of the server.
        while (reader.next(chunk)) {
        }
        const bool is_damaged = !reader.problem().empty() && !reader.is_cut_short();
        if (replay.result.outcome == ReplayResult::Outcome::differs && is_damaged) {
            replay.result.outcome = ReplayResult::Outcome::bad_file;
            replay.result.text = reader.problem() + "; " + replay.result.text;
        }
        return replay.result;
    }
    if (!reader.problem().empty()) {
        replay.result.outcome = ReplayResult::Outcome::bad_file;
        replay.result.text =
            reader.problem() + "; identical up to tick " + std::to_string(server.current_tick());
        return replay.result;
    }
    OutgoingDatagram more;
    if (server.next_datagram(more)) replay.differs("the replay sends more than was recorded");
    return replay.result;
}

}  // namespace purview::record
