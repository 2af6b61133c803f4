// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Purview authors
#include "server/server_counters.hpp"

namespace purview {

void append_counters(const TickProfile& ticks, std::vector<Counter>& out) {
    out.insert(out.end(), {
                              {"tick.receive_us", ticks.receive_us},
                              {"tick.simulate_us", ticks.simulate_us},
                              {"tick.track_us", ticks.track_us},
                              {"tick.interest_us", ticks.interest_us},
                              {"tick.diff_us", ticks.diff_us},
                              {"tick.prioritize_us", ticks.prioritize_us},
                              {"tick.encode_us", ticks.encode_us},
                              {"tick.send_us", ticks.send_us},
                          });
}

void append_counters(const DropCounters& drops, std::vector<Counter>& out) {
    out.insert(out.end(), {
                              {"drop.unknown_type", drops.unknown_type},
                              {"drop.malformed_handshake", drops.malformed_handshake},
                              {"drop.wrong_version", drops.wrong_version},
                              {"drop.wrong_schema", drops.wrong_schema},
                              {"drop.bad_cookie", drops.bad_cookie},
                              {"drop.expired_cookie", drops.expired_cookie},
                              {"drop.bad_key", drops.bad_key},
                              {"drop.used_key", drops.used_key},
                              {"drop.plain", drops.plain},
                              {"drop.full", drops.full},
                              {"drop.address_limit", drops.address_limit},
                              {"drop.unknown_connection", drops.unknown_connection},
                              {"drop.bad_checksum", drops.bad_checksum},
                              {"drop.malformed_packet", drops.malformed_packet},
                              {"drop.late_packet", drops.late_packet},
                              {"drop.oversized", drops.oversized},
                              {"drop.commands", drops.commands},
                          });
}

void append_counters(const InputCounters& inputs, std::vector<Counter>& out) {
    out.insert(out.end(), {
                              {"input.consumed", inputs.consumed},
                              {"input.groups", inputs.groups},
                              {"input.parts", inputs.parts},
                              {"input.starved", inputs.starved},
                              {"input.caught_up", inputs.caught_up},
                              {"input.skipped", inputs.skipped},
                              {"input.repeated", inputs.repeated},
                              {"input.corrections", inputs.corrections},
                              {"input.corrections_too_large", inputs.corrections_too_large},
                              {"input.order_rebuilds", inputs.order_rebuilds},
                              {"input.members_walked", inputs.members_walked},
                              {"input.too_far_ahead", inputs.too_far_ahead},
                              {"input.too_large", inputs.too_large},
                              {"input.not_a_root", inputs.not_a_root},
                              {"input.unknown_ghost", inputs.unknown_ghost},
                              {"input.not_owned", inputs.not_owned},
                              {"input.not_in_group", inputs.not_in_group},
                              {"input.wrong_input", inputs.wrong_input},
                              {"input.named_twice", inputs.named_twice},
                              {"input.switched_off", inputs.switched_off},
                          });
}

void append_counters(const RewindCounters& rewinds, std::vector<Counter>& out) {
    out.insert(out.end(), {
                              {"rewind.views", rewinds.views},
                              {"rewind.cut", rewinds.cut},
                              {"rewind.candidates", rewinds.candidates},
                              {"rewind.hits", rewinds.hits},
                              {"rewind.history_bytes", rewinds.history_bytes},
                              {"rewind.index_bytes", rewinds.index_bytes},
                          });
}

void append_counters(const RpcCounters& calls, std::vector<Counter>& out) {
    out.insert(out.end(), {
                              {"rpc.sent", calls.sent},
                              {"rpc.held", calls.held},
                              {"rpc.culled", calls.culled},
                              {"rpc.culled_late", calls.culled_late},
                              {"rpc.written", calls.written},
                              {"rpc.received", calls.received},
                              {"rpc.refused_ghost", calls.refused_ghost},
                              {"rpc.refused_caller", calls.refused_caller},
                              {"rpc.gone", calls.gone},
                              {"rpc.flooded", calls.flooded},
                              {"rpc.sessions_closed", calls.sessions_closed},
                          });
}

}  // namespace purview
