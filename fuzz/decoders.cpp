// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Purview authors
//
// Feeds raw bytes into every decoder. The first byte selects the decoder. The rest is split into
// packets by their length bytes, with a valid header checksum where a decoder requires one.
#include <algorithm>
#include <cstdint>
#include <cstring>
#include <sstream>
#include <string>
#include <vector>

#include "client/correction_codec.hpp"
#include "client/replica.hpp"
#include "idle_game.hpp"
#include "link/handshake.hpp"
#include "link/packet_link.hpp"
#include "link/stream.hpp"
#include "protocol/input_codec.hpp"
#include "protocol/rpc_inbox.hpp"
#include "protocol/schema_codec.hpp"
#include "purview/limits.hpp"
#include "record/replay.hpp"
#include "require.hpp"
#include "small_game.hpp"
#include "target.hpp"
#include "traffic.hpp"

using namespace purview;
using test::require;

namespace {

using Bytes = std::span<const std::byte>;

/// Counters of the features that inputs have reached.
enum Reached : unsigned {
    ghosts_held,
    leaves_named,  // continues in the order of SnapshotDecoder::Named
    bodies_named,
    parents_named,
    references_named,
    named_member_maps,
    calls_to_observers,
    calls_to_server,
    recordings_replayed,
    schemas_read,
    ghosts_of_decoded,
    inputs_of_decoded,
    calls_of_decoded,
    inputs_read,
    corrections_read,
    streams_read,
    handshakes_read,
    reached_count,
};
constexpr const char* reached_names[reached_count] = {"ghosts",
                                                      "leaves",
                                                      "bodies",
                                                      "parents",
                                                      "references",
                                                      "member maps",
                                                      "calls of a server",
                                                      "calls of a client",
                                                      "replayed recordings",
                                                      "schemas",
                                                      "ghosts of a decoded schema",
                                                      "inputs of a decoded schema",
                                                      "calls of a decoded schema",
                                                      "inputs",
                                                      "corrections",
                                                      "links with streams",
                                                      "handshakes"};
std::uint64_t reached[reached_count];

/// The lowest value of the first byte for each decoder.
constexpr std::uint8_t first_of_calls = 0xf0;
constexpr std::uint8_t first_of_inputs = 0xe0;
constexpr std::uint8_t first_of_corrections = 0xd0;
constexpr std::uint8_t first_of_recordings = 0xc0;
/// If the low half of the first byte is at least this, the schema of the generated traffic is used.
constexpr std::uint8_t first_of_traffic = 0xc;

/// Calls visit(packet) for each packet: a length byte, then that many bytes, copied to memory of
/// exactly that size.
template <class Visit>
void for_each_packet(Bytes bytes, Visit&& visit) {
    while (!bytes.empty()) {
        const std::size_t size = std::min(std::to_integer<std::size_t>(bytes[0]), bytes.size() - 1);
        const std::vector<std::byte> packet(bytes.begin() + 1,
                                            bytes.begin() + 1 + static_cast<std::ptrdiff_t>(size));
        visit(Bytes(packet));
        bytes = bytes.subspan(1 + size);
    }
}

const Schema& small_schema() {
    static const test::SmallSchema small;
    return small.schema;
}
const Schema& traffic_schema() {
    static const test::SmallSchema of_traffic = test::schema_of_traffic();
    return of_traffic.schema;
}

void snapshots(const Schema& schema, Bytes bytes) {
    Replica replica(schema);
    Tick newest = 0;
    for_each_packet(bytes, [&](Bytes packet) {
        BitReader in(packet);
        const std::uint64_t before = replica.ghosts.digest();
        if (!replica.decoder.read(in))
            return require(replica.ghosts.digest() == before, "a malformed snapshot was applied");
        replica.accept(newest);
        replica.decoder.for_each_named([](SnapshotDecoder::Named as, LocalId) {
            ++reached[leaves_named + static_cast<unsigned>(as)];
        });
        std::uint32_t held = 0;
        for (LocalId ghost = 0; ghost < replica.ghosts.slot_end(); ++ghost)
            held += replica.ghosts.is_shown(ghost);
        require(held == replica.ghosts.count(), "wrong ghost count");
        reached[ghosts_held] += held;
    });
}

/// Reads RPCs of either direction. The length of a packet decides whether ghosts appear or
/// disappear.
void calls(Bytes bytes) {
    const Schema& schema = small_schema();
    if (bytes.empty()) return;
    const auto direction = static_cast<RpcDirection>(std::to_integer<unsigned>(bytes[0]) % 2);
    RpcInbox inbox;
    Micros now = 0;
    for_each_packet(bytes.subspan(1), [&](Bytes packet) {
        BitReader in(packet);
        now += 500'000;
        const auto is_here = [&](LocalId ghost) { return ghost % 8 < packet.size() % 8; };
        if (!inbox.read(schema, direction, in)) return;
        inbox.accept(schema, now, is_here);
        if (packet.size() % 3 == 0)
            inbox.ghost_left(schema, static_cast<LocalId>(packet.size() % 8),
                             packet.size() % 2 == 0);
        require(inbox.waiting() <= 256 + limits::rpc_orphans, "unbounded number of queued calls");
        ArrivedRpc call;
        while (packet.size() % 5 != 0 && inbox.next(call)) {
            const RpcDef& rpc = schema.rpcs()[index_of(call.rpc)];
            require(rpc.desc.direction == direction, "a call of the wrong direction");
            ++reached[direction == RpcDirection::to_server ? calls_to_server : calls_to_observers];
            std::vector<std::byte> args(rpc.args.size_bytes);
            struct_of_words(rpc, call.words, args.data());
            require(words_of_struct(rpc, args.data()) == call.words, "arguments out of range");
        }
    });
}

const Schema& drive_schema() {
    struct Drive {
        float throttle = 0;
        std::int32_t gear = 0;
        char word[5] = {};
    };
    static const Schema schema = [] {
        Schema made;
        made.input<Drive>("drive")
            .quantized("throttle", &Drive::throttle, {-1, 1, 0.01})
            .integer("gear", &Drive::gear, -1, 6)
            .text("word", &Drive::word);
        made.input<Drive>("other").real("throttle", &Drive::throttle);
        made.input<Drive>("none");
        return made;
    }();
    return schema;
}

/// Reads inputs for groups. Every input that was read is written and read again, and must be equal.
void inputs(const Schema& schema, Bytes bytes) {
    InputPacket packet;
    InputPacket again;
    for_each_packet(bytes, [&](Bytes raw) {
        BitReader in(raw);
        if (!read_inputs(schema, in, packet))
            return require(packet.count == 0, "parts of a malformed packet were kept");
        require(packet.count >= 1 && packet.count <= limits::inputs_repeated, "too many frames");
        std::vector<const InputFrame*> frames;
        for (std::size_t f = 0; f < packet.count; ++f) {
            InputFrame& frame = packet.frames[f];
            frame.view_tick = frame.view_low / 16.0;
            require(frame.parts.size() <= limits::input_members, "too many parts");
            require(frame.groups.size() <= limits::input_groups, "too many groups");
            frames.push_back(&frame);
        }
        std::vector<std::byte> out_bytes(65'536);
        BitWriter out(out_bytes);
        write_inputs(schema, frames, packet.has_digests, packet.corrections, out);
        require(out.ok(), "decoded inputs cannot be encoded");
        BitReader second(out.written());
        require(second.boolean() && read_inputs(schema, second, again),
                "encoded inputs cannot be decoded");
        require(again.count == packet.count, "frames are lost");
        reached[inputs_read] += packet.frames[0].parts.size();
        for (std::size_t f = 0; f < again.count; ++f) {
            require(again.frames[f].is_equal_input(packet.frames[f]),
                    "an input differs after encoding and decoding");
            require(again.frames[f].view_low == packet.frames[f].view_low,
                    "a view differs after encoding and decoding");
        }
    });
}

struct Moving {
    float speed = 0;
    std::int32_t gear = 0;
    Rotation head;
    char word[29] = {};
    std::uint8_t tail = 0;
};

const Schema& moving_schema() {
    static const Schema schema = [] {
        Schema made;
        const Component<Moving> motion = made.component<Moving>("motion")
                                             .real("speed", &Moving::speed)
                                             .integer("gear", &Moving::gear, -1, 6)
                                             .rotation("head", &Moving::head)
                                             .text("word", &Moving::word);
        made.kind("moving", {motion.id});
        made.kind("still", {});
        made.kind("other", {motion.id});
        made.predict(motion.id);
        require(made.problem().empty(), "an invalid schema");
        return made;
    }();
    return schema;
}

/// Reads corrections. A malformed one must not change any member, and all values must be valid for
/// their field.
void corrections(const Schema& schema, Bytes bytes) {
    const PredictedLayout layout(schema);
    Correction read;
    InputNumber newest = 0;
    for_each_packet(bytes, [&](Bytes packet) {
        newest += 1 + static_cast<InputNumber>(packet.size()) * 997;
        if (!read_correction(schema, layout, newest, packet, read))
            return require(read.members.empty(), "members of a malformed correction were kept");
        require(read.tick >= 1 && read.tick <= newest, "a correction with a wrong input number");
        require(read.members.size() <= packet.size() * 8 / 6 + 1,
                "more members than fit into the packet");
        for (const CorrectedMember& member : read.members) {
            require(member.ghost < local_ids_max, "an invalid ghost id");
            require(index_of(member.kind) < schema.kinds().size(), "an invalid kind");
            ++reached[corrections_read];
            if (!member.has_values || &schema != &moving_schema()) continue;
            for (const PredictedPart& part : layout.parts(member.kind)) {
                Moving value;
                std::memcpy(&value, read.data.at(member.data_at) + part.offset, sizeof value);
                require(value.gear >= -1 && value.gear <= 6, "a value out of range");
                require(value.tail == 0, "a byte outside of all fields");
            }
        }
    });
}

/// Replays a file that claims to be a recording.
void recordings(Bytes bytes) {
    std::istringstream file(std::string(reinterpret_cast<const char*>(bytes.data()), bytes.size()));
    record::Reader reader(file);
    if (!reader.begin())
        return require(!reader.problem().empty(), "refused without an error message");
    test::IdleGame game;
    ServerDef def;
    def.schema = &small_schema();
    def.mac = &test::test_mac;
    def.secret = test::test_secret;
    auto server = Server::create(def, game);
    require(static_cast<bool>(server), "no server");
    const record::ReplayResult result =
        record::replay(reader, *server, [](std::string_view) { return std::string(); });
    require(result.outcome == record::ReplayResult::Outcome::same || !result.text.empty(),
            "a failed replay without an error message");
    reached[recordings_replayed] += result.received;
}

/// Reads packets with a decoded schema: snapshots, RPCs and inputs.
void decoded_schema(const Schema& schema, Bytes bytes) {
    Replica replica(schema);
    RpcInbox inbox;
    InputPacket commands;
    Tick newest = 0;
    Micros now = 0;
    const auto has_all = [](LocalId) { return true; };
    for_each_packet(bytes, [&](Bytes packet) {
        BitReader in(packet);
        now += 100'000;
        if (packet.size() % 3 == 0) {
            if (replica.decoder.read(in)) replica.accept(newest);
            reached[ghosts_of_decoded] += replica.ghosts.count();
        } else if (packet.size() % 3 == 1) {
            if (read_inputs(schema, in, commands))
                reached[inputs_of_decoded] += commands.frames[0].parts.size();
        } else if (inbox.read(schema, RpcDirection::to_observers, in)) {
            inbox.accept(schema, now, has_all);
        }
        ArrivedRpc call;
        while (inbox.next(call)) {
            ++reached[calls_of_decoded];
            const RpcDef& rpc = schema.rpcs()[index_of(call.rpc)];
            std::vector<double> values(rpc.args.fields.size());
            values_of_words(rpc, call.words, values);
            const std::vector<FieldValue> arguments(values.begin(), values.end());
            (void)words_of_arguments(rpc, arguments);
        }
    });
}

void schemas(Bytes bytes) {
    BitReader in(bytes);
    const auto schema = read_schema(in);
    if (!schema) return;
    std::vector<std::byte> again(65'536);
    BitWriter out(again);
    write_schema(*schema, out);
    require(out.ok(), "a decoded schema cannot be encoded");
    BitReader second(out.written());
    const auto same = read_schema(second);
    require(same && same->hash() == schema->hash(), "a schema differs after encoding and decoding");
    ++reached[schemas_read];
    decoded_schema(*schema, bytes.last(in.bits_left() / 8));
}

void links(Bytes bytes) {
    PacketLink link;
    StreamReceiver stream;
    std::vector<DeliveryNotice> notices;
    std::uint32_t reported = 0;
    for_each_packet(bytes, [&](Bytes packet) {
        std::vector<std::byte> sent(64);
        BitWriter out(sent);
        if (link.can_send()) (void)link.write_header(out);
        BitReader in(packet);
        if (link.read_header(in) != PacketLink::Verdict::accepted || !stream.read(in)) return;
        notices.clear();
        link.accept(notices);
        for (const DeliveryNotice notice : notices)
            require(notice.sequence == ++reported, "a delivery status is reported twice or never");
        stream.accept();
        Bytes message;
        for (int i = 0; i < 100 && stream.next_message(message); ++i) ++reached[streams_read];
    });
}

void handshakes(Bytes bytes) {
    for_each_packet(bytes, [](Bytes packet) {
        if (packet.size() < seal_bytes) return;
        std::vector<std::byte> sealed(packet.begin(), packet.end());
        seal(static_cast<PacketType>(packet[0]), 0, sealed);
        // Runs every reader, even if an earlier one succeeds.
        for (const bool is_one :
             {read_hello(sealed).has_value(), read_challenge(sealed).has_value(),
              read_answer(sealed).has_value(), read_accept(sealed).has_value(),
              read_refuse(sealed).has_value(), read_close(sealed).has_value()}) {
            reached[handshakes_read] += is_one ? 1 : 0;
        }
    });
}

}  // namespace

std::vector<std::string> fresh_seeds() {
    const test::Traffic traffic = test::current_traffic();
    const auto seed = [](std::uint8_t choice, const std::string& rest) {
        return static_cast<char>(choice) + rest;
    };
    // Calls are processed with packets of a size that is not a multiple of five.
    const auto calls_of = [&](RpcDirection direction, std::vector<std::string> packets) {
        for (std::string& packet : packets)
            packet += packet.size() % 5 == 0 ? std::string(1, 0) : "";
        return seed(first_of_calls, static_cast<char>(direction) + test::cut_by_bytes(packets));
    };
    // For a given schema, the size modulo 3 selects the kind of packet.
    std::vector<std::string> schema_packets;
    const auto add_packets = [&](const std::vector<std::string>& packets, std::size_t rest) {
        for (std::string packet : packets) {
            packet.resize(packet.size() + (rest + 3 - packet.size() % 3) % 3);
            schema_packets.push_back(packet);
        }
    };
    add_packets(traffic.snapshots, 0);
    add_packets(traffic.inputs, 1);
    add_packets(traffic.calls, 2);
    return {seed(first_of_traffic, test::cut_by_bytes(traffic.snapshots)),
            seed(1, traffic.schema + test::cut_by_bytes(schema_packets)),
            seed(2, test::cut_by_bytes(traffic.links)),
            seed(3, test::cut_by_bytes(traffic.handshakes)),
            seed(first_of_recordings, test::current_recording()),
            seed(first_of_inputs + first_of_traffic, test::cut_by_bytes(traffic.inputs)),
            seed(first_of_corrections + first_of_traffic, test::cut_by_bytes(traffic.corrections)),
            calls_of(RpcDirection::to_observers, traffic.calls),
            calls_of(RpcDirection::to_server, traffic.client_calls)};
}

const char* never_reached() {
    for (unsigned i = 0; i < reached_count; ++i) {
        if (reached[i] == 0) return reached_names[i];
    }
    return nullptr;
}

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
    if (size == 0) return 0;
    const Bytes bytes = std::as_bytes(std::span(data, size)).subspan(1);
    const bool is_traffic = data[0] % 16 >= first_of_traffic;
    if (data[0] >= first_of_calls) {
        calls(bytes);
        return 0;
    }
    if (data[0] >= first_of_inputs) {
        inputs(is_traffic ? traffic_schema() : drive_schema(), bytes);
        return 0;
    }
    if (data[0] >= first_of_corrections) {
        corrections(is_traffic ? traffic_schema() : moving_schema(), bytes);
        return 0;
    }
    if (data[0] >= first_of_recordings) {
        recordings(bytes);
        return 0;
    }
    switch (data[0] % 4) {
        case 0:
            snapshots(is_traffic ? traffic_schema() : small_schema(), bytes);
            break;
        case 1:
            schemas(bytes);
            break;
        case 2:
            links(bytes);
            break;
        default:
            handshakes(bytes);
            break;
    }
    return 0;
}
